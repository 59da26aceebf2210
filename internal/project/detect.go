// Package project reads from a project's files which checks it has.
//
// [Propose] lists every check that a project can be held to: tests, lint, types, format and end-to-end tests. [Detect]
// chooses from them the checks of a run that names none. Both read files and start nothing.
package project

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Detection is the set of checks for a project that configures none.
type Detection struct {
	// Commands are the checks; none if no test was found.
	Commands []string
	// Because says where the checks come from, as in "found go.mod, web/package.json". Without Commands it says why
	// there are none.
	Because string
	// PassedOver lists what was found and not used, as in "found go.mod, but no test in it".
	PassedOver []string
}

// nothingFound is the reason if no project file was found.
const nothingFound = "looked for go.mod, package.json, pyproject.toml, pytest.ini, setup.cfg, requirements.txt, " +
	"Cargo.toml and a Makefile with a test target, here and in subfolders"

// Detect returns every check that [Propose] lists and that can run. A missing test runner is kept, so that the run
// reports it instead of proving less. Detect reports false if no test was found: lint alone proves nothing.
func Detect(dir string) (Detection, bool) {
	found, untested := survey(dir)
	d := Detection{PassedOver: untested}
	var sources []string
	hasTest := false
	for _, proposal := range found {
		if proposal.Kind != KindTest && proposal.Missing != "" {
			skipped := proposal.Command + " is not used as a check: " + proposal.Missing + " is not on PATH"
			d.PassedOver = append(d.PassedOver, skipped)
			continue
		}
		hasTest = hasTest || proposal.Kind == KindTest
		d.Commands = append(d.Commands, proposal.Command)
		file, _, _ := strings.Cut(strings.TrimPrefix(proposal.Because, "found "), " with ")
		if !slices.Contains(sources, file) {
			sources = append(sources, file)
		}
	}
	switch {
	case hasTest:
		d.Because = "found " + strings.Join(sources, ", ")
		return d, true
	case len(untested) > 0:
		d.Because = strings.Join(untested, "; ")
	default:
		d.Because = nothingFound
	}
	d.Commands, d.PassedOver = nil, untested
	return d, false
}

// readLimit bounds what is read of one file of a project.
const readLimit = 1 << 20

func readFile(dir, name string) (string, bool) {
	if !isFile(dir, name) {
		return "", false
	}
	// What is a file now may be a pipe when it is opened, and longer when it is read.
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", false
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	data, err := io.ReadAll(io.LimitReader(file, readLimit+1))
	return strings.TrimPrefix(string(data), "\ufeff"), err == nil && len(data) <= readLimit
}

func isFile(dir, name string) bool {
	info, err := os.Stat(filepath.Join(dir, name))
	return err == nil && info.Mode().IsRegular()
}

// runsNothing reports whether a script line only talks: it would pass, or fail, whatever
// the code does.
func runsNothing(script string) bool {
	for _, part := range strings.FieldsFunc(script, func(r rune) bool { return strings.ContainsRune(";&|\n", r) }) {
		command, _, _ := strings.Cut(strings.TrimSpace(strings.TrimLeft(part, "@-+ \t")), " ")
		switch command {
		case "", "echo", "printf", "true", "false", ":", "exit":
		default:
			return false
		}
	}
	return true
}

// seekLimit is how many entries of a project are looked at for a test.
const seekLimit = 100_000

// seek walks the files below dir until one satisfies test. Hidden folders, dependencies
// and test data are not entered. A project that is too large to be searched counts as
// one with a test: that there is none was not shown.
func seek(dir string, enter func(path string) bool, test func(path string) bool) bool {
	found, seen := false, 0
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if seen++; seen > seekLimit {
			found = true
			return fs.SkipAll
		}
		switch {
		case err != nil:
			return nil // an unreadable folder has no test that we know of
		case path == dir:
			return nil
		case entry.IsDir():
			if skipped(entry.Name()) || !enter(path) {
				return fs.SkipDir
			}
		case entry.Type().IsRegular() && test(path):
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}

func skipped(folder string) bool {
	switch folder {
	case "vendor", "testdata", "node_modules", "__pycache__", "venv", "site-packages":
		return true
	}
	return strings.HasPrefix(folder, ".")
}

func everywhere(string) bool { return true }

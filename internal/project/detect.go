// Package project reads from a project's files which checks it has.
//
// [Propose] lists every check that a project can have: tests, lint, types, format and end-to-end
// tests. [Detect] chooses from them the checks of a run that names none. Both read files and start
// nothing.
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
	// Because says where the checks come from, such as "found go.mod, web/package.json". Without
	// Commands it says why there are none.
	Because string
	// PassedOver lists what was found and not used, such as "found go.mod, but no test in it".
	PassedOver []string
}

// nothingFound is the reason if no project file was found.
const nothingFound = "looked for go.mod, package.json, pyproject.toml, pytest.ini, setup.cfg, requirements.txt, " +
	"Cargo.toml and a Makefile with a test target, here and in subfolders"

// Detect returns every check that [Propose] lists and that a run uses. It returns false if no test was
// found: lint alone proves nothing.
func Detect(dir string) (Detection, bool) {
	found, untested := survey(dir)
	d := Detection{PassedOver: untested}
	var sources []string
	hasTest := false
	for _, proposal := range found {
		if !proposal.Used() {
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

// readLimit is the size of the largest file that is read.
const readLimit = 1 << 20

func readFile(dir, name string) (string, bool) {
	if !isFile(dir, name) {
		return "", false
	}
	// The file may have become a pipe since isFile, and may grow while it is read.
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

// runsNothing reports whether a script only prints or exits, so that its result does not depend on
// the code.
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

// seekLimit is how many entries of a project seek looks at.
const seekLimit = 100_000

// seek walks the files below dir until one satisfies test. It does not enter hidden folders,
// dependencies and test data. A project that is too large to search counts as one with a test,
// because the search did not show that there is none.
func seek(dir string, enter func(path string) bool, test func(path string) bool) bool {
	found, seen := false, 0
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if seen++; seen > seekLimit {
			found = true
			return fs.SkipAll
		}
		switch {
		case err != nil:
			return nil // an unreadable folder counts as one without tests
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

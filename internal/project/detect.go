// Package project reads what the files of a project say about its checks.
//
// [Detect] proposes the check of a project that names none, from what lies in its root folder. A proposal that would
// run no test at all proves nothing and is passed over; the search goes on with the next kind of project, and what was
// passed over is said.
//
// [Propose] lists everything that the project could be held to (tests, lint, types, format, end-to-end tests), for a
// person to choose from.
package project

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Detection is the check that a project suggests by what lies in its root folder.
type Detection struct {
	// Command is the proposed check; "" if there is none.
	Command string
	// Because says what it was taken from, as "found go.mod" or "found package.json
	// with a test script and pnpm-lock.yaml". Without a Command it says why there is
	// none, ready to be shown.
	Because string
	// PassedOver tells of what was found before and would run no test, as "found
	// go.mod, but no test in it".
	PassedOver []string
}

// kinds are the sorts of projects in the order in which they are asked. Each returns
// nothing at all if there is no project of its sort in dir, and only a reason if there is
// one without anything to run.
var kinds = []func(dir string) (command, because string){lookGo, lookNode, lookPython, lookRust, lookMake}

// Detect proposes the check of the project in dir: of go.mod, package.json, a Python
// project file, Cargo.toml and Makefile the first that would run a test. Only the root
// folder says which kind of project it is; whether there is a test is looked for below.
// The search is bounded, and what lies beyond counts as there. Detect reads files and
// starts nothing. It reports false if there is nothing to propose.
func Detect(dir string) (Detection, bool) {
	var d Detection
	for _, look := range kinds {
		command, because := look(dir)
		switch {
		case command != "":
			d.Command, d.Because = command, because
			return d, true
		case because != "":
			d.PassedOver = append(d.PassedOver, because)
		}
	}
	d.Because = "looked for go.mod, package.json, pyproject.toml, pytest.ini, setup.cfg, Cargo.toml and a Makefile with a test target"
	if len(d.PassedOver) > 0 {
		d.Because = strings.Join(d.PassedOver, "; ")
	}
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

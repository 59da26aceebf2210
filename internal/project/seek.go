package project

import (
	"io/fs"
	"path/filepath"
	"strings"
)

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

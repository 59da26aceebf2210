package scan

import (
	"io/fs"
	"path/filepath"
	"strings"
)

// WalkLimit is how many files of a folder are looked at.
const WalkLimit = 200_000

// Walk lists the files below a folder of top, with slashes and relative to top, in a
// fixed order. Links are listed, not followed; what cannot be read is left out.
func Walk(top, folder string) []string { return WalkSome(top, folder, WalkLimit) }

// WalkSome is Walk up to a limit.
func WalkSome(top, folder string, limit int) []string {
	var names []string
	start := filepath.Join(top, filepath.FromSlash(folder))
	_ = filepath.WalkDir(start, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case entry.IsDir():
			if path != start && IsCache(entry.Name()) {
				return fs.SkipDir
			}
			return nil
		case entry.Name() == ".git": // of a submodule
			return nil
		case len(names) == limit:
			return fs.SkipAll
		}
		if name, err := filepath.Rel(top, path); err == nil {
			names = append(names, filepath.ToSlash(name))
		}
		return nil
	})
	return names
}

// IsCache reports whether a folder of this name holds what programs made or fetched.
func IsCache(folder string) bool {
	switch folder {
	case ".git", ".hg", ".svn", ".jj", "node_modules", ".venv", "venv", "target", "__pycache__", ".tox", ".nox", ".gradle", ".next", ".nuxt", ".terraform", ".direnv":
		return true
	}
	return strings.HasPrefix(folder, ".") && strings.HasSuffix(folder, "cache")
}

// ProgressFile is the file that the harness writes into the workspace.
const ProgressFile = ".ralph/progress.md"

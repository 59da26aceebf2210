// Package scan reads the files of a workspace, which an agent may change at any time, without
// blocking and up to limits. It walks, opens, stamps and hashes them, and formats their names for
// messages.
package scan

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Open opens a file below root if it is a regular file. It does not block, even if the file has
// just become a pipe.
func Open(root *os.Root, name string) (*os.File, bool) {
	return Regular(root.OpenFile(filepath.FromSlash(name), Reading, 0))
}

// Reading are the flags to open files of the workspace and of its git folder.
const Reading = os.O_RDONLY | syscall.O_NONBLOCK

// Regular returns a regular file and closes anything else.
func Regular(f *os.File, err error) (*os.File, bool) {
	if err != nil {
		return nil, false
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, false
	}
	return f, true
}

// Executable returns "program" or "file".
func Executable(info fs.FileInfo) string {
	if info.Mode()&0o100 != 0 {
		return "program"
	}
	return "file"
}

// ReadSmall reads a file that an agent may have written or replaced. A missing file is known and
// empty; known is false if it is huge, unreadable or not a regular file.
func ReadSmall(path string) (content []byte, known bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, errors.Is(err, fs.ErrNotExist)
	}
	return Read(path, ContentLimit)
}

// Read reads a regular file of up to limit bytes.
func Read(path string, limit int64) (content []byte, ok bool) {
	f, ok := Regular(os.OpenFile(path, Reading, 0))
	if !ok {
		return nil, false
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil || int64(len(content)) > limit {
		return nil, false
	}
	return content, true
}

// Canonical returns the path as git prints it: absolute and without links.
func Canonical(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// ErrInside means that a folder is in the workspace whose data it would keep.
var ErrInside = errors.New("it is in the workspace and would contain itself; choose a state folder elsewhere")

// Outside returns a folder's absolute path. It refuses one in the workspace, because the stored
// data would contain itself.
func Outside(workspace, folder, doing string) (string, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", fmt.Errorf("%s: %w", doing, err)
	}
	info, err := os.Stat(workspace)
	if err != nil {
		return "", fmt.Errorf("%s: %w", doing, err)
	}
	if Below(info, folder) {
		return "", fmt.Errorf("%s in %s: %w", doing, folder, ErrInside)
	}
	return folder, nil
}

// Empty deletes what a killed harness left in a folder.
func Empty(folder string) {
	left, _ := filepath.Glob(filepath.Join(folder, "*"))
	for _, file := range left {
		os.RemoveAll(file)
	}
}

// Below reports whether path is the folder tree or below it. It compares the folders themselves,
// because a path can be spelled in several ways.
func Below(tree os.FileInfo, path string) bool {
	for above := path; ; above = filepath.Dir(above) {
		if info, err := os.Stat(above); err == nil && os.SameFile(info, tree) {
			return true
		}
		if above == filepath.Dir(above) {
			return false
		}
	}
}

// WalkLimit is the most files of a folder that are listed.
const WalkLimit = 200_000

// Walk lists the files below a folder of top, relative to top, with slashes and in a fixed order.
// It lists links without following them, and skips what cannot be read.
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

// IsCache reports whether a folder of this name contains generated or downloaded files.
func IsCache(folder string) bool {
	switch folder {
	case ".git", ".hg", ".svn", ".jj", "node_modules", ".venv", "venv", "target", "__pycache__", ".tox", ".nox",
		".gradle", ".next", ".nuxt", ".terraform", ".direnv":
		return true
	}
	return strings.HasPrefix(folder, ".") && strings.HasSuffix(folder, "cache")
}

// ProgressFile is the file that the harness writes into the workspace.
const ProgressFile = ".ralph/progress.md"

// SameAs returns a function that reports whether a file below a folder is one of those that find
// returns, under any name. A nil find returns none.
func SameAs(folder string, find func() []fs.FileInfo) func(name string) bool {
	var files []fs.FileInfo
	if find != nil {
		files = find()
	}
	return func(name string) bool {
		if len(files) == 0 {
			return false
		}
		info, err := os.Lstat(filepath.Join(folder, filepath.FromSlash(name)))
		return err == nil && slices.ContainsFunc(files, func(file fs.FileInfo) bool { return os.SameFile(file, info) })
	}
}

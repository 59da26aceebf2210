package ignored

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// maxFiles is the most files that are listed. A workspace with more cannot be compared.
const maxFiles = 2_000_000

// File is one file of a workspace, without its content. A folder that cannot be read counts as a
// file.
type File struct {
	Name    string // relative to the workspace, with slashes
	Size    int64
	Mode    fs.FileMode
	Written int64  // the modification time, in nanoseconds
	Changed int64  // the change time, which cannot be set; 0 if this system has none
	Inode   uint64 // 0 if this system has none
	Links   uint64 // how many names the file has; 0 if that is not known
	Target  string // of a symbolic link
}

// List is a list of files, sorted by name.
type List []File

// Record lists the files and empty folders of a workspace that are not in the tree, except git's own. It does not
// follow links and reads no file.
func Record(dir string, tree []string) (List, error) {
	inTree := make(map[string]bool, len(tree))
	for _, name := range tree {
		inTree[name] = true
	}
	var list List
	empty := "" // the last folder, as long as nothing was found in it
	noteEmpty := func(next string) {
		if name, err := filepath.Rel(dir, empty); empty != "" && err == nil && filepath.Dir(next) != empty {
			list = append(list, File{Name: filepath.ToSlash(name), Mode: fs.ModeDir})
		}
		empty = ""
	}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		isFolder := entry != nil && entry.IsDir()
		noteEmpty(path)
		switch {
		case path == dir:
			return err
		case isFolder && err == nil && isGit(dir, path):
			return fs.SkipDir
		case isFolder && err == nil:
			empty = path
			return nil
		case entry == nil, isGit(dir, path):
			return nil
		}
		name, relErr := filepath.Rel(dir, path)
		if name = filepath.ToSlash(name); relErr != nil || inTree[name] {
			return relErr
		}
		if len(list) == maxFiles {
			return fmt.Errorf("there are more than %d files", maxFiles)
		}
		if file, ok := describe(name, path, entry); ok {
			list = append(list, file)
		}
		return nil // what cannot be read is listed as the folder that it is
	})
	noteEmpty(dir)
	if err != nil {
		return nil, fmt.Errorf("list ignored files: %w", err)
	}
	slices.SortFunc(list, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// gitOwn matches the names of git's own files and folders in a repository. Others may hold anything.
var gitOwn = text.LazyRegexp(`^(?:HEAD|\w+_HEAD|config|config\.worktree|description|index|packed-refs|shallow|` +
	`rr-cache|commondir|gitdir|objects|refs|logs|hooks|info|branches|lfs|modules|worktrees|rebase-\w+|sequencer|annex|` +
	`gc\.\w+|\w+_(?:MSG|EDITMSG|MODE|RR)|AUTO_MERGE|BISECT_\w+|sharedindex\..*|fsmonitor.*|.*\.lock)$`)

// isGit reports whether a path is one of git's own, in the repository of the workspace.
func isGit(dir, path string) bool {
	return filepath.Dir(path) == filepath.Join(dir, ".git") && gitOwn().MatchString(filepath.Base(path))
}

// describe returns what is known about a file. It reports false if the file is gone.
func describe(name, path string, entry fs.DirEntry) (File, bool) {
	info, err := entry.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return File{}, false
	}
	if err != nil {
		return File{Name: name}, true
	}
	file := File{Name: name, Size: info.Size(), Mode: info.Mode(), Written: info.ModTime().UnixNano()}
	file.Changed, file.Inode, file.Links = system(info)
	if info.Mode().Type() == fs.ModeSymlink {
		file.Target, _ = os.Readlink(path)
	}
	return file, true
}

// CountLinks returns how many names a file has; 0 if that is not known.
func CountLinks(path string) uint64 {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	_, _, links := system(info)
	return links
}

// Find returns the file with a name.
func (l List) Find(name string) (File, bool) {
	i, ok := slices.BinarySearchFunc(l, name, func(f File, name string) int { return strings.Compare(f.Name, name) })
	if !ok {
		return File{}, false
	}
	return l[i], true
}

// Without returns the list without some files.
func (l List) Without(names []string) List {
	drop := make(map[string]bool, len(names))
	for _, name := range names {
		drop[name] = true
	}
	return slices.DeleteFunc(slices.Clone(l), func(f File) bool { return drop[f.Name] })
}

// Changes returns how two lists differ, by name.
func Changes(base, now List) []ralph.FileChange {
	var changes []ralph.FileChange
	add := func(name string, kind ralph.ChangeKind) {
		changes = append(changes, ralph.FileChange{Name: name, Kind: kind})
	}
	for len(base) > 0 || len(now) > 0 {
		switch {
		case len(now) == 0 || len(base) > 0 && base[0].Name < now[0].Name:
			add(base[0].Name, ralph.FileDeleted)
			base = base[1:]
		case len(base) == 0 || now[0].Name < base[0].Name:
			add(now[0].Name, ralph.FileAdded)
			now = now[1:]
		default:
			if base[0] != now[0] {
				add(now[0].Name, ralph.FileChanged)
			}
			base, now = base[1:], now[1:]
		}
	}
	return changes
}

// Join returns base plus everything that changed between two other lists.
func Join(base, from, to List) List {
	changes := Changes(from, to)
	if len(changes) == 0 {
		return base
	}
	names := make([]string, 0, len(changes))
	for _, c := range changes {
		names = append(names, c.Name)
	}
	joined := base.Without(names)
	for _, c := range changes {
		if file, ok := to.Find(c.Name); ok {
			joined = append(joined, file)
		}
	}
	slices.SortFunc(joined, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return joined
}

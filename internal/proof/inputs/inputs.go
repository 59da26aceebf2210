package inputs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/textfile"
)

// Layer is one set of copies.
type Layer string

// The layers.
const (
	Needed Layer = "needed" // what every view has
	Rest   Layer = "rest"   // everything else
)

// Limits of what is copied. More would take longer than most checks.
const (
	maxFolderFiles, maxFolderBytes = 20_000, 200 << 20 // of one dependency folder
	maxRestFiles, maxRestBytes     = 50_000, 1 << 30
)

// Inputs are the ignored files of a workspace as the user had them. One process may use them at a time.
type Inputs struct {
	// Top is the working tree.
	Top string

	folder string
	mine   List // as the user had them, those of the tree included
}

// names of the lists in the folder
const (
	mineName   = "mine.txt"
	leftName   = "left.txt"
	copiedName = "copied.txt"
)

// Open reads what earlier runs recorded in a folder.
func Open(folder, top string) (*Inputs, error) {
	in := &Inputs{Top: top, folder: folder}
	var err error
	if in.mine, err = readList(filepath.Join(folder, mineName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return in, nil
}

// Begin finds out which files are the user's, before an agent works: at first all, later those that were changed since
// End. If the last run was killed before it, none were: it is not known who changed what.
func (in *Inputs) Begin() error {
	now, err := Record(in.Top, nil)
	if err != nil {
		return err
	}
	left, err := readList(filepath.Join(in.folder, leftName))
	switch {
	case in.mine == nil:
		in.mine = now
	case err == nil:
		in.mine = Join(in.mine, left, now)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := os.MkdirAll(in.folder, 0o700); err != nil {
		return err
	}
	if err := in.mine.write(filepath.Join(in.folder, mineName)); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(in.folder, leftName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("record ignored files: %w", err)
	}
	return nil
}

// End records the files as a run leaves them. None of its processes is alive.
func (in *Inputs) End() error {
	now, err := Record(in.Top, nil)
	if err != nil {
		return err
	}
	return now.write(filepath.Join(in.folder, leftName))
}

// Accept makes files, or those of folders, the user's as they are now.
func (in *Inputs) Accept(names []string) error {
	now, err := Record(in.Top, nil)
	if err != nil {
		return err
	}
	accepted := func(l List) List {
		var kept List
		for _, f := range l {
			for _, name := range names {
				if f.Name == name || strings.HasPrefix(f.Name, name+"/") {
					kept = append(kept, f)
					break
				}
			}
		}
		return kept
	}
	in.mine = Join(in.mine, accepted(in.mine), accepted(now))
	return in.mine.write(filepath.Join(in.folder, mineName))
}

// Compare says what changes of ignored files since Begin mean. tree lists the files of the tree now, and changes how it
// differs from the base.
func (in *Inputs) Compare(tree []string, changes []ralph.FileChange) (Sorted, error) {
	now, err := Record(in.Top, tree)
	if err != nil {
		return Sorted{}, err
	}
	return Sort(Input{Base: in.mine.Without(tree), Now: now, Tree: tree, TreeChanges: changes}), nil
}

// Identity returns a digest of the files of a layer.
func (in *Inputs) Identity(layer Layer, tree []string) string {
	files, _ := in.files(layer, tree)
	return files.Identity()
}

// files lists the user's files that belong to a layer, and the dependency folders that are too large to copy.
func (in *Inputs) files(layer Layer, tree []string) (files List, large map[string]bool) {
	mine := in.mine.Without(tree)
	s := newSorter(Input{Base: mine, Now: mine, Tree: tree})
	count, size := map[string]int{}, map[string]int64{}
	for _, f := range mine {
		if isOwn(f.Name) || isCache(f.Name) || s.isNeeded(f.Name) != (layer == Needed) {
			continue
		}
		files = append(files, f)
		if folder, _ := s.dependencyFolder(f.Name); folder != "" {
			count[folder]++
			size[folder] += f.Size
		}
	}
	large = map[string]bool{}
	for folder := range count {
		if count[folder] > maxFolderFiles || size[folder] > maxFolderBytes {
			large[folder] = true
		}
	}
	return files, large
}

// Freeze copies a layer, while no agent works. It returns its folder, and the dependency folders that are too large to
// copy. Copies that are there stay if the user did not change the file since.
func (in *Inputs) Freeze(layer Layer, tree []string) (dir string, large []string, err error) {
	dir = filepath.Join(in.folder, string(layer))
	files, tooLarge := in.files(layer, tree)
	if layer == Rest {
		if err := files.checkSize(); err != nil {
			return "", nil, err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", nil, err
	}
	record := filepath.Join(in.folder, string(layer)+"-"+copiedName)
	copied, err := readList(record)
	if err != nil { // copy all again
		copied = nil
		if err := os.RemoveAll(dir); err != nil {
			return "", nil, err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", nil, err
		}
	}
	isLarge := func(name string) bool {
		for folder := range tooLarge {
			if strings.HasPrefix(name, folder+"/") {
				return true
			}
		}
		return false
	}
	var wanted List
	for _, f := range files {
		if !isLarge(f.Name) {
			wanted = append(wanted, f)
		}
	}
	kept, err := in.copyChanged(dir, copied, wanted)
	if err != nil {
		return "", nil, fmt.Errorf("copy ignored files: %w", err)
	}
	for folder := range tooLarge { // something to mount it on
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(folder)), 0o755); err != nil {
			return "", nil, err
		}
		large = append(large, folder)
	}
	return dir, large, kept.write(record)
}

func (l List) checkSize() error {
	var size int64
	for _, f := range l {
		size += f.Size
	}
	if len(l) > maxRestFiles || size > maxRestBytes {
		return fmt.Errorf("there are %d ignored files with %d bytes, too many to copy", len(l), size)
	}
	return nil
}

// copyChanged brings the copies from one list to another. It returns what is copied then: a file that is not as in the
// list cannot be.
func (in *Inputs) copyChanged(dir string, from, to List) (List, error) {
	kept := to
	var failed []string
	for _, c := range Changes(from, to) {
		target := filepath.Join(dir, filepath.FromSlash(c.Name))
		if err := os.RemoveAll(target); err != nil {
			return nil, err
		}
		f, ok := to.Find(c.Name)
		if !ok {
			continue
		}
		isSame, err := in.copyFile(f, target)
		if err != nil {
			return nil, err
		}
		if !isSame {
			failed = append(failed, c.Name)
		}
	}
	return kept.Without(failed), nil
}

// copyFile copies one file. It reports false if the workspace has another one there now.
func (in *Inputs) copyFile(f File, target string) (bool, error) {
	source := filepath.Join(in.Top, filepath.FromSlash(f.Name))
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return false, err
	}
	info, err := os.Lstat(source)
	if err != nil {
		return false, nil //nolint:nilerr // it is gone
	}
	if f.Mode.IsDir() {
		return info.IsDir(), os.MkdirAll(target, 0o755)
	}
	if now, ok := describe(f.Name, source, fs.FileInfoToDirEntry(info)); !ok || now != f {
		return false, nil
	}
	switch {
	case info.Mode().Type() == fs.ModeSymlink:
		return true, os.Symlink(f.Target, target)
	case !info.Mode().IsRegular():
		return true, nil
	}
	from, err := os.OpenFile(source, os.O_RDONLY|textfile.NonBlocking, 0)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer from.Close()
	to, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o200)
	if err != nil {
		return false, err
	}
	_, err = io.Copy(to, io.LimitReader(from, info.Size()))
	err = errors.Join(err, to.Close(), os.Chtimes(target, info.ModTime(), info.ModTime()))
	return true, errors.Join(err, os.Chmod(target, info.Mode().Perm()))
}

package inside

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
)

// Edit replaces or deletes one file of a folder.
type Edit struct {
	// Name is a path below the folder, with slashes.
	Name string
	// Source is a file whose content, with its executable bit, or a link whose target is put at Name.
	// "" deletes what is there, be it a file or a whole folder.
	Source string
}

// ApplyEdits makes edits in a folder, deletions first. It never leaves the folder and follows no
// link in it: it removes a link or a file where an edit needs a folder. New files get the current
// time, because anything that was built from the old ones is now out of date.
func ApplyEdits(dir string, edits []Edit) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return wrap("open folder", err)
	}
	defer root.Close()
	for _, e := range edits {
		if e.Source == "" {
			if err := remove(root, path.Clean(e.Name)); err != nil {
				return wrap("delete "+e.Name, err)
			}
		}
	}
	for _, e := range edits {
		if e.Source != "" {
			if err := put(root, path.Clean(e.Name), e.Source); err != nil {
				return wrap("write "+e.Name, err)
			}
		}
	}
	return nil
}

// remove deletes a file or folder. It does nothing if a parent is not a folder: then the name does
// not exist, whatever a link would lead to.
func remove(root *os.Root, name string) error {
	for folder := range ancestors(name) {
		info, err := root.Lstat(folder)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return discard(root, name)
}

func put(root *os.Root, name, source string) error {
	for folder := range ancestors(name) {
		info, err := root.Lstat(folder)
		if err == nil && info.IsDir() {
			continue
		}
		if err := discard(root, folder); err != nil {
			return err
		}
		if err := withWritableParent(root, folder, func() error { return root.Mkdir(folder, 0o755) }); err != nil {
			return err
		}
	}
	if err := discard(root, name); err != nil {
		return err
	}
	return withWritableParent(root, name, func() error { return create(root, name, source) })
}

// create creates a file or a link where nothing is.
func create(root *os.Root, name, source string) error {
	info, err := os.Lstat(source)
	if err != nil {
		return err
	}
	switch {
	case info.Mode().Type() == fs.ModeSymlink:
		target, err := os.Readlink(source)
		if err != nil {
			return err
		}
		return root.Symlink(target, name)
	case !info.Mode().IsRegular():
		return errors.New(source + " is neither a file nor a link")
	}
	perm := fs.FileMode(0o644)
	if info.Mode()&0o111 != 0 {
		perm = 0o755
	}
	from, err := os.Open(source)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return cmp.Or(err, to.Close())
}

// discard deletes what is at a name, even read-only folders.
func discard(root *os.Root, name string) error {
	if _, err := root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return withWritableParent(root, name, func() error {
		err := root.RemoveAll(name)
		if errors.Is(err, fs.ErrPermission) {
			makeWritable(root, name)
			err = root.RemoveAll(name)
		}
		return err
	})
}

// makeWritable lets the owner write in all folders from name on. Errors show up when the folders
// are used.
func makeWritable(root *os.Root, name string) {
	info, err := root.Lstat(name)
	if err != nil || !info.IsDir() {
		return
	}
	_ = root.Chmod(name, info.Mode().Perm()|0o700)
	folder, err := root.Open(name)
	if err != nil {
		return
	}
	defer folder.Close()
	entries, _ := folder.ReadDir(-1)
	for _, entry := range entries {
		if entry.IsDir() {
			makeWritable(root, path.Join(name, entry.Name()))
		}
	}
}

// withWritableParent changes one name in its folder, even if the folder is closed to its owner.
func withWritableParent(root *os.Root, name string, change func() error) error {
	err := change()
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	folder := path.Dir(name)
	info, statErr := root.Stat(folder)
	if statErr != nil || info.Mode().Perm()&0o300 == 0o300 || root.Chmod(folder, info.Mode().Perm()|0o300) != nil {
		return err
	}
	return cmp.Or(change(), root.Chmod(folder, info.Mode().Perm()))
}

// ancestors yields the folders above a name, topmost first.
func ancestors(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i, r := range name {
			if r == '/' && !yield(name[:i]) {
				return
			}
		}
	}
}

// failure is an error with a cause, like those of fmt.Errorf.
type failure struct {
	text  string
	cause error
}

func (f *failure) Error() string { return f.text + ": " + f.cause.Error() }

func (f *failure) Unwrap() error { return f.cause }

func wrap(text string, cause error) error { return &failure{text, cause} }

// split yields the parts of a text between separators.
func split(text string, separator byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		begin := 0
		for i := range len(text) {
			if text[i] == separator {
				if !yield(text[begin:i]) {
					return
				}
				begin = i + 1
			}
		}
		yield(text[begin:])
	}
}

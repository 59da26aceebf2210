package pristine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ralphloop/ralph/internal/process"
)

// Limits for a copy. A larger one would take longer than the checks.
const (
	maxCopiedFiles = 50_000
	maxCopiedBytes = 1 << 30

	copyName = "copy"
)

// treeCopy is a separate folder with the files of the tree.
type treeCopy struct {
	workspace string
	folder    string
	// root is the copy itself. It has the workspace's own base name, which some programs show or
	// use.
	root      string
	files     map[string]bool
	folders   map[string]bool  // folders that hold files of the tree
	stamps    map[string]stamp // stamps of the copied files
	filesLeft int
	bytesLeft int64
	noReflink bool
}

func openCopy(ctx context.Context, o *Options) (*treeCopy, error) {
	d := &treeCopy{workspace: o.Dir, folder: o.Folder, root: filepath.Join(o.Folder, copyName, filepath.Base(o.Dir)),
		files: make(
			map[string]bool, len(o.Files),
		), folders: map[string]bool{".": true}, filesLeft: maxCopiedFiles, bytesLeft: maxCopiedBytes}
	for _, name := range o.Files {
		d.files[name] = true
		for folder := path.Dir(name); !d.folders[folder]; folder = path.Dir(folder) {
			d.folders[folder] = true
		}
	}
	err := os.MkdirAll(d.root, 0o700)
	if err == nil {
		err = d.copyFolder(ctx, ".")
	}
	if err == nil {
		err = d.applyEdits(ctx, o.Edits)
	}
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// copyFolder copies the contents of one folder of the tree.
func (d *treeCopy) copyFolder(ctx context.Context, folder string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := os.ReadDir(d.originalPath(folder))
	if err != nil {
		return fmt.Errorf("copy workspace: %w", err)
	}
	for _, entry := range entries {
		name := path.Join(folder, entry.Name())
		switch {
		case d.folders[name] && entry.IsDir():
			if err := os.Mkdir(d.copyPath(name), 0o755); err != nil {
				return fmt.Errorf("copy workspace: %w", err)
			}
			err = d.copyFolder(ctx, name)
		case d.files[name] && !entry.IsDir(): // a folder listed as a file is a separate repository, and is shared
			err = d.copyFile(name, entry)
		default:
			err = os.Symlink(d.originalPath(name), d.copyPath(name))
		}
		if err != nil {
			return fmt.Errorf("copy %s: %w", name, err)
		}
	}
	return nil
}

func (d *treeCopy) originalPath(name string) string {
	return filepath.Join(d.workspace, filepath.FromSlash(name))
}

func (d *treeCopy) copyPath(name string) string {
	return filepath.Join(d.root, filepath.FromSlash(name))
}

func (d *treeCopy) copyFile(name string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	d.filesLeft--
	d.bytesLeft -= info.Size()
	switch {
	case d.filesLeft < 0:
		return fmt.Errorf("the tree has more than %d files, too many for a copy", maxCopiedFiles)
	case d.bytesLeft < 0:
		return fmt.Errorf("the tree has more than %d bytes, too many for a copy", int64(maxCopiedBytes))
	case info.Mode().Type() == fs.ModeSymlink:
		target, err := os.Readlink(d.originalPath(name))
		if err != nil {
			return err
		}
		return os.Symlink(target, d.copyPath(name))
	case !info.Mode().IsRegular():
		return nil // no check needs an existing pipe or socket
	}
	if err := d.copyContent(name, info.Mode().Perm()); err != nil {
		return err
	}
	if err := os.Chtimes(d.copyPath(name), info.ModTime(), info.ModTime()); err != nil {
		return err
	}
	if d.stamps == nil {
		d.stamps = make(map[string]stamp, len(d.files))
	}
	d.stamps[name], _ = stampOf(d.copyPath(name))
	return nil
}

func (d *treeCopy) copyContent(name string, perm fs.FileMode) error {
	if !d.noReflink {
		if reflink(d.originalPath(name), d.copyPath(name), perm) == nil {
			return nil
		}
		d.noReflink = true
	}
	from, err := os.Open(d.originalPath(name))
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(d.copyPath(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		to.Close()
		return err
	}
	return to.Close()
}

func (d *treeCopy) dir() string { return d.root }

func (d *treeCopy) enter(s *process.Spec) {
	s.Dir = d.translate(s.Dir)
	if len(s.Argv) > 0 && filepath.IsAbs(s.Argv[0]) {
		s.Argv = append([]string{d.translate(s.Argv[0])}, s.Argv[1:]...)
	}
	env := make([]string, 0, len(s.Env))
	for _, entry := range s.Env {
		key, value, _ := strings.Cut(entry, "=")
		switch key {
		case "PWD":
			entry = key + "=" + d.translate(value)
		case "PATH":
			// Activated environments and node_modules/.bin are in PATH with the workspace's path.
			list := filepath.SplitList(value)
			for i, folder := range list {
				list[i] = d.translate(folder)
			}
			entry = key + "=" + strings.Join(list, string(filepath.ListSeparator))
		}
		env = append(env, entry)
	}
	// The index is shared, and git would store the state of the copied files in it.
	s.Env = append(env, "GIT_OPTIONAL_LOCKS=0")
}

// translate maps a path in the workspace to its path in the copy.
func (d *treeCopy) translate(path string) string {
	if !filepath.IsAbs(path) {
		return path
	}
	for _, workspace := range []string{d.workspace, realPath(d.workspace)} {
		if rest, ok := relativeTo(path, workspace); ok {
			return filepath.Join(d.root, rest)
		}
	}
	return path
}

func (d *treeCopy) applyEdits(_ context.Context, edits []Edit) error {
	for _, e := range edits {
		if err := d.unshare(e.Name); err != nil {
			return fmt.Errorf("edit %s: %w", e.Name, err)
		}
	}
	return process.ApplyEdits(d.root, edits)
}

// unshare replaces our links on the way to a name with folders, so that an edit does not remove
// everything else that is shared there.
func (d *treeCopy) unshare(name string) error {
	parts := strings.Split(path.Clean(name), "/")
	for i := 1; i < len(parts); i++ {
		folder := path.Join(parts[:i]...)
		target, err := os.Readlink(d.copyPath(folder))
		if err != nil || target != d.originalPath(folder) {
			continue
		}
		entries, err := os.ReadDir(target)
		if err != nil {
			return nil // the link leads to no folder; the edit replaces it
		}
		if info, err := os.Lstat(target); err != nil || !info.IsDir() {
			return nil
		}
		if err := os.Remove(d.copyPath(folder)); err != nil {
			return err
		}
		if err := os.Mkdir(d.copyPath(folder), 0o755); err != nil {
			return err
		}
		for _, entry := range entries {
			link := filepath.Join(d.copyPath(folder), entry.Name())
			if err := os.Symlink(filepath.Join(target, entry.Name()), link); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *treeCopy) writtenFinder() func(name string) (file string, own bool) {
	return func(name string) (string, bool) {
		if info, err := os.Lstat(d.copyPath(name)); err != nil || !info.Mode().IsRegular() {
			return "", true
		}
		return d.copyPath(name), true
	}
}

func (d *treeCopy) firstStamp(name string) (stamp, bool) {
	first, ok := d.stamps[name]
	return first, ok
}

func (d *treeCopy) close() error { return removeAll(d.folder, copyName) }

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

// What a copy may cost. Beyond that it would take longer than the checks.
const (
	copiedFiles = 50_000
	copiedBytes = 1 << 30

	copyName = "copy"
)

// duplicate is another folder with the files of the tree.
type duplicate struct {
	workspace string
	folder    string
	root      string // the copy; it has the workspace's own name, which some programs show or use
	files     map[string]bool
	folders   map[string]bool // that hold files of the tree
	left      int
	leftBytes int64
	noReflink bool
}

func openCopy(ctx context.Context, o *Options) (*duplicate, error) {
	d := &duplicate{workspace: o.Dir, folder: o.Folder, root: filepath.Join(o.Folder, copyName, filepath.Base(o.Dir)),
		files: make(map[string]bool, len(o.Files)), folders: map[string]bool{".": true}, left: copiedFiles, leftBytes: copiedBytes}
	for _, name := range o.Files {
		d.files[name] = true
		for folder := path.Dir(name); !d.folders[folder]; folder = path.Dir(folder) {
			d.folders[folder] = true
		}
	}
	err := os.MkdirAll(d.root, 0o700)
	if err == nil {
		err = d.fill(ctx, ".")
	}
	if err == nil {
		err = d.lay(ctx, o.Edits)
	}
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// fill copies what is in one folder of the tree.
func (d *duplicate) fill(ctx context.Context, folder string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := os.ReadDir(d.original(folder))
	if err != nil {
		return fmt.Errorf("copy workspace: %w", err)
	}
	for _, entry := range entries {
		name := path.Join(folder, entry.Name())
		switch {
		case d.folders[name] && entry.IsDir():
			if err := os.Mkdir(d.copied(name), 0o755); err != nil {
				return fmt.Errorf("copy workspace: %w", err)
			}
			err = d.fill(ctx, name)
		case d.files[name] && !entry.IsDir(): // a folder among the files is a repository of its own, and shared
			err = d.copyFile(name, entry)
		default:
			err = os.Symlink(d.original(name), d.copied(name))
		}
		if err != nil {
			return fmt.Errorf("copy %s: %w", name, err)
		}
	}
	return nil
}

func (d *duplicate) original(name string) string {
	return filepath.Join(d.workspace, filepath.FromSlash(name))
}

func (d *duplicate) copied(name string) string {
	return filepath.Join(d.root, filepath.FromSlash(name))
}

func (d *duplicate) copyFile(name string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	d.left--
	d.leftBytes -= info.Size()
	switch {
	case d.left < 0:
		return fmt.Errorf("the tree has more than %d files, too many for a copy", copiedFiles)
	case d.leftBytes < 0:
		return fmt.Errorf("the tree has more than %d bytes, too many for a copy", int64(copiedBytes))
	case info.Mode().Type() == fs.ModeSymlink:
		target, err := os.Readlink(d.original(name))
		if err != nil {
			return err
		}
		return os.Symlink(target, d.copied(name))
	case !info.Mode().IsRegular():
		return nil // no check needs a pipe or a socket of somebody else
	}
	if err := d.copyContent(name, info.Mode().Perm()); err != nil {
		return err
	}
	return os.Chtimes(d.copied(name), info.ModTime(), info.ModTime())
}

func (d *duplicate) copyContent(name string, perm fs.FileMode) error {
	if !d.noReflink {
		if reflink(d.original(name), d.copied(name), perm) == nil {
			return nil
		}
		d.noReflink = true
	}
	from, err := os.Open(d.original(name))
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(d.copied(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		to.Close()
		return err
	}
	return to.Close()
}

func (d *duplicate) dir() string { return d.root }

func (d *duplicate) enter(s *process.Spec) {
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
			// An activated environment, or node_modules/.bin, is in it with the workspace's path.
			list := filepath.SplitList(value)
			for i, folder := range list {
				list[i] = d.translate(folder)
			}
			entry = key + "=" + strings.Join(list, string(filepath.ListSeparator))
		}
		env = append(env, entry)
	}
	// The index is shared, and git would write down there what the files of the copy look like.
	s.Env = append(env, "GIT_OPTIONAL_LOCKS=0")
}

// translate gives the path in the copy of what is in the workspace.
func (d *duplicate) translate(path string) string {
	if !filepath.IsAbs(path) {
		return path
	}
	for _, workspace := range []string{d.workspace, realPath(d.workspace)} {
		if rest, ok := below(path, workspace); ok {
			return filepath.Join(d.root, rest)
		}
	}
	return path
}

func (d *duplicate) lay(_ context.Context, edits []Edit) error {
	for _, e := range edits {
		if err := d.unshare(e.Name); err != nil {
			return fmt.Errorf("edit %s: %w", e.Name, err)
		}
	}
	return process.ApplyEdits(d.root, edits)
}

// unshare makes folders of the links of ours that lead to a name, so that an edit does not take away all else that is shared there.
func (d *duplicate) unshare(name string) error {
	parts := strings.Split(path.Clean(name), "/")
	for i := 1; i < len(parts); i++ {
		folder := path.Join(parts[:i]...)
		target, err := os.Readlink(d.copied(folder))
		if err != nil || target != d.original(folder) {
			continue
		}
		entries, err := os.ReadDir(target)
		if err != nil {
			return nil // it leads to no folder, and makes way
		}
		if info, err := os.Lstat(target); err != nil || !info.IsDir() {
			return nil
		}
		if err := os.Remove(d.copied(folder)); err != nil {
			return err
		}
		if err := os.Mkdir(d.copied(folder), 0o755); err != nil {
			return err
		}
		for _, entry := range entries {
			if err := os.Symlink(filepath.Join(target, entry.Name()), filepath.Join(d.copied(folder), entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *duplicate) written() func(name string) (file string, own bool) {
	return func(name string) (string, bool) {
		if info, err := os.Lstat(d.copied(name)); err != nil || !info.Mode().IsRegular() {
			return "", true
		}
		return d.copied(name), true
	}
}

func (d *duplicate) close() error { return wipe(d.folder, copyName) }

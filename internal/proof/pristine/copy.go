package pristine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/process"
)

// Limits for a copy. A larger one would take longer than the checks.
const (
	maxCopiedFiles = 50_000
	maxCopiedBytes = 1 << 30

	copyName = "copy"
)

// layerCopy is a separate folder with the files of all layers.
type layerCopy struct {
	workspace, top string
	folder         string
	// root is the copy itself. It has the original's own base name, which some programs show or use.
	root      string
	stamps    map[string]stamp // stamps of the copied files
	filesLeft int
	bytesLeft int64
	noReflink bool
}

func openCopy(ctx context.Context, o *Options) (*layerCopy, error) {
	d := &layerCopy{
		workspace: o.Dir, top: o.Top, folder: o.Folder, root: filepath.Join(o.Folder, copyName, filepath.Base(o.Top)),
		stamps: map[string]stamp{}, filesLeft: maxCopiedFiles, bytesLeft: maxCopiedBytes,
	}
	err := os.MkdirAll(d.root, 0o700)
	for _, layer := range slices.Backward(o.layers()) {
		if err == nil {
			err = d.copyFolder(ctx, layer, "")
		}
	}
	for _, l := range o.Live {
		if err == nil {
			err = d.copyFolder(ctx, l.Source, l.Name)
		}
	}
	if err == nil {
		err = d.applyEdits(ctx, o.Edits)
	}
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// copyFolder copies a folder to a name below the copy.
func (d *layerCopy) copyFolder(ctx context.Context, from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		var below string
		if err == nil {
			below, err = filepath.Rel(from, path)
		}
		if err == nil {
			err = d.copyEntry(path, filepath.ToSlash(filepath.Join(filepath.FromSlash(to), below)), entry)
		}
		if err != nil {
			return fmt.Errorf("copy %s: %w", path, err)
		}
		return nil
	})
}

func (d *layerCopy) copyEntry(from, name string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	to := d.copyPath(name)
	switch {
	case info.IsDir():
		return os.MkdirAll(to, info.Mode().Perm()|0o700)
	case info.Mode().Type() == fs.ModeSymlink:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		_ = os.Remove(to) // of a layer below
		return os.Symlink(target, to)
	case !info.Mode().IsRegular():
		return nil // no check needs an existing pipe or socket
	}
	d.filesLeft--
	d.bytesLeft -= info.Size()
	if d.filesLeft < 0 {
		return fmt.Errorf("the tree has more than %d files, too many for a copy", maxCopiedFiles)
	}
	if d.bytesLeft < 0 {
		return fmt.Errorf("the tree has more than %d bytes, too many for a copy", int64(maxCopiedBytes))
	}
	if err := d.copyContent(from, to, info.Mode().Perm()); err != nil {
		return err
	}
	if err := os.Chtimes(to, info.ModTime(), info.ModTime()); err != nil {
		return err
	}
	d.stamps[name], _ = stampOf(to)
	return nil
}

func (d *layerCopy) copyPath(name string) string {
	return filepath.Join(d.root, filepath.FromSlash(name))
}

func (d *layerCopy) copyContent(from, to string, perm fs.FileMode) error {
	if !d.noReflink {
		if reflink(from, to, perm) == nil {
			return nil
		}
		d.noReflink = true
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

func (d *layerCopy) dir() string { return d.translate(d.workspace) }

func (d *layerCopy) enter(s *process.Spec) {
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
	s.Env = env
}

// translate maps a path in the original folder to its path in the copy.
func (d *layerCopy) translate(path string) string {
	if !filepath.IsAbs(path) {
		return path
	}
	for _, top := range []string{d.top, realPath(d.top)} {
		if rest, ok := relativeTo(path, top); ok {
			return filepath.Join(d.root, rest)
		}
	}
	return path
}

func (d *layerCopy) applyEdits(_ context.Context, edits []Edit) error {
	return process.ApplyEdits(d.root, edits)
}

func (d *layerCopy) writtenFinder() func(name string) (file string, own bool) {
	return func(name string) (string, bool) {
		if info, err := os.Lstat(d.copyPath(name)); err != nil || !info.Mode().IsRegular() {
			return "", true
		}
		return d.copyPath(name), true
	}
}

func (d *layerCopy) firstStamp(name string) (stamp, bool) {
	first, ok := d.stamps[name]
	return first, ok
}

func (d *layerCopy) close() error { return removeAll(d.folder, copyName) }

package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/ralphloop/ralph/internal/process"
)

// maxLinks is how many links one path may lead through.
const maxLinks = 40

var (
	errOutside = errors.New("is outside the workspace; the file tools stay inside it")
	errGit     = errors.New("is inside .git, which can be read but not written; use git commands instead")
)

// workspace is the folder in which all tools of a set work.
type workspace struct {
	Options
	dir string // the absolute path of Root
	// writing is held while a file is changed, so that two edits of one file in the same turn do not
	// overwrite each other.
	writing sync.Mutex

	outputs  *workspace   // of Outputs; nil if there is none
	commands atomic.Int64 // run so far
}

func newWorkspace(o Options) *workspace {
	dir, err := filepath.Abs(o.Root.Name())
	if err != nil {
		// Without a working folder, the relative name is the best we have.
		dir = o.Root.Name()
	}
	w := &workspace{Options: o, dir: dir}
	if o.Outputs != nil {
		w.outputs = newWorkspace(Options{Root: o.Outputs})
	}
	return w
}

// spec returns a command in a folder of the workspace.
func (w *workspace) spec(name string, argv ...string) process.Spec {
	return process.Spec{Argv: argv, Dir: filepath.Join(w.dir, name), Env: w.Env, Marker: w.Marker}
}

// entered returns a command as changed by Enter.
func (w *workspace) entered(s process.Spec) process.Spec {
	if w.Enter != nil {
		w.Enter(&s)
	}
	return s
}

// find resolves a path from the model to the name of its target, relative to the workspace and
// without links. The target need not exist.
func (w *workspace) find(path string) (string, error) {
	switch {
	case path == "":
		return "", errors.New("path is empty")
	case strings.ContainsRune(path, 0):
		return "", errors.New("path contains a NUL byte")
	case len(path) > 4096:
		return "", errors.New("path is longer than 4,096 bytes")
	}
	name, err := w.inside(path)
	if err == nil {
		name, err = w.follow(name)
	}
	if err != nil {
		return "", fmt.Errorf("%s %w", path, err)
	}
	return name, nil
}

// inside makes a path relative to the workspace.
func (w *workspace) inside(path string) (string, error) {
	path = filepath.FromSlash(path)
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.dir, path)
	}
	if name, err := filepath.Rel(w.dir, path); err == nil && filepath.IsLocal(name) {
		return name, nil
	}
	// The folder may have other names: its real one, or another link to it.
	here, err := w.Root.Stat(".")
	if err != nil {
		return "", fmt.Errorf("cannot be looked up: %w", reason(err))
	}
	for folder := filepath.Clean(path); ; folder = filepath.Dir(folder) {
		if info, err := os.Stat(folder); err == nil && os.SameFile(info, here) {
			return filepath.Rel(folder, path)
		}
		if folder == filepath.Dir(folder) {
			return "", errOutside
		}
	}
}

// follow resolves links. os.Root would, too, but not links with an absolute target, and the real
// name of a file decides whether it may be written.
func (w *workspace) follow(name string) (string, error) {
	todo, done, links := parts(name), "", 0
	for len(todo) > 0 {
		part := todo[0]
		todo = todo[1:]
		if part == ".." {
			if done == "" {
				return "", errOutside
			}
			done = strings.TrimPrefix(filepath.Dir(done), ".")
			continue
		}
		next := filepath.Join(done, part)
		info, err := w.Root.Lstat(next)
		if err != nil || info.Mode().Type() != fs.ModeSymlink {
			done = next // any error shows when it is opened
			continue
		}
		if links++; links > maxLinks {
			return "", errors.New("leads through too many links")
		}
		target, err := w.Root.Readlink(next)
		if err != nil {
			return "", fmt.Errorf("cannot be looked up: %w", reason(err))
		}
		if filepath.IsAbs(target) {
			if target, err = w.inside(target); err != nil {
				return "", err
			}
			done = ""
		}
		todo = append(parts(target), todo...)
	}
	return filepath.Join(".", done), nil
}

// parts splits a path into its names.
func parts(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) || r == 0 })
}

// findWritable is find for a file to be changed.
func (w *workspace) findWritable(path string) (string, error) {
	name, err := w.find(path)
	if err != nil {
		return "", err
	}
	if os.IsPathSeparator(path[len(path)-1]) {
		return "", fmt.Errorf("%s names a folder, not a file", path)
	}
	for _, part := range parts(name) {
		// Some file systems ignore case, and one has short names.
		if strings.EqualFold(part, ".git") || strings.EqualFold(part, "git~1") {
			return "", fmt.Errorf("%s %w", path, errGit)
		}
	}
	return name, nil
}

// open opens only regular files for reading: opening a pipe would wait for a writer, and opening a
// device may do anything.
func (w *workspace) open(path, name string) (*os.File, fs.FileInfo, error) {
	if _, err := w.regular(path, name); err != nil {
		return nil, nil, err
	}
	file, err := w.Root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("%s cannot be opened: %w", path, reason(err))
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		file.Close()
		return nil, nil, fmt.Errorf("%s cannot be opened: %w", path, reason(err))
	}
	return file, info, nil
}

// regular returns an error if a file is not a regular one. The error is fs.ErrNotExist if nothing
// is there.
func (w *workspace) regular(path, name string) (fs.FileInfo, error) {
	info, err := w.Root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, &missing{path}
	case err != nil:
		return nil, fmt.Errorf("%s cannot be looked up: %w", path, reason(err))
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder; use glob to see what is in it", path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is a %s, not a regular file, and is not opened", path, special(info.Mode()))
	}
	return info, nil
}

// missing means that there is no such file.
type missing struct{ path string }

func (m *missing) Error() string        { return "there is no file " + m.path }
func (m *missing) Is(target error) bool { return target == fs.ErrNotExist }

func special(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "pipe"
	case mode&fs.ModeSocket != 0:
		return "socket"
	case mode&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}

// reason removes paths and system calls from an error: the model knows what it asked for.
func reason(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	if linkErr, ok := errors.AsType[*os.LinkError](err); ok {
		return linkErr.Err
	}
	return err
}

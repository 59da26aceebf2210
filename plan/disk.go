package plan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/ralphloop/ralph/internal/atomicfile"
)

const (
	maxFile  = 16 << 20
	maxFiles = 64 << 20 // a list with all the files that belong to it
)

// location is where a list is. Nothing outside its folder is ever read or written, whatever links
// an agent creates.
type location struct {
	dir   string // the workspace; for a list outside it, the list's folder
	path  string // in dir, with slashes
	shown string // for messages: path, or the absolute path of a list outside
}

// locate returns the location of a list. A path outside the workspace must be absolute, to show
// that the user meant it.
func locate(dir, name string) (location, error) {
	if !filepath.IsAbs(name) {
		if !filepath.IsLocal(name) {
			return location{}, fmt.Errorf("%s is outside the workspace; use its absolute path", name)
		}
		inside := path.Clean(filepath.ToSlash(name))
		return location{dir, inside, inside}, nil
	}
	inside, err := filepath.Rel(realPath(dir), filepath.Join(realPath(filepath.Dir(name)), filepath.Base(name)))
	if err == nil && filepath.IsLocal(inside) {
		return location{dir, filepath.ToSlash(inside), filepath.ToSlash(inside)}, nil
	}
	return location{filepath.Dir(name), filepath.Base(name), filepath.Clean(name)}, nil
}

func realPath(name string) string {
	if absolute, err := filepath.Abs(name); err == nil {
		name = absolute
	}
	if resolved, err := filepath.EvalSymlinks(name); err == nil {
		return resolved
	}
	return name
}

// snapshot is the content of a list and its files at one time.
type snapshot struct {
	source
	modes   map[string]fs.FileMode
	links   map[string]string // symbolic links and their targets
	trouble map[string]string // files that are there or should be, and why they cannot be read: "is a pipe"
	size    int               // of all files
}

func newSnapshot(list string) snapshot {
	return snapshot{
		source: source{path: list, files: map[string][]byte{}},
		modes:  map[string]fs.FileMode{}, links: map[string]string{}, trouble: map[string]string{},
	}
}

// mode returns the mode of a file in the snapshot, or that of a new file.
func (s snapshot) mode(name string) fs.FileMode {
	if mode, known := s.modes[name]; known {
		return mode
	}
	return 0o644
}

const isMissing = "is not there"

// read takes a snapshot. If f is nil, it detects the format. It also reads the files named in also,
// besides those that the list refers to.
func (l location) read(f format, also []string) (snapshot, format, error) {
	s := newSnapshot(l.path)
	root, err := os.OpenRoot(l.dir)
	if err != nil {
		return s, f, fmt.Errorf("open workspace: %w", err)
	}
	defer root.Close()
	s.take(root, l.path)
	if _, ok := s.files[l.path]; !ok && s.trouble[l.path] == "" {
		s.trouble[l.path] = isMissing
	}
	if f == nil {
		f = detect(l.path, s.list())
	}
	names := slices.Clone(also)
	if c, ok := f.(companion); ok {
		names = append(names, c.companions(s.source)...)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		s.take(root, name)
	}
	return s, f, nil
}

func detect(path string, data []byte) format {
	for _, f := range formats {
		if f.detects(path, data) {
			return f
		}
	}
	return nil
}

// take reads one file into the snapshot. It ignores a missing file.
func (s *snapshot) take(root *os.Root, name string) {
	if _, taken := s.files[name]; taken {
		return
	}
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		s.links[name], _ = root.Readlink(name)
	}
	data, mode, trouble := readRegular(root, name)
	switch {
	case trouble != "":
		s.trouble[name] = trouble
	case s.size+len(data) > maxFiles:
		s.trouble[name] = fmt.Sprintf("is more than %d MiB together with the list's other files", maxFiles>>20)
	default:
		s.files[name], s.modes[name] = data, mode
		s.size += len(data)
	}
}

// readRegular reads a file of sensible size, or returns why it does not.
func readRegular(root *os.Root, name string) (data []byte, mode fs.FileMode, trouble string) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // do not block on a pipe without a writer
	if err != nil {
		return nil, 0, "cannot be read: " + reason(err)
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, 0, "cannot be read: " + reason(err)
	case info.IsDir():
		return nil, 0, "is a folder"
	case info.Mode()&fs.ModeNamedPipe != 0:
		return nil, 0, "is a pipe"
	case !info.Mode().IsRegular():
		return nil, 0, "is not a regular file"
	}
	data, err = io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return nil, 0, "cannot be read: " + reason(err)
	case len(data) > maxFile:
		return nil, 0, fmt.Sprintf("is larger than %d MiB", maxFile>>20)
	}
	return data, info.Mode().Perm(), ""
}

// reason returns an error without the path, which the message already contains.
func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}

// equal reports whether nothing that can be read or seen differs.
func (s snapshot) equal(other snapshot) bool {
	return maps.EqualFunc(s.files, other.files, bytes.Equal) && maps.Equal(s.links, other.links) &&
		maps.Equal(s.trouble, other.trouble)
}

// writeFile replaces a file of the workspace atomically: readers see either the old content or the
// new. It follows a link as long as that stays in the workspace.
func writeFile(root *os.Root, name string, data []byte, mode fs.FileMode) error {
	name, err := followLink(root, name)
	if err != nil {
		return err
	}
	temp := path.Join(path.Dir(name), atomicfile.TempName())
	file, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		failed.Path = name // that of the temporary file says nothing
	}
	if err != nil {
		return err
	}
	defer root.Remove(temp) //nolint:errcheck // fails once it is renamed
	_, err = file.Write(data)
	if err == nil {
		err = file.Chmod(mode)
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := root.Rename(temp, name); err != nil {
		return err
	}
	return flushFolder(root, path.Dir(name))
}

// followLink returns the file that a name finally refers to.
func followLink(root *os.Root, name string) (string, error) {
	start := name
	for range 8 {
		info, err := root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode()&fs.ModeSymlink == 0 {
			return name, nil
		}
		if err != nil {
			return "", err
		}
		target, err := root.Readlink(name)
		if err != nil {
			return "", err
		}
		name = path.Join(path.Dir(name), filepath.ToSlash(target))
		if filepath.IsAbs(target) || !filepath.IsLocal(filepath.FromSlash(name)) {
			return "", fmt.Errorf("%s is a link to a file outside the workspace", start)
		}
	}
	return "", fmt.Errorf("%s is a link loop", start)
}

// flushFolder makes the names in a folder durable. Windows has no such call and needs none.
func flushFolder(root *os.Root, name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := root.Open(name)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}

// clearWay removes what is in place of a file or of one of its folders, so that the file can be
// restored.
func clearWay(root *os.Root, name string, link string) error {
	parts := strings.Split(path.Dir(name), "/")
	for i := range parts {
		folder := path.Join(parts[:i+1]...)
		info, err := root.Lstat(folder)
		if err != nil || info.IsDir() {
			continue // missing folders are created below, and unreadable ones are not removed
		}
		if target, err := root.Stat(folder); err == nil && target.IsDir() {
			continue
		}
		if err := root.Remove(folder); err != nil {
			return err
		}
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().IsRegular():
		return nil
	case info.Mode()&fs.ModeSymlink != 0:
		if target, err := root.Readlink(name); err == nil && target == link {
			return nil
		}
	}
	return root.RemoveAll(name)
}

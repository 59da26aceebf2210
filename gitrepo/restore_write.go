package gitrepo

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// writer writes and deletes below a folder. It never goes through a link, and replaces
// a file as a whole.
type writer struct {
	root    *os.Root
	base    string // the folder that stays, even if it is empty; "" is the top
	done    *Restored
	folders map[string]bool        // known to be real ones
	emptied []string               // folders in which something was deleted
	stayed  []string               // files that were not written, for what is in their place
	seen    map[string]fs.FileInfo // how files were before they were compared, nil for none: those that are otherwise now are somebody's
}

// still wants a file to be the one that was compared.
func (w *writer) still(name string) error {
	before, noted := w.seen[name]
	now, err := w.root.Lstat(filepath.FromSlash(name))
	if !noted || err != nil || now.IsDir() { // there is nothing to lose, or it is not replaced
		return nil
	}
	if before == nil || !os.SameFile(before, now) || before.Size() != now.Size() || !before.ModTime().Equal(now.ModTime()) {
		return errors.New("it was changed meanwhile")
	}
	return nil
}

func (w *writer) delete(name string) error {
	if err := w.still(name); err != nil {
		return fmt.Errorf("delete %s: %w", name, err)
	}
	err := w.inFolder(folderOf(name), func() error { return w.root.Remove(filepath.FromSlash(name)) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete %s: %w", name, err)
	}
	w.emptied = append(w.emptied, folderOf(name))
	w.done.Deleted++
	return nil
}

// prune removes folders that have become empty.
func (w *writer) prune() {
	slices.Sort(w.emptied)
	w.emptied = slices.Compact(w.emptied)
	slices.Reverse(w.emptied)
	for _, folder := range w.emptied {
		for folder != "." && folder != w.base && w.removeFolder(folder) {
			folder = folderOf(folder)
		}
	}
	w.emptied = nil
}

func (w *writer) removeFolder(name string) bool {
	info, err := w.root.Lstat(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return true // with another name in it
	}
	if err != nil || !info.IsDir() {
		return false
	}
	return w.inFolder(folderOf(name), func() error { return w.root.Remove(filepath.FromSlash(name)) }) == nil
}

// inFolder does something to the entries of a folder, also of one that is read-only.
func (w *writer) inFolder(folder string, do func() error) error {
	err := do()
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	info, broken := w.root.Lstat(filepath.FromSlash(folder))
	if broken != nil || !info.IsDir() || w.root.Chmod(filepath.FromSlash(folder), info.Mode().Perm()|0o700) != nil {
		return err
	}
	return errors.Join(do(), w.root.Chmod(filepath.FromSlash(folder), info.Mode().Perm()))
}

// contents is where the content of kept files comes from.
type contents interface {
	// give writes the content of files, in their order and as `git cat-file --batch` does.
	give(ctx context.Context, ids []string, to io.Writer) error
}

// give has git do it.
func (s *Snapshots) give(ctx context.Context, ids []string, to io.Writer) error {
	return s.feed([]byte(strings.Join(ids, "\n")+"\n"), func(file string) error {
		return s.run(ctx, call{args: []string{"cat-file", "--batch"}, stdin: file, out: to})
	})
}

// put writes the files that edits lead to.
func (w *writer) put(ctx context.Context, from contents, edits []edit) error {
	w.folders = map[string]bool{".": true}
	var due []edit
	for _, e := range edits {
		if e.after.mode == modeNone {
			continue
		}
		free, err := w.clear(e)
		if err != nil {
			return fmt.Errorf("write %s: %w", e.name, err)
		}
		switch {
		case !free:
			w.stayed = append(w.stayed, e.name)
			w.done.note("%s was not restored: something that could not be saved first is in its place", shorten(e.name))
		case e.before.id == e.after.id && e.before.mode != modeLink && e.after.mode != modeLink:
			if err := w.setProgram(e); err != nil {
				return fmt.Errorf("write %s: %w", e.name, err)
			}
			w.done.Written++
		default:
			due = append(due, e)
		}
	}
	if len(due) == 0 {
		return nil
	}
	ids := make([]string, 0, len(due))
	for _, e := range due {
		ids = append(ids, e.after.id)
	}
	in := &blobs{to: w, due: due}
	err := from.give(ctx, ids, in)
	in.abandon()
	if err == nil && len(in.due) > 0 {
		err = fmt.Errorf("write %s: git did not give it", in.due[0].name)
	}
	return err
}

// clear makes way for a file: folders above it, and nothing in its place that cannot be
// replaced. It reports false if something has to stay.
func (w *writer) clear(e edit) (bool, error) {
	names := upTo(e.name)
	for _, folder := range names[:len(names)-1] {
		if ok, err := w.ensureFolder(folder); !ok || err != nil {
			return false, err
		}
	}
	info, err := w.root.Lstat(filepath.FromSlash(e.name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, err
	case info.IsDir():
		return w.removeEmpty(e.name), nil
	case harmlessNode(info):
		return true, nil
	}
	saved := e.before.mode != modeNone && (info.Mode().IsRegular() || info.Mode()&fs.ModeSymlink != 0)
	return saved, nil
}

// harmlessNode reports whether there is nothing to lose: a pipe or a socket.
func harmlessNode(info fs.FileInfo) bool { return info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0 }

func (w *writer) ensureFolder(name string) (bool, error) {
	if w.folders[name] {
		return true, nil
	}
	info, err := w.root.Lstat(filepath.FromSlash(name))
	if err == nil && harmlessNode(info) {
		err = w.inFolder(folderOf(name), func() error { return w.root.Remove(filepath.FromSlash(name)) })
		if err == nil {
			err = fs.ErrNotExist
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = w.inFolder(folderOf(name), func() error { return w.root.Mkdir(filepath.FromSlash(name), 0o777) })
	} else if err == nil && !info.IsDir() {
		return false, nil
	}
	w.folders[name] = err == nil
	return err == nil, err
}

// removeEmpty removes a folder that holds nothing but folders.
func (w *writer) removeEmpty(name string) bool {
	var folders []string
	err := fs.WalkDir(w.root.FS(), name, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			err = fs.ErrExist
		}
		folders = append(folders, name)
		return err
	})
	if err != nil {
		return false
	}
	for _, folder := range slices.Backward(folders) {
		if !w.removeFolder(folder) {
			return false
		}
	}
	return true
}

// setProgram makes a file executable, or makes it plain.
func (w *writer) setProgram(e edit) error {
	info, err := w.root.Lstat(filepath.FromSlash(e.name))
	if err != nil {
		return err
	}
	return w.root.Chmod(filepath.FromSlash(e.name), permission(info.Mode().Perm(), e.after.mode))
}

// permission is that of a file as it should be: who may read it, may run it.
func permission(now fs.FileMode, mode string) fs.FileMode {
	if mode == modeProgram {
		return now | now&0o444>>2
	}
	return now &^ 0o111
}

// blobs reads `git cat-file --batch` as it is written, and makes files of it.
type blobs struct {
	to     *writer
	due    []edit // the first is the one that comes, or is being written
	header []byte
	left   int64 // bytes of the content, and the line break behind it
	file   *os.File
	link   bytes.Buffer
	name   string // of the file until it is whole
}

func (b *blobs) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if b.left == 0 {
			end := bytes.IndexByte(p, '\n')
			if end < 0 {
				b.header = append(b.header, p...)
				return n, nil
			}
			b.header = append(b.header, p[:end]...)
			p = p[end+1:]
			if err := b.begin(); err != nil {
				return 0, err
			}
			continue
		}
		part := p[:min(int64(len(p)), b.left)]
		p = p[len(part):]
		b.left -= int64(len(part))
		if err := b.add(part); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// begin reads "ID blob SIZE".
func (b *blobs) begin() error {
	fields := strings.Fields(string(b.header))
	b.header = b.header[:0]
	if len(b.due) == 0 || len(fields) != 3 || fields[1] != "blob" || fields[0] != b.due[0].after.id {
		return fmt.Errorf("read snapshot: git answered %q", strings.Join(fields, " "))
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return fmt.Errorf("read snapshot: %w", err)
	}
	b.left = size + 1
	e := b.due[0]
	b.name = folderOf(e.name) + "/.ralph-" + rand.Text()
	b.link.Reset()
	if e.after.mode == modeLink {
		return nil
	}
	mode := fs.FileMode(0o666)
	if e.after.mode == modeProgram {
		mode = 0o777
	}
	err = b.to.inFolder(folderOf(e.name), func() error {
		b.file, err = b.to.root.OpenFile(filepath.FromSlash(b.name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
		return err
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", e.name, err)
	}
	return nil
}

func (b *blobs) add(part []byte) error {
	content := part
	if b.left == 0 {
		content = part[:len(part)-1]
	}
	var to io.Writer = &b.link
	if b.file != nil {
		to = b.file
	}
	_, err := to.Write(content)
	if err == nil && b.left == 0 {
		err = b.finish()
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", b.due[0].name, err)
	}
	return nil
}

// finish puts the file where it belongs.
func (b *blobs) finish() error {
	e := b.due[0]
	var err error
	if b.file != nil {
		if info, there := b.to.root.Lstat(filepath.FromSlash(e.name)); there == nil && info.Mode().IsRegular() {
			err = b.file.Chmod(permission(info.Mode().Perm(), e.after.mode))
		}
		err = errors.Join(err, b.file.Close())
		b.file = nil
	}
	if err := cmp.Or(err, b.to.still(e.name)); err != nil {
		return err
	}
	err = b.to.inFolder(folderOf(e.name), func() error {
		if e.after.mode == modeLink {
			if err := b.to.root.Symlink(b.link.String(), filepath.FromSlash(b.name)); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
		return b.to.root.Rename(filepath.FromSlash(b.name), filepath.FromSlash(e.name))
	})
	if err != nil {
		return err
	}
	b.name = ""
	b.due = b.due[1:]
	b.to.done.Written++
	return nil
}

// abandon takes a file away that was not finished.
func (b *blobs) abandon() {
	if b.file != nil {
		b.file.Close()
	}
	if b.name != "" {
		_ = b.to.root.Remove(filepath.FromSlash(b.name))
	}
}

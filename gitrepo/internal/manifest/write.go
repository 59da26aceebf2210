package manifest

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/gitrepo/internal/scan"
	"github.com/ralphloop/ralph/internal/atomicfile"
	"github.com/ralphloop/ralph/internal/text"
)

// Extract writes the named files below a folder; default: all files.
func Extract(ctx context.Context, from Source, files []Entry, dir string, names []string) error {
	edits := make([]Edit, 0, len(files))
	wanted := NameSet(names)
	for _, file := range files {
		if names == nil || wanted[file.Name] {
			// Pretend that the current file is saved, so that it may be replaced.
			edits = append(edits, Edit{file.Name, Entry{Mode: ModeLink}, file})
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("extract snapshot: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("extract snapshot: %w", err)
	}
	defer root.Close()
	w := &Writer{Root: root, Done: &Restored{}}
	if err := w.Put(ctx, from, edits); err != nil {
		return fmt.Errorf("extract snapshot: %w", err)
	}
	if len(w.Stayed) > 0 {
		return fmt.Errorf("extract snapshot: something else is in place of %s: %w", scan.List(w.Stayed), fs.ErrExist)
	}
	return nil
}

// Restored is the result of a restore.
type Restored struct {
	// Undo is a snapshot of the state before: restoring it undoes everything.
	Undo string
	// Written and Deleted count files, Refs counts branches, tags and other refs.
	Written, Deleted, Refs int
	// Notes describe what may be unexpected, one sentence each.
	Notes []string
}

// Note adds a sentence.
func (r *Restored) Note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// UpTo lists the parent folders of a name, from the top, and the name itself.
func UpTo(name string) []string {
	var names []string
	for i, c := range name {
		if c == '/' {
			names = append(names, name[:i])
		}
	}
	return append(names, name)
}

// FolderOf returns the folder of a name, "." at the top.
func FolderOf(name string) string {
	if slash := strings.LastIndexByte(name, '/'); slash >= 0 {
		return name[:slash]
	}
	return "."
}

// Writer writes and deletes files below a folder. It never follows a link, and replaces a file
// atomically.
type Writer struct {
	Root    *os.Root
	Base    string // a folder that is kept even if it is empty; default: the top
	Done    *Restored
	folders map[string]bool // known to be folders, not links
	emptied []string        // folders with deleted files
	Stayed  []string        // files that were not written because of what is in their place
	// Seen is the state of files before they were compared; nil means that a file did not exist. A
	// file that differs now was changed by another program and is not touched.
	Seen map[string]fs.FileInfo
}

// checkUnchanged returns an error if a file is not the one that was compared.
func (w *Writer) checkUnchanged(name string) error {
	before, noted := w.Seen[name]
	now, err := w.Root.Lstat(filepath.FromSlash(name))
	if !noted || err != nil || now.IsDir() { // nothing to lose, or a folder, which is not replaced
		return nil
	}
	if before == nil || !os.SameFile(before, now) || before.Size() != now.Size() ||
		!before.ModTime().Equal(now.ModTime()) {
		return errors.New("it changed meanwhile")
	}
	return nil
}

// Delete deletes a file, unless it changed meanwhile.
func (w *Writer) Delete(name string) error {
	if err := w.checkUnchanged(name); err != nil {
		return fmt.Errorf("delete %s: %w", name, err)
	}
	err := w.inFolder(FolderOf(name), func() error { return w.Root.Remove(filepath.FromSlash(name)) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete %s: %w", name, err)
	}
	w.emptied = append(w.emptied, FolderOf(name))
	w.Done.Deleted++
	return nil
}

// prune removes folders that became empty.
func (w *Writer) prune() {
	slices.Sort(w.emptied)
	w.emptied = slices.Compact(w.emptied)
	slices.Reverse(w.emptied)
	for _, folder := range w.emptied {
		for folder != "." && folder != w.Base && w.removeFolder(folder) {
			folder = FolderOf(folder)
		}
	}
	w.emptied = nil
}

func (w *Writer) removeFolder(name string) bool {
	info, err := w.Root.Lstat(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return true // already removed
	}
	if err != nil || !info.IsDir() {
		return false
	}
	return w.inFolder(FolderOf(name), func() error { return w.Root.Remove(filepath.FromSlash(name)) }) == nil
}

// inFolder runs do on an entry of a folder, even if the folder is read-only.
func (w *Writer) inFolder(folder string, do func() error) error {
	err := do()
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	info, broken := w.Root.Lstat(filepath.FromSlash(folder))
	if broken != nil || !info.IsDir() || w.Root.Chmod(filepath.FromSlash(folder), info.Mode().Perm()|0o700) != nil {
		return err
	}
	return errors.Join(do(), w.Root.Chmod(filepath.FromSlash(folder), info.Mode().Perm()))
}

// Source provides the content of saved files.
type Source interface {
	// Give writes the contents of files in order, in the format of `git cat-file --batch`.
	Give(ctx context.Context, ids []string, to io.Writer) error
}

// Change deletes and writes files according to edits.
func (w *Writer) Change(ctx context.Context, from Source, edits []Edit) error {
	for _, e := range edits {
		if e.After.Mode != ModeNone {
			continue
		}
		if err := w.Delete(e.Name); err != nil {
			return err
		}
	}
	w.prune()
	return w.Put(ctx, from, edits)
}

// Put writes the files that edits add or change.
func (w *Writer) Put(ctx context.Context, from Source, edits []Edit) error {
	w.folders = map[string]bool{".": true}
	var due []Edit
	for _, e := range edits {
		if e.After.Mode == ModeNone {
			continue
		}
		free, err := w.clear(e)
		if err != nil {
			return fmt.Errorf("write %s: %w", e.Name, err)
		}
		switch {
		case !free:
			w.Stayed = append(w.Stayed, e.Name)
			w.Done.Note("%s was not restored: something that could not be saved first is in its place", scan.Shorten(e.Name))
		case e.Before.ID == e.After.ID && e.Before.Mode != ModeLink && e.After.Mode != ModeLink:
			if err := w.setProgram(e); err != nil {
				return fmt.Errorf("write %s: %w", e.Name, err)
			}
			w.Done.Written++
		default:
			due = append(due, e)
		}
	}
	if len(due) == 0 {
		return nil
	}
	ids := text.Mapped(due, func(e Edit) string { return e.After.ID })
	out, in := io.Pipe()
	gave := make(chan error, 1)
	go func() {
		err := from.Give(ctx, ids, in)
		in.CloseWithError(err)
		gave <- err
	}()
	err := w.writeAll(bufio.NewReader(out), due)
	out.CloseWithError(cmp.Or(err, io.ErrClosedPipe))
	return cmp.Or(<-gave, err)
}

// clear prepares the path of a file: it creates the parent folders and checks that nothing is there
// that must stay. It returns false if something must stay.
func (w *Writer) clear(e Edit) (bool, error) {
	names := UpTo(e.Name)
	for _, folder := range names[:len(names)-1] {
		if ok, err := w.ensureFolder(folder); !ok || err != nil {
			return false, err
		}
	}
	info, err := w.Root.Lstat(filepath.FromSlash(e.Name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, err
	case info.IsDir():
		return w.removeEmpty(e.Name), nil
	case harmlessNode(info):
		return true, nil
	}
	saved := e.Before.Mode != ModeNone && (info.Mode().IsRegular() || info.Mode()&fs.ModeSymlink != 0)
	return saved, nil
}

// harmlessNode reports whether a file is a pipe or a socket, which have no content to lose.
func harmlessNode(info fs.FileInfo) bool { return info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0 }

func (w *Writer) ensureFolder(name string) (bool, error) {
	if w.folders[name] {
		return true, nil
	}
	info, err := w.Root.Lstat(filepath.FromSlash(name))
	if err == nil && harmlessNode(info) {
		err = w.inFolder(FolderOf(name), func() error { return w.Root.Remove(filepath.FromSlash(name)) })
		if err == nil {
			err = fs.ErrNotExist
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = w.inFolder(FolderOf(name), func() error { return w.Root.Mkdir(filepath.FromSlash(name), 0o777) })
	} else if err == nil && !info.IsDir() {
		return false, nil
	}
	w.folders[name] = err == nil
	return err == nil, err
}

// removeEmpty removes a folder that contains nothing but folders.
func (w *Writer) removeEmpty(name string) bool {
	var folders []string
	err := fs.WalkDir(w.Root.FS(), name, func(name string, entry fs.DirEntry, err error) error {
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

// setProgram sets or clears the executable bits of a file.
func (w *Writer) setProgram(e Edit) error {
	info, err := w.Root.Lstat(filepath.FromSlash(e.Name))
	if err != nil {
		return err
	}
	return w.Root.Chmod(filepath.FromSlash(e.Name), permission(info.Mode().Perm(), e.After.Mode))
}

// permission returns the permissions for a mode: those who may read a program may run it.
func permission(now fs.FileMode, mode string) fs.FileMode {
	if mode == ModeProgram {
		return now | now&0o444>>2
	}
	return now &^ 0o111
}

// writeAll writes files from the output of `git cat-file --batch`.
func (w *Writer) writeAll(in *bufio.Reader, due []Edit) error {
	for _, e := range due {
		header, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) && header == "" {
			return fmt.Errorf("write %s: git did not return it", e.Name)
		}
		var id string
		var size int64
		if _, err := fmt.Sscanf(header, "%s blob %d\n", &id, &size); err != nil || id != e.After.ID {
			return fmt.Errorf("read snapshot: git answered %q", strings.TrimSpace(header))
		}
		if err := w.write(e, in, size); err != nil {
			return fmt.Errorf("write %s: %w", e.Name, err)
		}
		w.Done.Written++
	}
	return nil
}

// write writes a temporary file beside the target, and renames it when it is complete.
func (w *Writer) write(e Edit, in *bufio.Reader, size int64) (err error) {
	folder := FolderOf(e.Name)
	temp := filepath.FromSlash(folder + "/" + atomicfile.TempName())
	defer func() {
		if err != nil {
			_ = w.Root.Remove(temp)
		}
	}()
	var target strings.Builder
	if e.After.Mode == ModeLink {
		_, err = io.CopyN(&target, in, size)
	} else {
		err = w.writeFile(e, temp, io.LimitReader(in, size))
	}
	if err == nil { // a newline after the content means that it is complete
		_, err = in.ReadByte()
	}
	if err := cmp.Or(err, w.checkUnchanged(e.Name)); err != nil {
		return err
	}
	return w.inFolder(folder, func() error {
		if e.After.Mode == ModeLink {
			if err := w.Root.Symlink(target.String(), temp); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
		return w.Root.Rename(temp, filepath.FromSlash(e.Name))
	})
}

// writeFile writes content to a new file, with the permissions of the file that it replaces.
func (w *Writer) writeFile(e Edit, temp string, content io.Reader) error {
	mode := fs.FileMode(0o666)
	if e.After.Mode == ModeProgram {
		mode = 0o777
	}
	var file *os.File
	err := w.inFolder(FolderOf(e.Name), func() (err error) {
		file, err = w.Root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
		return err
	})
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	if info, there := w.Root.Lstat(filepath.FromSlash(e.Name)); err == nil && there == nil && info.Mode().IsRegular() {
		err = file.Chmod(permission(info.Mode().Perm(), e.After.Mode))
	}
	return errors.Join(err, file.Close())
}

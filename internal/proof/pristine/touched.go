package pristine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Change is a file that commands in a view wrote or removed.
type Change struct {
	Name   string
	Before string // a file with the content that the view showed at first
	After  string // a file with the current content; "" if it was removed
}

// Touched returns those of the named files that commands in a view wrote since the last edit or the
// last call. In an overlay every file that the kernel copied up counts as written, in a copy every
// file whose change time differs: a program can set back a file's content, size and modification
// time, but not these. So a file that was opened for writing in an overlay counts, and in both modes
// one that only got other permissions. Names that the view did not show as files at first are
// skipped. Views in place and in memory do not record writes; they return [errors.ErrUnsupported].
func (v *View) Touched(ctx context.Context, names []string) ([]Change, error) {
	find := v.backend.writtenFinder()
	if find == nil {
		return nil, fmt.Errorf("list written files: this view does not record them: %w", errors.ErrUnsupported)
	}
	var touched []Change
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("list written files: %w", err)
		}
		before, ok := v.edits.source(name)
		if !ok {
			continue
		}
		if before == "" {
			before = filepath.Join(v.options.Dir, filepath.FromSlash(name))
		}
		after, own := find(name)
		if !own || !v.differs(name, before, after) {
			continue
		}
		touched = append(touched, Change{Name: name, Before: before, After: after})
	}
	return touched, nil
}

// differs compares a file with its first state or, after an earlier call, with its state then.
func (v *View) differs(name, before, after string) bool {
	if _, isFile := stampOf(before); !isFile {
		return false
	}
	now, _ := stampOf(after)
	was, stamped := v.edits.stamps[name]
	if !stamped {
		was, stamped = v.backend.firstStamp(name)
	}
	if stamped && now == was || !stamped && isSameFile(before, after) {
		return false
	}
	v.edits.stamps[name] = now
	return true
}

// isSameFile reports whether two names lead to one file. A copy shares ignored files with the
// workspace, so writes to them cannot be told from those of other programs.
func isSameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// stamp detects whether a file was written. The zero value means that the file is gone.
type stamp struct {
	size    int64
	written int64
	changed int64 // the change time, which cannot be set; 0 if this system has none
	inode   uint64
}

func stampOf(file string) (s stamp, isFile bool) {
	if file == "" {
		return stamp{}, false
	}
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() {
		return stamp{}, false
	}
	changed, inode := changeTime(info)
	return stamp{info.Size(), info.ModTime().UnixNano(), changed, inode}, true
}

// editLog records how edits changed a view.
type editLog struct {
	sources map[string]string // sources by name
	// covered names no longer show files of the workspace, and neither does anything below them.
	covered map[string]bool
	folders map[string]bool  // folders that added files need
	stamps  map[string]stamp // stamps of added files, and of files found touched
}

// record records edits that were applied, and stamps the files that they added.
func (e *editLog) record(edits []Edit, find func(name string) (file string, own bool)) {
	if e.sources == nil {
		e.sources, e.stamps = map[string]string{}, map[string]stamp{}
		e.covered, e.folders = map[string]bool{}, map[string]bool{}
	}
	for _, edit := range edits { // like process.Lay, apply removals first
		if name := path.Clean(edit.Name); edit.Source == "" {
			e.covered[name] = true
			for other := range e.sources {
				if other == name || strings.HasPrefix(other, name+"/") {
					delete(e.sources, other)
				}
			}
		}
	}
	for _, edit := range edits {
		if edit.Source == "" {
			continue
		}
		name := path.Clean(edit.Name)
		e.sources[name], e.covered[name] = edit.Source, true
		for folder := path.Dir(name); folder != "." && !e.folders[folder]; folder = path.Dir(folder) {
			e.folders[folder] = true
		}
		if find != nil {
			file, _ := find(name)
			e.stamps[name], _ = stampOf(file)
		}
	}
}

// source returns the file that an edit put at a name, or "" for the workspace's own file. ok is
// false if the view shows neither.
func (e *editLog) source(name string) (source string, ok bool) {
	if source, ok := e.sources[name]; ok {
		return source, true
	}
	if e.folders[name] {
		return "", false
	}
	for at := name; at != "."; at = path.Dir(at) {
		if e.covered[at] {
			return "", false
		}
	}
	return "", true
}

// upperLayer reads the upper layer of an overlay: see the kernel's documentation of overlayfs.
type upperLayer struct {
	root   string
	states map[string]folderState
}

// folderState is how a folder of the workspace appears in the view.
type folderState int

const (
	untouched folderState = iota // nothing in it was written
	merged                       // written files are merged with those of the workspace
	replaced                     // nothing of the workspace is visible in it
	removed
)

// find returns the file that was written at a name, or "" if it was removed. own is false if the
// view shows the workspace's file.
func (l *upperLayer) find(name string) (file string, own bool) {
	folder := l.stateOf(path.Dir(name))
	switch folder {
	case untouched:
		return "", false
	case removed:
		return "", true
	}
	file = filepath.Join(l.root, filepath.FromSlash(name))
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", folder == replaced
	case err != nil:
		return "", false
	case !info.Mode().IsRegular(): // a link, a folder, or a whiteout
		return "", true
	case overlayAttr(file, "metacopy") != nil: // the content is elsewhere, perhaps in another file that was renamed
		return "", true
	}
	return file, true
}

func (l *upperLayer) stateOf(folder string) folderState {
	if known, ok := l.states[folder]; ok {
		return known
	}
	found := merged
	if folder != "." {
		found = l.inspect(folder, l.stateOf(path.Dir(folder)))
	} else if _, err := os.Lstat(l.root); err != nil {
		found = untouched
	}
	l.states[folder] = found
	return found
}

func (l *upperLayer) inspect(folder string, parent folderState) folderState {
	if parent == untouched || parent == removed {
		return parent
	}
	file := filepath.Join(l.root, filepath.FromSlash(folder))
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && parent == replaced:
		return removed
	case err != nil:
		return untouched
	case !info.IsDir():
		return removed
	case parent == replaced, string(overlayAttr(file, "opaque")) == "y":
		return replaced
	}
	if from := overlayAttr(file, "redirect"); from != nil && path.Base(string(from)) != path.Base(folder) {
		return replaced // it is another folder of the workspace, renamed
	}
	return merged
}

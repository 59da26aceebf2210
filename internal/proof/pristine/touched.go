package pristine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Change is a file that commands in a view wrote or took away.
type Change struct {
	Name   string
	Before string // a file with what the view showed at first
	After  string // a file with what it shows now; "" if there is none any more
}

// Touched says which of these files the commands in a view wrote since it was edited, or since it was asked last. One that was written and then put
// back is among them: it has another time. One that only got other rights is not. Names that the view did not show as files at first are left out.
// Views that do not keep apart what is written, those in place and in memory, cannot tell: [errors.ErrUnsupported].
func (v *View) Touched(ctx context.Context, names []string) ([]Change, error) {
	find := v.way.written()
	if find == nil {
		return nil, fmt.Errorf("look what was written: this view does not keep it apart: %w", errors.ErrUnsupported)
	}
	var touched []Change
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("look what was written: %w", err)
		}
		before, ok := v.edited.source(name)
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

// differs compares a file with what it was at first or, if somebody asked before, then.
func (v *View) differs(name, before, after string) bool {
	first, isFile := stampOf(before)
	if !isFile {
		return false
	}
	now, _ := stampOf(after)
	was, stamped := v.edited.stamps[name]
	if !stamped {
		was = first
	}
	if now.like(was) && (stamped || sameText(before, after)) {
		return false
	}
	v.edited.stamps[name] = now
	return true
}

// stamp tells whether a file was written. The zero one is that of a file that is gone.
type stamp struct {
	size int64
	time time.Time
}

func stampOf(file string) (s stamp, isFile bool) {
	if file == "" {
		return stamp{}, false
	}
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() {
		return stamp{}, false
	}
	return stamp{info.Size(), info.ModTime().Round(0).UTC()}, true
}

// like compares with an earlier stamp, perhaps of the original on a file system that knows times better.
func (s stamp) like(earlier stamp) bool {
	if s.size != earlier.size {
		return false
	}
	for _, grain := range []time.Duration{1, 100, time.Microsecond, time.Millisecond, time.Second, 2 * time.Second} {
		if s.time.Equal(s.time.Truncate(grain)) && s.time.Equal(earlier.time.Truncate(grain)) {
			return true
		}
	}
	return false
}

// sameText compares files, which are sources of tests.
func sameText(a, b string) bool {
	one, err := os.ReadFile(a)
	if err != nil {
		return false
	}
	other, err := os.ReadFile(b)
	return err == nil && bytes.Equal(one, other)
}

// editions is what edits made of a view.
type editions struct {
	put     map[string]string // sources by name
	covered map[string]bool   // names that are files no more as they lie in the workspace, and neither is anything below them
	folders map[string]bool   // that what was put needs
	stamps  map[string]stamp  // of what was put, and of what was found touched
}

// note remembers edits that were made, and what the files that were put look like.
func (e *editions) note(edits []Edit, find func(name string) (file string, own bool)) {
	if e.put == nil {
		e.put, e.covered, e.folders, e.stamps = map[string]string{}, map[string]bool{}, map[string]bool{}, map[string]stamp{}
	}
	for _, edit := range edits { // as process.Lay does it, those that take away come first
		if name := path.Clean(edit.Name); edit.Source == "" {
			e.covered[name] = true
			for other := range e.put {
				if other == name || strings.HasPrefix(other, name+"/") {
					delete(e.put, other)
				}
			}
		}
	}
	for _, edit := range edits {
		if edit.Source == "" {
			continue
		}
		name := path.Clean(edit.Name)
		e.put[name], e.covered[name] = edit.Source, true
		for folder := path.Dir(name); folder != "." && !e.folders[folder]; folder = path.Dir(folder) {
			e.folders[folder] = true
		}
		if find != nil {
			file, _ := find(name)
			e.stamps[name], _ = stampOf(file)
		}
	}
}

// source is the file that was put at a name; "" is that of the workspace. It is not ok if neither is shown.
func (e *editions) source(name string) (source string, ok bool) {
	if source, ok := e.put[name]; ok {
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

// layer reads what an overlay keeps of what was written: see the kernel's documentation of overlayfs.
type layer struct {
	root    string
	folders map[string]depth
}

// depth says how a folder of the workspace is shown.
type depth int

const (
	beneath  depth = iota // nothing in it was written
	merged                // what was written lies over what is in the workspace
	replaced              // nothing of the workspace is seen in it
	gone
)

// find gives the file that was written at a name, "" for one that is gone. It is not own if that of the workspace is seen.
func (l *layer) find(name string) (file string, own bool) {
	folder := l.depth(path.Dir(name))
	switch folder {
	case beneath:
		return "", false
	case gone:
		return "", true
	}
	file = filepath.Join(l.root, filepath.FromSlash(name))
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", folder == replaced
	case err != nil:
		return "", false
	case !info.Mode().IsRegular(): // a link, a folder, or the mark of something that is gone
		return "", true
	case overlayMark(file, "metacopy") != nil: // only rights or times were changed
		return "", false
	}
	return file, true
}

func (l *layer) depth(folder string) depth {
	if known, ok := l.folders[folder]; ok {
		return known
	}
	found := merged
	if folder != "." {
		found = l.look(folder, l.depth(path.Dir(folder)))
	} else if _, err := os.Lstat(l.root); err != nil {
		found = beneath
	}
	l.folders[folder] = found
	return found
}

func (l *layer) look(folder string, parent depth) depth {
	if parent == beneath || parent == gone {
		return parent
	}
	file := filepath.Join(l.root, filepath.FromSlash(folder))
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && parent == replaced:
		return gone
	case err != nil:
		return beneath
	case !info.IsDir():
		return gone
	case parent == replaced, string(overlayMark(file, "opaque")) == "y":
		return replaced
	}
	if from := overlayMark(file, "redirect"); from != nil && path.Base(string(from)) != path.Base(folder) {
		return replaced // it is another folder of the workspace, renamed
	}
	return merged
}

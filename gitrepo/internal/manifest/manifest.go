// Package manifest lists the files of a snapshot, whoever keeps it: how two lists differ, which changed
// files are taken, and how files are written out.
package manifest

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// FileChanges are edits as the loop knows them.
func FileChanges(edits []Edit) []ralph.FileChange {
	var changes []ralph.FileChange
	for _, e := range edits {
		change := ralph.FileChange{Name: e.Name, Kind: ralph.FileChanged}
		switch ModeNone {
		case e.Before.Mode:
			change.Kind = ralph.FileAdded
		case e.After.Mode:
			change.Kind = ralph.FileDeleted
		}
		changes = append(changes, change)
	}
	return changes
}

// Added is the edit that adds a file.
func Added(file Entry) Edit { return Edit{file.Name, Entry{Mode: ModeNone}, file} }

// Compare is how two lists of files differ, in the order of their names.
func Compare(before, after []Entry) []Edit {
	var edits []Edit
	was := make(map[string]Entry, len(before))
	for _, file := range before {
		was[file.Name] = file
	}
	for _, file := range after {
		old, there := was[file.Name]
		delete(was, file.Name)
		switch {
		case !there:
			edits = append(edits, Added(file))
		case old != file:
			edits = append(edits, Edit{file.Name, old, file})
		}
	}
	for name, old := range was {
		edits = append(edits, Edit{name, old, Entry{Mode: ModeNone}})
	}
	SortEdits(edits)
	return edits
}

// SortEdits puts edits in the order of their names.
func SortEdits(edits []Edit) {
	slices.SortFunc(edits, func(a, b Edit) int { return cmp.Compare(a.Name, b.Name) })
}

// Names are those of files.
func Names(files []Entry) []string {
	return text.Mapped(files, func(file Entry) string { return file.Name })
}

const (
	// listingsKept is how many lists of files are remembered: a base and the copies that
	// are compared with it are asked about again and again.
	listingsKept = 3
	// listingLimit is how long a list may be to be remembered.
	listingLimit = 100_000
)

// Listings remembers the files of copies, which never change. The one that was asked for
// last is the last.
type Listings struct {
	mu   sync.Mutex
	kept []listing
}

type listing struct {
	of    string
	files []Entry
}

// List gives the files of a copy, read if they are not known.
func (l *Listings) List(of string, read func() ([]Entry, error)) ([]Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, known := range l.kept {
		if known.of == of {
			l.kept = append(slices.Delete(l.kept, i, i+1), known)
			return known.files, nil
		}
	}
	files, err := read()
	if err != nil || len(files) > listingLimit {
		return files, err
	}
	if len(l.kept) == listingsKept {
		l.kept = slices.Delete(l.kept, 0, 1)
	}
	l.kept = append(l.kept, listing{of, files})
	return files, nil
}

// Find finds a file by its name.
func Find(files []Entry, name string) (Entry, bool) {
	i, there := slices.BinarySearchFunc(
		files,
		name,
		func(file Entry, name string) int { return cmp.Compare(file.Name, name) },
	)
	if !there {
		return Entry{}, false
	}
	return files[i], true
}

// NotFound says that a copy has no file of that name.
func NotFound(name string) error {
	return &fs.PathError{Op: "read snapshot", Path: name, Err: fs.ErrNotExist}
}

// NameSet is a set of names.
func NameSet(names []string) map[string]bool {
	all := make(map[string]bool, len(names))
	for _, name := range names {
		all[name] = true
	}
	return all
}

// Apply is a list of files with edits made to it. A file that comes takes the place of a
// folder, or of a file above it.
func Apply(files []Entry, edits []Edit) []Entry {
	gone := map[string]bool{}
	p := Written(edits)
	for _, e := range edits {
		gone[e.Name] = true
	}
	var result []Entry
	for _, file := range files {
		if !gone[file.Name] && !p.Needs(file.Name) {
			result = append(result, file)
		}
	}
	for _, e := range edits {
		if e.After.Mode != ModeNone {
			result = append(result, e.After)
		}
	}
	slices.SortFunc(result, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return result
}

// Edit is how one file differs between two trees. A mode of zeros is none.
type Edit struct {
	Name   string
	Before Entry
	After  Entry
}

// Places are the names that edits write to, and the folders above them.
type Places struct{ files, folders map[string]bool }

// Written are the places that edits write to.
func Written(edits []Edit) Places {
	p := Places{map[string]bool{}, map[string]bool{}}
	for _, e := range edits {
		if e.After.Mode == ModeNone {
			continue
		}
		p.files[e.Name] = true
		for folder := FolderOf(e.Name); folder != "." && !p.folders[folder]; folder = FolderOf(folder) {
			p.folders[folder] = true
		}
	}
	return p
}

// Needs reports whether a file has to make way: for a folder, or as part of one.
func (p Places) Needs(name string) bool {
	for folder := FolderOf(name); folder != "."; folder = FolderOf(folder) {
		if p.files[folder] {
			return true
		}
	}
	return p.folders[name]
}

// ErrNoSnapshot says that there is no snapshot of that name, or none at all.
var ErrNoSnapshot = errors.New("there is no such snapshot")

// ID matches the name of a snapshot.
var ID = text.LazyRegexp(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)

// Entry is one file of a snapshot.
type Entry struct {
	Mode string
	ID   string
	Name string // below the top, with slashes
}

// The modes of files, as git has them. ModeNone is that of a file that is not there.
const (
	ModeNone    = "000000"
	ModeFile    = "100644"
	ModeProgram = "100755"
	ModeLink    = "120000"
)

// Summary counts what was done to a tree.
type Summary struct{ Files, Insertions, deletions, Created int }

// ParseSummary reads `git diff --raw --numstat -z --no-renames`: for each file a record
// ":modes hashes status" and one with the name, then for each "added removed name".
func ParseSummary(out, except string) Summary {
	var c Summary
	created := false
	raw := false
	for record := range strings.SplitSeq(out, "\x00") {
		switch {
		case raw: // the name that belongs to the record before
			raw = false
			if record != except {
				c.Files++
				if created {
					c.Created++
				}
			}
		case strings.HasPrefix(record, ":"):
			raw, created = true, strings.HasSuffix(record, " A")
		default:
			fields := strings.SplitN(record, "\t", 3)
			if len(fields) == 3 && fields[2] != except {
				c.Insertions += lineCount(fields[0])
				c.deletions += lineCount(fields[1])
			}
		}
	}
	return c
}

// lineCount reads a count; binary files have a dash in its place.
func lineCount(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// String is written as git writes it.
func (c Summary) String() string {
	if c.Files == 0 {
		return "no files changed"
	}
	parts := []string{text.Count(c.Files, "file") + " changed"}
	if c.Insertions > 0 {
		parts = append(parts, text.Count(c.Insertions, "insertion")+"(+)")
	}
	if c.deletions > 0 {
		parts = append(parts, text.Count(c.deletions, "deletion")+"(-)")
	}
	if c.Created > 0 {
		parts = append(parts, text.Count(c.Created, "new file"))
	}
	return strings.Join(parts, ", ")
}

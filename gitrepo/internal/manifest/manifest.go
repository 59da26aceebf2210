// Package manifest handles the file lists of snapshots, independent of how they are stored: how two
// lists differ, which changed files are included, and how files are written.
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

// FileChanges converts edits to the type that the loop uses.
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

// Added returns the edit that adds a file.
func Added(file Entry) Edit { return Edit{file.Name, Entry{Mode: ModeNone}, file} }

// Compare returns how two lists of files differ, sorted by name.
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

// SortEdits sorts edits by name.
func SortEdits(edits []Edit) {
	slices.SortFunc(edits, func(a, b Edit) int { return cmp.Compare(a.Name, b.Name) })
}

// Names returns the names of files.
func Names(files []Entry) []string {
	return text.Mapped(files, func(file Entry) string { return file.Name })
}

const (
	// listingsKept is how many file lists are cached: a base and the snapshots compared with it are
	// requested again and again.
	listingsKept = 3
	// listingLimit is the longest list that is cached.
	listingLimit = 100_000
)

// Listings caches the file lists of snapshots, which never change. The most recently used one is
// last.
type Listings struct {
	mu   sync.Mutex
	kept []listing
}

type listing struct {
	of    string
	files []Entry
}

// List returns the files of a snapshot, and calls read if they are not cached.
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

// Cached reports whether the files of a snapshot are known without reading it.
func (l *Listings) Cached(of string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.kept, func(known listing) bool { return known.of == of })
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

// NotFound returns the error that a snapshot has no file of that name.
func NotFound(name string) error {
	return &fs.PathError{Op: "read snapshot", Path: name, Err: fs.ErrNotExist}
}

// NameSet returns a set of names.
func NameSet(names []string) map[string]bool {
	all := make(map[string]bool, len(names))
	for _, name := range names {
		all[name] = true
	}
	return all
}

// Apply returns a list of files with edits applied. An added file replaces a folder of its name,
// and files in place of its parent folders.
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

// Edit is how one file differs between two trees. ModeNone means that it does not exist.
type Edit struct {
	Name   string
	Before Entry
	After  Entry
}

// Places are the names that edits write to, and the folders above them.
type Places struct{ files, folders map[string]bool }

// Written returns the places that edits write to.
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

// Needs reports whether a file must be removed for a folder, or because it is in one that becomes a
// file.
func (p Places) Needs(name string) bool {
	for folder := FolderOf(name); folder != "."; folder = FolderOf(folder) {
		if p.files[folder] {
			return true
		}
	}
	return p.folders[name]
}

// ErrNoSnapshot means that there is no snapshot of that name, or none at all.
var ErrNoSnapshot = errors.New("there is no such snapshot")

// ID matches the name of a snapshot.
var ID = text.LazyRegexp(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)

// Entry is one file of a snapshot.
type Entry struct {
	Mode string
	ID   string
	Name string // below the top, with slashes
}

// The modes of files, as in git. ModeNone is the mode of a missing file.
const (
	ModeNone    = "000000"
	ModeFile    = "100644"
	ModeProgram = "100755"
	ModeLink    = "120000"
)

// Summary counts the changes to a tree.
type Summary struct{ Files, Insertions, deletions, Created int }

// ParseSummary parses `git diff --raw --numstat -z --no-renames`: for each file a record ":modes
// hashes status" and one with the name, then for each "added removed name".
func ParseSummary(out string, except func(name string) bool) Summary {
	var c Summary
	var change []string          // of the name that follows: modes, hashes and kind
	touched := map[string]bool{} // without a difference so far
	for record := range strings.SplitSeq(out, "\x00") {
		switch {
		case change != nil:
			if !except(record) {
				c.Files++
				if change[4] == "A" {
					c.Created++
				}
				touched[record] = change[4] == "M" && change[0] == ":"+change[1]
			}
			change = nil
		case strings.HasPrefix(record, ":"):
			change = strings.Fields(record)
		default:
			fields := strings.SplitN(record, "\t", 3)
			if len(fields) == 3 && !except(fields[2]) {
				touched[fields[2]] = false
				c.Insertions += lineCount(fields[0])
				c.deletions += lineCount(fields[1])
			}
		}
	}
	for _, only := range touched { // git did not look at what is in it
		if only {
			c.Files--
		}
	}
	return c
}

// lineCount parses a count; binary files have a dash instead.
func lineCount(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// String formats the summary as git does.
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

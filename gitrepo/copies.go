package gitrepo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ralphloop/ralph"
)

// Changes lists the files that differ between two snapshots, with one call of git.
func (s *Snapshots) Changes(ctx context.Context, from, to string) ([]ralph.FileChange, error) {
	edits, err := s.editsBetween(ctx, from, to)
	if err != nil {
		return nil, fmt.Errorf("compare snapshots: %w", err)
	}
	return fileChanges(edits), nil
}

func fileChanges(edits []edit) []ralph.FileChange {
	var changes []ralph.FileChange
	for _, e := range edits {
		change := ralph.FileChange{Name: e.name, Kind: ralph.FileChanged}
		switch modeNone {
		case e.before.mode:
			change.Kind = ralph.FileAdded
		case e.after.mode:
			change.Kind = ralph.FileDeleted
		}
		changes = append(changes, change)
	}
	return changes
}

// editsBetween is how the files of two snapshots differ. Names are below the workspace,
// in their order.
func (s *Snapshots) editsBetween(ctx context.Context, from, to string) ([]edit, error) {
	a, err := s.read(ctx, from)
	if err != nil {
		return nil, err
	}
	b, err := s.read(ctx, to)
	if err != nil {
		return nil, err
	}
	if a.prefix != b.prefix {
		return s.editsOfMoved(ctx, a, b)
	}
	if a.tree == b.tree {
		return nil, nil
	}
	all, err := s.edits(ctx, a.tree, b.tree)
	if err != nil {
		return nil, err
	}
	var edits []edit
	for _, e := range all {
		if name, ok := strings.CutPrefix(e.name, a.prefix); ok {
			edits = append(edits, edit{name, e.before, e.after})
		}
	}
	sortEdits(edits)
	return edits, nil
}

// editsOfMoved compares snapshots of a workspace that had another place in its repository
// then: to git every file has another name.
func (s *Snapshots) editsOfMoved(ctx context.Context, from, to copied) ([]edit, error) {
	before, err := s.listing(ctx, from)
	if err != nil {
		return nil, err
	}
	after, err := s.listing(ctx, to)
	if err != nil {
		return nil, err
	}
	return compared(before, after), nil
}

// compared is how two lists of files differ, in the order of their names.
func compared(before, after []entry) []edit {
	var edits []edit
	was := make(map[string]entry, len(before))
	for _, file := range before {
		was[file.name] = file
	}
	for _, file := range after {
		old, there := was[file.name]
		delete(was, file.name)
		switch {
		case !there:
			edits = append(edits, edit{file.name, entry{mode: modeNone}, file})
		case old != file:
			edits = append(edits, edit{file.name, old, file})
		}
	}
	for name, old := range was {
		edits = append(edits, edit{name, old, entry{mode: modeNone}})
	}
	sortEdits(edits)
	return edits
}

func sortEdits(edits []edit) {
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.name, b.name) })
}

// Files lists the files of a snapshot.
func (s *Snapshots) Files(ctx context.Context, id string) ([]string, error) {
	c, err := s.read(ctx, id)
	if err != nil {
		return nil, err
	}
	files, err := s.listing(ctx, c)
	if err != nil {
		return nil, err
	}
	return namesOf(files), nil
}

func namesOf(files []entry) []string {
	names := make([]string, 0, len(files))
	for _, file := range files {
		names = append(names, file.name)
	}
	return names
}

const (
	// listingsKept is how many lists of files are remembered: a base and the copies that
	// are compared with it are asked about again and again.
	listingsKept = 3
	// listingLimit is how long a list may be to be remembered.
	listingLimit = 100_000
)

// listings remembers the files of copies, which never change. The one that was asked for
// last is the last.
type listings struct {
	mu   sync.Mutex
	kept []listing
}

type listing struct {
	of    string
	files []entry
}

// list gives the files of a copy, read if they are not known.
func (l *listings) list(of string, read func() ([]entry, error)) ([]entry, error) {
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

// listing lists the files of a snapshot, named below the workspace and in that order.
func (s *Snapshots) listing(ctx context.Context, c copied) ([]entry, error) {
	return s.listings.list(c.tree+" "+c.prefix, func() ([]entry, error) {
		all, err := s.files(ctx, c.tree)
		if err != nil {
			return nil, err
		}
		files := make([]entry, 0, len(all))
		for _, file := range all {
			if name, ok := strings.CutPrefix(file.name, c.prefix); ok {
				files = append(files, entry{file.mode, file.id, name})
			}
		}
		slices.SortFunc(files, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
		return files, nil
	})
}

// entryOf finds a file by its name.
func entryOf(files []entry, name string) (entry, bool) {
	i, there := slices.BinarySearchFunc(files, name, func(file entry, name string) int { return cmp.Compare(file.name, name) })
	if !there {
		return entry{}, false
	}
	return files[i], true
}

// notThere says that a copy has no file of that name.
func notThere(name string) error {
	return &fs.PathError{Op: "read snapshot", Path: name, Err: fs.ErrNotExist}
}

// Read gives up to limit bytes of a file of a snapshot, and of a link its target.
func (s *Snapshots) Read(ctx context.Context, id, name string, limit int) ([]byte, error) {
	c, err := s.read(ctx, id)
	if err != nil {
		return nil, err
	}
	if !plainName(name) {
		return nil, notThere(name)
	}
	out := enough{limit: limit}
	err = s.run(ctx, call{args: []string{"cat-file", "blob", c.tree + ":" + c.prefix + name}, out: &out})
	if _, refused := errors.AsType[*failure](err); refused {
		// Git says the same of a file that is not there, of a folder and of one that it lost.
		files, unread := s.listing(ctx, c)
		if unread != nil {
			return nil, unread
		}
		if _, there := entryOf(files, name); !there {
			return nil, notThere(name)
		}
	}
	if err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("read snapshot %s: %w", id, err)
	}
	return []byte(out.text.String()), nil
}

// plainName reports whether a name can be one of a file: below the workspace, and
// written in the one way that there is.
func plainName(name string) bool {
	if name == "" || strings.ContainsRune(name, 0) {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return filepath.IsLocal(filepath.FromSlash(name))
}

// Extract writes files of a snapshot below a folder, which is made if it is not there.
// A file or link that is in the place of one is replaced. Something else there, a file or
// a link in the place of a folder above it, or a folder with files in its own, is an error,
// and stays.
func (s *Snapshots) Extract(ctx context.Context, id, dir string, names []string) error {
	c, err := s.read(ctx, id)
	if err != nil {
		return err
	}
	files, err := s.listing(ctx, c)
	if err != nil {
		return err
	}
	return extract(ctx, s, files, extraction{dir, names})
}

// extraction is where files go, and which; nil are all.
type extraction struct {
	dir   string
	names []string
}

func extract(ctx context.Context, from contents, files []entry, to extraction) error {
	edits := make([]edit, 0, len(files))
	wanted := nameSet(to.names)
	for _, file := range files {
		if to.names == nil || wanted[file.name] {
			// As if it were known to be saved: what is there may be replaced.
			edits = append(edits, edit{file.name, entry{mode: modeLink}, file})
		}
	}
	if err := os.MkdirAll(to.dir, 0o700); err != nil {
		return fmt.Errorf("extract snapshot: %w", err)
	}
	root, err := os.OpenRoot(to.dir)
	if err != nil {
		return fmt.Errorf("extract snapshot: %w", err)
	}
	defer root.Close()
	w := &writer{root: root, done: &Restored{}}
	if err := w.put(ctx, from, edits); err != nil {
		return fmt.Errorf("extract snapshot: %w", err)
	}
	if len(w.stayed) > 0 {
		return fmt.Errorf("extract snapshot: something else is in the place of %s: %w", listed(w.stayed), fs.ErrExist)
	}
	return nil
}

// Join keeps a snapshot of base with everything that changed between from and to. Where
// nothing did, or base has it already, that is base itself. The same three give the same
// one again.
func (s *Snapshots) Join(ctx context.Context, base, from, to string) (string, error) {
	onto, err := s.read(ctx, base)
	if err != nil {
		return "", fmt.Errorf("join snapshots: %w", err)
	}
	edits, err := s.editsBetween(ctx, from, to)
	if err != nil {
		return "", fmt.Errorf("join snapshots: %w", err)
	}
	if len(edits) == 0 {
		return base, nil
	}
	tree, err := s.edited(ctx, onto, edits)
	if err != nil {
		return "", fmt.Errorf("join snapshots: %w", err)
	}
	if tree == onto.tree {
		return base, nil
	}
	id, err := s.derive(onto, tree, "base")
	if err != nil {
		return "", fmt.Errorf("join snapshots: %w", err)
	}
	return id, nil
}

// derive keeps a tree that was made of a snapshot and never lay in the workspace. No
// iteration has a name of that kind, so it is never taken for the copy of one.
func (s *Snapshots) derive(of copied, tree, kind string) (string, error) {
	message := snapshotTitle + "\n\nrun " + of.run + belowLine(of.prefix)
	parents := []string{of.id}
	if of.repository != "" {
		parents = append(parents, of.repository)
		message += "\nrepository " + of.repository
	}
	// No time of day is in it: that which is the same has one name.
	id, err := s.putCommit(tree, parents, time.Unix(0, 0), message)
	if err != nil {
		return "", err
	}
	return id, s.setRef(runRefs(of.run)+kind+"-"+id, id)
}

// edited is the tree of a snapshot with edits made to it, in an index of its own.
func (s *Snapshots) edited(ctx context.Context, onto copied, edits []edit) (string, error) {
	folder, err := os.MkdirTemp(s.path("tmp"), "join-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder)
	index := []string{"GIT_INDEX_FILE=" + filepath.Join(folder, "index")}
	if err := s.run(ctx, call{args: []string{"read-tree", onto.tree}, env: index}); err != nil {
		return "", err
	}
	// What goes is first: it makes room for files below its name.
	var gone, put strings.Builder
	for _, e := range edits {
		if e.after.mode == modeNone {
			fmt.Fprintf(&gone, "0 %s\t%s%s\x00", strings.Repeat("0", len(onto.tree)), onto.prefix, e.name)
			continue
		}
		fmt.Fprintf(&put, "%s %s\t%s%s\x00", e.after.mode, e.after.id, onto.prefix, e.name)
	}
	err = s.feed([]byte(gone.String()+put.String()), func(file string) error {
		return s.run(ctx, call{args: []string{"update-index", "-z", "--add", "--replace", "--index-info"}, env: index, stdin: file})
	})
	if err != nil {
		return "", err
	}
	out := limited{limit: 1 << 10}
	if err := s.run(ctx, call{args: []string{"write-tree"}, env: index, out: &out}); err != nil {
		return "", err
	}
	return strings.TrimSpace(out.text.String()), nil
}

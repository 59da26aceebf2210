package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/manifest"
)

// Files lists the files of a snapshot.
func (s *Store) Files(ctx context.Context, id string) ([]string, error) {
	files, err := s.list(ctx, id)
	return manifest.Names(files), err
}

// list lists the files of a snapshot, as listing does.
func (s *Store) list(ctx context.Context, id string) ([]manifest.Entry, error) {
	c, err := s.read(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.listing(ctx, c)
}

// listed returns the name of a snapshot's listing.
func (c header) listed() string { return c.tree + " " + c.prefix }

// listing lists the files of a snapshot, named relative to the workspace and sorted.
func (s *Store) listing(ctx context.Context, c header) ([]manifest.Entry, error) {
	return s.listings.List(c.listed(), func() ([]manifest.Entry, error) {
		all, err := s.files(ctx, c.tree)
		return below(c.prefix, all), err
	})
}

// below returns the files of a workspace, named relative to it and sorted.
func below(prefix string, all []manifest.Entry) []manifest.Entry {
	files := make([]manifest.Entry, 0, len(all))
	for _, file := range all {
		if name, ok := strings.CutPrefix(file.Name, prefix); ok {
			files = append(files, manifest.Entry{Mode: file.Mode, ID: file.ID, Name: name})
		}
	}
	slices.SortFunc(files, func(a, b manifest.Entry) int { return cmp.Compare(a.Name, b.Name) })
	return files
}

// Read returns up to limit bytes of a file in a snapshot, or the target of a link.
func (s *Store) Read(ctx context.Context, id, name string, limit int) ([]byte, error) {
	c, err := s.read(ctx, id)
	if err != nil {
		return nil, err
	}
	if !plainName(name) {
		return nil, manifest.NotFound(name)
	}
	text, err := s.call(ctx, git.Call{Args: []string{"cat-file", "blob", c.tree + ":" + c.prefix + name}, Limit: limit})
	if git.Failed(err) {
		// Git's error is the same for a missing file, a folder and a lost object.
		files, unread := s.listing(ctx, c)
		if unread != nil {
			return nil, unread
		}
		if _, there := manifest.Find(files, name); !there {
			return nil, manifest.NotFound(name)
		}
	}
	if err != nil && !errors.Is(err, git.ErrTooMuch) {
		return nil, fmt.Errorf("read snapshot %s: %w", id, err)
	}
	return []byte(text[:min(len(text), limit)]), nil
}

// plainName reports whether a name can be that of a file: below the workspace and in canonical
// form.
func plainName(name string) bool {
	odd := func(part string) bool { return part == "" || part == "." || part == ".." }
	return !slices.ContainsFunc(strings.Split(name, "/"), odd) && !strings.ContainsRune(name, 0) &&
		filepath.IsLocal(filepath.FromSlash(name))
}

// Extract writes files of a snapshot below a folder, which it creates if needed. It replaces a file
// or link at the same path. It is an error if anything else is there, if a file or link is in place
// of a parent folder, or if a folder with files is in place of the file; then that stays.
func (s *Store) Extract(ctx context.Context, id, dir string, names []string) error {
	files, err := s.list(ctx, id)
	if err != nil {
		return err
	}
	return manifest.Extract(ctx, looseFirst{s}, files, dir, names)
}

// Changes lists the files that differ between two snapshots. Files that were too large for them are
// compared by their digests.
func (s *Store) Changes(ctx context.Context, from, to string) ([]ralph.FileChange, error) {
	edits, err := s.editsBetween(ctx, from, to)
	if err == nil {
		edits, err = withHashes(ctx, s, edits, from, to)
	}
	if err != nil {
		return nil, fmt.Errorf("compare snapshots: %w", err)
	}
	return manifest.FileChanges(edits), nil
}

// withHashes adds the changes of files that were left out of one of two snapshots. Usually there are
// none, and it does not list the files.
func withHashes(ctx context.Context, s *Store, edits []manifest.Edit, from, to string) ([]manifest.Edit, error) {
	var headers [2]header
	var sides [2]manifest.Side
	for i, id := range []string{from, to} {
		var err error
		if headers[i], err = s.read(ctx, id); err != nil {
			return nil, err
		}
		sides[i].Left = headers[i].left.Below(headers[i].prefix)
	}
	if len(sides[0].Left)+len(sides[1].Left) == 0 {
		return edits, nil
	}
	for i, c := range headers {
		var err error
		if sides[i].Files, err = s.listing(ctx, c); err != nil {
			return nil, err
		}
	}
	return manifest.WithHashes(edits, sides[0], sides[1]), nil
}

// editsBetween returns how the files of two snapshots differ, sorted by name. Names are relative to
// the workspace.
func (s *Store) editsBetween(ctx context.Context, from, to string) ([]manifest.Edit, error) {
	a, err := s.read(ctx, from)
	if err != nil {
		return nil, err
	}
	b, err := s.read(ctx, to)
	if err != nil {
		return nil, err
	}
	if a.tree == b.tree && a.prefix == b.prefix {
		return nil, nil
	}
	// The files of most snapshots are listed sooner or later, so that git needs no call of its own to compare them.
	// To git, every file of a workspace that moved has another name.
	if a.prefix != b.prefix || s.listings.Cached(a.listed()) {
		return s.compareListings(ctx, a, b)
	}
	all, err := s.edits(ctx, a.tree, b.tree)
	if err != nil {
		return nil, err
	}
	var edits []manifest.Edit
	for _, e := range all {
		if name, ok := strings.CutPrefix(e.Name, a.prefix); ok {
			edits = append(edits, manifest.Edit{Name: name, Before: e.Before, After: e.After})
		}
	}
	manifest.SortEdits(edits)
	return edits, nil
}

// compareListings compares two snapshots by the lists of their files.
func (s *Store) compareListings(ctx context.Context, from, to header) ([]manifest.Edit, error) {
	before, err := s.listing(ctx, from)
	if err != nil {
		return nil, err
	}
	after, err := s.listing(ctx, to)
	if err != nil {
		return nil, err
	}
	return manifest.Compare(before, after), nil
}

func (s *Store) edits(ctx context.Context, from, to string, env ...string) ([]manifest.Edit, error) {
	args := []string{"diff-tree", "-r", "-z", "--raw", "--no-renames", from, to}
	out, err := s.call(ctx, git.Call{Args: args, Env: env})
	if err != nil {
		return nil, fmt.Errorf("compare trees: %w", err)
	}
	var edits []manifest.Edit
	for record := range slices.Chunk(git.SplitNames(out), 2) {
		fields := strings.Fields(strings.TrimPrefix(record[0], ":"))
		if len(record) != 2 || len(fields) != 5 {
			return nil, fmt.Errorf("compare trees: cannot read %q", record)
		}
		name := record[1]
		edits = append(edits, manifest.Edit{
			Name:   name,
			Before: manifest.Entry{Mode: fields[0], ID: fields[2], Name: name},
			After:  manifest.Entry{Mode: fields[1], ID: fields[3], Name: name},
		})
	}
	return edits, nil
}

// Diff returns the changes from one snapshot to another: a list of the changed files with git's
// status letter (A, D, M, T), then the patch. A binary file is one line. Names are relative to the
// workspace. An empty from is the empty tree. The patch ends at limit bytes, even in the middle of
// a line, and then cut is true.
func (s *Store) Diff(ctx context.Context, from, to string, limit int) (patch string, cut bool, err error) {
	trees, prefix := make([]string, 0, 2), ""
	for _, id := range []string{from, to} {
		if id == "" {
			trees = append(trees, gitrepo.EmptyTree[s.home.Format])
			continue
		}
		c, err := s.read(ctx, id)
		if err != nil {
			return "", false, fmt.Errorf("compare snapshots: %w", err)
		}
		trees, prefix = append(trees, c.tree), c.prefix
	}
	args := []string{"diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--raw", "--patch"}
	if prefix != "" {
		args = append(args, "--relative="+prefix)
	}
	said, err := s.call(ctx, git.Call{Args: append(args, trees...), Limit: limit*rawFactor + 4096})
	cut = errors.Is(err, git.ErrTooMuch)
	if err != nil && !cut {
		return "", false, fmt.Errorf("compare snapshots: %w", err)
	}
	patch = withoutIDs(said)
	return patch[:min(len(patch), limit)], cut || len(patch) > limit, nil
}

// rawFactor is how many times as long git's list of changed files is with their modes and ids, at most.
const rawFactor = 48

// withoutIDs shortens the lines ":100644 100644 ID ID M<tab>name" at the start of a diff to "M<tab>name".
func withoutIDs(diff string) string {
	var short strings.Builder
	for strings.HasPrefix(diff, ":") {
		line, rest, _ := strings.Cut(diff, "\n")
		fields := strings.SplitN(line, " ", 5)
		short.WriteString(fields[len(fields)-1] + "\n")
		diff = rest
	}
	return short.String() + diff
}

// Between summarizes the changes from one snapshot to another, as Changed does.
func (s *Store) Between(ctx context.Context, from, to string) (string, error) {
	out, err := s.run(ctx, "diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--raw", "--numstat",
		"-z", from, to)
	if err != nil {
		return "", fmt.Errorf("sum up changes: %w", err)
	}
	return manifest.ParseSummary(out, func(string) bool { return false }).String(), nil
}

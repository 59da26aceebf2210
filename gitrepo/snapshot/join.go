package snapshot

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/manifest"
)

// Join saves a snapshot of base with all changes between from and to. If nothing changed, or base
// already has the changes, it returns base. The same input gives the same result.
func (s *Store) Join(ctx context.Context, base, from, to string) (string, error) {
	onto, err := s.read(ctx, base)
	var edits []manifest.Edit
	if err == nil {
		edits, err = s.editsBetween(ctx, from, to)
	}
	tree, left := onto.tree, onto.left
	if err == nil && len(edits) > 0 {
		tree, err = s.edited(ctx, onto, edits)
	}
	if err == nil {
		left, err = joinedHashes(ctx, s, onto, from, to)
	}
	if err == nil && tree == onto.tree && maps.Equal(left, onto.left) {
		return base, nil
	}
	onto.left = left
	id := ""
	if err == nil {
		id, err = s.derive(onto, tree, "base")
	}
	if err != nil {
		return "", fmt.Errorf("join snapshots: %w", err)
	}
	return id, nil
}

// joinedHashes returns the digests of files that were left out of a snapshot, with what changed
// between two others.
func joinedHashes(ctx context.Context, s *Store, onto header, from, to string) (manifest.Hashes, error) {
	before, err := s.read(ctx, from)
	if err != nil {
		return nil, err
	}
	after, err := s.read(ctx, to)
	return onto.left.Joined(before.left, after.left), err
}

// WithFiles saves a snapshot with some files as they are in another one. If they are the same, it returns id.
func (s *Store) WithFiles(ctx context.Context, id, from string, names []string) (string, error) {
	onto, err := s.read(ctx, id)
	var other header
	if err == nil {
		other, err = s.read(ctx, from)
	}
	tree := onto.tree
	if err == nil {
		replaced := manifest.NameSet(names)
		tree, err = s.withOwn(ctx, onto, other, func(name string) bool { return replaced[name] })
	}
	full := make([]string, len(names))
	for i, name := range names {
		full[i] = onto.prefix + name
	}
	left := onto.left.With(other.left, full)
	if err == nil && tree == onto.tree && maps.Equal(left, onto.left) {
		return id, nil
	}
	onto.left = left
	made := ""
	if err == nil {
		made, err = s.derive(onto, tree, "base")
	}
	if err != nil {
		return "", fmt.Errorf("replace files of a snapshot: %w", err)
	}
	return made, nil
}

// derive saves a tree that was computed from a snapshot and never existed in the workspace.
// Iterations never use a ref name of that form, so it is never mistaken for the snapshot of one.
func (s *Store) derive(of header, tree, kind string) (string, error) {
	message := snapshotTitle + "\n\nrun " + of.run + belowLine(of.prefix) + of.left.String()
	parents := []string{of.id}
	if of.repository != "" {
		parents = append(parents, of.repository)
		message += "\nrepository " + of.repository
	}
	// A fixed time, so that equal content has one name.
	id, err := s.putCommit(tree, parents, time.Unix(0, 0), message)
	if err != nil {
		return "", err
	}
	return id, s.setRef(runRefs(of.run)+kind+"-"+id, id)
}

// edited returns the tree of a snapshot with edits applied, using a separate index.
func (s *Store) edited(ctx context.Context, onto header, edits []manifest.Edit) (string, error) {
	folder, err := os.MkdirTemp(s.path("tmp"), "join-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder)
	index := []string{"GIT_INDEX_FILE=" + filepath.Join(folder, "index")}
	if _, err := s.call(ctx, git.Call{Args: []string{"read-tree", onto.tree}, Env: index}); err != nil {
		return "", err
	}
	// Deletions come first: they make room for files below the same name.
	var gone, put strings.Builder
	for _, e := range edits {
		if e.After.Mode == manifest.ModeNone {
			fmt.Fprintf(&gone, "0 %s\t%s%s\x00", strings.Repeat("0", len(onto.tree)), onto.prefix, e.Name)
			continue
		}
		fmt.Fprintf(&put, "%s %s\t%s%s\x00", e.After.Mode, e.After.ID, onto.prefix, e.Name)
	}
	order := git.Call{Args: []string{"update-index", "-z", "--add", "--replace", "--index-info"}, Env: index}
	if _, err = s.feed(ctx, s.call, gone.String()+put.String(), order); err != nil {
		return "", err
	}
	tree, err := s.call(ctx, git.Call{Args: gitWriteTree, Env: index})
	return strings.TrimSpace(tree), err
}

// Merge saves a snapshot of Ours with all changes between Base and Theirs, merged line by line as
// git does. If there are none, it returns Ours. Files that both sides changed in the same place are
// conflicts, and then nothing is saved. A git older than 2.38 can only merge whole files.
func (s *Store) Merge(ctx context.Context, in ralph.MergeInput) (id string, conflicts []string, err error) {
	var sides [3]header
	for i, side := range []string{in.Base, in.Ours, in.Theirs} {
		if sides[i], err = s.read(ctx, side); err != nil {
			return "", nil, fmt.Errorf("merge snapshots: %w", err)
		}
		if sides[i].prefix != sides[0].prefix {
			return "", nil, errors.New("merge snapshots: the workspace was in another folder of its repository then")
		}
	}
	tree, conflicts, err := s.mergeTrees(ctx, sides, in.Own)
	ours := sides[1]
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("merge snapshots: %w", err)
	case len(conflicts) > 0:
		for i, name := range conflicts {
			conflicts[i] = strings.TrimPrefix(name, ours.prefix)
		}
		return "", conflicts, nil
	case tree == ours.tree:
		return ours.id, nil, nil
	}
	if id, err = s.derive(ours, tree, "merged"); err != nil {
		return "", nil, fmt.Errorf("merge snapshots: %w", err)
	}
	return id, nil, nil
}

// mergeTrees creates commits of the three trees, because git finds the common base of two commits
// by their history.
func (s *Store) mergeTrees(
	ctx context.Context,
	sides [3]header,
	own func(string) bool,
) (tree string, conflicts []string, err error) {
	trees := [3]string{sides[0].tree, sides[1].tree, ""}
	if trees[2], err = s.withOwn(ctx, sides[2], sides[0], own); err != nil {
		return "", nil, err
	}
	const message = "one side of a merge"
	var commits [3]string
	for i, tree := range trees {
		var past []string
		if i > 0 {
			past = commits[:1]
		}
		if commits[i], err = s.putCommit(tree, past, time.Unix(int64(i), 0), message); err != nil {
			return "", nil, err
		}
	}
	tree, conflicts, err = git.MergeCommits(ctx, s.call, commits[1], commits[2])
	if errors.Is(err, git.ErrOldGit) {
		tree, conflicts, err = git.MergeSimply(ctx, s.call, trees)
	}
	for i := range conflicts { // where a file meets a folder, git appends ~SIDE to the name
		for _, side := range commits[1:] {
			conflicts[i] = strings.TrimSuffix(conflicts[i], "~"+side)
		}
	}
	return tree, sortedOnce(conflicts), err
}

// withOwn returns the tree of a snapshot with the harness's files as they are in another.
func (s *Store) withOwn(ctx context.Context, of, from header, own func(string) bool) (string, error) {
	edits, err := s.editsBetween(ctx, of.id, from.id)
	if err != nil {
		return "", err
	}
	edits = slices.DeleteFunc(edits, func(e manifest.Edit) bool { return !own(e.Name) })
	if len(edits) == 0 {
		return of.tree, nil
	}
	return s.edited(ctx, of, edits)
}

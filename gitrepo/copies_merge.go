package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
)

// Merge is that of the snapshots.
func (k *Keeper) Merge(ctx context.Context, in ralph.MergeInput) (id string, conflicts []string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.snaps.Merge(ctx, in)
}

// Merge keeps a snapshot of Ours with everything that became of Base on the way to
// Theirs, merged line by line as git does. Where that is nothing, it is Ours itself. Files
// that both sides changed in the same place are conflicts, and then nothing is kept. A git
// older than 2.38 can tell of whole files only.
func (s *Snapshots) Merge(ctx context.Context, in ralph.MergeInput) (id string, conflicts []string, err error) {
	var sides [3]copied
	for i, side := range []string{in.Base, in.Ours, in.Theirs} {
		if sides[i], err = s.read(ctx, side); err != nil {
			return "", nil, fmt.Errorf("merge snapshots: %w", err)
		}
		if sides[i].prefix != sides[0].prefix {
			return "", nil, errors.New("merge snapshots: the workspace had another place in its repository then")
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

// mergeTrees makes commits of the three trees, since git finds what two have in common by
// their past.
func (s *Snapshots) mergeTrees(ctx context.Context, sides [3]copied, own func(string) bool) (tree string, conflicts []string, err error) {
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
	tree, conflicts, err = mergeCommits(ctx, s.run, commits[1], commits[2])
	if errors.Is(err, errOldGit) {
		tree, conflicts, err = mergeSimply(ctx, s.run, trees)
	}
	for i := range conflicts { // where a file meets a folder, git adds whose it is
		for _, side := range commits[1:] {
			conflicts[i] = strings.TrimSuffix(conflicts[i], "~"+side)
		}
	}
	return tree, sortedOnce(conflicts), err
}

// withOwn is the tree of a snapshot with the harness's files as they are in another.
func (s *Snapshots) withOwn(ctx context.Context, of, from copied, own func(string) bool) (string, error) {
	edits, err := s.editsBetween(ctx, of.id, from.id)
	if err != nil {
		return "", err
	}
	edits = slices.DeleteFunc(edits, func(e edit) bool { return !own(e.name) })
	if len(edits) == 0 {
		return of.tree, nil
	}
	return s.edited(ctx, of, edits)
}

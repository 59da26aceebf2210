package assembly

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/plan"
)

// Leftovers is what a run that has ended left in its workspace, compared with a snapshot.
type Leftovers struct {
	Changed []string // every file that differed, and still does in the workspace
	Matters []string // protected files, tests, and code that detects tests
	Added   []string // tests among them that were added
}

// SnapshotPair names two snapshots of a workspace.
type SnapshotPair struct {
	Base string
	Left string // "" for the workspace as it is
}

// CompareLeftovers compares what a run left with a snapshot from before. req.Settings are the run's own
// settings: those of the workspace may be the agent's.
func CompareLeftovers(
	ctx context.Context, req Request, state *fold.State, places Places, pair SnapshotPair,
) (Leftovers, error) {
	examiner, err := Examiner(ctx, req, state, places)
	if err != nil {
		return Leftovers{}, err
	}
	left := cmp.Or(pair.Left, examiner.WorkspaceSnapshot)
	before, now := ralph.TreeState{Known: true, Snapshot: pair.Base}, ralph.TreeState{Known: true, Snapshot: left}
	found, err := examiner.Compare(ctx, before, now)
	if err != nil {
		return Leftovers{}, fmt.Errorf("compare files: %w", err)
	}
	changes, err := examiner.Snapshots.Changes(ctx, pair.Base, left)
	if err != nil {
		return Leftovers{}, fmt.Errorf("compare files: %w", err)
	}
	still, err := examiner.Snapshots.Changes(ctx, pair.Base, examiner.WorkspaceSnapshot)
	if err != nil {
		return Leftovers{}, fmt.Errorf("compare files: %w", err)
	}
	l := Leftovers{Matters: found.Names()}
	for _, c := range changes {
		if c.Kind == ralph.FileAdded && examiner.Rules.Test(c.Name) {
			l.Matters, l.Added = append(l.Matters, c.Name), append(l.Added, c.Name)
		}
		if slices.ContainsFunc(still, func(now ralph.FileChange) bool { return now.Name == c.Name }) {
			l.Changed = append(l.Changed, c.Name)
		}
	}
	return l, nil
}

// ListEdits says how a task list differs from the copy that a run kept. It is nil if the run kept none.
func ListEdits(w workspace.Workspace, file, keep string) []string {
	book, err := plan.OpenTracker(w.Dir, file, keep, "")
	if err != nil || len(book.List()) == 0 {
		return nil
	}
	edits, err := book.Inspect()
	if err != nil {
		return []string{err.Error()}
	}
	var all []string
	for _, id := range edits.Claims {
		all = append(all, id+" is marked done")
	}
	return append(all, edits.ListDamage...)
}

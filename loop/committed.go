package loop

import (
	"context"
	"fmt"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// keepCommitted is keepOrigin for a goal that the agent of a live session set. What is not committed may be the
// agent's: it could break the product, set the goal and repair it. So the origin is the last commit, or the tree before
// earlier runs with what was committed since. Tests stay as they are, because a user may have written them for this
// goal. Protected files decide what checks show, so the base has them as committed.
func (w *workspace) keepCommitted(ctx context.Context, from *ralph.Origin) {
	copies, ok := w.store.(ralph.Snapshots)
	taker, takes := w.store.(ralph.CommitTaker)
	tree := w.state.History.Tree
	if !ok || !takes || tree.Snapshot == "" || ctx.Err() != nil {
		return
	}
	committed, err := taker.AsCommitted(ctx, tree.Snapshot, from.Commit)
	var protected, tests []string
	if lister, lists := w.examiner.(ralph.DecidingLister); err == nil && lists {
		then := ralph.TreeState{Known: true, Head: from.Commit, Snapshot: committed}
		protected, tests, err = lister.Deciding(ctx, then, tree)
	}
	if refused := w.state.Started.Refused; refused != nil { // the base has these as before an earlier run
		protected = slices.DeleteFunc(protected, func(name string) bool { return slices.Contains(refused.Files, name) })
	}
	tree.Origin = committed
	if err == nil && from.Base != "" {
		tree.Origin, err = copies.WithFiles(ctx, from.Base, tree.Snapshot, from.Committed)
	}
	if err == nil && len(tests) > 0 {
		tree.Origin, err = copies.WithFiles(ctx, tree.Origin, tree.Snapshot, tests)
	}
	if err == nil {
		var changes []ralph.FileChange
		if changes, err = copies.Changes(ctx, tree.Origin, tree.Snapshot); len(changes) == 0 {
			tree.Origin = tree.Snapshot // then there is no other tree to compare with
		}
	}
	base := w.state.History.Base.Snapshot
	if err == nil && len(protected) > 0 {
		tree.Base, err = copies.WithFiles(ctx, base, committed, protected)
	}
	switch {
	case ctx.Err() != nil:
		return
	case err != nil: // without it, the agent chooses what its work is compared with
		w.storageFailed(fmt.Errorf("%w: the files cannot be compared with the last commit: %w", ralph.ErrIO, err))
		return
	case len(protected) > 0 && tree.Base != base:
		w.notice("uncommitted_protected", fmt.Sprintf("%s: changed since the last commit, and the goal was set inside a "+
			"session, so the changes count as its agent's; if they are yours: %s",
			text.List(protected), text.AcceptFiles(protected)))
	}
	w.emit(ralph.EvTreeSnapshot, tree)
}

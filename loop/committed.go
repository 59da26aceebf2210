package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/judge"
)

// keepCommitted is keepOrigin for a goal that the agent of a live session set. What is not committed may be the
// agent's: it could break the product, set the goal and repair it. So the origin is the last commit, or the tree before
// earlier runs with what was committed since. Tests stay as they are, because a user may have written them for this
// goal. Protected files decide what checks show, so the base has them as committed.
func (w *workspace) keepCommitted(ctx context.Context, from *ralph.Origin) {
	copies, ok := w.store.(ralph.Snapshots)
	tree := w.state.History.Tree
	if ctx.Err() != nil || w.storage != nil {
		return
	}
	if !ok || tree.Snapshot == "" {
		w.cannotCompare(errors.New("there are no snapshots"))
		return
	}
	committed, err := w.asCommitted(ctx, tree, from.Commit)
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
		tree.Origin, err = copies.WithFiles(ctx, from.Base, committed, from.Committed)
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
	case err != nil:
		w.cannotCompare(err)
		return
	case len(protected) > 0 && tree.Base != base:
		w.notice("uncommitted_protected", fmt.Sprintf("%s: changed since the last commit, and the goal was set inside a "+
			"session, so the changes count as its agent's; if they are yours: %s",
			text.List(protected), text.AcceptFiles(protected)))
	}
	w.emit(ralph.EvTreeSnapshot, tree)
}

// lacksOrigin reports whether the last commit must be known and is not.
func (w *workspace) lacksOrigin() bool {
	from, known := w.state.Started.Origin, w.state.History.Origin
	return from != nil && from.Commit != "" && known != nil && known.Snapshot == ""
}

// cannotCompare ends the run: without the last commit, the agent chooses what its work is compared with.
func (w *workspace) cannotCompare(err error) {
	w.storageFailed(fmt.Errorf("%w: the files cannot be compared with the last commit: %w", ralph.ErrIO, err))
}

// asCommitted returns a snapshot of the tree with the files of a commit. Git looks at the files themselves, so they
// must stay meanwhile as the snapshot has them: processes of the session are at work.
func (w *workspace) asCommitted(ctx context.Context, tree ralph.TreeState, commit string) (string, error) {
	taker, takes := w.store.(ralph.CommitTaker)
	copies, lists := w.store.(ralph.Snapshots)
	dater, dates := w.examiner.(ralph.ChangeDater)
	if !takes || !lists || !dates {
		return "", errors.New("snapshots cannot be compared with commits here")
	}
	time.Sleep(2 * judge.ClockStep) // what the harness wrote before is then older
	began := time.Now()
	now, ok := w.fingerprint(ctx, ralph.TreeInput{})
	if !ok {
		return "", errors.New("the files cannot be read")
	}
	committed, err := taker.AsCommitted(ctx, tree.Snapshot, commit)
	if err != nil {
		return "", err
	}
	names, err := copies.Files(ctx, tree.Snapshot)
	if err != nil {
		return "", err
	}
	name, at := dater.LastChange(w.withFolders(names))
	switch {
	case !now.Same(tree):
		return "", errors.New("files changed while the goal was set; set it again")
	case !at.Before(began.Add(-judge.ClockStep)):
		return "", fmt.Errorf("%s changed while the goal was set; set it again", name)
	}
	return committed, nil
}

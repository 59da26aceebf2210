package loop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/judge"
)

// committedBase is the base of a goal that the agent of a live session set. What is not committed may be the agent's:
// it could break the product, set the goal and repair it. So the base is the last commit, or the trusted tree with what
// was committed since the last run. Tests stay as they are, because a user may have written them for this goal.
func (w trust) committedBase(ctx context.Context, tree ralph.TreeState) (TrustedBase, error) {
	copies, ok := w.store.(ralph.Snapshots)
	commit := w.state.Started.Commit
	if !ok || tree.Snapshot == "" {
		return TrustedBase{}, cannotCompare(errors.New("there are no snapshots"))
	}
	committed, err := w.asCommitted(ctx, tree, commit)
	if err != nil {
		return TrustedBase{}, cannotCompare(err)
	}
	then := ralph.TreeState{Known: true, Head: commit, Snapshot: committed}
	from := TrustedBase{Snapshot: committed}
	if w.trusted != nil {
		if from, err = w.trusted.Base(ctx, then); err != nil {
			return from, err
		}
	}
	var protected, tests []string
	if lister, lists := w.examiner.(ralph.DecidingLister); lists {
		protected, tests, err = lister.Deciding(ctx, then, tree)
	}
	if err == nil && len(tests) > 0 {
		from.Snapshot, err = copies.WithFiles(ctx, from.Snapshot, tree.Snapshot, tests)
	}
	var changes []ralph.FileChange
	if err == nil {
		changes, err = copies.Changes(ctx, from.Snapshot, tree.Snapshot)
	}
	switch {
	case err != nil:
		return from, cannotCompare(err)
	case len(changes) == 0:
		from.Snapshot = tree.Snapshot
	case len(protected) > 0:
		w.notice("uncommitted_protected", fmt.Sprintf("%s: changed since the last commit, and the goal was set inside a "+
			"session, so the changes count as its agent's; if they are yours: %s",
			text.List(protected), text.AcceptFiles(protected)))
	}
	return from, nil
}

// asCommitted returns a snapshot of the tree with the files of a commit. Git looks at the files themselves, so they
// must stay meanwhile as the snapshot has them: processes of the session are at work.
func (w trust) asCommitted(ctx context.Context, tree ralph.TreeState, commit string) (string, error) {
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

package loop

import (
	"context"
	"fmt"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// keepOrigin finds out which tree earlier runs that did not complete began with, as the user has it now: with what the
// user changed, committed or restored since. If that cannot be told, everything counts as the work of their agents.
func (w *workspace) keepOrigin(ctx context.Context) {
	from, tree := w.state.Started.Origin, w.state.History.Tree
	copies, ok := w.store.(ralph.Snapshots)
	if from != nil && from.Commit != "" {
		w.keepCommitted(ctx, from)
		return
	}
	if from == nil || from.Base == "" || !ok || tree.Snapshot == "" || ctx.Err() != nil {
		return
	}
	var err error
	tree.Origin = from.Base
	if from.Left != "" {
		tree.Origin, err = userEdits{copies, from.Left, tree.Snapshot, from.Committed}.join(ctx, from.Base)
	}
	if err != nil && ctx.Err() == nil {
		w.warn("origin_unknown", "run %s did not complete, and your changes since count as its agent's: %v", from.Run, err)
		return
	}
	w.emit(ralph.EvTreeSnapshot, tree)
}

// userEdits adds what the user changed to snapshots.
type userEdits struct {
	copies      ralph.Snapshots
	before, now string
	committed   []string // files that are the user's as they are now, because the user committed them
}

// join returns a snapshot with the user's changes. "" stays "".
func (e userEdits) join(ctx context.Context, id string) (string, error) {
	if id == "" {
		return "", nil
	}
	joined, err := e.copies.Join(ctx, id, e.before, e.now)
	if err == nil && len(e.committed) > 0 {
		joined, err = e.copies.WithFiles(ctx, joined, e.now, e.committed)
	}
	return joined, err
}

func (w *workspace) originSnapshot() string {
	if origin := w.state.History.Origin; origin != nil {
		return origin.Snapshot
	}
	return ""
}

// noticeOrigin says that a check fails only because of an earlier run, so that its repair shows no work.
func (r *checkRunner) noticeOrigin() {
	h := r.state.History
	i := slices.IndexFunc(h.Baseline, func(c ralph.CheckResult) bool {
		return c.FailedInTime() && judge.PassedAtOrigin(h, c)
	})
	if i < 0 || h.Origin.Run == "" || r.policy.Shown == "" || r.policy.Shown == ralph.ShownOff {
		return
	}
	lift := "; to make the changes of that run yours, commit them"
	switch from := r.state.Started.Origin; {
	case from.Base == "": // without snapshots, Ralph cannot tell
		lift = ""
	case from.Left == "": // until this run has seen the last commit, it may be the agent's
		lift += " after this run"
	}
	r.notice("passed_earlier", fmt.Sprintf("%s passed before run %s, which did not complete, so passing again does not "+
		"show the work: a new test must, or a person%s", h.Baseline[i].Name, h.Origin.Run, lift))
}

// claimOrigin returns the tree before earlier runs that did not complete. It reports false if there is none, or if a
// task was proven since.
func (r *checkRunner) claimOrigin() (ralph.TreeState, bool) {
	h := r.state.History
	if h.Origin == nil || h.Origin.Snapshot == "" || h.LastProvenTree != "" {
		return ralph.TreeState{}, false
	}
	return r.originTree(), true
}

func (r *checkRunner) originTree() ralph.TreeState {
	h := r.state.History
	return ralph.TreeState{Known: true, Head: h.Base.Head, Snapshot: h.Origin.Snapshot}
}

// runAtOrigin runs checks that failed at the run's base on the tree before earlier runs that did not complete.
func (s *workSearch) runAtOrigin(ctx context.Context) {
	unknown := judge.UnknownAtOrigin(s.history())
	for i, c := range s.checks() {
		isUnknown := slices.ContainsFunc(unknown, func(u ralph.CheckResult) bool {
			return u.Name == c.name && u.Task == c.task
		})
		if !isUnknown {
			continue
		}
		kind := ralph.ViewBase
		switch {
		case c.hidden:
			kind = ralph.ViewHiddenBase
		case c.namesTests(): // at the origin, new test files are missing
			kind = ralph.ViewNewTests
		}
		in := s.runner.viewInput(kind, s.runner.state.History.AccessOf(c.name, c.task))
		in.Base = s.runner.originTree()
		if run, ok := s.runTests(ctx, in, c, checkFile("at-origin").name(i)); ok {
			if run.Result.Hidden = c.hidden; c.hidden {
				run.Result.Output = ""
			}
			s.work.AtOrigin = append(s.work.AtOrigin, run.Result)
		}
	}
}

// file returns the prefix of the files of runs with the product code of a tree.
func (s *workSearch) file(base ralph.TreeState, name string) checkFile {
	if base.Snapshot != s.base.Snapshot {
		return checkFile("origin-" + name)
	}
	return checkFile(name)
}

// alsoEarlier combines how new tests end with the product code of the base and with that from before earlier runs: only
// tests that fail with both show the work.
func alsoEarlier(seen, earlier ralph.NewTestsRun) ralph.NewTestsRun {
	if earlier.Passed {
		seen.PassedEarlier = true
		return seen
	}
	switch both := namesIn(seen.Failing, earlier.Failing); {
	case len(seen.Failing) == 0:
		seen.Failing, seen.Count = earlier.Failing, earlier.Count
	case len(earlier.Failing) == 0:
	case len(both) == 0:
		seen.PassedEarlier = true
	default:
		seen.Failing, seen.Count = both, len(both)
	}
	return seen
}

// namesIn returns the names that are in both lists.
func namesIn(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(others, name) })
}

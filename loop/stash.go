package loop

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/judge"
)

// stash removes the work on an abandoned task from the tree, and restores it when the task is selected again.
type stash struct {
	*journal
	tree          *workspace
	list          *taskList
	leftNoChanges map[string]bool // tasks that were given up and left nothing in the tree
}

// stashForNext stashes the abandoned task's changes once another task has been selected. left is the
// snapshot of the tree as the task's iteration left it.
func (s *stash) stashForNext(ctx context.Context, left string) {
	next, ok := judge.NextTask(s.state.History.Tasks)
	if !ok || !s.blocksNext(next.ID) {
		return
	}
	if stashed, ok := s.planStash(ctx, left); ok {
		s.stashWork(ctx, stashed)
	}
}

// prepareTree makes sure that the tree holds the work on the selected task and none on an abandoned one.
func (s *stash) prepareTree(ctx context.Context) {
	if s.list.tasks == nil {
		return
	}
	task := s.state.History.Task
	delete(s.leftNoChanges, task)
	if s.blocksNext(task) {
		if stashed, ok := s.planStash(ctx, s.state.Unproven.Work); ok {
			s.tree.snapshot(ctx, ralph.TreeInput{BaseHead: s.state.History.Base.Head})
			s.stashWork(ctx, stashed)
		}
	}
	if kept, ok := s.state.StashOf(task); ok && kept.RestoreFailure == "" {
		s.tree.snapshot(ctx, ralph.TreeInput{BaseHead: s.state.History.Base.Head})
		s.restoreWork(ctx, kept)
	}
}

// blocksNext reports whether the tree holds work on an abandoned task that must be stashed before the next
// task. A run that halts leaves the work in the tree for the user.
func (s *stash) blocksNext(next string) bool {
	left := s.state.Unproven
	return left != nil && left.Task != next && judge.StashesFailedTasks(s.policy)
}

// planStash returns what to stash, and warns if it cannot be stashed.
func (s *stash) planStash(ctx context.Context, work string) (ralph.WorkStashed, bool) {
	left := s.state.Unproven
	stashed := ralph.WorkStashed{Task: left.Task, Iteration: left.Iteration, Base: cmp.Or(s.state.History.LastProvenTree, s.state.History.Base.Snapshot), Work: work}
	_, can := s.tree.store.(ralph.Switcher)
	if !can || stashed.Base == "" || stashed.Work == "" {
		s.warnOnce(workLeft, "the work on a task that was given up stays in the tree: no copies are kept here that it could come back from")
		return stashed, false
	}
	others := slices.DeleteFunc(s.state.OtherOpenWork(left.Task), func(id string) bool { return s.leftNoChanges[id] })
	if len(others) > 0 {
		s.warnWorkLeft(left.Task, "work on "+text.List(others)+", which is not done, lies there with it")
		return stashed, false
	}
	changed, err := s.changedBetween(ctx, stashed.Base, stashed.Work)
	if err != nil && ctx.Err() == nil {
		s.warnWorkLeft(stashed.Task, err.Error())
	}
	s.leftNoChanges[left.Task] = err == nil && len(changed) == 0
	return stashed, err == nil && len(changed) > 0
}

// Codes of warnings about work that was given up: it is in the tree, or it is not.
const (
	workLeft        = "work_left"
	workNotRestored = "work_not_back"
)

func (s *stash) warnWorkLeft(task, why string) {
	s.warnOnce(workLeft, fmt.Sprintf("the work on %s, which was given up, stays in the tree: %s", task, why))
}

// changedBetween lists the files that differ between two copies, but for those of the harness.
func (s *stash) changedBetween(ctx context.Context, from, to string) ([]string, error) {
	names, err := s.tree.changedFiles(ctx, from, to)
	return slices.DeleteFunc(names, s.list.ownFile()), err
}

// stashWork removes work from the tree, which has a fresh snapshot. If files changed since the agent ended,
// the work stays, because those changes would be lost with it.
func (s *stash) stashWork(ctx context.Context, stashed ralph.WorkStashed) {
	meanwhile, err := s.changedBetween(ctx, stashed.Work, s.state.History.Tree.Snapshot)
	switch {
	case ctx.Err() != nil || s.storage != nil:
	case err != nil:
		s.warnWorkLeft(stashed.Task, err.Error())
	case len(meanwhile) > 0:
		s.warnWorkLeft(stashed.Task, changedSince(meanwhile)+" since its agent ended")
	default:
		s.emit(ralph.EvWorkStashed, stashed)
		s.sync()
		s.applyPendingMove(ctx)
	}
}

// restoreWork merges the stashed work on a task into the tree, which has a fresh snapshot.
func (s *stash) restoreWork(ctx context.Context, kept fold.StashedWork) {
	tree, can := s.tree.store.(ralph.Switcher)
	ours := s.state.History.Tree.Snapshot
	if !can || ours == "" {
		s.warnNotRestored(kept, "no copy of the tree can be made", nil)
		return
	}
	merged, conflicts, err := tree.Merge(ctx, ralph.MergeInput{Base: kept.Base, Ours: ours, Theirs: kept.Work, Own: s.list.ownFile()})
	switch {
	case ctx.Err() != nil || s.storage != nil:
	case err != nil:
		s.warnNotRestored(kept, err.Error(), nil)
	case len(conflicts) > 0:
		s.warnNotRestored(kept, changedSince(conflicts)+" in another way since", conflicts)
	default:
		s.emit(ralph.EvWorkRestored, ralph.WorkRestored{Task: kept.Task, Iteration: kept.Iteration, From: ours, To: merged})
		s.sync()
		s.applyPendingMove(ctx)
	}
}

func (s *stash) warnNotRestored(kept fold.StashedWork, why string, conflicts []string) {
	s.emit(ralph.EvWorkRestored, ralph.WorkRestored{Task: kept.Task, Iteration: kept.Iteration, Why: why, Conflicts: conflicts})
	s.warn(workNotRestored, "the work on %s was not brought back: %s; ralph diff %s --task %s shows it, ralph restore %s %d --to DIR writes it out",
		kept.Task, why, s.id, kept.Task, s.id, kept.Iteration)
}

// changedSince says that files were changed, and names the first of them.
func changedSince(names []string) string {
	if len(names) == 1 {
		return names[0] + " was changed"
	}
	return text.List(names) + " were changed"
}

// applyPendingMove carries out the recorded move. If the process dies meanwhile, the next one finds the move
// in the state and repeats it.
func (s *stash) applyPendingMove(ctx context.Context) {
	m := s.state.Move
	tree, can := s.tree.store.(ralph.Switcher)
	if m == nil || !can || s.list.tasks == nil || s.storage != nil {
		return
	}
	done, err := tree.Switch(ctx, ralph.SwitchInput{From: m.From, To: m.To, Own: s.list.ownFile()})
	if ctx.Err() != nil {
		return
	}
	switch kept, _ := s.state.StashOf(m.Task); {
	case err != nil && m.Restores:
		s.warnNotRestored(kept, err.Error(), nil)
	case err != nil:
		s.warnWorkLeft(m.Task, err.Error())
	case len(done.Others) > 0:
		done.Snapshot = s.warnMoveFailed(*m, done)
	case len(done.Stayed) > 0 && m.Restores:
		s.warn(workNotRestored, "of the work on %s not brought back, for what is in its place: %s; ralph restore %s %d --to DIR writes it out",
			m.Task, text.List(done.Stayed), s.id, kept.Iteration)
	case len(done.Stayed) > 0:
		s.warnWorkLeft(m.Task, "of it "+text.List(done.Stayed))
	}
	// The harness made this change, so it is neither progress of the next iteration nor part of the base.
	if now, ok := s.tree.fingerprint(ctx, ralph.TreeInput{BaseHead: s.state.History.Base.Head}); ok {
		s.emit(ralph.EvTreeSnapshot, s.tree.withUserEdits(ctx, done.Snapshot, now))
		s.tree.compare(ctx, now)
	}
}

// warnMoveFailed says that somebody was faster, and names the copy from which only what he did differs. After a switch that was cut there is none: what
// the harness wrote before is no user's.
func (s *stash) warnMoveFailed(m fold.TreeMove, done ralph.Switched) string {
	kept, _ := s.state.StashOf(m.Task)
	why := changedSince(done.Others)
	switch {
	case m.Restores && done.Begun:
		s.warnNotRestored(kept, why+" meanwhile, when only a part of it was in the tree", done.Others)
	case m.Restores:
		s.warnNotRestored(kept, why+" meanwhile", done.Others)
	case done.Begun:
		s.warnWorkLeft(m.Task, "a part of it, since "+why+" meanwhile")
	default:
		s.emit(ralph.EvWorkRestored, ralph.WorkRestored{Task: m.Task, Iteration: kept.Iteration, Stayed: true})
		s.warnWorkLeft(m.Task, why+" since its agent ended")
	}
	if done.Begun {
		s.warnOnce("base_unknown", "what you changed counts as the agent's: it cannot be told from work that was being moved")
		return ""
	}
	return s.state.History.Tree.Snapshot
}

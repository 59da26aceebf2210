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

// stash takes the work on a task that was given up out of the tree, and brings it back when the task is worked again.
type stash struct {
	*journal
	tree          *workspace
	list          *taskList
	leftNoChanges map[string]bool // tasks that were given up and left nothing in the tree
}

// stashForNext sets the work on a task that was given up aside as soon as it is clear that another one comes next. left is the copy of the tree as its
// iteration left it.
func (s *stash) stashForNext(ctx context.Context, left string) {
	next, ok := judge.NextTask(s.state.History.Tasks)
	if !ok || !s.blocksNext(next.ID) {
		return
	}
	if stashed, ok := s.planStash(ctx, left); ok {
		s.stashWork(ctx, stashed)
	}
}

// prepareTree sees to it that the tree holds the work on the selected task, and none on another that was given up.
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

// blocksNext reports whether the tree holds work on a task that was given up while another one is to be worked. A run that halts leaves it there for
// whoever looks at it.
func (s *stash) blocksNext(next string) bool {
	left := s.state.Unproven
	return left != nil && left.Task != next && judge.StashesFailedTasks(s.policy)
}

// planStash says what is to be set aside, and warns if that cannot be.
func (s *stash) planStash(ctx context.Context, work string) (ralph.WorkStashed, bool) {
	left := s.state.Unproven
	stashed := ralph.WorkStashed{
		Task:      left.Task,
		Iteration: left.Iteration,
		Base:      cmp.Or(s.state.History.LastProvenTree, s.state.History.Base.Snapshot),
		Work:      work,
	}
	_, can := s.tree.store.(ralph.Switcher)
	if !can || stashed.Base == "" || stashed.Work == "" {
		s.warnOnce(
			workLeft,
			"the work on a task that was given up stays in the tree: no copies are kept here that it could come back from",
		)
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

// stashWork takes work out of the tree, which was looked at just now. What somebody changed since the agent ended would be lost with it: then the work
// stays.
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

// restoreWork puts the work on a task into the tree again, merged with what was done since. The tree was looked at just now.
func (s *stash) restoreWork(ctx context.Context, kept fold.StashedWork) {
	tree, can := s.tree.store.(ralph.Switcher)
	ours := s.state.History.Tree.Snapshot
	if !can || ours == "" {
		s.warnNotRestored(kept, "no copy of the tree can be made", nil)
		return
	}
	merged, conflicts, err := tree.Merge(ctx, ralph.MergeInput{
		Base:   kept.Base,
		Ours:   ours,
		Theirs: kept.Work,
		Own:    s.list.ownFile(),
	})
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
	s.emit(ralph.EvWorkRestored, ralph.WorkRestored{
		Task:      kept.Task,
		Iteration: kept.Iteration,
		Why:       why,
		Conflicts: conflicts,
	})
	s.warn(
		workNotRestored,
		"the work on %s was not brought back: %s; ralph diff %s --task %s shows it, ralph restore %s %d --to DIR writes "+
			"it out",
		kept.Task,
		why,
		s.id,
		kept.Task,
		s.id,
		kept.Iteration,
	)
}

// changedSince says that files were changed, and names the first of them.
func changedSince(names []string) string {
	if len(names) == 1 {
		return names[0] + " was changed"
	}
	return text.List(names) + " were changed"
}

// applyPendingMove does what was recorded last. A process that dies on the way leaves it to the next, which finds it in the state.
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
		s.warn(
			workNotRestored,
			"of the work on %s not brought back, for what is in its place: %s; ralph restore %s %d --to DIR writes it out",
			m.Task,
			text.List(done.Stayed),
			s.id,
			kept.Iteration,
		)
	case len(done.Stayed) > 0:
		s.warnWorkLeft(m.Task, "of it "+text.List(done.Stayed))
	}
	// It is the harness's doing: no progress of the next iteration, and no part of the base.
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

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

// stash takes the work on a task that was abandoned, or that waits for an answer, out of the tree
// and restores it when the task is worked on again.
type stash struct {
	*journal
	tree          *workspace
	list          *taskList
	leftNoChanges map[string]bool // abandoned tasks that left nothing in the tree
}

// stashForNext stashes the abandoned task's changes once another task has been selected.
func (s *stash) stashForNext(ctx context.Context) {
	next, ok := judge.NextTask(s.state.History.Tasks)
	if !ok || !s.blocksNext(next.ID) {
		return
	}
	if stashed, ok := s.planStash(ctx); ok {
		s.stashWork(ctx, stashed)
	}
}

// prepareTree makes the tree hold the work on the selected task and no work on another, abandoned
// task.
func (s *stash) prepareTree(ctx context.Context) {
	if s.list.tasks == nil {
		return
	}
	task := s.state.History.Task
	delete(s.leftNoChanges, task)
	if s.blocksNext(task) {
		if stashed, ok := s.planStash(ctx); ok {
			s.tree.snapshot(ctx, ralph.TreeInput{BaseHead: s.state.History.Base.Head})
			s.stashWork(ctx, stashed)
		}
	}
	if kept, ok := s.state.StashOf(task); ok && kept.RestoreFailure == "" {
		s.tree.snapshot(ctx, ralph.TreeInput{BaseHead: s.state.History.Base.Head})
		s.restoreWork(ctx, kept)
	}
}

// blocksNext reports whether the tree holds work on a task that was abandoned or waits for an
// answer, while another task is next. A
// run that stops leaves the work there for people to look at.
func (s *stash) blocksNext(next string) bool {
	left := s.state.Unproven
	return left != nil && left.Task != next && (s.waits(left.Task) || judge.StashesFailedTasks(s.policy))
}

// waits reports whether a task waits for an answer, and is not abandoned.
func (s *stash) waits(task string) bool {
	t, _ := judge.FindTask(s.state.History.Tasks, task)
	return t.Question != ""
}

// planStash returns what to stash, and warns if that is impossible.
func (s *stash) planStash(ctx context.Context) (ralph.WorkStashed, bool) {
	left := s.state.Unproven
	stashed := ralph.WorkStashed{
		Task:      left.Task,
		Iteration: left.Iteration,
		Base:      cmp.Or(s.state.History.LastProvenTree, s.state.History.Base.Snapshot),
		Work:      left.Work,
	}
	_, can := s.tree.store.(ralph.Switcher)
	if !can || stashed.Base == "" || stashed.Work == "" {
		s.warnOnce(
			workLeft,
			"the work on an unfinished task stays in the tree: there are no snapshots to restore it from",
		)
		return stashed, false
	}
	others := slices.DeleteFunc(s.state.OtherOpenWork(left.Task), func(id string) bool { return s.leftNoChanges[id] })
	if len(others) > 0 {
		s.warnWorkLeft(left.Task, "it also has unfinished work on "+text.List(others))
		return stashed, false
	}
	changed, err := s.changedBetween(ctx, stashed.Base, stashed.Work)
	if err != nil && ctx.Err() == nil {
		s.warnWorkLeft(stashed.Task, err.Error())
	}
	s.leftNoChanges[left.Task] = err == nil && len(changed) == 0
	return stashed, err == nil && len(changed) > 0
}

// Codes of warnings about abandoned work: it stayed in the tree, or it was not restored.
const (
	workLeft        = "work_left"
	workNotRestored = "work_not_back"
)

func (s *stash) warnWorkLeft(task, why string) {
	kind := "abandoned"
	if s.waits(task) {
		kind = "waiting"
	}
	s.warnOnce(workLeft, fmt.Sprintf("the work on the %s task %s stays in the tree: %s", kind, task, why))
}

// changedBetween lists the files that differ between two snapshots, except the harness's own.
func (s *stash) changedBetween(ctx context.Context, from, to string) ([]string, error) {
	names, err := s.tree.changedFiles(ctx, from, to)
	return slices.DeleteFunc(names, s.list.ownFile()), err
}

// stashWork takes work out of a tree whose snapshot was just taken. If files changed after the
// agent ended, or while earlier checks and hooks ran, the work stays: stashing it would take those
// changes with it, and they may be the user's.
func (s *stash) stashWork(ctx context.Context, stashed ralph.WorkStashed) {
	meanwhile, err := s.changedBetween(ctx, stashed.Work, s.state.History.Tree.Snapshot)
	unowned := slices.DeleteFunc(slices.Clone(s.state.Unowned), s.list.ownFile())
	switch {
	case ctx.Err() != nil || s.storage != nil:
	case err != nil:
		s.warnWorkLeft(stashed.Task, err.Error())
	case len(meanwhile) > 0:
		s.warnWorkLeft(stashed.Task, changedSince(meanwhile)+" since its agent ended")
	case len(unowned) > 0:
		s.warnWorkLeft(stashed.Task, changedSince(unowned)+" while checks or hooks ran")
	default:
		s.emit(ralph.EvWorkStashed, stashed)
		s.sync()
		s.applyPendingMove(ctx)
	}
}

// restoreWork puts the work on a task back into the tree, merged with later changes. The snapshot
// of the tree was just taken.
func (s *stash) restoreWork(ctx context.Context, kept fold.StashedWork) {
	tree, can := s.tree.store.(ralph.Switcher)
	ours := s.state.History.Tree.Snapshot
	if !can || ours == "" {
		s.warnNotRestored(kept, "cannot take a snapshot of the tree", nil)
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
		s.warnNotRestored(kept, changedSince(conflicts)+" since, and the changes conflict", conflicts)
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
		"the work on %s was not restored: %s; show it with ralph diff %s --task %s, or write it to a folder with ralph "+
			"restore %s %d --to DIR",
		kept.Task,
		why,
		s.id,
		kept.Task,
		s.id,
		kept.Iteration,
	)
}

// changedSince returns a sentence that names the first of the changed files.
func changedSince(names []string) string {
	if len(names) == 1 {
		return names[0] + " was changed"
	}
	return text.List(names) + " were changed"
}

// applyPendingMove applies the recorded move. If the process dies on the way, the next process
// finds the move in the state and finishes it.
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
			"part of the work on %s was not restored, because other files are in its place: %s; write it to a folder with "+
				"ralph restore %s %d --to DIR",
			m.Task,
			text.List(done.Stayed),
			s.id,
			kept.Iteration,
		)
	case len(done.Stayed) > 0:
		s.warnWorkLeft(m.Task, "files left: "+text.List(done.Stayed))
	}
	// The harness made this change, so it is neither progress of the next iteration nor part of the
	// base.
	if now, ok := s.tree.fingerprint(ctx, ralph.TreeInput{BaseHead: s.state.History.Base.Head}); ok {
		s.emit(ralph.EvTreeSnapshot, s.tree.withUserEdits(ctx, done.Snapshot, now))
		s.tree.compare(ctx, now)
	}
}

// warnMoveFailed warns that files changed during a move, and returns the snapshot that differs from
// the tree only in those changes. After an interrupted switch there is none, because files that the
// harness wrote before are not the user's.
func (s *stash) warnMoveFailed(m fold.TreeMove, done ralph.Switched) string {
	kept, _ := s.state.StashOf(m.Task)
	why := changedSince(done.Others)
	switch {
	case m.Restores && done.Begun:
		s.warnNotRestored(kept, why+" meanwhile, when only part of it had been restored", done.Others)
	case m.Restores:
		s.warnNotRestored(kept, why+" meanwhile", done.Others)
	case done.Begun:
		s.warnWorkLeft(m.Task, "part of it, because "+why+" meanwhile")
	default:
		s.emit(ralph.EvWorkRestored, ralph.WorkRestored{Task: m.Task, Iteration: kept.Iteration, Stayed: true})
		s.warnWorkLeft(m.Task, why+" since its agent ended")
	}
	if done.Begun {
		s.warnOnce(
			"base_unknown", "your changes count as the agent's: Ralph cannot tell them apart from work that it was moving",
		)
		return ""
	}
	return s.state.History.Tree.Snapshot
}

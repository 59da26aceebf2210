package loop

import (
	"context"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// findUndone looks for tasks whose work was undone after they were done, and records them. It runs what showed a task
// with the tests as they were then. A claim that would end the run needs all of it. For other claims the last task of
// each check is enough, and only if tests changed since a task was last proven: one comparison, however long the list.
func (r *checkRunner) findUndone(ctx context.Context) {
	evidence := judge.Evidence(r.state.History)
	if len(evidence) == 0 || r.tree.examiner == nil || r.state.History.CheckedInPlace() || !r.couldStillPass(ctx) {
		return
	}
	search := &undoneSearch{workSearch{runner: r}}
	var err error
	if search.folder, err = r.checkFolder(); err != nil {
		r.storageFailed(err)
		return
	}
	if !judge.WouldEnd(r.policy, r.state.History) {
		if !search.testsChanged(ctx, r.claimBase()) || len(search.undone(ctx, newestOfEachCheck(evidence))) == 0 {
			return
		}
	}
	undone := search.undone(ctx, evidence)
	if len(undone) > 0 && ctx.Err() == nil && r.storage == nil {
		r.emit(ralph.EvWorkUndone, ralph.WorkUndone{Tasks: undone})
	}
}

func newestOfEachCheck(evidence []judge.ShownTask) []judge.ShownTask {
	var newest []judge.ShownTask
	for _, e := range slices.Backward(evidence) {
		if !slices.ContainsFunc(newest, func(later judge.ShownTask) bool { return later.Check == e.Check }) {
			newest = append(newest, e)
		}
	}
	return newest
}

// undoneSearch runs what showed tasks again.
type undoneSearch struct{ workSearch }

func (s *undoneSearch) undone(ctx context.Context, evidence []judge.ShownTask) []ralph.UndoneTask {
	var undone []ralph.UndoneTask
	for i, e := range evidence {
		if ctx.Err() != nil || s.runner.storage != nil {
			break
		}
		if lost, ok := s.stillShows(ctx, i, e); !ok {
			undone = append(undone, ralph.UndoneTask{Task: e.Task, Check: e.Check, Tests: lost})
		}
	}
	return undone
}

// stillShows runs a check with the tests of the tree in which it showed a task. If the tests that showed the task have
// names, they must pass, whatever else the check asks for, such as a coverage that the later tests bring. Without names
// the check must pass, if tests changed since then. A test that passes now and then passes.
func (s *undoneSearch) stillShows(ctx context.Context, i int, e judge.ShownTask) (lost []string, ok bool) {
	c := check{name: e.Check, command: e.Command}
	if e.Own {
		c.task = e.Task
	}
	in := s.runner.viewInput(ralph.ViewOldTests, s.runner.state.History.AccessOf(c.name, c.task))
	in.Base = s.testsOf(ctx, e)
	if len(e.Tests) == 0 && !s.testsChanged(ctx, in.Base) {
		return nil, true
	}
	for _, in.Again = range []bool{false, true} {
		run, ran := s.runTests(ctx, in, c, checkFile("undone").name(i))
		lost = namesWithout(e.Tests, run.Passed)
		if ran && (run.Result.Passed || len(e.Tests) > 0) && len(lost) == 0 {
			return nil, true
		}
	}
	return lost, false
}

func (s *undoneSearch) testsChanged(ctx context.Context, before ralph.TreeState) bool {
	return s.runner.tree.testsChanged(ctx, before, s.runner.tree.treeUnderCheck())
}

// testsOf returns the tree in which a task was shown, without the files that checks did not see there.
func (s *undoneSearch) testsOf(ctx context.Context, e judge.ShownTask) ralph.TreeState {
	base := s.runner.state.History.Base
	tree := ralph.TreeState{Known: true, Head: base.Head, Snapshot: e.Tree}
	copies, ok := s.runner.tree.store.(ralph.Snapshots)
	if !ok || len(s.runner.policy.Protects) == 0 {
		return tree
	}
	found, err := s.runner.tree.examiner.Compare(ctx, base, tree)
	if err == nil && len(found.Unseen) > 0 {
		tree.Snapshot, err = copies.WithFiles(ctx, tree.Snapshot, base.Snapshot, found.Unseen)
	}
	if err != nil && ctx.Err() == nil {
		s.runner.tree.cannotLook(err)
	}
	return tree
}

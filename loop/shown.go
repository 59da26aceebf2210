package loop

import (
	"context"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// maxShownTests is how many tests the record names.
const maxShownTests = 10

// showWork looks for what shows the claimed work, the cheapest evidence first, and records what it found.
func (r *checkRunner) showWork(ctx context.Context) {
	if !r.couldStillPass(ctx) || !judge.MustShow(r.policy, r.state.History) {
		return
	}
	search := &workSearch{runner: r, base: r.claimBase()}
	search.work.Unchanged = r.tree.unchangedSince(ctx, search.base, r.list.ownFile())
	if r.tree.examiner != nil {
		search.run(ctx)
	}
	if ctx.Err() == nil && r.storage == nil {
		r.emit(ralph.EvWorkSeen, search.work)
	}
}

// claimBase returns the tree that claimed work is compared with: the one in which the last task was proven,
// or the run's base.
func (r *checkRunner) claimBase() ralph.TreeState {
	base := r.state.History.Base
	if settled := r.state.History.LastProvenTree; settled != "" {
		base = ralph.TreeState{Known: true, Head: base.Head, Snapshot: settled}
	}
	return base
}

// workSearch collects evidence that the work of one claim was done.
type workSearch struct {
	runner *checkRunner
	base   ralph.TreeState
	work   ralph.WorkSeen
	named  map[string]ralph.TestRun // runs on the claimed tree, by the check's key
	folder string
}

func (s *workSearch) run(ctx context.Context) {
	if !judge.NeedsEvidence(s.runner.policy, s.history()) {
		return
	}
	s.named = map[string]ralph.TestRun{}
	var err error
	if s.folder, err = s.runner.checkFolder(); err != nil {
		s.runner.storageFailed(err)
		return
	}
	s.countTests(ctx)
	if s.isShown(ctx) || s.evaluatorDecides() {
		return
	}
	s.runAtBase(ctx)
	if s.isShown(ctx) || s.work.Unchanged {
		return
	}
	s.runNewTests(ctx)
}

// history is the history with what was found so far.
func (s *workSearch) history() judge.History {
	h := s.runner.state.History
	h.Now.Work = &s.work
	return h
}

// isShown reports whether nothing more needs to be found out.
func (s *workSearch) isShown(ctx context.Context) bool {
	return ctx.Err() != nil || s.runner.storage != nil || len(judge.Unshown(s.runner.policy, s.history())) == 0
}

// evaluatorDecides reports whether an evaluator will say whether the work was done.
func (s *workSearch) evaluatorDecides() bool {
	return s.runner.policy.Evaluator != "" && !s.work.Unchanged
}

// countTests finds out how many tests the checks ran that failed before and pass now: a test runner that
// ran none shows nothing. A check of the run that has shown a task shows no other.
func (s *workSearch) countTests(ctx context.Context) {
	h := s.runner.state.History
	for i, c := range s.checks() {
		spent := c.task == "" && slices.Contains(h.SpentChecks, c.name)
		if h.FailedAtBase(c.name, c.task) && !spent {
			s.claimedRun(ctx, i, c, s.runner.passedNow(c))
		}
	}
}

// claimedRun runs a check on the claimed tree so that it names its tests, and counts them. If passed is given,
// only the count matters: a check that cannot name its tests does not run again.
func (s *workSearch) claimedRun(ctx context.Context, i int, c check, passed *ralph.CheckResult) ralph.TestRun {
	key := judge.CheckKey(ralph.CheckResult{Name: c.name, Task: c.task})
	if run, ok := s.named[key]; ok {
		return run
	}
	kind := ralph.ViewClaimed
	if c.hidden {
		kind = ralph.ViewHidden
	}
	in := s.runner.viewInput(kind, s.runner.state.History.AccessOf(c.name, c.task))
	in.Passed = passed
	run, ok := s.runTests(ctx, in, c, checkFile("named").name(i))
	if !ok {
		run.Total = -1
	}
	if passed == nil || run.Passed != nil {
		s.named[key] = run
	}
	s.noteCount(c, run.Total)
	return run
}

func (s *workSearch) noteCount(c check, tests int) {
	count := ralph.TestCount{Name: c.name, Task: c.task, Tests: tests}
	if tests >= 0 && !slices.Contains(s.work.Counts, count) {
		s.work.Counts = append(s.work.Counts, count)
	}
}

// runAtBase runs checks at the run's base that first ran later, to learn whether they failed there.
func (s *workSearch) runAtBase(ctx context.Context) {
	unknown := judge.UnknownAtBase(s.runner.policy, s.runner.state.History)
	for i, c := range s.checks() {
		isUnknown := slices.ContainsFunc(unknown, func(u ralph.CheckResult) bool {
			return u.Name == c.name && u.Task == c.task
		})
		if !isUnknown || c.hidden || c.namesTests() { // at the base, new test files are missing
			continue
		}
		in := s.runner.viewInput(ralph.ViewBase, s.runner.state.History.AccessOf(c.name, c.task))
		run, ok := s.runTests(ctx, in, c, checkFile("at-base").name(i))
		if !ok {
			continue
		}
		s.work.AtBase = append(s.work.AtBase, run.Result)
		if !run.Result.Passed {
			s.claimedRun(ctx, i, c, s.runner.passedNow(c))
		}
	}
}

// runNewTests runs the checks with the new tests and the product code of the base. For a check with {tests},
// the tests of the claimed tasks count as new, because it did not run them before.
func (s *workSearch) runNewTests(ctx context.Context) {
	now := s.runner.tree.treeUnderCheck()
	tests, err := s.runner.tree.examiner.WrittenTests(ctx, s.base, now)
	if err != nil || ctx.Err() != nil {
		s.failed(ctx, err)
		return
	}
	s.work.Tests = tests
	for i, c := range s.checks() {
		if c.hidden || len(tests) == 0 && !c.namesTests() || s.isShown(ctx) {
			continue
		}
		in := s.runner.viewInput(ralph.ViewNewTests, s.runner.state.History.AccessOf(c.name, c.task))
		in.Base = s.base
		run, ok := s.runTests(ctx, in, c, checkFile("new-tests").name(i))
		if !ok || run.Result.Broken || run.Result.TimedOut {
			continue
		}
		if !run.Result.Passed { // a test that fails only now and then shows nothing
			again, ok := s.runTests(ctx, in, c, checkFile("new-tests-again").name(i))
			if !ok {
				continue
			}
			run.Passed = slices.Sorted(slices.Values(slices.Concat(run.Passed, again.Passed)))
			run.Result.Passed = again.Result.Passed
		}
		seen := ralph.NewTestsRun{Name: c.name, Task: c.task, Passed: run.Result.Passed, Output: run.Result.Output}
		if !seen.Passed {
			claimed := s.claimedRun(ctx, i, c, nil)
			failing := namesWithout(claimed.Passed, slices.Sorted(slices.Values(
				slices.Concat(run.Passed, s.failedBefore(ctx, i, c)))))
			if !claimed.Result.Passed || len(failing) == 0 && len(claimed.Passed) > 0 {
				continue // it fails with the work, too, or only tests fail that failed before
			}
			seen.Failing, seen.Count = failing[:min(len(failing), maxShownTests)], len(failing)
		}
		s.work.NewTests = append(s.work.NewTests, seen)
	}
}

// failedBefore returns the tests of a check that failed before: their repair is no new test.
func (s *workSearch) failedBefore(ctx context.Context, i int, c check) []string {
	if !s.runner.state.History.FailedAtBase(c.name, c.task) {
		return nil
	}
	in := s.runner.viewInput(ralph.ViewBase, s.runner.state.History.AccessOf(c.name, c.task))
	run, _ := s.runTests(ctx, in, c, checkFile("names-at-base").name(i))
	return run.Ran
}

// namesWithout returns the sorted names that are not among others, which are sorted, too.
func namesWithout(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, found := slices.BinarySearch(others, name)
		return found
	})
}

// runTests runs a check in a view. It reports false if that cannot be done.
func (s *workSearch) runTests(
	ctx context.Context, in ralph.ViewInput, c check, file string,
) (run ralph.TestRun, ok bool) {
	var err error
	s.runner.withHeartbeat(ctx, func(ctx context.Context) {
		run, err = s.runner.tree.examiner.RunTests(ctx, in, s.runner.checkInput(c, s.folder, file))
	})
	if err != nil || ctx.Err() != nil {
		s.failed(ctx, err)
		return run, false
	}
	run.Result.Name, run.Result.Task = c.name, c.task
	return run, true
}

// failed says that evidence could not be looked for. The claim is not shown then.
func (s *workSearch) failed(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		s.runner.warnOnce("work_unseen", "cannot find out whether the work is shown: "+err.Error())
	}
}

// checks returns the checks that passed on the claimed tree.
func (s *workSearch) checks() []check {
	all := slices.Concat(s.runner.suite.checksToRun(true), s.runner.suite.hiddenChecks())
	return slices.DeleteFunc(all, func(c check) bool {
		return s.runner.suite.whyBarred(c) != "" || c.missing != "" || s.runner.passedNow(c) == nil
	})
}

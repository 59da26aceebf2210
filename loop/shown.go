package loop

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

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
	if origin, ok := r.claimOrigin(); ok && !search.work.Unchanged {
		search.work.Restored = r.tree.unchangedSince(ctx, origin, r.list.ownFile())
		search.work.Unchanged = search.work.Restored
	}
	search.work.NoProduct = r.changedNoProduct(ctx)
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

// changedNoProduct reports whether no file but tests, and files that checks do not see, differs from the run's base. If
// that is not known, it reports false. A Rust file may hold both product code and tests.
func (r *checkRunner) changedNoProduct(ctx context.Context) bool {
	base, now := r.state.History.Base, r.tree.treeUnderCheck()
	isOwn := r.list.ownFile()
	if r.tree.unchangedSince(ctx, base, isOwn) {
		return true
	}
	if r.tree.examiner == nil || base.Snapshot == "" || now.Snapshot == "" {
		return false
	}
	changed, err := r.tree.changedFiles(ctx, base.Snapshot, now.Snapshot)
	if err != nil {
		return false
	}
	tests, err := r.tree.examiner.WrittenTests(ctx, base, now)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(changed, func(name string) bool {
		isTest := slices.Contains(tests, name) && path.Ext(name) != ".rs"
		return !isTest && !isOwn(name) && !slices.Contains(r.tree.changed.Unseen, name)
	})
}

// workSearch collects evidence that the work of one claim was done.
type workSearch struct {
	runner *checkRunner
	base   ralph.TreeState
	work   ralph.WorkSeen
	folder string
}

func (s *workSearch) run(ctx context.Context) {
	if !judge.NeedsEvidence(s.runner.policy, s.history()) {
		return
	}
	var err error
	if s.folder, err = s.runner.checkFolder(); err != nil {
		s.runner.storageFailed(err)
		return
	}
	s.countTests(ctx)
	s.runAtOrigin(ctx)
	if s.isShown(ctx) || s.evaluatorDecides() {
		return
	}
	s.runAtBase(ctx)
	s.runAtOrigin(ctx)
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
			s.claimedRun(ctx, i, c)
		}
	}
}

// claimedRun names the tests of a check on the claimed tree, and counts them.
func (s *workSearch) claimedRun(ctx context.Context, i int, c check) ralph.TestRun {
	kind := ralph.ViewClaimed
	if c.hidden {
		kind = ralph.ViewHidden
	}
	in := s.runner.viewInput(kind, s.runner.state.History.AccessOf(c.name, c.task))
	run, ok := s.runTests(ctx, in, c, checkFile("named").name(i))
	if !ok {
		run.Total = -1
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
		if ok && run.Result.Killed {
			in.Again = true
			run, ok = s.runTests(ctx, in, c, checkFile("at-base-again").name(i))
		}
		if !ok {
			continue
		}
		s.work.AtBase = append(s.work.AtBase, run.Result)
		if !run.Result.Passed {
			s.claimedRun(ctx, i, c)
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
		if seen, ok := s.runWithNewTests(ctx, i, c); ok {
			s.work.NewTests = append(s.work.NewTests, seen)
		}
	}
}

// runWithNewTests runs one check with the new tests and the product code of the base. It reports false if the result
// says nothing about the work. Where earlier runs did not complete, the tests must also fail with the product code from
// before them: an agent can break what it repairs later.
func (s *workSearch) runWithNewTests(ctx context.Context, i int, c check) (seen ralph.NewTestsRun, ok bool) {
	seen, ok = s.newTestsOn(ctx, i, c, s.base)
	if origin, known := s.runner.claimOrigin(); ok && !seen.Passed && known {
		var earlier ralph.NewTestsRun
		if earlier, ok = s.newTestsOn(ctx, i, c, origin); ok {
			seen = alsoEarlier(seen, earlier)
		}
	}
	seen.Failing = seen.Failing[:min(len(seen.Failing), maxShownTests)]
	return seen, ok
}

// newTestsOn runs one check with the new tests and the product code of a tree. A test that fails only now and then
// shows nothing, so a check that fails runs twice.
func (s *workSearch) newTestsOn(
	ctx context.Context, i int, c check, base ralph.TreeState,
) (seen ralph.NewTestsRun, ok bool) {
	in := s.runner.viewInput(ralph.ViewNewTests, s.runner.state.History.AccessOf(c.name, c.task))
	in.Base = base
	run, ok := s.runTests(ctx, in, c, s.file(base, "new-tests").name(i))
	if ok && run.Result.FailedInTime() {
		var again ralph.TestRun
		in.Again = true
		again, ok = s.runTests(ctx, in, c, s.file(base, "new-tests-again").name(i))
		run.Result.Passed, run.Result.Broken = again.Result.Passed, again.Result.Broken
		run.Result.TimedOut, run.Result.Killed = again.Result.TimedOut, again.Result.Killed
		run.Ran, run.Passed = joinNames(run.Ran, again.Ran), joinNames(run.Passed, again.Passed)
	}
	if !ok || !run.Result.Passed && !run.Result.FailedInTime() {
		return seen, false
	}
	seen = ralph.NewTestsRun{Name: c.name, Task: c.task, Passed: run.Result.Passed, Output: run.Result.Output}
	if seen.Passed {
		return seen, true
	}
	claimed := s.claimedRun(ctx, i, c)
	seen.Failing, ok = s.failingWithoutWork(ctx, i, c, testRuns{base, run, claimed})
	seen.Count = len(seen.Failing)
	return seen, ok && claimed.Result.Passed
}

// testRuns are runs of one check with the new tests: with the product code of a tree, and with the claimed one.
type testRuns struct {
	base         ralph.TreeState
	run, claimed ralph.TestRun
}

// failingWithoutWork returns the tests that pass on the claimed tree and fail without the work. It reports false if
// nothing new fails there. If a new test does not compile, the old ones beside it do not run, either: a test of the
// base counts only if it passed there, and ran and failed here. A changed test that does not compile has no name then.
func (s *workSearch) failingWithoutWork(
	ctx context.Context, i int, c check, runs testRuns,
) (failing []string, ok bool) {
	run, claimed := runs.run, runs.claimed
	left := namesWithout(claimed.Passed, run.Passed)
	if len(left) == 0 || c.namesTests() { // the tests of the task count, old or new
		return withoutParts(left), len(left) > 0 || len(claimed.Passed) == 0
	}
	in := s.runner.viewInput(ralph.ViewBase, s.runner.state.History.AccessOf(c.name, c.task))
	in.Base = runs.base
	base, ok := s.runTests(ctx, in, c, s.file(runs.base, "names-at-base").name(i))
	if !ok || !base.Result.RanToEnd() {
		return nil, false
	}
	listed, changed := base.Result.Passed || len(base.Ran) > 0, false
	for _, name := range left {
		isOld, ran := hasName(base.Ran, name), hasName(run.Ran, name)
		switch passedBefore := hasName(base.Passed, name); {
		case !isOld && (ran || listed), passedBefore && ran:
			failing = append(failing, name)
		case passedBefore: // it, or a test beside it, does not compile
			changed = true
		}
	}
	return withoutParts(failing), changed || len(failing) > 0
}

// withoutParts drops the parts of tests that are listed themselves: subtests of Go, and of node.
func withoutParts(names []string) []string {
	isPart := func(name string) bool {
		return slices.ContainsFunc(names, func(whole string) bool {
			return strings.HasPrefix(name, whole+"/") || strings.HasPrefix(name, whole+" > ")
		})
	}
	var whole []string
	for _, name := range names {
		if !isPart(name) {
			whole = append(whole, name)
		}
	}
	return whole
}

func hasName(sorted []string, name string) bool {
	_, found := slices.BinarySearch(sorted, name)
	return found
}

// joinNames returns the names of two sorted lists, sorted.
func joinNames(a, b []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}

// namesWithout returns the sorted names that are not among others, which are sorted, too.
func namesWithout(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return hasName(others, name) })
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
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.Is(err, ralph.ErrIO):
		s.runner.storageFailed(err)
	default:
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

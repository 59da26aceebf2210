package fold

import (
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// Random evidence for claimed work, and random answers of a person.

// work returns what a loop could find out about claimed work.
func (d dice) work(st step) *ralph.WorkSeen {
	work := &ralph.WorkSeen{
		Unchanged: d.oneIn(4),
		Tests:     pick(d, nil, []string{"a_test.go"}, []string{"a_test.go", "b.js"}),
	}
	if d.calm && d.oneIn(2) { // nothing to see
		return work
	}
	for _, c := range slices.Concat(st.Checks, st.own) {
		if d.oneIn(4) {
			work.Counts = append(work.Counts, ralph.TestCount{Name: c.Name, Task: c.Task, Tests: d.IntN(3)})
		}
		if d.oneIn(3) {
			atBase := d.checks([]string{c.Name})[0]
			atBase.Task = c.Task
			work.AtBase = append(work.AtBase, atBase)
		}
		if d.oneIn(4) {
			work.NewTests = append(work.NewTests, d.newTests(c))
		}
	}
	return work
}

func (d dice) newTests(c ralph.CheckResult) ralph.NewTestsRun {
	run := ralph.NewTestsRun{Name: c.Name, Task: c.Task, Passed: d.oneIn(2)}
	if run.Passed || d.oneIn(3) { // without names, a runner may not have compiled anything
		return run
	}
	run.Failing = pick(d, []string{"TestNew"}, []string{"TestOther"}, []string{"TestNew", "TestOther"},
		[]string{"calc.TestNew"})
	run.Count = len(run.Failing)
	return run
}

// showWork emits what a loop finds out about claimed work. It looks only for evidence about checks that ran.
func (r *simulation) showWork(st *step) {
	if st.Work == nil {
		return
	}
	st.Work.Counts = slices.DeleteFunc(st.Work.Counts, func(c ralph.TestCount) bool { return !ran(*st, c.Name, c.Task) })
	st.Work.AtBase = slices.DeleteFunc(st.Work.AtBase, func(c ralph.CheckResult) bool {
		known := func(b ralph.CheckResult) bool { return b.Name == c.Name && b.Task == c.Task }
		return !ran(*st, c.Name, c.Task) || slices.ContainsFunc(r.oracle.baseline, known)
	})
	st.Work.NewTests = slices.DeleteFunc(st.Work.NewTests, func(n ralph.NewTestsRun) bool {
		return !ran(*st, n.Name, n.Task)
	})
	r.emit(ralph.EvWorkSeen, *st.Work)
}

func ran(st step, name, task string) bool {
	return slices.ContainsFunc(st.Checks, func(c ralph.CheckResult) bool { return c.Name == name && c.Task == task })
}

// ending is what happens after a verdict that ends the run.
type ending struct {
	accepts answers // what a person says
	resumes bool    // whether an unconfirmed run is resumed
	raised  ralph.Policy
}

// answers says how much a person accepts.
type answers int

const (
	acceptNothing answers = iota
	acceptFirst
	acceptAll
)

func (d dice) afterEnd(p ralph.Policy) ending {
	return ending{pick(d, acceptNothing, acceptFirst, acceptAll), d.oneIn(2), p}
}

// accept lets a person accept what the last verdict leaves, and reports whether the run is complete.
func (r *simulation) accept(after ending) bool {
	r.t.Helper()
	if ralph.StatusOf(r.state.Verdict.Reason) == ralph.StatusCompleted {
		return true
	}
	may := judge.Acceptable(r.state.Policy, r.state.History, r.state.Verdict)
	if diff := cmp.Diff(r.oracle.acceptable(), may, cmpopts.EquateEmpty()); diff != "" {
		r.t.Fatalf("seed %d, iteration %d, after %s %v: oracle (-) and Acceptable (+) disagree:\n%s",
			r.seed, r.number, r.state.Verdict.Reason, ralph.RefusalsOf(r.state.Verdict.Gates), diff)
	}
	if len(may) == 0 || after.accepts == acceptNothing {
		return false
	}
	yes := ralph.WorkAccepted{By: "me", Why: "it is right", Tasks: may}
	if after.accepts == acceptFirst {
		yes.Tasks = may[:1]
	}
	if may[0] == "" {
		yes.Tasks = nil
	}
	r.resume(r.state.Policy, ralph.RunResumed{Accepting: true})
	r.emit(ralph.EvAccepted, yes)
	r.oracle.accepted = append(r.oracle.accepted, acceptance{len(r.oracle.iterations) - 1, yes.Tasks})
	r.oracle.listChanges = r.oracle.replayList()
	r.shown.accepted++
	ends := r.stopsBetween(iteration{at: ralph.Moment{Elapsed: r.state.Elapsed}})
	if ends && r.state.Verdict.Reason == ralph.Unconfirmed {
		r.shown.keptWaiting++
	}
	return ends && ralph.StatusOf(r.state.Verdict.Reason) == ralph.StatusCompleted
}

// compareShown compares with the oracle why claims for tasks are refused, and how far exit 0 proves the work.
func (r *simulation) compareShown(v ralph.Verdict) {
	r.t.Helper()
	got := map[string]string{}
	for _, refused := range slices.Concat(v.Tasks.Refused, v.Tasks.Unconfirmed) {
		if oneOf(refused.Code, "not_shown", "nothing_changed", "tests_changed", "test_aware") {
			got[refused.Task] = refused.Code
		}
	}
	want := map[string]string{}
	for id, code := range r.oracle.listChanges[len(r.oracle.iterations)-1].codes {
		if oneOf(code, "not_shown", "nothing_changed", "tests_changed", "test_aware") {
			want[id] = code
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Fatalf("seed %d, iteration %d: oracle (-) and Decide (+) refuse tasks for other reasons:\n%s\n%+v",
			r.seed, r.number, diff, r.oracle.now())
	}
	r.compareProof(v)
}

func (r *simulation) compareProof(v ralph.Verdict) {
	r.t.Helper()
	if v.Action != ralph.Stop || ralph.ExitCode(v.Reason, v.Signal) != 0 {
		return
	}
	got, want := judge.ProofOf(r.state.Policy, r.state.History, v), r.oracle.proofWord()
	if got != want {
		r.t.Fatalf("seed %d, iteration %d: proof %q, the oracle says %q: %+v", r.seed, r.number, got, want, v)
	}
}

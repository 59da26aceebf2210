package loop

import (
	"fmt"
	"testing"

	"github.com/ralphloop/ralph"
)

// mustShow makes a world ask for claims to be shown, as runs do by default.
func (w *world) mustShow() {
	p := ralph.DefaultPolicy()
	p.Protects, p.Canary = w.policy.Protects, false
	w.policy = p
}

// ran is a run of tests by name.
func ran(passed bool, names ...string) ralph.TestRun {
	run := ralph.TestRun{Result: greenIf(passed), Total: len(names), Ran: names}
	if passed {
		run.Passed = names
	}
	return run
}

// byKind gives each kind of view its own run of tests.
func byKind(runs map[ralph.ViewKind]ralph.TestRun) func(ralph.ViewInput, string) (ralph.TestRun, error) {
	return func(in ralph.ViewInput, name string) (ralph.TestRun, error) {
		run, ok := runs[in.Kind]
		if !ok {
			return run, fmt.Errorf("no test expects %s", nameOf(in, name))
		}
		return run, nil
	}
}

func alwaysGreen(ralph.ViewInput, string) ralph.CheckResult { return isGreen }

// The search for what shows the work goes from cheap to expensive, and ends with the first thing found.
func TestWhatShowsTheGoal(t *testing.T) {
	const (
		twice    = "the checks passed before this work, too, and no test was added that fails without it"
		alsoPass = "the new tests also pass without your change: a_test.go"
		notRun   = "the checks passed before, and the changed tests could not be run without your change: a_test.go"
	)
	both := []string{"new_tests: go test", "new_tests: go test", "claimed: go test", "base: go test"}
	type runs = map[ralph.ViewKind]ralph.TestRun
	unknown, broken := ran(true), ran(false)
	unknown.Total, unknown.Ran, unknown.Passed = -1, nil, nil
	broken.Result = isBroken
	stopped := ran(false)
	stopped.Result.TimedOut = true
	for _, tt := range []struct {
		name    string
		check   func(ralph.ViewInput, string) ralph.CheckResult // nil: fails at the base only
		written []string
		runs    runs
		reason  ralph.StopReason // with AllChecksPassed, one agent is enough
		detail  string
		named   []string // of the first claim
	}{
		{
			"a check that failed before", nil, []string{"a_test.go"}, runs{ralph.ViewClaimed: ran(true, "A")},
			ralph.AllChecksPassed, "go test failed before and passes now", []string{"claimed: go test"},
		},
		{
			"an unknown test runner", nil, nil, runs{ralph.ViewClaimed: unknown},
			ralph.AllChecksPassed, "go test failed before and passes now", []string{"claimed: go test"},
		},
		{
			"a test runner that ran no test", nil, nil, runs{ralph.ViewClaimed: ran(true)},
			ralph.Unconfirmed, "go test ran no test, so it shows nothing", []string{"claimed: go test"},
		},
		{
			"a new test", alwaysGreen, []string{"a_test.go"},
			runs{ralph.ViewNewTests: ran(false, "A"), ralph.ViewClaimed: ran(true, "A"), ralph.ViewBase: ran(true)},
			ralph.AllChecksPassed, "new tests fail without the work and pass with it: A", both,
		},
		{
			"a new test that does not compile beside an old one", alwaysGreen, []string{"a_test.go"},
			runs{ralph.ViewNewTests: ran(false), ralph.ViewClaimed: ran(true, "A", "B"), ralph.ViewBase: ran(true, "A")},
			ralph.AllChecksPassed, "new tests fail without the work and pass with it: B", both,
		},
		{
			"a changed test", alwaysGreen, []string{"a_test.go"},
			runs{ralph.ViewNewTests: ran(false, "A"), ralph.ViewClaimed: ran(true, "A"), ralph.ViewBase: ran(true, "A")},
			ralph.AllChecksPassed, "new tests fail without the work and pass with it: A", both,
		},
		{
			"a changed test that does not compile", alwaysGreen, []string{"a_test.go"},
			runs{ralph.ViewNewTests: ran(false), ralph.ViewClaimed: ran(true, "A"), ralph.ViewBase: ran(true, "A")},
			ralph.AllChecksPassed, "go test fails with the new tests and without the work, and passes now", both,
		},
		{
			"a test that failed before", alwaysGreen, []string{"a_test.go"},
			runs{ralph.ViewNewTests: ran(false, "A"), ralph.ViewClaimed: ran(true, "A"), ralph.ViewBase: ran(false, "A")},
			ralph.Unconfirmed, notRun, both,
		},
		{
			"tests of the base that its time limit stops", alwaysGreen, []string{"a_test.go"},
			runs{ralph.ViewNewTests: ran(false, "A"), ralph.ViewClaimed: ran(true, "A"), ralph.ViewBase: stopped},
			ralph.Unconfirmed, notRun, both,
		},
		{
			"a new test that its time limit stops", alwaysGreen, []string{"a_test.go"},
			runs{ralph.ViewNewTests: stopped}, ralph.Unconfirmed, notRun, []string{"new_tests: go test"},
		},
		{
			"a new test without a name", alwaysGreen, []string{"a_test.go"},
			runs{ralph.ViewNewTests: ran(false), ralph.ViewClaimed: unknown},
			ralph.AllChecksPassed, "go test fails with the new tests and without the work, and passes now",
			[]string{"new_tests: go test", "new_tests: go test", "claimed: go test"},
		},
		{
			"a new test that passes without the work", alwaysGreen, []string{"a_test.go"},
			runs{ralph.ViewNewTests: ran(true, "A")}, ralph.Unconfirmed, alsoPass, []string{"new_tests: go test"},
		},
		{
			"a new test that cannot run without the work", alwaysGreen, []string{"a_test.go"},
			runs{ralph.ViewNewTests: broken}, ralph.Unconfirmed, notRun, []string{"new_tests: go test"},
		},
		{"no new test", alwaysGreen, nil, nil, ralph.Unconfirmed, twice, nil},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			w, e, k := examined(t)
			w.mustShow()
			w.agent.turns = []turn{done().then(k.becomes("1"))}
			e.written, e.runTests = tt.written, byKind(tt.runs)
			if tt.check != nil {
				e.check = tt.check
			}
			agents := 2
			if tt.reason == ralph.AllChecksPassed {
				agents = 1
			}
			w.ends(tt.reason, agents)
			same(t, "tests named", tt.named, e.named[:len(e.named)/agents])
			verdicts := payloads[ralph.VerdictReached](w.log)
			shown := verdicts[len(verdicts)-1].Verdict.Shown
			if tt.reason == ralph.Unconfirmed {
				same(t, "shown", nil, shown)
				same(t, "why not", tt.detail, w.log.stopped().Detail)
				same(t, "proof", ralph.ProvenNone, w.log.stopped().Proof)
				return
			}
			same(t, "proof", ralph.ProvenShown, w.log.stopped().Proof)
			gates := verdicts[0].Verdict.Gates
			same(t, "why", tt.detail, gates[len(gates)-1].Detail)
		})
	}
}

// New tests that fail at first, and are stopped by the time limit when they run again, show nothing.
func TestNewTestsThatTheTimeLimitStopsShowNothing(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		w, e, k := examined(t)
		w.mustShow()
		w.agent.turns = []turn{done().then(k.becomes("1"))}
		e.check, e.written = alwaysGreen, []string{"a_test.go"}
		times := 0
		e.runTests = func(ralph.ViewInput, string) (ralph.TestRun, error) {
			times++
			run := ran(false, "A")
			run.Result.TimedOut = times%2 == 0
			return run, nil
		}
		w.ends(ralph.Unconfirmed, 2)
		same(t, "tests named", []string{
			"new_tests: go test", "new_tests: go test", "new_tests: go test", "new_tests: go test",
		}, e.named)
	})
}

// Hidden checks count as evidence, but new tests of the agent never run with them.
func TestHiddenChecksShowWork(t *testing.T) {
	for name, tt := range map[string]struct {
		before ralph.CheckResult
		reason ralph.StopReason
		agents int
		named  []string
	}{
		"one that failed before": {isRed, ralph.AllChecksPassed, 1, []string{"hidden: hidden check 1"}},
		"one that passed before": {
			isGreen, ralph.Unconfirmed, 2, []string{"new_tests: go test", "new_tests: go test"},
		},
	} {
		bubble(t, name, func(t *testing.T) {
			w, e, k := examined(t)
			w.mustShow()
			w.cfg.Hidden = []string{"secret"}
			w.agent.turns = []turn{done().then(k.becomes("1"))}
			e.written = []string{"a_test.go"}
			e.check = func(in ralph.ViewInput, _ string) ralph.CheckResult {
				if in.Kind == ralph.ViewHidden && in.Now.Hash == "0" {
					return tt.before
				}
				return isGreen
			}
			e.runTests = byKind(map[ralph.ViewKind]ralph.TestRun{
				ralph.ViewHidden: ran(true, "H"), ralph.ViewNewTests: ran(true, "A"),
			})
			w.ends(tt.reason, tt.agents)
			same(t, "tests named", tt.named, e.named)
		})
	}
}

// A search that fails shows nothing, and says so once.
func TestAViewThatCannotBeOpenedShowsNothing(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		w, e, k := examined(t)
		w.mustShow()
		w.agent.turns = []turn{done().then(k.becomes("1"))}
		e.check, e.written = alwaysGreen, []string{"a_test.go"}
		e.runTests = func(ralph.ViewInput, string) (ralph.TestRun, error) { return ralph.TestRun{}, errLost }
		w.ends(ralph.Unconfirmed, 2)
		same(t, "warnings", []string{"cannot find out whether the work is shown: the copy is gone"},
			warningsOf(w.log, "work_unseen"))
	})
}

// An evaluator's verdict shows the work, so that nothing expensive is tried before. It is not asked about a
// claim without changes.
func TestTheEvaluatorShowsWork(t *testing.T) {
	for name, tt := range map[string]struct {
		tree   string
		reason ralph.StopReason
		agents int
		asked  int
	}{
		"changed":   {"1", ralph.AllChecksPassed, 1, 1},
		"unchanged": {"0", ralph.Unconfirmed, 2, 0},
	} {
		bubble(t, name, func(t *testing.T) {
			w, e, k := examined(t)
			w.mustShow()
			w.agent.turns = []turn{done().then(k.becomes(tt.tree))}
			e.check, e.written = alwaysGreen, []string{"a_test.go"}
			f := w.judgedBy(accepts())
			w.ends(tt.reason, tt.agents)
			same(t, "asked", tt.asked, len(f.inputs))
			same(t, "tests named", nil, e.named)
		})
	}
}

// Two tasks claimed at once need a piece of evidence each: the repair of a check shows the current one, and
// a new test the other. Tests that failed before are part of the repair.
func TestTwoTasksClaimedAtOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		tests   []string // that pass with the work and fail without it
		done    []string
		refused []ralph.TaskRefusal
	}{
		"a repair and a new test": {[]string{"new", "old"}, []string{"A", "B"}, nil},
		"only a repair":           {[]string{"old"}, []string{"A"}, refusal("B", ralph.RefusedNotShown, "")},
	} {
		bubble(t, name, func(t *testing.T) {
			w, e, k := examined(t)
			w.mustShow()
			w.cfg.Task, w.policy.MaxIterations = "", 1
			w.options = append(w.options, WithTasks(newMemoryTasks(entry("A"), entry("B"))))
			w.agent.turns = []turn{tagging("A", "B").then(k.becomes("1"))}
			e.written = []string{"a_test.go"}
			e.runTests = byKind(map[ralph.ViewKind]ralph.TestRun{
				ralph.ViewClaimed: ran(true, tt.tests...), ralph.ViewNewTests: ran(false, tt.tests...),
				ralph.ViewBase: ran(false, "old"),
			})
			w.run(t.Context())
			mustReplay(t, w.log.events)
			v := payloads[ralph.VerdictReached](w.log)[0].Verdict
			for i := range v.Tasks.Refused {
				v.Tasks.Refused[i].Detail = ""
			}
			same(t, "done", tt.done, v.Tasks.Done)
			same(t, "refused", tt.refused, v.Tasks.Refused)
			same(t, "tests named", []string{
				"claimed: go test", "new_tests: go test", "new_tests: go test", "claimed: go test", "base: go test",
			}, e.named)
		})
	}
}

// A task that an earlier one satisfied is shown by its own check having failed at the run's base.
func TestATaskThatAnEarlierOneSatisfied(t *testing.T) {
	for name, tt := range map[string]struct {
		atBase ralph.TestRun
		reason ralph.StopReason
		agents int
		named  []string // for the first claim of B
	}{
		"failed at the base": {
			ran(false, "B"), ralph.TasksDone, 2, []string{"base: own B", "claimed: own B"},
		},
		"passed at the base": {ran(true, "B"), ralph.Unconfirmed, 3, []string{"base: own B"}},
	} {
		bubble(t, name, func(t *testing.T) {
			w, e, k := examined(t)
			w.mustShow()
			w.cfg.Task = ""
			w.options = append(w.options, WithTasks(newMemoryTasks(entry("A"), entry("B", "own B"))))
			w.agent.turns = []turn{tagging("A").then(k.becomes("1")), tagging("B")}
			e.runTests = byKind(map[ralph.ViewKind]ralph.TestRun{
				ralph.ViewClaimed: ran(true, "A"), ralph.ViewBase: tt.atBase,
			})
			w.ends(tt.reason, tt.agents)
			same(t, "tests named", tt.named, e.named[1:1+len(tt.named)])
		})
	}
}

// B10: what cannot be looked at because of the storage does not count against the work.
func TestEvidenceThatCannotBeReadEndsTheRun(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		w, e, k := examined(t, done())
		w.mustShow()
		w.agent.turns[0] = w.agent.turns[0].then(k.becomes("1"))
		e.check = alwaysGreen
		e.written = []string{"a_test.go"}
		e.runTests = func(ralph.ViewInput, string) (ralph.TestRun, error) {
			return ralph.TestRun{}, fmt.Errorf("run tests: %w: disk full", ralph.ErrIO)
		}
		result := w.ends(ralph.IOFailed, 1)
		same(t, "refusals", 0, len(result.Iterations[0].Refusals))
	})
}

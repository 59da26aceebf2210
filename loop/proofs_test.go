package loop

import (
	"fmt"
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

// changedTests has Compare find a test that was changed and is not protected.
func changedTests(ralph.TreeState, ralph.TreeState) (ralph.Tampering, error) {
	return ralph.Tampering{Known: true, Tests: []string{"a_test.go"}}, nil
}

// oldTests says how checks end with the tests of the base.
func oldTests(old ralph.CheckResult) func(ralph.ViewInput, string) ralph.CheckResult {
	return func(in ralph.ViewInput, _ string) ralph.CheckResult {
		if in.Kind == ralph.ViewOldTests {
			return old
		}
		return greenIf(in.Now.Hash != "0")
	}
}

func TestChangedTestsAreWeighed(t *testing.T) {
	const failing = "original tests fail, edited ones pass: a_test.go"
	for _, tt := range []struct {
		name   string
		rule   ralph.TestRule
		old    ralph.CheckResult
		ends   ralph.StopReason
		gate   ralph.Gate
		proved []string
	}{
		{
			"old ones pass", ralph.TestsRefuse, isGreen, ralph.AllChecksPassed,
			ralph.Gate{State: ralph.GateOpen, Detail: "tests were changed, and the original ones pass as well: a_test.go"},
			[]string{"old_tests: go test"},
		},
		{"warn", ralph.TestsWarn, isRed, ralph.AllChecksPassed, warned(failing), []string{"claimed: go test"}},
		{"a log of before", "", isRed, ralph.AllChecksPassed, warned(failing), []string{"claimed: go test"}},
		{
			"evaluate", ralph.TestsEvaluate, isRed, ralph.AllChecksPassed, notedGate(failing + "; the evaluator will see this"),
			[]string{"claimed: go test"},
		},
		{
			"refuse", ralph.TestsRefuse, isRed, ralph.MaxIterations, refused(ralph.RefusedTestsChanged, failing),
			[]string{"claimed: go test"},
		},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			w, e, k := examined(t)
			w.policy.MaxIterations, w.policy.TestChange = 1, tt.rule
			w.agent.turns = []turn{done().then(k.becomes("1"))}
			e.compare, e.check = changedTests, oldTests(tt.old)
			w.ends(tt.ends, 1)
			old := tt.old
			old.Name, old.Tree, old.Isolation = "go test", "c0+1", ralph.IsolationOverlay
			same(
				t,
				"weighed",
				[]ralph.BaseTestsRun{{Files: []string{"a_test.go"}, Old: []ralph.CheckResult{old}, OldPassed: tt.old.Passed}},
				payloads[ralph.BaseTestsRun](w.log),
			)
			tt.gate.Name = "nothing protected was changed"
			same(t, "the gate", tt.gate, w.loop.State().Verdict.Gates[5])
			same(t, "proven", tt.proved, e.proved)
		})
	}
	const aware = "a.go: if testing.Testing() {"
	for rule, gate := range map[ralph.TestRule]ralph.Gate{
		ralph.TestsWarn: warned("product code checks whether it is being tested: " + aware),
		ralph.TestsEvaluate: notedGate("product code checks whether it is being tested: " + aware +
			"; the evaluator will see this"),
		ralph.TestsRefuse: refused(ralph.RefusedTestAware, "product code checks whether it is being tested: "+aware),
	} {
		bubble(t, "the product knows of tests: "+string(rule), func(t *testing.T) {
			w, e, k := examined(t)
			w.policy.MaxIterations, w.policy.TestChange = 1, rule
			w.agent.turns = []turn{done().then(k.becomes("1"))}
			e.compare = func(ralph.TreeState, ralph.TreeState) (ralph.Tampering, error) {
				return ralph.Tampering{Known: true, TestAware: []string{aware}}, nil
			}
			ends := ralph.AllChecksPassed
			if rule == ralph.TestsRefuse {
				ends = ralph.MaxIterations
			}
			w.ends(ends, 1)
			same(
				t,
				"weighed",
				[]ralph.BaseTestsRun{{Files: []string{}, Aware: []string{aware}, Old: []ralph.CheckResult{}, OldPassed: true}},
				payloads[ralph.BaseTestsRun](w.log),
			)
			gate.Name = "nothing protected was changed"
			same(t, "the gate", gate, w.loop.State().Verdict.Gates[5])
			same(t, "proven", []string{"claimed: go test"}, e.proved)
		})
	}
	for name, play := range map[string]turn{"without a claim": nothing(), "red in any case": done()} {
		bubble(t, name, func(t *testing.T) {
			w, e, k := examined(t)
			w.policy.MaxIterations = 1
			w.agent.turns = []turn{play.then(k.becomes("1"))}
			e.compare, e.check = changedTests, func(ralph.ViewInput, string) ralph.CheckResult { return isRed }
			w.ends(ralph.MaxIterations, 1)
			same(t, "weighed", nil, payloads[ralph.BaseTestsRun](w.log))
		})
	}
	bubble(t, "of a claim beside a red one", func(t *testing.T) {
		w, e, k := examined(t)
		w.cfg.Task, w.cfg.Hidden, w.policy.MaxIterations, w.policy.TestChange = "", []string{"secret"}, 1, ralph.TestsRefuse
		w.agent.turns = []turn{tagging("A", "B").then(k.becomes("1"))}
		w.options = append(w.options, WithTasks(newMemoryTasks(entry("A", "own A"), entry("B", "own B"))))
		e.compare = changedTests
		e.check = func(in ralph.ViewInput, name string) ralph.CheckResult {
			return greenIf(in.Now.Hash != "0" && name != "own B" && in.Kind != ralph.ViewOldTests)
		}
		w.ends(ralph.MaxIterations, 1)
		same(
			t,
			"ran after the baseline",
			[]string{
				"claimed: go test", "claimed: own A", "claimed: own B", "hidden: hidden check 1", "old_tests: go test",
				"old_tests: own A",
			},
			e.ranSince(5),
		)
		same(t, "refusals", []ralph.TaskRefusal{
			{Task: "A", Code: ralph.RefusedTestsChanged, Detail: "original tests fail, edited ones pass: a_test.go"},
			{Task: "B", Code: ralph.RefusedCheckFailed, Detail: "own B (exit 1) failed"},
		}, payloads[ralph.ClaimRefused](w.log)[0].Tasks)
		same(t, "proven", nil, e.proved)
	})
}

func TestProofs(t *testing.T) {
	for _, tt := range []struct {
		name  string
		proof ralph.Proof
		gate  ralph.Gate
		by    []string
	}{
		{
			"red", ralph.Proof{Canary: ralph.CanaryRed},
			openGate("a deliberately failing test made every check fail, and no test of the base is missing"),
			[]string{ralph.VerifiedChecks},
		},
		{
			"inert", ralph.Proof{Canary: ralph.CanaryGreen, Detail: "TestCanary did not run", Lost: 3},
			refused(ralph.RefusedCheckInert, "go test: TestCanary did not run"), nil,
		},
		{"missing", ralph.Proof{Canary: ralph.CanaryRed, Lost: 7, Missing: []string{"1", "2", "3", "4", "5", "6"}},
			refused(
				ralph.RefusedTestsMissing,
				"go test: 7 tests that ran at the base did not run: 1, 2, 3, 4, 5 and 1 more; restore them",
			), nil},
		{
			"missing, without names", ralph.Proof{Canary: ralph.CanaryRed, Lost: 1, Detail: "8 tests ran, 9 at the base"},
			refused(ralph.RefusedTestsMissing, "go test: 8 tests ran, 9 at the base"), nil,
		},
		{
			"mute", ralph.Proof{Canary: ralph.CanaryMute, Detail: "A planted test did nothing."},
			notedGate("unknown whether a check can fail: go test: A planted test did nothing."), // as the screen says it
			[]string{ralph.VerifiedUnchanged},
		},
		{
			"none", ralph.Proof{Canary: ralph.CanaryNone},
			notedGate("unknown whether a check can fail: go test: no failing test could be planted"),
			[]string{ralph.VerifiedChecks},
		},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			w, e, k := examined(t)
			w.policy.MaxIterations = 1
			w.agent.turns = []turn{done().then(k.becomes("1"))}
			e.prove = func(ralph.ViewInput, string) (ralph.Proof, error) { return tt.proof, nil }
			ends := ralph.AllChecksPassed
			if tt.gate.State == ralph.GateShut {
				ends = ralph.MaxIterations
			}
			result := w.ends(ends, 1)
			tt.gate.Name = "a check can still fail"
			same(t, "the gate", tt.gate, w.loop.State().Verdict.Gates[4])
			if tt.by != nil {
				same(t, "verified by", tt.by, result.VerifiedBy)
			}
			tt.proof.Name = "go test"
			same(t, "the result's proof", &tt.proof, result.Iterations[0].CheckResults[0].Proof)
		})
	}
	bubble(t, "checks.canary off", func(t *testing.T) {
		w, e, k := examined(t)
		w.policy.Canary = false
		w.agent.turns = []turn{done().then(k.becomes("1"))}
		w.ends(ralph.AllChecksPassed, 1)
		same(t, "proven", nil, e.proved)
		same(
			t,
			"the gate",
			ralph.Gate{Name: "a check can still fail", State: ralph.GateNoted, Detail: "checks.canary is off"},
			w.loop.State().Verdict.Gates[4],
		)
	})
	bubble(t, "what cannot be tried is not proven", func(t *testing.T) {
		w, e, k := examined(t)
		w.agent.turns, w.policy.MaxIterations = []turn{done().then(k.becomes("1"))}, 1
		e.prove = func(ralph.ViewInput, string) (ralph.Proof, error) { return ralph.Proof{}, errLost }
		w.ends(ralph.MaxIterations, 1)
		detail := "go test: cannot test whether it can fail: the copy is gone; checks.canary: off skips this test"
		same(
			t,
			"the gate",
			ralph.Gate{Name: "a check can still fail", State: ralph.GateShut, Refusal: ralph.RefusedCheckInert, Detail: detail},
			w.loop.State().Verdict.Gates[4],
		)
	})
	bubble(t, "what a session disturbs is not proven", func(t *testing.T) {
		w, e, k := examined(t)
		w.agent.turns, w.policy.MaxIterations = []turn{done().then(k.becomes("1"))}, 1
		e.prove = func(ralph.ViewInput, string) (ralph.Proof, error) {
			return ralph.Proof{}, fmt.Errorf("%w: date (process 7)", ralph.ErrDisturbed)
		}
		w.ends(ralph.MaxIterations, 1)
		same(t, "the gate", "go test: cannot test whether it can fail: the session started processes while checks ran: "+
			"date (process 7). Start nothing while Ralph checks, and stop again.", w.loop.State().Verdict.Gates[4].Detail)
	})
	bubble(t, "only a claim that would end the run", func(t *testing.T) {
		w, e, k := examined(t)
		w.cfg.Task = ""
		w.agent.turns = []turn{
			nothing().then(k.becomes("1")), tagging("A").then(k.becomes("2")), tagging("B").then(k.becomes("3")),
		}
		w.options = append(w.options, WithTasks(newMemoryTasks(entry("A", "own A"), entry("B"))))
		at := map[string][]string{}
		e.prove = func(in ralph.ViewInput, name string) (ralph.Proof, error) {
			at[in.Now.Hash] = append(at[in.Now.Hash], name)
			return ralph.Proof{Canary: ralph.CanaryRed}, nil
		}
		w.ends(ralph.TasksDone, 3)
		same(t, "proven, by tree", map[string][]string{"3": {"go test", "own A"}}, at)
	})
	bubble(t, "an own check and the run's of one name", func(t *testing.T) {
		w, e, k := examined(t)
		w.cfg.Task = ""
		w.agent.turns = []turn{says(promise.Report{Complete: true, CompleteTag: "DONE"}).then(k.becomes("1"))}
		w.options = append(w.options, WithTasks(newMemoryTasks(entry("A", "go test"))))
		call := 0
		e.prove = func(ralph.ViewInput, string) (ralph.Proof, error) {
			call++
			return ralph.Proof{Canary: ralph.CanaryRed, Tests: call}, nil
		}
		result := w.ends(ralph.TasksDone, 1)
		var tests []int
		for _, c := range result.Iterations[0].CheckResults {
			tests = append(tests, c.Proof.Tests)
		}
		same(t, "each has its own", []int{1, 2}, tests)
	})
}

package loop

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
)

func TestChecksRunInViews(t *testing.T) {
	bubble(t, "attribution, isolation, tree", func(t *testing.T) {
		w, e, k := examined(t)
		w.cfg.Checks = []string{"fixed", "regressed", "clean", "broken"}
		w.agent.turns, w.policy.MaxIterations = []turn{nothing().then(k.becomes("1"))}, 1
		e.why = "because"
		e.check = func(in ralph.ViewInput, name string) ralph.CheckResult {
			return greenIf(name == "clean" || name == "fixed" && in.Now.Hash == "1" || name == "regressed" && in.Now.Hash == "0")
		}
		result := w.ends(ralph.MaxIterations, 1)
		check := func(name string, r ralph.CheckResult, means ralph.Attribution) ralph.CheckResult {
			r.Name, r.Isolation, r.Tree, r.Attribution = name, ralph.IsolationOverlay, "c0+1", means
			return r
		}
		same(t, "checks", []ralph.CheckResult{
			check("fixed", isGreen, ralph.CheckFixed), check("regressed", isRed, ralph.CheckRegressed),
			check("clean", isGreen, ralph.CheckClean), check("broken", isRed, ralph.CheckWasBroken),
		}, result.Iterations[0].CheckResults)
		same(
			t,
			"told once",
			[]string{"checks run in an overlay; what they write in the workspace is discarded: because"},
			warningsOf(w.log, "isolation"),
		)
	})
	bubble(t, "a view that cannot be removed is told", func(t *testing.T) {
		w, e, k := examined(t)
		w.agent.turns = []turn{done().then(k.becomes("1"))}
		e.leftErr = errors.New("busy")
		e.check = func(ralph.ViewInput, string) ralph.CheckResult { return isGreen }
		w.ends(ralph.AllChecksPassed, 1)
		same(t, "warning", "cannot remove the files of a view: busy", warningsOf(w.log, "view_left")[0])
	})
	bubble(t, "a check for which there is no view cannot run", func(t *testing.T) {
		w, e, _ := examined(t, done())
		e.openErr = errors.New("no space")
		w.ends(ralph.CheckBroken, 0)
	})
}

func TestIsolationDoesNotMakeAGreenCheckRed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		narrow bool
		green  []ralph.Access
		steps  []string
		notice []string
		used   string
	}{
		{
			"green in a view", true, []ralph.Access{ralph.AccessIsolated, ralph.AccessWorkspacePath, ralph.AccessCopy},
			[]string{"claimed: go test"}, nil, "claimed: go test",
		},
		{"red everywhere", false, nil, []string{"claimed: go test", "claimed/copy: go test"}, nil, "claimed: go test"},
		{
			"red everywhere, with the workspace in PATH", true, nil,
			[]string{"claimed: go test", "claimed/path: go test", "claimed/copy: go test"}, nil, "claimed: go test",
		},
		{
			"with the workspace in PATH",
			true,
			[]ralph.Access{ralph.AccessWorkspacePath, ralph.AccessCopy},
			[]string{"claimed: go test", "claimed/path: go test"},
			[]string{`"go test" needs programs from a workspace folder on PATH; an agent can change them`},
			"claimed/path: go test",
		},
		{
			"only in a copy", true, []ralph.Access{ralph.AccessCopy},
			[]string{"claimed: go test", "claimed/path: go test", "claimed/copy: go test"},
			[]string{`"go test" does not work in an overlay, so it runs in a copy`},
			"claimed/copy: go test",
		},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			w, e, k := examined(t)
			w.agent.turns, w.policy.MaxIterations = []turn{nothing().then(k.becomes("1"))}, 1
			e.check = func(in ralph.ViewInput, _ string) ralph.CheckResult {
				return greenIf(slices.Contains(tt.green, in.Access))
			}
			e.stripsPath = tt.narrow
			w.ends(ralph.MaxIterations, 1)
			same(t, "the ladder, and what is used later", append(tt.steps, tt.used), e.ran)
			same(t, "notices", tt.notice, warningsOf(w.log, "check_isolation"))
			before := len(e.ran)
			again := w.reExamined(e, k, nothing().then(k.becomes("2")))
			again.policy.MaxIterations = 2
			again.ends(ralph.MaxIterations, 1)
			same(t, "after a resume", []string{tt.used}, e.ranSince(before))
		})
	}
	bubble(t, "red with and without the workspace in PATH, for another reason", func(t *testing.T) {
		w, e, k := examined(t)
		w.agent.turns, w.policy.MaxIterations = []turn{done().then(k.becomes("1"))}, 1
		e.stripsPath = true
		e.check = func(in ralph.ViewInput, _ string) ralph.CheckResult {
			if in.Access == ralph.AccessIsolated {
				return ralph.CheckResult{ExitCode: 1, Output: "no module named pytest"}
			}
			return greenIf(in.Now.Hash == "1")
		}
		w.ends(ralph.AllChecksPassed, 1)
		same(
			t,
			"the ladder, and what is used later",
			[]string{"claimed: go test", "claimed/path: go test", "claimed/copy: go test", "claimed/path: go test"},
			e.ran,
		)
	})
	bubble(t, "what a check writes in place before any agent worked is nobody's work", func(t *testing.T) {
		w, e, k := examined(t)
		w.agent.turns, w.policy.MaxIterations = []turn{nothing()}, 1
		e.mode = ralph.IsolationInPlace
		e.check = func(ralph.ViewInput, string) ralph.CheckResult {
			k.files = "built"
			return isGreen
		}
		w.ends(ralph.MaxIterations, 1)
		same(t, "compared", []string{"built built"}, e.compared)
		same(t, "ran once at the baseline, once after the agent", 2, len(e.ran))
	})
}

// outcomes gives results of one check by the number of its run, in every view.
func outcomes(results ...ralph.CheckResult) func(ralph.ViewInput, string) ralph.CheckResult {
	runs := 0
	return func(ralph.ViewInput, string) ralph.CheckResult {
		runs++
		return results[min(runs, len(results))-1]
	}
}

func TestFlakes(t *testing.T) {
	for _, tt := range []struct {
		name    string
		results []ralph.CheckResult // baseline, iteration 1, then iteration 2 on the same tree
		files   string              // after iteration 2
		want    ralph.CheckResult   // of iteration 2
		ends    ralph.StopReason
		runs    int
	}{
		{
			"red after green on one tree is run again, and confirmed at the end",
			[]ralph.CheckResult{isRed, isRed, isGreen, isRed, isGreen, isGreen}, "1",
			ralph.CheckResult{Passed: true, Flaked: true, Attempts: 3}, ralph.AllChecksPassed, 6,
		},
		{"not confirmed", []ralph.CheckResult{isRed, isRed, isGreen, isRed, isGreen, isRed}, "1",
			ralph.CheckResult{ExitCode: 1, Output: "FAIL", Flaked: true, Attempts: 3}, ralph.MaxIterations, 6},
		{"red as often as it may be run", []ralph.CheckResult{isRed, isRed, isGreen, isRed, isRed, isRed, isGreen}, "1",
			ralph.CheckResult{ExitCode: 1, Output: "FAIL", Attempts: 3}, ralph.MaxIterations, 6},
		{
			"on a new tree red is red", []ralph.CheckResult{isRed, isRed, isGreen, isRed, isGreen}, "2", isRed,
			ralph.MaxIterations, 4,
		},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			w, e, k := examined(t)
			w.agent.turns, w.policy.MaxIterations = []turn{nothing().then(k.becomes("1")), done().then(k.becomes(tt.files))}, 2
			e.check = outcomes(tt.results...)
			result := w.ends(tt.ends, 2)
			tt.want.Name, tt.want.Isolation, tt.want.Tree = "go test", ralph.IsolationOverlay, "c0+"+tt.files
			tt.want.Attribution = map[bool]ralph.Attribution{true: ralph.CheckFixed, false: ralph.CheckWasBroken}[tt.want.Passed]
			if tt.want.Passed {
				tt.want.Proof = &ralph.Proof{Name: "go test", Canary: ralph.CanaryRed, Tests: 3}
			}
			same(t, "the check of iteration 2", []ralph.CheckResult{tt.want}, result.Iterations[1].CheckResults)
			same(t, "runs", tt.runs, len(e.ran))
		})
	}
	bubble(t, "a flake of an earlier tree is confirmed, too", func(t *testing.T) {
		w, e, k := examined(t)
		w.agent.turns = []turn{nothing(), done().then(k.becomes("2"))}
		e.check = outcomes(isGreen, isRed, isGreen) // the baseline, and the first iteration on the same tree
		w.ends(ralph.AllChecksPassed, 2)
		same(t, "runs: the baseline, two of iteration 1, one and another of iteration 2", 5, len(e.ran))
	})
	bubble(t, "a hidden flake is confirmed with the hidden files", func(t *testing.T) {
		w, e, k := examined(t)
		w.cfg.Hidden = []string{"secret"}
		w.agent.turns = []turn{done()}
		k.files = "1"
		hidden := outcomes(isGreen, isRed, isGreen, isGreen)
		e.check = func(in ralph.ViewInput, name string) ralph.CheckResult {
			if in.Kind == ralph.ViewHidden {
				return hidden(in, name)
			}
			return isGreen
		}
		w.ends(ralph.AllChecksPassed, 1)
		same(
			t,
			"ran after the baseline",
			[]string{"claimed: go test", "hidden: hidden check 1", "hidden: hidden check 1", "hidden: hidden check 1"},
			e.ranSince(2),
		)
	})
}

func TestNothingIsToldOfHiddenChecks(t *testing.T) {
	bubble(t, "of the run", func(t *testing.T) {
		w, e, k := examined(t)
		w.cfg.Hidden = []string{"run-the-secret", "another-secret"}
		w.agent.turns = []turn{nothing().then(k.becomes("1")), done().then(k.becomes("2")), done().then(k.becomes("3"))}
		e.check = func(in ralph.ViewInput, _ string) ralph.CheckResult {
			if in.Kind == ralph.ViewHidden && in.Now.Hash != "3" {
				return ralph.CheckResult{ExitCode: 77, TimedOut: in.Now.Hash == "2", Output: "SECRET OUTPUT"}
			}
			return greenIf(in.Now.Hash != "0")
		}
		facts := committing(w, &committer{}, ralph.CommitIteration)
		result := w.ends(ralph.AllChecksPassed, 3)
		same(t, "ran", []string{
			"claimed: go test", "claimed/copy: go test", "hidden: hidden check 1", "hidden: hidden check 2", // baseline
			"claimed: go test", // no claim
			"claimed: go test", "hidden: hidden check 1", "hidden: hidden check 2", "claimed: go test", "hidden: hidden check 1",
			"hidden: hidden check 2",
		}, e.ran)
		same(
			t,
			"refusals",
			[]ralph.ClaimRefused{{Refusals: []ralph.Refusal{{Code: ralph.RefusedCheckFailed, Detail: "a hidden check failed"}}}},
			payloads[ralph.ClaimRefused](w.log),
		)
		same(t, "what the log keeps", ralph.CheckResult{
			Name: "hidden check 1", ExitCode: 77, TimedOut: true, Hidden: true, Isolation: ralph.IsolationOverlay, Tree: "c0+2",
			Attribution: ralph.CheckWasBroken,
		}, result.Iterations[1].CheckResults[1])
		said := []string{fold.ProgressEntry(result.Iterations[1])}
		for _, in := range w.agent.inputs {
			said = append(said, in.Prompt)
		}
		for _, f := range *facts {
			text, err := json.Marshal(f.Checks)
			if err != nil {
				t.Fatal(err)
			}
			said = append(said, string(text))
		}
		mustNotTell(t, said)
		if prompt := w.agent.inputs[2].Prompt; !strings.Contains(prompt, "A check that you cannot see failed") {
			t.Errorf("the third agent is not told that a hidden check failed:\n%s", prompt)
		}
	})
	bubble(t, "of a task", func(t *testing.T) {
		w, e, k := examined(t)
		w.cfg.Task, w.cfg.Hidden = "", []string{"run-the-secret", "another-secret"}
		w.agent.turns = []turn{tagging("A").then(k.becomes("1")), tagging("A").then(k.becomes("2"))}
		w.options = append(w.options, WithTasks(newMemoryTasks(entry("A"))))
		e.check = func(in ralph.ViewInput, _ string) ralph.CheckResult {
			return ralph.CheckResult{
				Passed: in.Now.Hash == "2" || in.Kind != ralph.ViewHidden,
				Broken: in.Now.Hash == "1" && in.Kind == ralph.ViewHidden, ExitCode: 77, Output: "SECRET OUTPUT",
			}
		}
		w.ends(ralph.TasksDone, 2)
		same(
			t,
			"refusals",
			[]ralph.ClaimRefused{{Tasks: refusal("A", ralph.RefusedCheckBroken, "a hidden check cannot run")}},
			payloads[ralph.ClaimRefused](w.log),
		)
		mustNotTell(t, []string{w.agent.inputs[1].Prompt})
	})
	bubble(t, "a red visible check comes first", func(t *testing.T) {
		w, e, k := examined(t)
		w.cfg.Hidden = []string{"run-the-secret"}
		w.policy.MaxIterations = 1
		w.agent.turns = []turn{done().then(k.becomes("1"))}
		e.check = func(in ralph.ViewInput, _ string) ralph.CheckResult { return greenIf(in.Kind == ralph.ViewHidden) }
		w.ends(ralph.MaxIterations, 1)
		same(t, "ran after the baseline", []string{"claimed: go test"}, e.ranSince(3))
	})
	bubble(t, "only hidden checks prove a run", func(t *testing.T) {
		w, _, k := examined(t)
		w.cfg.Checks, w.cfg.Hidden = nil, []string{"run-the-secret"}
		w.agent.turns = []turn{done().then(k.becomes("1"))}
		result := w.ends(ralph.AllChecksPassed, 1)
		same(t, "verified by", []string{ralph.VerifiedChecks}, result.VerifiedBy)
	})
}

func mustNotTell(t *testing.T, texts []string) {
	t.Helper()
	for _, text := range texts {
		for _, secret := range []string{"secret", "SECRET", "77", "hidden check 1", "timed out"} {
			if strings.Contains(text, secret) {
				t.Errorf("%q is told of a hidden check in:\n%s", secret, text)
			}
		}
	}
}

// If files change while checks run, the checks run once more. If files change again, the evidence is
// about another tree.
func TestEvidenceThatGrewStale(t *testing.T) {
	next := map[string]string{"1": "2", "2": "3", "3": "4"}
	for _, tt := range []struct {
		name string
		mode string
		last string // the tree after which nothing changes any more
		want [][]string
	}{
		{"the user changed files once", ralph.IsolationOverlay, "2", [][]string{{}}},
		{"the user changed files twice", ralph.IsolationOverlay, "3", [][]string{{ralph.RefusedStale}, {}}},
		{"a check in place wrote a file", ralph.IsolationInPlace, "2", [][]string{{}}},
		{"a check in place wrote something else", ralph.IsolationInPlace, "3", [][]string{{ralph.RefusedStale}, {}}},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			w, e, k := examined(t)
			w.agent.turns = []turn{done().then(k.becomes("1")), done()}
			e.mode = tt.mode
			e.check = func(in ralph.ViewInput, _ string) ralph.CheckResult {
				if to := next[in.Now.Hash]; to != "" && to <= tt.last && k.files == in.Now.Hash {
					k.files = to
				}
				return greenIf(in.Now.Hash != "0")
			}
			same(t, "refusals", tt.want, refusedIn(w.ends(ralph.AllChecksPassed, len(tt.want))))
			same(t, "checks ran again", []string{"a changed while checks ran, so the checks run once more"},
				warningsOf(w.log, "files_moved"))
		})
	}
	bubble(t, "of a task", func(t *testing.T) {
		w, e, k := examined(t)
		w.cfg.Task = ""
		w.agent.turns = []turn{tagging("A").then(k.becomes("1")), tagging("A")}
		w.options = append(w.options, WithTasks(newMemoryTasks(entry("A"))))
		e.check = func(in ralph.ViewInput, _ string) ralph.CheckResult {
			if to := next[in.Now.Hash]; to != "" && to <= "3" {
				k.files = to
			}
			return greenIf(in.Now.Hash != "0")
		}
		w.ends(ralph.TasksDone, 2)
		const detail = "these files changed while checks ran, or since: a; if you edit them, wait until the checks have " +
			"run; if a program writes them, end it or add them to .gitignore"
		same(t, "refusals", refusal("A", ralph.RefusedStale, detail), payloads[ralph.ClaimRefused](w.log)[0].Tasks)
	})
}

func TestAWaitForAnEvaluatorKeepsTheJudgedTree(t *testing.T) {
	limited := ralph.Evaluation{End: ralph.EndLimit, Tries: 1, Error: "limit", RetryAfter: ralph.Span(time.Minute)}
	bubble(t, "and the lines that look unfinished", func(t *testing.T) {
		w, _, k := examined(t)
		w.policy.Unfinished, w.policy.MaxIterations = ralph.UnfinishedWarn, 1
		k.unfinished = []string{"a.go: TODO"}
		w.agent.turns = []turn{done().then(k.becomes("1"))}
		w.judgedBy(limited, accepts())
		w.ends(ralph.AllChecksPassed, 1)
		same(t, "warning", []string{"added lines look unfinished: a.go: TODO"}, warningsOf(w.log, "gate_warned"))
	})
	bubble(t, "and what changed meanwhile is no evidence", func(t *testing.T) {
		w, _, k := examined(t)
		w.policy.MaxIterations = 1
		w.agent.turns = []turn{done().then(k.becomes("1"))}
		f := w.judgedBy(limited, accepts())
		f.before = func(context.Context, ralph.EvaluationInput) { k.files = "2" }
		same(
			t,
			"refusals",
			[][]string{{ralph.RefusedStale, ralph.RefusedEvaluator + ":unavailable"}},
			refusedIn(w.ends(ralph.MaxIterations, 1)),
		)
	})
}

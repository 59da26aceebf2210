package loop

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/judge"
)

// inertAt makes canaries pass on the named trees.
func (e *fakeExaminer) inertAt(trees ...string) {
	e.prove = func(in ralph.ViewInput, _ string) (ralph.Proof, error) {
		if oneOf(in.Now.Hash, trees...) {
			return ralph.Proof{Canary: ralph.CanaryGreen, Detail: "TestCanary did not run"}, nil
		}
		return ralph.Proof{Canary: ralph.CanaryRed}, nil
	}
}

// optional is a task that the run can be complete without.
func optional(id string, checks ...string) ralph.Task {
	t := entry(id, checks...)
	t.Optional = true
	return t
}

func TestARedOptionalTaskDoesNotSpareProofs(t *testing.T) {
	bubble(t, "claimed beside the last one", func(t *testing.T) {
		w, e, k := examined(t)
		w.cfg.Task, w.policy.MaxIterations = "", 1
		w.agent.turns = []turn{tagging("A", "O").then(k.becomes("1"))}
		w.options = append(w.options, WithTasks(newMemoryTasks(entry("A"), optional("O", "own O"))))
		e.check = func(in ralph.ViewInput, name string) ralph.CheckResult {
			return greenIf(in.Now.Hash != "0" && name != "own O")
		}
		e.inertAt("1")
		result := w.ends(ralph.MaxIterations, 1)
		same(t, "proven", []string{"claimed: go test"}, e.proved)
		same(t, "refusals", [][]string{{ralph.RefusedCheckInert, ralph.RefusedCheckFailed}}, refusedIn(result))
	})
	bubble(t, "claimed alone, when all else is done", func(t *testing.T) {
		w, e, k := examined(t)
		w.cfg.Task, w.cfg.Hidden, w.policy.MaxIterations = "", []string{"secret"}, 2
		w.agent.turns = []turn{tagging("A").then(k.becomes("1")), tagging("O").then(k.becomes("2"))}
		w.options = append(w.options, WithTasks(newMemoryTasks(entry("A"), optional("O", "own O"))))
		e.check = func(in ralph.ViewInput, name string) ralph.CheckResult {
			return greenIf(in.Now.Hash != "0" && name != "own O")
		}
		e.inertAt("1", "2")
		result := w.ends(ralph.MaxIterations, 2)
		same(
			t,
			"refusals",
			[][]string{{ralph.RefusedCheckInert}, {ralph.RefusedCheckInert, ralph.RefusedCheckFailed}},
			refusedIn(result),
		)
	})
}

func TestAMendedTaskDoesNotSpareProofs(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		w, e, k := examined(t)
		w.cfg.Task, w.policy.MaxIterations = "", 3
		w.agent.turns = []turn{
			tagging("A").then(k.becomes("1")), tagging("B").then(k.becomes("2")), tagging("B").then(k.becomes("3")),
		}
		w.options = append(w.options, WithTasks(newMemoryTasks(entry("A", "own A"), entry("B"))))
		e.check = func(in ralph.ViewInput, name string) ralph.CheckResult {
			return greenIf(in.Now.Hash != "0" && !(in.Now.Hash == "2" && name == "own A"))
		}
		e.inertAt("3")
		result := w.ends(ralph.MaxIterations, 3)
		same(t, "refusals", [][]string{{}, {ralph.RefusedCheckFailed}, {ralph.RefusedCheckInert}}, refusedIn(result))
	})
}

func TestWhatChecksWriteInPlaceDoesNotJoinTheBase(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		w, e, k := examined(t)
		e.mode = ralph.IsolationInPlace
		w.policy.IterationDelay = ralph.Span(worked) // so that the tree is examined between iterations
		w.agent.turns = []turn{nothing().then(k.becomes("1")), done().then(k.becomes("2"))}
		e.check = func(in ralph.ViewInput, _ string) ralph.CheckResult {
			result := greenIf(in.Now.Hash != "0")
			if !strings.HasSuffix(k.files, "+check") {
				k.files += "+check" // its code is the agent's
			}
			return result
		}
		w.ends(ralph.AllChecksPassed, 2)
		same(t, "joined", nil, k.joined)
		same(t, "compared", []string{"0+check 1", "0+check 2", "0+check 2+check"}, e.compared)
	})
}

func TestOnlyTheBaselineOffersAWeakerWay(t *testing.T) {
	bubble(t, "an agent may have made it green", func(t *testing.T) {
		w, e, k := examined(t)
		w.cfg.Task, w.policy.MaxIterations = "", 2
		w.agent.turns = []turn{tagging("A").then(k.becomes("1")), tagging("B").then(k.becomes("2"))}
		w.options = append(w.options, WithTasks(newMemoryTasks(entry("A"), entry("B", "own B"))))
		e.check = func(in ralph.ViewInput, name string) ralph.CheckResult {
			return greenIf(in.Now.Hash != "0" && (name != "own B" || in.Access == ralph.AccessCopy))
		}
		w.ends(ralph.MaxIterations, 2)
		same(
			t,
			"ran",
			[]string{
				"claimed: go test", "claimed/copy: go test", "claimed: go test", "claimed: own B", "claimed: go test",
				"claimed: own B",
			},
			e.ran,
		)
	})
	bubble(t, "this project needs it", func(t *testing.T) {
		w, e, k := examined(t)
		w.cfg.Task = ""
		w.agent.turns = []turn{tagging("A").then(k.becomes("1")), tagging("B").then(k.becomes("2"))}
		w.options = append(w.options, WithTasks(newMemoryTasks(entry("A", "own A"), entry("B", "own B"))))
		e.check = func(in ralph.ViewInput, name string) ralph.CheckResult {
			return greenIf(name == "go test" || in.Access == ralph.AccessCopy)
		}
		w.ends(ralph.TasksDone, 2)
	})
}

func TestAnEvaluatorThatTakesItsTimeSeesAnotherTree(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		w, _, k := examined(t)
		w.policy.MaxIterations = 1
		w.agent.turns = []turn{done().then(k.becomes("1"))}
		judge := w.judgedBy(accepts())
		judge.before = func(ctx context.Context, in ralph.EvaluationInput) { k.files = "swapped" }
		result := w.ends(ralph.MaxIterations, 1)
		same(t, "refusals", [][]string{{ralph.RefusedStale}}, refusedIn(result))
		same(t, "verified by", []string{}, result.VerifiedBy)
	})
	bubble(t, "so that its word does not stand when the files are back", func(t *testing.T) {
		w, _, k := examined(t)
		w.policy.MaxIterations = 3
		w.agent.turns = []turn{done().then(k.becomes("1"))}
		judge := w.judgedBy(accepts(), rejects(ralph.RejectedGap, "gap"))
		judge.before = func(context.Context, ralph.EvaluationInput) {
			if len(judge.inputs) == 1 {
				k.files = "swapped"
			}
		}
		result := w.ends(ralph.MaxIterations, 3)
		same(
			t,
			"refusals",
			[][]string{{ralph.RefusedStale}, {"evaluator_rejected:acceptance_gap"}, {"evaluator_rejected:acceptance_gap"}},
			refusedIn(result),
		)
		same(t, "asked", 2, len(judge.inputs))
		w.mustFoldTheSame()
	})
	bubble(t, "and neither does a no, which counts all the same", func(t *testing.T) {
		w, _, k := examined(t)
		w.agent.turns = []turn{done().then(k.becomes("1"))}
		judge := w.judgedBy(rejects(ralph.RejectedGap, "gap"))
		judge.before = func(context.Context, ralph.EvaluationInput) { k.files = "swapped" }
		w.ends(ralph.EvaluatorCap, 3)
		same(t, "asked", 3, len(judge.inputs))
	})
	bubble(t, "nor when the run was cut before anybody looked", func(t *testing.T) {
		w, e, k := examined(t)
		w.cfg.Task = ""
		book := newMemoryTasks(entry("A"), entry("B"))
		w.options = append(w.options, WithTasks(book))
		w.agent.turns = []turn{tagging("A", "B").then(k.becomes("1"))}
		ctx, kill := context.WithCancelCause(t.Context())
		judge := w.judgedBy(accepts())
		judge.before = func(context.Context, ralph.EvaluationInput) {
			k.files = "swapped"
			if len(judge.inputs) == 2 {
				k.files = "1"
				kill(ralph.Killed{Signal: ralph.SignalTerminate})
			}
		}
		w.ended(w.run(ctx), ralph.Interrupted, 1)
		again := w.reExamined(e, k, nothing())
		again.options = append(again.options, WithTasks(book))
		asked := again.judgedBy(accepts())
		again.ends(ralph.TasksDone, 0)
		same(t, "asked", []string{"A", "B"}, asked.asked())
	})
	bubble(t, "also if it swaps them while another is asked about", func(t *testing.T) {
		w, _, k := examined(t)
		w.cfg.Task, w.policy.MaxIterations = "", 2
		w.options = append(w.options, WithTasks(newMemoryTasks(entry("A"), entry("B"))))
		w.agent.turns = []turn{tagging("A", "B").then(k.becomes("1"))}
		judge := w.judgedBy(accepts(), accepts(), rejects(ralph.RejectedGap, "gap"))
		judge.before = func(context.Context, ralph.EvaluationInput) {
			if len(judge.inputs) == 2 {
				k.files = "swapped"
			}
		}
		w.ends(ralph.MaxIterations, 2)
		same(t, "asked", []string{"A", "B", "A", "B"}, judge.asked())
	})
}

func TestLearningsThatTheAgentWroteItself(t *testing.T) {
	for name, tt := range map[string]struct {
		found ralph.Tampering
		want  string
	}{
		"changed": {
			ralph.Tampering{Known: true, Tampered: []ralph.FileChange{{Name: ralph.LearningsFile, Kind: ralph.FileChanged}}},
			ralph.LearningsFile + " at 0",
		},
		"added": {ralph.Tampering{Known: true, Unseen: []string{ralph.LearningsFile}}, ""},
		"left":  {ralph.Tampering{Known: true}, "- claim at once\n"},
	} {
		bubble(t, name, func(t *testing.T) {
			w, e, k := examined(t)
			w.cfg.Dir, w.policy.MaxIterations = t.TempDir(), 2
			file := filepath.Join(w.cfg.Dir, ralph.LearningsFile)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			w.agent.turns = []turn{nothing().then(func() {
				k.files = "1"
				if err := os.WriteFile(file, []byte("- claim at once\n"), 0o644); err != nil {
					t.Error(err)
				}
			})}
			e.compare = func(ralph.TreeState, ralph.TreeState) (ralph.Tampering, error) { return tt.found, nil }
			inputs := w.prompted()
			w.ends(ralph.MaxIterations, 2)
			same(t, "learnings", tt.want, (*inputs)[1].Learnings)
		})
	}
}

func TestProgressTellsOfHiddenChecksOnlyThatOneFailed(t *testing.T) {
	hidden := func(passed bool) ralph.CheckResult {
		return ralph.CheckResult{Name: "hidden check 1", Hidden: true, Passed: passed, ExitCode: 3}
	}
	green := ralph.CheckResult{Name: "go test", Passed: true}
	const head = "## Iteration 1: FAIL\n- Steps: unknown\n- Cost: unknown\n- Duration: 0s\n"
	for name, tt := range map[string]struct {
		checks []ralph.CheckResult
		want   string
	}{
		"two of three failed": {
			[]ralph.CheckResult{green, hidden(true), hidden(false), hidden(false)},
			head + "- Checks:\n  - go test: PASS\n  - a hidden check: FAIL\n",
		},
		"green":        {[]ralph.CheckResult{green, hidden(true)}, head + "- Checks:\n  - go test: PASS\n"},
		"nothing else": {[]ralph.CheckResult{hidden(true)}, head},
	} {
		t.Run(name, func(t *testing.T) {
			same(t, "entry", tt.want, fold.ProgressEntry(ralph.IterationResult{Iteration: 1, CheckResults: tt.checks}))
		})
	}
}

func TestAGivenUpTaskTellsWhy(t *testing.T) {
	p := ralph.Policy{TaskTries: 3, MaxRejections: 2}
	same(
		t, "tries", "not proven in 3 iterations", judge.WhyGivenUp(p, ralph.TaskVerdict{GivenUp: "A"}, judge.Observation{}),
	)
	same(
		t,
		"rejections",
		"rejected by the evaluator twice; it will be tried again after the others",
		judge.WhyGivenUp(p, ralph.TaskVerdict{GivenUp: "A", Rejected: true, Retried: true}, judge.Observation{}),
	)
}

func TestAHiddenCheckThatCannotRun(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		w, e, _ := examined(t)
		w.cfg.Hidden = []string{"nosuch --secret"}
		e.check = func(in ralph.ViewInput, _ string) ralph.CheckResult {
			if in.Kind == ralph.ViewHidden {
				return isBroken
			}
			return isRed
		}
		result := w.ends(ralph.CheckBroken, 0)
		same(t, "summary", `the check "hidden check 1" cannot run: its output is in the run's folder`, result.Summary)
	})
}

package loop

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ralphloop/ralph"
)

// claiming is an examined world whose agent claims in every iteration, after it changed something.
func claiming(t *testing.T) (*world, *fakeExaminer, *keeper) {
	w, e, k := examined(t)
	n := 0
	w.agent.turns = []turn{done().then(func() { n++; k.files = fmt.Sprint(n) })}
	return w, e, k
}

func TestTheEvaluatorIsAskedLast(t *testing.T) {
	bubble(t, "not beside a shut gate", func(t *testing.T) {
		w, e, _ := claiming(t)
		e.check = func(in ralph.ViewInput, _ string) ralph.CheckResult { return greenIf(in.Now.Hash > "1") }
		e.compare = hurt("2")
		e.prove = func(in ralph.ViewInput, _ string) (ralph.Proof, error) {
			if in.Now.Hash == "3" {
				return ralph.Proof{Canary: ralph.CanaryGreen, Detail: "inert"}, nil
			}
			return ralph.Proof{Canary: ralph.CanaryRed}, nil
		}
		f := w.judgedBy(accepts("a.go:1"))
		result := w.ends(ralph.AllChecksPassed, 4)
		same(
			t,
			"refusals",
			[][]string{{ralph.RefusedCheckFailed}, {ralph.RefusedTampered}, {ralph.RefusedCheckInert}, {}},
			refusedIn(result),
		)
		same(t, "asked", 1, len(f.inputs))
		same(
			t,
			"the gate",
			ralph.Gate{Name: "the evaluator accepts", State: ralph.GateOpen, Detail: "judge accepted it, and points to a.go:1"},
			w.loop.State().Verdict.Gates[8],
		)
		same(t, "verified by", []string{ralph.VerifiedChecks}, result.VerifiedBy)
	})
	bubble(t, "and not without a claim", func(t *testing.T) {
		w, _, k := examined(t)
		w.policy.MaxIterations = 2
		w.agent.turns = []turn{nothing().then(k.becomes("1"))}
		f := w.judgedBy(accepts())
		w.ends(ralph.MaxIterations, 2)
		same(t, "asked", 0, len(f.inputs))
	})
	bubble(t, "what it gets to know", func(t *testing.T) {
		w, e, _ := claiming(t)
		w.cfg.Dir, w.policy.MaxTime = "/home/ada/sums", ralph.Span(10*time.Minute)
		e.compare, e.check = changedTests, oldTests(isRed)
		w.policy.TestChange = ralph.TestsEvaluate
		recorder := &folderLog{memoryLog: w.log, dir: t.TempDir(), fail: func(int) error { return nil }}
		w.options = append(w.options, WithRecorder(recorder))
		first, second := rejects(ralph.RejectedWeakTest, "weak"), rejects(ralph.RejectedWeakTest, "still weak")
		f := w.judgedBy(first, second, accepts())
		w.ends(ralph.AllChecksPassed, 3)
		in := f.inputs[2]
		if in.Live == nil || in.Over == nil || len(in.Checks) != 1 || in.TestChanges == nil || in.Timeout > 10*time.Minute {
			t.Errorf("the evaluator gets %+v", in)
		}
		first.Agent, second.Agent = "judge", "judge"
		first.Tree, second.Tree, first.Terms = "c0+1", "c0+2", criteriaDigest("", "make it green", nil)
		second.Terms = first.Terms
		in.Live, in.Over, in.Checks, in.TestChanges, in.Timeout = nil, nil, nil, nil, 0
		same(t, "trees", [2]string{"0", "3"}, [2]string{in.Base.Snapshot, in.Now.Snapshot})
		in.Base, in.Now = ralph.TreeState{}, ralph.TreeState{}
		same(t, "input", ralph.EvaluationInput{
			Iteration: 3, Goal: "make it green", Diff: "0 -> 3", DiffCut: true, Ledger: []ralph.Evaluation{first, second},
			Recurring: map[ralph.Rejection]int{ralph.RejectedWeakTest: 2},
			Dir:       "/home/ada/sums", Folder: filepath.Join(recorder.dir, "evaluation-01"),
		}, in)
	})
	bubble(t, "without a diff", func(t *testing.T) {
		w, _, k := claiming(t)
		k.diffErr = errLost
		f := w.judgedBy(accepts())
		w.ends(ralph.AllChecksPassed, 1)
		same(
			t,
			"warnings",
			[]string{"the evaluator does not see the diff: the copy is gone"},
			warningsOf(w.log, "diff_unknown"),
		)
		same(t, "asked", 1, len(f.inputs))
	})
	bubble(t, "each task on its own", func(t *testing.T) {
		w, _, k := examined(t)
		w.cfg.Task = ""
		b := newMemoryTasks(
			ralph.Task{ID: "A", Title: "do A", Description: "well", Acceptance: []string{"fast"}, Status: ralph.TaskPending},
			entry("B"),
		)
		w.agent.turns = []turn{tagging("A", "B").then(k.becomes("1")), tagging("B").then(k.becomes("2"))}
		w.options = append(w.options, WithTasks(b))
		f := w.judgedBy(accepts(), rejects(ralph.RejectedHalf, "half"), accepts())
		w.ends(ralph.TasksDone, 2)
		same(t, "asked", []string{"A", "B", "B"}, f.asked())
		same(t, "title, text, criteria", []any{"do A", "do A\n\nwell", []string{"fast"}}, []any{
			f.inputs[0].Title, f.inputs[0].Goal, f.inputs[0].Criteria,
		})
		same(
			t,
			"refusals",
			refusal("B", "evaluator_rejected:half_finished", "half; next: mend it"),
			payloads[ralph.ClaimRefused](w.log)[0].Tasks,
		)
		same(
			t,
			"the gate",
			ralph.Gate{Name: "the evaluator accepts", State: ralph.GateOpen, Detail: "each task was accepted when it was done"},
			w.loop.State().Verdict.Gates[8],
		)
	})
	bubble(t, "a green claim beside a red one", func(t *testing.T) {
		w, e, k := examined(t)
		w.cfg.Task = ""
		w.agent.turns = []turn{tagging("A", "B").then(k.becomes("1")), tagging("B").then(k.becomes("2"))}
		w.options = append(w.options, WithTasks(newMemoryTasks(entry("A"), entry("B", "own B"))))
		e.check = func(in ralph.ViewInput, name string) ralph.CheckResult {
			return greenIf(in.Now.Hash == "2" || in.Now.Hash == "1" && name != "own B")
		}
		f := w.judgedBy(accepts())
		w.ends(ralph.TasksDone, 2)
		same(t, "asked", []string{"A", "B"}, f.asked())
		shown := map[string]bool{}
		for _, c := range f.inputs[0].Checks {
			shown[c.Name] = c.Passed
		}
		same(t, "what is shown for the green one", map[string]bool{"go test": true}, shown)
	})
}

func TestRejections(t *testing.T) {
	bubble(t, "are told to the next agent, and how often a category came up", func(t *testing.T) {
		w, _, _ := claiming(t)
		w.policy.MaxIterations = 7
		f := w.judgedBy(
			rejects(ralph.RejectedWeakTest, "weak"), rejects(ralph.RejectedGap, "gap"), rejects(ralph.RejectedWeakTest, "weak"),
		)
		w.policy.MaxRejections = 0
		inputs := w.prompted()
		result := w.ends(ralph.MaxIterations, 7)
		same(t, "refusals", []string{"evaluator_rejected:weak_test"}, result.Iterations[0].Refusals)
		same(
			t,
			"refusals",
			[]ralph.Refusal{{Code: "evaluator_rejected:acceptance_gap", Detail: "gap; next: mend it"}},
			(*inputs)[2].Last.Refusals,
		)
		same(t, "what the third prompt says", "acceptance_gap gap mend it [a.go:1] 1", rejectionIn((*inputs)[2]))
		same(t, "what the fifth prompt says", "weak_test weak mend it [a.go:1] 3", rejectionIn((*inputs)[4]))
		same(t, "the ledger of the last evaluation", 5, len(f.inputs[6].Ledger))
		same(t, "and its oldest verdict", "gap", f.inputs[6].Ledger[0].Concern)
		same(t, "recurring", map[ralph.Rejection]int{ralph.RejectedWeakTest: 5, ralph.RejectedGap: 1}, f.inputs[6].Recurring)
	})
	bubble(t, "as many as are allowed, of the goal", func(t *testing.T) {
		w, _, _ := claiming(t)
		w.judgedBy(rejects(ralph.RejectedWrong, "wrong"))
		result := w.ends(ralph.EvaluatorCap, 3)
		same(t, "summary", "the evaluator rejected the work 3 times", result.Summary)
		same(t, "exit code", 14, result.ExitCode)
	})
	bubble(t, "a resume counts from zero", func(t *testing.T) {
		w, e, k := claiming(t)
		w.judgedBy(rejects(ralph.RejectedWrong, "wrong"))
		w.ends(ralph.EvaluatorCap, 3)
		again := w.reExamined(e, k, w.agent.turns...)
		again.judgedBy(rejects(ralph.RejectedWrong, "wrong"))
		again.ends(ralph.EvaluatorCap, 3)
	})
	for _, tt := range []struct {
		rule   ralph.TaskRule
		ends   ralph.StopReason
		worked []string
	}{
		{ralph.TaskHalt, ralph.EvaluatorCap, []string{"A", "A"}},
		{ralph.TaskSkip, ralph.TaskTries, []string{"A", "A", "B"}},
		{ralph.TaskRetry, ralph.EvaluatorCap, []string{"A", "A", "B", "A", "A"}},
	} {
		bubble(t, "as many as are allowed, of a task: "+string(tt.rule), func(t *testing.T) {
			w, _, k := examined(t)
			w.cfg.Task, w.policy.OnTaskFailure, w.policy.TaskRetries = "", tt.rule, 1
			b := newMemoryTasks(entry("A"), entry("B"))
			w.agent.turns = []turn{func(ctx context.Context, in ralph.AgentInput) ralph.AgentOutcome {
				k.files += "x"
				return tagging(w.loop.State().History.Task)(ctx, in)
			}}
			w.options = append(w.options, WithTasks(b))
			f := w.judgedBy(accepts())
			w.policy.MaxRejections = 2
			f.before = func(_ context.Context, in ralph.EvaluationInput) {
				f.verdicts = []ralph.Evaluation{accepts()}
				if in.Task == "A" {
					f.verdicts = []ralph.Evaluation{rejects(ralph.RejectedWrong, "wrong")}
				}
			}
			w.ends(tt.ends, len(tt.worked))
			same(t, "worked on", tt.worked, workedOn(w.log))
		})
	}
}

// rejectionIn is what a prompt is told of a rejection.
func rejectionIn(in ralph.PromptInput) string {
	r, times := in.Last.Rejections[0], 0
	for _, known := range in.Ledger {
		if known.Task == r.Task {
			times = known.Counts[r.Category]
		}
	}
	return fmt.Sprint(r.Category, " ", r.Concern, " ", r.NextStep, " ", r.Evidence, " ", times)
}

func TestAnEvaluatorThatCannotBeAsked(t *testing.T) {
	limited := ralph.Evaluation{End: ralph.EndLimit, Tries: 1, Error: "limit", RetryAfter: ralph.Span(time.Hour)}
	for _, tt := range []struct {
		name   string
		change func(p *ralph.Policy)
		says   []ralph.Evaluation
		ends   ralph.StopReason
		asked  int
		waits  map[ralph.WaitReason][]time.Duration
	}{
		{"not logged in", nil, []ralph.Evaluation{cannotBeAsked(ralph.EndAuth, "log in")}, ralph.AuthError, 1, nil},
		{
			"missing", nil, []ralph.Evaluation{cannotBeAsked(ralph.EndMissing, "no such program")}, ralph.ProgramMissing, 1, nil,
		},
		{"sandbox", nil, []ralph.Evaluation{cannotBeAsked(ralph.EndSandbox, "no sandbox")}, ralph.SandboxError, 1, nil},
		{
			"limited, and waited for", nil, []ralph.Evaluation{limited, accepts()}, ralph.AllChecksPassed, 2,
			map[ralph.WaitReason][]time.Duration{ralph.WaitLimit: {time.Hour + 15*time.Second}},
		},
		{
			"limited, and not waited for", func(p *ralph.Policy) { p.OnLimit = ralph.LimitStop }, []ralph.Evaluation{limited},
			ralph.RateLimited, 1, nil,
		},
		{
			"limited for too long", func(p *ralph.Policy) { p.MaxWait = ralph.Span(time.Minute) }, []ralph.Evaluation{limited},
			ralph.RateLimited, 1, nil,
		},
		{
			"limited past the run's time", func(p *ralph.Policy) { p.MaxTime = ralph.Span(time.Minute) },
			[]ralph.Evaluation{limited}, ralph.RateLimited, 1, nil,
		},
		{
			"limited again and again, with no reset in sight",
			func(p *ralph.Policy) { p.MaxWait = ralph.Span(10 * time.Minute) },
			[]ralph.Evaluation{cannotBeAsked(ralph.EndLimit, "limit")},
			ralph.RateLimited,
			4,
			map[ralph.WaitReason][]time.Duration{ralph.WaitLimit: {time.Minute, 2 * time.Minute, 4 * time.Minute}},
		},
		{"a failing model", nil, []ralph.Evaluation{cannotBeAsked(ralph.EndProvider, "529")}, ralph.ProviderFailed, 3, nil},
		{
			"a failing model that comes back", nil,
			[]ralph.Evaluation{cannotBeAsked(ralph.EndProvider, "529"), cannotBeAsked(ralph.EndProvider, "529"), accepts()},
			ralph.AllChecksPassed, 3, nil,
		},
		{"it breaks", nil, []ralph.Evaluation{cannotBeAsked(ralph.EndFailed, "exit 1")}, ralph.AgentFailed, 3, nil},
		{
			"it takes too long", nil, []ralph.Evaluation{cannotBeAsked(ralph.EndTimeout, "timed out")}, ralph.AgentFailed, 3,
			nil,
		},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			w, _, _ := claiming(t)
			if tt.change != nil {
				tt.change(&w.policy)
			}
			f := w.judgedBy(tt.says...)
			w.ends(tt.ends, 1)
			same(t, "asked", tt.asked, len(f.inputs))
			if tt.waits != nil {
				same(t, "waits", tt.waits, waited(w.log))
			}
		})
	}
	bubble(t, "the run's time ends it", func(t *testing.T) {
		w, _, _ := claiming(t)
		w.policy.MaxTime = ralph.Span(time.Minute)
		f := w.judgedBy(cannotBeAsked(ralph.EndTimeout, "timed out"))
		f.before = func(ctx context.Context, in ralph.EvaluationInput) {
			select {
			case <-ctx.Done():
			case <-time.After(in.Timeout):
			}
		}
		w.ends(ralph.Timeout, 1)
		same(t, "asked", 1, len(f.inputs))
		same(t, "time", ralph.Span(time.Minute), w.loop.State().Elapsed)
	})
	bubble(t, "trouble of the harness", func(t *testing.T) {
		w, _, _ := claiming(t)
		w.judgedBy(accepts()).err = errDisk
		w.ends(ralph.IOFailed, 1)
	})
	bubble(t, "no folder for it", func(t *testing.T) {
		w, _, _ := claiming(t)
		failing := false
		w.options = append(w.options, WithRecorder(&folderLog{memoryLog: w.log, dir: t.TempDir(), fail: func(int) error {
			if failing {
				return errDisk
			}
			return nil
		}}))
		w.judgedBy(accepts())
		w.log.onAppend = func(e ralph.Event) { failing = e.Type == ralph.EvCheckProof }
		w.ends(ralph.IOFailed, 1)
	})
	bubble(t, "a kill while it works", func(t *testing.T) {
		w, e, k := claiming(t)
		ctx, kill := context.WithCancelCause(t.Context())
		w.judgedBy(accepts()).before = func(context.Context, ralph.EvaluationInput) {
			kill(ralph.Killed{Signal: ralph.SignalTerminate})
		}
		w.ended(w.run(ctx), ralph.Interrupted, 1)
		again := w.reExamined(e, k, nothing())
		f := again.judgedBy(accepts())
		again.ends(ralph.AllChecksPassed, 0)
		same(t, "asked", []string{""}, f.asked())
	})
	bubble(t, "a stop while it is waited for", func(t *testing.T) {
		w, _, _ := claiming(t)
		w.judgedBy(limited, accepts())
		w.stopAfter(time.Minute, ralph.SignalInterrupt)
		w.ends(ralph.Interrupted, 1)
	})
}

func TestWhatAnEvaluatorCosts(t *testing.T) {
	costly := rejects(ralph.RejectedWrong, "wrong")
	costly.Cost, costly.Tokens, costly.CostEstimated = new(0.6), &ralph.Tokens{Input: 40}, true
	bubble(t, "counts against the budget", func(t *testing.T) {
		w, _, _ := claiming(t)
		w.judgedBy(costly)
		w.policy.MaxCost, w.policy.MaxRejections = 1, 0
		result := w.ends(ralph.MaxCost, 2)
		same(t, "cost", new(1.2), result.TotalCost)
		same(t, "tokens", &ralph.Tokens{Input: 80}, result.TotalTokens)
		same(t, "estimated", true, result.CostEstimated)
	})
	bubble(t, "also if it was cut, when it is no verdict", func(t *testing.T) {
		w, e, k := claiming(t)
		w.policy.MaxRejections = 1
		ctx, kill := context.WithCancelCause(t.Context())
		w.judgedBy(costly).before = func(context.Context, ralph.EvaluationInput) {
			kill(ralph.Killed{Signal: ralph.SignalTerminate})
		}
		result := w.run(ctx)
		w.ended(result, ralph.Interrupted, 1)
		same(t, "cost", new(0.6), result.TotalCost)
		same(t, "refusals", [][]string{{}}, refusedIn(result))
		told := payloads[ralph.Evaluation](w.log)
		same(t, "told", []ralph.Evaluation{{
			Agent: "judge", Tries: 1, End: ralph.EndInterrupted, Error: "interrupted", Tree: "c0+1",
			Terms: criteriaDigest("", "make it green", nil),
			Cost:  costly.Cost, CostEstimated: true, Tokens: costly.Tokens,
		}}, told)
		w.mustFoldTheSame()
		again := w.reExamined(e, k, nothing())
		again.policy.MaxRejections = 1
		cheap := accepts()
		cheap.Cost, cheap.Tokens = new(0.1), &ralph.Tokens{Input: 1}
		f := again.judgedBy(cheap)
		result = again.ends(ralph.AllChecksPassed, 0)
		same(t, "asked", 1, len(f.inputs))
		same(t, "the ledger", 0, len(f.inputs[0].Ledger))
		same(t, "cost with the second", new(0.7), result.TotalCost)
		same(t, "tokens with the second", &ralph.Tokens{Input: 41}, result.TotalTokens)
		mustReplay(t, append(slices.Clone(w.log.events), again.log.events...))
	})
	bubble(t, "and if a cut one does not tell, the sum is a part", func(t *testing.T) {
		w, _, k := claiming(t)
		paid := ralph.AgentOutcome{End: ralph.EndOK, Cost: new(1.0), Tokens: &ralph.Tokens{Input: 5}}
		paid.Said.Complete = true
		w.agent.turns = []turn{ends(paid).then(k.becomes("1"))}
		ctx, kill := context.WithCancelCause(t.Context())
		w.judgedBy(accepts()).before = func(context.Context, ralph.EvaluationInput) {
			kill(ralph.Killed{Signal: ralph.SignalTerminate})
		}
		result := w.run(ctx)
		w.ended(result, ralph.Interrupted, 1)
		same(t, "at least", []any{1.0, true, int64(5), true}, []any{
			*result.TotalCost, result.CostPartial, result.TotalTokens.Total(), result.TokensPartial,
		})
	})
	bubble(t, "and so it is if the whole process was killed meanwhile", func(t *testing.T) {
		w, _, k := claiming(t)
		paid := ralph.AgentOutcome{End: ralph.EndOK, Cost: new(1.0), Tokens: &ralph.Tokens{Input: 5}}
		paid.Said.Complete = true
		w.agent.turns = []turn{ends(paid).then(k.becomes("1"))}
		var before []ralph.Event
		told := accepts()
		told.Cost, told.Tokens = new(0.1), &ralph.Tokens{Input: 1}
		w.judgedBy(told).before = func(context.Context, ralph.EvaluationInput) { before = slices.Clone(w.log.events) }
		w.ends(ralph.AllChecksPassed, 1)
		for name, c := range map[string]struct {
			events []ralph.Event
			want   bool
		}{"while it was asked": {before, true}, "after it": {w.log.events, false}} {
			state := refold(t, c.events)
			resumed := ralph.Event{
				Version: ralph.EventVersion, Seq: state.Seq + 1, Type: ralph.EvRunResumed,
				Data: ralph.RunResumed{Policy: w.policy, Judged: 1},
			}
			if err := state.Apply(resumed); err != nil {
				t.Fatal(err)
			}
			result := state.Result()
			same(t, name, [2]bool{c.want, c.want}, [2]bool{result.CostPartial, result.TokensPartial})
		}
	})
	bubble(t, "counts against the tokens", func(t *testing.T) {
		w, _, _ := claiming(t)
		w.judgedBy(costly)
		w.policy.MaxTokens, w.policy.MaxRejections = 100, 5
		w.ends(ralph.MaxTokens, 3)
	})
}

func TestAnEvaluatorAlone(t *testing.T) {
	bubble(t, "accepts a goal", func(t *testing.T) {
		w, _, _ := claiming(t)
		w.cfg.Checks = nil
		w.judgedBy(rejects(ralph.RejectedGap, "gap"), accepts())
		result := w.ends(ralph.EvaluatorAccepted, 2)
		same(t, "summary", "the agent claims completion, and judge accepts it; nothing else was checked", result.Summary)
		same(t, "verified by", []string{ralph.VerifiedEvaluator}, result.VerifiedBy)
		same(t, "verified", false, result.Verified)
	})
	bubble(t, "looks again at what a commit hook changed", func(t *testing.T) {
		w, _, k := claiming(t)
		w.cfg.Checks = nil
		c := &committer{
			results: []ralph.CommitResult{{Commit: "c1", Changed: true}, {Commit: "c2"}}, before: k.becomes("hooked"),
		}
		committing(w, c, ralph.CommitIteration)
		f := w.judgedBy(accepts(), rejects(ralph.RejectedSpec, "the hook broke it"), accepts())
		w.ends(ralph.EvaluatorAccepted, 2)
		same(t, "asked, twice in each iteration", 4, len(f.inputs))
	})
	bubble(t, "accepts a list", func(t *testing.T) {
		w, _, k := examined(t)
		w.cfg.Task, w.cfg.Checks = "", nil
		w.agent.turns = []turn{tagging("A").then(k.becomes("1")), tagging("B").then(k.becomes("2"))}
		w.options = append(w.options, WithTasks(newMemoryTasks(entry("A"), entry("B"))))
		f := w.judgedBy(accepts())
		result := w.ends(ralph.TasksDone, 2)
		same(t, "asked", []string{"A", "B"}, f.asked())
		same(
			t,
			"summary",
			"every task of the list is proven done: judge accepts it, and nothing else was checked",
			result.Summary,
		)
		same(t, "verified by", []string{ralph.VerifiedEvaluator}, result.VerifiedBy)
	})
	bubble(t, "a list that was done already is looked at as a whole", func(t *testing.T) {
		w, _, k := examined(t)
		w.cfg.Task, w.cfg.Checks = "", nil
		finished := entry("A")
		finished.Status = ralph.TaskDone
		w.agent.turns = []turn{nothing().then(k.becomes("1")), nothing().then(k.becomes("2"))}
		w.options = append(w.options, WithTasks(newMemoryTasks(finished)))
		f := w.judgedBy(rejects(ralph.RejectedGap, "gap"), accepts())
		w.ends(ralph.TasksDone, 2)
		same(t, "asked", []string{"", ""}, f.asked())
	})
}

package loop

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/promise"
)

// submitter is a fake agent that submits cases.
type submitter struct{ *fakeAgent }

func (submitter) SubmitsCases() {}

// inRounds is an examined world whose agent submits a case after each step, until one is accepted
// or it is told to end.
func inRounds(t *testing.T, steps ...func()) (*world, *fakeExaminer, *keeper, *[]ralph.CaseAnswer) {
	w, e, k := examined(t)
	var answers []ralph.CaseAnswer
	w.agent.turns = []turn{func(ctx context.Context, in ralph.AgentInput) ralph.AgentOutcome {
		for _, step := range steps {
			if step != nil {
				step()
			}
			answer := in.Submit(ctx, ralph.Case{
				Summary:  "it adds now",
				Coverage: []ralph.Coverage{{Criterion: "2 and 3 are 5", AddressedBy: "calc.go:Add", Evidence: "calc_test.go"}},
			})
			answers = append(answers, answer)
			if answer.Accepted || answer.Over {
				break
			}
		}
		return works(ctx, in, ralph.AgentOutcome{Agent: "worker", End: ralph.EndOK})
	}}
	w.cfg.Agent = submitter{w.agent}
	return w, e, k, &answers
}

// replayed is the last judgement of the run, from its log.
func (w *world) replayed() fold.Judgement {
	w.t.Helper()
	all, err := fold.Replay(eventsOf(w.log.events, nil), asItWas)
	if err != nil || len(all) == 0 || !all[len(all)-1].Same() {
		w.t.Fatalf("replayed: %+v, %v", all, err)
	}
	return all[len(all)-1]
}

// becoming changes the tree to each of some states, one a step.
func becoming(k **keeper, states ...string) []func() {
	var steps []func()
	for _, files := range states {
		steps = append(steps, func() { (*k).becomes(files)() })
	}
	return steps
}

func TestACaseIsJudgedWhileItsMakerWaits(t *testing.T) {
	bubble(t, "refused, mended and accepted in one iteration", func(t *testing.T) {
		var k *keeper
		w, e, own, answers := inRounds(t, becoming(&k, "1", "2")...)
		k = own
		w.policy.MaxIterations = 1
		e.check = func(in ralph.ViewInput, _ string) ralph.CheckResult { return greenIf(in.Now.Hash == "2") }
		result := w.ends(ralph.AllChecksPassed, 1)
		same(t, "claims", []string{"submit_case"}, result.Iterations[0].Claims)
		same(t, "what ran after the baseline", []string{"claimed: go test", "claimed: go test"}, e.ranSince(2))
		same(t, "proven", []string{"claimed: go test"}, e.proved)
		same(t, "answered", []ralph.CaseAnswered{
			{Round: 1, Refusals: []ralph.Refusal{{Code: ralph.RefusedCheckFailed, Detail: "go test (exit 1) failed"}}},
			{Round: 2, Accepted: true, Over: true},
		}, payloads[ralph.CaseAnswered](w.log))
		first := (*answers)[0]
		if first.Accepted || first.Over || !strings.Contains(first.Text, "check_failed: go test (exit 1) failed") ||
			!strings.Contains(first.Text, "> FAIL") {
			t.Errorf("the first case is answered with %+v", first)
		}
		same(t, "the second answer", ralph.CaseAnswer{Accepted: true, Over: true, Text: "accepted"}, (*answers)[1])
		again := w.replayed()
		same(t, "cases that are remembered", 2, len(again.Cases))
		for i, answered := range payloads[ralph.CaseAnswered](w.log) {
			same(
				t,
				"what became of one",
				ralph.CaseRecord{CaseSubmitted: payloads[ralph.CaseSubmitted](w.log)[i], Answer: &answered},
				again.Cases[i],
			)
		}
	})
	bubble(t, "what changes after an accepted case is judged anew", func(t *testing.T) {
		var k *keeper
		w, e, own, _ := inRounds(t, becoming(&k, "1")...)
		k = own
		play := w.agent.turns[0]
		w.agent.turns = []turn{play.then(own.becomes("spoilt"))}
		w.policy.MaxIterations = 1
		e.check = func(in ralph.ViewInput, _ string) ralph.CheckResult { return greenIf(in.Now.Hash == "1") }
		result := w.ends(ralph.MaxIterations, 1)
		same(t, "refusals", [][]string{{ralph.RefusedCheckFailed}}, refusedIn(result))
	})
	bubble(t, "words claim nothing", func(t *testing.T) {
		w, _, k, _ := inRounds(t)
		w.cfg.Agent = submitter{w.agent}
		w.agent.turns = []turn{
			says(promise.Report{Complete: true, CompleteTag: "COMPLETE", TasksDone: []string{"A"}}).then(k.becomes("1")),
		}
		w.policy.MaxIterations = 1
		result := w.ends(ralph.MaxIterations, 1)
		same(t, "claims", []string{}, result.Iterations[0].Claims)
	})
	bubble(t, "an agent that prints its claims hears nothing of it", func(t *testing.T) {
		w, _, k := examined(t)
		w.agent.turns = []turn{done().then(k.becomes("1"))}
		inputs := w.prompted()
		w.ends(ralph.AllChecksPassed, 1)
		if in := w.agent.inputs[0]; in.Submit != nil || in.Turn != nil || (*inputs)[0].ByCase {
			t.Error("it could submit a case")
		}
	})
}

func TestACaseWhereNoTreeIsKnown(t *testing.T) {
	bubble(t, "is accepted by its checks all the same", func(t *testing.T) {
		w := newWorld(t)
		w.agent.turns = []turn{func(ctx context.Context, in ralph.AgentInput) ralph.AgentOutcome {
			in.Submit(ctx, ralph.Case{Summary: "done"})
			return works(ctx, in, ralph.AgentOutcome{Agent: "worker", End: ralph.EndOK})
		}}
		w.cfg.Agent, w.checker.results = submitter{w.agent}, []ralph.CheckResult{isRed, isGreen}
		w.options = append(w.options, WithTree(nil))
		w.ends(ralph.AllChecksPassed, 1)
		same(t, "checks", 2, w.checker.calls)
	})
}

func TestCasesOfTasks(t *testing.T) {
	bubble(t, "each is proven in its own iteration, and reviewed by what changed since", func(t *testing.T) {
		w, e, k, _ := inRounds(t, nil)
		b := newMemoryTasks(entry("A"), entry("B"))
		w.cfg.Task, w.options = "", append(w.options, WithTasks(b))
		play := w.agent.turns[0]
		w.agent.turns = []turn{func(ctx context.Context, in ralph.AgentInput) ralph.AgentOutcome {
			k.becomes("after " + in.Task)()
			return play(ctx, in)
		}}
		e.check = func(in ralph.ViewInput, _ string) ralph.CheckResult { return greenIf(in.Now.Hash != "0") }
		f := w.judgedBy(accepts())
		w.ends(ralph.TasksDone, 2)
		same(t, "asked", []string{"A", "B"}, f.asked())
		same(t, "diffs", []string{"0 -> after A", "after A -> after B"}, []string{f.inputs[0].Diff, f.inputs[1].Diff})
		same(t, "the case", "it adds now\n- 2 and 3 are 5: calc.go:Add (calc_test.go)\n", f.inputs[0].Case)
	})
	bubble(t, "rejected, then accepted", func(t *testing.T) {
		var k *keeper
		w, _, own, answers := inRounds(t, becoming(&k, "1", "2")...)
		k = own
		w.cfg.Task, w.options = "", append(w.options, WithTasks(newMemoryTasks(entry("A"))))
		f := w.judgedBy(rejects(ralph.RejectedGap, "half of it"), accepts())
		w.ends(ralph.TasksDone, 1)
		same(t, "ledger of the second", 1, len(f.inputs[1].Ledger))
		same(t, "rejected", true, (*answers)[0].Rejected)
		if text := (*answers)[0].Text; !strings.Contains(text, "acceptance_gap: half of it") ||
			!strings.Contains(text, "next step: mend it") {
			t.Errorf("the first case is answered with %q", text)
		}
	})
	bubble(t, "as many rejections as are allowed end the task", func(t *testing.T) {
		var k *keeper
		w, _, own, answers := inRounds(t, becoming(&k, "1", "2", "3", "4", "5")...)
		k = own
		w.cfg.Task, w.options = "", append(w.options, WithTasks(newMemoryTasks(entry("A"), entry("B"))))
		w.judgedBy(rejects(ralph.RejectedGap, "half of it"))
		w.policy.MaxRejections = 2
		w.ends(ralph.EvaluatorCap, 1)
		same(t, "cases", 2, len(*answers))
		same(t, "over", true, (*answers)[1].Over)
	})
	bubble(t, "neither tries nor the cap of iterations are used up by a case", func(t *testing.T) {
		var k *keeper
		w, e, own, answers := inRounds(t, becoming(&k, "1", "2", "3")...)
		k = own
		w.cfg.Task, w.options = "", append(w.options, WithTasks(newMemoryTasks(entry("A"))))
		w.policy.TaskTries, w.policy.MaxIterations = 1, 1
		e.check = func(in ralph.ViewInput, _ string) ralph.CheckResult { return greenIf(in.Now.Hash == "3") }
		w.ends(ralph.TasksDone, 1)
		same(t, "cases", 3, len(*answers))
	})
}

// noToolCall is why a task without a case ends.
const noToolCall = "the worker replied several times in a row without calling a tool"

func TestATaskThatItsAgentGivesUp(t *testing.T) {
	gaveUp := func(end ralph.StopReason) turn {
		return ends(ralph.AgentOutcome{Agent: "worker", End: ralph.EndOK, TaskEnd: end})
	}
	for end, detail := range map[ralph.StopReason]string{
		ralph.IterCap:        "task A: the worker used all its turns, and no case was submitted",
		ralph.NoCase:         "task A: " + noToolCall + ", and no case was submitted",
		ralph.EmptyResponses: "task A: the model's replies were empty several times in a row",
	} {
		bubble(t, string(end), func(t *testing.T) {
			b := newMemoryTasks(entry("A"), entry("B"))
			w := listed(t, b, gaveUp(end))
			result := w.ends(end, 1)
			same(t, "exit code and summary", []any{14, detail}, []any{result.ExitCode, result.Summary})
			moved := payloads[ralph.TaskMoved](w.log)
			if len(moved) != 1 || moved[0].Task != "A" || !strings.HasPrefix(moved[0].Detail, string(end)+": ") {
				t.Errorf("told is %+v", moved)
			}
			same(t, "in the list", ralph.TaskFailed, b.file[0].Status)
			again := w.resumed(b.clone(), tagging("A"), tagging("B"))
			again.ends(ralph.TasksDone, 2)
		})
	}
	bubble(t, "by answers that are cut", func(t *testing.T) {
		cut := ralph.AgentOutcome{
			Agent: "worker", End: ralph.EndOK, TaskEnd: ralph.NoCase, AnswersCut: true, Hint: "take another model",
		}
		w := listed(t, newMemoryTasks(entry("A")), ends(cut))
		result := w.ends(ralph.NoCase, 1)
		same(
			t,
			"summary",
			"task A: the model's replies were cut at its length limit several times in a row, and no case was submitted",
			result.Summary,
		)
		same(
			t,
			"told",
			"no_case: the model's replies were cut at its length limit several times in a row, and no case was submitted",
			payloads[ralph.TaskMoved](w.log)[0].Detail,
		)
		same(t, "hint", "take another model", payloads[ralph.RunStopped](w.log)[0].Hint)
		w = newWorld(t, ends(cut))
		result = w.ends(ralph.NoCase, 1)
		same(
			t,
			"summary of a goal",
			"the model's replies were cut at its length limit several times in a row, and no case was submitted",
			result.Summary,
		)
		same(t, "hint of a goal", "take another model", payloads[ralph.RunStopped](w.log)[0].Hint)
	})
	bubble(t, "skipped", func(t *testing.T) {
		w := listed(t, newMemoryTasks(entry("A"), entry("B")), gaveUp(ralph.IterCap), tagging("B"))
		w.policy.OnTaskFailure = ralph.TaskSkip
		w.ends(ralph.TaskTries, 2)
		same(t, "worked on", []string{"A", "B"}, workedOn(w.log))
	})
	bubble(t, "of a goal", func(t *testing.T) {
		w := newWorld(t, gaveUp(ralph.NoCase))
		result := w.ends(ralph.NoCase, 1)
		same(t, "summary", noToolCall+", and no case was submitted", result.Summary)
	})
}

// TestATaskThatIsGivenUpWithCases: refused cases count as cases.
func TestATaskThatIsGivenUpWithCases(t *testing.T) {
	for name, tt := range map[string]struct {
		end    ralph.StopReason
		cases  int
		detail string
	}{
		"silent after one":      {ralph.NoCase, 1, noToolCall + ", and its only case was not accepted"},
		"silent after two":      {ralph.NoCase, 2, noToolCall + ", and none of its 2 cases was accepted"},
		"used up after one":     {ralph.IterCap, 1, "the worker used all its turns, and its only case was not accepted"},
		"used up after three":   {ralph.IterCap, 3, "the worker used all its turns, and none of its 3 cases was accepted"},
		"nothing came after it": {ralph.EmptyResponses, 1, "the model's replies were empty several times in a row"},
	} {
		bubble(t, name, func(t *testing.T) {
			w, e, _, answers := inRounds(t, make([]func(), tt.cases)...)
			play := w.agent.turns[0]
			w.agent.turns = []turn{func(ctx context.Context, in ralph.AgentInput) ralph.AgentOutcome {
				o := play(ctx, in)
				o.TaskEnd = tt.end
				return o
			}}
			e.check = func(ralph.ViewInput, string) ralph.CheckResult { return isRed }
			result := w.ends(tt.end, 1)
			same(t, "summary", tt.detail, result.Summary)
			same(t, "cases", tt.cases, len(*answers))
			again := w.replayed()
			same(t, "cases that are remembered", tt.cases, len(again.Cases))
			for _, c := range again.Cases {
				same(
					t,
					"refused for",
					[]ralph.Refusal{{Code: ralph.RefusedCheckFailed, Detail: "go test (exit 1) failed"}},
					c.Answer.Refusals,
				)
			}
			w.mustFoldTheSame()
		})
	}
	bubble(t, "of a list", func(t *testing.T) {
		w, e, _, _ := inRounds(t, nil, nil)
		w.cfg.Task, w.options = "", append(w.options, WithTasks(newMemoryTasks(entry("A"))))
		play := w.agent.turns[0]
		w.agent.turns = []turn{func(ctx context.Context, in ralph.AgentInput) ralph.AgentOutcome {
			o := play(ctx, in)
			o.TaskEnd = ralph.NoCase
			return o
		}}
		e.check = func(ralph.ViewInput, string) ralph.CheckResult { return isRed }
		result := w.ends(ralph.NoCase, 1)
		same(t, "summary", "task A: "+noToolCall+", and none of its 2 cases was accepted", result.Summary)
		same(
			t,
			"told",
			"no_case: the worker replied several times in a row without calling a tool, and none of its 2 cases was accepted",
			payloads[ralph.TaskMoved](w.log)[0].Detail,
		)
	})
}

// spending is an agent that takes turns of a minute, 100 tokens and 10 cents until it is told to
// stop.
func spending(turns *int, orders *[]ralph.TurnOrder) turn {
	return func(ctx context.Context, in ralph.AgentInput) ralph.AgentOutcome {
		var spent ralph.Spending
		for n := 1; n <= 5; n++ {
			time.Sleep(time.Minute)
			cost := float64(n) / 10
			spent = ralph.Spending{Tokens: &ralph.Tokens{Input: int64(100 * n)}, Cost: &cost, Estimated: true}
			*turns = n
			order := in.Turn(ctx, ralph.Turn{Number: n, Tokens: &ralph.Tokens{Input: 100}, Spent: spent})
			*orders = append(*orders, order)
			if order.Stop {
				break
			}
		}
		return works(ctx, in, ralph.AgentOutcome{
			End: ralph.EndOK, Tokens: spent.Tokens, Cost: spent.Cost, CostEstimated: true,
		})
	}
}

func TestBudgetsAreAskedBeforeEveryTurn(t *testing.T) {
	for name, tt := range map[string]struct {
		limit func(*ralph.Policy)
		ends  ralph.StopReason
		turns int
		last  ralph.TurnOrder
	}{
		"tokens": {func(p *ralph.Policy) { p.MaxTokens = 300 }, ralph.MaxTokens, 3, ralph.TurnOrder{Stop: true}},
		"cost":   {func(p *ralph.Policy) { p.MaxCost = 0.2 }, ralph.MaxCost, 2, ralph.TurnOrder{Stop: true}},
		"time": {
			func(p *ralph.Policy) { p.MaxTime = ralph.Span(2 * time.Minute) }, ralph.Timeout, 2,
			ralph.TurnOrder{Stop: true, Late: true},
		},
		"none": {func(p *ralph.Policy) { p.MaxIterations = 1 }, ralph.MaxIterations, 5, ralph.TurnOrder{}},
	} {
		bubble(t, name, func(t *testing.T) {
			turns, orders := 0, []ralph.TurnOrder{}
			w, _, _, _ := inRounds(t)
			w.agent.turns = []turn{spending(&turns, &orders)}
			tt.limit(&w.policy)
			result := w.ends(tt.ends, 1)
			same(t, "turns", tt.turns, turns)
			same(t, "the last order", tt.last, orders[len(orders)-1])
			same(t, "tokens", int64(100*tt.turns), result.TotalTokens.Input)
		})
	}
	bubble(t, "what a killed iteration spent is known", func(t *testing.T) {
		turns, orders := 0, []ralph.TurnOrder{}
		w, e, k, _ := inRounds(t)
		play := spending(&turns, &orders)
		w.agent.turns = []turn{func(ctx context.Context, in ralph.AgentInput) ralph.AgentOutcome {
			play(ctx, in)
			in.Submit(ctx, ralph.Case{Summary: "done"}) // refused; checks do not know what was spent
			panic("the end")
		}}
		e.check = func(ralph.ViewInput, string) ralph.CheckResult { return isRed }
		w.ends(ralph.Internal, 1)
		w.log.events = w.log.events[:indexOfLast(w.log.events, ralph.EvCaseAnswered)+1]
		again := w.reExamined(e, k, done().then(k.becomes("1")))
		again.policy.MaxTokens = 500
		result := again.ends(ralph.MaxTokens, 0)
		same(t, "tokens", int64(500), result.TotalTokens.Input)
		same(t, "iterations", "interrupted", *result.Iterations[0].Error)
	})
}

func indexOfLast(events []ralph.Event, kind ralph.EventType) int {
	for i := len(events) - 1; i >= 0; i-- {
		if events[i].Type == kind {
			return i
		}
	}
	return -1
}

// What an agent does after a refused case is not attributed to the user, however its iteration
// ends.
func TestWhatComesAfterARefusedCaseIsTheAgents(t *testing.T) {
	bubble(t, "killed", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		w, e, k, _ := inRounds(t, nil)
		play := w.agent.turns[0]
		w.agent.turns = []turn{func(ctx context.Context, in ralph.AgentInput) ralph.AgentOutcome {
			play(ctx, in)
			k.becomes("tampered")()
			cancel(ralph.Killed{Signal: ralph.SignalTerminate})
			return ralph.AgentOutcome{End: ralph.EndInterrupted, Error: "killed"}
		}}
		e.check = func(ralph.ViewInput, string) ralph.CheckResult { return isRed }
		w.run(ctx)
		again := w.reExamined(e, k, done())
		again.policy.MaxIterations = 1
		e.check = func(ralph.ViewInput, string) ralph.CheckResult { return isGreen }
		e.compare = hurt("tampered")
		again.ends(ralph.MaxIterations, 1)
		same(t, "joined", nil, k.joined)
	})
	bubble(t, "the tree cannot be hashed any more", func(t *testing.T) {
		w, e, k, _ := inRounds(t, nil)
		w.policy.MaxIterations = 1
		play := w.agent.turns[0]
		w.agent.turns = []turn{play.then(func() { k.becomes("spoilt")(); k.lost = true })}
		e.check = func(in ralph.ViewInput, _ string) ralph.CheckResult {
			return greenIf(in.Now.Hash == "0" && in.Now.Known)
		}
		w.ends(ralph.IOFailed, 1)
	})
}

func TestCasesAndTheEndOfTheRun(t *testing.T) {
	bubble(t, "killed in the middle of a round", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		var k *keeper
		w, e, own, answers := inRounds(t, becoming(&k, "1", "2")...)
		k = own
		ran := 0
		e.check = func(ralph.ViewInput, string) ralph.CheckResult {
			if ran++; ran == 3 { // the first two are the baseline's
				cancel(ralph.Killed{Signal: ralph.SignalTerminate})
			}
			return isRed
		}
		result := w.run(ctx)
		same(t, "reason", ralph.Interrupted, result.StopReason)
		same(t, "answers", []ralph.CaseAnswer{{Over: true, Text: runEndsText}}, *answers)
		cases := w.loop.State().History.Now.Cases
		if len(cases) != 1 || cases[0].Answer != nil {
			t.Errorf("remembered are %+v", cases)
		}
	})
	bubble(t, "an evaluator that cannot be asked ends it", func(t *testing.T) {
		var k *keeper
		w, _, own, answers := inRounds(t, becoming(&k, "1", "2")...)
		k = own
		w.judgedBy(cannotBeAsked(ralph.EndAuth, "no key"))
		w.ends(ralph.AuthError, 1)
		same(t, "over", true, (*answers)[0].Over)
	})
	bubble(t, "tampering stops at once where the user wants that", func(t *testing.T) {
		var k *keeper
		w, e, own, answers := inRounds(t, becoming(&k, "1", "2")...)
		k = own
		w.policy.Tamper, e.compare = ralph.TamperStop, hurt("1")
		w.ends(ralph.Tampered, 1)
		same(t, "over", []bool{true}, []bool{(*answers)[0].Over})
	})
}

package loop

import (
	"context"
	"testing"
	"time"

	"github.com/ralphloop/ralph"
)

// costing has a turn cost something.
func (play turn) costing(dollars float64, tokens int64) turn {
	return func(ctx context.Context, in ralph.AgentInput) ralph.AgentOutcome {
		o := play(ctx, in)
		o.Cost, o.Tokens = &dollars, &ralph.Tokens{Input: tokens}
		return o
	}
}

// costing has a review cost something.
func priced(e ralph.Evaluation, dollars float64) ralph.Evaluation {
	e.Cost, e.Tokens = &dollars, &ralph.Tokens{Input: 10}
	return e
}

// A review that the run cannot pay for is not made, and without it nothing is proven.
func TestAReviewBeyondTheBudgetIsNotMade(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(p *ralph.Policy)
		ends   ralph.StopReason
		why    string
	}{
		{"money", func(p *ralph.Policy) { p.MaxCost = 5 }, ralph.MaxCost, "cost limit reached: $6.00 of $5.00"},
		{"tokens", func(p *ralph.Policy) { p.MaxTokens = 100 }, ralph.MaxTokens, "token limit reached: 600 of 100"},
		{
			"time", func(p *ralph.Policy) { p.MaxTime = ralph.Span(worked) + ralph.Span(time.Minute) }, ralph.Timeout,
			"time limit (1m6s) reached",
		},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			w, e, k := examined(t)
			w.agent.turns = []turn{done().costing(6, 600).then(k.becomes("1"))}
			e.check = func(in ralph.ViewInput, _ string) ralph.CheckResult {
				if in.Now.Hash == "1" {
					time.Sleep(time.Minute)
				}
				return greenIf(in.Now.Hash != "0")
			}
			f := w.judgedBy(priced(accepts(), 4))
			tt.change(&w.policy)
			w.policy.MaxIterations = 3
			result := w.ends(tt.ends, 1)
			same(t, "asked", 0, len(f.inputs))
			same(t, "summary", tt.why, result.Summary)
			same(t, "refusals", [][]string{{"evaluator_rejected:unavailable"}}, refusedIn(result))
			same(t, "checks", true, result.Iterations[0].AllChecksPassed)
			same(t, "the gate", ralph.Gate{
				Name: "the evaluator accepts", State: ralph.GateShut, Refusal: "evaluator_rejected:unavailable",
				Detail: "the evaluator could not be asked: " + tt.why,
			}, w.loop.State().Verdict.Gates[8])
			same(t, "cost", new(6.0), result.TotalCost)
			w.mustFoldTheSame()

			again := w.reExamined(e, k, done().costing(0, 0))
			again.policy.MaxCost, again.policy.MaxTokens, again.policy.MaxTime = 20, 2000, ralph.Span(time.Hour)
			f = again.judgedBy(priced(accepts(), 4))
			result = again.ends(ralph.AllChecksPassed, 1)
			same(t, "asked by whoever has more", 1, len(f.inputs))
			same(t, "what that cost", new(10.0), result.TotalCost)
		})
	}
	bubble(t, "nor is one made again", func(t *testing.T) {
		w, _, k := examined(t)
		w.agent.turns = []turn{done().costing(1, 1).then(k.becomes("1"))}
		f := w.judgedBy(priced(cannotBeAsked(ralph.EndProvider, "529"), 4), accepts())
		w.policy.MaxCost = 5
		w.ends(ralph.MaxCost, 1)
		same(t, "asked", 1, len(f.inputs))
	})
	bubble(t, "nor one of another task, and those before are done", func(t *testing.T) {
		w, _, k := examined(t)
		w.cfg.Task, w.policy.TaskTries = "", 1
		w.options = append(w.options, WithTasks(newMemoryTasks(entry("B"), entry("A"))))
		w.agent.turns = []turn{tagging("A", "B").costing(1, 1).then(k.becomes("1"))}
		f := w.judgedBy(priced(accepts(), 4))
		w.policy.MaxCost = 5
		w.ends(ralph.MaxCost, 1)
		same(t, "asked", []string{"B"}, f.asked())
		same(
			t,
			"refused",
			[]ralph.TaskRefusal{
				{
					Task: "A", Code: "evaluator_rejected:unavailable",
					Detail: "the evaluator could not be asked: cost limit reached: $5.00 of $5.00",
				},
			},
			payloads[ralph.ClaimRefused](w.log)[0].Tasks,
		)
	})
	bubble(t, "a task is not given up for it", func(t *testing.T) {
		w, _, k := examined(t)
		w.cfg.Task, w.policy.TaskTries = "", 1
		w.options = append(w.options, WithTasks(newMemoryTasks(entry("A"))))
		w.agent.turns = []turn{tagging("A").costing(6, 1).then(k.becomes("1"))}
		w.judgedBy(accepts())
		w.policy.MaxCost = 5
		w.ends(ralph.MaxCost, 1)
		same(t, "given up", "", w.loop.State().Verdict.Tasks.GivenUp)
	})
	bubble(t, "a list that was done already is not taken for proven", func(t *testing.T) {
		w, _, k := examined(t)
		w.cfg.Task, w.cfg.Checks, w.policy.AllowUnverified = "", nil, true
		finished := entry("A")
		finished.Status = ralph.TaskDone
		w.options = append(w.options, WithTasks(newMemoryTasks(finished)))
		w.agent.turns = []turn{nothing().costing(6, 1).then(k.becomes("1"))}
		f := w.judgedBy(accepts())
		w.policy.MaxCost = 5
		w.ends(ralph.MaxCost, 1)
		same(t, "asked", 0, len(f.inputs))
	})
	bubble(t, "a case ends its iteration then", func(t *testing.T) {
		var k *keeper
		w, _, own, answers := inRounds(t, becoming(&k, "1", "2")...)
		k = own
		submit := w.agent.turns[0]
		w.agent.turns = []turn{func(ctx context.Context, in ralph.AgentInput) ralph.AgentOutcome {
			in.Turn(ctx, ralph.Turn{Number: 1, Spent: ralph.Spending{Cost: new(6.0), Tokens: &ralph.Tokens{Input: 1}}})
			return submit.costing(6, 1)(ctx, in)
		}}
		f := w.judgedBy(accepts())
		w.policy.MaxCost = 5
		w.ends(ralph.MaxCost, 1)
		same(t, "asked", 0, len(f.inputs))
		same(t, "answers", []bool{true}, []bool{(*answers)[0].Over && !(*answers)[0].Accepted})
		same(t, "cases", 1, len(*answers))
	})
	bubble(t, "and so does one whose review used the budget up", func(t *testing.T) {
		var k *keeper
		w, _, own, answers := inRounds(t, becoming(&k, "1", "2")...)
		k = own
		f := w.judgedBy(priced(rejects(ralph.RejectedGap, "gap"), 6), accepts())
		w.policy.MaxCost = 5
		w.ends(ralph.MaxCost, 1)
		same(t, "asked", 1, len(f.inputs))
		same(t, "cases", 1, len(*answers))
	})
}

// What needs no review, or has one, is proven even when the budget is used up, as at the iteration
// limit.
func TestWhatIsProvenGoesBeforeTheBudget(t *testing.T) {
	bubble(t, "without an evaluator", func(t *testing.T) {
		w, _, k := examined(t)
		w.agent.turns = []turn{done().costing(6, 1).then(k.becomes("1"))}
		w.policy.MaxCost = 5
		w.ends(ralph.AllChecksPassed, 1)
	})
	bubble(t, "by a verdict that stands", func(t *testing.T) {
		w, f, k, _ := unchanging(t, priced(accepts(), 1))
		w.agent.turns = []turn{done().costing(1, 1).then(k.becomes("1")), done().costing(6, 1)}
		committing(
			w,
			&committer{results: []ralph.CommitResult{{Failed: true, Output: "the hook says no"}, {Commit: "c1"}}},
			ralph.CommitIteration,
		)
		w.policy.MaxCost = 5
		w.ends(ralph.AllChecksPassed, 2)
		same(t, "asked", 1, len(f.inputs))
	})
}

package loop

import (
	"context"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/prompt"
	"github.com/ralphloop/ralph/judge"
)

// listen lets an agent call the loop while it works. The agent calls from its own goroutine; the
// loop does the work on its goroutine.
func (l *Loop) listen(in *ralph.AgentInput, calls chan<- func()) {
	onLoop := callOnLoop(calls)
	in.Task = l.run.state.History.Now.Task
	in.Turn = func(ctx context.Context, t ralph.Turn) ralph.TurnOrder {
		order := ralph.TurnOrder{Stop: true, Late: true}
		onLoop(ctx, func() { order = l.recordTurn(ctx, in, t) })
		return order
	}
	in.Submit = func(ctx context.Context, c ralph.Case) ralph.CaseAnswer {
		answer := ralph.CaseAnswer{Over: true, Text: runEndsText}
		onLoop(ctx, func() { answer = l.judgeSubmission(ctx, c) })
		return answer
	}
}

const runEndsText = "the run ends"

// recordTurn records a turn and decides whether another one may follow.
func (l *Loop) recordTurn(ctx context.Context, in *ralph.AgentInput, t ralph.Turn) ralph.TurnOrder {
	warned := t.Hooks
	t.Hooks = nil // recorded as separate events
	l.run.emit(ralph.EvTurn, t)
	l.hooks.warnCallHooks(warned)
	if l.run.storage != nil || ctx.Err() != nil {
		return ralph.TurnOrder{Stop: true, Late: true}
	}
	order := judge.MayTakeTurn(l.run.policy, l.run.state.History.Judge(l.run.moment(ctx)))
	if !order.Stop {
		next := t.Number + 1
		order.Cut = in.Budget.Exceeded(t.Spent.Cost, t.Spent.Tokens, &next)
		order.Stop = order.Cut != ""
	}
	return order
}

// judgeSubmission judges a case while the agent waits. It uses the same evidence and rules as the
// end of an iteration.
func (l *Loop) judgeSubmission(ctx context.Context, c ralph.Case) ralph.CaseAnswer {
	round, reviews := len(l.run.state.History.Now.Cases)+1, len(l.run.state.History.Now.Evaluations)
	l.run.emit(ralph.EvCase, ralph.CaseSubmitted{Round: round, Task: l.run.state.History.Now.Task, Case: c})
	l.list.inspectTasks()
	l.tree.snapshot(ctx, ralph.TreeInput{BaseHead: l.run.state.History.Base.Head, Claimed: true})
	l.tree.compare(ctx, l.run.state.History.Now.Tree)
	l.list.readPlan()
	l.gather(ctx, true)
	if ctx.Err() != nil || l.run.storage != nil {
		return ralph.CaseAnswer{Over: true, Text: runEndsText}
	}
	h := l.run.state.History.Judge(l.run.moment(ctx))
	decision := judge.DecideCase(l.run.policy, h)
	v := decision.Verdict
	answer := ralph.CaseAnswered{
		Round: round, Refusals: v.Refusals(), Tasks: v.Tasks.Refused, Accepted: decision.Accepted, Over: decision.Over,
	}
	text, rejected := "accepted", fold.LatestRejections(l.run.state.History.Now.Evaluations[reviews:])
	if !answer.Accepted {
		text = l.whyRefused(v, rejected, answer.Over)
	}
	l.run.emit(ralph.EvCaseAnswered, answer)
	return ralph.CaseAnswer{
		Accepted: answer.Accepted, Rejected: len(rejected) > 0, Over: answer.Over, Text: text,
		Spent: judge.OverBudget(l.run.policy, h) != "",
	}
}

// whyRefused tells the agent what to fix, in the words of the next iteration's prompt.
func (l *Loop) whyRefused(v ralph.Verdict, rejected []ralph.Evaluation, over bool) string {
	in := ralph.PromptInput{
		Policy: l.run.policy,
		Ledger: l.run.state.Ledger,
		Tasks:  l.run.state.History.Tasks,
		Last:   l.run.state.FeedbackOn(v),
	}
	in.Last.Number, in.Last.Rejections = max(in.Last.Number, 1), rejected
	if l.run.state.History.Now.Task != "" {
		in.Task = &ralph.Task{ID: l.run.state.History.Now.Task}
	}
	return prompt.CaseRefused(in, over)
}

package loop

import (
	"context"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/prompt"
	"github.com/ralphloop/ralph/judge"
)

// listen lets an agent be heard while it works. It calls from its own goroutine, and what it calls for is done on the loop's.
func (l *Loop) listen(in *ralph.AgentInput, calls chan<- func()) {
	onLoop := func(ctx context.Context, do func()) bool {
		done := make(chan struct{})
		select {
		case calls <- func() { defer close(done); do() }:
			<-done
			return true
		case <-ctx.Done():
			return false
		}
	}
	in.Task = l.state.History.Now.Task
	in.Turn = func(ctx context.Context, t ralph.Turn) ralph.TurnOrder {
		order := ralph.TurnOrder{Stop: true, Late: true}
		onLoop(ctx, func() { order = l.hearTurn(ctx, t) })
		return order
	}
	in.Submit = func(ctx context.Context, c ralph.Case) ralph.CaseAnswer {
		answer := ralph.CaseAnswer{Over: true, Text: runEnds}
		onLoop(ctx, func() { answer = l.hearCase(ctx, c) })
		return answer
	}
}

const runEnds = "the run ends"

// claimedBy takes the claim of a CaseMaker from the case that was accepted, and from nothing that it says.
func (l *Loop) claimedBy(agent ralph.Agent, o ralph.AgentOutcome) ralph.AgentOutcome {
	if _, ok := agent.(ralph.CaseMaker); !ok {
		return o
	}
	o.Said.Complete, o.Said.CompleteTag, o.Said.CompleteText, o.Said.TasksDone = false, "", "", nil
	if now := l.state.History.Now; now.Accepted {
		o.Said.Status, o.Said.StatusProblem = nil, "" // what was proven needs no block
		said := now.Cases[len(now.Cases)-1].AsReport()
		o.Said.Complete, o.Said.CompleteTag, o.Said.CompleteText, o.Said.TasksDone = said.Complete, said.CompleteTag, said.CompleteText, said.TasksDone
	}
	return o
}

// hearTurn records a turn and says whether another may follow.
func (l *Loop) hearTurn(ctx context.Context, t ralph.Turn) ralph.TurnOrder {
	warned := t.Hooks
	t.Hooks = nil // they are events of their own
	l.emit(ralph.EvTurn, t)
	l.tellCallHooks(warned)
	if l.storage != nil || ctx.Err() != nil {
		return ralph.TurnOrder{Stop: true, Late: true}
	}
	return judge.MayTakeTurn(l.policy, l.state.History.Judge(l.moment(ctx)))
}

// hearCase judges a case while the agent waits: with the evidence, and by the rules, of the end of an iteration.
func (l *Loop) hearCase(ctx context.Context, c ralph.Case) ralph.CaseAnswer {
	round, reviews := len(l.state.History.Now.Cases)+1, len(l.state.History.Now.Evaluations)
	l.emit(ralph.EvCase, ralph.CaseSubmitted{Round: round, Task: l.state.History.Now.Task, Case: c})
	l.inspectTasks()
	l.snapshot(ctx, ralph.TreeInput{BaseHead: l.state.History.Base.Head, Claimed: true})
	l.compare(ctx, l.state.History.Now.Tree)
	l.gather(ctx, true)
	if ctx.Err() != nil || l.storage != nil {
		return ralph.CaseAnswer{Over: true, Text: runEnds}
	}
	decision := judge.DecideCase(l.policy, l.state.History.Judge(l.moment(ctx)))
	v := decision.Verdict
	answer := ralph.CaseAnswered{
		Round: round, Refusals: v.Refusals(), Tasks: v.Tasks.Refused, Accepted: decision.Accepted, Over: decision.Over,
	}
	text, rejected := "accepted", fold.LatestRejections(l.state.History.Now.Evaluations[reviews:])
	if !answer.Accepted {
		text = l.whyRefused(v, rejected, answer.Over)
	}
	l.emit(ralph.EvCaseAnswered, answer)
	return ralph.CaseAnswer{Accepted: answer.Accepted, Rejected: len(rejected) > 0, Over: answer.Over, Text: text}
}

// whyRefused tells the agent what to mend, in the words of the next iteration's prompt.
func (l *Loop) whyRefused(v ralph.Verdict, rejected []ralph.Evaluation, over bool) string {
	in := ralph.PromptInput{Policy: l.policy, Ledger: l.state.Ledger, Tasks: l.state.History.Tasks, Last: l.state.FeedbackOn(v)}
	in.Last.Number, in.Last.Rejections = max(in.Last.Number, 1), rejected
	if l.state.History.Now.Task != "" {
		in.Task = &ralph.Task{ID: l.state.History.Now.Task}
	}
	facts := promptFacts(in)
	facts.CaseOver = over
	return prompt.CaseRefused(facts)
}

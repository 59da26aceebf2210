package loop

import (
	"context"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/prompt"
	"github.com/ralphloop/ralph/judge"
)

// iterate is one fresh agent from its prompt to the verdict.
func (l *Loop) iterate(ctx context.Context) ralph.Verdict {
	l.run.iteration = l.run.state.History.Started + 1
	l.choose(ctx)
	if ctx.Err() != nil { // perhaps in the middle of a move, which the next process goes on with
		if v := l.run.stopsAt(l.run.moment(ctx)); v != nil {
			return *v
		}
	}
	if v := l.hooks.hookBefore(ctx, l.agents.nextWorker()); v != nil {
		return *v
	}
	text, err := l.begin(ctx)
	if err != nil {
		return judge.Abort(l.run.state.History.Breaker, ralph.Internal, "build prompt: %v", err)
	}
	if l.run.storage != nil {
		return l.run.storageVerdict()
	}
	outcome, err := l.agents.runAgent(ctx, text, l.listen)
	if err != nil {
		l.run.storageFailed(err)
		return l.run.storageVerdict()
	}
	l.agents.tellOutcome(outcome)
	l.run.sync()
	return l.judge(ctx)
}

// choose hears what people want and picks what is worked on.
func (l *Loop) choose(ctx context.Context) {
	if err := l.goals.readGoal(ctx); err != nil {
		l.run.warn("goal_unreadable", "%v; going on with the text as it was", err)
	}
	l.goals.tellPlaceholders()
	l.inbox.hearPeople(ctx)
	l.list.selectTask()
	l.stash.arrange(ctx)
}

// begin is phase one: it is durable before the agent starts.
func (l *Loop) begin(ctx context.Context) (string, error) {
	l.checks.selectedBaseline(ctx)
	breaker := l.run.state.History.Breaker
	started := ralph.IterationStarted{
		Ordinal: l.run.state.History.Counted + 1, Of: l.run.policy.MaxIterations, Elapsed: l.run.elapsed(),
		Diagnose: breaker.State == ralph.BreakerDiagnose, Probe: breaker.State == ralph.BreakerHalfOpen,
	}
	started.Agent, _, _ = l.run.state.History.NextAgent(l.run.policy, started.Elapsed)
	in := l.promptInput(ctx, started)
	if started.Diagnose {
		in.Diagnose = breaker.Reason
	}
	l.run.emit(ralph.EvIterationStarted, started)
	built, err := l.prompter.Prompt(ctx, in)
	if err != nil {
		return "", err
	}
	l.run.emit(ralph.EvPromptBuilt, ralph.PromptBuilt{Bytes: len(built.Text), Hash: prompt.Hash(built.Text), Parts: built.Parts})
	for _, part := range built.Parts {
		if part.Truncated && (part.Name == "goal" || part.Name == "prompt_file") {
			l.run.warn("goal_cut", "%s", "the "+part.Name+" is too long for a prompt: its middle was cut out")
		}
	}
	l.run.emit(ralph.EvAgentStarted, ralph.AgentStarted{Agent: l.agents.worker().Name, Model: l.agents.worker().Model, Timeout: ralph.Span(l.run.timeLeft())})
	l.run.sync()
	return built.Text, nil
}

// judge gathers the evidence and decides. No process of the agent is alive here.
func (l *Loop) judge(ctx context.Context) ralph.Verdict {
	agent := l.run.state.History.Now.Agent
	l.list.inspectTasks()
	claimed := judge.MayComplete(l.run.policy, l.run.state.History)
	if ctx.Err() == nil {
		l.tree.snapshot(ctx, ralph.TreeInput{BaseHead: l.run.state.History.Base.Head, Claimed: claimed || l.run.policy.Claim == ralph.ClaimOptional})
	}
	l.tree.compare(ctx, l.run.state.History.Now.Tree)
	proven := judge.ProvenInCase(l.run.state.History)
	if ctx.Err() == nil && ralph.CountsAsIteration(agent.End) && !proven && (l.run.policy.ChecksWhen == ralph.ChecksAlways || claimed) {
		l.gather(ctx, claimed)
	}
	l.tellStatus()
	l.commit(ctx)
	if l.run.storage != nil {
		return l.run.storageVerdict()
	}
	at := l.run.moment(ctx)
	before := l.run.state.History.Breaker.State
	v := judge.Decide(l.run.policy, l.run.state.History.Judge(at))
	if at.Killed && ralph.CountsAsIteration(agent.End) { // the evidence is not whole: a resume gathers it and judges what the agent left
		return v
	}
	for _, gate := range v.Gates {
		if gate.State == ralph.GateWarned {
			l.run.warn("gate_warned", "%s", gate.Detail)
		}
	}
	if refusals := v.Refusals(); len(refusals)+len(v.Tasks.Refused) > 0 {
		l.run.emit(ralph.EvClaimRefused, ralph.ClaimRefused{Refusals: append([]ralph.Refusal{}, refusals...), Tasks: v.Tasks.Refused})
	}
	l.run.emit(ralph.EvVerdict, ralph.VerdictReached{At: at, Verdict: v})
	if l.tree.ranInPlace() {
		l.tree.takeAsItIs(ctx)
	}
	l.tellTasks(ctx, v)
	l.tellForecast(v)
	if before != v.Breaker.State {
		l.run.emit(ralph.EvBreaker, ralph.BreakerMoved{From: before, To: v.Breaker.State, Reason: v.Breaker.Reason})
	}
	l.hooks.hookAfter(ctx, v)
	return v
}

// tellStatus compares what the status block says with what was seen.
func (l *Loop) tellStatus() {
	now := l.run.state.History.Now
	said := now.Agent.Said
	if said.Status == nil && said.StatusProblem == "" || l.run.policy.Status == ralph.StatusOff {
		return
	}
	seen := ralph.StatusBlockSeen{Block: said.Status, Problem: said.StatusProblem}
	if said.Status != nil {
		seen.Mismatches = judge.Mismatches(*said.Status, l.run.state.History)
	}
	l.run.emit(ralph.EvStatusBlock, seen)
}

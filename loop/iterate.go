package loop

import (
	"context"
	"fmt"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/prompt"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/judge"
)

// iterate runs one fresh agent, from its prompt to the verdict.
func (l *Loop) iterate(ctx context.Context) ralph.Verdict {
	text, over := l.begin(ctx)
	if over != nil {
		return *over
	}
	outcome, err := l.agents.runAgent(ctx, text, l.listen)
	if err != nil {
		l.run.storageFailed(err)
		return l.run.storageVerdict()
	}
	l.agents.recordOutcome(outcome)
	l.run.sync()
	return l.judge(ctx)
}

// begin selects the work of an iteration and records its start. It returns the prompt, or a verdict if no agent may
// start.
func (l *Loop) begin(ctx context.Context) (string, *ralph.Verdict) {
	l.run.iteration = l.run.state.History.Started + 1
	l.selectWork(ctx)
	if ctx.Err() != nil { // perhaps in the middle of a move, which the next process finishes
		if v := l.run.stopsAt(l.run.moment(ctx)); v != nil {
			return "", v
		}
	}
	if len(judge.AwaitedTasks(l.run.state.History.Tasks)) > 0 { // the user's changes left no other task
		return "", &ralph.Verdict{Action: ralph.GoOn}
	}
	if v := l.hooks.runPreHooks(ctx, l.agents.nextAgent()); v != nil {
		return "", v
	}
	text, err := l.startIteration(ctx)
	var over ralph.Verdict
	switch {
	case err != nil:
		over = judge.Abort(l.run.state.History.Breaker, ralph.Internal, "build prompt: %v", err)
	case l.run.storage != nil:
		over = l.run.storageVerdict()
	default:
		return text, nil
	}
	return "", &over
}

// selectWork reads the goal and the user's input and selects the task to work on.
func (l *Loop) selectWork(ctx context.Context) {
	l.inbox.takeOverFiles(ctx, l.list)
	if err := l.goals.readGoal(ctx); err != nil {
		l.run.warn("goal_unreadable", "%v; continuing with the previous text", err)
	}
	if l.goals.keepGoal(); l.goals.goal.kept && l.goals.goal.changed { // by the user
		l.tree.snapshot(ctx, ralph.TreeInput{BaseHead: l.run.state.History.Base.Head})
	}
	l.goals.warnPlaceholders()
	l.inbox.readUserInput(ctx)
	l.list.selectTask()
	l.stash.prepareTree(ctx)
}

// startIteration records the first phase of an iteration. The record is durable before the agent
// starts.
func (l *Loop) startIteration(ctx context.Context) (string, error) {
	l.checks.runTaskBaseline(ctx)
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
	started.GoalFiles = longGoals(in)
	l.run.emit(ralph.EvIterationStarted, started)
	built, err := l.run.prompt(ctx, l.prompter, in)
	if err != nil {
		return "", err
	}
	l.run.recordPrompt(built, in)
	l.agents.work = prompt.Work(in)
	l.run.emit(ralph.EvAgentStarted, ralph.AgentStarted{
		Agent:   l.agents.currentAgent().Name,
		Model:   l.agents.currentAgent().Model,
		Timeout: ralph.Span(l.run.timeLeft()),
	})
	l.run.sync()
	return built.Text, nil
}

// longGoals returns the files of texts that are too long for a prompt.
func longGoals(in ralph.PromptInput) []string {
	var files []string
	if in.GoalFile != "" && prompt.TooLong(in.Goal) {
		files = append(files, in.GoalFile)
	}
	if in.TemplateFile != "" && prompt.TooLong(in.Template) {
		files = append(files, in.TemplateFile)
	}
	return files
}

// recordPrompt records what the prompt consists of, and reports texts that are too long for it.
func (j *journal) recordPrompt(built ralph.Prompt, in ralph.PromptInput) {
	j.emit(ralph.EvPromptBuilt, ralph.PromptBuilt{
		Bytes: len(built.Text),
		Hash:  text.Digest(built.Text),
		Parts: built.Parts,
	})
	for _, part := range built.Parts {
		file, name := in.GoalFile, "goal"
		if part.Name == "prompt_file" {
			file, name = in.TemplateFile, "prompt file"
		}
		switch {
		case !part.Truncated || part.Name != "goal" && part.Name != "prompt_file":
		case file == "":
			j.warn("goal_cut", "the %s is too long for a prompt; its middle was cut", name)
		default:
			j.warnOnce("goal_long", fmt.Sprintf("the %s is too long for a prompt: the prompt has its beginning and an "+
				"outline, and tells the agent to read %s", name, file))
		}
	}
}

// judge gathers the evidence and decides. No process of the agent is alive at this point.
func (l *Loop) judge(ctx context.Context) ralph.Verdict {
	agent := l.run.state.History.Now.Agent
	l.inbox.takeOverFiles(ctx, l.list)
	l.list.inspectTasks()
	claimed := judge.MayComplete(l.run.policy, l.run.state.History)
	if ctx.Err() == nil {
		l.tree.snapshot(ctx, ralph.TreeInput{
			BaseHead: l.run.state.History.Base.Head,
			Claimed:  claimed || l.run.policy.Claim == ralph.ClaimOptional,
		})
	}
	l.tree.compare(ctx, l.run.state.History.Now.Tree)
	if claimed || l.run.policy.Claim == ralph.ClaimOptional {
		l.list.readPlan()
	}
	proven := judge.ProvenInCase(l.run.state.History)
	if ctx.Err() == nil && l.run.storage == nil && ralph.CountsAsIteration(agent.End) && !proven &&
		(l.run.policy.ChecksWhen == ralph.ChecksAlways || claimed) {
		l.gather(ctx, claimed)
	}
	l.recordStatus(ctx)
	l.commit(ctx)
	if l.run.storage != nil {
		return l.run.storageVerdict()
	}
	l.inbox.readInbox(true)
	if agent.Said.Decide != nil { // nobody has seen the question yet, so nothing answers it
		l.inbox.readSteering(ralph.SteeringEarlier)
	}
	at := l.run.moment(ctx)
	before := l.run.state.History.Breaker.State
	v := judge.Decide(l.run.policy, l.run.state.History.Judge(at))
	// The evidence is incomplete. A resume gathers it and judges what the agent left.
	if at.Killed && ralph.CountsAsIteration(agent.End) {
		return v
	}
	for _, gate := range v.Gates {
		if gate.State == ralph.GateWarned {
			l.run.warn("gate_warned", "%s", gate.Detail)
		}
	}
	for _, by := range v.Tasks.Shown {
		if by.By == ralph.ShownByNothing && by.Why != "" {
			l.run.warn("gate_warned", "nothing shows the work on %s: %s", by.Task, by.Why)
		}
	}
	if refusals := v.Refusals(); len(refusals)+len(v.Tasks.Refused) > 0 {
		l.run.emit(ralph.EvClaimRefused, ralph.ClaimRefused{
			Refusals: append([]ralph.Refusal{}, refusals...),
			Tasks:    v.Tasks.Refused,
		})
	}
	l.run.emit(ralph.EvVerdict, ralph.VerdictReached{At: at, Verdict: v})
	l.tree.acceptJudged(ctx)
	l.tree.settleIgnored(v)
	l.recordTasks(ctx, v)
	l.run.noticeForecast(v)
	if before != v.Breaker.State {
		l.run.emit(ralph.EvBreaker, ralph.BreakerMoved{From: before, To: v.Breaker.State, Reason: v.Breaker.Reason})
	}
	l.hooks.runPostHooks(ctx, v)
	return v
}

// gather collects the evidence for a claim. If files changed while checks ran, the checks run once
// more on the tree as it is then. The evaluator is the most expensive part and comes last.
func (l *Loop) gather(ctx context.Context, claimed bool) {
	release := l.checks.holdSession()
	defer release()
	examine := func() {
		if l.step != nil { // other processes may write files meanwhile
			l.tree.checksBegan = time.Now()
		}
		l.checks.examine(ctx, claimed)
	}
	examine()
	if !claimed && !judge.ChecksClaim(l.run.policy, l.run.state.History) {
		return
	}
	if l.tree.movedDuringChecks(ctx) {
		l.tree.compare(ctx, l.run.state.History.Now.Tree)
		examine()
	}
	if l.run.couldStillPass(ctx) {
		l.tree.checkFreshness(ctx)
		l.reviews.evaluate(ctx)
	}
	if l.reviews.evaluator != nil && l.run.couldStillPass(ctx) { // the review took time
		l.tree.checkFreshness(ctx)
	}
}

// recordStatus compares the status block with what the loop observed.
func (l *Loop) recordStatus(ctx context.Context) {
	now := l.run.state.History.Now
	said := now.Agent.Said
	if said.Status == nil && said.StatusProblem == "" || l.run.policy.Status == ralph.StatusOff {
		return
	}
	seen := ralph.StatusBlockSeen{Block: said.Status, Problem: said.StatusProblem}
	if said.Status != nil {
		seen.Files = l.tree.countChanges(ctx, l.list.ownFile())
		seen.Mismatches = judge.Mismatches(l.run.policy, l.run.state.History, *said.Status, seen.Files)
	}
	l.run.emit(ralph.EvStatusBlock, seen)
}

// recordTasks records how a verdict changed the tasks and writes it into the list.
func (l *Loop) recordTasks(ctx context.Context, v ralph.Verdict) {
	if l.list.tasks == nil {
		return
	}
	tell := func(kind ralph.EventType, id, detail string) {
		t, _ := judge.FindTask(l.run.state.History.Tasks, id)
		l.run.emit(kind, ralph.TaskMoved{Task: id, Title: t.Title, Detail: detail})
	}
	for _, id := range v.Tasks.Done {
		tell(ralph.EvTaskDone, id, "claimed, and every check passes")
	}
	for _, r := range v.Tasks.Unconfirmed {
		tell(ralph.EvTaskUnconfirmed, r.Task, r.Detail)
	}
	if id := v.Tasks.GivenUp; id != "" {
		tell(ralph.EvTaskFailed, id, judge.WhyGivenUp(l.run.policy, v.Tasks, l.run.state.History.Now))
	}
	for _, id := range v.Tasks.Reopened {
		tell(ralph.EvTaskReopened, id, "its own check fails again")
	}
	for _, id := range v.Tasks.Regressed {
		l.run.warn("task_regressed", "%s was done, but its own check fails again", id)
	}
	l.run.sync()
	l.list.writeTasks()
	moved := len(v.Tasks.Done)+len(v.Tasks.Reopened) > 0 || v.Tasks.GivenUp != "" || v.Tasks.Question != ""
	// The harness changed the file, so this is no progress of the next iteration.
	if ctx.Err() == nil && moved {
		l.tree.snapshot(ctx, ralph.TreeInput{BaseHead: l.run.state.History.Base.Head})
		if v.Action != ralph.Stop {
			l.stash.stashForNext(ctx)
		}
	}
}

// forecastAfter is the number of iterations before the loop forecasts the remaining cost.
const forecastAfter = 2

// noticeForecast tells the user once what the open tasks will take if they are like the earlier
// ones.
func (j *journal) noticeForecast(v ralph.Verdict) {
	h := j.state.History
	if v.Action == ralph.Stop || !v.Counted || h.Counted != forecastAfter {
		return
	}
	if text := judge.Forecast(h); text != "" {
		j.notice("forecast", text)
	}
}

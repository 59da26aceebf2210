package loop

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/judge"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/promise"
)

// agentRunner runs the agents of a run, one at a time.
type agentRunner struct {
	*journal
	list   *taskList
	hooks  *hookCaller
	goals  *goal
	checks *checkRunner
	agents []Fallback       // the first agent and its fallbacks
	tools  ralph.ToolServer // nil if agents have no tools
	work   string           // what the current iteration is for
}

// nextAgent returns the name of the agent that would work next.
func (r *agentRunner) nextAgent() string {
	next, _, _ := r.state.History.NextAgent(r.policy, r.elapsed())
	return r.agents[min(next, len(r.agents)-1)].Name
}

// currentAgent returns the agent of the current iteration.
func (r *agentRunner) currentAgent() Fallback {
	return r.agents[min(r.state.History.Agent, len(r.agents)-1)]
}

// callsTools reports whether the model of an agent is offered the loop's tools.
func (r *agentRunner) callsTools(agent ralph.Agent) bool {
	caller, ok := agent.(ralph.ToolCaller)
	return r.tools != nil && ok && caller.CallsTools()
}

// listener lets an agent that reports while it works call the loop.
type listener func(in *ralph.AgentInput, calls chan<- func())

// maxAnswer is how many characters of an answer the log keeps.
const maxAnswer = 60_000

// runAgent runs the agent and periodically records its progress.
func (r *agentRunner) runAgent(ctx context.Context, prompt string, listen listener) (ralph.AgentOutcome, error) {
	folder, err := r.folder()
	if err != nil {
		return ralph.AgentOutcome{}, err
	}
	var activity activitySummary
	accepted := r.goals.learnings(ctx)
	worker := r.currentAgent()
	in := ralph.AgentInput{
		Iteration: r.iteration, Prompt: prompt, Dir: r.cfg.Dir, Folder: folder, Model: worker.Model, Marker: r.about.Marker,
		Timeout: r.timeLeft(), IdleTimeout: r.policy.IdleTimeout.Duration(), Budget: judge.Budget(r.policy, r.state.History),
		Words: promise.Options{CompletionTags: r.policy.CompletionTags, Phrases: r.policy.StatusPhrases},
		Live:  func(a ralph.Activity) { activity.note(a); r.show(a) },

		KeepAnswer: r.policy.KeepAnswer, Verifiers: r.verifiers(),
	}
	var outcome ralph.AgentOutcome
	calls := make(chan func())
	shut, report := func() {}, func(o ralph.AgentOutcome) ralph.AgentOutcome { return o }
	if _, ok := worker.Agent.(ralph.Submitter); ok {
		listen(&in, calls)
	} else {
		shut, report = r.openTools(ctx, &in, calls)
	}
	r.runWithHeartbeat(ctx, calls, activity.summary, func(ctx context.Context) {
		defer shut()
		outcome, err = worker.Agent.Run(ctx, in)
	})
	outcome = report(outcome)
	outcome.Said.Learnings = newLearnings(outcome.Said.Learnings, accepted)
	outcome.Answer, _ = text.Cut(promise.Answer(outcome.Answer), maxAnswer)
	return r.classifyCut(ctx, r.withAcceptedClaim(worker.Agent, outcome)), err
}

// verifiers returns the calls of the agent that are evidence, in runs that need it.
func (r *agentRunner) verifiers() ralph.Verifiers {
	if len(r.policy.VerifierTools) == 0 && !r.policy.KeepAnswer {
		return ralph.Verifiers{}
	}
	return ralph.Verifiers{Commands: r.cfg.Checks, Tools: r.policy.VerifierTools}
}

// newLearnings drops learnings that are in the accepted list already: the agent has read them there.
func newLearnings(said []string, accepted string) []string {
	var known []string
	for line := range strings.Lines(accepted) {
		known = append(known, strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "- ")))
	}
	return slices.DeleteFunc(slices.Clone(said), func(text string) bool { return slices.Contains(known, text) })
}

// classifyCut distinguishes an iteration that was cut because the run ran out of time from one that
// reached its own limit.
func (r *agentRunner) classifyCut(ctx context.Context, o ralph.AgentOutcome) ralph.AgentOutcome {
	if o.Agent == "" {
		o.Agent = r.currentAgent().Name
	}
	o.RetryAfter = o.RetryAfter.Rounded()
	if o.End == ralph.EndTimeout {
		trying := ""
		if _, why, ok := strings.Cut(o.Error, " while "); ok {
			trying = " while " + why
		}
		limit := r.policy.IterationTimeout.Short()
		o.End, o.Error = ralph.EndCut, fmt.Sprintf("stopped at its time limit (%s)%s", limit, trying)
		if r.policy.MaxTime > 0 && r.elapsed() >= r.policy.MaxTime {
			o.End, o.Error = ralph.EndOutOfTime, "killed because the run's time was used up"+trying
		}
	}
	if ctx.Err() != nil && o.End.Failed() {
		o.End, o.Error = ralph.EndInterrupted, "interrupted"
	}
	return o
}

// recordOutcome records what the agent did and said.
func (r *agentRunner) recordOutcome(o ralph.AgentOutcome) {
	warned := o.Hooks
	o.Hooks = nil // recorded as separate events
	r.emit(ralph.EvAgentExited, o)
	r.emit(ralph.EvTreeQuiet, ralph.TreeQuiet{Killed: o.Survivors, Names: o.SurvivorNames})
	if o.Truncated {
		r.emit(ralph.EvTruncated, ralph.OutputTruncated{What: "agent output", Bytes: o.OutputBytes})
	}
	r.warnUnmetered("this iteration", o.Spending(), o.End)
	asked := r.currentAgent().Model
	if o.CostEstimated && asked != "" && o.Model != "" && !model.SameModel(asked, o.Model) {
		r.warnOnce("model_differs",
			fmt.Sprintf("%s answered in place of %s; the estimated cost may be wrong", o.Model, asked))
	}
	r.hooks.warnCallHooks(warned)
	said := o.Said
	for _, claim := range judge.ClaimsOf(r.state.History.Now) {
		seen := ralph.SignalSeen{Kind: claim}
		switch claim {
		case "BLOCKED":
			seen.Text = *said.Blocked
		case "DECIDE":
			seen.Text = *said.Decide
		case "UNTESTABLE":
			seen.Text = *said.Untestable
		case said.CompleteTag:
			seen.Text = said.CompleteText
		}
		r.emit(ralph.EvSignal, seen)
	}
	for _, mention := range said.Mentions {
		r.emit(ralph.EvSignal, ralph.SignalSeen{Kind: "mention", Text: mention})
	}
	for _, text := range said.Learnings {
		r.emit(ralph.EvLearning, fold.NewLearning(text))
	}
	for _, id := range said.TasksDone {
		if _, ok := judge.FindTask(r.state.History.Tasks, id); !ok && r.list.tasks != nil {
			r.warn("unknown_task", "the agent claims that %s is done, but %s has no such task", id, r.list.tasks.File())
		}
	}
	for _, unknown := range said.Unknown {
		r.warn("unknown_promise", "the agent printed a promise of unknown type %q%s", unknown, r.hintClaim(unknown))
	}
}

// hintClaim says which tag claims completion if the agent printed the tag of other runs.
func (r *agentRunner) hintClaim(unknown string) string {
	name, _, _ := strings.Cut(unknown, ":")
	tags := r.policy.CompletionTags
	usual := ralph.DefaultPolicy().CompletionTags
	same := func(tag string) bool { return strings.EqualFold(tag, strings.TrimSpace(name)) }
	if len(tags) == 0 || !slices.ContainsFunc(usual, same) {
		return ""
	}
	hint := "; the claim of this run is <promise>" + tags[0] + "</promise>"
	if profile := r.state.Started.Profile; profile != "" && profile != "default" {
		hint += " (profile " + profile + ")"
	}
	return hint
}

// withAcceptedClaim takes the claim of a Submitter only from the case that was accepted, never from
// what the agent printed.
func (r *agentRunner) withAcceptedClaim(agent ralph.Agent, o ralph.AgentOutcome) ralph.AgentOutcome {
	if _, ok := agent.(ralph.Submitter); !ok {
		return o
	}
	o.Said.Complete, o.Said.CompleteTag, o.Said.CompleteText, o.Said.TasksDone = false, "", "", nil
	o.Said.Untestable = nil
	if now := r.state.History.Now; now.Accepted {
		o.Said.Status, o.Said.StatusProblem = nil, "" // a proven claim needs no status block
		said := now.Cases[len(now.Cases)-1].AsReport()
		o.Said.Complete, o.Said.CompleteTag = said.Complete, said.CompleteTag
		o.Said.CompleteText, o.Said.TasksDone = said.CompleteText, said.TasksDone
		o.Said.Untestable = said.Untestable
		o.Answer = now.Agent.Answer
	}
	return o
}

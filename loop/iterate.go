package loop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/prompt"
	"github.com/ralphloop/ralph/judge"
	"github.com/ralphloop/ralph/promise"
)

// An iteration records now and then what was spent, so that a crash loses little of it: a second, or a twentieth of a long iteration.
const (
	firstSummary = time.Second
	lastSummary  = 30 * time.Second
)

func nextSummary(worked time.Duration) time.Duration {
	return min(max(worked/20, firstSummary), lastSummary)
}

// iterate is one fresh agent from its prompt to the verdict.
func (l *Loop) iterate(ctx context.Context) ralph.Verdict {
	l.iteration = l.state.History.Started + 1
	l.choose(ctx)
	if ctx.Err() != nil { // perhaps in the middle of a move, which the next process goes on with
		if v := l.stopsAt(l.moment(ctx)); v != nil {
			return *v
		}
	}
	if v := l.hookBefore(ctx, l.nextWorker()); v != nil {
		return *v
	}
	text, err := l.begin(ctx)
	if err != nil {
		return judge.Abort(l.state.History.Breaker, ralph.Internal, "build prompt: %v", err)
	}
	if l.storage != nil {
		return l.storageVerdict()
	}
	outcome, err := l.runAgent(ctx, text, l.listen)
	if err != nil {
		l.storageFailed(err)
		return l.storageVerdict()
	}
	l.tellOutcome(outcome)
	l.sync()
	return l.judge(ctx)
}

// choose hears what people want and picks what is worked on.
func (l *Loop) choose(ctx context.Context) {
	if err := l.readGoal(ctx); err != nil {
		l.emit(ralph.EvWarning, ralph.Notice{Code: "goal_unreadable", Text: fmt.Sprintf("%v; going on with the text as it was", err)})
	}
	l.tellPlaceholders()
	l.hearPeople(ctx)
	l.selectTask()
	l.arrange(ctx)
}

// begin is phase one: it is durable before the agent starts.
func (l *Loop) begin(ctx context.Context) (string, error) {
	l.selectedBaseline(ctx)
	breaker := l.state.History.Breaker
	started := ralph.IterationStarted{
		Ordinal: l.state.History.Counted + 1, Of: l.policy.MaxIterations, Elapsed: l.elapsed(),
		Diagnose: breaker.State == ralph.BreakerDiagnose, Probe: breaker.State == ralph.BreakerHalfOpen,
	}
	started.Agent, _, _ = l.state.History.NextAgent(l.policy, started.Elapsed)
	in := l.promptInput(ctx, started)
	if started.Diagnose {
		in.Diagnose = breaker.Reason
	}
	l.emit(ralph.EvIterationStarted, started)
	built, err := l.prompter.Prompt(ctx, in)
	if err != nil {
		return "", err
	}
	l.emit(ralph.EvPromptBuilt, ralph.PromptBuilt{Bytes: len(built.Text), Hash: prompt.Hash(built.Text), Parts: built.Parts})
	for _, part := range built.Parts {
		if part.Truncated && (part.Name == "goal" || part.Name == "prompt_file") {
			l.emit(ralph.EvWarning, ralph.Notice{Code: "goal_cut", Text: "the " + part.Name + " is too long for a prompt: its middle was cut out"})
		}
	}
	l.emit(ralph.EvAgentStarted, ralph.AgentStarted{Agent: l.worker().Name, Model: l.worker().Model, Timeout: ralph.Span(l.timeLeft())})
	l.sync()
	return built.Text, nil
}

// worker is the agent of the iteration under way.
func (l *Loop) worker() Fallback { return l.agents[min(l.state.History.Agent, len(l.agents)-1)] }

// timeLeft is how long the agent may work: the iteration's time-out, or the run's time if that ends sooner.
func (l *Loop) timeLeft() time.Duration {
	left := l.policy.IterationTimeout
	if l.policy.MaxTime > 0 {
		if budget := max(l.policy.MaxTime-l.elapsed(), ralph.Span(time.Millisecond)); left == 0 || budget < left {
			left = budget
		}
	}
	return left.Duration()
}

// listener lets an agent that reports while it works call the loop.
type listener func(in *ralph.AgentInput, calls chan<- func())

// runAgent lets the agent work and records now and then how far it is.
func (l *Loop) runAgent(ctx context.Context, text string, listen listener) (ralph.AgentOutcome, error) {
	folder, err := l.folder()
	if err != nil {
		return ralph.AgentOutcome{}, err
	}
	var news newsBox
	worker := l.worker()
	in := ralph.AgentInput{
		Iteration: l.iteration, Prompt: text, Dir: l.cfg.Dir, Folder: folder, Model: worker.Model, Marker: l.about.Marker,
		Timeout: l.timeLeft(), IdleTimeout: l.policy.IdleTimeout.Duration(),
		Words: promise.Options{CompletionTags: l.policy.CompletionTags, Phrases: l.policy.StatusPhrases},
		Live:  func(a ralph.Activity) { news.note(a); told(func() { l.live(a) }) },
	}
	var outcome ralph.AgentOutcome
	calls := make(chan func())
	if _, ok := worker.Agent.(ralph.CaseMaker); ok {
		listen(&in, calls)
	}
	l.attend(ctx, calls, news.summary, func(ctx context.Context) { outcome, err = worker.Agent.Run(ctx, in) })
	return l.outOfTime(ctx, l.claimedBy(worker.Agent, outcome)), err
}

// attend waits for work, does meanwhile what the work calls for, and records now and then what was spent. If that cannot be recorded, the work's
// context is cancelled. A panic of work goes on here.
func (l *Loop) attend(ctx context.Context, calls <-chan func(), summary func(elapsed ralph.Span) ralph.AgentOutput, work func(context.Context)) {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	ended := make(chan any, 1)
	go func() {
		defer func() { ended <- recover() }()
		work(ctx)
	}()
	begun, due := time.Now(), time.NewTimer(firstSummary)
	defer due.Stop()
	for {
		select {
		case bug := <-ended:
			if bug != nil {
				panic(bug)
			}
			return
		case call := <-calls:
			call()
		case <-due.C:
			due.Reset(nextSummary(time.Since(begun)))
			l.emit(ralph.EvAgentOutput, summary(l.elapsed()))
			if l.storage != nil {
				giveUp()
			}
		}
	}
}

// outOfTime tells an iteration that was cut because the run's time was up from one that used up its own.
func (l *Loop) outOfTime(ctx context.Context, o ralph.AgentOutcome) ralph.AgentOutcome {
	if o.Agent == "" {
		o.Agent = l.worker().Name
	}
	o.RetryAfter = o.RetryAfter.Rounded()
	if o.End == ralph.EndTimeout && l.policy.MaxTime > 0 && l.elapsed() >= l.policy.MaxTime {
		trying := ""
		if _, why, ok := strings.Cut(o.Error, " while "); ok {
			trying = " while " + why
		}
		o.End, o.Error = ralph.EndOutOfTime, "killed because the run's time was used up"+trying
	}
	if ctx.Err() != nil && o.End.Failed() {
		o.End, o.Error = ralph.EndInterrupted, "interrupted"
	}
	return o
}

// newsBox keeps the latest of what live news say, which come from another goroutine.
type newsBox struct {
	mu     sync.Mutex
	tool   string
	events int
	cost   *float64
	tokens *ralph.Tokens
	guess  bool // the cost is reckoned
}

func (n *newsBox) note(a ralph.Activity) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch a.Kind {
	case "spent":
		n.cost, n.tokens, n.guess = a.Cost, a.Tokens, a.Estimated
		return
	case "tool":
		n.tool = a.Name
	}
	n.events++
}

func (n *newsBox) summary(elapsed ralph.Span) ralph.AgentOutput {
	n.mu.Lock()
	defer n.mu.Unlock()
	return ralph.AgentOutput{Elapsed: elapsed, Tool: n.tool, Events: n.events, Cost: n.cost, Tokens: n.tokens, Estimated: n.guess}
}

// tellOutcome records what the agent did and said.
func (l *Loop) tellOutcome(o ralph.AgentOutcome) {
	warned := o.Hooks
	o.Hooks = nil // they are events of their own
	l.emit(ralph.EvAgentExited, o)
	l.emit(ralph.EvTreeQuiet, ralph.TreeQuiet{Killed: o.Survivors, Names: o.SurvivorNames})
	if o.Truncated {
		l.emit(ralph.EvTruncated, ralph.Cut{What: "agent output", Bytes: o.OutputBytes})
	}
	l.warnUnmetered("this iteration", o.Spending(), o.End)
	l.tellCallHooks(warned)
	said := o.Said
	for _, claim := range judge.ClaimsOf(l.state.History.Now) {
		seen := ralph.SignalSeen{Kind: claim}
		switch claim {
		case "BLOCKED":
			seen.Text = *said.Blocked
		case "DECIDE":
			seen.Text = *said.Decide
		case said.CompleteTag:
			seen.Text = said.CompleteText
		}
		l.emit(ralph.EvSignal, seen)
	}
	for _, mention := range said.Mentions {
		l.emit(ralph.EvSignal, ralph.SignalSeen{Kind: "mention", Text: mention})
	}
	for _, text := range said.Learnings {
		l.emit(ralph.EvLearning, fold.NewLearning(text))
	}
	for _, id := range said.TasksDone {
		if _, ok := judge.FindTask(l.state.History.Tasks, id); !ok && l.tasks != nil {
			l.emit(ralph.EvWarning, ralph.Notice{Code: "unknown_task", Text: fmt.Sprintf("the agent says that %s is done; %s has no such task", id, l.tasks.File())})
		}
	}
	for _, unknown := range said.Unknown {
		l.emit(ralph.EvWarning, ralph.Notice{Code: "unknown_promise", Text: fmt.Sprintf("the agent printed a promise of unknown type %q", unknown)})
	}
}

// judge gathers the evidence and decides. No process of the agent is alive here.
func (l *Loop) judge(ctx context.Context) ralph.Verdict {
	agent := l.state.History.Now.Agent
	l.inspectTasks()
	claimed := judge.MayComplete(l.policy, l.state.History)
	if ctx.Err() == nil {
		l.snapshot(ctx, ralph.TreeInput{BaseHead: l.state.History.Base.Head, Claimed: claimed || l.policy.Claim == ralph.ClaimOptional})
	}
	l.compare(ctx, l.state.History.Now.Tree)
	proven := judge.ProvenInCase(l.state.History)
	if ctx.Err() == nil && ralph.CountsAsIteration(agent.End) && !proven && (l.policy.ChecksWhen == ralph.ChecksAlways || claimed) {
		l.gather(ctx, claimed)
	}
	l.tellStatus()
	l.commit(ctx)
	if l.storage != nil {
		return l.storageVerdict()
	}
	at := l.moment(ctx)
	before := l.state.History.Breaker.State
	v := judge.Decide(l.policy, l.state.History.Judge(at))
	if at.Killed && ralph.CountsAsIteration(agent.End) { // the evidence is not whole: a resume gathers it and judges what the agent left
		return v
	}
	for _, gate := range v.Gates {
		if gate.State == ralph.GateWarned {
			l.emit(ralph.EvWarning, ralph.Notice{Code: "gate_warned", Text: gate.Detail})
		}
	}
	if refusals := v.Refusals(); len(refusals)+len(v.Tasks.Refused) > 0 {
		l.emit(ralph.EvClaimRefused, ralph.ClaimRefused{Refusals: append([]ralph.Refusal{}, refusals...), Tasks: v.Tasks.Refused})
	}
	l.emit(ralph.EvVerdict, ralph.VerdictReached{At: at, Verdict: v})
	if l.ranInPlace() {
		l.takeAsItIs(ctx)
	}
	l.tellTasks(ctx, v)
	l.tellForecast(v)
	if before != v.Breaker.State {
		l.emit(ralph.EvBreaker, ralph.BreakerMoved{From: before, To: v.Breaker.State, Reason: v.Breaker.Reason})
	}
	l.hookAfter(ctx, v)
	return v
}

// snapshot records the tree as it is. What the user changed while no iteration ran joins the base.
func (l *Loop) snapshot(ctx context.Context, in ralph.TreeInput) {
	if l.state.Move != nil && ctx.Err() != nil { // the next process finds the tree on its way, and goes on
		return
	}
	if tree, ok := l.look(ctx, in); ok {
		l.emit(ralph.EvTreeSnapshot, l.joined(ctx, l.state.History.Tree.Snapshot, tree))
	}
}

// look hashes the tree and says what is missing from its copy.
func (l *Loop) look(ctx context.Context, in ralph.TreeInput) (ralph.TreeState, bool) {
	if l.tree == nil {
		return ralph.TreeState{}, false
	}
	in.Run, in.Iteration = l.id, l.iteration
	tree, err := l.tree.Fingerprint(ctx, in)
	if err != nil {
		if ctx.Err() == nil {
			l.emit(ralph.EvWarning, ralph.Notice{Code: "tree_unknown", Text: fmt.Sprintf("the workspace could not be hashed, so progress is not known: %v", err)})
		}
		return ralph.TreeState{}, false
	}
	for _, left := range tree.Left {
		if l.first(left) {
			l.emit(ralph.EvWarning, ralph.Notice{Code: "snapshot_incomplete", Text: left})
		}
	}
	return tree, true
}

// tellStatus compares what the status block says with what was seen.
func (l *Loop) tellStatus() {
	now := l.state.History.Now
	said := now.Agent.Said
	if said.Status == nil && said.StatusProblem == "" || l.policy.Status == ralph.StatusOff {
		return
	}
	seen := ralph.StatusBlockSeen{Block: said.Status, Problem: said.StatusProblem}
	if said.Status != nil {
		seen.Mismatches = judge.Mismatches(*said.Status, l.state.History)
	}
	l.emit(ralph.EvStatusBlock, seen)
}

// folder is where this iteration leaves its files, "" when nothing keeps them.
func (l *Loop) folder() (string, error) {
	folders, ok := l.recorder.(ralph.Folders)
	if !ok {
		return "", nil
	}
	dir, err := folders.Folder(l.iteration)
	if err != nil && !errors.Is(err, ralph.ErrIO) {
		err = fmt.Errorf("%w: %w", ralph.ErrIO, err)
	}
	return dir, err
}

func (l *Loop) checkFolder(checks int) (string, error) {
	folder, err := l.folder()
	if err != nil || folder == "" || checks == 0 {
		return "", err
	}
	folder = filepath.Join(folder, "checks")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("%w: %w", ralph.ErrIO, err)
	}
	return folder, nil
}

package ralph

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ralphloop/ralph/internal/prompt"
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
func (l *Loop) iterate(ctx context.Context) Verdict {
	l.iteration = l.state.History.Started + 1
	l.choose(ctx)
	if ctx.Err() != nil { // perhaps in the middle of a move, which the next process goes on with
		if v := l.stopsAt(l.moment(ctx)); v != nil {
			return *v
		}
	}
	if v := l.hookBefore(ctx); v != nil {
		return *v
	}
	text, err := l.begin(ctx)
	if err != nil {
		return abort(l.state.History.Breaker, Internal, "build prompt: %v", err)
	}
	if l.storage != nil {
		return l.storageVerdict()
	}
	outcome, err := l.runAgent(ctx, text)
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
		l.emit(EvWarning, Notice{"goal_unreadable", fmt.Sprintf("%v; going on with the text as it was", err)})
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
	started := IterationStarted{
		Ordinal: l.state.History.Counted + 1, Of: l.policy.MaxIterations, Elapsed: l.elapsed(),
		Diagnose: breaker.State == BreakerDiagnose, Probe: breaker.State == BreakerHalfOpen,
	}
	started.Agent, _, _ = l.state.History.nextAgent(l.policy, started.Elapsed)
	in := l.promptInput(ctx, started)
	if started.Diagnose {
		in.Diagnose = breaker.Reason
	}
	l.emit(EvIterationStarted, started)
	built, err := l.prompter.Prompt(ctx, in)
	if err != nil {
		return "", err
	}
	l.emit(EvPromptBuilt, PromptBuilt{Bytes: len(built.Text), Hash: prompt.Hash(built.Text), Parts: built.Parts})
	for _, part := range built.Parts {
		if part.Truncated && (part.Name == "goal" || part.Name == "prompt_file") {
			l.emit(EvWarning, Notice{"goal_cut", "the " + part.Name + " is too long for a prompt: its middle was cut out"})
		}
	}
	l.emit(EvAgentStarted, AgentStarted{Agent: l.worker().Name, Model: l.worker().Model, Timeout: Span(l.timeLeft())})
	l.sync()
	return built.Text, nil
}

// worker is the agent of the iteration under way.
func (l *Loop) worker() Fallback { return l.agents[min(l.state.History.Agent, len(l.agents)-1)] }

// timeLeft is how long the agent may work: the iteration's time-out, or the run's time if that ends sooner.
func (l *Loop) timeLeft() time.Duration {
	left := l.policy.IterationTimeout
	if l.policy.MaxTime > 0 {
		if budget := max(l.policy.MaxTime-l.elapsed(), Span(time.Millisecond)); left == 0 || budget < left {
			left = budget
		}
	}
	return left.Duration()
}

// runAgent lets the agent work and records now and then how far it is.
func (l *Loop) runAgent(ctx context.Context, text string) (AgentOutcome, error) {
	folder, err := l.folder()
	if err != nil {
		return AgentOutcome{}, err
	}
	var news newsBox
	worker := l.worker()
	in := AgentInput{
		Iteration: l.iteration, Prompt: text, Dir: l.cfg.Dir, Folder: folder, Model: worker.Model, Marker: l.about.Marker,
		Timeout: l.timeLeft(), IdleTimeout: l.policy.IdleTimeout.Duration(),
		Words: promise.Options{CompletionTags: l.policy.CompletionTags, Phrases: l.policy.StatusPhrases},
		Live:  func(a Activity) { news.note(a); told(func() { l.live(a) }) },
	}
	var outcome AgentOutcome
	calls := make(chan func())
	if _, ok := worker.Agent.(CaseMaker); ok {
		l.listen(&in, calls)
	}
	l.attend(ctx, calls, news.summary, func(ctx context.Context) { outcome, err = worker.Agent.Run(ctx, in) })
	return l.outOfTime(ctx, l.claimedBy(worker.Agent, outcome)), err
}

// attend waits for work, does meanwhile what the work calls for, and records now and then what was spent. If that cannot be recorded, the work's
// context is cancelled. A panic of work goes on here.
func (l *Loop) attend(ctx context.Context, calls <-chan func(), summary func(elapsed Span) AgentOutput, work func(context.Context)) {
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
			l.emit(EvAgentOutput, summary(l.elapsed()))
			if l.storage != nil {
				giveUp()
			}
		}
	}
}

// outOfTime tells an iteration that was cut because the run's time was up from one that used up its own.
func (l *Loop) outOfTime(ctx context.Context, o AgentOutcome) AgentOutcome {
	if o.Agent == "" {
		o.Agent = l.worker().Name
	}
	o.RetryAfter = o.RetryAfter.kept()
	if o.End == EndTimeout && l.policy.MaxTime > 0 && l.elapsed() >= l.policy.MaxTime {
		trying := ""
		if _, why, ok := strings.Cut(o.Error, " while "); ok {
			trying = " while " + why
		}
		o.End, o.Error = EndOutOfTime, "killed because the run's time was used up"+trying
	}
	if ctx.Err() != nil && o.End.Failed() {
		o.End, o.Error = EndInterrupted, "interrupted"
	}
	return o
}

// newsBox keeps the latest of what live news say, which come from another goroutine.
type newsBox struct {
	mu     sync.Mutex
	tool   string
	events int
	cost   *float64
	tokens *Tokens
	guess  bool // the cost is reckoned
}

func (n *newsBox) note(a Activity) {
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

func (n *newsBox) summary(elapsed Span) AgentOutput {
	n.mu.Lock()
	defer n.mu.Unlock()
	return AgentOutput{Elapsed: elapsed, Tool: n.tool, Events: n.events, Cost: n.cost, Tokens: n.tokens, Estimated: n.guess}
}

// tellOutcome records what the agent did and said.
func (l *Loop) tellOutcome(o AgentOutcome) {
	warned := o.Hooks
	o.Hooks = nil // they are events of their own
	l.emit(EvAgentExited, o)
	l.emit(EvTreeQuiet, TreeQuiet{Killed: o.Survivors, Names: o.SurvivorNames})
	if o.Truncated {
		l.emit(EvTruncated, Cut{What: "agent output", Bytes: o.OutputBytes})
	}
	l.warnUnmetered("this iteration", o.spending(), o.End)
	l.tellCallHooks(warned)
	said := o.Said
	for _, claim := range claimsOf(l.state.History.Now) {
		seen := SignalSeen{Kind: claim}
		switch claim {
		case "BLOCKED":
			seen.Text = *said.Blocked
		case "DECIDE":
			seen.Text = *said.Decide
		case said.CompleteTag:
			seen.Text = said.CompleteText
		}
		l.emit(EvSignal, seen)
	}
	for _, mention := range said.Mentions {
		l.emit(EvSignal, SignalSeen{Kind: "mention", Text: mention})
	}
	for _, text := range said.Learnings {
		l.emit(EvLearning, learned(text))
	}
	for _, id := range said.TasksDone {
		if _, ok := findTask(l.state.History.Tasks, id); !ok && l.tasks != nil {
			l.emit(EvWarning, Notice{"unknown_task", fmt.Sprintf("the agent says that %s is done; %s has no such task", id, l.tasks.File())})
		}
	}
	for _, unknown := range said.Unknown {
		l.emit(EvWarning, Notice{"unknown_promise", fmt.Sprintf("the agent printed a promise of unknown type %q", unknown)})
	}
}

// judge gathers the evidence and decides. No process of the agent is alive here.
func (l *Loop) judge(ctx context.Context) Verdict {
	agent := l.state.History.Now.Agent
	l.inspectTasks()
	claimed := MayComplete(l.policy, l.state.History)
	if ctx.Err() == nil {
		l.snapshot(ctx, TreeInput{BaseHead: l.state.History.Base.Head, Claimed: claimed || l.policy.Claim == ClaimOptional})
	}
	l.compare(ctx, l.state.History.Now.Tree)
	proven := ProvenInCase(l.state.History)
	if ctx.Err() == nil && counts(agent.End) && !proven && (l.policy.ChecksWhen == ChecksAlways || claimed) {
		l.gather(ctx, claimed)
	}
	l.tellStatus()
	l.commit(ctx)
	if l.storage != nil {
		return l.storageVerdict()
	}
	at := l.moment(ctx)
	before := l.state.History.Breaker.State
	v := Decide(l.policy, l.state.History.Judge(at))
	if at.Killed && counts(agent.End) { // the evidence is not whole: a resume gathers it and judges what the agent left
		return v
	}
	for _, gate := range v.Gates {
		if gate.State == GateWarned {
			l.emit(EvWarning, Notice{"gate_warned", gate.Detail})
		}
	}
	if refusals := v.Refusals(); len(refusals)+len(v.Tasks.Refused) > 0 {
		l.emit(EvClaimRefused, ClaimRefused{append([]Refusal{}, refusals...), v.Tasks.Refused})
	}
	l.emit(EvVerdict, VerdictReached{at, v})
	if l.ranInPlace() {
		l.takeAsItIs(ctx)
	}
	l.tellTasks(ctx, v)
	l.tellForecast(v)
	if before != v.Breaker.State {
		l.emit(EvBreaker, BreakerMoved{before, v.Breaker.State, v.Breaker.Reason})
	}
	l.hookAfter(ctx, v)
	return v
}

// snapshot records the tree as it is. What the user changed while no iteration ran joins the base.
func (l *Loop) snapshot(ctx context.Context, in TreeInput) {
	if l.state.Move != nil && ctx.Err() != nil { // the next process finds the tree on its way, and goes on
		return
	}
	if tree, ok := l.look(ctx, in); ok {
		l.emit(EvTreeSnapshot, l.joined(ctx, l.state.History.tree.Snapshot, tree))
	}
}

// look hashes the tree and says what is missing from its copy.
func (l *Loop) look(ctx context.Context, in TreeInput) (TreeState, bool) {
	if l.tree == nil {
		return TreeState{}, false
	}
	in.Run, in.Iteration = l.id, l.iteration
	tree, err := l.tree.Fingerprint(ctx, in)
	if err != nil {
		if ctx.Err() == nil {
			l.emit(EvWarning, Notice{"tree_unknown", fmt.Sprintf("the workspace could not be hashed, so progress is not known: %v", err)})
		}
		return TreeState{}, false
	}
	for _, left := range tree.Left {
		if l.first(left) {
			l.emit(EvWarning, Notice{"snapshot_incomplete", left})
		}
	}
	return tree, true
}

// tellStatus compares what the status block says with what was seen.
func (l *Loop) tellStatus() {
	now := l.state.History.Now
	said := now.Agent.Said
	if said.Status == nil && said.StatusProblem == "" || l.policy.Status == StatusOff {
		return
	}
	seen := StatusBlockSeen{Block: said.Status, Problem: said.StatusProblem}
	if said.Status != nil {
		seen.Mismatches = Mismatches(*said.Status, l.state.History)
	}
	l.emit(EvStatusBlock, seen)
}

// folder is where this iteration leaves its files, "" when nothing keeps them.
func (l *Loop) folder() (string, error) {
	folders, ok := l.recorder.(Folders)
	if !ok {
		return "", nil
	}
	dir, err := folders.Folder(l.iteration)
	if err != nil && !errors.Is(err, ErrIO) {
		err = fmt.Errorf("%w: %w", ErrIO, err)
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
		return "", fmt.Errorf("%w: %w", ErrIO, err)
	}
	return folder, nil
}

package ralph

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/ralphloop/ralph/internal/text"
)

// Loop runs one agent again and again until its work is proven, a person is needed, or a limit is reached.
type Loop struct {
	cfg       Config
	policy    Policy
	agents    []Fallback // the first one and those that may take over
	checker   Checker
	examiner  Examiner
	evaluator Evaluator
	tree      Tree
	prompter  Prompter
	recorder  Recorder
	mailbox   Mailbox
	tasks     Tasks
	commits   commits
	worktrees Worktrees
	hooks     []Hooks

	observers []func(Event)
	live      func(Activity)

	id       string
	about    RunStarted
	state    *State
	resuming bool
	crashed  bool // the process before this one did not end the run
	torn     int64
	notices  []Notice

	begun     time.Time // of this process's share of the run
	before    Span      // spent by earlier processes
	iteration int       // under way, 0 before the first
	stop      atomic.Pointer[Signal]
	storage   error // the first failure to record; nothing is recorded after it
	goal      goalText
	unmetered bool             // it was said that not everything is counted
	steering  []SteeringSeen   // in force, in the order of its files
	unknown   string           // what was said about placeholders of the prompt file
	unread    string           // what was said about a list that cannot be read
	told      map[string]bool  // what was said and is not said again
	traceless map[string]bool  // tasks that were given up and left nothing in the tree
	notPut    int              // the iteration after which what checks wrote could not be put back, counted from 1
	wrote     int              // folders with what checks wrote
	callHooks map[HookRun]bool // hooks about single calls whose warning was said, with the reason
	asked     string           // by an earlier run, and never answered
	changed   Tampering        // what the agent under judgement did to files that matter to checks
	isolation string           // of views, as it was told
	hooked    bool             // hooks were asked since the tree was last looked at
}

// ID is the run's id.
func (l *Loop) ID() string { return l.id }

// State is what is known of the run. It must not be used while Run is under way, but by observers.
func (l *Loop) State() *State { return l.state }

// Stop asks the run to end after the iteration under way, which is judged first. It may be called at any time, from anywhere.
func (l *Loop) Stop(s Signal) { l.stop.CompareAndSwap(nil, &s) }

// Killed is the cause to cancel Run's context with: the agent is killed, the state saved, and the run is Interrupted by Signal.
type Killed struct{ Signal Signal }

func (k Killed) Error() string { return "killed by " + string(k.Signal) }

// Run works until a verdict says stop. How the run ended is in the Result, never in the error: an error means that the run could not be
// begun. A cancelled ctx kills the agent and saves the state.
func (l *Loop) Run(ctx context.Context) (Result, error) {
	l.begun, l.before = time.Now(), l.state.Elapsed
	verdict, err := l.guarded(ctx)
	if err != nil {
		return Result{}, err
	}
	return l.finish(ctx, verdict), nil
}

// guarded turns a panic into the outcome INTERNAL, so that a bug never leaves with somebody else's exit code.
func (l *Loop) guarded(ctx context.Context) (v Verdict, err error) {
	defer func() {
		if bug := recover(); bug != nil {
			v = abort(Breaker{}, Internal, "a bug in ralph: %v", bug)
			l.emit(EvWarning, Notice{"panic", fmt.Sprintf("%v\n%s", bug, debug.Stack())})
			err = nil
		}
	}()
	if err := l.open(ctx); err != nil {
		return Verdict{}, err
	}
	return l.work(ctx), nil
}

// open begins or resumes the log and takes the baseline.
func (l *Loop) open(ctx context.Context) error {
	if err := l.enterWorktree(ctx); err != nil {
		return err
	}
	if err := l.readGoal(ctx); err != nil {
		return err
	}
	if l.resuming {
		l.reopen()
	} else {
		l.emit(EvRunStarted, l.started())
	}
	for _, n := range l.notices {
		l.emit(EvNotice, n)
	}
	if err := l.openTasks(); err != nil {
		return err
	}
	switch {
	case l.state.History.Started == 0:
		l.baseline(ctx)
	case l.state.Phase == PhaseNone:
		l.move(ctx)                                                 // before anything is taken for the user's
		unseen := l.state.History.treeOf != l.state.History.Started // nobody saw what the last agent left
		if l.state.Checking && l.state.History.checkedInPlace() {   // a check that was killed may have written what is there
			l.takeAsItIs(ctx)
		}
		l.snapshot(ctx, TreeInput{BaseHead: l.state.History.Base.Head})
		if unseen || len(l.state.Last.Tampered) > 0 { // or a move was done, and the process died before it looked what came of it
			l.compare(ctx, l.state.History.tree)
		}
	}
	return nil
}

func (l *Loop) reopen() {
	l.iteration, l.crashed = l.state.History.Started, l.state.Stopped == nil
	resumed := RunResumed{
		Ralph: l.about.Ralph, Agent: l.cfg.AgentName, Model: l.cfg.Model, Policy: l.policy, Settings: l.about.Settings,
		PID: l.about.PID, Marker: l.about.Marker, TornBytes: l.torn,
	}
	switch l.state.Phase {
	case PhaseBegun:
		resumed.Interrupted = l.iteration
	case PhaseExited:
		resumed.Judged = l.iteration
	}
	l.emit(EvRunResumed, resumed)
}

// baseline looks at the workspace before any agent does, so that "already green" and "already red" are known.
func (l *Loop) baseline(ctx context.Context) {
	l.snapshot(ctx, TreeInput{})
	if l.policy.Baseline {
		l.runChecks(ctx, l.baselineChecks())
		l.runHidden(ctx)
	}
}

// work is the loop itself.
func (l *Loop) work(ctx context.Context) Verdict {
	if l.resuming && l.state.Phase == PhaseExited {
		if v := l.judge(ctx); v.Action == Stop {
			return v
		}
	}
	for {
		if v := l.between(ctx); v.Action == Stop {
			return v
		}
		v := l.iterate(ctx)
		switch v.Action {
		case Stop:
			return v
		case Wait:
			if v.WaitFor == WaitAnswer {
				l.awaitAnswer(ctx, v.Detail)
				continue
			}
			l.wait(ctx, Waiting{For: v.WaitFor, Wait: v.Wait, Detail: v.Detail})
		}
	}
}

// between decides whether another iteration may start, and waits for what must be waited for.
func (l *Loop) between(ctx context.Context) Verdict {
	if done := l.provenBefore(); done != nil {
		return *done
	}
	l.waitForTurn(ctx)
	if l.storage != nil {
		return l.storageVerdict()
	}
	at := l.moment(ctx)
	v := Decide(l.policy, l.state.History.Judge(at))
	if v.Action == Stop {
		l.emit(EvVerdict, VerdictReached{at, v})
	}
	return v
}

// provenBefore is the verdict of a run that was proven done and killed before it could say so.
func (l *Loop) provenBefore() *Verdict {
	if v := l.state.Verdict; l.resuming && Completed(v) {
		return &v
	}
	return nil
}

// finish closes the log and gives the result.
func (l *Loop) finish(ctx context.Context, v Verdict) Result {
	stopped := RunStopped{
		Reason: v.Reason, Signal: v.Signal, ExitCode: ExitCode(v.Reason, v.Signal), Status: StatusOf(v.Reason),
		Detail: v.Detail, Hint: v.Hint, VerifiedBy: provenBy(l.state.History), Elapsed: l.elapsed(),
	}
	if v.Reason == IOFailed || v.Reason == Internal { // nothing that such a run says is proof
		stopped.VerifiedBy = nil
	}
	stopped.Changed = l.whatChanged(context.WithoutCancel(ctx))
	l.emit(EvRunStopped, stopped)
	l.sync()
	l.hookStop(ctx, l.unlessLost(stopped))
	stopped = l.unlessLost(stopped)
	l.state.Stopped = &stopped
	result := l.state.Result()
	if chained, ok := l.recorder.(Chained); ok && l.storage == nil {
		result.Receipt = chained.Chain()
	}
	if keeper, ok := l.recorder.(ResultKeeper); ok && l.storage == nil {
		if err := keeper.WriteResult(result); err != nil {
			l.storageFailed(err)
			return l.finish(ctx, l.storageVerdict())
		}
	}
	return result
}

// unlessLost is the end of the run, unless it could not be written: nobody could trust another code then.
func (l *Loop) unlessLost(stopped RunStopped) RunStopped {
	if l.storage != nil && stopped.Reason != IOFailed {
		stopped.Reason, stopped.ExitCode, stopped.Status = IOFailed, ExitCode(IOFailed, ""), StatusFailed
		stopped.Detail, stopped.VerifiedBy = l.storage.Error(), nil
	}
	return stopped
}

// whatChanged says what the run changed, as far as that can be told from what the user had changed before.
func (l *Loop) whatChanged(ctx context.Context) string {
	base, now := l.state.History.Base, l.state.History.tree
	if h := l.state.History; h.Judging && h.Now.Tree.Known { // cut in the middle of its judgement
		now = h.Now.Tree
	}
	if tree, ok := l.tree.(Comparer); ok && base.Snapshot != "" && now.Snapshot != "" {
		if changed, err := tree.Between(ctx, base.Snapshot, now.Snapshot); err == nil {
			return changed
		}
	}
	tree, ok := l.tree.(Changer)
	switch {
	case !ok:
		return ""
	case base.Known && now.Known && now.same(base):
		return "no files changed"
	}
	changed, err := tree.Changed(ctx, base.Head)
	if err != nil {
		return ""
	}
	if base.Dirty > 0 {
		changed += fmt.Sprintf(" (with %s that had been changed before the run)", text.Count(base.Dirty, "file"))
	}
	return changed
}

// emit records one event, applies it, and tells it.
func (l *Loop) emit(kind EventType, data any) {
	e := Event{Version: EventVersion, Seq: l.state.Seq + 1, Time: time.Now().UTC(), Run: l.id, Iteration: l.iteration, Type: kind, Data: data}
	if l.recorder != nil && l.storage == nil {
		if err := l.recorder.Append(e); err != nil {
			l.storageFailed(err)
		}
	}
	if err := l.state.Apply(e); err != nil {
		panic(err)
	}
	broke := false
	for i, see := range l.observers {
		if see != nil && !told(func() { see(e) }) { // a view that breaks must not break the run
			l.observers[i], broke = nil, true
		}
	}
	if broke {
		l.emit(EvWarning, Notice{"observer_panicked", "a view of this run broke down and is told nothing more"})
	}
}

// told reports whether a view took what it was told without panicking.
func told(tell func()) (ok bool) {
	defer func() { ok = recover() == nil }()
	tell()
	return
}

// sync makes everything recorded so far durable.
func (l *Loop) sync() {
	if l.recorder == nil || l.storage != nil {
		return
	}
	if err := l.recorder.Sync(); err != nil {
		l.storageFailed(err)
	}
}

func (l *Loop) storageFailed(err error) {
	if errors.Is(err, ErrIO) {
		l.storage = err
		return
	}
	l.storage = fmt.Errorf("%w: %w", ErrIO, err)
}

func (l *Loop) storageVerdict() Verdict {
	return abort(l.state.History.Breaker, IOFailed, "%v", l.storage)
}

func (l *Loop) elapsed() Span { return (l.before + Span(time.Since(l.begun))).kept() }

// moment is what the clock and the world outside say right now.
func (l *Loop) moment(ctx context.Context) Moment {
	at := Moment{Elapsed: l.elapsed()}
	if ctx.Err() != nil {
		at.Signal, at.Killed = SignalInterrupt, true
		var killed Killed
		if errors.As(context.Cause(ctx), &killed) {
			at.Signal = killed.Signal
		}
		return at
	}
	if orders, err := l.orders(); err == nil && orders.Stop {
		l.Stop(SignalStop)
	}
	if s := l.stop.Load(); s != nil {
		at.Signal = *s
	}
	return at
}

func (l *Loop) orders() (Orders, error) {
	if l.mailbox == nil {
		return Orders{}, nil
	}
	return l.mailbox.Poll()
}

package loop

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/judge"
)

// Loop runs one agent again and again until its work is proven, a person is needed, or a limit is reached.
type Loop struct {
	cfg       Config
	policy    ralph.Policy
	agents    []Fallback // the first one and those that may take over
	checker   ralph.Checker
	examiner  ralph.Examiner
	evaluator ralph.Evaluator
	tree      ralph.Tree
	prompter  ralph.Prompter
	recorder  ralph.Recorder
	mailbox   ralph.Mailbox
	tasks     ralph.Tasks
	commits   commits
	worktrees ralph.Worktrees
	hooks     []ralph.Hooks

	observers []func(ralph.Event)
	live      func(ralph.Activity)

	id       string
	about    ralph.RunStarted
	state    *fold.State
	resuming bool
	crashed  bool // the process before this one did not end the run
	torn     int64
	notices  []ralph.Notice

	begun     time.Time  // of this process's share of the run
	before    ralph.Span // spent by earlier processes
	iteration int        // under way, 0 before the first
	stop      atomic.Pointer[ralph.Signal]
	storage   error // the first failure to record; nothing is recorded after it
	goal      goalText
	unmetered bool                   // it was said that not everything is counted
	steering  []ralph.SteeringSeen   // in force, in the order of its files
	unknown   string                 // what was said about placeholders of the prompt file
	unread    string                 // what was said about a list that cannot be read
	told      map[string]bool        // what was said and is not said again
	traceless map[string]bool        // tasks that were given up and left nothing in the tree
	notPut    int                    // the iteration after which what checks wrote could not be put back, counted from 1
	wrote     int                    // folders with what checks wrote
	callHooks map[ralph.HookRun]bool // hooks about single calls whose warning was said, with the reason
	asked     string                 // by an earlier run, and never answered
	changed   ralph.Tampering        // what the agent under judgement did to files that matter to checks
	isolation string                 // of views, as it was told
	hooked    bool                   // hooks were asked since the tree was last looked at
}

// ID is the run's id.
func (l *Loop) ID() string { return l.id }

// State is what is known of the run. It must not be used while Run is under way, but by observers.
func (l *Loop) State() *fold.State { return l.state }

// Stop asks the run to end after the iteration under way, which is judged first. It may be called at any time, from anywhere.
func (l *Loop) Stop(s ralph.Signal) { l.stop.CompareAndSwap(nil, &s) }

// Run works until a verdict says stop. How the run ended is in the Result, never in the error: an error means that the run could not be
// begun. A cancelled ctx kills the agent and saves the state.
func (l *Loop) Run(ctx context.Context) (ralph.Result, error) {
	l.begun, l.before = time.Now(), l.state.Elapsed
	verdict, err := l.guarded(ctx)
	if err != nil {
		return ralph.Result{}, err
	}
	return l.finish(ctx, verdict), nil
}

// guarded turns a panic into the outcome INTERNAL, so that a bug never leaves with somebody else's exit code.
func (l *Loop) guarded(ctx context.Context) (v ralph.Verdict, err error) {
	defer func() {
		if bug := recover(); bug != nil {
			v = judge.Abort(ralph.Breaker{}, ralph.Internal, "a bug in ralph: %v", bug)
			l.emit(ralph.EvWarning, ralph.Notice{Code: "panic", Text: fmt.Sprintf("%v\n%s", bug, debug.Stack())})
			err = nil
		}
	}()
	if err := l.open(ctx); err != nil {
		return ralph.Verdict{}, err
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
		l.emit(ralph.EvRunStarted, l.started())
	}
	for _, n := range l.notices {
		l.emit(ralph.EvNotice, n)
	}
	if err := l.openTasks(); err != nil {
		return err
	}
	switch {
	case l.state.History.Started == 0:
		l.baseline(ctx)
	case l.state.Phase == fold.PhaseNone:
		l.move(ctx)                                                 // before anything is taken for the user's
		unseen := l.state.History.TreeOf != l.state.History.Started // nobody saw what the last agent left
		if l.state.Checking && l.state.History.CheckedInPlace() {   // a check that was killed may have written what is there
			l.takeAsItIs(ctx)
		}
		l.snapshot(ctx, ralph.TreeInput{BaseHead: l.state.History.Base.Head})
		if unseen || len(l.state.Last.Tampered) > 0 { // or a move was done, and the process died before it looked what came of it
			l.compare(ctx, l.state.History.Tree)
		}
	}
	return nil
}

func (l *Loop) reopen() {
	l.iteration, l.crashed = l.state.History.Started, l.state.Stopped == nil
	resumed := ralph.RunResumed{
		Ralph: l.about.Ralph, Agent: l.cfg.AgentName, Model: l.cfg.Model, Policy: l.policy, Settings: l.about.Settings,
		PID: l.about.PID, Marker: l.about.Marker, TornBytes: l.torn,
	}
	switch l.state.Phase {
	case fold.PhaseBegun:
		resumed.Interrupted = l.iteration
	case fold.PhaseExited:
		resumed.Judged = l.iteration
	}
	l.emit(ralph.EvRunResumed, resumed)
}

// baseline looks at the workspace before any agent does, so that "already green" and "already red" are known.
func (l *Loop) baseline(ctx context.Context) {
	l.snapshot(ctx, ralph.TreeInput{})
	if l.policy.Baseline {
		l.runChecks(ctx, l.baselineChecks())
		l.runHidden(ctx)
	}
}

// work is the loop itself.
func (l *Loop) work(ctx context.Context) ralph.Verdict {
	if l.resuming && l.state.Phase == fold.PhaseExited {
		if v := l.judge(ctx); v.Action == ralph.Stop {
			return v
		}
	}
	for {
		if v := l.between(ctx); v.Action == ralph.Stop {
			return v
		}
		v := l.iterate(ctx)
		switch v.Action {
		case ralph.Stop:
			return v
		case ralph.Wait:
			if v.WaitFor == ralph.WaitAnswer {
				l.awaitAnswer(ctx, v.Detail)
				continue
			}
			l.wait(ctx, ralph.Waiting{For: v.WaitFor, Wait: v.Wait, Detail: v.Detail})
		}
	}
}

// between decides whether another iteration may start, and waits for what must be waited for.
func (l *Loop) between(ctx context.Context) ralph.Verdict {
	if done := l.provenBefore(); done != nil {
		return *done
	}
	l.waitForTurn(ctx)
	if l.storage != nil {
		return l.storageVerdict()
	}
	at := l.moment(ctx)
	v := judge.Decide(l.policy, l.state.History.Judge(at))
	if v.Action == ralph.Stop {
		l.emit(ralph.EvVerdict, ralph.VerdictReached{At: at, Verdict: v})
	}
	return v
}

// provenBefore is the verdict of a run that was proven done and killed before it could say so.
func (l *Loop) provenBefore() *ralph.Verdict {
	if v := l.state.Verdict; l.resuming && judge.Completed(v) {
		return &v
	}
	return nil
}

// finish closes the log and gives the result.
func (l *Loop) finish(ctx context.Context, v ralph.Verdict) ralph.Result {
	stopped := ralph.RunStopped{
		Reason: v.Reason, Signal: v.Signal, ExitCode: ralph.ExitCode(v.Reason, v.Signal), Status: ralph.StatusOf(v.Reason),
		Detail: v.Detail, Hint: v.Hint, VerifiedBy: judge.ProvenBy(l.state.History), Elapsed: l.elapsed(),
	}
	if v.Reason == ralph.IOFailed || v.Reason == ralph.Internal { // nothing that such a run says is proof
		stopped.VerifiedBy = nil
	}
	stopped.Changed = l.whatChanged(context.WithoutCancel(ctx))
	l.emit(ralph.EvRunStopped, stopped)
	l.sync()
	l.hookStop(ctx, l.unlessLost(stopped))
	stopped = l.unlessLost(stopped)
	l.state.Stopped = &stopped
	result := l.state.Result()
	if chained, ok := l.recorder.(ralph.Chained); ok && l.storage == nil {
		result.Receipt = chained.Chain()
	}
	if keeper, ok := l.recorder.(ralph.ResultKeeper); ok && l.storage == nil {
		if err := keeper.WriteResult(result); err != nil {
			l.storageFailed(err)
			return l.finish(ctx, l.storageVerdict())
		}
	}
	return result
}

// unlessLost is the end of the run, unless it could not be written: nobody could trust another code then.
func (l *Loop) unlessLost(stopped ralph.RunStopped) ralph.RunStopped {
	if l.storage != nil && stopped.Reason != ralph.IOFailed {
		stopped.Reason, stopped.ExitCode, stopped.Status = ralph.IOFailed, ralph.ExitCode(ralph.IOFailed, ""), ralph.StatusFailed
		stopped.Detail, stopped.VerifiedBy = l.storage.Error(), nil
	}
	return stopped
}

// whatChanged says what the run changed, as far as that can be told from what the user had changed before.
func (l *Loop) whatChanged(ctx context.Context) string {
	base, now := l.state.History.Base, l.state.History.Tree
	if h := l.state.History; h.Judging && h.Now.Tree.Known { // cut in the middle of its judgement
		now = h.Now.Tree
	}
	if tree, ok := l.tree.(ralph.Comparer); ok && base.Snapshot != "" && now.Snapshot != "" {
		if changed, err := tree.Between(ctx, base.Snapshot, now.Snapshot); err == nil {
			return changed
		}
	}
	tree, ok := l.tree.(ralph.Changer)
	switch {
	case !ok:
		return ""
	case base.Known && now.Known && now.Same(base):
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
func (l *Loop) emit(kind ralph.EventType, data any) {
	e := ralph.Event{Version: ralph.EventVersion, Seq: l.state.Seq + 1, Time: time.Now().UTC(), Run: l.id, Iteration: l.iteration, Type: kind, Data: data}
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
		l.emit(ralph.EvWarning, ralph.Notice{Code: "observer_panicked", Text: "a view of this run broke down and is told nothing more"})
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
	if errors.Is(err, ralph.ErrIO) {
		l.storage = err
		return
	}
	l.storage = fmt.Errorf("%w: %w", ralph.ErrIO, err)
}

func (l *Loop) storageVerdict() ralph.Verdict {
	return judge.Abort(l.state.History.Breaker, ralph.IOFailed, "%v", l.storage)
}

func (l *Loop) elapsed() ralph.Span { return (l.before + ralph.Span(time.Since(l.begun))).Rounded() }

// moment is what the clock and the world outside say right now.
func (l *Loop) moment(ctx context.Context) ralph.Moment {
	at := ralph.Moment{Elapsed: l.elapsed()}
	if ctx.Err() != nil {
		at.Signal, at.Killed = ralph.SignalInterrupt, true
		var killed ralph.Killed
		if errors.As(context.Cause(ctx), &killed) {
			at.Signal = killed.Signal
		}
		return at
	}
	if orders, err := l.orders(); err == nil && orders.Stop {
		stop := ralph.SignalStop
		l.stop.CompareAndSwap(nil, &stop)
	}
	if s := l.stop.Load(); s != nil {
		at.Signal = *s
	}
	return at
}

func (l *Loop) orders() (ralph.Orders, error) {
	if l.mailbox == nil {
		return ralph.Orders{}, nil
	}
	return l.mailbox.Poll()
}

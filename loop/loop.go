package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/judge"
)

// ID returns the run's ID.
func (l *Loop) ID() string { return l.run.id }

// State returns the state of the run. While Run is active, only observers may use it.
func (l *Loop) State() *fold.State { return l.run.state }

// Stop asks the run to end after the current iteration, which is still judged. It may be called at
// any time and from any goroutine.
func (l *Loop) Stop(s ralph.Signal) { l.run.stop.CompareAndSwap(nil, &s) }

// Abandon cuts short what a run does after it was killed: stop hooks, and a last look at the tree. It
// may be called at any time and from any goroutine.
func (l *Loop) Abandon() { l.run.abandon.Do(func() { close(l.run.abandoned) }) }

// Run works until a verdict says stop. The Result says how the run ended. An error means that the
// run could not start, or that this loop has already run. Canceling ctx kills the agent and saves
// the state.
func (l *Loop) Run(ctx context.Context) (ralph.Result, error) {
	if !l.ran.CompareAndSwap(false, true) {
		return ralph.Result{}, errors.New("run loop: this loop has already run; make a new one")
	}
	l.run.begun, l.run.before = time.Now(), l.run.state.Elapsed+l.step.worked(l.run.state)
	var verdict ralph.Verdict
	var err error
	if bug := catch(func() { verdict, err = l.runToVerdict(ctx) }); bug != nil {
		verdict, err = l.panicVerdict(bug), nil
	}
	if err == nil && l.step != nil && l.resuming {
		err = l.step.failed(ctx, verdict)
	}
	switch {
	case err != nil:
		return ralph.Result{}, err
	case verdict.Action != ralph.Stop: // the session works on
		return l.run.state.Result(), nil
	}
	return l.finish(ctx, verdict), nil
}

// panicVerdict turns a panic into the outcome INTERNAL, so that a bug never ends with another exit
// code.
func (l *Loop) panicVerdict(bug *caughtPanic) ralph.Verdict {
	l.run.warnPanic(bug)
	return judge.Abort(ralph.Breaker{}, ralph.Internal, "a bug in ralph: %v", bug.value)
}

// runToVerdict opens the run and works until a verdict says stop.
func (l *Loop) runToVerdict(ctx context.Context) (ralph.Verdict, error) {
	if err := l.open(ctx); err != nil {
		return ralph.Verdict{}, err
	}
	if l.accepts.yes != nil {
		return l.accepts.settle(ctx, *l.accepts.yes), nil
	}
	if l.step != nil {
		return l.step.take(ctx, l), nil
	}
	v := l.work(ctx)
	l.goals.keepGoal() // the last agent may have changed it
	return v, nil
}

// open begins or resumes the log and takes the baseline. A new run that cannot start leaves neither
// a worktree nor an event behind.
func (l *Loop) open(ctx context.Context) error {
	made, err := l.enterWorktree(ctx)
	if err != nil {
		return err
	}
	if err = l.goals.readGoal(ctx); err == nil {
		err = l.list.adoptFirst()
	}
	if err != nil {
		if made {
			err = errors.Join(err, l.CleanupWorktree(context.WithoutCancel(ctx)))
		}
		return err
	}
	l.goals.keepGoal()
	if l.resuming {
		l.reopen()
	} else {
		l.run.emit(ralph.EvRunStarted, l.startedEvent())
	}
	if l.step == nil || !l.resuming { // a session comes back often
		for _, n := range l.notices {
			l.run.emit(ralph.EvNotice, n)
		}
	}
	if err := l.list.openTasks(); err != nil {
		return err
	}
	switch {
	case l.run.state.History.Started == 0 && (l.step == nil || l.step.Order == ""):
		l.baseline(ctx)
	case l.run.state.History.Started == 0:
		l.checks.recordBaseOnce(ctx)
	case l.run.state.Phase == fold.PhaseNone:
		// before changes are attributed to the user
		l.stash.applyPendingMove(ctx)
		if l.accepts.yes == nil {
			l.tree.adoptIgnored()
		}
		// the tree that the last agent left was never recorded
		unseen := l.run.state.History.TreeOf != l.run.state.History.Started
		// A check that was killed may have written these files.
		if l.run.state.Checking && l.run.state.History.CheckedInPlace() {
			l.tree.acceptTree(ctx)
		}
		l.tree.snapshot(ctx, ralph.TreeInput{
			BaseHead: l.run.state.History.Base.Head,
			Claimed:  l.accepts.yes != nil,
		})
		// The second case: a move was made, and the process died before it compared the result.
		if unseen || len(l.run.state.Last.Tampered) > 0 {
			l.tree.compare(ctx, l.run.state.History.Tree)
		}
	}
	return nil
}

// startedEvent returns the payload of the log's first event.
func (l *Loop) startedEvent() ralph.RunStarted {
	about := l.run.about
	cfg := l.run.cfg
	about.Workspace, about.Goal = cfg.Dir, cfg.Task
	about.SpecFile, about.PromptFile = cfg.SpecFile, cfg.PromptFile
	about.Agent, about.Model = cfg.AgentName, cfg.Model
	about.Checks, about.Policy = cfg.Checks, l.run.policy
	if l.list.tasks != nil {
		about.TaskFile = l.list.tasks.File()
	}
	if about.Checks == nil {
		about.Checks = []string{}
	}
	return about
}

func (l *Loop) reopen() {
	l.run.iteration, l.run.crashed = l.run.state.History.Started, l.run.state.Stopped == nil
	resumed := ralph.RunResumed{
		Ralph:     l.run.about.Ralph,
		Agent:     l.run.cfg.AgentName,
		Model:     l.run.cfg.Model,
		Policy:    l.run.policy,
		Settings:  l.run.about.Settings,
		Sandbox:   l.run.about.Sandbox,
		PID:       l.run.about.PID,
		Marker:    l.run.about.Marker,
		TornBytes: l.torn,
		Accepting: l.accepts.yes != nil,
	}
	if l.run.state.History.Started == 0 { // the base is taken again
		resumed.Origin = l.tree.between
	}
	if l.step != nil && !l.step.Anew {
		resumed.InSession, resumed.Settings = true, nil
	}
	switch l.run.state.Phase {
	case fold.PhaseBegun:
		if l.step == nil {
			resumed.Interrupted = l.run.iteration
		}
	case fold.PhaseExited:
		resumed.Judged = l.run.iteration
	}
	l.run.emit(ralph.EvRunResumed, resumed)
	if l.torn > 0 {
		l.run.warn("log_torn", "the log ended in the middle of a line, so its last %d bytes were dropped", l.torn)
	}
}

// baseline examines the workspace before any agent works, so that the loop knows which checks
// passed and failed before the run.
func (l *Loop) baseline(ctx context.Context) {
	l.tests.readopt(ctx)
	if l.step == nil {
		l.checks.recordBase(ctx)
	} else {
		l.checks.recordBaseOnce(ctx)
	}
	l.checks.runAtBase(ctx)
	if l.step != nil {
		l.tree.dropMovedBaseline(ctx)
	}
	switch isNew := l.tests.write(ctx); {
	case isNew && l.run.state.Tests.Hidden:
		l.checks.runHidden(ctx)
	case isNew:
		l.checks.recordBase(ctx)
		l.checks.runAtBase(ctx)
	}
	l.checks.noticeOrigin()
	h := l.run.state.History
	if l.tests.end == nil && l.run.policy.Shown == ralph.ShownAsk && judge.AllPassed(h.Baseline) &&
		judge.NeedsNewTest(l.run.policy, h, h.Task) {
		l.run.notice("checks_pass_already", "the checks pass already, so they do not show the work: without a new test "+
			"that fails without it, the run ends with 7 and a person decides; for work that changed files, "+
			"--proof unbroken asks for no more than passing checks")
	}
}

// work runs iterations until a verdict says stop.
func (l *Loop) work(ctx context.Context) ralph.Verdict {
	if v := cmp.Or(l.tests.end, l.tree.lacksBase(ctx)); v != nil {
		return *v
	}
	if l.resuming && l.run.state.Phase == fold.PhaseExited {
		if v := l.judge(ctx); v.Action == ralph.Stop {
			return v
		}
	}
	for {
		v := l.decideNext(ctx)
		if v.Action == ralph.GoOn {
			v = l.iterate(ctx)
		}
		switch v.Action {
		case ralph.Stop:
			return v
		case ralph.Wait:
			l.inbox.await(ctx, v, l.list)
			l.tree.adoptIgnored()
		}
	}
}

// decideNext decides whether another iteration may start, after waiting if needed.
func (l *Loop) decideNext(ctx context.Context) ralph.Verdict {
	if done := l.provenVerdict(); done != nil {
		return *done
	}
	l.wait.waitForTurn(ctx)
	return l.run.decideNow(ctx)
}

// provenVerdict returns the verdict of a run that was proven done but killed before it could end.
func (l *Loop) provenVerdict() *ralph.Verdict {
	if v := l.run.state.Verdict; l.resuming && judge.Completed(v) {
		return &v
	}
	return nil
}

// finish closes the log and returns the result. Observers and hooks are told about only one end,
// the true one. Failing to write the result is an outcome itself, so finish tries to write before
// it tells them. The result it tries first says that the end was not recorded: a process that dies
// here must not leave a better result than it can prove. Log, result and process agree about the
// end, as far as they can be written.
func (l *Loop) finish(ctx context.Context, v ralph.Verdict) ralph.Result {
	v = l.list.settle(v)
	changed, rows := "", ""
	if bug := catch(func() {
		l.recordLeft(ctx)
		changed = l.whatChanged(ctx)
		rows = l.checks.keepRows(ralph.StatusOf(v.Reason))
	}); bug != nil {
		v = l.panicVerdict(bug)
	}
	stopped := ralph.RunStopped{
		Reason:     v.Reason,
		Signal:     v.Signal,
		ExitCode:   ralph.ExitCode(v.Reason, v.Signal),
		Status:     ralph.StatusOf(v.Reason),
		Detail:     v.Detail,
		Hint:       v.Hint,
		VerifiedBy: judge.ProvenBy(l.run.policy, l.run.state.History),
		Proof:      judge.ProofOf(l.run.policy, l.run.state.History, v),
		Changed:    changed,
		Elapsed:    l.run.elapsed(),
		Rows:       rows,
	}
	if v.Reason == ralph.IOFailed || v.Reason == ralph.Internal { // such a run proves nothing
		stopped.VerifiedBy, stopped.Proof = nil, ""
	}
	l.run.sync()
	if _, err := l.writeResult(recordLost(stopped, "the end of the run was not recorded")); err != nil {
		stopped = recordLost(stopped, err.Error())
	}
	l.run.recordEnd(stopped)
	l.run.warnPanic(catch(func() { l.hooks.runStopHooks(ctx, l.run.orRecordLost(stopped)) }))
	stopped = l.run.orRecordLost(stopped)
	result, err := l.writeResult(stopped)
	if err != nil && stopped.Reason != ralph.IOFailed {
		stopped = recordLost(stopped, err.Error())
		l.run.emit(ralph.EvRunStopped, stopped)
		l.run.sync()
		result, _ = l.writeResult(stopped)
	}
	return result
}

// recordLeft records what an agent left that was killed or cleared with the run: what changes after that is the user's.
func (l *Loop) recordLeft(ctx context.Context) {
	killed := ctx.Err() != nil || l.step != nil && l.step.Order == SessionClear
	if _, known := fold.TreeLeft(l.run.state); known || !killed || l.run.storage != nil {
		return
	}
	ctx, done := l.run.detachedContext(ctx)
	defer done()
	l.tree.snapshot(ctx, ralph.TreeInput{BaseHead: l.run.state.History.Base.Head})
	if l.run.state.Phase == fold.PhaseNone {
		l.tree.compare(ctx, l.run.state.History.Tree)
	}
}

func (l *Loop) whatChanged(ctx context.Context) string {
	ctx, done := l.run.detachedContext(ctx)
	defer done()
	return l.tree.whatChanged(ctx)
}

// writeResult returns the result of a run that ended this way, and stores it unless recording
// failed.
func (l *Loop) writeResult(stopped ralph.RunStopped) (result ralph.Result, err error) {
	l.run.state.Stopped = &stopped
	result = l.run.state.Result()
	bug := catch(func() {
		if chained, ok := l.run.recorder.(ralph.Chained); ok {
			result.Receipt = chained.Chain()
		}
		if keeper, ok := l.run.recorder.(ralph.ResultKeeper); ok && !l.run.lost {
			err = keeper.WriteResult(result)
		}
	})
	if bug != nil {
		err = fmt.Errorf("the recorder panicked: %v", bug.value)
	}
	l.run.warnPanic(bug)
	if err != nil && !errors.Is(err, ralph.ErrIO) {
		err = fmt.Errorf("%w: %w", ralph.ErrIO, err)
	}
	return result, err
}

// orRecordLost returns the end of the run, or recordLost if it could not be written, because then
// no other exit code can be trusted.
func (j *journal) orRecordLost(stopped ralph.RunStopped) ralph.RunStopped {
	if j.storage != nil && stopped.Reason != ralph.IOFailed {
		return recordLost(stopped, j.storage.Error())
	}
	return stopped
}

// recordLost returns the end of a run whose record is unreliable.
func recordLost(stopped ralph.RunStopped, why string) ralph.RunStopped {
	stopped.Reason, stopped.Status = ralph.IOFailed, ralph.StatusFailed
	stopped.ExitCode = ralph.ExitCode(ralph.IOFailed, "")
	stopped.Detail, stopped.VerifiedBy, stopped.Proof = why, nil, ""
	return stopped
}

package process

import (
	"context"
	"time"

	"github.com/ralphloop/ralph/internal/process/inside"
)

// Run starts a command, waits until its whole tree is gone and returns what happened. It blocks; a
// canceled context ends the tree and then Run, within the grace period.
//
// The Result describes how the program ended, also if it could not be started. An error means
// trouble on the harness's side: an invalid Spec, or an *IOError for files that cannot be created,
// written or read. The tree is gone then, too, and the Result is as complete as possible.
func Run(ctx context.Context, s Spec) (Result, error) {
	if err := s.validate(); err != nil {
		return Result{State: NotStarted, ExitCode: -1}, err
	}
	if ctx.Err() != nil {
		return Result{State: Canceled, ExitCode: -1}, nil
	}
	out, err := openOutput(&s)
	if err != nil {
		return Result{State: NotStarted, ExitCode: -1}, err
	}
	limits, err := newGroup(s.Limits)
	if err != nil {
		out.discard()
		return notStarted(ctx, err)
	}
	s.Limits.groups = limits.folders()
	began := time.Now()
	t, err := launch(ctx, &s, out)
	if err != nil {
		limits.end(&Result{})
		out.discard()
		return notStarted(ctx, err)
	}
	out.begin()

	result := Result{Pid: t.program}
	result.State = t.watch(ctx, &s, out)
	rest := t.killRest()
	t.retire()
	err = out.finish()

	result.Duration = time.Since(began)
	t.describe(&result)
	result.CPU += rest.cpu
	result.Survivors = rest.count
	result.SurvivorNames = rest.names
	result.Unkillable = rest.unkillable
	limits.end(&result)
	out.describe(&result)
	if s.Ended != nil {
		s.Ended(context.WithoutCancel(ctx), &result)
	}
	if err != nil {
		result.State = Aborted
	}
	out.repanic()
	return result, err
}

// watch waits for the main process to end, and ends it if needed.
func (t *tree) watch(ctx context.Context, s *Spec, out *output) State {
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		t.await()
	}()

	state := Exited
	canceled, trouble := ctx.Done(), out.trouble
	timeout, idle, grace := alarm(s.Timeout), alarm(s.IdleTimeout), alarm(0)
	defer func() { timeout.Stop(); idle.Stop(); grace.Stop() }()

	asked := false
	kill := func() {
		if asked { // by then its guard has given up, or is stuck
			_ = t.main.Kill()
			return
		}
		asked = true
		t.kill()
		grace.Reset(2 * inside.KillLimit)
	}
	stop := func(why State) {
		select {
		case <-exited: // it has already ended
			return
		default:
		}
		state = why
		canceled, trouble = nil, nil
		timeout.Stop()
		idle.Stop()
		t.remember()
		if s.grace() == 0 || t.terminate() != nil {
			kill()
			return
		}
		grace.Reset(s.grace())
	}
	for {
		select {
		case <-exited:
			return state
		case <-canceled:
			stop(Canceled)
		case <-trouble:
			stop(Aborted)
		case <-timeout.C:
			stop(TimedOut)
		case <-idle.C:
			if left := s.IdleTimeout - out.silence(); left > 0 {
				idle.Reset(left)
			} else {
				stop(Idle)
			}
		case <-grace.C:
			kill()
		}
	}
}

// describe fills in how the main process ended.
func (t *tree) describe(r *Result) {
	if t.guard.describe(r) {
		const killed = 128 + 9
		r.OutOfMemory = r.State == Exited && r.ExitCode == killed && memoryKills() > t.memoryKills
		return
	}
	r.ExitCode, r.Signal = exitStatus(t.exit)
	if t.exit != nil {
		r.CPU = t.exit.UserTime() + t.exit.SystemTime()
	}
}

// alarm returns a timer that does not fire if d is 0, until it is reset.
func alarm(d time.Duration) *time.Timer {
	if d > 0 {
		return time.NewTimer(d)
	}
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return timer
}

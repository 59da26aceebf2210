package loop

import (
	"context"
	"fmt"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// waiter lets time pass until the next iteration may start.
type waiter struct {
	*journal
	tree *workspace
}

// pollEvery is how often a run that waits looks whether somebody wants something of it.
const pollEvery = 100 * time.Millisecond

// waitForTurn holds the next iteration back: a pause, the rate of calls, a delay that somebody asked for.
func (r *waiter) waitForTurn(ctx context.Context) {
	if orders, err := r.orders(); err == nil && orders.Pause {
		r.pause(ctx)
	}
	if wait := r.callRate(); wait > 0 {
		r.wait(ctx, ralph.Waiting{For: ralph.WaitCalls, Wait: wait, Detail: fmt.Sprintf("%d calls in the last hour, as many as limits.calls_per_hour allows", r.policy.CallsPerHour)})
	}
	if delay := r.policy.IterationDelay; delay > 0 && r.state.History.Started > 0 {
		r.wait(ctx, ralph.Waiting{For: ralph.WaitDelay, Wait: delay, Detail: "iteration_delay"})
	}
}

// pause waits until the order is taken away or the run is to end. It costs no time: somebody else's night must not eat the budget.
func (r *waiter) pause(ctx context.Context) {
	r.emit(ralph.EvLimitWait, ralph.Waiting{For: ralph.WaitPause, Elapsed: r.elapsed(), Detail: "ralph resume lets it go on"})
	r.sync()
	paused := time.Now()
	for r.moment(ctx).Signal == "" && r.storage == nil {
		if orders, err := r.orders(); err != nil || !orders.Pause {
			break
		}
		r.sleep(ctx, pollEvery)
	}
	r.begun = r.begun.Add(time.Since(paused))
	r.afterWait(ctx)
}

// wait lets time pass, unless the run is to end or its time is up. A wait counts as time.
func (r *waiter) wait(ctx context.Context, w ralph.Waiting) {
	if r.mustStopWaiting(ctx) {
		return
	}
	end := time.Now().Add(w.Wait.Duration())
	r.waitUntil(ctx, w, func() time.Duration { return time.Until(end) })
}

// waitUntil lets time pass as long as something is left to wait for, and records now and then what was spent.
func (r *waiter) waitUntil(ctx context.Context, w ralph.Waiting, left func() time.Duration) {
	w.Elapsed = r.elapsed()
	r.emit(ralph.EvLimitWait, w)
	r.sync()
	begun := time.Now()
	due := begun.Add(firstSummary)
	for !r.mustStopWaiting(ctx) {
		more := left()
		if more <= 0 {
			break
		}
		r.sleep(ctx, min(more, pollEvery))
		if time.Now().After(due) {
			due = time.Now().Add(nextSummary(time.Since(begun)))
			r.emit(ralph.EvAgentOutput, ralph.AgentOutput{Elapsed: r.elapsed()})
		}
	}
	r.afterWait(ctx)
}

// afterWait records the time that the wait took and takes a new snapshot, so that the user's changes during
// the wait do not count as the agent's progress.
func (r *waiter) afterWait(ctx context.Context) {
	r.emit(ralph.EvAgentOutput, ralph.AgentOutput{Elapsed: r.elapsed()})
	if ctx.Err() == nil && r.state.History.Started > 0 && !r.state.History.Judging { // the tree under judgement stays what it was
		r.tree.snapshot(ctx, ralph.TreeInput{BaseHead: r.state.History.Base.Head})
	}
}

// mustStopWaiting reports whether waiting has lost its sense.
func (r *waiter) mustStopWaiting(ctx context.Context) bool {
	at := r.moment(ctx)
	return at.Signal != "" || r.storage != nil || r.policy.MaxTime > 0 && at.Elapsed >= r.policy.MaxTime
}

func (r *waiter) sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// callRate is how long the next call must wait. At 80 % of the calls that an hour allows it warns once.
func (r *waiter) callRate() ralph.Span {
	allowed := r.policy.CallsPerHour
	if allowed == 0 {
		return 0
	}
	wait, recent := judge.CallRate(allowed, r.state.Calls, time.Now())
	if recent >= (allowed*8+9)/10 && r.firstTime("calls_per_hour") {
		r.warn("calls_per_hour", "%d of %d calls an hour are used", recent, allowed)
	}
	return wait
}

package loop

import (
	"context"
	"fmt"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// pollEvery is how often a run that waits looks whether somebody wants something of it.
const pollEvery = 100 * time.Millisecond

// waitForTurn holds the next iteration back: a pause, the rate of calls, a delay that somebody asked for.
func (l *Loop) waitForTurn(ctx context.Context) {
	if orders, err := l.orders(); err == nil && orders.Pause {
		l.pause(ctx)
	}
	if wait := l.callRate(); wait > 0 {
		l.wait(ctx, ralph.Waiting{For: ralph.WaitCalls, Wait: wait, Detail: fmt.Sprintf("%d calls in the last hour, as many as limits.calls_per_hour allows", l.policy.CallsPerHour)})
	}
	if delay := l.policy.IterationDelay; delay > 0 && l.state.History.Started > 0 {
		l.wait(ctx, ralph.Waiting{For: ralph.WaitDelay, Wait: delay, Detail: "iteration_delay"})
	}
}

// pause waits until the order is taken away or the run is to end. It costs no time: somebody else's night must not eat the budget.
func (l *Loop) pause(ctx context.Context) {
	l.emit(ralph.EvLimitWait, ralph.Waiting{For: ralph.WaitPause, Elapsed: l.elapsed(), Detail: "ralph resume lets it go on"})
	l.sync()
	paused := time.Now()
	for l.moment(ctx).Signal == "" && l.storage == nil {
		if orders, err := l.orders(); err != nil || !orders.Pause {
			break
		}
		l.nap(ctx, pollEvery)
	}
	l.begun = l.begun.Add(time.Since(paused))
	l.afterRest(ctx)
}

// wait lets time pass, unless the run is to end or its time is up. A wait counts as time.
func (l *Loop) wait(ctx context.Context, w ralph.Waiting) {
	if l.mustWake(ctx) {
		return
	}
	end := time.Now().Add(w.Wait.Duration())
	l.rest(ctx, w, func() time.Duration { return time.Until(end) })
}

// rest lets time pass as long as something is left to wait for, and records now and then what was spent.
func (l *Loop) rest(ctx context.Context, w ralph.Waiting, left func() time.Duration) {
	w.Elapsed = l.elapsed()
	l.emit(ralph.EvLimitWait, w)
	l.sync()
	begun := time.Now()
	due := begun.Add(firstSummary)
	for !l.mustWake(ctx) {
		more := left()
		if more <= 0 {
			break
		}
		l.nap(ctx, min(more, pollEvery))
		if time.Now().After(due) {
			due = time.Now().Add(nextSummary(time.Since(begun)))
			l.emit(ralph.EvAgentOutput, ralph.AgentOutput{Elapsed: l.elapsed()})
		}
	}
	l.afterRest(ctx)
}

// afterRest records what the rest cost and looks at the tree anew: what the user changed meanwhile is no progress of the agent's.
func (l *Loop) afterRest(ctx context.Context) {
	l.emit(ralph.EvAgentOutput, ralph.AgentOutput{Elapsed: l.elapsed()})
	if ctx.Err() == nil && l.state.History.Started > 0 && !l.state.History.Judging { // the tree under judgement stays what it was
		l.snapshot(ctx, ralph.TreeInput{BaseHead: l.state.History.Base.Head})
	}
}

// mustWake reports whether waiting has lost its sense.
func (l *Loop) mustWake(ctx context.Context) bool {
	at := l.moment(ctx)
	return at.Signal != "" || l.storage != nil || l.policy.MaxTime > 0 && at.Elapsed >= l.policy.MaxTime
}

func (l *Loop) nap(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// callRate is how long the next call must wait. At 80 % of the calls that an hour allows it warns once.
func (l *Loop) callRate() ralph.Span {
	allowed := l.policy.CallsPerHour
	if allowed == 0 {
		return 0
	}
	wait, recent := judge.CallRate(allowed, l.state.Calls, time.Now())
	if recent >= (allowed*8+9)/10 && l.first("calls_per_hour") {
		l.emit(ralph.EvWarning, ralph.Notice{Code: "calls_per_hour", Text: fmt.Sprintf("%d of %d calls an hour are used", recent, allowed)})
	}
	return wait
}

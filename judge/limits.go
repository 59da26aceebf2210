package judge

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/ralphloop/ralph"
)

func stopAt(v ralph.Verdict, row int, reason ralph.StopReason, format string, args ...any) *ralph.Verdict {
	v.Row, v.Action, v.Reason, v.Detail = row, ralph.Stop, reason, fmt.Sprintf(format, args...)
	return &v
}

func waitAt(v ralph.Verdict, row int, why ralph.WaitReason, wait ralph.Span, detail string) *ralph.Verdict {
	v.Row, v.Action, v.WaitFor, v.Wait, v.Detail = row, ralph.Wait, why, wait.Rounded(), detail
	return &v
}

// Abort returns the verdict on a run that the harness itself cannot continue. It is not in the verdict
// table.
func Abort(b ralph.Breaker, reason ralph.StopReason, format string, args ...any) ralph.Verdict {
	return *stopAt(ralph.Verdict{Breaker: b}, 0, reason, format, args...)
}

// limitsRule is row 9: a limit on time, money, tokens or iterations.
func limitsRule(p ralph.Policy, h History, v ralph.Verdict) *ralph.Verdict {
	switch {
	case p.MaxTime > 0 && h.Moment.Elapsed >= p.MaxTime:
		return stopAt(v, 9, ralph.Timeout, "time limit (%s) reached", p.MaxTime.Short())
	case p.MaxCost > 0 && h.Cost >= p.MaxCost:
		return stopAt(v, 9, ralph.MaxCost, "cost limit reached: $%.2f of $%.2f", h.Cost, p.MaxCost)
	case p.MaxTokens > 0 && h.Tokens.Total() >= p.MaxTokens:
		return stopAt(v, 9, ralph.MaxTokens, "token limit reached: %d of %d", h.Tokens.Total(), p.MaxTokens)
	case p.MaxIterations > 0 && h.Counted >= p.MaxIterations:
		return stopAt(v, 9, ralph.MaxIterations,
			"iteration limit (%d) reached; work unfinished", p.MaxIterations)
	}
	return nil
}

// reserveRule is row 2: what is left of the subscription is reserved for its owner. Another agent takes
// over, or the run waits until the window resets.
func reserveRule(p ralph.Policy, h History, v ralph.Verdict) *ralph.Verdict {
	window, why, ok := ralph.Reached(p.Reserves, h.Now.Agent.Windows)
	if !ok {
		return nil
	}
	wait := limitWait(cmp.Or(window.Resets, longestLimit), 1) // to look again uses some of it
	h.Now.Agent.Error = "paused at " + why
	cooldown := ralph.AgentCooldown{Agent: h.Agent, Because: ralph.EndLimit, Times: 1, Until: h.Moment.Elapsed + wait}
	if next := h.handOver(p, v, 2, cooldown); next != nil {
		return next
	}
	return h.waitForReset(p, v, 2, wait)
}

// Budget returns what the next iteration may use: the limits on one iteration, or what is left of the run's own.
func Budget(p ralph.Policy, h History) ralph.Budget {
	b := RunBudget(p, h)
	b.Turns, b.Reserves = p.IterationTurns, p.Reserves
	if p.IterationCost > 0 && (b.Cost == 0 || p.IterationCost < b.Cost) {
		b.Cost = p.IterationCost
	}
	return b
}

// RunBudget returns what is left of the run's own limits, for a call that belongs to no iteration of an agent.
func RunBudget(p ralph.Policy, h History) ralph.Budget {
	return ralph.Budget{Cost: p.MaxCost, Tokens: p.MaxTokens}.Left(ralph.Spending{Cost: &h.Cost, Tokens: &h.Tokens})
}

const (
	limitSlack     = ralph.Span(15 * time.Second) // limits reset later than announced
	firstLimit     = ralph.Span(time.Minute)      // if the reset time is unknown
	longestLimit   = ralph.Span(30 * time.Minute)
	farthestReset  = ralph.Span(366 * 24 * time.Hour) // bounds what a CLI reports, so that sums do not overflow
	firstBackoff   = ralph.Span(time.Second)
	longestBackoff = ralph.Span(time.Minute)

	longestOutageWait = ralph.Span(5 * time.Minute)
)

// limitWait returns how long to wait for a usage limit to reset. times counts consecutive limits. after
// is the wait that the provider announced, or 0.
func limitWait(after ralph.Span, times int) ralph.Span {
	if after <= 0 {
		return doubleWait(firstLimit, times-1, longestLimit)
	}
	return min(after, farthestReset) + limitSlack
}

// backoff returns how long to wait after a number of consecutive failures.
func backoff(failures, iteration int) ralph.Span {
	wait := doubleWait(firstBackoff, failures-1, longestBackoff)
	return wait + jitter(wait, iteration)
}

// outageWait is backoff for an outage that may last long.
func outageWait(failures, iteration int) ralph.Span {
	wait := doubleWait(firstBackoff, failures-1, longestOutageWait)
	return wait + jitter(wait, iteration)
}

func doubleWait(wait ralph.Span, times int, longest ralph.Span) ralph.Span {
	for range times {
		if wait >= longest {
			break
		}
		wait *= 2
	}
	return min(wait, longest)
}

// jitter spreads the retries of many loops by up to a quarter of the wait. It depends only on the
// iteration's number, so that a replay gets the same value.
func jitter(wait ralph.Span, iteration int) ralph.Span {
	hash := fnv.New32a()
	fmt.Fprint(hash, iteration)
	return wait / 4 * ralph.Span(hash.Sum32()%1000) / 1000
}

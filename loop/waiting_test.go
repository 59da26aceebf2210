package loop

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/promise"
)

func limitTurn(retryAfter time.Duration) turn {
	return ends(ralph.AgentOutcome{End: ralph.EndLimit, Error: "limit reached", RetryAfter: ralph.Span(retryAfter)})
}

func providerTurn() turn { return ends(ralph.AgentOutcome{End: ralph.EndProvider, Error: "529"}) }

// waited are the reasons and lengths of the waits that the log tells of.
func waited(m *memoryLog) map[ralph.WaitReason][]time.Duration {
	found := map[ralph.WaitReason][]time.Duration{}
	for _, w := range payloads[ralph.Waiting](m) {
		found[w.For] = append(found[w.For], w.Wait.Duration())
	}
	return found
}

func counted(m *memoryLog) []bool {
	var list []bool
	for _, v := range payloads[ralph.VerdictReached](m) {
		list = append(list, v.Verdict.Counted)
	}
	return list
}

func TestUsageLimits(t *testing.T) {
	bubble(t, "a wait is not counted, and goes on after it", func(t *testing.T) {
		w := newWorld(t, limitTurn(10*time.Minute), limitTurn(0), limitTurn(0), done())
		w.policy.MaxIterations, w.checker.results = 1, []ralph.CheckResult{isRed, isGreen}
		result := w.ends(ralph.AllChecksPassed, 4)
		want := []time.Duration{10*time.Minute + 15*time.Second, 2 * time.Minute, 4 * time.Minute}
		if diff := cmp.Diff(map[ralph.WaitReason][]time.Duration{ralph.WaitLimit: want}, waited(w.log)); diff != "" {
			t.Errorf("waits (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, w.agent.gaps()); diff != "" {
			t.Errorf("time between agents (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]bool{false, false, false, true}, counted(w.log)); diff != "" {
			t.Errorf("counted (-want +got):\n%s", diff)
		}
		if spent := ralph.Span(4*worked + want[0] + want[1] + want[2]); result.TotalDuration != spent {
			t.Errorf("the run took %s, want %s: waits count as time", result.TotalDuration, spent)
		}
		for _, s := range payloads[ralph.IterationStarted](w.log) {
			if s.Ordinal != 1 || s.Of != 1 {
				t.Errorf("iteration %d of %d, want 1 of 1", s.Ordinal, s.Of)
			}
		}
	})
	bubble(t, "--on-limit stop", func(t *testing.T) {
		w := newWorld(t, limitTurn(time.Hour))
		w.policy.OnLimit = ralph.LimitStop
		w.ends(ralph.RateLimited, 1)
	})
	bubble(t, "a reset in another age", func(t *testing.T) { // as of a time in milliseconds that is taken for seconds
		w := newWorld(t, limitTurn(math.MaxInt64))
		w.ends(ralph.RateLimited, 1)
	})
	bubble(t, "waits in a row cross --max-wait", func(t *testing.T) {
		w := newWorld(t, limitTurn(2*time.Hour))
		w.ends(ralph.RateLimited, 3)
	})
	bubble(t, "a wait past --max-time stops at once", func(t *testing.T) {
		w := newWorld(t, limitTurn(time.Hour))
		w.policy.MaxTime = ralph.Span(30 * time.Minute)
		if result := w.ends(ralph.Timeout, 1); result.TotalDuration != ralph.Span(worked) {
			t.Errorf("it took %s, want %s", result.TotalDuration, worked)
		}
	})
	bubble(t, "one INT in the wait", func(t *testing.T) {
		w := newWorld(t, limitTurn(time.Hour), done())
		w.stopAfter(10*time.Minute, ralph.SignalInterrupt)
		if result := w.ends(ralph.Interrupted, 1); result.TotalDuration.Duration().Round(time.Second) != 10*time.Minute {
			t.Errorf("it took %s", result.TotalDuration)
		}
	})
	bubble(t, "TERM in the wait", func(t *testing.T) {
		w := newWorld(t, limitTurn(time.Hour), done())
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Minute, func() { cancel(ralph.Killed{Signal: ralph.SignalTerminate}) })
		result := w.run(ctx)
		w.ended(result, ralph.Interrupted, 1)
		if result.ExitCode != 143 || result.TotalDuration != ralph.Span(10*time.Minute) {
			t.Errorf("exit %d after %s", result.ExitCode, result.TotalDuration)
		}
	})
}

func TestAFailingModel(t *testing.T) {
	bubble(t, "back-off, not counted, then it works", func(t *testing.T) {
		w := newWorld(t, providerTurn(), providerTurn(), done())
		w.policy.MaxIterations, w.checker.results = 1, []ralph.CheckResult{isRed, isGreen}
		w.ends(ralph.AllChecksPassed, 3)
		gaps := w.agent.gaps()
		for i, base := range []time.Duration{time.Second, 2 * time.Second} {
			if gaps[i] < base || gaps[i] > base+base/4 {
				t.Errorf("back-off %d was %s, want %s and up to a quarter more", i+1, gaps[i], base)
			}
		}
		if diff := cmp.Diff([]bool{false, false, true}, counted(w.log)); diff != "" {
			t.Errorf("counted (-want +got):\n%s", diff)
		}
		if w.checker.calls != 2 {
			t.Errorf("%d checks were run; there was nothing to check after a failed model", w.checker.calls)
		}
	})
	bubble(t, "three times in a row", func(t *testing.T) {
		w := newWorld(t, providerTurn())
		w.policy.Outage = 0
		w.ends(ralph.ProviderFailed, 3)
	})
	bubble(t, "for an hour", func(t *testing.T) {
		result := newWorld(t, providerTurn()).ends(ralph.ProviderFailed, 19)
		if took := result.TotalDuration; took < ralph.Span(time.Hour) || took > ralph.Span(time.Hour+time.Minute) {
			t.Errorf("it took %s", took)
		}
	})
}

func TestTheCoolDown(t *testing.T) {
	bubble(t, "doubles, with one probe between", func(t *testing.T) {
		w := newWorld(t, nothing())
		w.tree.frozen, w.policy.Breaker.Cooldown, w.policy.Breaker.SameError = true, ralph.Span(3*time.Minute), 0
		w.policy.MaxIterations = 8
		w.ends(ralph.MaxIterations, 8)
		want := []time.Duration{0, 0, 0, 3 * time.Minute, 6 * time.Minute, 12 * time.Minute, 24 * time.Minute}
		if diff := cmp.Diff(want, w.agent.gaps()); diff != "" {
			t.Errorf("time between agents (-want +got):\n%s", diff)
		}
		var probes []bool
		for _, s := range payloads[ralph.IterationStarted](w.log) {
			probes = append(probes, s.Probe)
		}
		if diff := cmp.Diff([]bool{false, false, false, false, true, true, true, true}, probes); diff != "" {
			t.Errorf("probes (-want +got):\n%s", diff)
		}
	})
	bubble(t, "a probe with better evidence closes it", func(t *testing.T) {
		w := newWorld(t, nothing())
		w.tree.frozen, w.policy.MaxIterations, w.policy.Breaker.SameError = true, 7, 0
		w.policy.Breaker.Cooldown = ralph.Span(time.Minute)
		other := isRed
		other.Output = "another failure"
		w.checker.results = []ralph.CheckResult{isRed, isRed, isRed, isRed, isRed, other}
		w.ends(ralph.MaxIterations, 7)
		moves := payloads[ralph.BreakerMoved](w.log)
		if last := moves[len(moves)-1]; last.From != ralph.BreakerHalfOpen || last.To != ralph.BreakerClosed {
			t.Errorf("the breaker moved %+v", moves)
		}
	})
	bubble(t, "a probe that only edits does not", func(t *testing.T) {
		w := newWorld(t, nothing())
		w.agent.turns = []turn{
			nothing(), nothing(), nothing(), nothing(), nothing().then(func() { w.tree.changes++ }), nothing(),
		}
		w.tree.frozen, w.policy.MaxIterations, w.policy.Breaker.SameError = true, 7, 0
		w.policy.Breaker.Cooldown = ralph.Span(time.Minute)
		w.ends(ralph.MaxIterations, 7)
		moves := payloads[ralph.BreakerMoved](w.log)
		if last := moves[len(moves)-1]; last.To == ralph.BreakerClosed {
			t.Errorf("the breaker moved %+v", moves)
		}
	})
}

func TestCallsPerHour(t *testing.T) {
	bubble(t, "no hour sees more", func(t *testing.T) {
		w := newWorld(t, nothing())
		w.policy.CallsPerHour, w.policy.MaxIterations, w.policy.Breaker = 5, 12, ralph.BreakerPolicy{}
		w.ends(ralph.MaxIterations, 12)
		for i := 5; i < len(w.agent.starts); i++ {
			if gap := w.agent.starts[i].Sub(w.agent.starts[i-5]); gap < time.Hour {
				t.Errorf("agents %d and %d started %s apart", i-4, i+1, gap)
			}
		}
		if took := w.agent.starts[11].Sub(w.agent.starts[0]); took > 2*time.Hour+5*time.Minute {
			t.Errorf("12 calls took %s: it waited longer than it must", took)
		}
		if !slices.Contains(notices(w.log), "calls_per_hour") || len(waited(w.log)[ralph.WaitCalls]) == 0 {
			t.Errorf("nobody was told: %v", notices(w.log))
		}
	})
	bubble(t, "off by default", func(t *testing.T) {
		w := newWorld(t, nothing())
		w.policy.MaxIterations, w.policy.Breaker = 200, ralph.BreakerPolicy{}
		w.ends(ralph.MaxIterations, 200)
		if len(payloads[ralph.Waiting](w.log)) > 0 {
			t.Errorf("waits %v", waited(w.log))
		}
	})
}

func TestIterationDelay(t *testing.T) {
	bubble(t, "zero means zero", func(t *testing.T) {
		w := newWorld(t, nothing())
		w.policy.MaxIterations = 4
		if result := w.ends(ralph.MaxIterations, 4); result.TotalDuration != ralph.Span(4*worked) {
			t.Errorf("4 iterations of %s took %s", worked, result.TotalDuration)
		}
	})
	bubble(t, "between iterations, not before the first", func(t *testing.T) {
		w := newWorld(t, nothing())
		w.policy.MaxIterations, w.policy.IterationDelay = 3, ralph.Span(time.Minute)
		if result := w.ends(ralph.MaxIterations, 3); result.TotalDuration != ralph.Span(3*worked+2*time.Minute) {
			t.Errorf("it took %s", result.TotalDuration)
		}
	})
}

func TestMaxTimeBoundsTheIterationUnderWay(t *testing.T) {
	bubble(t, "which is then judged: nothing", func(t *testing.T) {
		w := newWorld(t, nothing())
		w.policy.MaxTime = ralph.Span(worked + 4*time.Second)
		result := w.ends(ralph.Timeout, 2)
		if result.TotalDuration != w.policy.MaxTime || w.agent.inputs[1].Timeout != 4*time.Second {
			t.Errorf("it took %s; the second agent had %s", result.TotalDuration, w.agent.inputs[1].Timeout)
		}
		if got := payloads[ralph.AgentOutcome](w.log)[1].End; got != ralph.EndOutOfTime {
			t.Errorf("the second agent ended with %s", got)
		}
		if w.checker.calls != 3 {
			t.Errorf("%d checks; the cut iteration is judged too", w.checker.calls)
		}
	})
	bubble(t, "which is then judged: blocked", func(t *testing.T) {
		w := newWorld(t, says(promise.Report{Blocked: new("no key")}))
		w.policy.MaxTime = ralph.Span(4 * time.Second)
		w.ends(ralph.Blocked, 1)
	})
	bubble(t, "a claim from an agent that was cut is not proven", func(t *testing.T) {
		w := newWorld(t, done())
		w.policy.MaxTime, w.checker.results = ralph.Span(4*time.Second), []ralph.CheckResult{isRed, isGreen}
		result := w.ends(ralph.Timeout, 1)
		if diff := cmp.Diff([]string{"agent_failed"}, result.Iterations[0].Refusals); diff != "" {
			t.Errorf("refusals (-want +got):\n%s", diff)
		}
	})
	bubble(t, "an iteration that does nothing until its own time limit is the agent's failure", func(t *testing.T) {
		w := newWorld(t, nothing())
		w.policy.IterationTimeout, w.tree.frozen = ralph.Span(3*time.Second), true
		w.ends(ralph.AgentFailed, 3)
	})
	bubble(t, "one that changes files until then is none", func(t *testing.T) {
		w := newWorld(t, nothing())
		w.policy.IterationTimeout, w.policy.MaxIterations = ralph.Span(3*time.Second), 4
		w.ends(ralph.MaxIterations, 4)
		if got := payloads[ralph.AgentOutcome](w.log)[3].End; got != ralph.EndCut {
			t.Errorf("the last agent ended with %s", got)
		}
	})
	bubble(t, "a claim in time is 0", func(t *testing.T) {
		w := newWorld(t, done())
		w.policy.MaxTime, w.checker.results = ralph.Span(worked+time.Second), []ralph.CheckResult{isRed, isGreen}
		w.ends(ralph.AllChecksPassed, 1)
	})
}

func TestStopAndKill(t *testing.T) {
	bubble(t, "one INT: the iteration is finished and judged", func(t *testing.T) {
		w := newWorld(t, done())
		w.checker.results = []ralph.CheckResult{isRed, isGreen}
		w.stopAfter(time.Second, ralph.SignalInterrupt)
		w.ends(ralph.AllChecksPassed, 1)
	})
	bubble(t, "one INT: nothing proven", func(t *testing.T) {
		w := newWorld(t, nothing())
		w.stopAfter(worked+time.Second, ralph.SignalInterrupt, ralph.SignalTerminate)
		if result := w.ends(ralph.Interrupted, 2); result.ExitCode != 130 || result.Status != ralph.StatusInterrupted {
			t.Errorf("exit %d, %s", result.ExitCode, result.Status)
		}
	})
	bubble(t, "ralph stop, through the mailbox", func(t *testing.T) {
		w := newWorld(t, nothing())
		begun := time.Now()
		w.options = append(w.options, WithInbox(fakeInbox(func() (ralph.Orders, error) {
			return ralph.Orders{Stop: time.Since(begun) > worked+time.Second}, nil
		})))
		w.ends(ralph.Interrupted, 2)
	})
	bubble(t, "a mailbox that cannot be read does not stop the run", func(t *testing.T) {
		w := newWorld(t, nothing())
		w.policy.MaxIterations = 2
		w.options = append(w.options, WithInbox(fakeInbox(func() (ralph.Orders, error) {
			return ralph.Orders{Stop: true, Pause: true}, errors.New("eio")
		})))
		w.ends(ralph.MaxIterations, 2)
	})
	for signal, code := range map[ralph.Signal]int{
		ralph.SignalHangup: 129, ralph.SignalInterrupt: 130, ralph.SignalTerminate: 143,
	} {
		bubble(t, "killed by "+string(signal), func(t *testing.T) {
			w := newWorld(t, done())
			w.checker.results = []ralph.CheckResult{isRed, isGreen}
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(3*time.Second, func() { cancel(ralph.Killed{Signal: signal}) })
			result := w.run(ctx)
			w.ended(result, ralph.Interrupted, 1)
			if result.ExitCode != code || result.TotalDuration != ralph.Span(3*time.Second) || w.checker.calls != 1 {
				t.Errorf("exit %d after %s and %d checks", result.ExitCode, result.TotalDuration, w.checker.calls)
			}
			if got := result.Iterations[0]; *got.Error != "interrupted" || got.Counted {
				t.Errorf("iteration %+v", got)
			}
		})
	}
	bubble(t, "a plain cancel is an INT", func(t *testing.T) {
		w := newWorld(t, done())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w.ended(w.run(ctx), ralph.Interrupted, 0)
	})
	bubble(t, "killed while checks run: they say nothing", func(t *testing.T) {
		w := newWorld(t, done())
		ctx, cancel := context.WithCancelCause(t.Context())
		w.checker.results = []ralph.CheckResult{isRed, isGreen}
		w.checker.before = func(_ context.Context, call int) {
			if call == 2 {
				cancel(ralph.Killed{Signal: ralph.SignalTerminate})
			}
		}
		result := w.run(ctx)
		w.ended(result, ralph.Interrupted, 1)
		if len(result.Iterations[0].CheckResults) != 0 {
			t.Errorf("iteration %+v", result.Iterations[0])
		}
	})
}

func TestPause(t *testing.T) {
	paused := func(w *world, from, to time.Duration) {
		begun := time.Now()
		w.options = append(w.options, WithInbox(fakeInbox(func() (ralph.Orders, error) {
			since := time.Since(begun)
			return ralph.Orders{Pause: since >= from && since < to}, nil
		})))
	}
	bubble(t, "no iteration starts until it is taken away", func(t *testing.T) {
		w := newWorld(t, nothing())
		w.policy.MaxIterations = 2
		paused(w, time.Second, time.Hour)
		var during []ralph.Status
		var state fold.State
		w.options = append(w.options, WithState(&state), WithObserver(func(e ralph.Event) {
			if e.Type == ralph.EvLimitWait {
				during = append(during, state.LiveStatus())
			}
		}))
		result := w.ends(ralph.MaxIterations, 2)
		if diff := cmp.Diff([]ralph.Status{ralph.StatusPaused}, during); diff != "" ||
			result.TotalDuration != ralph.Span(2*worked) {
			t.Errorf("took %s, status in the pause (-want +got):\n%s", result.TotalDuration, diff)
		}
	})
	bubble(t, "a stop ends it", func(t *testing.T) {
		w := newWorld(t, nothing())
		paused(w, 0, time.Hour)
		w.stopAfter(time.Minute, ralph.SignalInterrupt)
		w.ends(ralph.Interrupted, 0)
	})
	bubble(t, "it costs no time", func(t *testing.T) {
		w := newWorld(t, nothing())
		w.policy.MaxTime, w.policy.MaxIterations = ralph.Span(time.Minute), 1
		paused(w, 0, time.Hour)
		w.ends(ralph.MaxIterations, 1)
	})
}

func TestLiveNewsAreSummedUp(t *testing.T) {
	bubble(t, "now and then", func(t *testing.T) {
		w := newWorld(t)
		var heard []ralph.Activity
		w.options = append(w.options, WithActivity(func(a ralph.Activity) { heard = append(heard, a) }))
		w.agent.turns = []turn{func(ctx context.Context, in ralph.AgentInput) ralph.AgentOutcome {
			in.Live(ralph.Activity{Kind: "tool", Name: "Edit"})
			in.Live(ralph.Activity{Kind: "text"})
			return works(ctx, in, ralph.AgentOutcome{
				End: ralph.EndOK, Truncated: true, OutputBytes: 99, Said: promise.Report{Blocked: new("x")},
			})
		}}
		w.ends(ralph.Blocked, 1)
		var want []ralph.AgentOutput
		for elapsed := firstSummary; elapsed < worked; elapsed += firstSummary {
			want = append(want, ralph.AgentOutput{Elapsed: ralph.Span(elapsed), Tool: "Edit", Events: 2})
		}
		if diff := cmp.Diff(want, payloads[ralph.AgentOutput](w.log)); diff != "" {
			t.Errorf("summaries (-want +got):\n%s", diff)
		}
		cuts := []ralph.OutputTruncated{{What: "agent output", Bytes: 99}}
		if diff := cmp.Diff(cuts, payloads[ralph.OutputTruncated](w.log)); diff != "" || len(heard) != 2 {
			t.Errorf("heard %v, cuts (-want +got):\n%s", heard, diff)
		}
	})
}

func TestLongIterationsAreSummedUpLessOften(t *testing.T) {
	for worked, want := range map[time.Duration]time.Duration{
		0: time.Second, 20 * time.Second: time.Second, 2 * time.Minute: 6 * time.Second, 8 * time.Hour: 30 * time.Second,
	} {
		if got := nextSummary(worked); got != want {
			t.Errorf("nextSummary(%s) = %s, want %s", worked, got, want)
		}
	}
}

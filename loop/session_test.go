package loop

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
)

// liveRun is a run whose agent is a live session: every step is another process over the same log.
type liveRun struct {
	t      *testing.T
	policy ralph.Policy
	log    *memoryLog
	work   string // what the session left in the tree
	passes bool
	ctx    context.Context
}

func newLiveRun(t *testing.T) *liveRun {
	return &liveRun{t: t, policy: lenientPolicy(), log: &memoryLog{}, work: "base", ctx: t.Context()}
}

func (r *liveRun) step(step SessionStep) (ralph.Result, string, error) {
	r.t.Helper()
	state := refold(r.t, r.log.events)
	l, err := New(Config{Task: "make it green", AgentName: "claude", Checks: []string{"go test"}},
		WithPolicy(r.policy), WithRecorder(r.log), WithRun("R1", ralph.RunStarted{InSession: true}), WithState(&state),
		WithChecker(checkerOf(func(in ralph.CheckInput) ralph.CheckResult {
			return ralph.CheckResult{Name: in.Name, Passed: r.passes, Output: "two tests fail"}
		})),
		WithTree(treeOf(func() ralph.TreeState { return ralph.TreeState{Known: true, Head: "c0", Hash: r.work} })),
		WithNotice(ralph.Notice{Code: "said_once"}), WithSession(&step))
	if err != nil {
		r.t.Fatal(err)
	}
	result, err := l.Run(r.ctx)
	mustReplay(r.t, r.log.events)
	return result, step.Prompt, err
}

// stops is a step in which the session's agent stops with a message.
func (r *liveRun) stops(text string) ralph.Result {
	r.t.Helper()
	result, _, err := r.step(SessionStep{Turn: &SessionTurn{Agent: "claude", Session: "S1", Text: text}})
	if err != nil {
		r.t.Fatal(err)
	}
	return result
}

func (r *liveRun) begins() {
	r.t.Helper()
	if _, _, err := r.step(SessionStep{Session: &ralph.SessionBound{Agent: "claude", Session: "S1", PID: 7}}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *liveRun) types() string {
	var types []string
	for _, e := range r.log.events {
		types = append(types, string(e.Type))
	}
	return strings.Join(types, " ")
}

func TestASessionIsRefusedOnceAndThenProven(t *testing.T) {
	bubble(t, "steps", func(t *testing.T) {
		r := newLiveRun(t)
		r.begins()
		if got, want := r.types(), "run_started notice tree_snapshot check_started check_finished session_bound "+
			"iteration_started prompt_built agent_started"; got != want {
			t.Fatalf("first step recorded\n%s, want\n%s", got, want)
		}
		time.Sleep(time.Minute)
		r.work = "half"
		result, prompt, err := r.step(SessionStep{Turn: &SessionTurn{Agent: "claude", Session: "S1", Text: "All done."}})
		if err != nil || result.Status != ralph.StatusActive || result.StopReason != "" {
			t.Fatalf("%v, %+v, want an active run", err, result)
		}
		for _, want := range []string{"iteration 2 of 10", "check_failed", "two tests fail", "make it green"} {
			if !strings.Contains(prompt, want) {
				t.Errorf("the prompt lacks %q:\n%s", want, prompt)
			}
		}
		r.work, r.passes = "whole", true
		result = r.stops("Now all is done.")
		if result.StopReason != ralph.AllChecksPassed || result.ExitCode != 0 || result.TotalIterations != 2 {
			t.Fatalf("%+v, want a completed run of 2 iterations", result)
		}
		if first := result.Iterations[0]; first.Agent != "claude" || first.Duration < ralph.Span(time.Minute) ||
			!cmp.Equal(first.Claims, []string{ralph.StopClaim}) || result.TotalDuration < first.Duration {
			t.Errorf("first iteration %+v of %s", first, result.TotalDuration)
		}
		if strings.Count(r.types(), "notice") != 1 {
			t.Errorf("a notice was repeated: %s", r.types())
		}
	})
}

func TestASessionEndsWithoutAProof(t *testing.T) {
	for name, tt := range map[string]struct {
		text   string
		stops  int
		change func(*ralph.Policy)
		reason ralph.StopReason
	}{
		"blocked":      {"<promise>BLOCKED:no key</promise>", 1, nil, ralph.Blocked},
		"decide":       {"<promise>DECIDE:REST?</promise>", 1, nil, ralph.NeedsDecision},
		"circuit open": {"done", 3, func(p *ralph.Policy) { p.Breaker.Cooldown = ralph.Span(time.Hour) }, ralph.CircuitOpen},
		"limit":        {"done", 2, func(p *ralph.Policy) { p.MaxIterations = 2 }, ralph.MaxIterations},
		"no time limit": {"done", 2, func(p *ralph.Policy) {
			p.MaxIterations, p.MaxTime, p.IterationTimeout = 2, ralph.Span(time.Second), ralph.Span(time.Second)
		}, ralph.MaxIterations},
	} {
		bubble(t, name, func(t *testing.T) {
			r := newLiveRun(t)
			if tt.change != nil {
				tt.change(&r.policy)
			}
			r.begins()
			var result ralph.Result
			for range tt.stops {
				if result.StopReason != "" {
					t.Fatalf("ended early with %s", result.StopReason)
				}
				time.Sleep(time.Minute)
				result = r.stops(tt.text)
			}
			if result.StopReason != tt.reason {
				t.Errorf("ended with %q, want %q", result.StopReason, tt.reason)
			}
		})
	}
}

func TestOrdersJudgeNothing(t *testing.T) {
	bubble(t, "pause, resume, clear", func(t *testing.T) {
		r := newLiveRun(t)
		r.begins()
		for _, tt := range []struct {
			step   SessionStep
			status ralph.Status
		}{
			{SessionStep{Order: SessionPause}, ralph.StatusPaused},
			{SessionStep{}, ralph.StatusActive},
			{SessionStep{Order: SessionClear}, ralph.StatusInterrupted},
		} {
			if result, _, err := r.step(tt.step); err != nil || result.Status != tt.status || result.TotalIterations != 0 {
				t.Errorf("%+v: %v, %+v, want %s", tt.step, err, result, tt.status)
			}
		}
		state := refold(t, r.log.events)
		if state.Phase != fold.PhaseBegun || state.Stopped.Signal != ralph.SignalStop {
			t.Errorf("phase %q, stopped %+v", state.Phase, state.Stopped)
		}
	})
}

// A step that is killed while it judges leaves the run active, and the next one judges what is there.
func TestAKilledJudgementIsRepeated(t *testing.T) {
	bubble(t, "killed", func(t *testing.T) {
		r := newLiveRun(t)
		r.begins()
		ctx, kill := context.WithCancelCause(t.Context())
		r.ctx, r.log.onAppend = ctx, func(e ralph.Event) {
			if e.Type == ralph.EvAgentExited {
				kill(ralph.Killed{Signal: ralph.SignalTerminate})
			}
		}
		r.passes, r.work = true, "whole"
		_, _, err := r.step(SessionStep{Turn: &SessionTurn{Agent: "claude", Text: "done"}})
		if err == nil || strings.Contains(r.types(), "run_stopped") {
			t.Fatalf("error %v, events %s", err, r.types())
		}
		r.ctx, r.log.onAppend = t.Context(), nil
		if result := r.stops("again"); result.StopReason != ralph.AllChecksPassed || result.TotalIterations != 1 {
			t.Errorf("%+v, want the first iteration to complete", result)
		}
	})
}

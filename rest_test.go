package ralph

import (
	"context"
	"slices"
	"testing"
	"time"
)

// The user may edit while the run rests. Their work is not the agent's progress, so the breaker counts on.
func TestWhatTheUserChangesInAPauseIsNoProgress(t *testing.T) {
	bubble(t, "three idle iterations with an edit between", func(t *testing.T) {
		w := newWorld(t, nothing())
		w.policy.Breaker.Diagnose = false
		w.tree.frozen = true
		begun, edited := time.Now(), false
		w.options = append(w.options, WithMailbox(fakeMailbox(func() (Orders, error) {
			since := time.Since(begun)
			if since > time.Minute && !edited {
				edited = true
				w.tree.changes++
			}
			return Orders{Pause: since >= time.Second && since < time.Hour}, nil
		})))
		w.ends(CircuitOpen, 3)
		if !edited {
			t.Error("nothing was edited, so nothing is shown")
		}
	})
}

func TestAViewThatPanicsDoesNotEndTheRun(t *testing.T) {
	bubble(t, "it is told nothing more, the others are", func(t *testing.T) {
		w := newWorld(t, done())
		w.checker.results = []CheckResult{isGreen}
		var broken, sound []EventType
		w.options = append(w.options,
			WithObserver(func(e Event) {
				broken = append(broken, e.Type)
				panic("a bug in a view")
			}),
			WithObserver(func(e Event) { sound = append(sound, e.Type) }))
		w.ends(AllChecksPassed, 1)
		if !slices.Equal(broken, []EventType{EvRunStarted}) || !slices.Contains(sound, EvRunStopped) || !slices.Contains(sound, EvWarning) {
			t.Errorf("the broken view saw %v, the sound one %v", broken, sound)
		}
	})
}

// What an agent had reported when the harness was killed is spent, though its iteration does not count.
func TestACutIterationCostsWhatWasKnownOfIt(t *testing.T) {
	f := fold(t)
	cost := 0.7
	f.state.History.Started = 0
	f.iteration = 1
	f.see(EvIterationStarted, IterationStarted{Ordinal: 1})
	f.see(EvAgentOutput, AgentOutput{Elapsed: Span(time.Second), Cost: &cost, Tokens: &Tokens{Input: 100, Output: 50}})
	f.see(EvRunResumed, RunResumed{Policy: DefaultPolicy(), Interrupted: 1})
	if h := f.state.History; h.Cost != cost || h.Tokens.Total() != 150 || h.Counted != 0 || f.state.Elapsed != Span(time.Second) {
		t.Errorf("cost %v, tokens %d, counted %d, elapsed %s", h.Cost, h.Tokens.Total(), h.Counted, f.state.Elapsed)
	}
	if r := f.state.Result(); r.TotalCost == nil || *r.TotalCost != cost {
		t.Errorf("total cost %v, want %v", r.TotalCost, cost)
	}
}

func TestTheTimeOfACheckIsRecordedWhileItRuns(t *testing.T) {
	bubble(t, "a slow baseline", func(t *testing.T) {
		w := newWorld(t, done())
		w.checker.results = []CheckResult{isGreen}
		w.checker.before = func(_ context.Context, call int) {
			if call == 1 {
				time.Sleep(10 * time.Second)
			}
		}
		w.ends(AllChecksPassed, 1)
		var during []Span
		for _, e := range w.log.events {
			if out, ok := e.Data.(AgentOutput); ok && e.Iteration == 0 {
				during = append(during, out.Elapsed)
			}
		}
		if len(during) < 9 || during[len(during)-1] < Span(9*time.Second) {
			t.Errorf("recorded in the baseline: %v", during)
		}
	})
}

func TestTenDimesAreADollar(t *testing.T) {
	f := fold(t)
	for range 10 {
		f.iterate(AgentOutcome{Agent: "fake", End: EndOK, Cost: new(0.1)})
	}
	if f.state.History.Cost != 1 {
		t.Errorf("ten times $0.10 is $%v", f.state.History.Cost)
	}
}

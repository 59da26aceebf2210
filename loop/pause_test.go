package loop

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/ralphloop/ralph"
)

// The user may edit while the run waits. Those edits are not the agent's progress, so the breaker
// keeps counting.
func TestWhatTheUserChangesInAPauseIsNoProgress(t *testing.T) {
	bubble(t, "three idle iterations with an edit between", func(t *testing.T) {
		w := newWorld(t, nothing())
		w.policy.Breaker.Diagnose = false
		w.tree.frozen = true
		begun, edited := time.Now(), false
		w.options = append(w.options, WithInbox(fakeInbox(func() (ralph.Orders, error) {
			since := time.Since(begun)
			if since > time.Minute && !edited {
				edited = true
				w.tree.changes++
			}
			return ralph.Orders{Pause: since >= time.Second && since < time.Hour}, nil
		})))
		w.ends(ralph.CircuitOpen, 3)
		if !edited {
			t.Error("nothing was edited, so nothing is shown")
		}
	})
}

func TestAViewThatPanicsDoesNotEndTheRun(t *testing.T) {
	bubble(t, "it is told nothing more, the others are", func(t *testing.T) {
		w := newWorld(t, done())
		w.checker.results = []ralph.CheckResult{isGreen}
		var broken, sound []ralph.EventType
		w.options = append(w.options,
			WithObserver(func(e ralph.Event) {
				broken = append(broken, e.Type)
				panic("a bug in a view")
			}),
			WithObserver(func(e ralph.Event) { sound = append(sound, e.Type) }))
		w.ends(ralph.AllChecksPassed, 1)
		if !slices.Equal(broken, []ralph.EventType{ralph.EvRunStarted}) || !slices.Contains(sound, ralph.EvRunStopped) ||
			!slices.Contains(sound, ralph.EvWarning) {
			t.Errorf("the broken view saw %v, the sound one %v", broken, sound)
		}
	})
}

func TestTheTimeOfACheckIsRecordedWhileItRuns(t *testing.T) {
	bubble(t, "a slow baseline", func(t *testing.T) {
		w := newWorld(t, done())
		w.checker.results = []ralph.CheckResult{isGreen}
		w.checker.before = func(_ context.Context, call int) {
			if call == 1 {
				time.Sleep(10 * time.Second)
			}
		}
		w.ends(ralph.AllChecksPassed, 1)
		var during []ralph.Span
		for _, e := range w.log.events {
			if out, ok := e.Data.(ralph.AgentOutput); ok && e.Iteration == 0 {
				during = append(during, out.Elapsed)
			}
		}
		if len(during) < 9 || during[len(during)-1] < ralph.Span(9*time.Second) {
			t.Errorf("recorded in the baseline: %v", during)
		}
	})
}

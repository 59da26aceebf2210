package ralph

import (
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

package loop

import (
	"errors"
	"sync"
	"testing"
)

// If the processes of a session cannot be stopped, each answer is longer than the ones before, also for checks that run
// side by side.
func TestAFailedHoldDisturbsEveryRun(t *testing.T) {
	r := &checkRunner{hold: func() (Held, error) { return Held{}, errors.New("no /proc") }}
	defer r.holdSession()()
	const runs = 50
	var mu sync.Mutex
	lengths := map[int]bool{}
	var all sync.WaitGroup
	for range runs {
		all.Go(func() {
			started := r.disturbed()()
			mu.Lock()
			defer mu.Unlock()
			if lengths[len(started)] || started[len(started)-1] != "unknown processes: no /proc" {
				t.Errorf("a second answer of length %d: %v", len(started), started)
			}
			lengths[len(started)] = true
		})
	}
	all.Wait()
	if len(lengths) != runs {
		t.Errorf("got %d answers, want %d", len(lengths), runs)
	}
}

package ralph

import (
	"testing"
	"time"
)

func TestRunIDsSortByTime(t *testing.T) {
	now, ids := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), newIDSource()
	last := ""
	for i := range 2000 {
		id := ids.next(now.Add(time.Duration(i%50-25) * time.Hour)) // the clock jumps
		if id <= last || len(id) != 26 {
			t.Fatalf("%s after %s", id, last)
		}
		last = id
	}
	if later := ids.next(now.Add(100 * time.Hour)); later[:8] <= last[:8] {
		t.Errorf("%s does not tell its time, after %s", later, last)
	}
	if a, b := NewRunID(now), NewRunID(now); a >= b {
		t.Errorf("%s is not before %s", a, b)
	}
}

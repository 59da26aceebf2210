package canary

import (
	"maps"
	"slices"
	"strconv"
)

// tally counts the tests of a run.
type tally struct {
	tests    map[string]State
	repeated map[string]int
	formats  map[string]bool // formats that named tests
	sums     map[string]bool // formats that counted tests
	counted  int             // from summaries
	beyond   int             // tests for whose names there was no room
	unstable int
	foreign  int  // canaries by name
	overflow bool // some names are missing
}

// add records a test of the project by its name.
func (t *tally) add(format, name string, state State) {
	name, changes := stableName(name)
	if changes {
		// It cannot be found again in another run, but it counts.
		if state != Skipped && state != Ran {
			t.unstable++
		}
		return
	}
	if format == "tap" || format == "spec" || format == "json" {
		// Without the file, two tests may share a name, and one of them could disappear unnoticed.
		t.repeated[name]++
		if n := t.repeated[name]; n > 1 {
			name += " (" + strconv.Itoa(n) + ")"
		}
	}
	before, known := t.tests[name]
	switch {
	case !known && len(t.tests) >= maxNames:
		t.overflow = true
		if state != Skipped {
			t.beyond++
		}
		return
	case known && (before == Passed || before == Failed) && state == Skipped:
		return
	}
	t.tests[name] = state
}

// count sets how many tests ran: from their names if there are any, otherwise from summaries.
func (t *tally) count(out *Outcome) {
	out.Total = -1
	if len(t.tests)+t.unstable+t.foreign > 0 {
		out.Tests, out.Unstable, out.Complete = t.tests, t.unstable, !t.overflow
		out.Formats = slices.Sorted(maps.Keys(t.formats))
		out.Total = t.beyond + t.unstable
		for _, state := range t.tests {
			if state != Skipped {
				out.Total++
			}
		}
		return
	}
	if len(t.sums) > 0 {
		out.Formats = slices.Sorted(maps.Keys(t.sums))
		out.Total = max(0, t.counted-len(out.Failing)-len(out.Passing))
	}
}

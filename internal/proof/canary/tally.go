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
	formats  map[string]bool // that named tests
	sums     map[string]bool // that counted them
	counted  int             // by summaries
	beyond   int             // tests for whose names there was no room
	unstable int
	foreign  int  // canaries by name
	overflow bool // some names are missing
}

// add takes a test of the project's own by its name.
func (t *tally) add(format, name string, state State) {
	name, changes := steady(name)
	if changes {
		// It cannot be found again, but it counts.
		if state != Skipped && state != Ran {
			t.unstable++
		}
		return
	}
	if format == "tap" || format == "spec" || format == "json" {
		// Without the file two tests may have one name, and one of them could go.
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

// count says how many tests ran, by their names where there are any, else by what summaries said.
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

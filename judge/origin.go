package judge

import (
	"slices"

	"github.com/ralphloop/ralph"
)

// Origin is the tree before the first of several runs in a row that did not complete. These runs are judged like one
// long run: what an agent broke in an earlier one shows no work when it is repaired.
type Origin struct {
	Run      string `json:"run"`                // the last of these runs; "" if it is a commit
	Snapshot string `json:"snapshot,omitempty"` // with the user's changes since; "" if there is none
	Checked  string `json:"checked,omitempty"`  // the snapshot that Checks are about
	// Checks has recorded results of checks.
	Checks []ralph.CheckResult `json:"checks,omitempty"`
}

// atOrigin returns how a check ends at the origin, as far as that is known. As at the run's base, a failure counts also
// if the user changed files since.
func atOrigin(h History, c ralph.CheckResult) (ralph.CheckResult, bool) {
	if h.Now.Work != nil {
		if ran, ok := findCheck(h.Now.Work.AtOrigin, c.Name, c.Task); ok {
			return ran, true
		}
	}
	recorded, ok := findCheck(h.Origin.Checks, c.Name, c.Task)
	isSame := recorded.Command == c.Command && !c.Hidden
	return recorded, ok && isSame && (!recorded.Passed || h.Origin.Snapshot == h.Origin.Checked)
}

// failsAtOrigin reports whether a check fails at the origin, or whether there is none. Where no other tree can be
// checked, a check of which that is not known counts nevertheless.
func failsAtOrigin(h History, c ralph.CheckResult) bool {
	if h.Origin == nil {
		return true
	}
	if origin, known := atOrigin(h, c); known {
		return origin.FailedInTime()
	}
	return ranInPlace(c)
}

// PassedAtOrigin reports whether it is known that a check passes at the origin.
func PassedAtOrigin(h History, c ralph.CheckResult) bool {
	if h.Origin == nil {
		return false
	}
	origin, known := atOrigin(h, c)
	return known && origin.Passed
}

// UnknownAtOrigin lists the passing checks that failed at the run's base, and of which it is not known whether they
// failed at the origin.
func UnknownAtOrigin(h History) []ralph.CheckResult {
	if h.Origin == nil || h.Origin.Snapshot == "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(h.Now.Checks), func(c ralph.CheckResult) bool {
		_, known := atOrigin(h, c)
		return known || !c.Passed || ranInPlace(c) || !failsAtRunBase(h, c)
	})
}

// beforeOrigin says which state the origin is. Of several runs, only the last one has a name.
func beforeOrigin(h History) string {
	if h.Origin.Run == "" {
		return "before the uncommitted changes with which the goal was set"
	}
	return "before run " + h.Origin.Run + ", which did not complete"
}

// whyOriginShowsNothing says why a check that failed at the run's base shows nothing.
func whyOriginShowsNothing(h History, c ralph.CheckResult) string {
	switch origin, known := atOrigin(h, c); {
	case !known:
		return " did not run on the files from " + beforeOrigin(h)
	case origin.TimedOut:
		return " was stopped by its time limit on the files from " + beforeOrigin(h) + ", which is no failure"
	case !origin.Passed:
		return " could not run on the files from " + beforeOrigin(h)
	}
	return " passed " + beforeOrigin(h) + ", too"
}

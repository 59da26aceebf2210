package judge

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

// repaired is a claim whose check failed at the run's base and passes now, after a run that did not complete.
func repaired(origin Origin) History {
	h := History{Baseline: []ralph.CheckResult{{Name: "go test", Isolation: ralph.IsolationOverlay}}}
	h.Rules, h.Origin = ralph.DefaultPolicy().Rules, &origin
	h.Now.Checks = []ralph.CheckResult{{Name: "go test", Passed: true, Isolation: ralph.IsolationOverlay}}
	h.Now.Work = &ralph.WorkSeen{}
	return h
}

func TestARepairShowsWorkOnlyIfTheCheckFailedBeforeUnprovenRuns(t *testing.T) {
	passed, failed := ralph.CheckResult{Name: "go test", Passed: true}, ralph.CheckResult{Name: "go test"}
	recorded := func(c ralph.CheckResult) Origin {
		return Origin{Run: "R1", Snapshot: "a", Checked: "a", Checks: []ralph.CheckResult{c}}
	}
	edited := func(c ralph.CheckResult) Origin {
		origin := recorded(c)
		origin.Snapshot = "b" // the user changed files since
		return origin
	}
	other := failed
	other.Command = "go test ./a"
	for _, tt := range []struct {
		name    string
		origin  Origin
		given   func(h *History)
		shown   bool
		unknown bool
		why     string
	}{
		{"it failed", recorded(failed), nil, true, false, ""},
		{"it failed, and the user changed files since", edited(failed), nil, true, false, ""},
		{"it passed", recorded(passed), nil, false, false, " passed before run R1, which did not complete, too"},
		{"it timed out", recorded(ralph.CheckResult{Name: "go test", TimedOut: true}), nil, false, false,
			" was stopped by its time limit on the files from before run R1, which did not complete, which is no failure"},
		{"it passed, and the user changed files since", edited(passed), nil, false, true,
			" did not run on the files from before run R1, which did not complete"},
		{"it was another command", recorded(other), nil, false, true,
			" did not run on the files from before run R1, which did not complete"},
		{"it runs there now and fails", edited(passed), func(h *History) {
			h.Now.Work.AtOrigin = []ralph.CheckResult{failed}
		}, true, false, ""},
		{"it runs there now and passes", recorded(other), func(h *History) {
			h.Now.Work.AtOrigin = []ralph.CheckResult{passed}
		}, false, false, " passed before run R1, which did not complete, too"},
		{"it cannot run there", recorded(other), func(h *History) {
			h.Now.Work.AtOrigin = []ralph.CheckResult{{Name: "go test", Broken: true}}
		}, false, false, " could not run on the files from before run R1, which did not complete"},
		{"a hidden check is known by its number only", recorded(failed), func(h *History) {
			h.Now.Checks[0].Hidden = true
		}, false, true, " did not run on the files from before run R1, which did not complete"},
		{"no other tree can be checked", recorded(other), func(h *History) {
			h.Now.Checks[0].Isolation = ralph.IsolationInPlace
		}, true, false, ""},
		{"no other tree can be checked, and it passed", recorded(passed), func(h *History) {
			h.Now.Checks[0].Isolation = ralph.IsolationInPlace
		}, false, false, " passed before run R1, which did not complete, too"},
		{"without snapshots", Origin{Run: "R1", Checks: []ralph.CheckResult{passed}}, nil, false, false,
			" passed before run R1, which did not complete, too"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := repaired(tt.origin)
			if tt.given != nil {
				tt.given(&h)
			}
			_, shown := (&allotment{}).show(h, "")
			why := ""
			if !shown {
				why = whyCheckShowsNothing(h, h.Now.Checks[0])
			}
			unknown := len(UnknownAtOrigin(h)) > 0
			if shown != tt.shown || failedBefore(h, h.Now.Checks[0]) != shown || unknown != tt.unknown || why != tt.why {
				t.Errorf("shown %t, unknown %t, why %q", shown, unknown, why)
			}
		})
	}
}

func TestNewTestsMustFailBeforeUnprovenRuns(t *testing.T) {
	s := greenClaim()
	s.before.Origin = &Origin{Run: "R1", Snapshot: "a"}
	s.before.Now.Work.Tests = []string{"a_test.go"}
	s.before.Now.Work.NewTests = []ralph.NewTestsRun{{Name: "go test", PassedEarlier: true}}
	h := s.before
	by, code, detail := judgeShown(s.policy, h, "", &allotment{})
	got := []string{string(by.By), code, detail}
	want := []string{"", ralph.RefusedNotShown, "the new tests also pass with the other files as they were before run " +
		"R1, which did not complete: a_test.go"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRestoredFilesAreNoWork(t *testing.T) {
	for _, proof := range []ralph.ProofRule{ralph.ProofShown, ralph.ProofUnbroken} {
		s := greenClaim()
		s.policy.Proof = proof
		s.before.Origin = &Origin{Run: "R1", Snapshot: "a"}
		s.before.Now.Work.Unchanged, s.before.Now.Work.Restored = true, true
		_, code, detail := judgeShown(s.policy, s.before, "", &allotment{})
		want := "no file changed if compared with the state before run R1, which did not complete"
		if code != ralph.RefusedNoChange || detail != want {
			t.Errorf("%s: %s: %s", proof, code, detail)
		}
	}
}

func TestOnlyANewTestShowsWorkAfterABreak(t *testing.T) {
	p := ralph.DefaultPolicy()
	h := repaired(Origin{Run: "R1", Checks: []ralph.CheckResult{{Name: "go test", Passed: true}}})
	if !NeedsNewTest(p, h, "") {
		t.Error("the check passed before, so its repair shows nothing")
	}
	h.Origin = nil
	if NeedsNewTest(p, h, "") {
		t.Error("the check failed before")
	}
}

package fold

import (
	"slices"
	"testing"

	"github.com/ralphloop/ralph"
)

// Weakened tests stay refused if the next iteration claims nothing.
func TestWeakenedTestsStayRefused(t *testing.T) {
	refused := ralph.Verdict{Counted: true, Claimed: true, Gates: []ralph.Gate{
		{State: ralph.GateShut, Refusal: ralph.RefusedTestsChanged},
	}}
	var s State
	apply := func(iteration int, kind ralph.EventType, data any) {
		t.Helper()
		e := ralph.Event{Version: ralph.EventVersion, Seq: s.Seq + 1, Iteration: iteration, Type: kind, Data: data}
		if err := s.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	apply(0, ralph.EvRunStarted, ralph.RunStarted{Policy: ralph.DefaultPolicy()})
	for i, tt := range []struct {
		tests   *ralph.BaseTestsRun
		verdict ralph.Verdict
		want    []string
	}{
		{&ralph.BaseTestsRun{Files: []string{"a_test.go"}}, refused, []string{"a_test.go"}},
		{nil, ralph.Verdict{Counted: true}, []string{"a_test.go"}},
		{&ralph.BaseTestsRun{Files: []string{"a_test.go"}, OldPassed: true}, ralph.Verdict{Counted: true}, nil},
	} {
		apply(i+1, ralph.EvIterationStarted, ralph.IterationStarted{})
		apply(i+1, ralph.EvAgentExited, ralph.AgentOutcome{End: ralph.EndOK})
		if tt.tests != nil {
			apply(i+1, ralph.EvTestsChanged, *tt.tests)
		}
		apply(i+1, ralph.EvVerdict, ralph.VerdictReached{Verdict: tt.verdict})
		if got := s.Weakened; !slices.Equal(got, tt.want) {
			t.Errorf("after iteration %d the run refuses %v, want %v", i+1, got, tt.want)
		}
	}
}

// The base of a run is what a person trusts, and not what an earlier run left in the workspace.
func TestTheBaseIsNotTheWorkspace(t *testing.T) {
	workspace := ralph.TreeState{Known: true, Head: "c", Hash: "h", Snapshot: "now"}
	for name, tt := range map[string]struct {
		base     string
		inherits bool
		want     string
	}{
		"the workspace":       {"", false, "now"},
		"a tree of its own":   {"trusted", true, "trusted"},
		"named the workspace": {"now", false, "now"},
	} {
		t.Run(name, func(t *testing.T) {
			var s State
			tree := workspace
			tree.Base = tt.base
			s.snapshot(0, tree)
			h := s.History
			if h.Base.Snapshot != tt.want || h.First.Snapshot != tt.want || h.Tree.Snapshot != "now" || h.Inherits != tt.inherits {
				t.Errorf("base %q, first %q, tree %q, inherits %t",
					h.Base.Snapshot, h.First.Snapshot, h.Tree.Snapshot, h.Inherits)
			}
			if sameName := h.Base.ID() == h.Tree.ID(); sameName == tt.inherits {
				t.Errorf("the base is %s, the workspace is %s", h.Base.ID(), h.Tree.ID())
			}
		})
	}
}

// What the user changed in the goal while checks ran joins the base, and the checks run again.
func TestAGoalThatChangedWhileChecksRan(t *testing.T) {
	var s State
	s.History.Judging = true
	s.History.Base = ralph.TreeState{Known: true, Snapshot: "base"}
	s.History.Now.Checks = []ralph.CheckResult{{Name: "go test", Passed: true}}
	s.snapshot(1, ralph.TreeState{Known: true, Snapshot: "moved", Again: true, Base: "with goal"})
	if s.History.Base.Snapshot != "with goal" || len(s.History.Now.Checks) > 0 {
		t.Errorf("base %q, checks %v", s.History.Base.Snapshot, s.History.Now.Checks)
	}
}

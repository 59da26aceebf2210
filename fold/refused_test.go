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
		if got := s.RefusedFiles(); !slices.Equal(got, tt.want) {
			t.Errorf("after iteration %d the run refuses %v, want %v", i+1, got, tt.want)
		}
	}
}

// A completed run accepts only what it judged.
func TestWhatACompletedRunStillRefuses(t *testing.T) {
	s := State{Distrusted: Distrusted{Weakened: []string{"b_test.go"}}}
	s.Started.Refused = &ralph.RefusedEarlier{Files: []string{"a.sh", "b_test.go"}}
	if got, want := s.RefusedFiles(), []string{"a.sh", "b_test.go"}; !slices.Equal(got, want) {
		t.Errorf("a run that goes on refuses %v, want %v", got, want)
	}
	s.Stopped = &ralph.RunStopped{Reason: ralph.AllChecksPassed, Status: ralph.StatusCompleted}
	if got, want := s.RefusedFiles(), []string{"a.sh"}; !slices.Equal(got, want) {
		t.Errorf("a completed run refuses %v, want %v", got, want)
	}
}

// An iteration is judged once its verdict is about the tree that the agent left.
func TestUnjudgedIterations(t *testing.T) {
	var s State
	is := func(when string, unjudged, recorded bool) {
		t.Helper()
		_, known := TreeLeft(&s)
		if Unjudged(&s) != unjudged || known != recorded {
			t.Errorf("%s: unjudged %t, recorded %t", when, Unjudged(&s), known)
		}
	}
	apply := func(iteration int, kind ralph.EventType, data any) {
		t.Helper()
		e := ralph.Event{Version: ralph.EventVersion, Seq: s.Seq + 1, Iteration: iteration, Type: kind, Data: data}
		if err := s.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	tree := ralph.TreeState{Known: true, Snapshot: "1"}
	apply(0, ralph.EvRunStarted, ralph.RunStarted{Policy: ralph.DefaultPolicy()})
	is("before an agent works", false, true)
	apply(1, ralph.EvIterationStarted, ralph.IterationStarted{})
	is("while it works", true, false)
	apply(1, ralph.EvAgentExited, ralph.AgentOutcome{End: ralph.EndOK})
	is("after it ended", true, false)
	apply(1, ralph.EvTreeSnapshot, tree)
	is("while it is judged", true, true)
	apply(1, ralph.EvVerdict, ralph.VerdictReached{Verdict: ralph.Verdict{Counted: true}})
	is("after the verdict", false, true)
	apply(2, ralph.EvIterationStarted, ralph.IterationStarted{})
	apply(2, ralph.EvAgentExited, ralph.AgentOutcome{End: ralph.EndInterrupted})
	apply(2, ralph.EvVerdict, ralph.VerdictReached{})
	is("after an interrupt", true, false)
	apply(2, ralph.EvTreeSnapshot, tree)
	is("after a last look", true, true)
}

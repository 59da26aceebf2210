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

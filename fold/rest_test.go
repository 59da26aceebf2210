package fold

import (
	"testing"
	"time"

	"github.com/ralphloop/ralph"
)

// The cost that an agent had reported when the harness was killed is spent, although its iteration
// does not count.
func TestACutIterationCostsWhatWasKnownOfIt(t *testing.T) {
	f := startRun(t)
	cost := 0.7
	f.state.History.Started = 0
	f.iteration = 1
	f.emit(ralph.EvIterationStarted, ralph.IterationStarted{Ordinal: 1})
	f.emit(ralph.EvAgentOutput, ralph.AgentOutput{
		Elapsed: ralph.Span(time.Second), Cost: &cost, Tokens: &ralph.Tokens{Input: 100, Output: 50},
	})
	f.emit(ralph.EvRunResumed, ralph.RunResumed{Policy: lenientPolicy(), Interrupted: 1})
	h := f.state.History
	if h.Cost != cost || h.Tokens.Total() != 150 || h.Counted != 0 || f.state.Elapsed != ralph.Span(time.Second) {
		t.Errorf("cost %v, tokens %d, counted %d, elapsed %s", h.Cost, h.Tokens.Total(), h.Counted, f.state.Elapsed)
	}
	if r := f.state.Result(); r.TotalCost == nil || *r.TotalCost != cost {
		t.Errorf("total cost %v, want %v", r.TotalCost, cost)
	}
}

func TestTenDimesAreADollar(t *testing.T) {
	f := startRun(t)
	for range 10 {
		f.iterate(ralph.AgentOutcome{Agent: "fake", End: ralph.EndOK, Cost: new(0.1)})
	}
	if f.state.History.Cost != 1 {
		t.Errorf("ten times $0.10 is $%v", f.state.History.Cost)
	}
}

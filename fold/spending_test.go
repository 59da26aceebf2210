package fold

import (
	"testing"

	"github.com/ralphloop/ralph"
)

// A sum with an unknown part is a lower bound and is marked as partial.
func TestASumOfWhichAPartIsNotKnown(t *testing.T) {
	type figures struct {
		Cost                   *float64
		Estimated, CostPartial bool
		Tokens                 *ralph.Tokens
		TokensPartial          bool
	}
	tokens := &ralph.Tokens{Input: 5}
	known := ralph.AgentOutcome{End: ralph.EndOK, Cost: new(0.5), Tokens: tokens}
	free := ralph.AgentOutcome{End: ralph.EndOK, Cost: new(0.0), Tokens: tokens}
	partOfOne := ralph.AgentOutcome{
		End: ralph.EndOK, Cost: new(0.5), CostEstimated: true, CostPartial: true, Tokens: tokens, TokensPartial: true,
	}
	unknown := ralph.AgentOutcome{End: ralph.EndOK}
	noCost := ralph.AgentOutcome{End: ralph.EndOK, Tokens: &ralph.Tokens{}}
	partialCost := ralph.AgentOutcome{End: ralph.EndProvider, CostPartial: true}
	whole := figures{Cost: new(0.5), Tokens: tokens}
	costPartial := figures{Cost: new(0.5), CostPartial: true, Tokens: tokens}
	bothPartial := figures{Cost: new(0.5), CostPartial: true, Tokens: tokens, TokensPartial: true}
	for name, c := range map[string]struct {
		outcomes []ralph.AgentOutcome
		want     figures
	}{
		"everything is known":          {[]ralph.AgentOutcome{known}, whole},
		"nothing is known":             {[]ralph.AgentOutcome{unknown}, figures{}},
		"one iteration is unknown":     {[]ralph.AgentOutcome{unknown, known}, bothPartial},
		"one cost is unknown":          {[]ralph.AgentOutcome{known, noCost}, costPartial},
		"an agent that did not work":   {[]ralph.AgentOutcome{known, {End: ralph.EndLimit}}, whole},
		"an agent that reports a part": {[]ralph.AgentOutcome{known, partialCost}, costPartial},
		"an interrupted iteration":     {[]ralph.AgentOutcome{known, {End: ralph.EndInterrupted}}, bothPartial},
		"an agent without any figures": {[]ralph.AgentOutcome{unknown, {End: ralph.EndInterrupted}}, figures{}},
		"a part of one iteration":      {[]ralph.AgentOutcome{partOfOne}, figures{new(0.5), true, true, tokens, true}},
		"unknown next to a free one":   {[]ralph.AgentOutcome{free, unknown}, figures{Tokens: tokens, TokensPartial: true}},
	} {
		t.Run(name, func(t *testing.T) {
			f := startRun(t)
			for _, o := range c.outcomes {
				f.iterate(o)
			}
			r := f.state.Result()
			same(t, "figures", c.want, figures{r.TotalCost, r.CostEstimated, r.CostPartial, r.TotalTokens, r.TokensPartial})
		})
	}
	for name, told := range map[string]ralph.Spending{
		"an iteration that was cut":        {Tokens: tokens, Cost: new(0.5)},
		"of which only a part was told":    {Tokens: tokens, TokensPartial: true, Cost: new(0.5), CostPartial: true},
		"of which nothing was told at all": {TokensPartial: true, CostPartial: true},
		"which told nothing":               {},
	} {
		t.Run(name, func(t *testing.T) {
			f := startRun(t)
			f.iterate(ralph.AgentOutcome{End: ralph.EndOK, Cost: new(1.0), Tokens: tokens})
			f.iteration++
			f.emit(ralph.EvIterationStarted, ralph.IterationStarted{})
			f.emit(ralph.EvTurn, ralph.Turn{Number: 1, Spent: told})
			f.emit(ralph.EvAgentOutput, ralph.AgentOutput{Cost: told.Cost, Tokens: told.Tokens}) // no newer figures
			f.emit(ralph.EvRunResumed, ralph.RunResumed{Policy: lenientPolicy(), Interrupted: 2})
			want := figures{Cost: new(1.5), CostPartial: true, Tokens: &ralph.Tokens{Input: 10}, TokensPartial: true}
			if told.Cost == nil { // only the first iteration is known
				want.Cost, want.Tokens = new(1.0), tokens
			}
			r := f.state.Result()
			same(t, "figures", want, figures{r.TotalCost, r.CostEstimated, r.CostPartial, r.TotalTokens, r.TokensPartial})
		})
	}
}

package fold

import (
	"testing"

	"github.com/ralphloop/ralph"
)

// TestASumOfWhichAPartIsNotKnown is a lower bound, and says so.
func TestASumOfWhichAPartIsNotKnown(t *testing.T) {
	type figures struct {
		Cost                   *float64
		Estimated, CostPartial bool
		Tokens                 *ralph.Tokens
		TokensPartial          bool
	}
	tokens := &ralph.Tokens{Input: 5}
	known := ralph.AgentOutcome{End: ralph.EndOK, Cost: new(0.5), Tokens: tokens}
	for name, c := range map[string]struct {
		outcomes []ralph.AgentOutcome
		want     figures
	}{
		"all is known":                {[]ralph.AgentOutcome{known}, figures{Cost: new(0.5), Tokens: tokens}},
		"nothing is":                  {[]ralph.AgentOutcome{{End: ralph.EndOK}}, figures{}},
		"one iteration is not":        {[]ralph.AgentOutcome{{End: ralph.EndOK}, known}, figures{Cost: new(0.5), CostPartial: true, Tokens: tokens, TokensPartial: true}},
		"its cost is not":             {[]ralph.AgentOutcome{known, {End: ralph.EndOK, Tokens: &ralph.Tokens{}}}, figures{Cost: new(0.5), CostPartial: true, Tokens: tokens}},
		"what did not work took none": {[]ralph.AgentOutcome{known, {End: ralph.EndLimit}}, figures{Cost: new(0.5), Tokens: tokens}},
		"unless it says otherwise":    {[]ralph.AgentOutcome{known, {End: ralph.EndProvider, CostPartial: true}}, figures{Cost: new(0.5), CostPartial: true, Tokens: tokens}},
		"what was cut took some":      {[]ralph.AgentOutcome{known, {End: ralph.EndInterrupted}}, figures{Cost: new(0.5), CostPartial: true, Tokens: tokens, TokensPartial: true}},
		"of which nobody ever tells":  {[]ralph.AgentOutcome{{End: ralph.EndOK}, {End: ralph.EndInterrupted}}, figures{}},
		"a part of one iteration":     {[]ralph.AgentOutcome{{End: ralph.EndOK, Cost: new(0.5), CostEstimated: true, CostPartial: true, Tokens: tokens, TokensPartial: true}}, figures{new(0.5), true, true, tokens, true}},
		"nothing beside what is free": {[]ralph.AgentOutcome{{End: ralph.EndOK, Cost: new(0.0), Tokens: tokens}, {End: ralph.EndOK}}, figures{Tokens: tokens, TokensPartial: true}},
	} {
		t.Run(name, func(t *testing.T) {
			f := fold(t)
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
			f := fold(t)
			f.iterate(ralph.AgentOutcome{End: ralph.EndOK, Cost: new(1.0), Tokens: tokens})
			f.iteration++
			f.see(ralph.EvIterationStarted, ralph.IterationStarted{})
			f.see(ralph.EvTurn, ralph.Turn{Number: 1, Spent: told})
			f.see(ralph.EvAgentOutput, ralph.AgentOutput{Cost: told.Cost, Tokens: told.Tokens}) // which knows no better
			f.see(ralph.EvRunResumed, ralph.RunResumed{Policy: ralph.DefaultPolicy(), Interrupted: 2})
			want := figures{Cost: new(1.5), CostPartial: true, Tokens: &ralph.Tokens{Input: 10}, TokensPartial: true}
			if told.Cost == nil { // what was told before is what is known
				want.Cost, want.Tokens = new(1.0), tokens
			}
			r := f.state.Result()
			same(t, "figures", want, figures{r.TotalCost, r.CostEstimated, r.CostPartial, r.TotalTokens, r.TokensPartial})
		})
	}
}

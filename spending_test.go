package ralph

import (
	"testing"

	"github.com/ralphloop/ralph/promise"
)

// A cap that was not counted against is said: each time for an agent that was cut short, once for one that never tells.
func TestUnknownFiguresUnderACapAreSaid(t *testing.T) {
	count := func(t *testing.T, turns ...turn) (costs, tokens int) {
		w := newWorld(t, turns...)
		w.policy.MaxCost, w.policy.MaxTokens, w.policy.MaxIterations, w.policy.MaxFailures = 5, 1000, len(turns), 0
		w.ends(MaxIterations, len(turns))
		for _, n := range payloads[Notice](w.log) {
			switch n.Code {
			case "cost_unknown":
				costs++
			case "tokens_unknown":
				tokens++
			}
		}
		return costs, tokens
	}
	cut := ends(AgentOutcome{End: EndTimeout, Error: "timed out"})
	silent := says(promise.Report{Text: true})
	told := ends(AgentOutcome{End: EndOK, Cost: new(0.1), Tokens: &Tokens{Input: 1}})
	bubble(t, "cut short", func(t *testing.T) {
		if c, n := count(t, cut, cut, cut); c != 3 || n != 3 {
			t.Errorf("said %d and %d times, want 3", c, n)
		}
	})
	bubble(t, "never tells", func(t *testing.T) {
		if c, n := count(t, silent, silent, silent); c != 1 || n != 1 {
			t.Errorf("said %d and %d times, want once", c, n)
		}
	})
	bubble(t, "told, then silent", func(t *testing.T) {
		if c, n := count(t, told, silent, silent); c != 1 || n != 1 {
			t.Errorf("said %d and %d times, want once", c, n)
		}
	})
	bubble(t, "tells", func(t *testing.T) {
		if c, n := count(t, told, told); c != 0 || n != 0 {
			t.Errorf("said %d and %d times, want never", c, n)
		}
	})
}

func TestWhatIsSaidOfACap(t *testing.T) {
	const (
		noCost, someCost     = "what this iteration cost is not known, so more than --max-cost may be spent", "what this iteration cost is known only in part, so more than --max-cost may be spent"
		noTokens, someTokens = "how many tokens this iteration took is not known, so more than --max-tokens may be spent", "how many tokens this iteration took is known only in part, so more than --max-tokens may be spent"
	)
	whole := AgentOutcome{End: EndOK, Cost: new(0.1), Tokens: &Tokens{Input: 1}}
	unpriced, untold, priced := whole, whole, whole
	unpriced.CostPartial = true
	untold.CostPartial, untold.TokensPartial = true, true
	priced.Tokens = nil
	for name, c := range map[string]struct {
		cost   float64
		tokens int64
		agent  AgentOutcome
		want   []string
	}{
		"all is known":               {5, 1000, whole, nil},
		"a price is not":             {5, 1000, unpriced, []string{someCost}},
		"nor need it be":             {0, 1000, unpriced, nil},
		"some tokens are not":        {5, 1000, untold, []string{someCost, someTokens}},
		"and only the tokens matter": {0, 1000, untold, []string{someTokens}},
		"no tokens are":              {5, 1000, priced, []string{noTokens}},
		"nothing is":                 {5, 1000, AgentOutcome{End: EndOK}, []string{noCost, noTokens}},
		"without a cap":              {0, 0, untold, nil},
	} {
		bubble(t, name, func(t *testing.T) {
			w := newWorld(t, ends(c.agent))
			w.policy.MaxCost, w.policy.MaxTokens, w.policy.MaxIterations = c.cost, c.tokens, 1
			w.ends(MaxIterations, 1)
			var got []string
			for _, n := range payloads[Notice](w.log) {
				if n.Code == "cost_unknown" || n.Code == "tokens_unknown" {
					got = append(got, n.Text)
				}
			}
			same(t, "said", c.want, got)
		})
	}
	bubble(t, "of an evaluation", func(t *testing.T) {
		w, _, k := claiming(t)
		claims := whole
		claims.Said.Complete = true
		w.agent.turns = []turn{ends(claims).then(k.becomes("1"))}
		w.judgedBy(accepts())
		w.policy.MaxCost = 5
		result := w.ends(AllChecksPassed, 1)
		var got []string
		for _, n := range payloads[Notice](w.log) {
			if n.Code == "cost_unknown" {
				got = append(got, n.Text)
			}
		}
		same(t, "said", []string{"what this evaluation cost is not known, so more than --max-cost may be spent"}, got)
		same(t, "partial", [2]bool{true, true}, [2]bool{result.CostPartial, result.TokensPartial})
	})
}

// TestASumOfWhichAPartIsNotKnown is a lower bound, and says so.
func TestASumOfWhichAPartIsNotKnown(t *testing.T) {
	type figures struct {
		Cost                   *float64
		Estimated, CostPartial bool
		Tokens                 *Tokens
		TokensPartial          bool
	}
	tokens := &Tokens{Input: 5}
	known := AgentOutcome{End: EndOK, Cost: new(0.5), Tokens: tokens}
	for name, c := range map[string]struct {
		outcomes []AgentOutcome
		want     figures
	}{
		"all is known":                {[]AgentOutcome{known}, figures{Cost: new(0.5), Tokens: tokens}},
		"nothing is":                  {[]AgentOutcome{{End: EndOK}}, figures{}},
		"one iteration is not":        {[]AgentOutcome{{End: EndOK}, known}, figures{Cost: new(0.5), CostPartial: true, Tokens: tokens, TokensPartial: true}},
		"its cost is not":             {[]AgentOutcome{known, {End: EndOK, Tokens: &Tokens{}}}, figures{Cost: new(0.5), CostPartial: true, Tokens: tokens}},
		"what did not work took none": {[]AgentOutcome{known, {End: EndLimit}}, figures{Cost: new(0.5), Tokens: tokens}},
		"unless it says otherwise":    {[]AgentOutcome{known, {End: EndProvider, CostPartial: true}}, figures{Cost: new(0.5), CostPartial: true, Tokens: tokens}},
		"what was cut took some":      {[]AgentOutcome{known, {End: EndInterrupted}}, figures{Cost: new(0.5), CostPartial: true, Tokens: tokens, TokensPartial: true}},
		"of which nobody ever tells":  {[]AgentOutcome{{End: EndOK}, {End: EndInterrupted}}, figures{}},
		"a part of one iteration":     {[]AgentOutcome{{End: EndOK, Cost: new(0.5), CostEstimated: true, CostPartial: true, Tokens: tokens, TokensPartial: true}}, figures{new(0.5), true, true, tokens, true}},
		"nothing beside what is free": {[]AgentOutcome{{End: EndOK, Cost: new(0.0), Tokens: tokens}, {End: EndOK}}, figures{Tokens: tokens, TokensPartial: true}},
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
	for name, told := range map[string]Spending{
		"an iteration that was cut":        {Tokens: tokens, Cost: new(0.5)},
		"of which only a part was told":    {Tokens: tokens, TokensPartial: true, Cost: new(0.5), CostPartial: true},
		"of which nothing was told at all": {TokensPartial: true, CostPartial: true},
		"which told nothing":               {},
	} {
		t.Run(name, func(t *testing.T) {
			f := fold(t)
			f.iterate(AgentOutcome{End: EndOK, Cost: new(1.0), Tokens: tokens})
			f.iteration++
			f.see(EvIterationStarted, IterationStarted{})
			f.see(EvTurn, Turn{Number: 1, Spent: told})
			f.see(EvAgentOutput, AgentOutput{Cost: told.Cost, Tokens: told.Tokens}) // which knows no better
			f.see(EvRunResumed, RunResumed{Policy: DefaultPolicy(), Interrupted: 2})
			want := figures{Cost: new(1.5), CostPartial: true, Tokens: &Tokens{Input: 10}, TokensPartial: true}
			if told.Cost == nil { // what was told before is what is known
				want.Cost, want.Tokens = new(1.0), tokens
			}
			r := f.state.Result()
			same(t, "figures", want, figures{r.TotalCost, r.CostEstimated, r.CostPartial, r.TotalTokens, r.TokensPartial})
		})
	}
}

package loop

import (
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

// A cap that was not counted against is said: each time for an agent that was interrupted short, once for one that never tells.
func TestUnknownFiguresUnderACapAreSaid(t *testing.T) {
	count := func(t *testing.T, turns ...turn) (costs, tokens int) {
		w := newWorld(t, turns...)
		w.policy.MaxCost, w.policy.MaxTokens, w.policy.MaxIterations, w.policy.MaxFailures = 5, 1000, len(turns), 0
		w.ends(ralph.MaxIterations, len(turns))
		for _, n := range payloads[ralph.Notice](w.log) {
			switch n.Code {
			case "cost_unknown":
				costs++
			case "tokens_unknown":
				tokens++
			}
		}
		return costs, tokens
	}
	cut := ends(ralph.AgentOutcome{End: ralph.EndTimeout, Error: "timed out"})
	silent := says(promise.Report{Text: true})
	told := ends(ralph.AgentOutcome{End: ralph.EndOK, Cost: new(0.1), Tokens: &ralph.Tokens{Input: 1}})
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
	whole := ralph.AgentOutcome{End: ralph.EndOK, Cost: new(0.1), Tokens: &ralph.Tokens{Input: 1}}
	unpriced, untold, priced := whole, whole, whole
	unpriced.CostPartial = true
	untold.CostPartial, untold.TokensPartial = true, true
	priced.Tokens = nil
	for name, c := range map[string]struct {
		cost   float64
		tokens int64
		agent  ralph.AgentOutcome
		want   []string
	}{
		"all is known":               {5, 1000, whole, nil},
		"a price is not":             {5, 1000, unpriced, []string{someCost}},
		"nor need it be":             {0, 1000, unpriced, nil},
		"some tokens are not":        {5, 1000, untold, []string{someCost, someTokens}},
		"and only the tokens matter": {0, 1000, untold, []string{someTokens}},
		"no tokens are":              {5, 1000, priced, []string{noTokens}},
		"nothing is":                 {5, 1000, ralph.AgentOutcome{End: ralph.EndOK}, []string{noCost, noTokens}},
		"without a cap":              {0, 0, untold, nil},
	} {
		bubble(t, name, func(t *testing.T) {
			w := newWorld(t, ends(c.agent))
			w.policy.MaxCost, w.policy.MaxTokens, w.policy.MaxIterations = c.cost, c.tokens, 1
			w.ends(ralph.MaxIterations, 1)
			var got []string
			for _, n := range payloads[ralph.Notice](w.log) {
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
		result := w.ends(ralph.AllChecksPassed, 1)
		var got []string
		for _, n := range payloads[ralph.Notice](w.log) {
			if n.Code == "cost_unknown" {
				got = append(got, n.Text)
			}
		}
		same(t, "said", []string{"what this evaluation cost is not known, so more than --max-cost may be spent"}, got)
		same(t, "partial", [2]bool{true, true}, [2]bool{result.CostPartial, result.TokensPartial})
	})
}

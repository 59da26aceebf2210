package ralph

import "fmt"

// Spending is a sum of tokens and money. Unknown figures are nil, never zero. Of a figure that is partial, more was spent than it says.
type Spending struct {
	Tokens        *Tokens  `json:"tokens,omitempty"`
	TokensPartial bool     `json:"tokens_partial,omitempty"`
	Cost          *float64 `json:"cost,omitempty"`
	Estimated     bool     `json:"cost_estimated,omitempty"`
	CostPartial   bool     `json:"cost_partial,omitempty"`
}

// worked marks what somebody who worked does not tell.
func (s Spending) worked() Spending {
	s.TokensPartial, s.CostPartial = s.TokensPartial || s.Tokens == nil, s.CostPartial || s.Cost == nil
	return s
}

// tookSome reports whether somebody who ended so had worked, and so took tokens and money. Whoever was cut had begun.
func tookSome(end EndClass) bool {
	return counts(end) || end == EndInterrupted || end == EndOverBudget
}

func (o AgentOutcome) spending() Spending {
	s := Spending{o.Tokens, o.TokensPartial, o.Cost, o.CostEstimated, o.CostPartial}
	if tookSome(o.End) {
		return s.worked()
	}
	return s
}

func (e Evaluation) spending() Spending {
	s := Spending{e.Tokens, e.TokensPartial, e.Cost, e.CostEstimated, e.CostPartial}
	if e.Tries > 0 && tookSome(e.End) {
		return s.worked()
	}
	return s
}

// spend counts what is known against the caps: that is better than nothing.
func (h *History) spend(s Spending) {
	if s.Cost != nil {
		h.Cost = addCost(h.Cost, *s.Cost)
	}
	if s.Tokens != nil {
		h.Tokens = h.Tokens.plus(*s.Tokens)
	}
}

// account remembers what the sums of the run are worth.
func (s *State) account(spent Spending) {
	s.CostEstimated = s.CostEstimated || spent.Estimated
	s.CostPartial = s.CostPartial || spent.CostPartial
	s.TokensPartial = s.TokensPartial || spent.TokensPartial
}

// spent takes note of what the iteration under way took so far: should its agent be cut, that is what it cost. Who does not know says nothing.
func (s *State) spent(sum Spending) {
	if s.Phase != PhaseBegun {
		return
	}
	now := &s.History.Now.Agent
	if sum.Cost != nil {
		now.Cost, now.CostEstimated = sum.Cost, sum.Estimated
	}
	if sum.Tokens != nil {
		now.Tokens = sum.Tokens
	}
	now.CostPartial, now.TokensPartial = now.CostPartial || sum.CostPartial, now.TokensPartial || sum.TokensPartial
}

// warnUnmetered says that a cap was not counted against, or not with everything: somebody was cut short, or does not tell.
func (l *Loop) warnUnmetered(what string, s Spending, end EndClass) {
	cost := l.policy.MaxCost > 0 && (s.Cost == nil || s.CostPartial)
	tokens := l.policy.MaxTokens > 0 && (s.Tokens == nil || s.TokensPartial)
	if !cost && !tokens || !end.Failed() && l.unmetered { // one that never tells is told of once
		return
	}
	l.unmetered = true
	known := map[bool]string{false: "not known", true: "known only in part"}
	if cost {
		l.emit(EvWarning, Notice{"cost_unknown", fmt.Sprintf("what %s cost is %s, so more than --max-cost may be spent", what, known[s.Cost != nil])})
	}
	if tokens {
		l.emit(EvWarning, Notice{"tokens_unknown", fmt.Sprintf("how many tokens %s took is %s, so more than --max-tokens may be spent", what, known[s.Tokens != nil])})
	}
}

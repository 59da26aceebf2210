package ralph

import ()

// Spending is a sum of tokens and money. Unknown figures are nil, never zero. Of a figure that is partial, more was spent than it says.
type Spending struct {
	Tokens        *Tokens  `json:"tokens,omitempty"`
	TokensPartial bool     `json:"tokens_partial,omitempty"`
	Cost          *float64 `json:"cost,omitempty"`
	Estimated     bool     `json:"cost_estimated,omitempty"`
	CostPartial   bool     `json:"cost_partial,omitempty"`
}

// worked marks what somebody who worked does not tell.
func (s Spending) MarkPartial() Spending {
	s.TokensPartial, s.CostPartial = s.TokensPartial || s.Tokens == nil, s.CostPartial || s.Cost == nil
	return s
}

// tookSome reports whether somebody who ended so had worked, and so took tokens and money. Whoever was cut had begun.
func tookSome(end EndClass) bool {
	return CountsAsIteration(end) || end == EndInterrupted || end == EndOverBudget
}

func (o AgentOutcome) Spending() Spending {
	s := Spending{o.Tokens, o.TokensPartial, o.Cost, o.CostEstimated, o.CostPartial}
	if tookSome(o.End) {
		return s.MarkPartial()
	}
	return s
}

func (e Evaluation) Spending() Spending {
	s := Spending{e.Tokens, e.TokensPartial, e.Cost, e.CostEstimated, e.CostPartial}
	if e.Tries > 0 && tookSome(e.End) {
		return s.MarkPartial()
	}
	return s
}

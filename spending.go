package ralph

// Tokens counts what a model read and wrote.
type Tokens struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
}

// Total is what a token cap counts: everything.
func (t Tokens) Total() int64 { return t.Input + t.Output + t.CacheRead + t.CacheWrite }

// Plus adds two counts.
func (t Tokens) Plus(u Tokens) Tokens {
	return Tokens{t.Input + u.Input, t.Output + u.Output, t.CacheRead + u.CacheRead, t.CacheWrite + u.CacheWrite}
}

// Spending is a sum of tokens and money. Unknown figures are nil, never zero. Of a figure that is partial, more was spent than it says.
type Spending struct {
	Tokens        *Tokens  `json:"tokens,omitempty"`
	TokensPartial bool     `json:"tokens_partial,omitempty"`
	Cost          *float64 `json:"cost,omitempty"`
	Estimated     bool     `json:"cost_estimated,omitempty"`
	CostPartial   bool     `json:"cost_partial,omitempty"`
}

// MarkPartial marks what somebody who worked does not tell.
func (s Spending) MarkPartial() Spending {
	s.TokensPartial, s.CostPartial = s.TokensPartial || s.Tokens == nil, s.CostPartial || s.Cost == nil
	return s
}

// Spending is what the agent took, as far as it is known.
func (o AgentOutcome) Spending() Spending {
	s := Spending{o.Tokens, o.TokensPartial, o.Cost, o.CostEstimated, o.CostPartial}
	if didWork(o.End) {
		return s.MarkPartial()
	}
	return s
}

// Spending is what the evaluation took, as far as it is known.
func (e Evaluation) Spending() Spending {
	s := Spending{e.Tokens, e.TokensPartial, e.Cost, e.CostEstimated, e.CostPartial}
	if e.Tries > 0 && didWork(e.End) {
		return s.MarkPartial()
	}
	return s
}

// didWork reports whether somebody who ended so had worked, and so took tokens and money. Whoever was cut had begun.
func didWork(end EndClass) bool {
	return CountsAsIteration(end) || end == EndInterrupted || end == EndOverBudget
}

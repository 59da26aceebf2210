package ralph

import "cmp"

// Tokens counts the tokens that a model read and wrote.
type Tokens struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
}

// Total returns the sum of all kinds of tokens, which is what a token limit counts.
func (t Tokens) Total() int64 { return t.Input + t.Output + t.CacheRead + t.CacheWrite }

// Plus adds two counts.
func (t Tokens) Plus(u Tokens) Tokens {
	return Tokens{t.Input + u.Input, t.Output + u.Output, t.CacheRead + u.CacheRead, t.CacheWrite + u.CacheWrite}
}

// Spending is a sum of tokens and money. Unknown figures are nil, never zero. If a figure is partial,
// more was spent than it says.
type Spending struct {
	Tokens        *Tokens  `json:"tokens,omitempty"`
	TokensPartial bool     `json:"tokens_partial,omitempty"`
	Cost          *float64 `json:"cost,omitempty"`
	Estimated     bool     `json:"cost_estimated,omitempty"`
	CostPartial   bool     `json:"cost_partial,omitempty"`
}

// MarkPartial marks unknown figures as partial, for an agent or evaluator that worked but did not report them.
func (s Spending) MarkPartial() Spending {
	s.TokensPartial, s.CostPartial = s.TokensPartial || s.Tokens == nil, s.CostPartial || s.Cost == nil
	return s
}

// Plus adds two sums. Unknown figures do not hide known ones.
func (s Spending) Plus(t Spending) Spending {
	s.Estimated = s.Estimated || t.Estimated
	s.TokensPartial, s.CostPartial = s.TokensPartial || t.TokensPartial, s.CostPartial || t.CostPartial
	if s.Tokens != nil && t.Tokens != nil {
		sum := s.Tokens.Plus(*t.Tokens)
		s.Tokens = &sum
	}
	if s.Cost != nil && t.Cost != nil {
		sum := *s.Cost + *t.Cost
		s.Cost = &sum
	}
	s.Tokens, s.Cost = cmp.Or(s.Tokens, t.Tokens), cmp.Or(s.Cost, t.Cost)
	return s
}

// Spending returns what the agent used, as far as it is known.
func (o AgentOutcome) Spending() Spending {
	s := Spending{o.Tokens, o.TokensPartial, o.Cost, o.CostEstimated, o.CostPartial}
	if didWork(o.End) {
		return s.MarkPartial()
	}
	return s
}

// Spending returns what the evaluation used, as far as it is known.
func (e Evaluation) Spending() Spending {
	s := Spending{e.Tokens, e.TokensPartial, e.Cost, e.CostEstimated, e.CostPartial}
	if e.Tries > 0 && didWork(e.End) {
		return s.MarkPartial()
	}
	return s
}

// didWork reports whether an agent or evaluator with this end used tokens and money. One that was cut
// had already started.
func didWork(end EndClass) bool {
	return CountsAsIteration(end) || end == EndInterrupted || end == EndOverBudget
}

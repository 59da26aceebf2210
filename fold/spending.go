package fold

import (
	"github.com/ralphloop/ralph"
)

// notePartialSpending records whether the run's totals are estimated or partial.
func (s *State) notePartialSpending(spent ralph.Spending) {
	s.CostEstimated = s.CostEstimated || spent.Estimated
	s.CostPartial = s.CostPartial || spent.CostPartial
	s.TokensPartial = s.TokensPartial || spent.TokensPartial
}

// noteSpending records what the current iteration has used so far. If its agent is cut, that is what it
// cost. Figures that are not known change nothing.
func (s *State) noteSpending(sum ralph.Spending) {
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

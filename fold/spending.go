package fold

import (
	"github.com/ralphloop/ralph"
)

// notePartialSpending remembers what the sums of the run are worth.
func (s *State) notePartialSpending(spent ralph.Spending) {
	s.CostEstimated = s.CostEstimated || spent.Estimated
	s.CostPartial = s.CostPartial || spent.CostPartial
	s.TokensPartial = s.TokensPartial || spent.TokensPartial
}

// noteSpending takes note of what the iteration under way took so far: should its agent be cut, that is what it cost. Who does not know says nothing.
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

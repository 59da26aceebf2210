package worker

import (
	"math"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/model"
)

// spending is what a conversation took so far. What a provider does not tell is not in it.
type spending struct {
	tokens *ralph.Tokens
	cost   *float64
	price  func(string) (model.Price, bool)
}

// add counts one usage and gives its cost, nil if that is not known. The model is known by the name that the provider has for it, or else by the one
// that it was asked for.
func (s *spending) add(u *model.Usage, names ...string) *float64 {
	if u == nil || !plausible(*u) {
		return nil
	}
	sum := ralph.Tokens(*u)
	if s.tokens != nil {
		sum.Input += s.tokens.Input
		sum.Output += s.tokens.Output
		sum.CacheRead += s.tokens.CacheRead
		sum.CacheWrite += s.tokens.CacheWrite
	}
	s.tokens = &sum
	usd := s.costOf(*u, names)
	if usd != nil {
		whole := *usd
		if s.cost != nil {
			whole += *s.cost
		}
		s.cost = &whole
	}
	return usd
}

func plausible(u model.Usage) bool { return min(u.Input, u.Output, u.CacheRead, u.CacheWrite) >= 0 }

func (s *spending) costOf(u model.Usage, names []string) *float64 {
	for _, name := range names {
		price, ok := s.price(name)
		if name == "" || !ok {
			continue
		}
		if usd, known := price.Cost(u); known {
			return &usd
		}
	}
	return nil
}

// sum is the spending as it is told: a value of its own.
func (s *spending) sum() ralph.Spending {
	told := ralph.Spending{Cost: rounded(s.cost), Estimated: s.cost != nil}
	if s.tokens != nil {
		tokens := *s.tokens
		told.Tokens = &tokens
	}
	return told
}

func tokensOf(u *model.Usage) *ralph.Tokens {
	if u == nil {
		return nil
	}
	tokens := ralph.Tokens(*u)
	return &tokens
}

// rounded is as exact as sums of such figures are.
func rounded(usd *float64) *float64 {
	if usd == nil {
		return nil
	}
	r := math.Round(*usd*1e6) / 1e6
	return &r
}

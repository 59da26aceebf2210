package ralph

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSpendingPlus(t *testing.T) {
	cost := func(usd float64) *float64 { return &usd }
	for name, c := range map[string]struct{ a, b, want Spending }{
		"nothing": {},
		"the first": {
			b:    Spending{Tokens: &Tokens{Input: 1}, Cost: cost(1), Estimated: true},
			want: Spending{Tokens: &Tokens{Input: 1}, Cost: cost(1), Estimated: true},
		},
		"both": {
			a:    Spending{Tokens: &Tokens{Input: 1}, Cost: cost(1)},
			b:    Spending{Tokens: &Tokens{Output: 2}, Cost: cost(2)},
			want: Spending{Tokens: &Tokens{Input: 1, Output: 2}, Cost: cost(3)},
		},
		"unknown": {
			a:    Spending{Tokens: &Tokens{Input: 1}, Cost: cost(1)},
			b:    Spending{}.MarkPartial(),
			want: Spending{Tokens: &Tokens{Input: 1}, TokensPartial: true, Cost: cost(1), CostPartial: true},
		},
	} {
		if diff := cmp.Diff(c.want, c.a.Plus(c.b)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

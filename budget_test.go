package ralph_test

import (
	"testing"

	"github.com/ralphloop/ralph"
)

func TestBudgetExceeded(t *testing.T) {
	tokens := &ralph.Tokens{Input: 90, Output: 10}
	for _, c := range []struct {
		name   string
		budget ralph.Budget
		cost   *float64
		turns  *int
		want   string
	}{
		{"no limit", ralph.Budget{}, new(9.0), new(9), ""},
		{"within", ralph.Budget{Cost: 2, Tokens: 101, Turns: 3}, new(1.99), new(3), ""},
		{"cost", ralph.Budget{Cost: 2}, new(2.5), nil, "its cost limit: $2.50 of $2.00"},
		{"unknown", ralph.Budget{Cost: 2, Turns: 3}, nil, nil, ""},
		{"tokens", ralph.Budget{Tokens: 100}, nil, nil, "its token limit: 100 of 100"},
		{"a turn too many", ralph.Budget{Turns: 3}, nil, new(4), "its turn limit (3)"},
	} {
		if got := c.budget.Exceeded(c.cost, tokens, c.turns); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

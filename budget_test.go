package ralph_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

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

// What is used up leaves the least possible, because 0 would be no limit.
func TestBudgetLeft(t *testing.T) {
	used := ralph.Spending{Cost: new(1.5), Tokens: &ralph.Tokens{Input: 90, Output: 10}}
	for _, c := range []struct {
		name         string
		budget, want ralph.Budget
		used         ralph.Spending
	}{
		{"no limit", ralph.Budget{}, ralph.Budget{}, used},
		{"some", ralph.Budget{Cost: 2, Tokens: 300, Turns: 3}, ralph.Budget{Cost: 0.5, Tokens: 200, Turns: 3}, used},
		{"nothing", ralph.Budget{Cost: 1.5, Tokens: 50}, ralph.Budget{Cost: 0.000001, Tokens: 1}, used},
		{"unknown", ralph.Budget{Cost: 2, Tokens: 300}, ralph.Budget{Cost: 2, Tokens: 300}, ralph.Spending{}},
	} {
		if diff := cmp.Diff(c.want, c.budget.Left(c.used)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

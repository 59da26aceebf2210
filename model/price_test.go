package model

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEveryRowIsSane(t *testing.T) {
	providers := map[string]bool{}
	names := map[string]bool{}
	for _, p := range table().Prices {
		providers[p.Provider] = true
		name := strings.ToLower(p.Model)
		switch {
		case p.Model == "" || names[name]:
			t.Errorf("%v: no name, or a second time", p)
		case p.Input <= 0 || p.Output < p.Input || p.Output > 1000:
			t.Errorf("%v: output costs as much as input or more, and both cost something", p)
		case p.CacheRead != nil && (*p.CacheRead <= 0 || *p.CacheRead > p.Input):
			t.Errorf("%v: reading from a cache costs as much as input at most, and not nothing", p)
		case p.CacheWrite != nil && (*p.CacheWrite < p.Input/2 || *p.CacheWrite > 2*p.Input):
			t.Errorf("%v: writing to a cache costs about as much as input", p)
		case p.Context < 100_000 || p.Context > 2_000_000:
			t.Errorf("%v: an odd window", p)
		}
		names[name] = true
	}
	want := map[string]bool{
		"alibaba": true, "anthropic": true, "deepseek": true, "google": true, "minimax": true, "mistral": true,
		"moonshotai": true,
		"openai":     true, "xai": true, "zai": true,
	}
	if diff := cmp.Diff(want, providers); diff != "" {
		t.Errorf("makers (-want +got):\n%s", diff)
	}
	if !slices.IsSortedFunc(table().Prices, func(a, b Price) int {
		return strings.Compare(a.Provider+" "+a.Model, b.Provider+" "+b.Model)
	}) {
		t.Error("the table is not sorted")
	}
	if len(table().Prices) < 60 || len(table().Prices) > 250 {
		t.Errorf("%d rows: too few to be of use, or too many to be looked at", len(table().Prices))
	}
}

func TestTheSnapshotHasADay(t *testing.T) {
	if _, err := time.Parse(time.DateOnly, PricesAsOf()); err != nil {
		t.Error(err)
	}
}

func TestShortNamesLeadToRows(t *testing.T) {
	want := map[string]string{
		"fable": "claude-fable-5-2", "haiku": "claude-haiku-5-5", "opus": "claude-opus-5-5", "sonnet": "claude-sonnet-5-5",
	}
	if diff := cmp.Diff(want, table().Newest); diff != "" {
		t.Errorf("short names (-want +got):\n%s", diff)
	}
	for short, full := range table().Newest {
		if p, ok := PriceOf(short); !ok || p.Model != full {
			t.Errorf("%s is %v, %v", short, p, ok)
		}
	}
}

func TestCostByHand(t *testing.T) {
	type cost struct {
		USD   float64
		Known bool
	}
	whole := Usage{Input: 1_000_000, Output: 1_000_000, CacheRead: 1_000_000, CacheWrite: 1_000_000}
	tests := []struct {
		name  string
		model string
		usage Usage
		want  cost
	}{
		{"four prices", "claude-opus-4-5", whole, cost{5 + 25 + 0.5 + 6.25, true}},
		{"a usual iteration", "claude-sonnet-4-5", Usage{Input: 40, Output: 9_000, CacheRead: 800_000, CacheWrite: 60_000},
			cost{0.00012 + 0.135 + 0.24 + 0.225, true}},
		{"no price for writing", "gpt-5", whole, cost{1.25 + 10 + 0.125 + 1.25, true}},
		{"what codex tells", "gpt-5.3-codex", Usage{Input: 2_000, Output: 100, CacheRead: 600},
			cost{0.0035 + 0.0014 + 0.000105, true}},
		{"base tier of a long prompt", "gemini-2.5-pro", Usage{Input: 400_000, Output: 1_000}, cost{0.5 + 0.01, true}},
		{"small prices", "deepseek-v4-pro", Usage{CacheRead: 1_000_000}, cost{0.003625, true}},
		{"nothing", "gpt-5", Usage{}, cost{0, true}},
		{"no price for reading, nothing read", "gpt-5-pro", Usage{Input: 1_000_000, Output: 10_000}, cost{15 + 1.2, true}},
		{"no price for reading, something read", "gpt-5-pro", Usage{Input: 1_000_000, CacheRead: 1}, cost{}},
		{"no price for writing, something written", "gpt-5-pro", Usage{CacheWrite: 1_000_000}, cost{15, true}},
		{"less than nothing", "gpt-5", Usage{Input: 10, CacheRead: -1}, cost{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, ok := PriceOf(tt.model)
			if !ok {
				t.Fatalf("no price of %s", tt.model)
			}
			var got cost
			got.USD, got.Known = p.Cost(tt.usage)
			got.USD = math.Round(got.USD*1e9) / 1e9 // floating point is not exact
			tt.want.USD = math.Round(tt.want.USD*1e9) / 1e9
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("cost (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoPriceCostsNothingKnown(t *testing.T) {
	if usd, known := (Price{}).Cost(Usage{Input: 5}); usd != 0 || known {
		t.Errorf("got %v, %v", usd, known)
	}
}

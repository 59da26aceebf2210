package model

import (
	"slices"
	"testing"
)

func TestNearest(t *testing.T) {
	if got := Nearest("claude-sonet-4-5", 3); !slices.Contains(got, "claude-sonnet-4-5") || len(got) > 3 {
		t.Errorf("near claude-sonet-4-5: %q", got)
	}
	for _, name := range []string{"", "a model of my own"} {
		if got := Nearest(name, 3); len(got) > 0 {
			t.Errorf("near %q: %q", name, got)
		}
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "abc", 3}, {"abc", "abc", 0}, {"abc", "axc", 1}, {"abc", "abxc", 1}, {"kitten", "sitting", 3}} {
		if got := editDistance(c.a, c.b); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

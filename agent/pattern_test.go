package agent

import "testing"

// A pattern that does not compile would be noticed only when an error has to be read.
func TestEveryPatternCompiles(t *testing.T) {
	if len(allPatterns) < 50 {
		t.Fatalf("only %d patterns are known", len(allPatterns))
	}
	for _, p := range allPatterns {
		if p() == nil {
			t.Error("a pattern is nothing")
		}
	}
}

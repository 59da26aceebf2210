package fold

import (
	"testing"

	"github.com/ralphloop/ralph"
)

func TestTestsWrittenFirst(t *testing.T) {
	cost := 0.5
	written := ralph.TestsWritten{
		Agent: "codex", Files: []ralph.TestFile{{Name: "a_test.go", SHA256: "1"}}, End: ralph.EndOK, Cost: &cost,
		Tokens: &ralph.Tokens{Input: 10},
	}
	for name, c := range map[string]struct {
		used, hidden     bool
		protects, hiding []string
	}{
		"refused": {false, false, []string{"x"}, nil},
		"visible": {true, false, []string{"x", "a_test.go"}, nil},
		"hidden":  {true, true, []string{"x"}, []string{"go test"}},
	} {
		t.Run(name, func(t *testing.T) {
			var s State
			s.Policy.Protects, s.Started.Checks = []string{"x"}, []string{"go test"}
			written.Used, written.Hidden = c.used, c.hidden
			s.remember(written)
			same(t, "protected files", c.protects, s.Policy.Protects)
			same(t, "hidden checks", c.hiding, s.HiddenTestChecks())
			same(t, "cost", cost, s.History.Cost)
			same(t, "tests in use", c.used, s.Tests != nil)
		})
	}
}

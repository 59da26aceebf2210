package assembly

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/config"
)

// The names that a user may give are listed where settings are read, which must not know dialects.
func TestEveryDialectCanBeNamed(t *testing.T) {
	if diff := cmp.Diff(config.AgentCLIs, knownCLIs()); diff != "" {
		t.Errorf("config and dialects (-config +dialects):\n%s", diff)
	}
}

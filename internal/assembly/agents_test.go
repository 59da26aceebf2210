package assembly

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/agent"
	"github.com/ralphloop/ralph/internal/config"
)

// The names that a user may give are listed where settings are read, which must not know dialects.
func TestEveryDialectCanBeNamed(t *testing.T) {
	var dialects []string
	for _, d := range agent.Known() {
		if d.About().Program != "" {
			dialects = append(dialects, d.Name())
		}
	}
	if diff := cmp.Diff(config.AgentCLIs, dialects); diff != "" {
		t.Errorf("config and dialects (-config +dialects):\n%s", diff)
	}
}

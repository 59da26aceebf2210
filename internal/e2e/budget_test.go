//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/ralphloop/ralph/internal/scriptedmodel"
)

// loops is a model that runs one command again and again, and pays for it.
func loops(t *testing.T) scriptedmodel.Script {
	t.Helper()
	turn := `{"tools": [{"shell": "ls"}], "usage": {"input": 20000, "output": 100}}`
	return parse(t, `{"s": {"conversations": [[`+strings.Repeat(turn+",", 99)+turn+`]]}}`)
}

// A limit on what a run may spend ends the iteration in progress.
func TestBudgetsEndAnIterationInProgress(t *testing.T) {
	both(t, func(t *testing.T, cli agentCLI) {
		w := newWorld(t, cli, loops(t), "s")
		o := w.run("--check", "true", "--max-tokens", "200000")
		requests := len(w.model.Requests())
		if o.code != 11 || len(o.result.Iterations) != 1 || requests < 9 || requests > 20 {
			t.Errorf("exit status %d after %d requests: %s\n%s", o.code, requests, o.stdout, o.stderr)
		}
	})
}

// A looping model under --max-cost 1 ends within 1.50.
func TestMaxCostEndsAnIterationInProgress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, claude, loops(t), "s")
	o := w.run("--check", "true", "--max-cost", "1")
	if o.code != 11 || o.result.TotalCost == nil || *o.result.TotalCost < 1 || *o.result.TotalCost > 1.5 {
		t.Errorf("exit status %d after %d requests: %s\n%s", o.code, len(w.model.Requests()), o.stdout, o.stderr)
	}
}

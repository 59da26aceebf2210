//go:build e2e

package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralphloop/ralph/internal/scriptedmodel"
)

// loops is a model that lists a folder again and again, and pays for it. Its commands differ, because some CLIs end a
// model that repeats itself.
func loops(t *testing.T) scriptedmodel.Script {
	t.Helper()
	var turns []string
	for n := range 100 {
		turns = append(turns, fmt.Sprintf(`{"tools": [{"shell": "ls -w %d"}], "usage": {"input": 20000, "output": 100}}`, n))
	}
	return parse(t, `{"s": {"conversations": [[`+strings.Join(turns, ",")+`]]}}`)
}

// A limit on what a run may spend ends the iteration in progress.
func TestBudgetsEndAnIterationInProgress(t *testing.T) {
	both(t, mustEndAtItsBudget)
}

// The same holds for the other CLIs. The tokens of gemini are in its session file, those of the rest in their streams.
func TestOthersEndAtABudget(t *testing.T) {
	for _, cli := range others {
		t.Run(cli.name, func(t *testing.T) { mustEndAtItsBudget(t, cli) })
	}
}

func mustEndAtItsBudget(t *testing.T, cli agentCLI) {
	w := newWorld(t, cli, loops(t), "s")
	o := w.run("--check", "true", "--max-tokens", "200000", "--yolo")
	requests := len(w.model.Requests())
	if o.code != 11 || len(o.result.Iterations) != 1 || requests < 9 || requests > 20 {
		t.Errorf("exit status %d after %d requests: %s\n%s", o.code, requests, o.stdout, o.stderr)
	}
	if strings.Contains(o.stderr, "known only when it ends") {
		t.Errorf("the run says that it cannot keep its limit:\n%s", o.stderr)
	}
}

// A limit also ends a review in progress.
func TestBudgetsEndAReviewInProgress(t *testing.T) {
	both(t, func(t *testing.T, cli agentCLI) {
		turn := scriptedmodel.Turn{
			Tools: []scriptedmodel.ToolCall{cli.reads()}, Usage: &scriptedmodel.Usage{Input: 20000, Output: 100},
		}
		turns := slices.Repeat([]scriptedmodel.Turn{turn}, 100)
		w := newWorld(t, cli, scriptedmodel.Script{"s": {Conversations: [][]scriptedmodel.Turn{turns}}}, "s")
		w.write(filepath.Join(w.project, "fact.txt"), "the bird is a heron\n")
		o := w.launch("run", "do the work", "--json", "--agent-cmd", `echo x >made.txt; echo "<promise>COMPLETE</promise>"`,
			"--evaluator", cli.name, "--check", "test -f made.txt", "--max-tokens", "200000", "--allow-unmetered").wait()
		requests := len(w.model.Requests())
		if o.code != 11 || o.result.TotalTokens == nil || o.result.TotalTokens.Input > 400_000 || requests > 20 {
			t.Errorf("exit status %d after %d requests: %s\n%s", o.code, requests, o.stdout, o.stderr)
		}
	})
}

// A looping model under --max-cost 1 ends within 1.50. codex reports no cost, so it needs a model with a price.
func TestMaxCostEndsAnIterationInProgress(t *testing.T) {
	both(t, func(t *testing.T, cli agentCLI) {
		w := newWorld(t, cli, loops(t), "s")
		args := []string{"--check", "true", "--max-cost", "1"}
		if cli.name == codex.name {
			args = append(args, "--model", "gpt-5")
		}
		o := w.run(args...)
		if o.code != 11 || o.result.TotalCost == nil || *o.result.TotalCost < 1 || *o.result.TotalCost > 1.5 {
			t.Errorf("exit status %d after %d requests: %s\n%s", o.code, len(w.model.Requests()), o.stdout, o.stderr)
		}
	})
}

// Iterations that claude ends at its own limit on turns are judged, and the next ones finish the work. codex has no
// such limit, so Ralph counts for it.
func TestCappedTurnsRunToZero(t *testing.T) {
	both(t, func(t *testing.T, cli agentCLI) {
		limit := []string{"--", "--max-turns", "2"}
		if cli.name == codex.name {
			limit = []string{"--iteration-turns", "2"}
		}
		mustFinishInParts(t, cli, limit)
	})
}

func mustFinishInParts(t *testing.T, cli agentCLI, limit []string) {
	part := func(name string) string {
		return `[{"tools": [{"write": {"path": "` + name + `", "text": "x\n"}}]}, {"tools": [{"shell": "ls"}]},
			{"tools": [{"shell": "ls"}]}, {"tools": [{"shell": "ls"}]}]`
	}
	script := parse(t, `{"s": {"conversations": [`+part("one")+","+part("two")+","+part("three")+","+part("four")+`,
		[{"tools": [{"write": {"path": "five", "text": "x\n"}}]}, {"text": "<promise>COMPLETE</promise>"}]]}}`)
	w := newWorld(t, cli, script, "s")
	o := w.run(append(
		[]string{"--check", "test -f one && test -f two && test -f three && test -f four && test -f five"}, limit...,
	)...)
	if o.code != 0 || len(o.result.Iterations) != 5 {
		t.Errorf("exit status %d after %d iterations: %s\n%s", o.code, len(o.result.Iterations), o.stdout, o.stderr)
	}
}

// A run survives more failures of the model in a row than agent.max_failures, which is 3.
func TestALongOutageIsSurvived(t *testing.T) {
	both(t, mustSurviveAnOutage)
}

func mustSurviveAnOutage(t *testing.T, cli agentCLI) {
	fault := `{"do": "status", "status": 500}`
	script := parse(t, `{"s": {"conversations": [[
		{"tools": [{"write": {"path": "made.txt", "text": "x\n"}}], "faults": [`+strings.Repeat(fault+",", 4)+fault+`]},
		{"text": "<promise>COMPLETE</promise>"}]]}}`)
	w := newWorld(t, cli, script, "s")
	w.env["CLAUDE_CODE_MAX_RETRIES"] = "0"
	w.write(filepath.Join(w.home, ".codex/config.toml"),
		strings.ReplaceAll(codexConfig(w.model.URL()+"/s"), "_max_retries = 1", "_max_retries = 0"))
	o := w.run("--check", "test -f made.txt", "-n", "1")
	failed := 0
	for _, i := range o.result.Iterations {
		if !i.Counted {
			failed++
		}
	}
	if o.code != 0 || failed != 5 || len(o.result.Iterations) != 6 {
		t.Errorf("exit status %d after %d failures: %s\n%s", o.code, failed, o.stdout, o.stderr)
	}
}

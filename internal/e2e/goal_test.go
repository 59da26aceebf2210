//go:build e2e

package e2e

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A goal in a live session: the first stop is refused because a check fails, the second is allowed because the work
// proves the goal. Another session in the same folder is not touched.
func TestGoalIsRefusedOnceAndThenProven(t *testing.T) {
	both(t, func(t *testing.T, cli agentCLI) {
		if exec.Command(program, "goal", "status", "--help").Run() != nil {
			t.Skip("this program has no ralph goal")
		}
		w := newWorld(t, cli, parse(t, `{"s": {"conversations": [
			[{"text": "All done."}, {"tools": [{"write": {"path": "made.txt", "text": "hi"}}]}, {"text": "Now it is done."}],
			[{"text": "Another answer."}]
		]}}`), "s")
		w.env["RALPH_TRUST"] = "1"
		w.write(filepath.Join(w.project, ".ralph/config.yaml"), "checks:\n  - test -f made.txt\n")
		i := installRalph(w)
		prompt := "/ralph:goal make made.txt"
		if cli.name == codex.name { // a goal that is set in a terminal belongs to the first session that asks
			i.ralph("goal", "make made.txt")
			prompt = "make made.txt"
		}
		i.session(prompt)
		if w.file("made.txt") != "hi" {
			t.Errorf("the session ended without the work: %+v", i.recorded())
		}
		if n := i.stops(); n != 2 {
			t.Errorf("%d stops, want 2: %+v", n, i.recorded())
		}
		var runs []struct{ Status string }
		if err := json.Unmarshal([]byte(i.ralph("runs", "--json")), &runs); err != nil || len(runs) != 1 {
			t.Fatalf("%v: %+v", err, runs)
		}
		if runs[0].Status != "completed" {
			t.Errorf("%+v", runs)
		}
		i.session("say something")
		if n := i.stops(); n != 3 {
			t.Errorf("%d stops, want one more: %+v", n, i.recorded())
		}
	})
}

// stops counts the calls of the stop hook.
func (i installed) stops() int {
	n := 0
	for _, c := range i.recorded() {
		if strings.HasPrefix(c.Args, "hook stop") {
			n++
		}
	}
	return n
}

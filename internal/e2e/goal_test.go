//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A goal in a live session: the first stop is refused because a check fails, the second is allowed because the work
// proves the goal. Another session in the same folder is not touched.
func TestGoalIsRefusedOnceAndThenProven(t *testing.T) {
	both(t, func(t *testing.T, cli agentCLI) {
		w := newWorld(t, cli, parse(t, `{"s": {"conversations": [
			[{"text": "All done."}, {"tools": [{"write": {"path": "made.txt", "text": "hi"}}]}, {"text": "Now it is done."}],
			[{"text": "Another answer."}]
		]}}`), "s")
		// In a session no variable gives consent to the checks of a repository, so these are the user's.
		w.write(filepath.Join(w.home, ".config/ralph/config.yaml"), "checks:\n  - test -f made.txt\n")
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

// The user clears the context of Claude Code: the new session of the same process has the goal. Later a command of the
// agent pretends to be that hook, which changes nothing.
func TestGoalFollowsAClearedSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t, claude, parse(t, `{"s": {"conversations": [[
		{"tools": [{"shell": "sh ../forge.sh"}]}, {"text": "Done."},
		{"tools": [{"shell": "echo hi >made.txt"}]}, {"text": "Now it is done."}
	]]}}`), "s")
	w.env["RALPH_TRUST"] = "1"
	w.write(filepath.Join(w.project, ".ralph/config.yaml"), "checks:\n  - test -f made.txt\n")
	w.write(filepath.Join(w.project, "../forge.sh"),
		`echo '{"session_id":"bogus","cwd":"'"$PWD"'","source":"clear"}' | `+program+" hook session-start >../forged.txt\n")
	i := installRalph(w)
	i.ralph("goal", "make made.txt")
	cmd := exec.CommandContext(t.Context(), filepath.Join(programs, "claude", "claude"), "-p", "--verbose",
		"--input-format", "stream-json", "--output-format", "stream-json", "--allowedTools", "Bash")
	cmd.Dir, cmd.Env = i.project, i.environ()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	events := json.NewDecoder(out)
	for _, text := range []string{"/clear", "make made.txt"} {
		if _, err := fmt.Fprintf(in, `{"type":"user","message":{"role":"user","content":%q}}`+"\n", text); err != nil {
			t.Fatal(err)
		}
		var event struct{ Type string }
		for event.Type != "result" {
			if err := events.Decode(&event); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	calls := i.recorded()
	last := calls[len(calls)-1]
	if calls[0].Session == last.Session || i.stops() != 2 {
		t.Errorf("%+v", calls)
	}
	status := i.ralph("goal", "status", "--jq", `.session + " " + .status`)
	if strings.TrimSpace(status) != last.Session+" completed" || w.file("../forged.txt") != "" {
		t.Errorf("%s, and the forged call got: %s", status, w.file("../forged.txt"))
	}
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

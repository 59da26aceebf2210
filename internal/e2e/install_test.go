//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// installed is a world whose CLI has Ralph in it, with a record of every call of ralph.
type installed struct {
	*world
	calls string // a folder with the arguments and the input of each call
}

// installRalph puts a ralph on PATH that notes its arguments and its input and then is the real one, and installs it
// into the project for the CLI.
func installRalph(w *world) installed {
	w.t.Helper()
	i := installed{w, filepath.Join(w.home, "calls")}
	bin := filepath.Join(w.home, "bin")
	w.write(filepath.Join(i.calls, "empty"), "")
	w.write(filepath.Join(bin, "ralph"), `#!/bin/sh
call=`+i.calls+`/$(date +%s%N)-$$
echo "$*" >$call.args
cat >$call.input
exec `+program+` "$@" <$call.input
`)
	w.env["PATH"] = bin + string(os.PathListSeparator) + w.env["PATH"]
	if out := i.ralph("install", w.cli.name, "--project"); !strings.Contains(out, "trust: ") {
		w.t.Fatal(out)
	}
	return i
}

// ralph runs the program under test and returns its output.
func (i installed) ralph(args ...string) string {
	i.t.Helper()
	return i.command(program, args...)
}

func (i installed) command(name string, args ...string) string {
	i.t.Helper()
	cmd := exec.CommandContext(i.t.Context(), name, args...)
	cmd.Dir, cmd.Env = i.project, i.environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		i.t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// session runs the CLI itself, without Ralph around it, and returns the ID of its session.
func (i installed) session(prompt string) string {
	i.t.Helper()
	path := filepath.Join(programs, i.cli.name, i.cli.name)
	args := []string{"-p", prompt, "--output-format", "json", "--permission-mode", "acceptEdits"}
	if i.cli.name == codex.name {
		// The flag stands in for the person who reviews the hooks at the CLI's next start.
		args = []string{
			"exec", "--json", "--disable", "plugins", "--dangerously-bypass-hook-trust",
			"--dangerously-bypass-approvals-and-sandbox", prompt,
		}
	}
	said := i.command(path, args...)
	for line := range bytes.Lines([]byte(said)) {
		var event struct {
			Session string `json:"session_id"`
			Thread  string `json:"thread_id"`
		}
		if json.Unmarshal(line, &event) == nil && event.Session+event.Thread != "" {
			return event.Session + event.Thread
		}
	}
	i.t.Fatalf("%s names no session:\n%s", i.cli.name, said)
	return ""
}

// call is a call of ralph by the CLI.
type call struct{ Args, Event, Session, Input string }

func (i installed) recorded() []call {
	i.t.Helper()
	files, err := filepath.Glob(filepath.Join(i.calls, "*.args"))
	if err != nil {
		i.t.Fatal(err)
	}
	var all []call
	for _, file := range files { // in the order of their names, which begin with the time
		args, _ := os.ReadFile(file)
		input, err := os.ReadFile(strings.TrimSuffix(file, "args") + "input")
		if err != nil {
			i.t.Fatal(err)
		}
		var hook struct {
			Event   string `json:"hook_event_name"`
			Session string `json:"session_id"`
		}
		c := call{Args: strings.TrimSpace(string(args))}
		if json.Unmarshal(input, &hook) == nil {
			c.Event, c.Session = hook.Event, hook.Session
		} else {
			c.Input = string(input)
		}
		all = append(all, c)
	}
	return all
}

// The CLI calls the hooks that ralph install wrote, with the session's ID. After ralph uninstall it calls nothing, and
// the project is as it was.
func TestInstalledHooksAreCalled(t *testing.T) {
	both(t, func(t *testing.T, cli agentCLI) {
		w := newWorld(t, cli, parse(t, `{"s": {"conversations": [[{"text": "Hello."}]]}}`), "s")
		i := installRalph(w)
		id := i.session("say hello")
		want := []call{
			{Args: "hook session-start", Event: "SessionStart", Session: id},
			{Args: "hook stop --timeout 10m", Event: "Stop", Session: id},
		}
		if diff := cmp.Diff(want, i.recorded()); diff != "" {
			t.Fatal(diff)
		}
		i.ralph("uninstall", cli.name, "--project")
		if status := i.command("git", "status", "--porcelain"); status != "" {
			t.Errorf("uninstall left %s", status)
		}
		i.session("say hello")
		if calls := i.recorded(); len(calls) != len(want) {
			t.Errorf("%+v", calls)
		}
	})
}

// An edit by Claude Code's own tool goes through the hook that guards protected files.
func TestInstalledPreToolHookSeesEdits(t *testing.T) {
	t.Parallel()
	script := `{"s": {"conversations": [[{"tools": [{"write": {"path": "made.txt", "text": "hi"}}]}, {"text": "Done."}]]}}`
	w := newWorld(t, claude, parse(t, script), "s")
	i := installRalph(w)
	id := i.session("write made.txt")
	want := call{Args: "hook pre-tool", Event: "PreToolUse", Session: id}
	if calls := i.recorded(); len(calls) != 3 || calls[1] != want || w.file("made.txt") != "hi" {
		t.Errorf("%+v, made.txt: %q", calls, w.file("made.txt"))
	}
}

// The goal command passes the session's ID, and the user's words unchanged, whatever a shell would make of them.
func TestGoalCommandPassesTheUsersWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t, claude, parse(t, `{"s": {"conversations": [[{"text": "Hello."}]]}}`), "s")
	w.env["RALPH_TRUST"] = "1"
	w.write(filepath.Join(w.project, ".ralph/config.yaml"), "checks:\n  - test -f made.txt\n")
	i := installRalph(w)
	const words = "make \"made.txt\" `touch a` $(touch b) $HOME; it's small"
	cmd := exec.CommandContext(t.Context(), filepath.Join(programs, "claude", "claude"), "-p", "/ralph:goal "+words)
	cmd.Dir, cmd.Env = i.project, i.environ()
	_, _ = cmd.CombinedOutput() // the record has what matters here
	for _, c := range i.recorded() {
		if strings.HasPrefix(c.Args, "goal --session ") {
			if c.Input != words+"\n" || strings.Count(c.Args, "-") != 7 {
				t.Errorf("%+v", c)
			}
			if w.file("a")+w.file("b") != "" {
				t.Error("the shell ran a part of the user's words")
			}
			return
		}
	}
	t.Errorf("ralph goal was not called: %+v", i.recorded())
}

// The plugin folder is valid for the CLI that reads it, and brings the same hooks and the same command.
func TestPluginOfClaude(t *testing.T) {
	t.Parallel()
	w := newWorld(t, claude, parse(t, `{"s": {"conversations": [[{"text": "Hello."}]]}}`), "s")
	i := installRalph(w)
	i.ralph("uninstall", "claude", "--project")
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	cli := filepath.Join(programs, "claude", "claude")
	for _, folder := range []string{root, filepath.Join(root, "plugins", "ralph")} {
		if out := i.command(cli, "plugin", "validate", folder); !strings.Contains(out, "Validation passed") {
			t.Error(out)
		}
	}
	i.command(cli, "--plugin-dir", filepath.Join(root, "plugins", "ralph"), "-p", "say hello")
	var args []string
	for _, c := range i.recorded() {
		args = append(args, c.Args)
	}
	if diff := cmp.Diff([]string{"hook session-start", "hook stop --timeout 10m"}, args); diff != "" {
		t.Error(diff)
	}
}

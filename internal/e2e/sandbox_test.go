//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// The real CLIs work in a sandbox: they find their login, settings and model, run commands, call the run's
// tools and keep their session. What they start does not reach home.
func TestAgentsWorkInASandbox(t *testing.T) {
	both(t, testInSandboxes)
}

func TestOthersWorkInASandbox(t *testing.T) {
	for _, cli := range others {
		t.Run(cli.name, func(t *testing.T) { testInSandboxes(t, cli) })
	}
}

func testInSandboxes(t *testing.T, cli agentCLI) {
	for _, tier := range []string{"bwrap", "landlock"} {
		t.Run(tier, func(t *testing.T) { testInSandbox(t, cli, tier) })
	}
}

func testInSandbox(t *testing.T, cli agentCLI, tier string) {
	learning := `{"text": "Learning.", "tools": [{"name": "` + cli.toolPrefix() + `propose_learning",
		"input": {"learning": "the check looks for made.txt"}}]},`
	if cli.name == "gemini" { // it cannot be given a server for one run
		learning = ""
	}
	script := parse(t, `{"s": {"conversations": [[
		{"text": "Working.", "tools": [{"write": {"path": "made.txt", "text": "made-by-agent\n"}}]},
		{"text": "Escaping.", "tools": [{"shell": "sh escape.sh"}]}, `+learning+`
		{"text": "<promise>COMPLETE</promise>"}
	]]}}`)
	w := newWorld(t, cli, script, "s")
	w.env["RALPH_SANDBOX__MODE"], w.env["RALPH_SANDBOX__READ"] = tier, filepath.Dir(programs) // a wrapper starts others
	w.write(filepath.Join(w.home, ".ssh/id_test"), "the key")
	w.write(filepath.Join(w.project, "escape.sh"), `echo planted >"$HOME/planted"
cat "$HOME/.ssh/id_test" && echo seen >seen
echo ran >ran
`)
	// In a tier that contains the agent, no command has to be allowed.
	args := []string{"--check", "test -f made.txt"}
	if tier == "landlock" {
		args = append(args, "--yolo")
	}
	o := w.run(args...)
	if o.code != 0 || w.file("made.txt") != "made-by-agent\n" {
		t.Fatalf("exit status %d, made.txt holds %q\n%s\n%s", o.code, w.file("made.txt"), o.stderr, w.agentLog())
	}
	if w.file("ran") == "" || w.file("seen") != "" {
		t.Errorf("ran: %q, saw the key: %q\n%s", w.file("ran"), w.file("seen"), w.agentLog())
	}
	if _, err := os.Stat(filepath.Join(w.home, "planted")); err == nil {
		t.Error("the agent wrote to home")
	}
	if learned := len(w.events("learning")); learned != 1 && learning != "" {
		t.Errorf("the run's tools were not reached: %d learnings\n%s", learned, w.agentLog())
	}
	exited := w.events("agent_exited")
	if len(exited) != 1 || exited[0]["denials"] != nil {
		t.Errorf("denied: %v", exited)
	}
}

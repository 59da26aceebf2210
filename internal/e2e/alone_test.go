//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/scriptedmodel"
)

// traces are the effects of the user's own settings: files that they touch, and words in the
// requests to the model.
type traces struct {
	Hook, Server, Notifier      bool
	Memory, ServerTool, Project bool
}

// A Model Context Protocol server that leaves a trace and has one tool.
const userServer = `#!/bin/sh
touch "$HOME/server-ran"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
  *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-03-26",` +
	`"capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}\n' "$id" ;;
  *'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"lookup_of_the_user",` +
	`"description":"d","inputSchema":{"type":"object","properties":{}}}]}}\n' "$id" ;;
  esac
done
`

// addUserSettings adds a user's hooks, servers and memories to the home.
func (w *world) addUserSettings() {
	server := filepath.Join(w.home, "server")
	w.write(server, userServer)
	hook := "touch " + filepath.Join(w.home, "hook-ran")
	switch w.cli.name {
	case "claude":
		w.write(filepath.Join(w.home, ".claude/settings.json"),
			`{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "`+hook+`"}]}]}}`)
		w.write(filepath.Join(w.home, ".claude/CLAUDE.md"), "remembered by the user\n")
		w.write(filepath.Join(w.home, ".claude.json"), `{"mcpServers": {"mine": {"command": "`+server+`", "args": []}}}`)
		w.write(filepath.Join(w.project, "CLAUDE.md"), "remembered by the project\n")
	case "codex":
		config := filepath.Join(w.home, ".codex/config.toml")
		text, err := os.ReadFile(config)
		if err != nil {
			w.t.Fatal(err)
		}
		w.write(config, `notify = ["touch", "`+filepath.Join(w.home, "notifier-ran")+`"]`+"\n"+string(text)+`
[mcp_servers.mine]
command = "`+server+`"
env = { HOME = "`+w.home+`" }
[mcp_servers."with blanks"]
command = "`+server+`"
env = { HOME = "`+w.home+`" }
[[hooks.UserPromptSubmit]]
[[hooks.UserPromptSubmit.hooks]]
type = "command"
command = "`+hook+`"
`)
		w.write(filepath.Join(w.project, "AGENTS.md"), "remembered by the project\n")
	}
}

func (w *world) traces(asked string) traces {
	ran := func(name string) bool {
		_, err := os.Stat(filepath.Join(w.home, name))
		return err == nil
	}
	return traces{
		Hook: ran("hook-ran"), Server: ran("server-ran"), Notifier: ran("notifier-ran"),
		Memory:     strings.Contains(asked, "remembered by the user"),
		ServerTool: strings.Contains(asked, "lookup_of_the_user"),
		Project:    strings.Contains(asked, "remembered by the project"),
	}
}

// A run starts nothing that users have set up for their own sessions. It has their memory, and what
// the project has set up.
func TestAlone(t *testing.T) {
	both(t, func(t *testing.T, cli agentCLI) {
		for _, inherits := range []bool{false, true} {
			var asked requestBodies
			w := newWorld(t, cli, scriptedmodel.Standard(), "tool", asked.keep())
			w.addUserSettings()
			args := []string{"--check", "test -f made.txt", "--yolo", "--trust"}
			want := traces{Project: true, Memory: cli.name == "claude"}
			if inherits {
				args = append(args, "--set", "agent.inherit_settings=true")
				want = traces{Hook: true, Server: true, Memory: true, Project: true}
				if cli.name == "codex" {
					// Codex runs only hooks that the user has reviewed in its own screen.
					want = traces{Server: true, Notifier: true, ServerTool: true, Project: true}
					args = append(args, "--", "-c", "features.plugins=false") // no network for the plugin marketplace
				}
			}
			o := w.run(args...)
			got := w.traces(strings.Join(asked.all(), ""))
			if inherits && cli.name == "claude" {
				got.ServerTool = false // its tools may arrive too late for the first request
			}
			if diff := cmp.Diff(want, got); diff != "" || o.code != 0 {
				t.Errorf("inherits %v: exit status %d, -want +got:\n%s\n%s", inherits, o.code, diff, o.stderr)
			}
		}
	})
}

// A denied call is reported with the arguments that allow it. Those arguments do allow it, in
// addition to the rules for the checks. A pipe needs a rule for each of its commands (real-agents
// 10).
func TestDenialAndWhatAllowsIt(t *testing.T) {
	t.Parallel()
	for command, rules := range map[string][]string{
		"sort README.md -o sorted.txt":                 {"Bash(sort README.md -o sorted.txt)"},
		"sort README.md -o other.txt | tee sorted.txt": {"Bash(sort README.md -o other.txt)", "Bash(tee sorted.txt)"},
	} {
		script := `{"s": {"conversations": [[
			{"text": "One.", "tools": [{"shell": "` + command + `"}]},
			{"text": "Two.", "tools": [{"shell": "test -f sorted.txt | wc -l"}]},
			{"text": "<promise>COMPLETE</promise>"}
		]]}}`
		w := newWorld(t, claude, parse(t, script), "s")
		code, output := w.told("--check", "test -f sorted.txt | wc -l && test -f sorted.txt", "-n", "1")
		advice := "-- --allowedTools '" + strings.Join(rules, "' '") + "'"
		if code != 1 || !strings.Contains(output, "denied: Bash: "+command) ||
			!strings.Contains(output, "to allow it: ralph run … "+advice) || strings.Contains(output, "denied: Bash: test") {
			t.Fatalf("exit status %d\n%s", code, output)
		}
		w = newWorld(t, claude, parse(t, script), "s")
		code, output = w.told(append([]string{
			"--check", "test -f sorted.txt | wc -l && test -f sorted.txt", "-n", "1", "--", "--allowedTools",
		}, rules...)...)
		if code != 0 || strings.Contains(output, "denied") {
			t.Errorf("exit status %d\n%s", code, output)
		}
	}
}

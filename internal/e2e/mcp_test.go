//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A model that reports with the run's tools alone, through the real CLI in its edit mode, needs no tag.
func TestToolsOverMCP(t *testing.T) {
	both(t, func(t *testing.T, cli agentCLI) { testToolsOverMCP(t, cli) })
}

// The same with the other CLIs, and with agents that are given the server by ACP.
func TestToolsOverMCPOfOthers(t *testing.T) {
	for _, cli := range others {
		if cli.name != "gemini" { // it has no way to be given a server for one run
			t.Run(cli.name, func(t *testing.T) { testToolsOverMCP(t, cli) })
		}
		flag := map[string]string{"gemini": "--experimental-acp", "opencode": "acp", "qwen": "--acp"}[cli.name]
		t.Run("acp/"+cli.name, func(t *testing.T) {
			testToolsOverMCP(t, cli, "--agent", "acp", "--agent-cmd", cli.name+" "+flag)
		})
	}
}

// testToolsOverMCP has the model call every kind of tool.
func testToolsOverMCP(t *testing.T, cli agentCLI, args ...string) {
	script := parse(t, strings.ReplaceAll(`{"s": {"conversations": [[
		{"tools": [{"name": "TOOL_next_task", "input": {}}]},
		{"tools": [{"write": {"path": "made.txt", "text": "made-by-agent\n"}}]},
		{"tools": [{"name": "TOOL_run_checks", "input": {}}]},
		{"tools": [{"name": "TOOL_propose_learning", "input": {"learning": "the check looks for made.txt"}}]},
		{"tools": [{"name": "TOOL_submit_case", "input": {"summary": "made it",
			"ac_coverage": [{"criterion": "the work", "addressed_by": "made.txt:1"}]}}]},
		{"text": "That is all."}
	]]}}`, "TOOL_", cli.toolPrefix()))
	var asked requestBodies
	w := newWorld(t, cli, script, "s", asked.keep())
	w.env["GEMINI_CLI_TRUST_WORKSPACE"] = "true" // otherwise it starts no servers
	o := w.run(append(args, "--check", "test -f made.txt")...)
	if o.code != 0 || len(o.result.Iterations) != 1 {
		t.Fatalf("exit status %d\n%s\n%s", o.code, o.stderr, w.agentLog())
	}
	if diff := cmp.Diff([]string{"submit_case"}, o.result.Iterations[0].Claims); diff != "" {
		t.Error(diff)
	}
	exited := w.events("agent_exited")[0]
	if exited["denials"] != nil {
		t.Errorf("denied: %v", exited["denials"])
	}
	if len(w.events("learning")) != 1 {
		t.Error("the learning was not recorded")
	}
	sent := asked.all()
	last := sent[len(sent)-1]
	for _, answer := range []string{"do the work", "Checks that pass now", "Nothing refuses it so far"} {
		if !strings.Contains(last, answer) {
			t.Errorf("the model never read %q", answer)
		}
	}
	if first := sent[0]; !strings.Contains(first, "Report with the tools of the MCP server") {
		t.Error("the prompt does not name the tools")
	}
}

// toolPrefix returns what the CLI puts before the names of the run's tools.
func (cli agentCLI) toolPrefix() string {
	switch cli.name {
	case "opencode":
		return "ralph_"
	case "gemini":
		return "mcp_ralph_"
	}
	return "mcp__ralph__"
}

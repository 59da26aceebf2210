package agent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

// TestToolsArePassedWithoutTheUsersFiles: each CLI that supports it gets the server in its own form.
func TestToolsArePassedWithoutTheUsersFiles(t *testing.T) {
	const program = "/opt/my ralph"
	want := map[string]string{
		"claude": `--mcp-config {"mcpServers":{"ralph":{"alwaysLoad":true,"args":["mcp"],"command":"/opt/my ralph",` +
			`"env":{"RALPH_MCP_SOCKET":"${RALPH_MCP_SOCKET}","RALPH_MCP_TOKEN":"${RALPH_MCP_TOKEN}"},"type":"stdio"}}} --`,
		"codex": `-c mcp_servers.ralph={command="/opt/my ralph",args=["mcp"],` +
			`env_vars=["RALPH_MCP_SOCKET","RALPH_MCP_TOKEN"],enabled=true,startup_timeout_sec=30,tool_timeout_sec=660,` +
			`default_tools_approval_mode="approve"}`,
		"opencode": `OPENCODE_CONFIG_CONTENT={"mcp":{"ralph":{"command":["/opt/my ralph","mcp"],"enabled":true,` +
			`"timeout":660000,"type":"local"}}}`,
		"qwen": "--allowed-mcp-server-names ralph ",
	}
	for _, d := range Known() {
		about := d.About()
		if !about.MCP || about.Program == "" {
			continue
		}
		for _, inherit := range []bool{false, true} {
			r := Request{PromptFile: "/i/prompt.md", Folder: "/i", Tools: program, InheritSettings: inherit}
			cmd, err := d.Command(r)
			if err != nil {
				t.Fatal(err)
			}
			all := strings.Join(append(cmd.Argv, cmd.Env...), " ")
			if d.Name() == "qwen" && inherit {
				continue // its servers are all allowed then
			}
			if !strings.Contains(all, want[d.Name()]) || want[d.Name()] == "" {
				t.Errorf("%s, inherit %t: no %s in %s", d.Name(), inherit, want[d.Name()], all)
			}
		}
		reads, err := d.Command(New(Options{Dialect: d, Tools: program, Permissions: PermitReading}).request("/i/p", ""))
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(append(reads.Argv, reads.Env...), " "); strings.Contains(text, program) {
			t.Errorf("a reviewer gets the tools: %s", text)
		}
	}
}

func TestQwensSettingsHaveTheServer(t *testing.T) {
	server := parseObject([]byte(qwenSystem(Request{Tools: "/bin/ralph", InheritSettings: true})))
	want := jsonObject{"mcpServers": []byte(`{"ralph":{"args":["mcp"],"command":"/bin/ralph",` +
		`"env":{"RALPH_MCP_SOCKET":"$RALPH_MCP_SOCKET","RALPH_MCP_TOKEN":"$RALPH_MCP_TOKEN"},"timeout":660000,` +
		`"trust":true}}`)}
	if diff := cmp.Diff(want.String(), server.String()); diff != "" {
		t.Error(diff)
	}
}

// TestOnlyAnAgentWithADoorGetsTheTools: a CLI is not given a server that could reach no loop.
func TestOnlyAnAgentWithADoorGetsTheTools(t *testing.T) {
	c := New(Options{Dialect: claude{}, Tools: "/bin/ralph"})
	for _, env := range [][]string{nil, {ralph.ToolSocketVariable + "=/s", ralph.ToolTokenVariable + "=secret"}} {
		in := ralph.AgentInput{Folder: t.TempDir(), ToolEnv: env}
		spec, _, err := c.spec(in)
		if err != nil {
			t.Fatal(err)
		}
		argv := strings.Join(spec.Argv, " ")
		if got := strings.Contains(argv, "--mcp-config"); got != (env != nil) || strings.Contains(argv, "secret") {
			t.Errorf("with %v: %s", env, argv)
		}
		if got := len(spec.Env) > 0 && strings.HasSuffix(spec.Env[len(spec.Env)-1], "=secret"); got != (env != nil) {
			t.Errorf("with %v: the environment is %v", env, spec.Env)
		}
	}
}

package agent

import (
	"errors"
	"path"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommandLines(t *testing.T) {
	quiet := []string{
		"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	}
	asRoot := append(append([]string{}, quiet...), "IS_SANDBOX=1")
	cases := []struct {
		name, dialect string
		request       Request
		want          Command
	}{
		{
			"claude in edit mode may run the checks", "claude",
			Request{PromptFile: "/p/prompt.md", Permissions: PermitEdits, AllowedCommands: []string{
				"go test ./...", " make lint ",
			}},
			Command{
				Argv: []string{"claude", "-p", "--output-format", "stream-json", "--verbose",
					"--allowedTools", "Bash(go test ./...)", "Bash(go test ./...:*)", "Bash(make lint)", "Bash(make lint:*)",
					"--permission-mode", "acceptEdits", "--setting-sources", "project,local", "--strict-mcp-config"},
				Env: quiet, Stdin: "/p/prompt.md",
			},
		},
		{
			"claude without checks", "claude",
			Request{PromptFile: "p", Permissions: PermitEdits, AllowedCommands: []string{"", "(cd a && make)", "two\nlines"}},
			Command{
				Argv: []string{"claude", "-p", "--output-format", "stream-json", "--verbose",
					"--permission-mode", "acceptEdits", "--setting-sources", "project,local", "--strict-mcp-config"},
				Env: quiet, Stdin: "p",
			},
		},
		{
			"claude with everything allowed",
			"claude",
			Request{
				Program:         "/opt/claude",
				PromptFile:      "p",
				Model:           "opus",
				Permissions:     PermitAll,
				AllowedCommands: []string{"make"},
				InheritSettings: true,
				ExtraArgs:       []string{"--max-turns", "9"},
			},
			Command{
				Argv: []string{"/opt/claude", "-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions",
					"--model", "opus", "--max-turns", "9"},
				Env: asRoot, Stdin: "p",
			},
		},
		{
			"codex in edit mode", "codex",
			Request{PromptFile: "p", Model: "gpt", Permissions: PermitEdits, ExtraArgs: []string{"-c", "a=b"}},
			Command{
				Argv: []string{
					"codex",
					"exec",
					"--json",
					"--skip-git-repo-check",
					"-m",
					"gpt",
					"--sandbox",
					"workspace-write",
					"-c",
					"features.hooks=false",
					"-c",
					"notify=[]",
					"-c",
					"features.plugins=false",
					"-c",
					"features.apps=false",
					"-c",
					"analytics.enabled=false",
					"-c",
					"a=b",
					"-",
				},
				Stdin: "p",
			},
		},
		{
			"codex with everything allowed", "codex",
			Request{Program: "/opt/codex", PromptFile: "p", Permissions: PermitAll, InheritSettings: true},
			Command{
				Argv: []string{
					"/opt/codex", "exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-",
				},
				Stdin: "p",
			},
		},
		{
			"command reads the prompt on standard input", "command",
			Request{CommandLine: "my-agent --quiet | tee log", PromptFile: "p", ExtraArgs: []string{"it's"}},
			Command{Argv: []string{"/bin/sh", "-c", `my-agent --quiet | tee log 'it'\''s'`}, Stdin: "p"},
		},
		{
			"command gets the prompt as a file", "command",
			Request{CommandLine: "my-agent -f {prompt_file}", PromptFile: "/it's here/prompt.md"},
			Command{Argv: []string{"/bin/sh", "-c", `my-agent -f '/it'\''s here/prompt.md'`}},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d, ok := Find(c.dialect)
			if !ok {
				t.Fatalf("no dialect %s", c.dialect)
			}
			got, err := d.Command(c.request)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestEmptyCommandIsRefused(t *testing.T) {
	got, err := command{}.Command(Request{CommandLine: " \n", PromptFile: "p"})
	if err == nil {
		t.Errorf("got %v, want an error", got)
	}
}

func TestKnownDialects(t *testing.T) {
	var names []string
	for _, d := range Known() {
		names = append(names, d.Name())
		if found, ok := Find(d.Name()); !ok || found != d {
			t.Errorf("Find(%q) = %v, %v", d.Name(), found, ok)
		}
	}
	want := []string{
		"claude", "codex", "gemini", "opencode", "qwen", "copilot", "cursor", "amp", "goose", "aider",
		"acp", "command",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if d, ok := Find("nobody"); ok {
		t.Errorf("found %v", d)
	}
}

func TestDetectTakesTheFirstInstalled(t *testing.T) {
	type found struct {
		Name, Path string
		OK         bool
	}
	cases := []struct {
		name      string
		installed map[string]string
		want      found
	}{
		{"both", map[string]string{"claude": "/a/claude", "codex": "/b/codex"}, found{"claude", "/a/claude", true}},
		{"one", map[string]string{"codex": "/b/codex", "command": "/usr/bin/command"}, found{"codex", "/b/codex", true}},
		{"none", map[string]string{"command": "/usr/bin/command"}, found{}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got found
			got.Name, got.Path, got.OK = Detect(func(name string) (string, error) {
				if path, ok := c.installed[name]; ok {
					return path, nil
				}
				return "", errors.New("not found")
			})
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// A deploy token in the user's shell belongs to no agent. Only goose's own old provider uses one.
func TestDeployTokensAreNobodysOwn(t *testing.T) {
	tokens := []string{
		"GITHUB_TOKEN", "GH_TOKEN", "NPM_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_CLIENT_SECRET",
		"GOOGLE_APPLICATION_CREDENTIALS",
		"DATABRICKS_TOKEN", "DATABRICKS_CLIENT_SECRET", "VAULT_TOKEN", "DOCKER_PASSWORD", "DATABASE_URL",
	}
	var passed []string
	for _, d := range Known() {
		for _, pattern := range d.About().Env {
			for _, token := range tokens {
				if ok, err := path.Match(pattern, token); ok || err != nil {
					passed = append(passed, d.Name()+": "+token)
				}
			}
		}
	}
	if diff := cmp.Diff([]string{"goose: DATABRICKS_TOKEN"}, passed); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

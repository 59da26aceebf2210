package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAgentEnv(t *testing.T) {
	base := []string{
		"PATH=/bin", "HOME=/h", "LC_ALL=C", "XDG_RUNTIME_DIR=/r", "https_proxy=p", "GOPATH=/go", "NODE_OPTIONS=x", "PYTHONPATH=/p",
		"NPM_TOKEN=secret", "NODE_AUTH_TOKEN=secret", "CARGO_REGISTRY_TOKEN=secret", "npm_config__authToken=x",
		"GOOGLE_API_KEY=secret", "GITHUB_TOKEN=secret", "DATABASE_URL=secret", "AWS_SECRET_ACCESS_KEY=secret",
		"ANTHROPIC_API_KEY=a", "CLAUDE_CONFIG_DIR=/c", "CLAUDECODE=1", "OPENAI_API_KEY=o", "CODEX_HOME=/x", "AZURE_CLIENT_ID=z",
		"RALPH_TRUST=1", "RALPH_MAX_COST=5",
	}
	every := []string{"PATH=/bin", "HOME=/h", "LC_ALL=C", "XDG_RUNTIME_DIR=/r", "https_proxy=p", "GOPATH=/go", "NODE_OPTIONS=x", "PYTHONPATH=/p"}
	plus := func(more ...string) []string { return append(append([]string{}, every...), more...) }
	for name, c := range map[string]struct {
		extra   []string
		names   []string
		dialect string
		want    []string
	}{
		"claude": {dialect: "claude", want: plus("ANTHROPIC_API_KEY=a", "CLAUDE_CONFIG_DIR=/c")},
		"claude by Bedrock": {extra: []string{"CLAUDE_CODE_USE_BEDROCK=1"}, dialect: "claude",
			want: plus("AWS_SECRET_ACCESS_KEY=secret", "ANTHROPIC_API_KEY=a", "CLAUDE_CONFIG_DIR=/c", "CLAUDE_CODE_USE_BEDROCK=1")},
		"claude by Vertex": {extra: []string{"CLAUDE_CODE_USE_VERTEX=1"}, dialect: "claude",
			want: plus("GOOGLE_API_KEY=secret", "ANTHROPIC_API_KEY=a", "CLAUDE_CONFIG_DIR=/c", "CLAUDE_CODE_USE_VERTEX=1")},
		"claude by Foundry": {extra: []string{"CLAUDE_CODE_USE_FOUNDRY=1"}, dialect: "claude",
			want: plus("ANTHROPIC_API_KEY=a", "CLAUDE_CONFIG_DIR=/c", "AZURE_CLIENT_ID=z", "CLAUDE_CODE_USE_FOUNDRY=1")},
		"codex": {dialect: "codex", want: plus("OPENAI_API_KEY=o", "CODEX_HOME=/x")},
		"codex with names": {names: []string{"GITHUB_TOKEN", "NPM_*"}, dialect: "codex",
			want: plus("NPM_TOKEN=secret", "GITHUB_TOKEN=secret", "OPENAI_API_KEY=o", "CODEX_HOME=/x")},
		"a command with names": {names: []string{"DATABASE_URL", "RALPH_TRUST"}, dialect: "command", want: plus("DATABASE_URL=secret")},
	} {
		t.Run(name, func(t *testing.T) {
			env := NewEnv(append(append([]string{}, base...), c.extra...))
			if diff := cmp.Diff(c.want, AgentEnv(env, c.names, c.dialect)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAPlainCommandGetsTheUsersEnvironment(t *testing.T) {
	env := NewEnv([]string{"PATH=/bin", "GITHUB_TOKEN=x", "RALPH_TRUST=1", "RALPH_MAX_COST=5"})
	want := []string{"PATH=/bin", "GITHUB_TOKEN=x", "RALPH_MAX_COST=5"}
	if diff := cmp.Diff(want, AgentEnv(env, nil, "command")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, AgentEnv(env, []string{"*"}, "claude")); diff != "" {
		t.Errorf("the star is everything, too: %s", diff)
	}
}

func TestMatches(t *testing.T) {
	for name, want := range map[string]bool{"BASH_DEFAULT_TIMEOUT_MS": true, "BASH__TIMEOUT_MS": true, "BASH_TIMEOUT_MS": false, "ENV": false} {
		if got := matches(name, []string{"BASH_*_TIMEOUT_MS"}); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

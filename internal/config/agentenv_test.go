package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAgentEnv(t *testing.T) {
	base := []string{
		"PATH=/bin", "HOME=/h", "LC_ALL=C", "XDG_RUNTIME_DIR=/r", "https_proxy=p", "GOPATH=/go", "NODE_OPTIONS=x",
		"PYTHONPATH=/p",
		"NPM_TOKEN=secret", "NODE_AUTH_TOKEN=secret", "CARGO_REGISTRY_TOKEN=secret", "npm_config__authToken=x",
		"GOOGLE_API_KEY=secret", "GITHUB_TOKEN=secret", "DATABASE_URL=secret", "AWS_SECRET_ACCESS_KEY=secret",
		"ANTHROPIC_API_KEY=a", "CLAUDE_CONFIG_DIR=/c", "CLAUDECODE=1", "OPENAI_API_KEY=o", "CODEX_HOME=/x",
		"AZURE_CLIENT_ID=z",
		"RALPH_TRUST=1", "RALPH_CHECKS__HIDDEN=sh x", "RALPH_CHECKS__HIDDEN_DIR=/x", "RALPH_MAX_COST=5",
	}
	every := []string{
		"PATH=/bin", "HOME=/h", "LC_ALL=C", "XDG_RUNTIME_DIR=/r", "https_proxy=p", "GOPATH=/go", "NODE_OPTIONS=x",
		"PYTHONPATH=/p",
	}
	plus := func(more ...string) []string { return append(append([]string{}, every...), more...) }
	for name, c := range map[string]struct {
		extra  []string
		passes Passes
		want   []string
	}{
		"its own": {
			passes: Passes{Own: []string{"ANTHROPIC_*", "CLAUDE_*"}}, want: plus("ANTHROPIC_API_KEY=a", "CLAUDE_CONFIG_DIR=/c"),
		},
		"a cloud that is not used": {passes: Passes{When: map[string][]string{"USE_BEDROCK": {"AWS_*"}}}, want: every},
		"a cloud that is switched off": {
			extra: []string{"USE_BEDROCK=0"}, passes: Passes{When: map[string][]string{"USE_BEDROCK": {"AWS_*"}}}, want: every,
		},
		"a cloud that is used": {extra: []string{"USE_BEDROCK=1"},
			passes: Passes{When: map[string][]string{"USE_BEDROCK": {"AWS_*"}, "USE_FOUNDRY": {"AZURE_*"}}},
			want:   plus("AWS_SECRET_ACCESS_KEY=secret")},
		"with names": {passes: Passes{Names: []string{"GITHUB_TOKEN", "NPM_*"}, Own: []string{"OPENAI_*", "CODEX_*"}},
			want: plus("NPM_TOKEN=secret", "GITHUB_TOKEN=secret", "OPENAI_API_KEY=o", "CODEX_HOME=/x")},
		"a command with names": {
			passes: Passes{Names: []string{"DATABASE_URL", "RALPH_TRUST", "RALPH_CHECKS__HIDDEN*"}},
			want:   plus("DATABASE_URL=secret"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			env := NewEnv(append(append([]string{}, base...), c.extra...))
			if diff := cmp.Diff(c.want, AgentEnv(env, c.passes)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheStarPassesEverything(t *testing.T) {
	env := NewEnv([]string{
		"PATH=/bin", "GITHUB_TOKEN=x", "RALPH_TRUST=1", "RALPH_CHECKS__HIDDEN=sh x", "RALPH_MAX_COST=5",
	})
	want := []string{"PATH=/bin", "GITHUB_TOKEN=x", "RALPH_MAX_COST=5"}
	if diff := cmp.Diff(want, AgentEnv(env, Passes{Names: []string{"*"}})); diff != "" {
		t.Error(diff)
	}
}

func TestWithheld(t *testing.T) {
	env := NewEnv([]string{"PATH=/bin", "GITHUB_TOKEN=x", "PWD=/x", "RALPH_MAX_COST=5", "DATABASE_URL=y", "APP_MODE=z"})
	got := Withheld(env, AgentEnv(env, Passes{Names: []string{"APP_*"}}))
	if diff := cmp.Diff([]string{"GITHUB_TOKEN", "DATABASE_URL"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestMatches(t *testing.T) {
	for name, want := range map[string]bool{
		"BASH_DEFAULT_TIMEOUT_MS": true, "BASH__TIMEOUT_MS": true, "BASH_TIMEOUT_MS": false, "ENV": false,
	} {
		if got := matches(name, []string{"BASH_*_TIMEOUT_MS"}); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

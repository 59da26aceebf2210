//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// examined is the part of an agent in `ralph doctor --json` that is asserted on.
type examined struct {
	Name     string            `json:"name"`
	Path     string            `json:"path"`
	Login    string            `json:"login"`
	Billing  string            `json:"billing"`
	Warning  string            `json:"warning"`
	Broken   string            `json:"broken"`
	Probe    map[string]aspect `json:"probe"`
	ProbedAt string            `json:"probed_at"`
}

type aspect struct {
	State  string `json:"state"`
	Detail string `json:"detail"`
}

// Every installed CLI behaves as its dialect says, except for known differences: these start
// something of the user's in every run.
func TestDoctor(t *testing.T) {
	if programs == "" {
		t.Skip("no agent CLIs are installed")
	}
	leaks := map[string]string{
		"gemini": "a run started the user's own hook",
	}
	home := t.TempDir()
	logins := map[string]string{
		".claude/.credentials.json": `{"claudeAiOauth":{"accessToken":"s3cr3t-value","refreshToken":"s3cr3t-value",` +
			`"expiresAt":4102444800000,"subscriptionType":"max"}}`,
		".codex/auth.json": `{"auth_mode":"chatgpt","OPENAI_API_KEY":null,"tokens":{"id_token":"s3cr3t-value",` +
			`"access_token":"s3cr3t-value","refresh_token":"s3cr3t-value"}}`,
	}
	for name, text := range logins {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found := doctor(t, home, "--probe")
	for name, got := range found {
		ok := aspect{State: "ok"}
		probe := map[string]aspect{"stream_shape": ok, "tag_round_trip": ok, "permission_flag": ok, "session_isolation": ok}
		if leak := leaks[name]; leak != "" {
			probe["session_isolation"] = aspect{"failed", leak}
		}
		want := examined{
			Name: name, Path: got.Path, Login: got.Login, Billing: got.Billing, Probe: probe, ProbedAt: got.ProbedAt,
		}
		if name == "claude" || name == "codex" {
			want.Login, want.Billing = "yes", "subscription"
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
	for _, name := range []string{"claude", "codex"} {
		if _, ok := found[name]; !ok {
			t.Errorf("%s was not found", name)
		}
	}
	for name, text := range logins {
		if now, err := os.ReadFile(filepath.Join(home, name)); err != nil || string(now) != text {
			t.Errorf("%s was touched: %s %v", name, now, err)
		}
	}
	if diff := cmp.Diff(found, doctor(t, home)); diff != "" {
		t.Errorf("what was found out is not remembered:\n%s", diff)
	}
}

// doctor returns the agents that were installed for these tests.
func doctor(t *testing.T, home string, args ...string) map[string]examined {
	t.Helper()
	cmd := exec.Command(program, append([]string{"doctor", "--json", "--set", "checks.commands=true"}, args...)...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LC_ALL=C"}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	if bytes.Contains(out, []byte("s3cr3t-value")) {
		t.Error("a secret was printed")
	}
	var findings []struct{ Agent *examined }
	if err := json.Unmarshal(out, &findings); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found := map[string]examined{}
	for _, f := range findings {
		if f.Agent != nil && filepath.Dir(filepath.Dir(f.Agent.Path)) == filepath.Clean(programs) {
			found[f.Agent.Name] = *f.Agent
		}
	}
	return found
}

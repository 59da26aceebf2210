//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralphloop/ralph/internal/scriptedmodel"
)

// others are the CLIs that only `make e2e-all` installs.
var others = []agentCLI{
	{name: "gemini", shell: "run_shell_command", settle: func(w *world, base string) {
		w.write(filepath.Join(w.home, ".gemini/settings.json"),
			`{"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": false}}`)
		w.env["GEMINI_API_KEY"], w.env["GOOGLE_GEMINI_BASE_URL"], w.env["GEMINI_MODEL"] = "no-key", base, "gemini-2.5-flash"
	}},
	{name: "opencode", shell: "bash", settle: func(w *world, base string) {
		w.write(filepath.Join(w.home, ".config/opencode/opencode.json"),
			`{"provider": {"scripted": {"npm": "@ai-sdk/openai-compatible",
			"options": {"baseURL": "`+base+
				`/v1", "apiKey": "no-key"}, "models": {"scripted-1": {"limit": {"context": 100000, "output": 1000}}}}},
			"model": "scripted/scripted-1", "autoupdate": false, "share": "disabled"}`)
		w.env["OPENCODE_DISABLE_MODELS_FETCH"] = "1"
	}},
	{name: "qwen", shell: "run_shell_command", settle: func(w *world, base string) {
		w.write(filepath.Join(w.home, ".qwen/settings.json"),
			`{"security": {"auth": {"selectedType": "openai"}}, "privacy": {"usageStatisticsEnabled": false}}`)
		w.env["OPENAI_API_KEY"], w.env["OPENAI_BASE_URL"], w.env["OPENAI_MODEL"] = "no-key", base+"/v1", "scripted-1"
	}},
}

// The other CLIs do what every agent must do: claim, work, get stuck, get refused, hang.
func TestOthers(t *testing.T) {
	for _, cli := range others {
		for _, test := range []struct {
			scenario string
			args     []string
			code     int
			reason   string
		}{
			{"text", []string{"--check", "true"}, 7, "unconfirmed"}, // no file changed
			{"thinking", []string{"--check", "true"}, 7, "unconfirmed"},
			{"tool", []string{"--check", "test -f made.txt", "--yolo"}, 0, "all_checks_passed"},
			{"write", []string{"--check", "test -f made.txt"}, 0, "all_checks_passed"},
			{"second-try", []string{"--check", "test -f made.txt", "--yolo"}, 0, "all_checks_passed"},
			{"blocked", []string{"--check", "false"}, 2, "blocked"},
			{"401", []string{"--check", "true"}, 5, "auth_error"},
			{"hang", []string{"--check", "true", "--idle-timeout", "20", "--set", "agent.max_failures=1"}, 15, "agent_failed"},
		} {
			t.Run(cli.name+"/"+test.scenario, func(t *testing.T) {
				w := newWorld(t, cli, scriptedmodel.Standard(), test.scenario)
				o := w.run(test.args...)
				if o.code != test.code || o.result.StopReason != test.reason {
					t.Errorf("exit status %d, %s\n%s\n%s", o.code, o.stdout, o.stderr, w.agentLog())
				}
				if test.code == 0 && (o.result.TotalTokens == nil || o.result.TotalTokens.Output == 0) {
					t.Errorf("no tokens in %s", o.stdout)
				}
				if strings.HasPrefix(test.scenario, "tool") && w.file("made.txt") != "made-by-agent\n" {
					t.Errorf("made.txt holds %q", w.file("made.txt"))
				}
				w.mustBeQuiet()
			})
		}
	}
}

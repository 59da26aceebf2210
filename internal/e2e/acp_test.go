//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/scriptedmodel"
)

// acpAgents are real agents that support ACP, each with the settings that point it to the scripted
// model. An agent that is not on PATH is skipped.
var acpAgents = []struct {
	program, flags string
	home           func(url string) map[string]string // files in a fresh home
	env            func(url string) []string
}{
	{
		"gemini", "--experimental-acp",
		func(string) map[string]string {
			return map[string]string{
				".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}},` +
					`"privacy":{"usageStatisticsEnabled":false}}`,
			}
		},
		func(url string) []string {
			return []string{
				"GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL=" + url, "GEMINI_MODEL=gemini-2.5-flash",
				"GEMINI_CLI_TRUST_WORKSPACE=true", "GEMINI_CLI_NO_RELAUNCH=true",
			}
		},
	},
	{
		"opencode", "acp",
		func(url string) map[string]string {
			// It asks for permission only if configured to.
			return map[string]string{
				".config/opencode/opencode.json": `{"provider":{"scripted":{"npm":"@ai-sdk/openai-compatible",
				"options":{"baseURL":"` + url +
					`/v1","apiKey":"k"},"models":{"scripted-1":{"limit":{"context":100000,"output":1000}}}}},
				"model":"scripted/scripted-1","permission":"ask","autoupdate":false,"share":"disabled"}`,
			}
		},
		func(string) []string {
			return []string{
				"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1",
			}
		},
	},
	{
		"qwen", "--acp",
		func(string) map[string]string {
			return map[string]string{
				".qwen/settings.json": `{"security":{"auth":{"selectedType":"openai"}},"privacy":{"usageStatisticsEnabled":false}}`,
			}
		},
		func(url string) []string {
			return []string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL=" + url + "/v1", "OPENAI_MODEL=scripted-1"}
		},
	},
}

// acpEnd holds what is compared: the rest differs between agents.
type acpEnd struct {
	End      ralph.EndClass
	Complete bool
	Denied   int
	Made     string // content of made.txt
}

func TestACPAgents(t *testing.T) {
	cases := []struct {
		scenario    string
		permissions agent.Permissions
		want        acpEnd
	}{
		{"write", agent.PermitEdits, acpEnd{End: ralph.EndOK, Complete: true, Made: "made-by-agent\n"}},
		{"tool", agent.PermitAll, acpEnd{End: ralph.EndOK, Complete: true, Made: "made-by-agent\n"}},
		{"tool", agent.PermitEdits, acpEnd{End: ralph.EndOK, Denied: 1}},
		{"401", agent.PermitEdits, acpEnd{End: ralph.EndAuth}},
		{"hang", agent.PermitEdits, acpEnd{End: ralph.EndInterrupted}},
	}
	for i, a := range acpAgents {
		for _, c := range cases {
			t.Run(a.program+"/"+c.scenario+"/"+string(c.permissions), func(t *testing.T) {
				program := filepath.Join(programs, a.program, a.program)
				if _, err := os.Stat(program); err != nil {
					t.Skip("only make e2e-all installs it: ", err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
				defer cancel()
				dir := t.TempDir()
				got := runACP(ctx, t,
					acpRun{agent: i, program: program, dir: dir, permissions: c.permissions, scenario: c.scenario, asked: func() {
						if c.scenario == "hang" {
							cancel()
						}
					}})
				made, _ := os.ReadFile(filepath.Join(dir, "made.txt"))
				end := acpEnd{End: got.End, Complete: got.Said.Complete, Denied: len(got.Denials), Made: string(made)}
				if c.want.Denied > 0 {
					end.Complete = false // some agents end their turn after a denial, some continue
				}
				if diff := cmp.Diff(c.want, end); diff != "" {
					text, _ := json.MarshalIndent(got, "", "  ")
					t.Errorf("-want +got:\n%s\n%s", diff, text)
				}
				if got.Session == "" || got.Survivors > 0 && got.End == ralph.EndOK {
					t.Errorf("session %q, survivors %v", got.Session, got.SurvivorNames)
				}
			})
		}
	}
}

// acpRun is one run of an agent against one scenario of the scripted model.
type acpRun struct {
	agent             int
	program, scenario string
	dir               string
	permissions       agent.Permissions
	asked             func() // called when the model gets a request
}

func runACP(ctx context.Context, t *testing.T, r acpRun) ralph.AgentOutcome {
	t.Helper()
	model, err := scriptedmodel.Listen("127.0.0.1:0",
		scriptedmodel.New(scriptedmodel.Standard(), scriptedmodel.Observe(func(scriptedmodel.Request) { r.asked() })))
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	url, a := model.URL()+"/"+r.scenario, acpAgents[r.agent]
	home := t.TempDir()
	for name, text := range a.home(url) {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dialect, _ := agent.Find("acp")
	cli := agent.New(agent.Options{
		Dialect: dialect, CommandLine: process.Words([]string{r.program, a.flags}), Permissions: r.permissions,
		Env: append(a.env(url), "HOME="+home, "PATH="+os.Getenv("PATH"), "TERM=dumb"),
	})
	got, err := cli.Run(ctx,
		ralph.AgentInput{Prompt: "Do the work, then say so.", Dir: r.dir, Folder: t.TempDir(), Live: func(a ralph.Activity) {
			t.Log(strings.TrimSpace(a.Kind + " " + a.Name + " " + a.Detail))
		}})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

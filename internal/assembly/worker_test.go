package assembly

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/models"
	"github.com/ralphloop/ralph/internal/workspace"
)

func TestKeysThatARunNeeds(t *testing.T) {
	choice := func(of models.Role, environ ...string) *models.Choice {
		settings := config.Settings{Evaluator: config.EvaluatorSettings{Agent: "worker"}}
		settings.Worker.Provider = "openai"
		chosen, err := models.Choose(models.Request{Settings: settings, Env: config.NewEnv(environ)}, of)
		if err != nil {
			t.Fatal(err)
		}
		return &chosen
	}
	lacks := func(of models.Role) *models.Choice { return choice(of) }
	has := choice(models.Worker, "OPENAI_API_KEY=k")
	for name, c := range map[string]struct {
		agents    []chosenAgent
		evaluator *chosenAgent
		want      error
	}{
		"a CLI": {agents: []chosenAgent{{name: "claude"}}},
		"a key": {agents: []chosenAgent{{by: has}}},
		"no key": {
			agents: []chosenAgent{{by: lacks(models.Worker)}}, want: &NoKey{"OPENAI_API_KEY", "worker"},
		},
		"somebody else can go on": {agents: []chosenAgent{{by: lacks(models.Worker)}, {name: "claude"}}},
		"no key for the evaluator": {
			agents: []chosenAgent{{by: has}}, evaluator: &chosenAgent{by: lacks(models.Evaluator)},
			want: &NoKey{"OPENAI_API_KEY", "evaluator"},
		},
		"an evaluator that is a CLI": {agents: []chosenAgent{{by: has}}, evaluator: &chosenAgent{name: "codex"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, (&Plan{agents: c.agents, evaluator: c.evaluator}).MissingKey()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestScriptsAreNamedWhole(t *testing.T) {
	dir := t.TempDir()
	elsewhere := filepath.Join(t.TempDir(), "c.json")
	p := &Plan{Request: Request{Workspace: workspace.Workspace{Dir: dir}, Settings: config.Settings{
		Worker:    config.WorkerSettings{RoleSettings: config.RoleSettings{Provider: "scripted", BaseURL: "../a.json"}},
		Evaluator: config.EvaluatorSettings{RoleSettings: config.RoleSettings{Provider: "openai", BaseURL: "http://host/v1"}},
		Planner:   config.RoleSettings{Provider: "scripted", BaseURL: elsewhere},
	}}}
	p.absoluteScripts()
	got := []string{p.Settings.Worker.BaseURL, p.Settings.Evaluator.BaseURL, p.Settings.Planner.BaseURL}
	if diff := cmp.Diff([]string{filepath.Join(filepath.Dir(dir), "a.json"), "http://host/v1", elsewhere},
		got); diff != "" {
		t.Error(diff)
	}
}

func TestGroupsOfDigits(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1,000", 128_000: "128,000", 1_000_000: "1,000,000", 1_050_000: "1,050,000",
		33_600_001: "33,600,001",
	} {
		if got := groupDigits(n); got != want {
			t.Errorf("%d is %s", n, got)
		}
	}
}

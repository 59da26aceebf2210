package assembly

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/model"
)

// reach is what is decided about a model, without what is only remembered.
type reach struct{ Provider, Model, URL, KeyEnv, Key string }

func TestWhichModelPlaysWhichPart(t *testing.T) {
	role := func(provider, name, url, key string) config.RoleSettings {
		return config.RoleSettings{Provider: provider, Model: name, BaseURL: url, APIKeyEnv: key}
	}
	both := []string{"ANTHROPIC_API_KEY=a-key", "OPENAI_API_KEY=o-key", "MINE=my-key"}
	for _, c := range []struct {
		name     string
		part     part
		settings config.Settings
		env      []string
		want     reach
		problem  bool
	}{
		{name: "by the key that is set", part: workerPart, env: both, want: reach{"anthropic", "claude-sonnet-5-5", "", "ANTHROPIC_API_KEY", "a-key"}},
		{name: "by the other", part: workerPart, env: both[1:], want: reach{"openai", "gpt-6.1-sol", "", "OPENAI_API_KEY", "o-key"}},
		{name: "no key at all", part: workerPart, problem: true},
		{name: "named, without a key", part: workerPart, settings: config.Settings{Worker: config.WorkerSettings{RoleSettings: role("openai", "", "", "")}},
			want: reach{"openai", "gpt-6.1-sol", "", "OPENAI_API_KEY", ""}},
		{name: "a server of one's own needs no key", part: workerPart, settings: config.Settings{Worker: config.WorkerSettings{RoleSettings: role("", "qwen3", "http://localhost:11434/v1", "")}},
			want: reach{"openai", "qwen3", "http://localhost:11434/v1", "", ""}},
		{name: "nor does it get one that nobody meant for it", part: workerPart, env: both, settings: config.Settings{Worker: config.WorkerSettings{RoleSettings: role("", "qwen3", "http://localhost:1/v1", "")}},
			want: reach{"openai", "qwen3", "http://localhost:1/v1", "", ""}},
		{name: "unless it is that provider's", part: workerPart, env: both, settings: config.Settings{Worker: config.WorkerSettings{RoleSettings: role("anthropic", "m", "http://gateway/v1", "")}},
			want: reach{"anthropic", "m", "http://gateway/v1", "ANTHROPIC_API_KEY", "a-key"}},
		{name: "a server without a model", part: workerPart, env: both, settings: config.Settings{Worker: config.WorkerSettings{RoleSettings: role("", "", "http://localhost:1/v1", "")}}, problem: true},
		{name: "--model", part: workerPart, env: both, settings: config.Settings{Agent: config.AgentSettings{Name: "worker", Model: "claude-opus-5-5"}},
			want: reach{"anthropic", "claude-opus-5-5", "", "ANTHROPIC_API_KEY", "a-key"}},
		{name: "--model of another agent", part: workerPart, env: both, settings: config.Settings{Agent: config.AgentSettings{Name: "codex", Model: "gpt-5"}},
			want: reach{"anthropic", "claude-sonnet-5-5", "", "ANTHROPIC_API_KEY", "a-key"}},
		{name: "the evaluator is as the worker", part: evaluatorPart, env: both, settings: config.Settings{
			Worker: config.WorkerSettings{RoleSettings: role("openai", "m", "http://here/v1", "MINE")}, Evaluator: config.EvaluatorSettings{Agent: "worker"}},
			want: reach{"openai", "m", "http://here/v1", "MINE", "my-key"}},
		{name: "with a model of its own", part: evaluatorPart, env: both, settings: config.Settings{
			Worker: config.WorkerSettings{RoleSettings: role("openai", "m", "http://here/v1", "MINE")}, Evaluator: config.EvaluatorSettings{Agent: "other"}},
			want: reach{"openai", "other", "http://here/v1", "MINE", "my-key"}},
		{name: "worker:MODEL", part: evaluatorPart, env: both, settings: config.Settings{Evaluator: config.EvaluatorSettings{Agent: "worker:claude-opus-5"}},
			want: reach{"anthropic", "claude-opus-5", "", "ANTHROPIC_API_KEY", "a-key"}},
		{name: "the key does not go elsewhere", part: evaluatorPart, env: both, settings: config.Settings{
			Worker: config.WorkerSettings{RoleSettings: role("openai", "m", "", "MINE")}, Evaluator: config.EvaluatorSettings{Agent: "worker", RoleSettings: role("", "x", "http://elsewhere/v1", "")}},
			want: reach{"openai", "x", "http://elsewhere/v1", "", ""}},
		{name: "the planner", part: plannerPart, env: both, settings: config.Settings{Planner: role("openai", "p", "", "")}, want: reach{"openai", "p", "", "OPENAI_API_KEY", "o-key"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &Plan{Request: Request{Settings: c.settings, Env: config.NewEnv(c.env)}}
			got, err := p.chooseModel(c.part)
			if _, usage := errors.AsType[*config.UsageError](err); usage != c.problem || err != nil && !usage {
				t.Fatalf("it says %v", err)
			}
			if diff := cmp.Diff(c.want, reach{got.provider, got.model, got.baseURL, got.keyEnv, got.key}); diff != "" && !c.problem {
				t.Error(diff)
			}
		})
	}
}

func TestAModelThatCannotBeAsked(t *testing.T) {
	c := chosenModel{provider: "anthropic", keyEnv: "ANTHROPIC_API_KEY"}
	client, err := c.client()
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Send(t.Context(), model.Request{}, nil)
	if fault, ok := errors.AsType[*model.Fault](err); !ok || fault.Kind != model.FaultAuth || fault.Message != "ANTHROPIC_API_KEY is not set" {
		t.Errorf("it says %v", err)
	}
}

func TestScriptsOfAModel(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "turns.json")
	if err := os.WriteFile(file, []byte(`{"worker": [[{"text": "one"}], [{"text": "two"}]]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	settings := config.Settings{Worker: config.WorkerSettings{RoleSettings: config.RoleSettings{Provider: "scripted", BaseURL: "turns.json"}}}
	for begun, want := range map[int]string{0: "one", 1: "two", 5: "two"} {
		p := &Plan{Request: Request{Settings: settings, Workspace: workspace.Workspace{Dir: dir}, Begun: map[string]int{"worker": begun}}}
		got, err := p.chooseModel(workerPart)
		if err != nil {
			t.Fatal(err)
		}
		client, err := got.client()
		if err != nil {
			t.Fatal(err)
		}
		reply, err := client.Send(t.Context(), model.Request{Messages: []model.Message{{Role: model.User, Text: "go"}}}, nil)
		if err != nil || reply.Message.Text != want {
			t.Errorf("after %d conversations it says %q, %v", begun, reply.Message.Text, err)
		}
	}
	p := &Plan{Request: Request{Settings: settings, Workspace: workspace.Workspace{Dir: dir}}}
	if _, err := p.chooseModel(evaluatorPart); err == nil {
		t.Error("a script without an evaluator has one")
	}
}

func TestPricesOfTheUser(t *testing.T) {
	of := prices(config.Settings{Prices: []string{"claude-sonnet-5-5=1/2", "mine=3/4"}})
	own, ok := of("Claude-Sonnet-5-5")
	if !ok || own.Input != 1 || own.Context != 1_000_000 {
		t.Errorf("a price in place of the table's is %+v", own)
	}
	if own, ok := of("mine"); !ok || own.Output != 4 || own.Context != 0 {
		t.Errorf("a price that the table does not have is %+v", own)
	}
	if _, ok := of("nobody's"); ok {
		t.Error("somebody else has a price")
	}
	if !isPriced(config.Settings{Prices: []string{"mine=3/4/1/1"}}, "mine") || isPriced(config.Settings{}, "mine") {
		t.Error("what has a price is not known")
	}
}

func TestAddressesThatCannotBe(t *testing.T) {
	role := func(provider, url string) config.RoleSettings {
		return config.RoleSettings{Provider: provider, Model: "m", BaseURL: url}
	}
	bad := role("openai", "me:secret@host")
	for _, c := range []struct {
		name     string
		part     part
		settings config.Settings
		resumed  bool
		want     string
	}{
		{"the worker's", workerPart, config.Settings{Worker: config.WorkerSettings{RoleSettings: role("", "foo")}}, false, "worker.base_url foo: the base URL has to be like https://host/v1"},
		{"the planner's own", plannerPart, config.Settings{Planner: role("anthropic", "ftp://x")}, false, "planner.base_url ftp://x: the base URL has to be like https://host/v1"},
		{"the evaluator's is the worker's", evaluatorPart, config.Settings{Worker: config.WorkerSettings{RoleSettings: role("", "foo")}, Evaluator: config.EvaluatorSettings{Agent: "worker"}}, false,
			"worker.base_url foo: the base URL has to be like https://host/v1"},
		{"of a run that goes on", workerPart, config.Settings{Worker: config.WorkerSettings{RoleSettings: bad}}, true,
			"worker.base_url …: the base URL has to be like https://host/v1; a run keeps its settings, so that takes a new one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := (&Plan{Request: Request{Settings: c.settings, Resumed: c.resumed}}).chooseModel(c.part)
			if _, usage := errors.AsType[*config.UsageError](err); !usage || err.Error() != c.want {
				t.Errorf("it says %v", err)
			}
		})
	}
}

func TestKeysThatARunNeeds(t *testing.T) {
	lacks := func(of part) *chosenModel {
		return &chosenModel{part: of, provider: "openai", keyEnv: "OPENAI_API_KEY"}
	}
	has := &chosenModel{part: workerPart, provider: "openai", keyEnv: "OPENAI_API_KEY", key: "k"}
	for name, c := range map[string]struct {
		agents    []chosenAgent
		evaluator *chosenAgent
		want      error
	}{
		"a CLI":                      {agents: []chosenAgent{{name: "claude"}}},
		"a key":                      {agents: []chosenAgent{{by: has}}},
		"no key":                     {agents: []chosenAgent{{by: lacks(workerPart)}}, want: &NoKey{"OPENAI_API_KEY", "worker"}},
		"somebody else can go on":    {agents: []chosenAgent{{by: lacks(workerPart)}, {name: "claude"}}},
		"no key for the evaluator":   {agents: []chosenAgent{{by: has}}, evaluator: &chosenAgent{by: lacks(evaluatorPart)}, want: &NoKey{"OPENAI_API_KEY", "evaluator"}},
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
	p.nameScripts()
	got := []string{p.Settings.Worker.BaseURL, p.Settings.Evaluator.BaseURL, p.Settings.Planner.BaseURL}
	if diff := cmp.Diff([]string{filepath.Join(filepath.Dir(dir), "a.json"), "http://host/v1", elsewhere}, got); diff != "" {
		t.Error(diff)
	}
}

func TestGroupsOfDigits(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 128_000: "128,000", 1_000_000: "1,000,000", 1_050_000: "1,050,000", 33_600_001: "33,600,001"} {
		if got := grouped(n); got != want {
			t.Errorf("%d is %s", n, got)
		}
	}
}

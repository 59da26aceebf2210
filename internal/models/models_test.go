package models

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/config"
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
		part     Role
		settings config.Settings
		env      []string
		want     reach
		problem  bool
	}{
		{name: "by the key that is set", part: Worker, env: both,
			want: reach{"anthropic", "claude-sonnet-5-5", "", "ANTHROPIC_API_KEY", "a-key"}},
		{name: "by the other", part: Worker, env: both[1:],
			want: reach{"openai", "gpt-6.1-sol", "", "OPENAI_API_KEY", "o-key"}},
		{name: "no key at all", part: Worker, problem: true},
		{name: "named, without a key", part: Worker,
			settings: config.Settings{Worker: config.WorkerSettings{RoleSettings: role("openai", "", "", "")}},
			want:     reach{"openai", "gpt-6.1-sol", "", "OPENAI_API_KEY", ""}},
		{name: "a server of one's own needs no key", part: Worker,
			settings: config.Settings{Worker: config.WorkerSettings{RoleSettings: role("", "qwen3",
				"http://localhost:11434/v1", "")}},
			want: reach{"openai", "qwen3", "http://localhost:11434/v1", "", ""}},
		{name: "nor does it get one that nobody meant for it", part: Worker, env: both,
			settings: config.Settings{Worker: config.WorkerSettings{RoleSettings: role("", "qwen3", "http://localhost:1/v1",
				"")}},
			want: reach{"openai", "qwen3", "http://localhost:1/v1", "", ""}},
		{name: "unless it is that provider's", part: Worker, env: both,
			settings: config.Settings{Worker: config.WorkerSettings{RoleSettings: role("anthropic", "m", "http://gateway/v1",
				"")}},
			want: reach{"anthropic", "m", "http://gateway/v1", "ANTHROPIC_API_KEY", "a-key"}},
		{name: "a server without a model", part: Worker, env: both,
			settings: config.Settings{Worker: config.WorkerSettings{RoleSettings: role("", "", "http://localhost:1/v1",
				"")}}, problem: true},
		{name: "--model", part: Worker, env: both,
			settings: config.Settings{Agent: config.AgentSettings{Name: "worker", Model: "claude-opus-5-5"}},
			want:     reach{"anthropic", "claude-opus-5-5", "", "ANTHROPIC_API_KEY", "a-key"}},
		{name: "--model of another agent", part: Worker, env: both,
			settings: config.Settings{Agent: config.AgentSettings{Name: "codex", Model: "gpt-5"}},
			want:     reach{"anthropic", "claude-sonnet-5-5", "", "ANTHROPIC_API_KEY", "a-key"}},
		{name: "the evaluator is as the worker", part: Evaluator, env: both, settings: config.Settings{
			Worker: config.WorkerSettings{RoleSettings: role("openai", "m", "http://here/v1",
				"MINE")}, Evaluator: config.EvaluatorSettings{Agent: "worker"}},
			want: reach{"openai", "m", "http://here/v1", "MINE", "my-key"}},
		{name: "with a model of its own", part: Evaluator, env: both, settings: config.Settings{
			Worker: config.WorkerSettings{RoleSettings: role("openai", "m", "http://here/v1",
				"MINE")}, Evaluator: config.EvaluatorSettings{Agent: "other"}},
			want: reach{"openai", "other", "http://here/v1", "MINE", "my-key"}},
		{name: "worker:MODEL", part: Evaluator, env: both,
			settings: config.Settings{Evaluator: config.EvaluatorSettings{Agent: "worker:claude-opus-5"}},
			want:     reach{"anthropic", "claude-opus-5", "", "ANTHROPIC_API_KEY", "a-key"}},
		{name: "the key does not go elsewhere", part: Evaluator, env: both, settings: config.Settings{
			Worker: config.WorkerSettings{RoleSettings: role("openai", "m", "", "MINE")},
			Evaluator: config.EvaluatorSettings{
				Agent: "worker", RoleSettings: role("", "x", "http://elsewhere/v1", ""),
			}},
			want: reach{"openai", "x", "http://elsewhere/v1", "", ""}},
		{name: "the planner", part: Planner, env: both, settings: config.Settings{Planner: role("openai", "p", "", "")},
			want: reach{"openai", "p", "", "OPENAI_API_KEY", "o-key"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Choose(Request{Settings: c.settings, Env: config.NewEnv(c.env)}, c.part)
			if _, usage := errors.AsType[*config.UsageError](err); usage != c.problem || err != nil && !usage {
				t.Fatalf("it says %v", err)
			}
			if diff := cmp.Diff(c.want, reach{got.Provider, got.Model, got.baseURL, got.KeyEnv, got.key}); diff != "" &&
				!c.problem {
				t.Error(diff)
			}
		})
	}
}

func TestAModelThatCannotBeAsked(t *testing.T) {
	c := Choice{Provider: "anthropic", KeyEnv: "ANTHROPIC_API_KEY"}
	client, err := c.Client()
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Send(t.Context(), model.Request{}, nil)
	if fault, ok := errors.AsType[*model.Fault](err); !ok || fault.Kind != model.FaultAuth ||
		fault.Message != "ANTHROPIC_API_KEY is not set" {
		t.Errorf("it says %v", err)
	}
}

func TestScriptsOfAModel(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "turns.json")
	if err := os.WriteFile(file, []byte(`{"worker": [[{"text": "one"}], [{"text": "two"}]]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	settings := config.Settings{
		Worker: config.WorkerSettings{RoleSettings: config.RoleSettings{Provider: "scripted", BaseURL: "turns.json"}},
	}
	for begun, want := range map[int]string{0: "one", 1: "two", 5: "two"} {
		got, err := Choose(Request{Settings: settings, Dir: dir, Begun: map[string]int{"worker": begun}}, Worker)
		if err != nil {
			t.Fatal(err)
		}
		client, err := got.Client()
		if err != nil {
			t.Fatal(err)
		}
		reply, err := client.Send(t.Context(), model.Request{Messages: []model.Message{{Role: model.User, Text: "go"}}}, nil)
		if err != nil || reply.Message.Text != want {
			t.Errorf("after %d conversations it says %q, %v", begun, reply.Message.Text, err)
		}
	}
	if _, err := Choose(Request{Settings: settings, Dir: dir}, Evaluator); err == nil {
		t.Error("a script without an evaluator has one")
	}
}

func TestPricesOfTheUser(t *testing.T) {
	of := Prices(config.Settings{Prices: []string{"claude-sonnet-5-5=1/2", "mine=3/4"}})
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
	if !IsPriced(config.Settings{Prices: []string{"mine=3/4/1/1"}}, "mine") || IsPriced(config.Settings{}, "mine") {
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
		part     Role
		settings config.Settings
		resumed  bool
		want     string
	}{
		{"the worker's", Worker, config.Settings{Worker: config.WorkerSettings{RoleSettings: role("", "foo")}}, false,
			"worker.base_url foo: the base URL must look like https://host/v1"},
		{"the planner's own", Planner, config.Settings{Planner: role("anthropic", "ftp://x")}, false,
			"planner.base_url ftp://x: the base URL must look like https://host/v1"},
		{"the evaluator's is the worker's", Evaluator,
			config.Settings{Worker: config.WorkerSettings{RoleSettings: role("", "foo")},
				Evaluator: config.EvaluatorSettings{Agent: "worker"}}, false,
			"worker.base_url foo: the base URL must look like https://host/v1"},
		{"of a run that goes on", Worker, config.Settings{Worker: config.WorkerSettings{RoleSettings: bad}}, true,
			"worker.base_url …: the base URL must look like https://host/v1; a run keeps its settings; start a new run to " +
				"change them"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Choose(Request{Settings: c.settings, Resumed: c.resumed}, c.part)
			if _, usage := errors.AsType[*config.UsageError](err); !usage || err.Error() != c.want {
				t.Errorf("it says %v", err)
			}
		})
	}
}

package config

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVariablesOfTheSeedInProfileCase(t *testing.T) {
	environ := []string{
		"TILTH_MAX_ITERATIONS_PER_TASK=12", "TILTH_MAX_WALL_CLOCK_MINUTES=45", "TILTH_MAX_TOKENS= ",
		"MAX_EVALUATOR_CALLS_PER_TASK=4", "TILTH_MAX_TOKEN_DOLLAR_SPEND=2.5",
		"RALPH_MAX_TIME=10m",
	}
	loaded := mustLoad(t, Input{Env: NewEnv(environ), Set: []string{"profile=case"}})
	got := map[string]string{}
	for _, name := range []string{
		"worker.max_turns_per_task", "max_time", "max_tokens", "max_cost", "evaluator.max_calls_per_task", "agent.name",
		"commit",
	} {
		got[name] = rows(loaded)[name]
	}
	want := map[string]string{
		"worker.max_turns_per_task": "12 <- environment TILTH_MAX_ITERATIONS_PER_TASK",
		"max_time":                  "10m <- environment RALPH_MAX_TIME",
		"max_tokens":                "2000000 <- profile case", "max_cost": "2.5 <- environment TILTH_MAX_TOKEN_DOLLAR_SPEND",
		"evaluator.max_calls_per_task": "4 <- environment MAX_EVALUATOR_CALLS_PER_TASK",
		"agent.name":                   "worker <- profile case", "commit": "task <- profile case",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if plain := rows(mustLoad(t, Input{Env: NewEnv(environ[:5])}))["max_time"]; plain != "0 <- default" {
		t.Errorf("in another profile max_time is %s", plain)
	}
	_, err := Load(Input{Env: NewEnv([]string{"MAX_EVALUATOR_CALLS_PER_TASK=many"}), Set: []string{"profile=case"}})
	if _, is := errors.AsType[*UsageError](err); !is {
		t.Errorf("garbage is %v", err)
	}
}

func TestParsePrice(t *testing.T) {
	for text, ok := range map[string]bool{
		"m=1/2": true, "maker/m:free=0/0": true, "m = 1 / 2 / 0.1": true, "m=1/2/3/4": true,
		"": false, "m": false, "=1/2": false, "m=1": false, "m=1/2/3/4/5": false, "m=a/b": false, "m=1/NaN": false,
		"m=-1/2": false, "m=1/Inf": false,
	} {
		if _, _, got := ParsePrice(text); got != ok {
			t.Errorf("ParsePrice(%q) is %v", text, got)
		}
	}
	name, price, _ := ParsePrice("m=1/2/0.5")
	if name != "m" || price.Input != 1 || price.Output != 2 || *price.CacheRead != 0.5 || *price.CacheWrite != 1 {
		t.Errorf("%s is %+v", name, price)
	}
}

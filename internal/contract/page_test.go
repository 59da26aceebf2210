package contract

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sample = "# Sample\n" +
	"Global: `-C DIR`, `--set key=value`, `--jq EXPR`. Not `--here`.\n\n" +
	"| code | name | stop_reason | status |\n| --- | --- | --- | --- |\n" +
	"| 0 | COMPLETE | `tasks_done` or `unverified` with `--allow` | `completed` |\n" +
	"| 64 | USAGE | bad input | - |\n| 129, 130 | INTERRUPTED | `interrupted` by INT | `interrupted` |\n\n" +
	"A run that has not ended is `active` or `waiting`. Else `over`.\n" +
	"| command | what it does |\n| --- | --- |\n" +
	"| `ralph run [GOAL]` | `--goal -` |\n| `ralph login [A]` (`ralph run --login` too) | |\n| `ralph config show`, " +
	"`ralph schema a\\|b` | |\n\n" +
	"| flag of `run` | default |\n| --- | --- |\n| `-n, --max-turns N`, `--tree[=X]` | with `--also` |\n\n" +
	"| gate | refusal | shut when |\n| --- | --- | --- |\n| checks pass | `failed`, `broken:<why>` | `gate.min: 2` |\n\n" +
	"| key | default | meaning |\n| --- | --- | --- |\n| `delay` | 0 | |\n| `worker.a`, `worker.b` | | `planner.*` " +
	"have the same |\n\n" +
	"Event: `{\"v\":1,\"data\":{}}` plus. Types: `one, two` (summary), `three,\nfour`. And `five`.\n" +
	"```\n| code | in a block |\n{\"a\":1}\n```\n" +
	"| profile | x |\n| --- | --- |\n| `z` | |\n| `b` | |\n" +
	"\n| tag `<promise>TYPE:content</promise>` | meaning |\n| --- | --- |\n| `<promise>X</promise>` (`T:X`) | |"

func TestEverythingIsFoundOnAPage(t *testing.T) {
	page := Parse(sample)
	exits, err := page.Exits()
	if err != nil {
		t.Fatal(err)
	}
	type found struct {
		Exits                                                                           []Exit
		Gates                                                                           []Gate
		Live, Events, Fields, Commands, RunFlags, GlobalFlags, Keys, Profiles, TagsSeen []string
		Block                                                                           string
	}
	want := found{
		Exits: []Exit{
			{0, "COMPLETE", []string{"tasks_done", "unverified"}, "completed"},
			{64, "USAGE", nil, ""},
			{129, "INTERRUPTED", []string{"interrupted"}, "interrupted"},
			{130, "INTERRUPTED", []string{"interrupted"}, "interrupted"},
		},
		Gates:       []Gate{{"checks pass", []string{"failed", "broken"}}},
		Live:        []string{"active", "waiting"},
		Events:      []string{"one", "two", "three", "four"},
		Fields:      []string{"v", "data"},
		Commands:    []string{"config show", "login", "run", "schema"},
		RunFlags:    []string{"also", "goal", "login", "max-turns", "tree"},
		GlobalFlags: []string{"jq", "set"},
		Keys:        []string{"delay", "gate.min", "planner.a", "planner.b", "worker.a", "worker.b"},
		Profiles:    []string{"b", "z"},
		TagsSeen:    []string{"<promise>X</promise>"},
		Block:       "| code | in a block |\n{\"a\":1}",
	}
	got := found{
		exits, page.Gates(), page.LiveStates(), page.EventTypes(), page.EventFields(), page.Commands(), page.RunFlags(),
		page.GlobalFlags(),
		page.Keys(), page.Profiles(), page.Tags(), page.Block(`{"a"`),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
}

func TestAPageWithoutTablesHoldsNothing(t *testing.T) {
	page := Parse("words\n```\nnever closed")
	exits, err := page.Exits()
	if err != nil || exits != nil || page.Commands() != nil || page.Keys() != nil || page.Block("never") != "" {
		t.Errorf("found something in nothing: %v, %v, %v, %v", exits, err, page.Commands(), page.Keys())
	}
}

func TestACodeThatIsNoNumberIsAnError(t *testing.T) {
	if _, err := Parse("| code |\n| - |\n| x | N | | |\n").Exits(); err == nil {
		t.Error("no error")
	}
}

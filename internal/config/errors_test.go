package config

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file of testdata. The path is resolved before a test changes its
// folder.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", filepath.Base(path), diff)
	}
}

// badFiles are config files that must be refused.
var badFiles = []string{
	"max_iteration: 3",
	"colour: red",
	"checks:\n  timout: 5m",
	"agent:\n  colour: red",
	"model: opus",
	"timeout: 5",
	"checks.timeout: 5m",
	"ralph_loop: {max_itertions: 3}",
	"ralph_loop: {checks: [make]}",
	"ralph_loop: 5",
	"ralph_loop: [5]",
	"max_iterations: 3\nmax_cost: 1\nmax_iterations: 4",
	"checks:\n  timeout: 1\n  timeout: 2",
	"max_iterations: 3\nralph_loop:\n  max_iterations: 4",
	"max_iterations: [1, 2]",
	"max_iterations: {a: 1}",
	"max_iterations: ten",
	"max_iterations: -1",
	"max_iterations: 1.5",
	"max_iterations: 0x10",
	"max_iterations: 1e9",
	"max_iterations: 1000000001",
	"max_iterations: 99999999999999999999",
	"max_iterations: ''",
	"max_iterations: true",
	"max_cost: .nan",
	"max_cost: .inf",
	"max_cost: -5",
	"max_cost: 1e400",
	"max_cost: 1,5",
	"max_cost: five",
	"max_cost: '.'",
	"max_time: soon",
	"max_time: -5m",
	"max_time: -5",
	"max_time: 1e400",
	"max_time: 9999999999h",
	"max_time: 9999999999",
	"max_time: 900000h",
	"max_time: 5 minutes",
	"max_time: 5d",
	"max_time: 1ns",
	"max_time: 0.0001",
	"max_time: ''",
	"max_time: [5m]",
	"allow_unverified: perhaps",
	"gate: {status: requierd}",
	"gate: {status: false}",
	"breaker: {output_decline: 101}",
	"worker: {max_turns_per_task: 0}",
	"worker: {max_turns_per_task: -1}",
	"completion_tag: ''",
	"completion_tag: '  '",
	"completion_tag: []",
	"completion_tag: [DONE, '']",
	"completion_tag: [DONE, null]",
	"completion_tag: blocked",
	"completion_tag: 'A:B'",
	"completion_tag: \"A\\nB\"",
	"completion_tag: <promise>DONE</promise>",
	"completion_tag: [[DONE]]",
	"completion_tag: [{a: b}]",
	"checks: ['']",
	"checks: [\"a\\0b\"]",
	"notify: \"a\\0b\"",
	"agent: {env: [KEY=value]}",
	"agent: {env: [A-B]}",
	"agent: {env: ['*_KEY']}",
	"agent: {env: [9LIVES]}",
	"agent: clod",
	"agent: wroker",
	"agent: command",
	"agent: acp",
	"agent: {fallback: clod}",
	"agent: {fallback: [codex, 'claude:']}",
	"agent: {fallback: 'opencode:--auto'}",
	"agent: {model: --share}",
	"agent: {name: claude, command: cat}",
	"profile: statsu",
	"prices: [cheap]",
	"prices: ['m=1/-2']",
	"profile: ''",
	"sandbox: gvisor",
	"on_decide: maybe",
	"worktree: a b",
	"worktree: ../a",
	"tasks: {on_failure: retry:0}",
	"commit: always",
	"worker: antropic",
	"trust: true",
	"exit_map: " + strings.Repeat("soft", 100),
	"- a\n- b",
	"just text",
	"max_cost: 1\n\tmax_time: 2",
	"checks:\n\t- a",
	"checks: [a",
	"checks: 'a",
	"a: b: c",
	"max_cost: 1\n---\nmax_cost: 2",
	"checks: *none",
	"checks: &a [*a]",
	"max_cost: &a *a",
	"base: &b {max_cost: 1}\n<<: *b",
	"<<: {max_cost: 1}",
	"max_cost: !mine 5",
	"[a]: b",
	"? [a]\n: b",
	"&a a: 1",
	"max_cost: 1\nmax_time: \xff",
	"max_cost: 1\x00",
	"\xff\xfem\x00a\x00x\x00",
	strings.Repeat("[", maxTokens+1),
	"checks: " + strings.Repeat("[", 5000),
	strings.Repeat("- ", 5000) + "a",
	strings.Repeat("{a: ", 3000),
}

func TestErrorsInFiles(t *testing.T) {
	path, err := filepath.Abs("testdata/errors_files.golden")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	var got strings.Builder
	for _, text := range badFiles {
		_, err := Load(Input{ProjectFile: write(t, "config.yaml", text)})
		record(t, &got, quote(text), err)
	}
	golden(t, path, got.String())
}

// record writes one case and its message, which must be of the right type and on one line.
func record(t *testing.T, out *strings.Builder, name string, err error) {
	t.Helper()
	var usage *UsageError
	if !errors.As(err, &usage) {
		t.Errorf("%s: %v is no usage error", name, err)
		return
	}
	if strings.Contains(err.Error(), "\n") || len(err.Error()) > 400 {
		t.Errorf("%s: the message is not one short line: %q", name, err)
	}
	fmt.Fprintf(out, "%s\n    %s\n", name, err)
}

func TestErrorsElsewhere(t *testing.T) {
	flags := func(name string, values ...string) Input { return Input{Flags: map[string][]string{name: values}} }
	env := func(entry string) Input { return Input{Env: NewEnv([]string{entry})} }
	set := func(pair string) Input { return Input{Set: []string{pair}} }
	cases := []struct {
		name string
		in   Input
	}{
		{"--max-iterations ten", flags("max-iterations", "ten")},
		{"--max-iterations -1", flags("max-iterations", "-1")},
		{"--max-iterations ''", flags("max-iterations", "")},
		{"--max-cost NaN", flags("max-cost", "NaN")},
		{"--max-cost Inf", flags("max-cost", "Inf")},
		{"--max-cost 0x1p4", flags("max-cost", "0x1p4")},
		{"--max-time 5x", flags("max-time", "5x")},
		{"--max-tokens 1000000000001", flags("max-tokens", "1000000000001")},
		{"--agent-cmd ''", flags("agent-cmd", "")},
		{"--check '' ", flags("check", "make", " ")},
		{"--completion-tag ''", flags("completion-tag", "")},
		{"--agent wroker", flags("agent", "wroker")},
		{"--agent cluade", flags("agent", "cluade")},
		{"--worktree=-x", flags("worktree", "-x")},
		{"--evaluator cluade", flags("evaluator", "cluade")},
		{"--on-limit never", flags("on-limit", "never")},
		{"--max-itertions 5", flags("max-itertions", "5")},
		{"--colour red", flags("colour", "red")},
		{"--once --max-iterations 5", Input{Flags: map[string][]string{"once": {"true"}, "max-iterations": {"5"}}}},
		{"--once=perhaps", flags("once", "perhaps")},
		{"--agent claude --agent-cmd cat", Input{Flags: map[string][]string{"agent": {"claude"}, "agent-cmd": {"cat"}}}},
		{"RALPH_MAX_ITERATIONS=ten", env("RALPH_MAX_ITERATIONS=ten")},
		{"RALPH_CHECKS__TIMEOUT=-1", env("RALPH_CHECKS__TIMEOUT=-1")},
		{"RALPH_COMPLETION_TAG=blank", env("RALPH_COMPLETION_TAG= \n ")},
		{"RALPH_TRUST=perhaps", env("RALPH_TRUST=perhaps")},
		{"--set max_iterations", set("max_iterations")},
		{"--set max_iterations=", set("max_iterations=")},
		{"--set max_iteratins=5", set("max_iteratins=5")},
		{"--set checks.timeout=ten", set("checks.timeout=ten")},
		{"--set =5", set("=5")},
		{"--set gate.status=", set("gate.status=")},
		{"-c none.yaml", Input{ConfigFile: "none.yaml"}},
		{"-c folder", Input{ConfigFile: "folder"}},
		{"user file is a folder", Input{UserFile: "folder"}},
		{"project file too large", Input{ProjectFile: "large.yaml"}},
	}
	path, err := filepath.Abs("testdata/errors_elsewhere.golden")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Mkdir("folder", 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, "large.yaml", strings.Repeat("#", maxFileBytes+1))
	var got strings.Builder
	for _, c := range cases {
		_, err := Load(c.in)
		record(t, &got, c.name, err)
	}
	golden(t, path, got.String())
}

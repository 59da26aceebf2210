package worker_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/evaluate"
	"github.com/ralphloop/ralph/loop"
	"github.com/ralphloop/ralph/model/scripted"
	"github.com/ralphloop/ralph/worker"
)

// script has a worker whose first case fails the check, whose second is rejected, and whose third
// is accepted; and its reviewer.
const script = `{
  "worker": [[
    {"calls": [{"name": "write_file", "input": {"path": "greeting.txt", "content": "Hello"}}], "usage": {"input": ` +
	`1000, "output": 100}},
    {"calls": [{"name": "submit_case", "input": {"summary": "greets", "ac_coverage": [{"criterion": "greets the ` +
	`world", "addressed_by": "greeting.txt:1"}]}}], "usage": {"input": 1000, "output": 100}},
    {"calls": [{"name": "edit_file", "input": {"path": "greeting.txt", "old": "Hello", "new": "Hello world"}},
               {"name": "submit_case", "input": {"summary": "greets the world", "ac_coverage": [{"criterion": ` +
	`"greets the world", "addressed_by": "greeting.txt:1"}]}}], "usage": {"input": 1000, "output": 100}},
    {"calls": [{"name": "bash", "input": {"command": "printf '!\\n' >> greeting.txt"}},
               {"name": "submit_case", "input": {"summary": "greets the world loudly", "ac_coverage": ` +
	`[{"criterion": "greets the world", "addressed_by": "greeting.txt:1"}]}}], "usage": {"input": 1000, "output": 100}},
    {"text": "{\"propose\": true, \"learning\": \"greetings end with an exclamation mark\"}", "usage": {"input": ` +
	`1000, "output": 100}}
  ]],
  "evaluator": [
    [{"calls": [{"name": "read_file", "input": {"path": "greeting.txt"}}], "usage": {"input": 500, "output": 50}},
     {"calls": [{"name": "submit_verdict", "input": {"nonce": "{{nonce}}", "verdict": "reject", "category": ` +
	`"acceptance_gap", "concern": "it is not loud", "evidence": ["greeting.txt:1"], "next_step": "shout"}}],
      "fill": {"nonce": "Its nonce is ([0-9a-f]+)"}, "usage": {"input": 500, "output": 50}}],
    [{"calls": [{"name": "submit_verdict", "input": {"nonce": "{{nonce}}", "verdict": "accept", "evidence": ` +
	`["greeting.txt:1"]}}],
      "fill": {"nonce": "Its nonce is ([0-9a-f]+)"}, "usage": {"input": 500, "output": 50}}]
  ]
}`

// folder is a tree that changes whenever the greeting does.
type folder string

func (f folder) Fingerprint(context.Context, ralph.TreeInput) (ralph.TreeState, error) {
	text, err := os.ReadFile(filepath.Join(string(f), "greeting.txt"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return ralph.TreeState{}, err
	}
	return ralph.TreeState{Known: true, Head: "h", Hash: string(text)}, nil
}

// TestAWorkerInALoop has everything that is real but the model: the loop, its rounds, the tools,
// the evaluator and a check.
func TestAWorkerInALoop(t *testing.T) {
	dir := t.TempDir()
	parsed, err := scripted.Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	options := func(role string) worker.Options {
		client, err := parsed.Client(role, scripted.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return worker.Options{Client: client, Model: "claude-sonnet-4-5", Env: os.Environ()}
	}
	checks := ralph.CheckFuncs{"greets the world": func(context.Context) error {
		text, err := os.ReadFile(filepath.Join(dir, "greeting.txt"))
		if err == nil && !bytes.Contains(text, []byte("world")) {
			err = errors.New("nobody is greeted")
		}
		return err
	}}
	var events []ralph.EventType
	var answers []ralph.CaseAnswered
	var turns []ralph.Turn
	var learned int
	loop, err := loop.New(loop.Config{
		Task: "Greet the world.", Agent: worker.New(options("worker")), AgentName: "worker",
		Checks: []string{"greets the world"}, Dir: dir, MaxIterations: 2,
	}, loop.WithChecker(checks), loop.WithTree(folder(dir)),
		loop.WithEvaluator("reviewer", &evaluate.Evaluator{Agent: worker.NewReviewer(options("evaluator"))}),
		loop.WithObserver(func(e ralph.Event) {
			events = append(events, e.Type)
			switch p := e.Data.(type) {
			case ralph.CaseAnswered:
				answers = append(answers, p)
			case ralph.Turn:
				turns = append(turns, p)
			case ralph.LearningProposed:
				learned++
			}
		}))
	if err != nil {
		t.Fatal(err)
	}
	result, err := loop.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if result.ExitCode != 0 || len(result.Iterations) != 1 {
		t.Errorf("ended with %s after %d iterations; events: %v", result.StopReason, len(result.Iterations), events)
	}
	var accepted []bool
	for _, a := range answers {
		accepted = append(accepted, a.Accepted)
	}
	if diff := cmp.Diff([]bool{false, false, true}, accepted); diff != "" {
		t.Errorf("cases (-want +got):\n%s", diff)
	}
	if len(turns) != 4 || learned != 1 {
		t.Errorf("there were %d turns, and %d learnings", len(turns), learned)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "greeting.txt")); string(text) != "Hello world!\n" {
		t.Errorf("the greeting is %q", text)
	}
}

// TestABudgetThatIsUsedUpEndsAWorkerWhoseCaseIsRefused: the budget ends the run, and no further
// turn is paid for.
func TestABudgetThatIsUsedUpEndsAWorkerWhoseCaseIsRefused(t *testing.T) {
	const turn = `{"calls": [{"name": "submit_case", "input": {"summary": "greets", "ac_coverage": [{"criterion": ` +
		`"greets the world", "addressed_by": "greeting.txt:1"}]}}], "usage": {"input": 1000, "output": 100}}`
	parsed, err := scripted.Parse([]byte(`{"worker": [[` + strings.Repeat(turn+",", 7) + turn + `]]}`))
	if err != nil {
		t.Fatal(err)
	}
	client, err := parsed.Client("worker", scripted.Options{})
	if err != nil {
		t.Fatal(err)
	}
	checks := ralph.CheckFuncs{"greets": func(context.Context) error { return errors.New("nobody is greeted") }}
	loop, err := loop.New(loop.Config{
		Task: "Greet the world.", Agent: worker.New(worker.Options{Client: client, Model: "claude-sonnet-4-5", MaxTurns: 8}),
		AgentName: "worker", Checks: []string{"greets"},
		Dir: t.TempDir(), MaxIterations: 2, MaxTokens: 2000,
	}, loop.WithChecker(checks))
	if err != nil {
		t.Fatal(err)
	}
	result, err := loop.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if result.StopReason != ralph.MaxTokens || len(result.Iterations) != 1 || *result.Iterations[0].StepsTaken != 2 {
		t.Errorf("ended with %s (%s) after %d iterations", result.StopReason, result.Summary, len(result.Iterations))
	}
}

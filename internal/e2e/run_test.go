//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent"
	"github.com/ralphloop/ralph/internal/scriptedmodel"
)

// figures returns the cost of the given number of turns of the scripted model.
func (cli agentCLI) figures(turns int) (*float64, *tokens) {
	u := scriptedmodel.DefaultUsage
	t := &tokens{
		Input: turns * int(u.Input), Output: turns * int(u.Output), CacheRead: turns * int(u.CacheRead),
		CacheWrite: turns * int(u.CacheWrite),
	}
	if !cli.cost {
		return nil, t
	}
	cost := 0.00506 * float64(turns) // by the CLI's own price list
	return &cost, t
}

func steps(n int) *int { return &n }

// nearly tolerates rounding errors in a sum.
var nearly = cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })

func TestComplete(t *testing.T) {
	both(t, func(t *testing.T, cli agentCLI) {
		script := parse(t, `{"s": {"conversations": [[
			{"tools": [{"write": {"path": "made.txt", "text": "made-by-agent\n"}}]}, {"text": "<promise>COMPLETE</promise>"}
		]]}}`)
		w := newWorld(t, cli, script, "s")
		o := w.run("--check", "test -f made.txt")
		cost, used := cli.figures(2)
		want := result{
			StopReason: "all_checks_passed", Verified: true, TotalIterations: 1, TotalCost: cost, TotalTokens: used,
			Iterations: []iteration{
				{Agent: cli.name, Steps: steps(2), Cost: cost, Claims: []string{"COMPLETE"}, Refusals: []string{}, Counted: true},
			},
		}
		if diff := cmp.Diff(want, o.result, nearly); diff != "" {
			t.Errorf("-want +got:\n%s\n%s", diff, o.stderr)
		}
		if o.code != 0 {
			t.Errorf("exit status %d", o.code)
		}
		exited := w.events("agent_exited")
		if len(exited) != 1 || exited[0]["session"] == "" || exited[0]["session"] == nil {
			t.Errorf("no session in %v", exited)
		}
	})
}

// The first agent only claims. The second one learns what is missing, and does it.
func TestRefusedThenFixed(t *testing.T) {
	both(t, func(t *testing.T, cli agentCLI) {
		var asked requestBodies
		w := newWorld(t, cli, scriptedmodel.Standard(), "second-try", asked.keep())
		o := w.run("--check", "test -f made.txt", "--yolo")
		cost, used := cli.figures(3)
		want := result{
			StopReason: "all_checks_passed", Verified: true, TotalIterations: 2, TotalCost: cost, TotalTokens: used,
			Iterations: o.result.Iterations,
		}
		if diff := cmp.Diff(want, o.result, nearly); diff != "" {
			t.Errorf("-want +got:\n%s\n%s", diff, o.stderr)
		}
		if diff := cmp.Diff([]string{"check_failed"}, o.result.Iterations[0].Refusals); diff != "" {
			t.Error(diff)
		}
		if w.file("made.txt") != "made-by-agent\n" {
			t.Errorf("made.txt holds %q", w.file("made.txt"))
		}
		if told := asked.all(); len(told) != 3 || strings.Contains(told[0], "check_failed") ||
			!strings.Contains(told[1], "check_failed") {
			t.Errorf("the second agent of %d requests was not told why the claim was refused", len(told))
		}
	})
}

// In edit mode, without a user to ask, the agent can write a file of the project and run the check.
func TestToolsInEditMode(t *testing.T) {
	both(t, func(t *testing.T, cli agentCLI) {
		script := parse(t, `{"s": {"conversations": [[
			{"text": "Writing.", "tools": [{"write": {"path": "made.txt", "text": "made-by-agent\n"}}]},
			{"text": "Checking.", "tools": [{"shell": "sort -c made.txt"}]},
			{"text": "<promise>COMPLETE</promise>"}
		]]}}`)
		w := newWorld(t, cli, script, "s")
		o := w.run("--check", "sort -c made.txt")
		if o.code != 0 || w.file("made.txt") != "made-by-agent\n" {
			t.Fatalf("exit status %d, made.txt holds %q\n%s", o.code, w.file("made.txt"), o.stderr)
		}
		exited := w.events("agent_exited")[0]
		tools := map[string]any{cli.shell: 2.0}
		if cli.name == "claude" {
			tools = map[string]any{"Write": 1.0, "Bash": 1.0}
		}
		if diff := cmp.Diff(any(tools), exited["tools"]); diff != "" || exited["denials"] != nil {
			t.Errorf("%s, denied %v", diff, exited["denials"])
		}
	})
}

func TestBlocked(t *testing.T) {
	both(t, func(t *testing.T, cli agentCLI) {
		w := newWorld(t, cli, scriptedmodel.Standard(), "blocked")
		o := w.run("--check", "false")
		if o.code != 2 || o.result.StopReason != "blocked" || o.result.Reason != "no key to the database" {
			t.Errorf("exit status %d: %s\n%s", o.code, o.stdout, o.stderr)
		}
	})
}

// Thoughts are not output: a tag in them claims nothing.
func TestThinking(t *testing.T) {
	both(t, func(t *testing.T, cli agentCLI) {
		w := newWorld(t, cli, scriptedmodel.Standard(), "thinking")
		o := w.run("--check", "true", "--set", "gate.shown=off")
		if o.code != 0 || o.result.TotalIterations != 1 {
			t.Errorf("exit status %d: %s\n%s", o.code, o.stdout, o.stderr)
		}
	})
}

// After a refused login a CLI retries for minutes; the run ends at once and says what helps.
func TestRefusedLogin(t *testing.T) {
	logins := map[string]string{"claude": "ralph login claude", "codex": "codex login"}
	both(t, func(t *testing.T, cli agentCLI) {
		w := newWorld(t, cli, scriptedmodel.Standard(), "401")
		code, output := w.told("--check", "true")
		if code != 5 || !strings.Contains(output, logins[cli.name]) ||
			!strings.Contains(output, "AUTH_ERROR at iteration 1 of 10") {
			t.Errorf("exit status %d\n%s", code, output)
		}
		if asked := len(w.model.Requests()); asked > 2 {
			t.Errorf("%d requests for a login that was refused", asked)
		}
	})
}

func TestEmptyTurns(t *testing.T) {
	both(t, func(t *testing.T, cli agentCLI) {
		w := newWorld(t, cli, scriptedmodel.Standard(), "empty")
		o := w.run("--check", "true", "--set", "agent.max_failures=2")
		if o.code != 15 || o.result.StopReason != "agent_failed" || o.result.TotalIterations != 2 {
			t.Errorf("exit status %d: %s\n%s", o.code, o.stdout, o.stderr)
		}
	})
}

// The run does not wait for a model that never answers, or stops in the middle of an answer.
func TestHangs(t *testing.T) {
	for _, scenario := range []string{"hang", "stall"} {
		t.Run(scenario, func(t *testing.T) {
			both(t, func(t *testing.T, cli agentCLI) {
				w := newWorld(t, cli, scriptedmodel.Standard(), scenario)
				o := w.run("--check", "true", "--idle-timeout", "3", "--set", "agent.max_failures=1")
				if o.code != 15 || o.result.StopReason != "agent_failed" ||
					!strings.Contains(o.stderr, "killed after 3s without any output") {
					t.Errorf("exit status %d: %s\n%s", o.code, o.stdout, o.stderr)
				}
			})
		})
	}
}

// A stream that breaks off is the model's failure and does not count as an iteration.
func TestCutStream(t *testing.T) {
	both(t, func(t *testing.T, cli agentCLI) {
		w := newWorld(t, cli, scriptedmodel.Standard(), "cut")
		w.env["CLAUDE_CODE_MAX_RETRIES"] = "0"
		o := w.run("--check", "true", "--set", "agent.max_failures=1", "--set", "agent.outage=0")
		if o.code != 15 || o.result.StopReason != "provider_failed" || o.result.Iterations[0].Counted {
			t.Errorf("exit status %d: %s\n%s", o.code, o.stdout, o.stderr)
		}
	})
}

// The CLI itself handles a single fault.
func TestOneFault(t *testing.T) {
	for _, scenario := range []string{"cut-once", "500-once", "429-once"} {
		t.Run(scenario, func(t *testing.T) {
			both(t, func(t *testing.T, cli agentCLI) {
				w := newWorld(t, cli, scriptedmodel.Standard(), scenario)
				o := w.run("--check", "true", "--set", "gate.shown=off")
				if o.code != 0 || o.result.TotalIterations != 1 {
					t.Errorf("exit status %d: %s\n%s", o.code, o.stdout, o.stderr)
				}
			})
		})
	}
}

const megabyte = 1_000_000

// A prompt may be longer than any that this program builds, because it goes through standard input.
// (Codex accepts at most 1,048,576 characters.)
func TestLongPrompt(t *testing.T) {
	both(t, func(t *testing.T, cli agentCLI) {
		var asked requestBodies
		w := newWorld(t, cli, scriptedmodel.Standard(), "text", asked.keep())
		dialect, _ := agent.Find(cli.name)
		o, err := agent.New(agent.Options{
			Dialect: dialect, Path: filepath.Join(programs, cli.name, cli.name), Env: w.environ(),
		}).Run(t.Context(), ralph.AgentInput{
			Prompt: strings.Repeat("Words, words\n", megabyte/13), Dir: w.project, Live: func(ralph.Activity) {},
		})
		if err != nil || o.End != ralph.EndOK || !o.Said.Complete || len(strings.Join(asked.all(), "")) < megabyte {
			t.Errorf("%s: %s, said %+v, %v", o.End, o.Error, o.Said, err)
		}
	})
}

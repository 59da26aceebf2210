package loop

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

// callingAgent makes tool calls through a fake door, then prints its words.
type callingAgent struct {
	door    *fakeDoor
	calls   []ralph.ToolCall
	words   string
	answers []ralph.ToolAnswer
}

func (a *callingAgent) Run(ctx context.Context, in ralph.AgentInput) (ralph.AgentOutcome, error) {
	for _, c := range a.calls {
		a.answers = append(a.answers, a.door.answer(ctx, c))
	}
	outcome := ralph.AgentOutcome{End: ralph.EndOK, Said: promise.Parse(a.words, in.Words)}
	if a.words == "" {
		outcome.End, outcome.Error = ralph.EndEmpty, "the agent said nothing"
	}
	return outcome, nil
}

// fakeDoor is a ToolServer without a socket.
type fakeDoor struct {
	answer func(context.Context, ralph.ToolCall) ralph.ToolAnswer
	closed int
}

func (d *fakeDoor) Open(
	_ context.Context, answer func(context.Context, ralph.ToolCall) ralph.ToolAnswer,
) (ralph.ToolDoor, error) {
	d.answer = answer
	return ralph.ToolDoor{Env: []string{"A=b"}, Close: func() { d.closed++ }}, nil
}

// TestChecksForAnAgentAreBounded: an agent may have the checks run 20 times; then its case is only
// recorded.
func TestChecksForAnAgentAreBounded(t *testing.T) {
	door := &fakeDoor{}
	agent := &callingAgent{door: door}
	for range maxAsked + 1 {
		agent.calls = append(agent.calls, ralph.ToolCall{Tool: ralph.ToolRunChecks})
	}
	agent.calls = append(agent.calls, ralph.ToolCall{
		Tool: ralph.ToolSubmitCase, Case: &ralph.Case{Summary: "s", Coverage: []ralph.Coverage{{Criterion: "c"}}},
	})
	checker := &countingChecker{}
	l, err := New(Config{Task: "g", Agent: agent, Checks: []string{"c"}, MaxIterations: 1}, WithTools(door),
		WithChecker(checker))
	if err != nil {
		t.Fatal(err)
	}
	result, err := l.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"submit_case"}, result.Iterations[0].Claims); diff != "" {
		t.Error(diff)
	}
	if want := 1 + maxAsked + 1; checker.runs != want { // the baseline, and the judgement
		t.Errorf("the check ran %d times, not %d", checker.runs, want)
	}
	last := agent.answers[len(agent.answers)-2:]
	if !last[0].Failed || !strings.HasPrefix(last[0].Text, "the checks ran 20 times in this iteration") {
		t.Errorf("one call too many: %+v", last[0])
	}
	if last[1].Failed || !strings.Contains(last[1].Text, "Ralph judges it when you have ended; the checks ran 20 times") {
		t.Errorf("the case: %+v", last[1])
	}
	if door.closed != 1 {
		t.Errorf("the door was closed %d times", door.closed)
	}
}

// countingChecker fails every check.
type countingChecker struct{ runs int }

func (c *countingChecker) Check(_ context.Context, in ralph.CheckInput) (ralph.CheckResult, error) {
	c.runs++
	return ralph.CheckResult{Name: in.Name, ExitCode: 1}, nil
}

// TestSignalsAndWordsAreOneReport: what an agent signals and what it prints are merged, and a signal
// breaks its silence.
func TestSignalsAndWordsAreOneReport(t *testing.T) {
	for name, c := range map[string]struct {
		words string
		call  ralph.ToolCall
		want  []string
	}{
		"both": {
			"<promise>DONE</promise>", ralph.ToolCall{Tool: ralph.ToolBlocked, Text: "x"}, []string{"DONE", "BLOCKED"},
		},
		"tool alone":  {"", ralph.ToolCall{Tool: ralph.ToolDecide, Text: "a or b"}, []string{"DECIDE"}},
		"words alone": {"<promise>DONE</promise>", ralph.ToolCall{Tool: ralph.ToolNextTask}, []string{"DONE"}},
		"no list":     {"", ralph.ToolCall{Tool: ralph.ToolTaskDone, Task: "T-1"}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			door := &fakeDoor{}
			agent := &callingAgent{door: door, words: c.words, calls: []ralph.ToolCall{c.call}}
			l, err := New(Config{Task: "g", Agent: agent, Checks: []string{"c"}, MaxIterations: 1}, WithTools(door),
				WithChecker(&countingChecker{}))
			if err != nil {
				t.Fatal(err)
			}
			result, err := l.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			it := result.Iterations[0]
			if diff := cmp.Diff(c.want, it.Claims); diff != "" {
				t.Error(diff)
			}
			if silent := it.Error != nil; silent != (name == "no list") {
				t.Errorf("silent: %t", silent)
			}
		})
	}
}

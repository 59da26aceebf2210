package worker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/hooks"
	"github.com/ralphloop/ralph/model"
)

func TestHooksDecideAboutCalls(t *testing.T) {
	var asked []hooks.ToolCall
	var edits []hooks.Edit
	set := &hooks.Set{
		PreTool: hooks.Hooks[hooks.ToolCall]{
			Functions: []func(context.Context, hooks.ToolCall) hooks.Answer{
				func(_ context.Context, c hooks.ToolCall) hooks.Answer {
					asked = append(asked, c)
					switch c.Tool {
					case "read_file":
						return hooks.Answer{Decision: hooks.Block, Text: "not that one"}
					case "glob":
						return hooks.Answer{Decision: hooks.Warn, Text: "slowly"}
					}
					return hooks.Answer{}
				},
			},
		},
		PostEdit: hooks.Hooks[hooks.Edit]{
			Functions: []func(context.Context, hooks.Edit) hooks.Answer{func(_ context.Context, e hooks.Edit) hooks.Answer {
				edits = append(edits, e)
				return hooks.Answer{Decision: hooks.Warn, Text: "not formatted"}
			}},
			Commands: []string{"echo wrong words >&2; exit 2"},
		},
		Env: os.Environ(),
	}
	fake, j := &fakeModel{steps: []step{
		calls("write_file", `{"path":"a.txt","content":"one\n"}`, "read_file", `{"path":"a.txt"}`, "glob", `{"pattern":"*"}`,
			"bash", `{"command":"sudo true"}`, "grep", `{"pattern"`),
		submits(),
	}}, &judge{}
	in := j.input(t)
	in.Task, in.Iteration = "T-1", 7
	got, err := New(Options{Client: fake, Env: os.Environ(), Hooks: set, Run: "r1"}).Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	where := hooks.Where{Run: "r1", Iteration: 7, Task: "T-1", Dir: in.Dir}
	same(t, "asked", []hooks.ToolCall{
		{Where: where, Tool: "write_file", Input: jsonText(`{"path":"a.txt","content":"one\n"}`)},
		{Where: where, Tool: "read_file", Input: jsonText(`{"path":"a.txt"}`)},
		{Where: where, Tool: "glob", Input: jsonText(`{"pattern":"*"}`)},
	}, asked)
	same(t, "edits", []hooks.Edit{{Where: where, Tool: "write_file", Files: []string{"a.txt"}}}, edits)
	results := lastResults(fake.asked[1])
	same(
		t,
		"written",
		"made a.txt: 1 line, 4 bytes\n\n[post_edit function 1: not formatted]\n\n[post_edit: wrong words]",
		results[0].Text,
	)
	same(t, "blocked", model.Result{ID: "c1", Text: "this call is blocked: not that one", Failed: true}, results[1])
	same(t, "warned of", "a.txt\n\n\n[pre_tool function 1: slowly]", results[2].Text)
	if !results[3].Failed || !contains(results[3].Text, "this call is blocked: ") {
		t.Errorf("sudo is answered with %+v", results[3])
	}
	same(t, "denials", []string{"read_file: a.txt", "bash: sudo true"}, got.Denials)
	same(t, "warnings told with the first turn", nil, untimed(j.turns[0].Hooks))
	same(t, "warnings told with the second", []hooks.Run{
		{Hook: hooks.PostEdit, By: "function 1", Decision: hooks.Warn, Text: "not formatted"},
		{Hook: hooks.PreTool, By: "function 1", Decision: hooks.Warn, Text: "slowly"},
	}, untimed(j.turns[1].Hooks))
	same(t, "warnings left to the end", nil, untimed(got.Hooks))
}

// untimed are runs without how long they took.
func untimed(runs []hooks.Run) []hooks.Run {
	for i := range runs {
		runs[i].Duration = 0
	}
	return runs
}

// TestAGuardThatDoesNotWorkIsTold: a typo in a hook reaches the user, also when no other turn
// follows.
func TestAGuardThatDoesNotWorkIsTold(t *testing.T) {
	set := &hooks.Set{
		Env: os.Environ(), PreTool: hooks.Hooks[hooks.ToolCall]{Commands: []string{"no-such-guard", "exit 3"}},
	}
	fake, j := &fakeModel{steps: []step{calls("glob", `{"pattern":"*"}`, submitCase, goodCase)}}, &judge{}
	got, err := New(Options{Client: fake, Hooks: set}).Run(t.Context(), j.input(t))
	if err != nil || len(got.Hooks) != 2 {
		t.Fatalf("outcome %+v, error %v", got, err)
	}
	if first := got.Hooks[0]; first.Hook != hooks.PreTool || first.By != "no-such-guard" || first.Decision != hooks.Warn ||
		!contains(first.Text, "exit code 127") {
		t.Errorf("told %+v", first)
	}
	same(
		t,
		"the second",
		[]hooks.Run{{Hook: hooks.PreTool, By: "exit 3", Decision: hooks.Warn, Text: "exit code 3"}},
		untimed(got.Hooks[1:]),
	)
}

// TestAHookThatWasCutIsNotBroken: an interrupt ends the hook, and says nothing about it.
func TestAHookThatWasCutIsNotBroken(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	set := &hooks.Set{PreTool: hooks.Hooks[hooks.ToolCall]{Functions: []func(context.Context, hooks.ToolCall) hooks.Answer{
		func(context.Context, hooks.ToolCall) hooks.Answer {
			cancel()
			return hooks.Answer{Decision: hooks.Warn, Text: "it was interrupted"}
		},
	}}}
	fake, j := &fakeModel{steps: []step{calls("glob", `{"pattern":"*"}`), submits()}}, &judge{}
	got, err := New(Options{Client: fake, Hooks: set}).Run(ctx, j.input(t))
	if err != nil || got.End != ralph.EndInterrupted {
		t.Fatalf("outcome %+v, error %v", got, err)
	}
	same(t, "warnings", nil, got.Hooks)
}

func TestBuiltInRulesNeedNoHooks(t *testing.T) {
	fake, j := &fakeModel{steps: []step{calls("bash", `{"command":"touch x; git push --force"}`), submits()}}, &judge{}
	in := j.input(t)
	got, err := New(Options{Client: fake, Env: os.Environ()}).Run(t.Context(), in)
	if err != nil || got.End != ralph.EndOK {
		t.Fatalf("outcome %+v, error %v", got, err)
	}
	if r := lastResults(fake.asked[1])[0]; !r.Failed || !contains(r.Text, "this call is blocked: ") {
		t.Errorf("answered with %+v", r)
	}
	if _, err := os.Stat(filepath.Join(in.Dir, "x")); err == nil {
		t.Error("half of the command was run")
	}
}

func TestHookCommandsBelongToTheRun(t *testing.T) {
	set := &hooks.Set{
		Env: os.Environ(),
		PreTool: hooks.Hooks[hooks.ToolCall]{
			Commands: []string{`env | grep -q "=of-this-run$" || { echo no marker; exit 2; }`},
		},
	}
	fake, j := &fakeModel{steps: []step{calls("glob", `{"pattern":"*"}`), submits()}}, &judge{}
	in := j.input(t)
	in.Marker = "of-this-run"
	if _, err := New(Options{Client: fake, Hooks: set}).Run(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if r := lastResults(fake.asked[1])[0]; r.Failed {
		t.Errorf("answered with %+v", r)
	}
	same(t, "the set itself", "", set.Marker)
}

func TestManyOddCallsAreCountedInLittleSpace(t *testing.T) {
	var many []string
	for i := range 60 {
		many = append(many, fmt.Sprintf("odd%d", i), `{}`)
	}
	odder := make([]string, 0, 120)
	for i := range 30 {
		odder = append(odder, fmt.Sprintf("odder%d", i), `{}`, "noop", `{}`)
	}
	set := &hooks.Set{PreTool: hooks.Hooks[hooks.ToolCall]{Functions: []func(context.Context, hooks.ToolCall) hooks.Answer{
		func(context.Context, hooks.ToolCall) hooks.Answer {
			return hooks.Answer{Decision: hooks.Block, Text: "no"}
		},
	}}}
	j := &judge{}
	got := works(
		t,
		Options{Client: &fakeModel{steps: []step{calls(many...), calls(odder...), submits()}}, Hooks: set},
		j.input(t),
		&fakeTool{name: "noop"},
	)
	same(t, "names", maxToolNames+1, len(got.Tools))
	same(t, "calls of tools beyond", 28, got.Tools[otherTools])
	same(t, "denials", maxDenials+1, len(got.Denials))
	same(t, "the last", "and 14 more", got.Denials[maxDenials])
}

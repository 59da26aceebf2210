package hooks_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/hooks"
	"github.com/ralphloop/ralph/loop"
)

// One set serves both: as worker.Options.Hooks it is asked about tool calls, with loop.WithHooks
// about iterations. Functions and commands go together.
func ExampleSet() {
	set := &hooks.Set{
		PreTool: hooks.Hooks[hooks.ToolCall]{Functions: []func(context.Context, hooks.ToolCall) hooks.Answer{
			func(_ context.Context, call hooks.ToolCall) hooks.Answer {
				if call.Tool == "web_fetch" {
					return hooks.Answer{Decision: hooks.Block, Text: "this project is worked on offline"}
				}
				return hooks.Answer{}
			},
		}},
		OnStop: hooks.Hooks[ralph.RunEnd]{Functions: []func(context.Context, ralph.RunEnd) hooks.Answer{
			func(_ context.Context, end ralph.RunEnd) hooks.Answer {
				fmt.Println("the run ended:", end.Status)
				return hooks.Answer{}
			},
		}},
	}
	ctx := context.Background()
	for _, call := range []hooks.ToolCall{
		{Tool: "web_fetch", Input: json.RawMessage(`{"url": "https://example.com"}`)},
		{Tool: "bash", Input: json.RawMessage(`{"command": "git push --force"}`)},
	} {
		fmt.Println(set.BeforeTool(ctx, call).Text)
	}
	agent := ralph.AgentFunc(func(context.Context, string) (string, error) { return "<promise>COMPLETE</promise>", nil })
	loop, err := loop.New(loop.Config{Task: "nothing much", Agent: agent, AllowUnverified: true}, loop.WithHooks(set))
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := loop.Run(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// this project is worked on offline
	// refused: a forced push overwrites other people's work; push without force
	// the run ended: completed
}

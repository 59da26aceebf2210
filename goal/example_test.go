package goal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/ralphloop/ralph/goal"
)

// The model claims completion too early, is refused, runs the verifier, and claims it again.
func Example() {
	middleware, err := goal.New(goal.Config{Verifiers: []string{"make test"}})
	if err != nil {
		log.Fatal(err)
	}
	ctx, exitCode := context.Background(), 0
	answers := []goal.Message{ // what the model says
		{Role: goal.Assistant, Parts: goal.Text("All tests pass.\n<promise>DONE</promise>")},
		{Role: goal.Assistant, Calls: []goal.ToolCall{
			{ID: "1", Name: "Bash", Arguments: json.RawMessage(`{"command": "make test"}`)},
		}},
		{Role: goal.Assistant, Parts: goal.Text("All tests pass.\n<promise>DONE</promise>")},
	}

	var state goal.State
	messages := []goal.Message{{Role: goal.User, Parts: goal.Text("/goal Make the tests pass.")}}
	if err := middleware.BeforeAgent(&state, messages); err != nil {
		log.Fatal(err)
	}
	for _, answer := range answers {
		if _, err := middleware.WrapModelCall(ctx, &state, goal.Request{Messages: messages}); err != nil {
			log.Fatal(err)
		}
		decision, err := middleware.AfterModel(ctx, &state, answer)
		if err != nil {
			log.Fatal(err)
		}
		switch decision.Next {
		case goal.RunTools:
			fmt.Println("run", answer.Calls[0].Name)
			result := goal.ToolResult{CallID: "1", Content: "ok", ExitCode: &exitCode}
			messages = append(messages, answer, goal.Message{Role: goal.Tool, Results: []goal.ToolResult{result}})
		case goal.CallModel:
			fmt.Printf("refused, %s: %s\n", decision.Reason, decision.Detail)
			messages = decision.Messages
		case goal.Finish:
			fmt.Printf("%s, %s: %q\n", state.Status, decision.Reason, decision.Answer)
		}
	}
	// Output:
	// refused, missing_evidence: not run yet: make test
	// run Bash
	// completed, verifier_passed: "All tests pass."
}

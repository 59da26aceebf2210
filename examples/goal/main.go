// Command goal holds an agent loop to its goal: the model claims too early, is refused, and proves its work.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/ralphloop/ralph/goal"
	"github.com/ralphloop/ralph/verify"
)

// model calls its only tool once it knows that the check failed. Send the request to a real one instead.
func model(r goal.Request) goal.Message {
	if len(r.Messages) == 1 && r.Messages[0].Text() != task {
		return goal.Message{Role: goal.Assistant, Calls: []goal.ToolCall{{ID: "1", Name: "write"}}}
	}
	return goal.Message{Role: goal.Assistant, Parts: goal.Text("It is written.\n<promise>DONE</promise>")}
}

const task = "Write a greeting to the world."

func main() {
	ctx, dir := context.Background(), must(os.MkdirTemp("", "goal"))
	defer os.RemoveAll(dir)
	gate := must(goal.New(goal.Config{
		Verifiers: []string{"cat greeting.txt && grep -q world greeting.txt"},
		Dir:       dir,
		Checker:   verify.Shell{Env: os.Environ()}, // without it, the agent's own shell calls are the evidence
	}))
	var state goal.State // store it as JSON to continue in another process
	history := []goal.Message{{Role: goal.User, Parts: goal.Text(task)}}
	must(0, gate.BeforeAgent(&state, history))
	for {
		answer := model(must(gate.WrapModelCall(ctx, &state, goal.Request{Messages: history})))
		switch decision := must(gate.AfterModel(ctx, &state, answer)); decision.Next {
		case goal.RunTools:
			must(0, os.WriteFile(filepath.Join(dir, "greeting.txt"), []byte("hello world\n"), 0o600))
			result := goal.ToolResult{CallID: answer.Calls[0].ID, Content: "written"}
			history = append(history, answer, goal.Message{Role: goal.Tool, Results: []goal.ToolResult{result}})
		case goal.CallModel:
			fmt.Printf("refused, %s:\n%s\n\n", decision.Reason, decision.Messages[0].Text())
			history = decision.Messages
		case goal.Finish:
			fmt.Printf("%s, %s: %s\n", state.Status, decision.Reason, decision.Answer)
			return
		}
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

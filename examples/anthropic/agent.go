// Command anthropic is an agent loop written with anthropic-sdk-go, held to its goal by package goal:
//
//	go run . DIR 'make the tests pass' 'go test ./...'
//
// The SDK reads the key from ANTHROPIC_API_KEY. adapter.go is what you need for a loop of your own.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/ralphloop/ralph/gitrepo/plain"
	"github.com/ralphloop/ralph/goal"
)

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: anthropic DIR GOAL VERIFIER")
	}
	dir := os.Args[1]
	middleware, err := goal.New(goal.Config{
		Verifiers: []string{os.Args[3]}, Dir: dir, Tree: &plain.Tree{Dir: dir},
	})
	if err != nil {
		log.Fatal(err)
	}
	a := agent{anthropic.NewClient(), middleware}
	task := anthropic.NewUserMessage(anthropic.NewTextBlock(os.Args[2]))
	var state goal.State
	answer, err := a.run(context.Background(), &state, task)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, %s\n%s\n", state.Status, state.StopReason, answer)
}

// agent is a model with a shell.
type agent struct {
	client     anthropic.Client
	middleware *goal.Middleware
}

// run is the loop. It returns the last answer.
func (a agent) run(ctx context.Context, state *goal.State, task anthropic.MessageParam) (string, error) {
	first, err := toGoal(task)
	if err != nil {
		return "", err
	}
	history := []goal.Message{first}
	if err := a.middleware.BeforeAgent(state, history); err != nil {
		return "", err
	}
	for {
		answer, err := a.call(ctx, state, history)
		if err != nil {
			return "", err
		}
		decision, err := a.middleware.AfterModel(ctx, state, answer)
		if err != nil {
			return "", err
		}
		switch decision.Next {
		case goal.RunTools:
			results, err := a.runTools(ctx, answer.Calls)
			if err != nil {
				return "", err
			}
			history = append(history, answer, results)
		case goal.CallModel:
			history = decision.Messages
		case goal.Finish:
			return decision.Answer, nil
		}
	}
}

// call sends the history to the model.
func (a agent) call(ctx context.Context, state *goal.State, history []goal.Message) (goal.Message, error) {
	request, err := a.middleware.WrapModelCall(ctx, state, goal.Request{System: "You are a coder.", Messages: history})
	if err != nil {
		return goal.Message{}, err
	}
	messages, err := toSDK(request.Messages)
	if err != nil {
		return goal.Message{}, err
	}
	shell := anthropic.ToolUnionParamOfTool(anthropic.ToolInputSchemaParam{
		Properties: map[string]any{"command": map[string]string{"type": "string"}}, Required: []string{"command"},
	}, "bash")
	reply, err := a.client.Messages.New(ctx, anthropic.MessageNewParams{
		Model: anthropic.ModelClaudeHaiku5_5, MaxTokens: 8192, Messages: messages,
		System: []anthropic.TextBlockParam{{Text: request.System}}, Tools: []anthropic.ToolUnionParam{shell},
	})
	if err != nil {
		return goal.Message{}, fmt.Errorf("call model: %w", err)
	}
	return toGoal(reply.ToParam())
}

// runTools runs the commands of all calls.
func (a agent) runTools(ctx context.Context, calls []goal.ToolCall) (goal.Message, error) {
	var blocks []anthropic.ContentBlockParamUnion
	for _, call := range calls {
		var input struct{ Command string }
		if err := json.Unmarshal(call.Arguments, &input); err != nil {
			blocks = append(blocks, anthropic.NewToolResultBlock(call.ID, err.Error(), true))
			continue
		}
		shell := exec.CommandContext(ctx, "sh", "-c", input.Command)
		shell.Dir = a.middleware.Dir
		output, err := shell.CombinedOutput()
		blocks = append(blocks, anthropic.NewToolResultBlock(call.ID, string(output), err != nil))
	}
	return toGoal(anthropic.NewUserMessage(blocks...))
}

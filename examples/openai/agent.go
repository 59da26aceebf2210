// Command openai is an agent loop written with openai-go, held to its goal by package goal:
//
//	go run . DIR 'make the tests pass' 'go test ./...'
//
// The SDK reads the key from OPENAI_API_KEY, and the address of another server from OPENAI_BASE_URL. adapter.go is
// what you need for a loop of your own.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"

	"github.com/openai/openai-go/v3"

	"github.com/ralphloop/ralph/gitrepo/plain"
	"github.com/ralphloop/ralph/goal"
)

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: openai DIR GOAL VERIFIER")
	}
	dir := os.Args[1]
	middleware, err := goal.New(goal.Config{
		Verifiers: []string{os.Args[3]}, Dir: dir, Tree: &plain.Tree{Dir: dir},
	})
	if err != nil {
		log.Fatal(err)
	}
	a := agent{openai.NewClient(), middleware}
	var state goal.State
	answer, err := a.run(context.Background(), &state, openai.UserMessage(os.Args[2]))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, %s\n%s\n", state.Status, state.StopReason, answer)
}

// agent is a model with a shell.
type agent struct {
	client     openai.Client
	middleware *goal.Middleware
}

// run is the loop. It returns the last answer.
func (a agent) run(
	ctx context.Context, state *goal.State, task openai.ChatCompletionMessageParamUnion,
) (string, error) {
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
			history = append(history, answer)
			for _, call := range answer.Calls {
				output, exitCode := a.runShell(ctx, call)
				result, err := toGoal(openai.ToolMessage(output, call.ID))
				if err != nil {
					return "", err
				}
				result.Results[0].ExitCode = exitCode
				history = append(history, result)
			}
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
	system := []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(request.System)}
	shell := openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
		Name: "shell",
		Parameters: openai.FunctionParameters{
			"type": "object", "properties": map[string]any{"command": map[string]string{"type": "string"}},
			"required": []string{"command"},
		},
	})
	reply, err := a.client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
		Model: openai.ChatModelGPT5Mini, Messages: append(system, messages...),
		Tools: []openai.ChatCompletionToolUnionParam{shell},
	})
	if err != nil {
		return goal.Message{}, fmt.Errorf("call model: %w", err)
	}
	if len(reply.Choices) == 0 {
		return goal.Message{}, errors.New("call model: the reply is empty")
	}
	return toGoal(reply.Choices[0].Message.ToParam())
}

// runShell runs the command of a call. The model reads the exit code in the last line; the middleware gets it from
// here, because the command could print such a line too.
func (a agent) runShell(ctx context.Context, call goal.ToolCall) (output string, exitCode *int) {
	var input struct{ Command string }
	if err := json.Unmarshal(call.Arguments, &input); err != nil {
		return err.Error(), nil
	}
	shell := exec.CommandContext(ctx, "sh", "-c", input.Command)
	shell.Dir = a.middleware.Dir
	out, err := shell.CombinedOutput()
	if shell.ProcessState == nil {
		return err.Error(), nil
	}
	code := shell.ProcessState.ExitCode()
	return fmt.Sprintf("%s\nexit code: %d", out, code), &code
}

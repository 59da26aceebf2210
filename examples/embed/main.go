// Command embed runs the loop inside a Go program: the agent and the check are functions.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/loop"
)

func main() {
	draft := "hello"

	// The agent improves the draft a little each time, and claims too early once.
	agent := ralph.AgentFunc(func(_ context.Context, prompt string) (string, error) {
		if strings.Contains(prompt, "check_failed") {
			draft += " world"
			return "I read why the claim was refused and fixed it.\n\n<promise>COMPLETE</promise>", nil
		}
		draft = strings.ToUpper(draft[:1]) + draft[1:]
		return "The greeting is done.\n\n<promise>COMPLETE</promise>", nil
	})

	checks := ralph.CheckFuncs{"greets the world": func(context.Context) error {
		if draft != "Hello world" {
			return errors.New("the draft is " + draft)
		}
		return nil
	}}

	greeter, err := loop.New(loop.Config{
		Task:          "Write a greeting to the world.",
		Agent:         agent,
		AgentName:     "drafter",
		Checks:        []string{"greets the world"},
		MaxIterations: 5,
	}, loop.WithChecker(checks))
	if err != nil {
		log.Fatal(err)
	}
	result, err := greeter.Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, it := range result.Iterations {
		fmt.Printf("iteration %d: claims %v, refused for %v\n", it.Iteration, it.Claims, it.Refusals)
	}
	fmt.Printf("%s: %s (%q)\n", result.Status, result.StopReason, draft)
	os.Exit(result.ExitCode)
}

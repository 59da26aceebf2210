// Command commands runs a shell command as the agent of a project, with another shell command as the
// check:
//
//	go run ./examples/commands DIR 'make the tests pass' 'my-agent --stdin' 'go test ./...'
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent"
	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/loop"
	"github.com/ralphloop/ralph/verify"
)

func main() {
	if len(os.Args) != 5 {
		log.Fatal("usage: commands DIR GOAL AGENT CHECK")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	result, err := run(ctx, os.Args[1], os.Args[2], os.Args[3], os.Args[4])
	stop()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Summary)
	os.Exit(result.ExitCode)
}

func run(ctx context.Context, dir, goal, command, check string) (ralph.Result, error) {
	dialect, _ := agent.Find("command") // or claude, codex, …
	repo, found, err := gitrepo.Find(ctx, gitrepo.Git{Env: os.Environ()}, dir)
	if err != nil {
		return ralph.Result{}, err
	}
	if !found {
		return ralph.Result{}, errors.New(dir + " is not in a git repository")
	}
	project, err := loop.New(loop.Config{
		Task:   goal,
		Dir:    dir,
		Agent:  agent.New(agent.Options{Dialect: dialect, CommandLine: command, Env: os.Environ()}),
		Checks: []string{check},
	},
		loop.WithChecker(verify.Shell{Env: os.Environ()}),
		loop.WithTree(repo), // lets the loop tell progress from idling
		loop.WithObserver(func(e ralph.Event) { fmt.Println(e.Iteration, e.Type) }),
	)
	if err != nil {
		return ralph.Result{}, err
	}
	return project.Run(ctx)
}

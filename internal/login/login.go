// Package login runs the login command of an agent CLI.
package login

import (
	"context"
	"fmt"
	"slices"

	"github.com/ralphloop/ralph/agent"
	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/process"
)

// Login is how users log in to one agent CLI.
type Login struct {
	Agent     string   `json:"agent"`
	Title     string   `json:"title"`
	Installed bool     `json:"installed"`
	Argv      []string `json:"command"` // null if the CLI has no command for it
	Hint      string   `json:"hint"`
}

// List returns the login of every known CLI.
func List() []Login {
	var all []Login
	for _, d := range agent.Known() {
		about := d.About()
		if about.Program == "" {
			continue
		}
		_, err := process.LookPath(about.Program)
		login := Login{Agent: d.Name(), Title: about.Title, Installed: err == nil, Hint: about.Login.Hint}
		if about.Login.Args != nil {
			login.Argv = append([]string{about.Program}, about.Login.Args...)
		}
		all = append(all, login)
	}
	return all
}

// Knows reports whether a user can name the agent: a CLI, or the built-in worker, which has no login.
func Knows(name string) bool {
	return name == config.Worker || slices.ContainsFunc(List(), func(l Login) bool { return l.Agent == name })
}

// Of returns the login of the agent that a run with these settings would start, and the path of its
// program.
func Of(s config.Settings) (Login, string, error) {
	if s.Agent.Command != "" {
		return Login{}, "", &config.UsageError{
			Msg:  "the agent is a custom command, so its login is unknown",
			Hint: "name an agent: ralph login claude",
		}
	}
	if s.Agent.Name == config.Worker {
		return Login{}, "", &config.UsageError{
			Msg:  "the built-in worker has no login: it uses a key",
			Hint: "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or name another variable with worker.api_key_env",
		}
	}
	name, path, err := assembly.FirstAgent(s)
	if err != nil {
		return Login{}, "", err
	}
	for _, login := range List() {
		if login.Agent == name {
			return login, path, nil
		}
	}
	return Login{}, "", fmt.Errorf("find login of %s: unknown agent", name)
}

// Attach runs a login in the user's terminal, with the user's whole environment, because it is the
// user who logs in, not an agent.
func (l Login) Attach(ctx context.Context, terminal process.Attached, args []string) (int, error) {
	terminal.Argv = append(append(terminal.Argv, l.Argv[1:]...), args...)
	return process.Attach(ctx, terminal)
}

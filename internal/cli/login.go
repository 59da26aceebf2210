package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/containment"
	"github.com/ralphloop/ralph/internal/login"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/sandbox"
)

// loginCommand is `ralph login`. It also implements `ralph run --login`.
type loginCommand struct{ *app }

func newLoginCommand(a *app) *cobra.Command {
	c := loginCommand{a}
	var list bool
	cmd := &cobra.Command{
		Use: "login [AGENT] [-- ARGS]", Short: "Log in to an agent with its own command", GroupID: "keep",
		Long: `Start the login of an agent CLI (default: the one a run here would start). Ralph
has no account of its own and never sees what you enter. Arguments after -- go
to the CLI.`,
		Example: `  ralph login claude
  ralph login codex -- --device-auth
  ralph login --list`,
		RunE: func(cmd *cobra.Command, args []string) error {
			words, more := splitAtDash(cmd, args)
			if list {
				return c.printList()
			}
			if err := atMostOne(cmd, words); err != nil {
				return err
			}
			return c.run(cmd.Context(), firstOf(words), more)
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "print the login command of every known agent")
	return cmd
}

// run starts the login of the named agent. If the name is empty, it logs in to the agent that a
// run would start.
func (c loginCommand) run(ctx context.Context, name string, args []string) error {
	if err := c.outsideOnly(ctx, "login"); err != nil {
		return err
	}
	flags := map[string][]string{}
	if name != "" {
		if !login.Knows(name) {
			return usage("unknown agent %q; ralph login --list lists the agents", name)
		}
		flags["agent"] = []string{name}
	}
	_, loaded, err := c.settings(ctx, flags)
	if err != nil {
		return err
	}
	return c.start(ctx, loaded.Settings, args)
}

func (c loginCommand) start(ctx context.Context, s config.Settings, args []string) error {
	s.Agent.Args = nil
	found, path, err := login.Of(s)
	if err != nil {
		return err
	}
	if found.Argv == nil {
		return &config.UsageError{Msg: found.Title + " has no login command", Hint: found.Hint}
	}
	argv, err := c.inside(ctx, s, found.Agent, path)
	if err != nil {
		return err
	}
	if !c.globals.quiet {
		fmt.Fprintf(c.streams.Err, "ralph: starting %s\n", process.Words(append(found.Argv, args...)))
	}
	status, err := found.Attach(ctx, process.Attached{
		Argv:   argv,
		Dir:    c.streams.Dir,
		Env:    c.streams.Env.Untrusted(),
		Stdin:  c.streams.In,
		Stdout: c.streams.Out,
		Stderr: c.streams.Err,
	}, args)
	if err != nil {
		return err
	}
	if status != 0 {
		fmt.Fprintf(c.errLines(), "ralph: %s exited with status %d; %s\n", found.Argv[0], status, found.Hint)
		return exitStatus(ralph.ExitCode(ralph.AuthError, ""))
	}
	return nil
}

// inside returns how the program of an agent starts: in its microVM, if its runs are there.
func (c loginCommand) inside(ctx context.Context, s config.Settings, agent, path string) ([]string, error) {
	if s.Sandbox.Mode != string(sandbox.Sbx) {
		return []string{path}, nil
	}
	ws, _, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	env := c.streams.Env
	place := containment.Place{Agent: agent, Workspace: ws.Dir}
	vm, err := containment.ReadyMicroVM(ctx, place, env.StateDir, env.Environ)
	if err != nil {
		return nil, err
	}
	return vm.LoginArgv(env.Environ, filepath.Base(path))
}

func (c loginCommand) printList() error {
	logins := login.List()
	return c.table(logins, func(table io.Writer) {
		for _, l := range logins {
			command := strings.Join(l.Argv, " ")
			if l.Argv == nil {
				command = "no command: " + l.Hint
			}
			state := "not installed"
			if l.Installed {
				state = "installed"
			}
			fmt.Fprintf(table, "%s\t%s\t%s\n", l.Agent, state, command)
		}
	})
}

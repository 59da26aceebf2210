package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/login"
	"github.com/ralphloop/ralph/internal/process"
)

func (a *app) loginCommand() *cobra.Command {
	var list bool
	cmd := &cobra.Command{
		Use: "login [AGENT] [-- ARGS]", Short: "Log in to an agent, by the agent's own command", GroupID: "keep",
		Long: `Start the login of an agent CLI, the one that a run here would start if none is named. Ralph itself has no account, and neither sees nor
keeps what you enter. What stands behind -- is passed to the CLI.`,
		Example: `  ralph login claude
  ralph login codex -- --device-auth
  ralph login --list`,
		RunE: func(cmd *cobra.Command, args []string) error {
			words, more := splitAtDash(cmd, args)
			if list {
				return a.listLogins()
			}
			if err := atMostOne(cmd, words); err != nil {
				return err
			}
			return a.login(cmd.Context(), firstOf(words), more)
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "print the login command of every known agent")
	return cmd
}

// login runs the login of the agent of that name; "" is the one that a run would start.
func (a *app) login(ctx context.Context, name string, args []string) error {
	if err := a.outsideOnly("login"); err != nil {
		return err
	}
	flags := map[string][]string{}
	if name != "" {
		flags["agent"] = []string{name}
	}
	_, loaded, err := a.settings(ctx, flags)
	if err != nil {
		return err
	}
	return a.loginWith(ctx, loaded.Settings, args)
}

func (a *app) loginWith(ctx context.Context, s config.Settings, args []string) error {
	s.Agent.Args = nil
	found, path, err := login.Of(s)
	if err != nil {
		return err
	}
	if found.Argv == nil {
		return &config.UsageError{Msg: found.Title + " has no command to log in with", Hint: found.Hint}
	}
	if !a.globals.quiet {
		fmt.Fprintf(a.streams.Err, "ralph: starting %s\n", process.Words(append(found.Argv, args...)))
	}
	status, err := found.Attach(ctx, process.Attached{
		Argv: []string{path}, Dir: a.streams.Dir, Env: a.streams.Env.Untrusted(), Stdin: a.streams.In, Stdout: a.streams.Out, Stderr: a.streams.Err,
	}, args)
	if err != nil {
		return err
	}
	if status != 0 {
		fmt.Fprintf(a.streams.Err, "ralph: %s ended with status %d; %s\n", found.Argv[0], status, found.Hint)
		return exit(ralph.ExitCode(ralph.AuthError, ""))
	}
	return nil
}

func (a *app) listLogins() error {
	logins := login.List()
	if a.wantsJSON() {
		return a.printJSON(logins)
	}
	table := tabwriter.NewWriter(a.streams.Out, 0, 0, 2, ' ', 0)
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
	return table.Flush()
}

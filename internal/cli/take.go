package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/takeover"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/internal/trust"
	"github.com/ralphloop/ralph/runlog"
)

// takeCommand is `ralph take`.
type takeCommand struct {
	*app
	restore bool // restore the iteration's files first
}

func newTakeCommand(a *app) *cobra.Command {
	c := &takeCommand{app: a}
	cmd := &cobra.Command{
		Use: "take [RUN] [ITER]", Short: "Continue an iteration's conversation yourself", GroupID: "work",
		Annotations: outside,
		Long: `Open the conversation of an iteration in its own agent CLI, in this terminal and
in the folder of the run. Without arguments it is the last conversation of the
newest run. The files are as they are now: for an earlier iteration, --restore
first restores the files that it left (undo with ralph restore undo).

If files of the project make the CLI run commands, such as hooks, Ralph asks for
your consent first. Close the conversation, and continue the run with the
command that ralph take prints then. What you changed counts as yours, not as
the agent's work. Processes that the conversation left running end with it, on
Linux. The exit code is that of the agent CLI.`,
		Example: `  ralph take             # the newest run, its last conversation
  ralph take 2 --restore # its second iteration, with the files it left
  ralph take 01K9 2`,
		Args: atMostTwo,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	cmd.Flags().BoolVar(&c.restore, "restore", false, "first restore the files as the iteration left them")
	return cmd
}

// conversation is the session of an iteration's agent.
type conversation struct {
	iteration      int
	agent, session string
}

func (c *takeCommand) run(ctx context.Context, args []string) error {
	name, iteration, err := runAndIteration(args)
	if err != nil {
		return err
	}
	found, err := c.findRun(ctx, name)
	if err != nil {
		return err
	}
	if owner, live := found.store.Holder(); live {
		return fmt.Errorf("%w; stop it first: ralph stop", &runlog.Locked{Path: found.workspace.Dir, Owner: owner})
	}
	said, last, err := found.conversation(iteration)
	if err != nil {
		return err
	}
	argv, err := takeover.Command(said.agent, said.session)
	if err != nil {
		return err
	}
	state, err := stateOf(found.store, found.id)
	if err != nil {
		return err
	}
	dir, err := c.prepare(ctx, found, state, said, last)
	if err != nil {
		return err
	}
	if err := c.agreeToFiles(ctx, found, state, said); err != nil {
		return err
	}
	status, err := c.converse(ctx, found, argv, dir)
	if err != nil {
		return err
	}
	if err := c.sayNext(ctx, found); err != nil {
		return err
	}
	if status != 0 {
		c.say("%s exited with status %d", said.agent, status)
		return exitStatus(status)
	}
	return nil
}

// converse runs the agent CLI until the person closes it, and ends what it leaves: a process of the agent could write
// into the checks of the next iteration.
func (c *takeCommand) converse(ctx context.Context, found foundRun, argv []string, dir string) (status int, err error) {
	shown := append([]string{filepath.Base(argv[0])}, argv[1:]...)
	c.say("starting %s in %s", process.Words(shown), term.Clean(dir))
	release, err := runlog.MarkTaken(found.store, ownerFor(found.id))
	if err != nil {
		return 0, err
	}
	status, left, err := process.Conversation{
		Attached: process.Attached{
			Argv: argv, Dir: dir, Env: c.streams.Env.Untrusted(),
			Stdin: c.streams.In, Stdout: c.streams.Out, Stderr: c.streams.Err,
		},
		Marker: takenMarker(found.id), Keep: judges(found.store),
	}.Attach(ctx)
	c.sayEnded(left)
	return status, errors.Join(err, release())
}

// agreeToFiles asks for consent to what files of the workspace make the agent CLI run, as ralph run does: the agent of
// the run may have written them, and the CLI starts without a sandbox.
func (c *takeCommand) agreeToFiles(ctx context.Context, found foundRun, state *fold.State, said conversation) error {
	if c.trustGiven() {
		return nil
	}
	there := found.workspace
	if tree := state.Started.Worktree; tree != nil {
		var err error
		if there, _, err = there.Reenter(ctx, *tree, c.streams.Env); err != nil {
			return err
		}
	}
	var own config.Settings
	own.Agent.Name, _, _ = strings.Cut(said.agent, ":") // the model
	files := assembly.AgentFiles(there, own)
	// The consent to a run is for the files of all its agents together.
	if settings, err := config.Recorded(state.Started.Settings, c.streams.Env, there.Dir); err == nil {
		all := assembly.AgentFiles(there, settings)
		if !slices.ContainsFunc(files, func(f config.NamedCommand) bool { return !slices.Contains(all, f) }) {
			files = all
		}
	}
	return c.consent(found.workspace, commandGroup{trust.AgentFiles, files})
}

// sayNext says how the run continues. The person may have called other commands of Ralph in the conversation.
func (c *takeCommand) sayNext(ctx context.Context, found foundRun) error {
	state, err := stateOf(found.store, found.id)
	if err != nil {
		return err
	}
	newest, err := c.findRun(ctx, "")
	if err != nil {
		return err
	}
	next := term.ResumeCommand(state)
	switch {
	case state.Stopped == nil && state.Started.InSession:
		c.say("the goal is still active; see it with: ralph goal status")
		return nil
	case state.Stopped == nil:
	case state.Stopped.Status == ralph.StatusCompleted:
		c.say("run %s is complete, and does not continue; for more work, start a new run", found.id)
		return nil
	case newest.id == found.id: // the other commands that it names are for the newest run
		next = term.NextCommand(state)
	}
	c.say("to continue: %s", strings.ReplaceAll(next, "ralph resume", "ralph resume "+found.id))
	return nil
}

func (c *takeCommand) say(format string, args ...any) {
	if !c.globals.quiet {
		fmt.Fprintf(c.errLines(), "ralph: "+format+"\n", args...)
	}
}

// conversation returns the conversation of an iteration, or the last one if the number is negative, and the number of
// the last iteration that has one.
func (r foundRun) conversation(iteration int) (said conversation, last int, err error) {
	for e, err := range r.events() {
		if err != nil {
			return said, last, err
		}
		outcome, ok := e.Data.(ralph.AgentOutcome)
		if !ok || outcome.Session == "" {
			continue
		}
		last = e.Iteration
		if iteration < 0 || iteration == last {
			said = conversation{last, outcome.Agent, outcome.Session}
		}
	}
	switch {
	case last == 0:
		return said, last, usage("run %s has no conversation to open: its agent reported no session", r.id)
	case said.session == "":
		return said, last, usage("iteration %d of run %s has no conversation; the last one is of iteration %d",
			iteration, r.id, last)
	}
	return said, last, nil
}

// prepare ends what a killed run or conversation left, restores the files if the user wants that, and returns where the
// run works. It does not lock the workspace: the person may call other commands of Ralph in the conversation.
func (c *takeCommand) prepare(
	ctx context.Context, found foundRun, state *fold.State, said conversation, last int,
) (string, error) {
	if err := (&session{app: c.app}).killLeftovers(found.store, found.id); err != nil {
		return "", err
	}
	if err := endTaken(c.app, found.store); err != nil {
		return "", err
	}
	if _, err := (elsewhere{c.app, found.store}).end(ctx, found.id); err != nil {
		return "", err
	}
	dir := found.workspace.Dir
	if w := state.Started.Worktree; w != nil {
		if dir = w.Path; !exists(dir) {
			return "", usage("the run's worktree %s is gone; ralph resume %s creates it again", dir, found.id)
		}
	}
	switch {
	case state.Stopped != nil:
	case state.Started.InSession:
		c.say("warning: the goal is active, so your changes count as the work of its session")
	default:
		c.say("warning: the run was killed, so your changes may count as the work of the iteration that was interrupted")
	}
	iteration := strconv.Itoa(said.iteration)
	if c.restore {
		return dir, (&restoreCommand{app: c.app}).run(ctx, []string{found.id, iteration})
	}
	if said.iteration < last {
		c.say("the files are as they are now; to restore those of iteration %s: ralph take %s %s --restore",
			iteration, found.id, iteration)
	}
	return dir, nil
}

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/reverify"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/runlog"
)

// verifyCommand is `ralph verify`.
type verifyCommand struct{ *app }

func newVerifyCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:         "verify [RUN]",
		Short:       "Rerun a run's checks on its recorded files",
		GroupID:     "look",
		Args:        atMostOne,
		Annotations: outside,
		Long: `Rerun the checks of a run's last iteration on the files that were judged,
compare the results with the record, and verify the hash chain of the log. The
workspace stays as it is, except for files that an in-place check writes. Exit 0
means everything matches, 1 means something does not.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return verifyCommand{a}.run(cmd.Context(), firstOf(args))
		},
	}
}

// verifyReport is what `ralph verify --json` prints.
type verifyReport struct {
	Run     string           `json:"run_id"`
	Holds   bool             `json:"holds"`
	Receipt string           `json:"receipt"`
	Events  int64            `json:"events"`
	Break   string           `json:"break,omitempty"` // where the log differs from what was written
	Tree    string           `json:"tree"`
	Checks  []reverify.Check `json:"checks"`
}

func (c verifyCommand) run(ctx context.Context, name string) error {
	// A signal must end the checks and remove their views.
	ctx, release := untilSignal(ctx)
	defer release()
	err := c.verify(ctx, name)
	return cmp.Or(interrupted(ctx), err)
}

func (c verifyCommand) verify(ctx context.Context, name string) error {
	ownOrphans(c.streams.Err)
	found, err := c.findRun(ctx, name)
	if err != nil {
		return err
	}
	home, store, run := found.workspace, found.store, found.id
	held, err := lock(store, "verify")
	if err != nil {
		return err
	}
	defer held.Release()
	chain, err := store.Verify(run)
	if err != nil {
		return err
	}
	report := verifyReport{Run: run, Receipt: chain.Head, Events: chain.Events}
	if chain.Break != nil {
		report.Break = fmt.Sprintf("event %d: %s", chain.Break.Seq, chain.Break.Why)
		return c.print(report) // a changed log says nothing reliable about the run
	}
	state, err := stateOf(store, run)
	if err != nil {
		return err
	}
	_, tree := reverify.Judged(state)
	report.Tree = tree.Snapshot
	if report.Checks, err = c.reverify(ctx, home, store, state); ctx.Err() != nil {
		return nil
	}
	if misuse, ok := errors.AsType[*config.UsageError](err); ok {
		events := term.Count(int(chain.Events), "event")
		msg := fmt.Sprintf("the log is intact (%s, chain %s), but %s", events, chain.Head, misuse.Msg)
		return &config.UsageError{Msg: msg, Hint: misuse.Hint}
	}
	if err != nil {
		return err
	}
	return c.print(report)
}

// reverify reruns the checks of a run in the run's workspace or worktree.
func (c verifyCommand) reverify(
	ctx context.Context,
	home workspace.Workspace,
	store *runlog.Store,
	state *fold.State,
) ([]reverify.Check, error) {
	workspace := home
	var err error
	if w := state.Started.Worktree; w != nil {
		if workspace, _, err = home.Reenter(ctx, *w, c.streams.Env); err != nil {
			return nil, err
		}
	}
	req := assembly.Request{Env: c.streams.Env, Workspace: workspace, Version: version(), Worktree: state.Started.Worktree}
	return reverify.Run(ctx, req, state, placesOf(store, state.Run, state.Started.Worktree))
}

func (c verifyCommand) print(v verifyReport) error {
	v.Holds = v.Break == ""
	for _, check := range v.Checks {
		v.Holds = v.Holds && check.Same
	}
	err := c.show(v, func(out io.Writer) { printVerified(out, v) })
	if err == nil && !v.Holds {
		return exitStatus(1)
	}
	return err
}

func printVerified(out io.Writer, v verifyReport) {
	fmt.Fprintf(out, "run %s\n", v.Run)
	if v.Break != "" {
		fmt.Fprintf(out, "✗ the log was changed: %s\n", term.Clean(v.Break))
	} else {
		fmt.Fprintf(out, "✓ the log is intact: %s, chain %s\n", term.Count(int(v.Events), "event"), v.Receipt)
	}
	for _, c := range v.Checks {
		mark, then, now := "✓", outcomeText(c.Then), outcomeText(c.Now)
		if !c.Same {
			mark = "✗"
		}
		fmt.Fprintf(out, "%s %s: %s, now %s (%s)\n", mark, term.Clean(c.Name), then, now, c.Isolation)
		if !c.Same && c.Now.Output != "" {
			fmt.Fprintf(out, "    %s\n", term.Shorten(term.Clean(c.Now.Output), 400))
		}
	}
	if v.Holds {
		fmt.Fprintf(out, "everything matches the record: %s on tree %.12s\n", term.Count(len(v.Checks), "check"), v.Tree)
	}
}

func outcomeText(f reverify.Fate) string {
	switch {
	case f.Passed:
		return "passed"
	case f.Broken:
		return "could not run"
	}
	return fmt.Sprintf("failed with exit %d", f.ExitCode)
}

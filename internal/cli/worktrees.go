package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/internal/workspace"
)

// mergeCommand is `ralph merge`.
type mergeCommand struct {
	*app
	force bool
}

func newMergeCommand(a *app) *cobra.Command {
	c := &mergeCommand{app: a}
	cmd := &cobra.Command{
		Use: "merge [RUN]", Short: "Merge a worktree's branch", GroupID: "work", Annotations: outside,
		Long: `Merge the branch of a run's worktree (default: the newest run) into the current
branch: a fast-forward if possible, else a merge commit. On a conflict, Ralph
merges nothing. A run that did not complete, or with uncommitted changes in its
worktree, needs --force.`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), firstOf(args)) },
	}
	cmd.Flags().BoolVar(&c.force, "force", false, "also merge work that is not proven, or not committed as a whole")
	return cmd
}

func (c *mergeCommand) run(ctx context.Context, name string) error {
	found, err := c.findRunOrWorktree(ctx, name)
	if err != nil {
		return err
	}
	store, run := found.store, found.id
	held, err := lock(store, run)
	if err != nil {
		return err
	}
	defer held.Release()
	state, err := stateOf(store, run)
	if err != nil {
		return err
	}
	worktree := state.Started.Worktree
	if worktree == nil {
		return usage("run %s did not use a worktree; nothing to merge", run)
	}
	if err := c.mergeable(state); err != nil {
		return err
	}
	uncommitted, err := found.workspace.Uncommitted(ctx, *worktree)
	if err != nil {
		return err
	}
	if uncommitted > 0 && !c.force {
		return usage("not merged: %s uncommitted in %s; commit there first; to merge without them: ralph merge %s --force",
			text.CountAre(uncommitted, "change"), worktree.Path, run)
	}
	result, err := found.workspace.Merge(ctx, *worktree)
	if err != nil {
		return err
	}
	var refused error
	switch {
	case !result.End.Merged():
		refused = mergeRefused(result, worktree)
	case result.End == workspace.MergeAlready && uncommitted > 0: // the work is uncommitted in the worktree
		refused = usage("not merged: %s has no commits that %s lacks; commit the work in %s first",
			result.Branch, result.Into, worktree.Path)
	case uncommitted > 0:
		fmt.Fprintf(c.streams.Err, "ralph: merged without %s in %s\n",
			text.Count(uncommitted, "uncommitted change"), term.Clean(worktree.Path))
	}
	if c.wantsJSON() {
		return c.printResult(run, result, refused)
	}
	switch {
	case refused != nil:
	case result.End == workspace.MergeAlready:
		fmt.Fprintf(c.streams.Out, "nothing to merge: %s already contains %s\n", result.Into, result.Branch)
	default:
		fmt.Fprintf(c.streams.Out, "merged %s into %s (%s, %.10s); remove the worktree with: ralph clean\n",
			result.Branch, result.Into, result.End, result.Commit)
	}
	return refused
}

// mergeable refuses work that was not proven, unless the user insists: merged, it is part of the next run's base.
func (c *mergeCommand) mergeable(state *fold.State) error {
	if c.force || state.LiveStatus() == ralph.StatusCompleted {
		return nil
	}
	problem := fmt.Sprintf("not merged: run %s did not complete (%s)", state.Run, state.LiveStatus())
	if files := state.RefusedFiles(); len(files) > 0 {
		problem += ", and it refused the changes to " + term.Clean(text.List(files))
	}
	return usage("%s; continue it with: ralph resume %s; to merge it as it is: ralph merge %s --force",
		problem, state.Run, state.Run)
}

// findRunOrWorktree finds a run by its id, or the newest run in the worktree with that name.
func (c *mergeCommand) findRunOrWorktree(ctx context.Context, name string) (foundRun, error) {
	run, err := c.findRun(ctx, name)
	if err == nil || name == "" || run.store == nil {
		return run, err
	}
	runs, _ := run.store.Runs()
	for _, r := range runs {
		state, unreadable := stateOf(run.store, r.Run)
		if unreadable != nil {
			continue
		}
		if worktree := state.Started.Worktree; worktree != nil && worktree.Branch == "ralph/"+name {
			return foundRun{run.workspace, run.store, r.Run}, nil
		}
	}
	return run, err
}

// printResult prints one JSON object for a merge or a refusal.
func (c *mergeCommand) printResult(run string, result workspace.MergeResult, refused error) error {
	object := map[string]any{
		"run_id": run,
		"result": result.End,
		"branch": result.Branch,
		"into":   result.Into,
		"commit": result.Commit,
		"files":  listed(result.Files),
	}
	if refused == nil {
		return c.printJSON(object)
	}
	object["error"], object["exit_code"] = refused.Error(), exitCode(refused)
	return cmp.Or(c.printJSON(object), error(exitStatus(exitCode(refused))))
}

func mergeRefused(result workspace.MergeResult, worktree *ralph.Worktree) error {
	files := strings.Join(result.Files, ", ")
	switch string(result.End) {
	case "conflict":
		return usage("not merged: both %s and %s changed %s; nothing was changed. Merge by hand: git merge %s",
			result.Into, result.Branch, files, result.Branch)
	case "in_the_way":
		return usage("not merged: uncommitted changes would be overwritten: %s; commit or stash them first", files)
	}
	return usage("not merged: %s; the work is in %s", strings.TrimSpace(result.Output), worktree.Path)
}

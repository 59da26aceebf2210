package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph/internal/cleanup"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/term"
)

// cleanCommand is `ralph clean`.
type cleanCommand struct {
	*app
	older              string
	keep               int
	dryRun, yes, force bool
	asked              bool // the person has seen the list
}

func newCleanCommand(a *app) *cobra.Command {
	c := &cleanCommand{app: a}
	cmd := &cobra.Command{
		Use:         "clean",
		Short:       "Remove old runs, merged worktrees and other leftovers",
		GroupID:     "keep",
		Args:        noArguments,
		Annotations: outside,
		Long: `List what earlier runs in this workspace left on the disk, and remove it after a
question:

  - old runs that have ended, with the snapshots that only they use
  - worktrees and branches whose work is merged
  - microVMs of --sandbox sbx that no run used for as long
  - old demos, and temporary files of killed processes

A run with unmerged or stashed work stays, and so does one that was interrupted:
ralph resume can continue it. Of the runs without a worktree, the newest stays.
With --force, remove unmerged worktrees as well, and old runs that were
interrupted or have stashed work.`,
		Example: `  ralph clean --dry-run
  ralph clean --older 7d --keep 5
  ralph clean --yes               # in a script`,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.older, "older", "30d", "remove runs older than `AGE`, such as 30d, 12h or 0")
	flags.IntVar(&c.keep, "keep", 20, "keep the newest `N` runs, however old they are")
	flags.BoolVar(&c.dryRun, "dry-run", false, "only list what can be removed")
	flags.BoolVarP(&c.yes, "yes", "y", false, "remove without asking")
	flags.BoolVar(&c.force, "force", false, "also remove unmerged work and interrupted runs")
	return cmd
}

func (c *cleanCommand) run(ctx context.Context) error {
	older, err := parseAge(c.older)
	switch {
	case err != nil:
		return err
	case c.keep < 0:
		return usage("--keep %d: choose a number from 0", c.keep)
	case c.dryRun && c.yes:
		return usage("--dry-run and --yes exclude each other")
	}
	ws, store, err := c.open(ctx)
	if err != nil {
		return err
	}
	in := cleanup.Input{
		Workspace: ws, Store: store, Env: c.streams.Env, Now: time.Now(), Older: older, Keep: c.keep, Force: c.force,
	}
	if c.dryRun {
		_, in.Busy = store.Holder()
	} else {
		held, err := lock(store, "clean")
		if err != nil {
			return err
		}
		defer held.Release()
	}
	items, err := cleanup.Find(ctx, in)
	if err != nil {
		return err
	}
	if c.dryRun {
		return c.list(items)
	}
	if agreed, err := c.confirm(ctx, items); err != nil || !agreed {
		return err
	}
	ownOrphans(c.streams.Err)
	ctx, release := untilSignal(ctx) // between two items nothing is half removed
	defer release()
	items, failed := cleanup.Remove(ctx, in, items)
	return cmp.Or(c.report(items), interrupted(ctx), failed)
}

// parseAge parses a length of time in days, or as everywhere else.
func parseAge(text string) (time.Duration, error) {
	number, inDays := strings.CutSuffix(text, "d")
	if days, err := strconv.ParseUint(number, 10, 17); inDays && err == nil {
		return time.Duration(days) * 24 * time.Hour, nil
	}
	length, err := config.ParseLength(text)
	if err != nil {
		return 0, usage("--older %s: choose an age such as 30d, 12h or 0", text)
	}
	return length.Duration(), nil
}

// confirm asks the person at the terminal, unless --yes was given or there is nothing to remove.
func (c *cleanCommand) confirm(ctx context.Context, items []cleanup.Item) (agreed bool, err error) {
	count, bytes := removable(items)
	if c.yes || count == 0 {
		return true, nil
	}
	if !c.canAsk() {
		return false, usage("%s can be removed (%s); pass --yes to remove without a question, or --dry-run for a list",
			term.Count(count, "item"), term.Size(bytes))
	}
	for _, item := range items {
		c.line(c.errLines(), item)
	}
	fmt.Fprintf(c.streams.Err, "Remove %s (%s)? [y/N] ", term.Count(count, "item"), term.Size(bytes))
	answer, err := c.readLine(ctx)
	if err != nil || !isYes(answer) {
		c.note("nothing was removed\n")
		return false, nil
	}
	c.asked = true
	return true, nil
}

func removable(items []cleanup.Item) (count int, bytes int64) {
	for _, item := range items {
		if item.Removable {
			count++
			bytes += item.Bytes
		}
	}
	return count, bytes
}

// list prints what can be removed, and what stays for a reason.
func (c *cleanCommand) list(items []cleanup.Item) error {
	return c.show(listed(items), func(out io.Writer) {
		for _, item := range items {
			c.line(out, item)
		}
		if count, bytes := removable(items); count > 0 {
			c.note("%s can be removed (%s)%s\n", term.Count(count, "item"), term.Size(bytes), usuallyKept(items))
		} else {
			c.note("nothing to remove%s\n", usuallyKept(items))
		}
	})
}

// report prints what was removed, and what stays for a reason.
func (c *cleanCommand) report(items []cleanup.Item) error {
	return c.show(listed(items), func(out io.Writer) {
		var freed int64
		for _, item := range items {
			if item.Removable || !c.asked {
				c.line(out, item)
			}
			if item.Removed {
				freed += item.Bytes
			}
		}
		if count, _ := removable(items); count > 0 {
			c.note("freed %s%s\n", term.Size(freed), usuallyKept(items))
		} else {
			c.note("nothing to remove%s\n", usuallyKept(items))
		}
	})
}

// note prints a line for people.
func (c *cleanCommand) note(format string, args ...any) {
	if !c.globals.quiet {
		fmt.Fprintf(c.errLines(), format, args...)
	}
}

// usuallyKept counts the runs that only stay because they are new.
func usuallyKept(items []cleanup.Item) string {
	count := 0
	for _, item := range items {
		if item.Usual {
			count++
		}
	}
	if count == 0 {
		return ""
	}
	return "; kept " + term.Count(count, "run") + " because of --older and --keep"
}

// line prints an item, unless it stays as most do.
func (c *cleanCommand) line(out io.Writer, item cleanup.Item) {
	word := "kept"
	switch {
	case item.Usual:
		return
	case item.Removed:
		word = "removed"
	case item.Removable:
		word = "can remove"
	}
	name := strings.TrimSpace(cmp.Or(item.Run, item.Branch) + " " + item.Path)
	if item.Run != "" {
		name = item.Run
	}
	fmt.Fprintf(out, "%s %s %s (%s): %s\n", word, item.Kind, term.Clean(name), term.Size(item.Bytes), term.Clean(item.Why))
}

package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/report"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/runlog"
)

const (
	formatMarkdown = "md"
	formatJSON     = "json"
)

// reportCommand is `ralph report`.
type reportCommand struct {
	*app
	format string
}

func newReportCommand(a *app) *cobra.Command {
	c := &reportCommand{app: a}
	cmd := &cobra.Command{
		Use: "report [RUN]", Short: "Write a report for a run", GroupID: "look", Args: atMostOne,
		Long: `Write a report for a run from its log: checks, gates, tasks and their costs,
what the agent claimed next to what was seen, and whether the log is intact. The
report goes to stdout. If the log was changed, the report says so and the exit
code is 74.`,
		Example: "  ralph report > proof.md\n  ralph report 01K9 --format json",
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if c.wantsJSON() && !cmd.Flags().Changed("format") {
				c.format = formatJSON
			}
			return c.check()
		},
		RunE: a.withRun(c.run),
	}
	cmd.Flags().StringVar(&c.format, "format", formatMarkdown, "report `FORMAT`: md or json")
	return cmd
}

// check refuses a format that Ralph cannot write.
func (c *reportCommand) check() error {
	switch c.format {
	case formatMarkdown, formatJSON:
	case "html", "junit", "github":
		return usage("--format %s is not available yet; choose one of: md, json", c.format)
	default:
		return usage("--format %s: choose one of: md, json", c.format)
	}
	if c.format == formatMarkdown && c.wantsJSON() {
		return usage("--format md and --json exclude each other")
	}
	return nil
}

func (c *reportCommand) run(_ context.Context, run foundRun) error {
	document, err := documentOf(run.store, run.id)
	if err != nil {
		return fmt.Errorf("report %s: %w", run.id, err)
	}
	if c.format == formatJSON {
		err = c.printJSON(document)
	} else {
		err = document.Markdown(c.streams.Out)
	}
	if broken := document.Receipt.Break; err == nil && broken != nil {
		fmt.Fprintf(c.streams.Err, "ralph: the log was changed after it was written: event %d, byte %d: %s\n",
			broken.Seq, broken.Offset, term.Clean(broken.Why))
		return exitStatus(ralph.ExitCode(ralph.IOFailed, ""))
	}
	return err
}

// documentOf folds a log into a report. The report of a damaged log covers the events before the
// damage and names the damage as its break.
func documentOf(store *runlog.Store, run string) (report.Report, error) {
	var builder report.Builder
	err := store.Read(run, func(e ralph.Event, _ []byte) error { return builder.See(e) })
	damaged, ok := errors.AsType[*runlog.Damaged](err)
	if err != nil && !ok {
		return report.Report{}, err
	}
	// Verify after reading: the log of a running run may grow in between, but it never shrinks.
	chain, err := store.Verify(run)
	if err != nil {
		return report.Report{}, err
	}
	receipt := report.Receipt{
		Head:     chain.Head,
		Recorded: chain.Recorded,
		At:       chain.At,
		Events:   chain.Events,
		Linked:   chain.Linked,
		Torn:     chain.Torn,
	}
	switch b := chain.Break; {
	case b != nil:
		receipt.Break = &report.Break{Seq: b.Seq, Offset: b.Offset, Why: b.Why}
	case damaged != nil: // the chain is intact, but a line is not a valid event
		receipt.Break = &report.Break{Seq: damaged.Line, Offset: damaged.Offset, Why: damaged.Why}
	}
	return builder.Report(receipt), nil
}

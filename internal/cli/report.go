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
		Use: "report [RUN]", Short: "Make a document of a run: what was proven, claimed and seen", GroupID: "look", Args: atMostOne,
		Long: `Make a document of a run, from its log alone: the checks and what they were run on, the gates, the tasks and what
they cost, what the agent claimed beside what was seen, and whether the log is still the one that was written.
The document comes on stdout. If the log was changed, it says so, and the status is 74.`,
		Example: "  ralph report > proof.md\n  ralph report 01K9 --format json",
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if c.wantsJSON() && !cmd.Flags().Changed("format") {
				c.format = formatJSON
			}
			return c.check()
		},
		RunE: a.withRun(c.run),
	}
	cmd.Flags().StringVar(&c.format, "format", formatMarkdown, "write the document as `FORMAT`: md or json")
	return cmd
}

// check refuses a format that cannot be written.
func (c *reportCommand) check() error {
	switch c.format {
	case formatMarkdown, formatJSON:
	case "html", "junit", "github":
		return usage("--format %s comes with a later version; md and json are there", c.format)
	default:
		return usage("--format %s: one of md, json is wanted", c.format)
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
		fmt.Fprintf(c.streams.Err, "ralph: the log is not the one that was written: event %d, byte %d: %s\n", broken.Seq, broken.Offset, term.Clean(broken.Why))
		return exit(ralph.ExitCode(ralph.IOFailed, ""))
	}
	return err
}

// documentOf folds a log into a report. Of a damaged log it tells what stands before the damage, which is then its break.
func documentOf(store *runlog.Store, run string) (report.Report, error) {
	var builder report.Builder
	err := store.Read(run, func(e ralph.Event, _ []byte) error { return builder.See(e) })
	damaged, ok := errors.AsType[*runlog.Damaged](err)
	if err != nil && !ok {
		return report.Report{}, err
	}
	chain, err := store.Verify(run) // after the reading: a run under way may have grown, but not shrunk
	if err != nil {
		return report.Report{}, err
	}
	receipt := report.Receipt{
		Head: chain.Head, Recorded: chain.Recorded, At: chain.At, Events: chain.Events, Linked: chain.Linked, Torn: chain.Torn,
	}
	switch b := chain.Break; {
	case b != nil:
		receipt.Break = &report.Break{Seq: b.Seq, Offset: b.Offset, Why: b.Why}
	case damaged != nil: // whole lines in a whole chain, but one of them means nothing
		receipt.Break = &report.Break{Seq: damaged.Line, Offset: damaged.Offset, Why: damaged.Why}
	}
	return builder.Report(receipt), nil
}

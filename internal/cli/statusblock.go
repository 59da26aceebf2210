package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/promise"
)

// statusBlockCommand is `ralph status-block`.
type statusBlockCommand struct{ *app }

func newStatusBlockCommand(a *app) *cobra.Command {
	c := statusBlockCommand{a}
	cmd := &cobra.Command{
		Use: "status-block", Short: "Check a status block before an agent prints it", GroupID: "look", Args: knownCommand,
		RunE: func(*cobra.Command, []string) error {
			return usage("missing subcommand; try: ralph status-block check < FILE")
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use: "check", Short: "Read a text with a status block from stdin and name its errors", Args: noArguments,
		Long: `Read a text from stdin and check its last status block, as a run would read it.
Print what it says, or every error with its line and how to correct it. Exits 0
if the block is valid, 1 if it is not.`,
		Example: `  ralph status-block check < answer.txt
  ralph status-block check --json < answer.txt`,
		RunE: func(*cobra.Command, []string) error { return c.check() },
	})
	return cmd
}

// maxCheckedText is far more than an agent's message.
const maxCheckedText = 16 << 20

func (c statusBlockCommand) check() error {
	if c.streams.InTerm {
		return usage("no text on stdin; try: ralph status-block check < FILE")
	}
	said, err := io.ReadAll(io.LimitReader(c.streams.In, maxCheckedText))
	if err != nil {
		return fmt.Errorf("read stdin: %w", err)
	}
	check := promise.CheckStatus(string(said))
	if err := c.show(check, func(out io.Writer) { printStatusCheck(out, check) }); err != nil {
		return err
	}
	if check.Status == nil {
		return exitStatus(1)
	}
	return nil
}

func printStatusCheck(out io.Writer, check promise.StatusCheck) {
	for _, p := range check.Problems {
		where := ""
		if p.Line > 0 {
			where = fmt.Sprintf("line %d: ", p.Line)
		}
		fmt.Fprintf(out, "%s%s; %s\n", where, term.Clean(p.Problem), p.Fix)
	}
	if check.Status == nil {
		fmt.Fprintf(out, "invalid: %s\n", text.Count(len(check.Problems), "problem"))
		return
	}
	s := check.Status
	for _, field := range []struct {
		name  string
		value any
	}{
		{"STATUS", s.State},
		{"TASKS_COMPLETED_THIS_LOOP", s.TasksCompleted},
		{"FILES_MODIFIED", s.FilesModified},
		{"TESTS_STATUS", s.Tests},
		{"WORK_TYPE", s.WorkType},
		{"EXIT_SIGNAL", s.ExitSignal},
		{"RECOMMENDATION", term.Clean(s.Recommendation)},
	} {
		fmt.Fprintf(out, "%-25s  %v\n", field.name, field.value)
	}
	for _, warning := range check.Warnings {
		fmt.Fprintf(out, "warning: %s\n", warning)
	}
	switch {
	case check.Claim:
		fmt.Fprintln(out, "valid: claims that everything is done")
	case check.Blocked:
		fmt.Fprintln(out, "valid: reports that the agent is blocked, with RECOMMENDATION as the reason")
	default:
		fmt.Fprintln(out, "valid: claims nothing")
	}
}

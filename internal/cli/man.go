package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

func newManCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "man", Short: "Print the manual page", GroupID: "keep", Args: noArguments,
		Long: "Print the manual page as roff. To read it: ralph man | man -l -",
		RunE: func(cmd *cobra.Command, _ []string) error {
			writeManual(a.streams.Out, cmd.Root())
			return nil
		},
	}
}

// writeManual writes one page for all commands. It uses the same tree as the help texts, so the
// two cannot differ.
func writeManual(out io.Writer, root *cobra.Command) {
	fmt.Fprintf(out, ".TH RALPH 1 \"\" \"ralph %s\" \"User Commands\"\n", roff(version()))
	fmt.Fprintf(out, ".SH NAME\nralph \\- %s\n", roff(root.Short))
	fmt.Fprintf(out, ".SH SYNOPSIS\n.B ralph\n.I COMMAND\n[flags]\n.SH DESCRIPTION\n%s\n", roff(root.Long))
	fmt.Fprintln(out, ".SH GLOBAL FLAGS")
	writeFlags(out, root.PersistentFlags())
	fmt.Fprintln(out, ".SH COMMANDS")
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() {
			writeCommand(out, cmd)
		}
	}
	fmt.Fprintln(out, ".SH EXIT STATUS")
	for _, kind := range ralph.Outcomes() {
		reasons := text.Mapped(kind.Reasons, func(r ralph.StopReason) string { return string(r) })
		fmt.Fprintf(out, ".TP\n.B %d\n%s %s\n", kind.Code, roff(kind.Name), roff(strings.Join(reasons, ", ")))
	}
}

func writeCommand(out io.Writer, cmd *cobra.Command) {
	fmt.Fprintf(out, ".SS \"ralph %s\"\n", roff(cmd.Use))
	for line := range strings.SplitSeq(cmp.Or(cmd.Long, cmd.Short), "\n") {
		fmt.Fprintf(out, "%s\n", roff(line))
		if line == "" || strings.HasPrefix(line, "  ") {
			fmt.Fprintln(out, ".br")
		}
	}
	writeFlags(out, cmd.LocalNonPersistentFlags())
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			fmt.Fprintf(out, ".TP\n.B ralph %s %s\n%s\n", roff(cmd.Name()), roff(sub.Use), roff(sub.Short))
		}
	}
}

func writeFlags(out io.Writer, flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		value, about := pflag.UnquoteUsage(f)
		fmt.Fprintf(out, ".TP\n\\fB%s\\fR \\fI%s\\fR\n%s\n", roff(name), roff(value), roff(about))
	})
}

// roff escapes characters that have a meaning in roff.
func roff(text string) string {
	text = strings.ReplaceAll(text, `\`, `\e`)
	text = strings.ReplaceAll(text, "-", `\-`)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}

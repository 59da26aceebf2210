package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/config"
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

// writeManual writes one page for all commands. It is made from the same tree as the help texts, so
// that the two cannot differ.
func writeManual(out io.Writer, root *cobra.Command) {
	fmt.Fprintf(out, ".TH RALPH 1 \"\" \"ralph %s\" \"User Commands\"\n", roff(version()))
	fmt.Fprintf(out, ".SH NAME\nralph \\- %s\n", roff(root.Short))
	fmt.Fprint(out, ".SH SYNOPSIS\n.B ralph\n.I COMMAND\n[flags]\n.br\n.B ralph run\n.RI [ GOAL ]\n[flags]\n"+
		".RB [ \\-\\-\n.IR \"AGENT ARGS\" ]\n")
	fmt.Fprintln(out, ".SH DESCRIPTION")
	writeText(out, root.Long)
	fmt.Fprintln(out, ".SH COMMANDS")
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() {
			writeCommand(out, cmd)
		}
	}
	fmt.Fprintln(out, ".SH GLOBAL FLAGS")
	writeFlags(out, root.PersistentFlags())
	fmt.Fprintln(out, ".SH EXIT STATUS")
	fmt.Fprintln(out, roff("Codes of ralph run and ralph resume, with the stop reasons that --json prints. "+
		"Other commands exit with 0 when they succeed and 64 on wrong usage."))
	for _, kind := range ralph.Outcomes() {
		reasons := text.Mapped(kind.Reasons, func(r ralph.StopReason) string { return string(r) })
		meaning := exitMeanings[kind.Code]
		if len(reasons) > 0 {
			meaning += " Stop reason: " + strings.Join(reasons, ", ") + "."
		}
		fmt.Fprintf(out, ".TP\n.B %d\n%s: %s\n", kind.Code, roff(kind.Name), roff(meaning))
	}
	writeSurroundings(out)
}

// writeSurroundings writes what is outside of the command line: variables, files, other pages.
func writeSurroundings(out io.Writer) {
	fmt.Fprintln(out, ".SH ENVIRONMENT")
	fmt.Fprintln(out, roff("Every configuration key can be set with a variable: RALPH_ and the key in capitals, with two "+
		"underscores for each dot, such as RALPH_CHECKS__TIMEOUT=10m. ralph config show lists all keys."))
	for _, variable := range append(config.Variables(), config.RunVariables()...) {
		writeItem(out, variable.Name, variable.Doc)
	}
	fmt.Fprintln(out, ".SH FILES")
	for _, file := range manualFiles {
		writeItem(out, file.Name, file.Doc)
	}
	fmt.Fprintln(out, ".SH SEE ALSO")
	fmt.Fprintln(out, roff("ralph help COMMAND, ralph help exit-codes, ralph help environment, git(1)"))
}

var manualFiles = []config.Variable{
	{Name: ".ralph/config.yaml", Doc: "configuration of the project; ralph init writes it"},
	{Name: ".ralph/PROMPT.md", Doc: "prompt of the project"},
	{Name: ".ralph/tasks.json", Doc: "task list; ralph tasks --help names the other formats"},
	{Name: ".ralph/STEERING.md", Doc: "instructions that go first in the next prompt"},
	{Name: ".ralph/learnings.md", Doc: "accepted learnings, part of every prompt"},
	{Name: ".ralph/progress.md", Doc: "progress of the current run"},
	{Name: "~/.config/ralph/config.yaml", Doc: "your own configuration"},
	{Name: "~/.local/state/ralph", Doc: "runs, logs and snapshots"},
}

func writeItem(out io.Writer, name, meaning string) {
	fmt.Fprintf(out, ".TP\n.B %s\n%s\n", roff(name), roff(meaning))
}

func writeCommand(out io.Writer, cmd *cobra.Command) {
	fmt.Fprintf(out, ".SS \"%s\"\n", roff(useLine(cmd)))
	writeText(out, cmp.Or(cmd.Long, cmd.Short))
	writeFlags(out, cmd.LocalNonPersistentFlags())
	if cmd.Example != "" {
		fmt.Fprintf(out, ".P\nExamples:\n.P\n")
		writeText(out, cmd.Example)
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			fmt.Fprintf(out, ".P\n.B %s\n.br\n", roff(useLine(sub)))
			writeText(out, sub.Short) // cobra's long texts about completion are for terminals
			writeFlags(out, sub.LocalNonPersistentFlags())
		}
	}
}

// useLine is how a command is called, without its flags.
func useLine(cmd *cobra.Command) string {
	_, arguments, _ := strings.Cut(cmd.Use, " ")
	return strings.TrimSpace(cmd.CommandPath() + " " + arguments)
}

// writeText writes paragraphs, which are filled, and indented lines, which are kept as they are.
func writeText(out io.Writer, paragraphs string) {
	kept := false
	for line := range strings.SplitSeq(paragraphs, "\n") {
		if indented := strings.HasPrefix(line, "  "); indented != kept {
			fmt.Fprintln(out, map[bool]string{true: ".nf", false: ".fi"}[indented])
			kept = indented
		}
		if line == "" {
			fmt.Fprintln(out, ".P")
			continue
		}
		fmt.Fprintln(out, roff(line))
	}
	if kept {
		fmt.Fprintln(out, ".fi")
	}
}

func writeFlags(out io.Writer, flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			writeItem(out, strings.TrimSpace(flagName(f)), flagMeaning(f))
		}
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

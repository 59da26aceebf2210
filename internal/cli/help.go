package cli

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/text"
)

// helpWidth is the width of help texts in columns. They fit the smallest common terminal.
const helpWidth = 80

// helpTopics are the pages of `ralph help` that are not about a command.
var helpTopics = []struct {
	name, short string
	write       func(out io.Writer)
}{
	{"exit-codes", "What each exit code means", writeExitCodes},
	{"environment", "Environment variables", writeEnvironment},
}

// newHelpCommand shows the help of a command or a topic. Unlike cobra's own command, it refuses
// unknown words.
func newHelpCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "help [COMMAND|TOPIC]", Short: "Show help for a command or topic", GroupID: "keep",
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, topic := range helpTopics {
				if len(args) == 1 && args[0] == topic.name {
					topic.write(cmd.OutOrStdout())
					return nil
				}
			}
			target, _, err := cmd.Root().Find(args)
			if err != nil || target == cmd.Root() && len(args) > 0 {
				return knownCommand(cmd.Root(), args)
			}
			return target.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			names := []string{}
			for _, c := range cmd.Root().Commands() {
				if c.IsAvailableCommand() {
					names = append(names, c.Name())
				}
			}
			for _, topic := range helpTopics {
				names = append(names, topic.name)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	var about strings.Builder
	about.WriteString("Show help for a command, or one of these topics:\n")
	for _, topic := range helpTopics {
		fmt.Fprintf(&about, "\n  %-12s %s", topic.name, topic.short)
	}
	cmd.Long = about.String()
	return cmd
}

// topicsLine names the help topics.
func topicsLine() string {
	var names []string
	for _, topic := range helpTopics {
		names = append(names, "ralph help "+topic.name)
	}
	return "Topics: " + strings.Join(names, ", ")
}

// exitMeanings say what an exit code means and what to do about it.
var exitMeanings = map[int]string{
	0: "The agent claimed completion and Ralph proved it.",
	1: "The iteration limit was reached. Continue with ralph resume --add-iterations 10.",
	2: "The agent is blocked, or a hook blocked it. " +
		`Fix the blocker or explain with ralph answer "…", then ralph resume.`,
	3:                `The agent asks for a decision. Answer with ralph answer "…", then ralph resume.`,
	7:                "Claimed, and the checks pass, but nothing shows the work. Look: ralph diff; then: ralph accept.",
	4:                "The sandbox is missing or does not work.",
	5:                "The agent is not logged in, or its key was refused. Log in with ralph login.",
	6:                "A program is missing: the agent or git. Install it; ralph doctor shows what is installed.",
	10:               "The time limit was reached. Continue with ralph resume --add-time 30m.",
	11:               "The cost or token limit was reached. Use ralph resume --add-cost 5 or --add-tokens 1000000.",
	12:               "The breaker tripped: no progress, the same error, or denied permissions. See ralph explain.",
	13:               "The agent's usage limit was reached. Continue with ralph resume after the reset.",
	14:               "A task used up its tries, or its reviews. See ralph explain.",
	15:               "The agent or its model failed several times in a row. See ralph logs.",
	16:               "A check cannot run. Make it run, then ralph resume.",
	17:               "The agent changed protected files (only with gate.tamper: stop).",
	ralph.ExitUsage:  "Wrong usage or configuration. The message says what to change.",
	70:               "A bug in Ralph. Please report it with the message.",
	74:               "Ralph could not write its state, or a log was changed.",
	ralph.ExitLocked: "Another run is using this workspace. See ralph status; stop it with ralph stop.",
	129:              "Interrupted: the terminal was closed.",
	130:              "Interrupted: Ctrl-C or ralph stop.",
	143:              "Interrupted: the process was terminated.",
}

func writeExitCodes(out io.Writer) {
	fmt.Fprintf(out, "ralph run and ralph resume exit with one of these codes:\n\n")
	for _, kind := range ralph.Outcomes() {
		writeEntry(out, fmt.Sprintf("%5d  %-16s", kind.Code, kind.Name), exitMeanings[kind.Code])
	}
	fmt.Fprint(out, `
With --exit-map soft, codes 1, 10 and 11 become 0, with a warning.
ralph run --json prints the code, its name and the exact stop reason.
`)
}

func writeEnvironment(out io.Writer) {
	fmt.Fprint(out, `Every configuration key can be set with a variable: RALPH_ and the key in
capitals, with two underscores for each dot. ralph config show lists all keys
and where their values come from.

  RALPH_MAX_ITERATIONS=25
  RALPH_CHECKS__TIMEOUT=10m

Read by Ralph:

`)
	for _, v := range config.Variables() {
		writeEntry(out, fmt.Sprintf("  %-22s", v.Name), v.Doc)
	}
	fmt.Fprint(out, "\nSet for the programs that a run starts:\n\n")
	for _, v := range config.RunVariables() {
		writeEntry(out, fmt.Sprintf("  %-22s", v.Name), v.Doc)
	}
}

// writeEntry writes a name and its meaning. The meaning is wrapped and indented after the name.
func writeEntry(out io.Writer, name, meaning string) {
	indent := text.Width(name) + 1
	for i, line := range text.Wrap(meaning, helpWidth-indent) {
		if i > 0 {
			name = strings.Repeat(" ", indent-1)
		}
		fmt.Fprintf(out, "%s %s\n", name, line)
	}
}

// flagLists finds where cobra's template lists flags.
var flagLists = regexp.MustCompile(`(\.\w+Flags)\.FlagUsages `)

// flagUsages lists flags within helpWidth columns. pflag's own list also prints the value of a
// flag that is given without one, which reads like its default.
func flagUsages(flags *pflag.FlagSet) string {
	var names, meanings []string
	widest := 0
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		names, meanings = append(names, flagName(f)), append(meanings, flagMeaning(f))
		widest = max(widest, text.Width(names[len(names)-1]))
	})
	var all strings.Builder
	for i, name := range names {
		writeEntry(&all, fmt.Sprintf("%-*s ", widest, name), meanings[i])
	}
	return all.String()
}

// flagName returns a flag as written on a command line: " -n, --max-iterations N".
func flagName(f *pflag.Flag) string {
	name := "      --" + f.Name
	if f.Shorthand != "" {
		name = "  -" + f.Shorthand + ", --" + f.Name
	}
	value, _ := pflag.UnquoteUsage(f)
	_, optional := f.Value.(*flagValue)
	switch {
	case f.NoOptDefVal == "": // it needs a value
		return strings.TrimRight(name+" "+value, " ")
	case optional && value != "": // --worktree alone, or --worktree=NAME
		return name + "[=" + value + "]"
	}
	return name
}

func flagMeaning(f *pflag.Flag) string {
	_, meaning := pflag.UnquoteUsage(f)
	switch f.DefValue {
	case "", "false", "0", "[]":
		return meaning
	}
	return fmt.Sprintf("%s (default %s)", meaning, f.DefValue)
}

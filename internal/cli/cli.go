// Package cli implements the command line, one file per command. Main runs a command and returns
// the process status.
package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/config"
)

// Streams connect the program to its standard streams, its environment and its folder.
type Streams struct {
	Args     []string
	In       io.Reader
	Out      io.Writer
	Err      io.Writer
	InTerm   bool // In is a terminal, so Ralph can ask questions
	OutTerm  bool
	ErrTerm  bool // Err is a terminal, so a person reads progress
	Width    func() int
	Env      config.Env
	Dir      string // the working directory of the call
	Self     string // the path of this executable
	StartErr error  // why Dir or Self is unknown
	Top      int    // the process above which none counts as an ancestor; 0 if all do. Tests may run in a live session
}

// System returns the streams of this process.
func System() Streams {
	s := Streams{
		Args:    os.Args[1:],
		In:      os.Stdin,
		Out:     os.Stdout,
		Err:     os.Stderr,
		Env:     config.FromOS(),
		InTerm:  term.IsTerminal(int(os.Stdin.Fd())),
		OutTerm: term.IsTerminal(int(os.Stdout.Fd())),
		ErrTerm: term.IsTerminal(int(os.Stderr.Fd())),
		Width:   terminalWidth,
	}
	if s.Dir, s.StartErr = os.Getwd(); s.StartErr == nil {
		s.Self, s.StartErr = os.Executable()
	}
	return s
}

func terminalWidth() int {
	if width, _, err := term.GetSize(int(os.Stderr.Fd())); err == nil && width > 0 {
		return width
	}
	return 80
}

// app is one call of the program, with what every command needs. Each command is a type that
// embeds it.
type app struct {
	streams Streams
	globals globals
}

// globals are the flags that every command has.
type globals struct {
	dir, config, jq, color    string
	set                       []string
	trust, json, quiet, plain bool
	verbose                   bool
}

// Main runs one command and returns the process status.
func Main(ctx context.Context, s Streams) (code int) {
	// A fatal runtime error must end with a signal. Its usual exit code 2 would be read as BLOCKED.
	debug.SetTraceback("crash")
	a := &app{streams: s}
	// Set before flags are parsed, so that an error in the flags is printed as JSON, too.
	a.globals.json = slices.Contains(s.Args, "--json")
	defer func() {
		if bug := recover(); bug != nil {
			fmt.Fprintf(s.Err, "ralph: a bug: %v\n%s", bug, debug.Stack())
			code = ralph.ExitCode(ralph.Internal, "")
		}
	}()
	if s.StartErr != nil {
		a.printError(fmt.Errorf("%w: locate this program: %w", ralph.ErrIO, s.StartErr))
		return ralph.ExitCode(ralph.IOFailed, "")
	}
	top := rootCommand{a}
	root := top.build()
	root.SetArgs(s.Args)
	err := top.checkFirstWord(root)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	if err != nil {
		a.printError(err)
	}
	return exitCode(err)
}

// rootCommand is `ralph` without a subcommand.
type rootCommand struct{ *app }

func (c rootCommand) build() *cobra.Command {
	root := &cobra.Command{
		Use:   "ralph",
		Short: "Run a coding agent in a loop until its work is proven",
		Long: `Ralph runs a coding agent (Claude Code, Codex, any command) in a loop, each
iteration with a fresh context, until the work is proven done. The agent
reports, the loop decides, exit 0 means proven.`,
		SilenceErrors: true, SilenceUsage: true,
		Args:              knownCommand,
		PersistentPreRunE: c.checkCall,
		RunE:              func(cmd *cobra.Command, _ []string) error { return c.showMenu(cmd) },
	}
	root.SetOut(c.streams.Out)
	root.SetErr(c.streams.Err)
	root.SetIn(c.streams.In)
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.HiddenDefaultCmd = false
	root.Version = versionLine() // adds --version
	root.SetVersionTemplate("{{.Version}}")
	c.globals.add(root.PersistentFlags())
	root.AddGroup(
		&cobra.Group{ID: "work", Title: "Run"},
		&cobra.Group{ID: "look", Title: "Look"},
		&cobra.Group{ID: "keep", Title: "Housekeeping"},
	)
	root.SetCompletionCommandGroupID("keep")
	root.AddCommand(commands(c.app)...)
	root.SetHelpCommand(newHelpCommand())
	cobra.AddTemplateFunc("flagUsages", flagUsages)
	usage := flagLists.ReplaceAllString(root.UsageTemplate(), "flagUsages $1 ")
	const more = "for more information about a command."
	usage = strings.Replace(usage, more, more+"{{if not .HasParent}}\n"+topicsLine()+"{{end}}", 1)
	root.SetUsageTemplate(usage)
	root.InitDefaultHelpCmd()
	strictCompletion(root)
	// Only completion requests need these.
	if strings.HasPrefix(firstOf(c.streams.Args), cobra.ShellCompRequestCmd) {
		c.addCompletions(root)
	}
	return root
}

// showMenu runs `ralph` without a command. A person can choose from three commands. A script gets
// the help text and a usage error.
func (c rootCommand) showMenu(cmd *cobra.Command) error {
	if !c.streams.InTerm || !c.streams.ErrTerm {
		cmd.SetOut(c.streams.Err)
		if err := cmd.Help(); err != nil {
			return fmt.Errorf("print help: %w", err)
		}
		return usage("no command; try: ralph demo")
	}
	fmt.Fprint(c.streams.Err, `Ralph runs a coding agent until its work is proven.

  1  watch the whole loop on a sample project, no key needed   ralph demo
  2  run an agent here on a goal of yours                      ralph run "…"
  3  check what is installed                                   ralph doctor

Which? [1] `)
	in := bufio.NewReader(c.streams.In)
	answer, err := in.ReadString('\n')
	if err != nil { // the terminal was closed before a choice
		fmt.Fprintln(c.streams.Err)
		return nil
	}
	switch strings.TrimSpace(answer) {
	case "", "1":
		return runInstead(cmd, "demo")
	case "2":
		fmt.Fprint(c.streams.Err, "What should the agent do? ")
		goal, _ := in.ReadString('\n')
		return runInstead(cmd, "run", "--goal", strings.TrimSpace(goal))
	case "3":
		return runInstead(cmd, "doctor")
	}
	return usage("%q is not an option; choose 1, 2 or 3", strings.TrimSpace(answer))
}

// runInstead runs another command in place of this one.
func runInstead(cmd *cobra.Command, args ...string) error {
	root := cmd.Root()
	root.SetArgs(args)
	return root.ExecuteContext(cmd.Context())
}

// commands returns all commands in the order of the help text.
func commands(a *app) []*cobra.Command {
	return []*cobra.Command{
		newRunCommand(a),
		newResumeCommand(a),
		newGoalCommand(a),
		newTakeCommand(a),
		newMergeCommand(a),
		newRestoreCommand(a),
		newDemoCommand(a),
		newInitCommand(a),
		newPlanCommand(a),
		newTasksCommand(a),
		newSteerCommand(a),
		newLimitCommand(a),
		newAnswerCommand(a),
		newAcceptCommand(a),
		newStopCommand(a),
		newPauseCommand(a),
		newStatusCommand(a),
		newRunsCommand(a),
		newLogsCommand(a),
		newDiffCommand(a),
		newExplainCommand(a),
		newReportCommand(a),
		newReplayCommand(a),
		newVerifyCommand(a),
		newLearningsCommand(a),
		newStatusBlockCommand(a),
		newCleanCommand(a),
		newInstallCommand(a),
		newUninstallCommand(a),
		newDoctorCommand(a),
		newSandboxCommand(a),
		newLoginCommand(a),
		newConfigCommand(a),
		newSchemaCommand(a),
		newMCPCommand(a),
		newManCommand(a),
		newVersionCommand(a),
		newHookCommand(a),
		newDemoAgentCommand(a),
		newDevCommand(a),
	}
}

func (g *globals) add(flags *pflag.FlagSet) {
	flags.StringVarP(&g.dir, "dir", "C", "", "work in `DIR`")
	flags.StringVarP(&g.config, "config", "c", "", "read `FILE` instead of the project's config")
	flags.StringArrayVar(&g.set, "set", nil, "set a config `key=value`")
	flags.BoolVar(&g.trust, "trust", false, "trust commands defined by this project")
	flags.BoolVar(&g.json, "json", false, "print JSON on stdout")
	flags.StringVar(&g.jq, "jq", "", "filter JSON with a jq `EXPR`")
	flags.BoolVar(&g.quiet, "quiet", false, "print only the result")
	flags.BoolVar(&g.plain, "plain", false, "print plain lines even on a terminal")
	flags.BoolVar(&g.verbose, "verbose", false, "print each message and tool call of the agent")
	flags.StringVar(&g.color, "color", "auto", "color output `WHEN`: auto, always or never")
}

// outside annotates the commands with which an agent could steer or pay for its own run.
var outside = map[string]string{"outside runs": "only"}

// byPeople annotates those of them that speak for a person, also to a run that has ended. An agent in a live session,
// such as one that ralph take opened, must not call them either.
var byPeople = map[string]string{"outside runs": "only", "by people": "only"}

// checkCall refuses invalid global flags, and commands that must not be called inside a run.
func (c rootCommand) checkCall(cmd *cobra.Command, _ []string) error {
	if err := c.checkGlobals(); err != nil || cmd.Annotations["outside runs"] == "" {
		return err
	}
	name := strings.TrimPrefix(cmd.CommandPath(), "ralph ")
	if err := c.outsideOnly(cmd.Context(), name); err != nil {
		return err
	}
	if agent := c.streams.Env.Session.Agent; agent != "" && cmd.Annotations["by people"] != "" {
		return usage("ralph %s was called inside a session of %s; only a person can do that, in a terminal outside of the "+
			"session", name, agent)
	}
	return nil
}

// checkGlobals refuses invalid values of global flags. Without it, a mistake in --jq would only
// show at the end of a run.
func (c rootCommand) checkGlobals() error {
	switch c.globals.color {
	case "auto", "always", "never":
	default:
		return usage("--color %s: choose one of: auto, always, never", c.globals.color)
	}
	if _, err := c.query(); err != nil {
		return err
	}
	return config.CheckSet(c.globals.set)
}

// checkFirstWord refuses an unknown command before cobra parses the call. Followed by --help,
// cobra would print the general help for any word and exit with 0.
func (c rootCommand) checkFirstWord(root *cobra.Command) error {
	word := firstOf(c.streams.Args)
	if word == "" || strings.HasPrefix(word, "-") || strings.HasPrefix(word, cobra.ShellCompRequestCmd) {
		return nil
	}
	if slices.ContainsFunc(root.Commands(), func(known *cobra.Command) bool { return known.Name() == word }) {
		return nil
	}
	return knownCommand(root, c.streams.Args)
}

// strictCompletion makes cobra's completion command refuse an unknown shell.
func strictCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args = cobra.ArbitraryArgs
			c.RunE = func(*cobra.Command, []string) error {
				return usage("ralph completion needs a shell: bash, zsh, fish or powershell")
			}
		}
	}
}

// plannedCommands are in the contract but not implemented yet.
var plannedCommands = []string{"ui", "serve", "stats", "notify"}

// plannedAs are other words for a planned command.
var plannedAs = map[string]string{"dashboard": "serve", "web": "serve", "tui": "ui"}

// knownCommand returns a usage error for an unknown command and suggests the nearest one.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if name := cmp.Or(plannedAs[args[0]], args[0]); slices.Contains(plannedCommands, name) {
		return usage("ralph %s is not available yet", name)
	}
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	if near := config.Nearest(args[0], names); near != "" {
		return usage("unknown command %q; did you mean %q?", args[0], near)
	}
	return usage("unknown command %q; ralph --help lists the commands", args[0])
}

// flagError turns an error of the flag parser into a usage error. It says which values fit, or
// suggests the flag with the nearest name.
func flagError(cmd *cobra.Command, err error) error {
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		flag := wrong.GetFlag()
		valid := map[string]string{"float64": "a number", "int": "a whole number", "bool": "true or false"}
		choice := cmp.Or(valid[flag.Value.Type()], "another value")
		return usage("--%s %s: choose %s", flag.Name, wrong.GetValue(), choice)
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return usage("%s", err)
	}
	name := unknown.GetSpecifiedName()
	if unknown.GetSpecifiedShortnames() != "" {
		return usage("unknown flag -%s; %s --help lists the flags", name, cmd.CommandPath())
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := config.Nearest(name, names); near != "" {
		return usage("unknown flag --%s; did you mean --%s?", name, near)
	}
	return usage("unknown flag --%s; %s --help lists the flags", name, cmd.CommandPath())
}

// The number of arguments that a command takes.
var (
	noArguments = atMost(0, "no argument, got %q")
	atMostOne   = atMost(1, "at most one argument, got %q too")
	atMostTwo   = atMost(2, "at most two arguments, got %q too")
)

func atMost(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return usage("%s takes "+what, cmd.CommandPath(), args[n])
		}
		return nil
	}
}

// exactlyOne refuses any number of arguments but one. The parameter says what the command needs.
func exactlyOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usage("ralph %s %s", strings.TrimPrefix(cmd.CommandPath(), "ralph "), what)
		}
		return nil
	}
}

func firstOf(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// wordsAreArguments annotates a command that also works without a subcommand. The contract lists
// its subcommands as arguments.
const wordsAreArguments = "words are arguments"

// Commands lists the commands that a user can call, with their parent commands, such as "config
// show".
func Commands() []string {
	var names []string
	var walk func(prefix string, commands []*cobra.Command)
	walk = func(prefix string, commands []*cobra.Command) {
		for _, c := range commands {
			if c.Hidden {
				continue
			}
			name := strings.TrimSpace(prefix + " " + c.Name())
			if c.HasSubCommands() && c.Annotations[wordsAreArguments] == "" {
				walk(name, c.Commands())
			} else {
				names = append(names, name)
			}
		}
	}
	walk("", commands(&app{}))
	return append(names, "completion", "help") // added by cobra on execution
}

// RunFlags lists the flags of `ralph run` that work in this version, without the global ones.
func RunFlags() []string {
	var names []string
	newRunCommand(&app{}).Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}

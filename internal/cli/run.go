package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/internal/textfile"
	"github.com/ralphloop/ralph/loop"
	"github.com/ralphloop/ralph/runlog"
)

// runOptions are the flags of run that are not config keys.
type runOptions struct {
	goal                         string
	hasGoal, once, dryRun, login bool
	values                       map[string]*flagValue // flags that are config keys
}

// flagValue keeps the text given for a flag. Package config parses it, so that only one place
// knows which values are valid.
type flagValue struct {
	key    config.Key
	values []string
}

func (v *flagValue) String() string { return strings.Join(v.values, ", ") }
func (v *flagValue) Type() string   { return v.key.Metavar }

func (v *flagValue) Set(text string) error {
	if !v.key.Repeats() {
		v.values = nil
	}
	v.values = append(v.values, text)
	return nil
}

// runCommand is `ralph run`.
type runCommand struct {
	*app
	options *runOptions
}

func newRunCommand(a *app) *cobra.Command {
	opts := &runOptions{values: map[string]*flagValue{}}
	c := runCommand{a, opts}
	cmd := &cobra.Command{
		Use: "run [GOAL] [-- AGENT ARGS]", Short: "Run an agent until its work is proven", GroupID: "work",
		Long: `Run an agent in a loop, each iteration with a fresh context, until checks that
Ralph runs itself prove its claim of completion, the agent needs you, or a limit
is reached. Exit 0 means proven.`,
		Example: `  ralph run "make the tests pass"
  ralph run                     # works through the project's task list
  ralph run --spec spec.md --check "go test ./..." -n 25 --max-cost 5
  ralph run "fix the parser" --agent-cmd 'my-agent --stdin' --check ./check.sh`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&opts.goal, "goal", "", "the goal as `TEXT`; - reads it from stdin")
	flags.BoolVar(&opts.once, "once", false, "one iteration")
	flags.BoolVar(&opts.dryRun, "dry-run", false, "print the prompt, commands and limits without starting anything")
	flags.BoolVar(&opts.login, "login", false, "log in to the agent, then exit")
	addKeyFlags(flags, opts.values)
	return cmd
}

// addKeyFlags adds a flag for every config key that has one. Flags of a later version are hidden;
// using one returns an error that says so.
func addKeyFlags(flags *pflag.FlagSet, values map[string]*flagValue) {
	for _, key := range config.Keys() {
		if key.Flag != "" && key.Flag != "trust" {
			addKeyFlag(flags, values, key)
		}
	}
}

func addKeyFlag(flags *pflag.FlagSet, values map[string]*flagValue, key config.Key) {
	value := &flagValue{key: key}
	values[key.Flag] = value
	flag := flags.VarPF(value, key.Flag, key.Short, key.Doc+keyNote(key))
	flag.NoOptDefVal, flag.Hidden = key.Bare, !key.Ready()
	if key.Kind == config.Switch {
		flag.NoOptDefVal = "true"
	}
}

// keyNote lists the choices and the default of a key.
func keyNote(key config.Key) string {
	var notes []string
	choices := slices.DeleteFunc(slices.Clone(key.Choices), func(choice string) bool {
		return choice == config.DefaultAgent // it is what no choice means
	})
	if len(choices) > 1 {
		notes = append(notes, strings.Join(choices, ", "))
	}
	if key.Default != "" && key.Default != "0" {
		notes = append(notes, "default "+strings.ReplaceAll(key.Default, "\n", ", "))
	}
	if len(notes) == 0 || key.Kind == config.Switch {
		return ""
	}
	return " (" + strings.Join(notes, "; ") + ")"
}

// flagValues returns the flags that were set, in the form that config reads.
func (o *runOptions) flagValues() map[string][]string {
	given := written(o.values)
	if o.once {
		given["once"] = []string{"true"}
	}
	return given
}

// written returns the values of the flags that were set.
func written(values map[string]*flagValue) map[string][]string {
	given := map[string][]string{}
	for name, value := range values {
		if value.values != nil {
			given[name] = value.values
		}
	}
	return given
}

func (c runCommand) run(cmd *cobra.Command, args []string) error {
	ctx, opts := cmd.Context(), c.options
	ownOrphans(c.streams.Err)
	opts.hasGoal = cmd.Flags().Changed("goal")
	words, agentArgs := splitAtDash(cmd, args)
	goal, err := c.goal(words)
	if err != nil {
		return err
	}
	workspace, err := c.workspace(ctx)
	if err != nil {
		return err
	}
	loaded, err := c.load(workspace, c.fromHere(workspace, opts.flagValues()))
	if err != nil {
		return err
	}
	if opts.login {
		if err := c.outsideOnly(ctx, "run --login"); err != nil {
			return err
		}
		return loginCommand{c.app}.start(ctx, loaded.Settings, agentArgs)
	}
	// They are recorded with the settings, so that a resume has them, too.
	loaded.Settings.Agent.Args = append(loaded.Settings.Agent.Args, agentArgs...)
	var tasks []config.NamedCommand
	files := assembly.AgentFiles(workspace, loaded.Settings)
	if !opts.dryRun { // a dry run starts no command of the project
		usesTaskList := loaded.Settings.Tasks.File != "" || goal == nil && loaded.Settings.Spec == ""
		if usesTaskList {
			tasks = assembly.TaskCommands(workspace, loaded.Settings)
		}
		if err := c.agree(workspace, loaded, tasks, files); err != nil {
			return err
		}
		if err := agreeToGit(ctx, c.app, workspace, loaded.Settings); err != nil {
			return err
		}
	}
	plan, err := assembly.Prepare(ctx, assembly.Request{
		Env: c.streams.Env, Settings: loaded.Settings, Workspace: workspace, Goal: goal, Version: version(),
		Self: c.streams.Self, Trusting: loaded.Settings.Trust, Agreed: tasks, AgentFiles: files,
	})
	if err != nil {
		return err
	}
	if opts.dryRun {
		return c.dryRun(ctx, plan)
	}
	if err := plan.MissingKey(); err != nil {
		return err
	}
	s := &session{app: c.app, plan: plan}
	end := s.begin(ctx)
	return c.askToAccept(ctx, &s.state, end)
}

// splitAtDash splits the arguments at "--".
func splitAtDash(cmd *cobra.Command, args []string) (words, after []string) {
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		return args[:at], args[at:]
	}
	return args, nil
}

// wordAfter is the argument that follows a flag on the command line, or else the first that is one word.
func (c runCommand) wordAfter(flag string, words []string) string {
	all := c.streams.Args
	if i := slices.Index(all, flag); i >= 0 && i+1 < len(all) && isOneWord(all[i+1]) && slices.Contains(words, all[i+1]) {
		return all[i+1]
	}
	return words[max(slices.IndexFunc(words, isOneWord), 0)]
}

func isOneWord(s string) bool { return !strings.ContainsAny(s, " \t\n") }

// goal returns the goal of the call. It is nil if none was given, which is not the same as an
// empty one.
func (c runCommand) goal(words []string) (*string, error) {
	opts := c.options
	switch {
	case len(words) > 1:
		if tree := opts.values["worktree"].values; len(tree) > 0 && tree[len(tree)-1] == "true" {
			return nil, usage("name a worktree with =, as in --worktree=%s", c.wordAfter("--worktree", words))
		}
		return nil, usage("the goal must be one argument; put it in quotes: ralph run %q", strings.Join(words, " "))
	case len(words) == 1 && opts.hasGoal:
		return nil, usage("the goal is given both as an argument and with --goal; choose one")
	case len(words) == 0 && !opts.hasGoal:
		return nil, nil
	}
	goal, err := givenGoal(cmp.Or(firstOf(words), opts.goal), c.streams.In)
	return &goal, err
}

// givenGoal returns the goal that a user gave: the word itself, or for "-" what is on stdin.
func givenGoal(word string, in io.Reader) (string, error) {
	if word != "-" {
		return word, nil
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return "", fmt.Errorf("read goal: %w", err)
	}
	if len(text) > 0 && !textfile.IsText(string(text)) {
		return "", usage("the goal on stdin is not text in UTF-8")
	}
	return string(text), nil
}

// dryRun prints what a run would do.
func (c runCommand) dryRun(ctx context.Context, plan *assembly.Plan) error {
	commands, err := plan.Commands()
	if err != nil {
		return err
	}
	evaluator, err := plan.EvaluatorCommand()
	if err != nil {
		return err
	}
	store, err := c.storeOf(plan.Workspace)
	if err != nil {
		return err
	}
	asked := openQuestion(store)
	text, err := plan.FirstPrompt(ctx, idleInbox{store}, loop.WithQuestion(asked.text, asked.steering))
	if err != nil {
		return err
	}
	if c.wantsJSON() {
		return c.printJSON(map[string]any{
			"workspace":     plan.Workspace.Dir,
			"agent":         plan.AgentName(),
			"command":       commands[0].Argv,
			"fallbacks":     commands[1:],
			"checks":        plan.Checks,
			"hidden_checks": listed(plan.Settings.Checks.Hidden),
			"isolation":     plan.Settings.Checks.Isolation,
			"tests":         plan.Settings.Tests,
			"evaluator":     evaluator,
			"policy":        plan.Policy,
			"hooks":         plan.Settings.Hooks,
			"prompt":        text,
		})
	}
	out := c.streams.Out
	fmt.Fprintf(out, "workspace: %s\n", term.Clean(plan.Workspace.Dir))
	fmt.Fprintf(out, "agent: %s\ncommand: %s\n", plan.AgentName(), term.Clean(process.Words(commands[0].Argv)))
	for _, c := range commands[1:] {
		role := "fallback"
		if c.Escalation {
			role = "escalation"
		}
		fmt.Fprintf(out, "%s: %s\ncommand: %s\n", role, c.Agent, term.Clean(process.Words(c.Argv)))
	}
	each := func(name string, texts []string) {
		for _, text := range texts {
			fmt.Fprintf(out, "%s: %s\n", name, term.Clean(text))
		}
	}
	if tests := plan.Settings.Tests; tests.Enabled() {
		fmt.Fprintf(out, "tests first: %s\n", term.Clean(cmp.Or(tests.By, tests.Command)))
	}
	each("check", plan.Checks)
	each("hidden check", plan.Settings.Checks.Hidden)
	fmt.Fprintf(out, "isolation: %s\n", plan.Settings.Checks.Isolation)
	fmt.Fprintf(out, "protected: %s\n", term.Clean(strings.Join(plan.Protected, ", ")))
	if evaluator != nil {
		command := process.Words(evaluator.Argv)
		fmt.Fprintf(out, "evaluator: %s\ncommand: %s\n", term.Clean(evaluator.Agent), term.Clean(command))
	}
	each("hook", plan.Settings.Hooks.Lines())
	for _, n := range plan.Notices {
		fmt.Fprintf(out, "note: %s\n", term.Clean(n.Text))
	}
	if err := plan.MissingKey(); err != nil {
		fmt.Fprintf(out, "note: %v\n", err)
	}
	fmt.Fprintf(out, "limits: %s\n\n%s", limitsText(plan), term.CleanText(text))
	return nil
}

func limitsText(plan *assembly.Plan) string {
	p := plan.Policy
	return fmt.Sprintf(
		"iterations %s, time %s, cost %s, tokens %s, iteration timeout %s, idle timeout %s",
		orNone(p.MaxIterations),
		orNone(p.MaxTime),
		orNone(p.MaxCost),
		orNone(p.MaxTokens),
		orNone(p.IterationTimeout),
		silenceLimit(plan),
	)
}

// silenceLimit says how long an agent may be silent. The built-in worker can have a different
// limit.
func silenceLimit(plan *assembly.Plan) string {
	limit := orNone(plan.Policy.IdleTimeout)
	if own := plan.WorkerSilence(); own > 0 && own != plan.Policy.IdleTimeout {
		return fmt.Sprintf("%s for the worker, %s for fallbacks", own, limit)
	}
	return limit
}

// idleInbox is the inbox of a run that has not started: it has messages, but no orders.
type idleInbox struct{ *runlog.Store }

func (idleInbox) Poll() (ralph.Orders, error) { return ralph.Orders{}, nil }

// orNone formats a limit. Zero means that there is none.
func orNone[T comparable](limit T) string {
	var none T
	if limit == none {
		return "none"
	}
	return fmt.Sprint(limit)
}

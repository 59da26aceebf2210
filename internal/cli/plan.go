package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/planner"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/internal/trust"
	"github.com/ralphloop/ralph/internal/workspace"
)

// planOptions are the flags of plan.
type planOptions struct {
	brief, tasks, answers, turns string
	words                        []string
	keep, force, hasTurns        bool
	maxTurns                     int                   // turns, parsed; 0: the default
	values                       map[string]*flagValue // flags that are config keys
}

func newPlanCommand(a *app) *cobra.Command {
	opts := &planOptions{values: map[string]*flagValue{}}
	p := &planning{app: a, options: opts, in: bufio.NewReader(a.streams.In)}
	cmd := &cobra.Command{
		Use:         "plan [BRIEF]",
		Short:       "Let a model or agent read the project, ask you, and write tasks",
		GroupID:     "work",
		Annotations: outside,
		Long: `Let a model write a task list. It reads the project's files, changes none, asks
you what the files do not say, and writes tasks with criteria and checks. Ralph
lints the list before writing it. The brief is an argument, a file, or stdin.

The model is set with planner.* or worker.*, or with ANTHROPIC_API_KEY or
OPENAI_API_KEY. If none of these is set, or with --agent or --agent-cmd, an
agent CLI plans in its read-only mode: the configured one, or the first on PATH.

Without a terminal, answers come from --answers FILE; a question without an
answer exits with 3. The file is a JSON object of questions and answers, or
Markdown with a line "## question" above each answer. An answer belongs to the
question with the same words, ignoring case and punctuation. A JSON key between
slashes, "/old API/", is a regular expression that answers every question it
matches; so is a key with a character no sentence has (^ $ * | \ [ { .+ (? or
a ? inside a word). A JSON list, or one line per answer, answers questions in
order.`,
		Example: `  ralph plan "users can log in with a passkey"
  ralph plan --brief feature.md --answers answers.md
  ralph plan "and log out again" --keep-existing`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.words, opts.hasTurns = args, cmd.Flags().Changed("max-turns")
			return p.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&opts.brief, "brief", "", "read the brief from `FILE`, or - for stdin")
	flags.StringVar(&opts.tasks, "tasks", "", "write the list to `FILE` (default .ralph/tasks.json)")
	flags.BoolVar(&opts.keep, "keep-existing", false, "append to the existing tasks")
	flags.BoolVar(&opts.force, "force", false, "replace the list; tasks that are done are never lost")
	flags.StringVar(&opts.answers, "answers", "", "read answers from `FILE`")
	flags.StringVar(&opts.turns, "max-turns", "", fmt.Sprintf(
		"stop after `N` calls of a model (default %d) or an agent CLI (default %d)",
		planner.DefaultTurns, planner.DefaultAgentTurns,
	))
	for _, key := range config.Keys() {
		if slices.Contains([]string{"agent", "agent-cmd", "max-cost", "max-tokens", "allow-unmetered"}, key.Flag) {
			addKeyFlag(flags, opts.values, key)
		}
	}
	return cmd
}

// check refuses flags that exclude each other or are invalid.
func (o *planOptions) check() error {
	switch {
	case len(o.words) > 1:
		return usage("the brief must be one argument; put it in quotes: ralph plan %q", strings.Join(o.words, " "))
	case len(o.words) == 1 && o.brief != "":
		return usage("the brief is given both as an argument and with --brief; choose one")
	case o.keep && o.force:
		return usage("--keep-existing and --force exclude each other")
	}
	if !o.hasTurns {
		return nil
	}
	var err error
	if o.maxTurns, err = strconv.Atoi(o.turns); err != nil || o.maxTurns < 1 || o.maxTurns > 1000 {
		return usage("--max-turns %s: choose a whole number from 1 to 1000", o.turns)
	}
	return nil
}

// old says what to do with an existing list.
func (o *planOptions) old() planner.OldList {
	switch {
	case o.keep:
		return planner.OldListKept
	case o.force:
		return planner.OldListReplaced
	}
	return planner.OldListRefused
}

// planning is `ralph plan`: an interview from this terminal.
type planning struct {
	*app
	options   *planOptions
	workspace workspace.Workspace
	planner   *planner.Planner
	answers   *planner.Answers // nil without --answers
	in        *bufio.Reader
}

func (p *planning) run(ctx context.Context) error {
	if err := p.options.check(); err != nil {
		return err
	}
	if err := p.prepare(ctx); err != nil { // Ctrl-C just ends the process here
		return err
	}
	outliveReaders()
	if p.planner.IsAgent() {
		ownOrphans(p.streams.Err)
	}
	ctx, release := untilSignal(ctx)
	defer release()
	talked, err := p.talk(ctx)
	if ctx.Err() != nil { // write nothing after a stop, even if the plan is complete
		talked.Status, talked.End, talked.Error = "interrupted", ralph.EndInterrupted, "interrupted; nothing was written"
		err = nil
	}
	if err != nil {
		return err
	}
	report := planReport{Interview: talked, planning: p, reason: planner.StopReason(talked)}
	if killed, ok := errors.AsType[ralph.Killed](context.Cause(ctx)); ok {
		report.signal = killed.Signal
	}
	if report.reason == "" {
		report.File, report.landing = p.land(talked)
	}
	return report.tell()
}

// prepare finds every error that can be found before it asks the user for anything.
func (p *planning) prepare(ctx context.Context) error {
	workspace, err := p.app.workspace(ctx)
	if err != nil {
		return err
	}
	opts, flags := p.options, written(p.options.values)
	if opts.tasks != "" {
		flags["tasks"] = []string{opts.tasks}
	}
	loaded, err := p.load(workspace, p.fromHere(workspace, flags))
	if err != nil {
		return err
	}
	if err := p.mayEdit(workspace); err != nil {
		return err
	}
	request := planner.Request{
		Request: assembly.Request{
			Env: p.streams.Env, Settings: loaded.Settings, Workspace: workspace, Version: version(),
			Trusting: loaded.Settings.Trust,
		},
		Old:        opts.old(),
		AgentNamed: flags["agent"] != nil || flags["agent-cmd"] != nil,
	}
	if err := p.agreeToPlanner(loaded, &request); err != nil {
		return err
	}
	p.workspace = workspace
	if opts.answers != "" {
		if p.answers, err = planner.ReadAnswers(absolute(p.here(), opts.answers)); err != nil {
			return err
		}
	}
	return p.editList(workspace, func() (err error) { // first repairs the list of an interrupted run
		p.planner, err = planner.New(request)
		return err
	})
}

// agreeToPlanner asks for consent if the project's files say where to send a key, what an agent runs,
// or where to write the list. Planning does not run the other commands of the project.
func (p *planning) agreeToPlanner(loaded config.Loaded, request *planner.Request) error {
	keys, files := request.Consent()
	request.AgentFiles = files
	if loaded.Settings.Trust {
		return nil
	}
	groups := []commandGroup{{trust.AgentFiles, files}}
	matters := func(c config.NamedCommand) bool { return slices.Contains(keys, c.Key) }
	if slices.ContainsFunc(loaded.ProjectCommands, matters) {
		groups = append([]commandGroup{{trust.Project, loaded.ProjectCommands}}, groups...)
	}
	return p.consent(request.Workspace, groups...)
}

// talk gets the brief and holds the interview.
func (p *planning) talk(ctx context.Context) (planner.Interview, error) {
	brief, err := p.brief(ctx)
	if err == nil {
		err = planner.CheckBrief(brief)
	}
	if err != nil {
		return planner.Interview{}, err
	}
	p.say("planning with %s", p.planner.Describe())
	if late := p.planner.Late(); late != "" {
		p.say("%s", late)
	}
	return p.planner.Interview(ctx, planner.Talk{Brief: brief, MaxTurns: p.options.maxTurns, Ask: p.ask, Live: p.live})
}

// brief returns the brief from the argument, a file or stdin, or asks for it.
func (p *planning) brief(ctx context.Context) (string, error) {
	o := p.options
	switch {
	case len(o.words) == 1:
		return o.words[0], nil
	case o.brief != "" && o.brief != "-":
		return await(ctx, func() (string, error) { return readBrief(absolute(p.here(), o.brief)) })
	case o.brief == "-" || !p.streams.InTerm:
		text, err := await(ctx, func() (string, error) { return allOf(p.in) })
		if err == nil && strings.TrimSpace(text) == "" {
			return "", usage("no brief; pass one: ralph plan \"what you want\", --brief FILE, or pipe it in")
		}
		return text, err
	case !p.personThere():
		return "", usage("no brief; pass one: ralph plan \"what you want\", or --brief FILE")
	}
	return await(ctx, func() (string, error) {
		return questions{p.app, p.in}.line("What should be planned? (one line; use --brief FILE for more) ")
	})
}

func readBrief(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", usage("--brief: %v", err)
	}
	defer file.Close()
	text, err := allOf(file)
	switch {
	case err != nil:
		return "", usage("--brief: %v", err)
	case strings.TrimSpace(text) == "":
		return "", usage("--brief %s: the file is empty", path)
	}
	return text, nil
}

// allOf reads a brief, up to just enough to see that it is too long.
func allOf(in io.Reader) (string, error) {
	const bytesOfCharacter = 4
	data, err := io.ReadAll(io.LimitReader(in, bytesOfCharacter*planner.BriefLimit+1))
	if err != nil {
		return "", fmt.Errorf("read brief: %w", err)
	}
	return strings.ToValidUTF8(strings.TrimPrefix(string(data), "\ufeff"), "\ufffd"), nil
}

// personThere reports whether Ralph can ask a person.
func (p *planning) personThere() bool { return p.streams.InTerm && !p.globals.quiet }

// ask answers a question of the model from the answers file, or else asks the person at the
// terminal.
func (p *planning) ask(ctx context.Context, q planner.Question) (answer string, ok bool, err error) {
	if p.answers != nil {
		if answer, ok, err = p.answers.Ask(ctx, q); ok || err != nil {
			p.printGiven()
			return answer, ok, err
		}
	}
	if !p.personThere() {
		return "", false, nil
	}
	out := p.streams.Err
	fmt.Fprintf(out, "\nQuestion %d: %s\n", q.Number, indentedAfter(q.Text, "  "))
	for i, option := range q.Options {
		fmt.Fprintf(out, "  %d  %s\n", i+1, term.Clean(option))
	}
	answer, err = p.typed(ctx, q)
	if errors.Is(err, io.EOF) { // the terminal was closed
		return "", false, nil
	}
	return answer, err == nil, err
}

// typed reads an answer from the terminal. A number that is not an option is probably a typo, so
// it asks once more.
func (p *planning) typed(ctx context.Context, q planner.Question) (string, error) {
	out, choose := p.streams.Err, ""
	if len(q.Options) > 0 {
		choose = "a number, or "
	}
	for tries := 0; ; tries++ {
		fmt.Fprintf(out, "Answer (%syour own words; press Enter to let the planner decide): ", choose)
		answer, err := p.line(ctx)
		fmt.Fprintln(out)
		if err != nil || tries > 0 || !q.Misses(answer) {
			return answer, err
		}
		fmt.Fprintf(out, "There is no option %s; type it again to use the number itself as your answer.\n", answer)
	}
}

// printGiven shows the last answer that was taken from the file.
func (p *planning) printGiven() {
	given := p.answers.Given()
	last := given[len(given)-1]
	p.say("  asks: %s", term.Clean(last.Question))
	how := ""
	if last.Key == "" {
		how = " (the next one in the file)"
	}
	p.say("  answer of %s: %s%s", p.options.answers, term.Clean(last.Answer), how)
}

// line reads a line from the person. It returns io.EOF if the input ended without one.
func (p *planning) line(ctx context.Context) (string, error) {
	return await(ctx, func() (string, error) {
		text, err := p.in.ReadString('\n')
		if err != nil && strings.TrimSpace(text) == "" {
			return "", io.EOF
		}
		return strings.TrimSpace(text), nil
	})
}

// await calls read and waits for it until ctx is done. A read of a terminal or a pipe cannot be
// canceled: an abandoned one ends with the process.
func await(ctx context.Context, read func() (string, error)) (string, error) {
	done := make(chan func() (string, error), 1)
	go func() {
		text, err := read()
		done <- func() (string, error) { return text, err }
	}()
	select {
	case result := <-done:
		return result()
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// live prints what the model does, one line each.
func (p *planning) live(a ralph.Activity) {
	switch a.Kind {
	case "tool":
		p.say("  %s", strings.TrimSpace(term.Clean(a.Name)+" "+term.Clean(a.Detail)))
	case "plan":
		p.say("    %s", term.Clean(a.Detail))
	case "text":
		p.say("  says: %s", term.Clean(a.Detail))
	case "retry":
		p.say("  tries again: %s", term.Clean(a.Detail))
	}
}

func (p *planning) say(format string, args ...any) {
	if !p.globals.quiet {
		fmt.Fprintf(p.errLines(), format+"\n", args...)
	}
}

// land writes the list while no run can start. A paused run accepts the change like any other
// edit.
func (p *planning) land(talked planner.Interview) (file string, err error) {
	store, err := p.storeOf(p.workspace)
	if err != nil {
		return "", err
	}
	if _, live := store.Holder(); live {
		if err := p.mayEdit(p.workspace); err != nil {
			return "", err
		}
	} else {
		held, err := lock(store, "plan")
		if err != nil {
			return "", err
		}
		defer held.Release()
	}
	err = p.editList(p.workspace, func() (err error) {
		file, err = p.planner.Land(talked)
		return err
	})
	return file, err
}

// indentedAfter cleans a text and indents all lines but the first.
func indentedAfter(words, indent string) string {
	return strings.Join(text.Mapped(strings.Split(strings.TrimSpace(words), "\n"), term.Clean), "\n"+indent)
}

package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/models"
	"github.com/ralphloop/ralph/internal/project"
	"github.com/ralphloop/ralph/internal/setup"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/internal/trust"
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/runlog"
)

// initCommand is `ralph init`.
type initCommand struct {
	*app
	yes bool // use everything found, without asking
}

func newInitCommand(a *app) *cobra.Command {
	c := &initCommand{app: a}
	cmd := &cobra.Command{
		Use:         "init",
		Short:       "Set up a project: choose its checks and its agent",
		GroupID:     "work",
		Args:        noArguments,
		Annotations: outside,
		Long: `Look at the project and write .ralph/config.yaml with every check it supports
(test, lint, types, format, e2e). On a terminal you choose. Existing files are
not changed.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	cmd.Flags().BoolVar(&c.yes, "yes", false, "use everything found, without asking")
	return cmd
}

// initReport is what `ralph init --json` prints.
type initReport struct {
	Workspace string             `json:"workspace"`
	Written   []string           `json:"written"`
	Kept      []string           `json:"kept"`
	Checks    []string           `json:"checks"`
	Proposed  []project.Proposal `json:"proposed"`
	Proof     string             `json:"proof"` // what a claim must prove
	Agent     string             `json:"agent"` // "" is the first one found
	Tasks     string             `json:"tasks"`
	Prompt    string             `json:"prompt"`
}

func (c *initCommand) run(ctx context.Context) error {
	if len(c.globals.set) > 0 || c.globals.config != "" {
		return usage("ralph init writes the project's config file; --set and -c have no effect here")
	}
	workspace, err := c.workspace(ctx)
	if err != nil {
		return err
	}
	survey := setup.Look(workspace)
	choice, err := c.choice(survey)
	if err != nil {
		return err
	}
	done, err := choice.Write(workspace)
	if err != nil {
		return err
	}
	report := initReport{
		Workspace: workspace.Dir,
		Written:   listed(done.Written),
		Kept:      listed(done.Kept),
		Checks:    listed(choice.Checks),
		Proposed:  listed(survey.Proposals),
		Proof:     cmp.Or(choice.Proof, string(ralph.ProofShown)),
		Agent:     choice.Agent,
		Tasks:     survey.Tasks,
		Prompt:    survey.Prompt,
	}
	notes, err := c.agreeToOwn(workspace, done)
	if err != nil {
		return err
	}
	return c.show(report, func(io.Writer) { c.print(report, survey, notes) })
}

// listed copies a list so that JSON shows an empty one as [], not as null.
func listed[T any](list []T) []T { return append([]T{}, list...) }

// choice returns what goes into the config file. If there is one already, it returns what that
// file says.
func (c *initCommand) choice(survey setup.Survey) (setup.Choice, error) {
	switch {
	case !survey.Configured && c.yes:
		return survey.Everything(), nil
	case !survey.Configured:
		return c.chooseByAsking(survey)
	}
	loaded, err := c.load(survey.Workspace, map[string][]string{})
	return setup.Choice{
		Checks: loaded.Settings.Checks.Commands,
		Agent:  loaded.Settings.Agent.Name,
		Proof:  loaded.Settings.Gate.Proof,
	}, err
}

// errNoAnswer means that the input ended before an answer.
var errNoAnswer = &config.UsageError{Msg: "no answer; nothing was written"}

// chooseByAsking asks about every proposed check, about what a claim must prove, and about the agent.
func (c *initCommand) chooseByAsking(survey setup.Survey) (setup.Choice, error) {
	var choice setup.Choice
	if !c.streams.InTerm || c.globals.quiet {
		return choice, usage("no terminal to ask on; take everything found with: ralph init --yes")
	}
	ask := questions{c.app, bufio.NewReader(c.streams.In)}
	fmt.Fprintf(
		c.streams.Err,
		"Project %s. What must pass before work counts as done?\n",
		term.Clean(survey.Workspace.Dir),
	)
	tests := 0
	for _, proposal := range survey.Proposals {
		taken, err := ask.proposal(proposal)
		switch {
		case err != nil:
			return choice, err
		case !taken:
			choice.Others = append(choice.Others, proposal)
			continue
		}
		choice.Checks = append(choice.Checks, proposal.Command)
		if proposal.Kind == "test" {
			tests++
		}
	}
	if tests == 0 {
		command, err := ask.line("  a command that exits 0 when the work is done (Enter for none): ")
		if err != nil {
			return choice, err
		}
		if command != "" {
			choice.Checks = append(choice.Checks, command)
		}
	}
	if len(choice.Checks) > 0 {
		unbroken, err := ask.yes(`  Is it enough that these checks still pass, as after a refactoring?
  If not, a check that failed before, or a new test, must show the work. [y/N] `, "n")
		if err != nil {
			return choice, err
		}
		if unbroken {
			choice.Proof = string(ralph.ProofUnbroken)
		}
	}
	var err error
	choice.Agent, err = ask.agent(survey.Agents)
	return choice, err
}

// questions asks for one line at a time.
type questions struct {
	*app
	in *bufio.Reader
}

// line asks a question and returns the answer without surrounding blanks.
func (q questions) line(question string) (string, error) {
	fmt.Fprint(q.streams.Err, question)
	answer, err := q.in.ReadString('\n')
	if err != nil && strings.TrimSpace(answer) == "" {
		fmt.Fprintln(q.streams.Err)
		return "", errNoAnswer
	}
	return strings.TrimSpace(answer), nil
}

// proposal asks about a check. The default is yes if a run would use it.
func (q questions) proposal(proposal project.Proposal) (bool, error) {
	because, choices, byDefault := proposal.Because, "[Y/n]", "y"
	if proposal.Missing != "" {
		because += "; " + proposal.Missing + " is not on PATH"
	}
	if !proposal.Used() {
		choices, byDefault = "[y/N]", "n"
	}
	command := term.Clean(proposal.Command)
	question := fmt.Sprintf("  %s: %s (%s) %s ", proposal.Kind, command, term.Clean(because), choices)
	return q.yes(question, byDefault)
}

// yes asks until the answer is yes or no.
func (q questions) yes(question, byDefault string) (bool, error) {
	for {
		answer, err := q.line(question)
		if err != nil {
			return false, err
		}
		switch strings.ToLower(cmp.Or(answer, byDefault)) {
		case "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		}
	}
}

// agent asks which agent to use. With fewer than two there is nothing to choose.
func (q questions) agent(found []string) (string, error) {
	if len(found) < 2 {
		return "", nil
	}
	fmt.Fprintf(q.streams.Err, "Which agent?\n  1  the first one found on PATH, currently %s\n", found[0])
	for i, name := range found {
		fmt.Fprintf(q.streams.Err, "  %d  %s\n", i+2, name)
	}
	for {
		answer, err := q.line("[1] ")
		if err != nil {
			return "", err
		}
		if answer == "" || answer == "1" {
			return "", nil
		}
		if n, err := strconv.Atoi(answer); err == nil && n >= 2 && n < len(found)+2 {
			return found[n-2], nil
		}
	}
}

// agreeToOwn records consent to the commands of the configuration that was just written, because
// the user has just chosen them, unless an agent did. Commands in other files were not chosen, so the next run asks
// about them.
func (c *initCommand) agreeToOwn(workspace workspace.Workspace, done setup.Result) (notes []string, err error) {
	if !done.Wrote() {
		return nil, nil
	}
	loaded, err := c.load(workspace, map[string][]string{})
	if err != nil {
		return nil, fmt.Errorf("read what was written: %w", err)
	}
	if others := assembly.AgentFiles(workspace, loaded.Settings); len(others) > 0 {
		return []string{"ralph run will ask you to trust " + others[0].File + ", which defines commands"}, nil
	}
	switch {
	case len(loaded.ProjectCommands) == 0:
		return nil, nil
	case agentCalls(c.app, workspace):
		return []string{"ralph run will ask you to trust the commands: an agent called ralph init"}, nil
	}
	return nil, trust.In(c.streams.Env.StateDir).
		Grant(runlog.WorkspaceID(workspace.Dir), trust.Project, trust.Digest(loaded.ProjectCommands), time.Now())
}

// print lists the written files on stdout, and the next steps on stderr.
func (c *initCommand) print(report initReport, survey setup.Survey, notes []string) {
	for _, name := range report.Written {
		fmt.Fprintf(c.streams.Out, "wrote %s\n", name)
	}
	for _, name := range report.Kept {
		fmt.Fprintf(c.streams.Out, "kept %s\n", name)
	}
	if c.globals.quiet {
		return
	}
	out := c.errLines()
	fmt.Fprintf(
		out,
		"\nChecks   %s\nAgent    %s\n",
		term.Clean(checksLine(report, survey)),
		c.agentLine(report.Agent, survey),
	)
	if report.Proof == string(ralph.ProofUnbroken) {
		fmt.Fprintln(out, "Proof    unbroken: checks that pass before and after are enough")
	}
	if report.Tasks != "" {
		fmt.Fprintf(out, "Tasks    %s\n", report.Tasks)
	}
	if !survey.Workspace.Git {
		notes = append(notes, "no git repository here: runs work in place, without commits, worktrees or snapshots")
	}
	if forgotten := notAmong(report.Checks, survey.Proposals); survey.Configured && forgotten != "" {
		notes = append(notes, "found but not used as a check: "+forgotten)
	}
	for _, proposal := range survey.Proposals {
		if proposal.Missing != "" && slices.Contains(report.Checks, proposal.Command) {
			notes = append(notes, fmt.Sprintf("%s is not on PATH: install it, or change checks.commands in %s",
				proposal.Missing, config.ProjectFile))
		}
	}
	for _, note := range notes {
		fmt.Fprintf(out, "Note     %s\n", term.Clean(note))
	}
	fmt.Fprintln(out, "\nNext")
	steps, width := nextSteps(report, c.missingFlags(report, survey)), 0
	for _, step := range steps {
		width = max(width, len(step[0])+1, 34)
	}
	for _, step := range steps {
		fmt.Fprintf(out, "  %-*s %s\n", width, step[0], step[1])
	}
}

// notAmong lists the proposals that are not among the checks.
func notAmong(checks []string, proposals []project.Proposal) string {
	var others []string
	for _, proposal := range proposals {
		if !slices.Contains(checks, proposal.Command) {
			others = append(others, proposal.Command)
		}
	}
	return strings.Join(others, ", ")
}

func checksLine(report initReport, survey setup.Survey) string {
	if len(report.Checks) == 0 {
		return "none; a run detects its checks or takes --check"
	}
	line := strings.Join(report.Checks, ", ")
	for _, check := range report.Checks {
		if !slices.ContainsFunc(
			survey.Proposals,
			func(g project.Proposal) bool { return g.Command == check && g.Kind != "test" },
		) {
			return line
		}
	}
	return line + " (none of them runs tests, so passing them does not show that the work is done)"
}

func (c *initCommand) agentLine(chosen string, survey setup.Survey) string {
	switch {
	case chosen != "":
		return chosen
	case len(survey.Agents) > 0:
		return survey.Agents[0] + ", the first one found on PATH"
	}
	if text, ready := c.builtIn(survey); ready {
		return "none found on PATH; use the built-in worker with --agent worker; " + text
	}
	return "none found on PATH; pass a command with --agent-cmd, or set an API key and use --agent worker"
}

// builtIn says which model the built-in worker would use, and whether it has one.
func (c *initCommand) builtIn(survey setup.Survey) (text string, ready bool) {
	return models.BuiltIn(models.Request{Env: c.streams.Env, Dir: survey.Workspace.Dir})
}

// missingFlags returns what a run here needs on its command line, because init found neither checks nor an agent.
func (c *initCommand) missingFlags(report initReport, survey setup.Survey) (flags string) {
	isTest := func(p project.Proposal) bool { return p.Kind == project.KindTest }
	if len(report.Checks) == 0 && !slices.ContainsFunc(survey.Proposals, isTest) {
		flags = " --check CMD"
	}
	if report.Agent != "" || len(survey.Agents) > 0 {
		return flags
	}
	if _, ready := c.builtIn(survey); ready {
		return flags + " --agent worker"
	}
	return flags + " --agent-cmd CMD"
}

// nextSteps returns commands that work in the project as it is now, each with what it does. Runs get the flags.
func nextSteps(report initReport, flags string) [][2]string {
	run := "ralph run" + flags
	goal := [2]string{`ralph run "what to do"` + flags, "work on a goal"}
	live := [2]string{"ralph install claude", "or codex: goals for a session that you work in"}
	switch {
	case report.Tasks != "":
		return [][2]string{{run, "work through " + report.Tasks}, goal, live}
	case report.Prompt == setup.LoosePrompt:
		return [][2]string{{"ralph run --prompt " + report.Prompt + flags, "work on what it says"}, goal, live}
	case report.Prompt != "":
		return [][2]string{{run, "work on what " + report.Prompt + " says"}, goal, live}
	}
	return [][2]string{goal, {`ralph tasks add "a first task"`, "start a task list; then: " + run}, live}
}

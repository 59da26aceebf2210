// Package assembly turns settings into a ready loop. It is the only package that knows every
// adapter.
package assembly

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/project"
	"github.com/ralphloop/ralph/internal/proof/protect"
	"github.com/ralphloop/ralph/internal/secrets"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/loop"
	"github.com/ralphloop/ralph/plan"
	"github.com/ralphloop/ralph/verify"
)

// notifyTimeout keeps a hanging notify.command from delaying the exit.
const notifyTimeout = 10 * time.Second

// Request describes a run before it is prepared.
type Request struct {
	Env       config.Env
	Settings  config.Settings
	Workspace workspace.Workspace
	Goal      *string // nil if none was given: the goal is then the spec or a prompt file
	Version   string
	Demo      bool
	Program   string                // the demo's agent; "" for a real agent
	Self      string                // this program, which serves a run's tools; "" offers none
	Trusting  bool                  // the user trusts all commands, so every task's own checks may run
	Agreed    []config.NamedCommand // the commands that may run otherwise
	// AgentFiles are the effects of repository files on agents that the user agreed to. A user who
	// trusts everything agrees to those that exist at the start.
	AgentFiles []config.NamedCommand
	Resumed    bool                // the goal, list and prompt come from the run's record alone
	Worktree   *ralph.Worktree     // the run's worktree; nil if it has none
	Protected  []string            // what a resumed run protects; nil detects it
	Base       string              // the snapshot of a resumed run's base; "" if it has none
	Tests      *ralph.TestsWritten // tests that a resumed run was given; nil if there are none
	Session    string              // the agent is a live session of this name, which Ralph does not start; "" if not
	Mask       *secrets.Masker     // of the user's secrets; set by MaskSecrets
	Begun      map[string]int      // conversations that a resumed run has begun with models, by role: worker, evaluator
}

// Plan is a run that is ready to start: everything has been found, and nothing has begun.
type Plan struct {
	Request
	Goal       string
	PromptFile string
	Checks     []string
	Policy     ralph.Policy
	Notices    []ralph.Notice
	Walls      Walls
	TaskFile   string        // "" without a list
	agents     []chosenAgent // the first agent and its fallbacks
	list       *plan.List    // before the run; nil without one, and in a resumed run

	protect   protect.Rules
	hiddenDir string       // "" without one
	evaluator *chosenAgent // nil without one
	author    *chosenAgent // writes acceptance tests; nil without one
	run       string       // the run's id, once it has one
}

// Prepare finds everything that the run needs. Its errors say what is missing and how to fix it.
func Prepare(ctx context.Context, req Request) (*Plan, error) {
	if req.Settings.Worktree == "false" {
		req.Settings.Worktree = ""
	}
	p := &Plan{Request: req, Policy: req.Settings.Policy()}
	if !req.Resumed {
		p.absoluteScripts()
	}
	if err := p.MaskSecrets(); err != nil {
		return nil, err
	}
	if p.Policy.Claim == ralph.ClaimOptional && p.Policy.ChecksWhen == ralph.ChecksOnClaim {
		return nil, &config.UsageError{
			Msg:  "gate.claim is optional and checks.when is claim: without a claim, no check would ever run",
			Hint: "change one of them",
		}
	}
	if err := p.findGoal(); err != nil {
		return nil, err
	}
	if err := p.findChecks(); err != nil {
		return nil, err
	}
	if err := p.checkMasks(); err != nil {
		return nil, err
	}
	p.Goal, p.Checks = p.Mask.String(p.Goal), text.Mapped(p.Checks, p.Mask.String)
	p.lintTasks()
	if err := p.checkRepository(ctx); err != nil {
		return nil, err
	}
	walls, said, err := chooseWalls(ctx, req)
	if err != nil {
		return nil, err
	}
	p.Walls, p.Notices = walls, append(p.Notices, said...)
	if err := p.findAgent(); err != nil {
		return nil, err
	}
	warnWithheld(p)
	warnUnusedHooks(p)
	if err := p.prepareProof(); err != nil {
		return nil, err
	}
	if err := p.findAuthor(); err != nil {
		return nil, err
	}
	if err := tryAgents(ctx, p); err != nil {
		return nil, err
	}
	if worst, known := p.worstCaseNotice(); known {
		p.Notices = append(p.Notices, worst)
	}
	weak := weakGates(p.Policy)
	if req.Settings.Gate.Proof == string(ralph.ProofQuick) {
		weak = append(weak, "gate.proof quick")
	}
	if len(weak) > 0 && !req.Demo {
		p.notice("weak_gates", "weaker than the default: "+strings.Join(weak, ", "))
	}
	if !p.Workspace.Git {
		why := "no git repository"
		if p.lacksGit() {
			why = "git is not on PATH"
		}
		p.notice("no_git", why+": no commits, worktrees or snapshots, and gate.unfinished is off")
		p.Policy.Unfinished = ralph.UnfinishedOff
	}
	return p, nil
}

// weakGates names the settings of gates that let more pass than the default does, wherever they come from.
func weakGates(p ralph.Policy) []string {
	var weak []string
	add := func(isWeak bool, setting string) {
		if isWeak {
			weak = append(weak, setting)
		}
	}
	add(!p.Canary, "checks.canary off")
	add(!p.Baseline, "checks.baseline false")
	add(p.Shown == ralph.ShownOff || p.Shown == ralph.ShownWarn, "gate.shown "+string(p.Shown))
	add(p.Proof == ralph.ProofUnbroken, "gate.proof unbroken")
	add(p.TestChange == ralph.TestsWarn, "gate.test_change warn")
	add(p.Unfinished == ralph.UnfinishedOff, "gate.unfinished off")
	add(p.Claim == ralph.ClaimOptional, "gate.claim optional")
	add(slices.ContainsFunc(p.Protects, func(glob string) bool { return strings.HasPrefix(glob, "!") }), "protect with !")
	return weak
}

func (p *Plan) notice(code, text string) {
	p.Notices = append(p.Notices, ralph.Notice{Code: code, Text: text})
}

// checkMasks refuses commands that Ralph could not restore from the record of the run, which has masks in place of
// secrets. Another command would run instead, with a secret in it.
func (p *Plan) checkMasks() error {
	if p.Resumed {
		return nil
	}
	bad, err := p.Settings.NotRestored(p.Mask)
	if err != nil {
		return fmt.Errorf("record settings: %w", err)
	}
	for _, check := range p.Checks {
		if bad == "" && !p.Mask.Restores(check) {
			bad = p.Mask.String(check)
		}
	}
	if bad == "" {
		return nil
	}
	return &config.UsageError{
		Msg:  "a setting cannot be recorded without changing it: " + bad,
		Hint: "it has a secret after a backslash, or a text like [masked:NAME]; use the variable instead",
	}
}

// findChecks uses the given checks, or detects one. It rejects a run that nothing could prove
// before any agent starts.
func (p *Plan) findChecks() error {
	if p.Resumed {
		p.Checks = p.Settings.Checks.Commands
		return nil
	}
	checks, found := RunChecks(p.Workspace, p.Settings)
	p.Checks = checks
	for _, check := range p.Checks {
		if strings.TrimSpace(check) == "" {
			return &config.UsageError{Msg: "--check: the command is empty"}
		}
		if strings.Contains(check, "{tests}") && (p.TaskFile == "" || p.Settings.Checks.TaskTests == "") {
			return &config.UsageError{
				Msg:  "{tests} in a check needs a task list and checks.task_tests",
				Hint: "work through a task list and set checks.task_tests, such as tests/test_{id}_*.py",
			}
		}
	}
	if found == nil && len(checks) > 0 {
		return nil
	}
	if len(checks) > 0 {
		p.notice("check_detected", "detected: "+found.Because)
		for _, passed := range found.PassedOver {
			p.notice("check_passed_over", passed)
		}
		return nil
	}
	switch unproven, anyProven := unprovenTasks(p.list); {
	case len(p.Settings.Checks.Hidden) > 0:
		p.notice("hidden_checks_only", "no visible checks: hidden checks prove the agent's claims")
		return nil
	case anyProven && len(unproven) == 0:
		p.notice("own_checks_only", "no run-wide checks: each task is proven by its own checks")
		return nil
	case p.Settings.Evaluator.Enabled():
		p.notice("evaluator_only", "no checks: the evaluator alone decides what is done")
		return nil
	case len(p.Settings.Gate.VerifierTools) > 0:
		p.notice("tools_only", "no checks: a call of "+strings.Join(p.Settings.Gate.VerifierTools, " or ")+
			" by the agent itself proves its claim, and the result says proof: reported")
		return nil
	case anyProven && !p.Settings.AllowUnverified:
		return &config.UsageError{
			Msg: "nothing could prove " + strings.Join(unproven[:min(5, len(unproven))], ", ") +
				": neither the run nor the task has a check",
			Hint: "pass one with --check, or give each task its own",
		}
	case p.Settings.AllowUnverified:
		p.notice("unverified", "no checks: Ralph accepts the agent's claim and marks the result unverified")
		return nil
	}
	why := ""
	if found.Because != "" {
		why = " (" + found.Because + ")"
	}
	return &config.UsageError{
		Msg: "nothing could prove completion: no check given and none detected" + why,
		Hint: `pass one with --check "command that exits 0 when the work is done", ` +
			`or accept unverified claims with --allow-unverified`,
	}
}

// RunChecks returns the configured checks, or the detected ones together with how they were
// detected.
func RunChecks(w workspace.Workspace, s config.Settings) (checks []string, found *project.Detection) {
	if len(s.Checks.Commands) > 0 {
		return s.Checks.Commands, nil
	}
	detected, _ := project.Detect(w.Dir)
	return detected.Commands, &detected
}

func (p *Plan) findAgent() error {
	if p.Session != "" {
		p.agents = []chosenAgent{{name: p.Session}}
		if len(p.Settings.Gate.VerifierTools) > 0 {
			return &config.UsageError{
				Msg:  "gate.verifier_tools: Ralph does not see the tool calls of a live session, so every claim would be refused",
				Hint: "unset it and pass a command with --check",
			}
		}
		return nil
	}
	if p.Program != "" {
		dialect, _ := agent.Find("claude")
		p.agents = []chosenAgent{{name: "demo", options: agent.Options{
			Dialect: dialect, Name: "demo", Path: p.Program, Env: p.Env.Environ, Permissions: agent.PermitEdits,
		}}}
		return nil
	}
	chosen, err := p.chooseAgents(p.Checks, p.Walls.tier)
	if err != nil {
		return err
	}
	if err := checkMeters(p.Settings, chosen); err != nil {
		return err
	}
	blind, err := checkTools(p.Settings, chosen)
	if err != nil {
		return err
	}
	p.agents = chosen
	if alone := len(chosen) == 1; alone && chosen[0].by != nil {
		p.Policy.IdleTimeout = p.WorkerSilence()
	}
	p.Notices = append(p.Notices, chosen[0].permissionNotice(p.Walls.tier, p.AgentFiles))
	p.Notices = withOwn(p.Notices, p.Workspace.Dir, chosen...)
	p.noticeLate(p.Settings, chosen...)
	if text := reserveNotice(p.Settings, chosen); text != "" {
		p.notice("reserve_unknown", text)
	}
	if blind != "" {
		p.notice("tools_unseen", blind)
	}
	if names := fallbacks(chosen); len(names) > 0 {
		text := "when " + p.AgentName() + " cannot continue: " + strings.Join(names, ", then ")
		if len(p.Settings.Agent.Args) > 0 {
			text += "; arguments after -- are for " + p.AgentName() + " alone"
		}
		p.notice("fallback", text)
	}
	if last := chosen[len(chosen)-1]; last.escalation {
		p.notice("escalation", fmt.Sprintf("%s takes over work after %s or a tripped breaker", last.name,
			text.Count(p.Settings.Agent.EscalateAfter, "refused claim")))
	}
	return nil
}

// AgentName returns the name of the first agent.
func (p *Plan) AgentName() string { return p.agents[0].name }

// Dialects returns the names of the CLIs that the run uses: its agents, the evaluator and the author of tests.
func (p *Plan) Dialects() []string {
	chosen := slices.Clone(p.agents)
	for _, other := range []*chosenAgent{p.evaluator, p.author} {
		if other != nil {
			chosen = append(chosen, *other)
		}
	}
	chosen = slices.DeleteFunc(chosen, func(c chosenAgent) bool { return c.by != nil })
	return text.Mapped(chosen, func(c chosenAgent) string { return c.options.Dialect.Name() })
}

// fallbacks returns the names of the fallback agents.
func fallbacks(chosen []chosenAgent) []string {
	others := slices.DeleteFunc(slices.Clone(chosen[1:]), func(c chosenAgent) bool { return c.escalation })
	return text.Mapped(others, func(c chosenAgent) string { return c.name })
}

// Command is a command line of one of the plan's agents, for --dry-run.
type Command struct {
	Agent string   `json:"agent"`
	Argv  []string `json:"command"`
	// Escalation marks the agent that only takes over what others failed at.
	Escalation bool `json:"escalation,omitempty"`
}

// Commands returns the agents' command lines.
func (p *Plan) Commands() ([]Command, error) {
	var all []Command
	for _, c := range p.agents {
		command, err := c.command()
		if err != nil {
			return nil, err
		}
		command.Escalation = c.escalation
		all = append(all, command)
	}
	return all, nil
}

// command returns the agent's command line. The built-in worker is no program, so its command is
// the name of its model.
func (c chosenAgent) command() (Command, error) {
	if c.by != nil {
		return Command{Agent: c.name, Argv: []string{c.by.String()}}, nil
	}
	made, err := agent.New(c.options).Command("PROMPT_FILE", c.model)
	if err != nil {
		return Command{}, fmt.Errorf("make command line: %w", err)
	}
	return Command{Agent: c.name, Argv: made.Argv}, nil
}

// EvaluatorCommand returns the evaluator's command line, for --dry-run. It is nil without an
// evaluator.
func (p *Plan) EvaluatorCommand() (*Command, error) {
	if p.evaluator == nil {
		return nil, nil
	}
	command, err := p.evaluator.command()
	return &command, err
}

// FirstPrompt returns the prompt of iteration 1, for --dry-run. inbox holds the messages to the
// next run.
func (p *Plan) FirstPrompt(ctx context.Context, inbox ralph.Inbox, question loop.Option) (string, error) {
	options := []loop.Option{
		loop.WithPolicy(p.Policy), loop.WithChecker(verify.Shell{}), loop.WithInbox(inbox), question,
	}
	if p.list != nil {
		options = append(options, loop.WithTasks(readOnlyList{p.list}))
	}
	loop, err := loop.New(p.loopConfig(), append(options, toolOptions(p.Request, "")...)...)
	if err != nil {
		return "", err
	}
	built, err := loop.Preview(ctx)
	return built.Text, err
}

// Notify runs notify.command when a person is needed. The command gets the outcome in its
// environment, and its failure does not change the outcome.
func (r Request) Notify(ctx context.Context, result ralph.Result) error {
	command := r.Settings.Notify.Command
	if command == "" {
		return nil
	}
	env := append(r.Env.Untrusted(),
		"RALPH_NOTIFY_STATUS="+string(result.Status),
		"RALPH_NOTIFY_RUN="+result.RunID,
		"RALPH_NOTIFY_TEXT="+r.Mask.String(result.Summary))
	spec := process.Spec{
		Argv: process.Shell(command), Dir: r.Workspace.Dir, Env: env, Timeout: notifyTimeout, Guarded: true,
	}
	ended, err := process.Run(ctx, spec)
	if err != nil {
		return fmt.Errorf("run notify.command: %w", err)
	}
	if ended.ExitCode != 0 {
		return fmt.Errorf("run notify.command: exit status %d", ended.ExitCode)
	}
	return nil
}

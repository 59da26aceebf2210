package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/internal/trust"
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/runlog"
)

// resumeChanges are the settings that a resume may change.
type resumeChanges struct {
	iterations, time, cost, tokens string // what to add to each limit
	agent, command, model          string
}

// resumeCommand is `ralph resume`.
type resumeCommand struct {
	*app
	changes resumeChanges
}

func newResumeCommand(a *app) *cobra.Command {
	c := &resumeCommand{app: a}
	cmd := &cobra.Command{
		Use: "resume [RUN]", Short: "Continue a stopped run", GroupID: "work", Annotations: outside,
		Long: `Continue the newest run in this workspace, or the named one, with its recorded
settings. Earlier spending counts, so raise a limit that was reached. A paused
run continues.`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), firstOf(args)) },
	}
	flags, more := cmd.Flags(), &c.changes
	more.addLimitFlags(flags)
	flags.StringVar(&more.agent, "agent", "", "continue with agent `NAME`")
	flags.StringVar(&more.command, "agent-cmd", "", "continue with the command `CMD` as the agent")
	flags.StringVar(&more.model, "model", "", "continue with model `M`")
	return cmd
}

func (c *resumeCommand) run(ctx context.Context, name string) error {
	ownOrphans(c.streams.Err)
	if len(c.globals.set) > 0 || c.globals.config != "" {
		return usage("a run continues with its recorded settings; --set and -c have no effect; " +
			"use --add-iterations, --add-time, --add-cost, --add-tokens, --agent, --agent-cmd or --model")
	}
	found, err := c.findRun(ctx, name)
	if err != nil {
		return err
	}
	store, run := found.store, found.id
	if err := noGoal(store); err != nil {
		return err
	}
	if owner, live := store.Holder(); live && owner.Run == run {
		return c.unpause(store, owner)
	}
	var state *fold.State
	err = c.reopenRun(store, run, func(s *session) error {
		if _, err := (elsewhere{c.app, store}).end(ctx, run); err != nil {
			return err
		}
		state = &s.state
		if state.Stopped != nil && state.Stopped.Status == ralph.StatusCompleted {
			if !c.globals.quiet {
				fmt.Fprintf(c.errLines(), "run %s is complete; nothing was started\n", run)
			}
			return s.finish(ctx, state, state.Result(), "hard")
		}
		if state.Started.InSession {
			return usage("run %s is the goal of a session; %s", run, continueGoal(state))
		}
		if err := noneTaken(c.app, store); err != nil {
			return err
		}
		if s.plan, err = c.rebuildPlan(ctx, found.workspace, s, c.agreeToResume(found.workspace)); err != nil {
			return err
		}
		if err := s.plan.MissingKey(); err != nil {
			return err
		}
		if state.Asked != nil {
			s.asked = question{text: *state.Asked, steering: state.Steering}
		}
		if s.between, err = s.runBetween(ctx); err != nil {
			return err
		}
		return s.runLoop(ctx)
	})
	return c.askToAccept(ctx, state, err)
}

// continueGoal says how a person continues the goal of a session.
func continueGoal(state *fold.State) string {
	if state.Stopped != nil && state.Stopped.Status == ralph.StatusInterrupted {
		return "it was cleared; " + term.NextCommand(state)
	}
	return "continue it with: " + term.ResumeCommand(state)
}

// reopenRun locks the workspace, ends what is left of a run that is not running, and opens its log.
func (a *app) reopenRun(store *runlog.Store, run string, do func(*session) error) error {
	// These orders were for the last process of the run. Once the lock is held, orders are for this one.
	for _, order := range []runlog.Order{runlog.Stop, runlog.Pause} {
		if err := store.Clear(run, order); err != nil {
			return err
		}
	}
	held, err := lock(store, run)
	if err != nil {
		return err
	}
	defer held.Release()
	return a.reopenHeld(held, store, run, do)
}

// reopenHeld is reopenRun for a caller that has locked the workspace.
func (a *app) reopenHeld(held *runlog.Lock, store *runlog.Store, run string, do func(*session) error) error {
	s := &session{app: a, run: run, store: store, afterDeath: held.AfterDeath()}
	if err := s.killLeftovers(store, run); err != nil {
		return err
	}
	log, tail, err := store.Reopen(run, &s.state)
	if is[*runlog.Damaged](err) {
		return fmt.Errorf("%w; the log was cut or changed, so the run cannot continue: see it with ralph verify %s, "+
			"start a new run with ralph run", err, run)
	}
	if err != nil {
		return err
	}
	defer log.Close()
	s.log, s.torn = log, tail.Dropped
	s.recordProcesses()
	return do(s)
}

// rebuildPlan makes the plan from the recorded settings and the flags of the resume. If the run
// has a worktree, it continues there. agree asks for consent to commands of the repository.
func (c *resumeCommand) rebuildPlan(
	ctx context.Context, home workspace.Workspace, s *session, agree func(*assembly.Plan) error,
) (*assembly.Plan, error) {
	workspace := home
	if known := s.state.Started.Worktree; known != nil {
		var warnings []string
		var err error
		if workspace, warnings, err = home.Reenter(ctx, *known, c.streams.Env); err != nil {
			return nil, err
		}
		for _, text := range warnings {
			fmt.Fprintf(c.errLines(), "ralph: %s\n", text)
		}
	}
	s.afterDeath = s.afterDeath || s.state.Stopped == nil && !s.state.Started.InSession
	s.removeStrays(ctx, workspace)
	plan, err := c.recordedPlan(ctx, workspace, &s.state)
	if err != nil {
		return nil, err
	}
	plan.Trusting = c.trustGiven()
	asked := plan.Settings
	asked.Trust = plan.Trusting
	if err := agreeToGit(ctx, c.app, workspace, asked); err != nil {
		return nil, err
	}
	if plan.Trusting {
		return plan, nil
	}
	if plan.TaskFile != "" {
		kept, err := s.log.Keep("tasks")
		if err != nil {
			return nil, err
		}
		plan.Agreed = assembly.KeptTaskCommands(workspace, plan.Settings, kept, &s.state)
	}
	return plan, agree(plan)
}

// agreeToResume asks for consent before agents work again. The agent may be another one, and its files may have
// changed since the run started.
func (c *resumeCommand) agreeToResume(home workspace.Workspace) func(*assembly.Plan) error {
	return func(plan *assembly.Plan) error {
		plan.AgentFiles = assembly.AgentFiles(plan.Workspace, plan.Settings)
		if err := c.consent(home, commandGroup{trust.AgentFiles, plan.AgentFiles}); err != nil {
			return err
		}
		return c.consent(home, commandGroup{trust.Tasks, plan.Agreed})
	}
}

func (c *resumeCommand) recordedPlan(
	ctx context.Context,
	workspace workspace.Workspace,
	state *fold.State,
) (*assembly.Plan, error) {
	changes := c.changes
	settings, err := config.Recorded(state.Started.Settings, c.streams.Env, workspace.Dir)
	if err != nil {
		return nil, usage("run %s was not started by this program, so its settings are unknown", state.Run)
	}
	// ralph limit may have raised them
	settings.MaxIterations = max(settings.MaxIterations, state.Policy.MaxIterations)
	settings.MaxTime = max(settings.MaxTime, state.Policy.MaxTime)
	settings.MaxCost = max(settings.MaxCost, state.Policy.MaxCost)
	settings.MaxTokens = max(settings.MaxTokens, state.Policy.MaxTokens)
	if err := raiseLimits(&settings, changes); err != nil {
		return nil, err
	}
	if err := changes.replaceAgent(&settings); err != nil {
		return nil, err
	}
	if changes.model != "" {
		settings.Agent.Model = changes.model
	}
	settings.Checks.Commands = state.Started.Checks
	settings.Prompt.File = state.Started.PromptFile
	settings.Tasks.File = state.Started.TaskFile
	req := assembly.Request{
		Env:       c.streams.Env,
		Settings:  settings,
		Workspace: workspace,
		Version:   version(),
		Demo:      state.Started.Demo,
		Self:      c.streams.Self,
		Resumed:   true,
		Begun:     conversationCounts(state),
		Worktree:  state.Started.Worktree,
		Protected: state.Policy.Protects,
		Tests:     state.Tests,
		Base:      state.History.Base.Snapshot,
	}
	if state.Started.InSession {
		req.Session = state.Agent
	}
	if state.Started.Goal != "" {
		req.Goal = &state.Started.Goal
	}
	if req.Demo {
		req.Program = demoProgram(workspace.Dir)
	}
	return assembly.Prepare(ctx, req)
}

// replaceAgent makes the named agent or command the first agent of the run.
func (more resumeChanges) replaceAgent(s *config.Settings) error {
	flags := map[string][]string{}
	if more.agent != "" {
		flags["agent"] = []string{more.agent}
	}
	if more.command != "" {
		flags["agent-cmd"] = []string{more.command}
	}
	if len(flags) == 0 {
		return nil
	}
	given, err := config.Load(config.Input{Env: config.NewEnv(nil), Flags: flags})
	if err != nil {
		return err
	}
	now := given.Settings.Agent
	if now.Name != s.Agent.Name || now.Command != s.Agent.Command { // model and arguments were for the old agent
		s.Agent.Model, s.Agent.Args = "", nil
	}
	s.Agent.Name, s.Agent.Command = now.Name, now.Command
	isNamed := func(fallback string) bool { return fallback == now.Name }
	s.Agent.Fallback = slices.DeleteFunc(s.Agent.Fallback, isNamed)
	if isNamed(s.Agent.Escalate) {
		s.Agent.Escalate = ""
	}
	usual, err := config.Load(config.Input{Env: config.NewEnv(nil)})
	if s.IdleTimeout = max(s.IdleTimeout, given.Settings.IdleTimeout); s.IdleTimeout == usual.Settings.IdleTimeout {
		s.IdleTimeout = given.Settings.IdleTimeout // a plain command has no idle timeout unless the user set one
	}
	return err
}

// raiseLimits adds to the run's limits. It refuses to add to a limit that the run does not have.
func raiseLimits(s *config.Settings, more resumeChanges) error {
	const number = "a whole number above 0"
	for _, limit := range []struct {
		flag, text, valid, budget string
		known                     bool
		add                       func(text string) bool // returns false if the text is invalid
	}{
		{"iterations", more.iterations, number, "iteration limit", s.MaxIterations > 0, func(text string) bool {
			n, err := strconv.Atoi(text)
			s.MaxIterations += n
			return err == nil && n > 0
		}},
		{"time", more.time, "a time such as 90s, 10m or 2h", "time limit", s.MaxTime > 0, func(text string) bool {
			d, err := config.ParseLength(text)
			s.MaxTime += d
			return err == nil && d > 0
		}},
		{"cost", more.cost, "an amount above 0", "cost limit", s.MaxCost > 0, func(text string) bool {
			usd, err := strconv.ParseFloat(text, 64)
			s.MaxCost += usd
			return err == nil && usd > 0 && usd < 1e9
		}},
		{"tokens", more.tokens, number, "token limit", s.MaxTokens > 0, func(text string) bool {
			n, err := strconv.ParseInt(text, 10, 64)
			s.MaxTokens += n
			return err == nil && n > 0
		}},
	} {
		switch {
		case limit.text == "":
		case !limit.add(limit.text):
			return usage("--add-%s %s: choose %s", limit.flag, limit.text, limit.valid)
		case !limit.known:
			return usage("--add-%s: this run has no %s", limit.flag, limit.budget)
		}
	}
	return nil
}

// unpause continues a running run that is paused.
func (c *resumeCommand) unpause(store *runlog.Store, owner runlog.Owner) error {
	paused, err := store.HasOrder(owner.Run, runlog.Pause)
	switch {
	case err != nil:
		return err
	case !paused:
		return &runlog.Locked{Path: store.Dir(), Owner: owner}
	case c.changes != resumeChanges{}:
		return usage("run %s is running: raise its limits with ralph limit; "+
			"for another agent or model stop it with ralph stop, then use ralph resume", owner.Run)
	}
	if err := store.Clear(owner.Run, runlog.Pause); err != nil {
		return err
	}
	return c.printSent("resume", "delivered", owner.Run, "run "+owner.Run+" continues")
}

// conversationCounts returns how many conversations each model has had in the run so far.
func conversationCounts(state *fold.State) map[string]int {
	return map[string]int{"worker": state.History.Started, "evaluator": state.Reviews}
}

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/runlog"
)

// raise is what may differ from the run's recorded settings.
type raise struct {
	iterations string
	time       string
	cost       string
	tokens     string
	agent      string
	model      string
}

func (a *app) resumeCommand() *cobra.Command {
	var more raise
	cmd := &cobra.Command{
		Use: "resume [RUN]", Short: "Go on with a run where it stopped", GroupID: "work", Annotations: outside,
		Long: `Go on with the newest run of the workspace, or with the one named, under its recorded settings. What was spent
stays spent; a limit that was reached must be raised. A paused run under way simply goes on.`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error { return a.resume(cmd.Context(), firstOf(args), more) },
	}
	flags := cmd.Flags()
	flags.StringVar(&more.iterations, "add-iterations", "", "raise the cap by `N` iterations")
	flags.StringVar(&more.time, "add-time", "", "raise the time budget by `D`")
	flags.StringVar(&more.cost, "add-cost", "", "raise the money budget by `USD`")
	flags.StringVar(&more.tokens, "add-tokens", "", "raise the token budget by `N`")
	flags.StringVar(&more.agent, "agent", "", "go on with agent `NAME`")
	flags.StringVar(&more.model, "model", "", "go on with model `M`")
	return cmd
}

func (a *app) resume(ctx context.Context, name string, more raise) error {
	a.ownOrphans()
	if len(a.globals.set) > 0 || a.globals.config != "" {
		return usage("a run goes on under its recorded settings: --set and -c change nothing; --add-iterations, --add-time, --add-cost, --add-tokens, --agent and --model do")
	}
	workspace, store, run, err := a.findRun(ctx, name)
	if err != nil {
		return err
	}
	if owner, live := store.Holder(); live && owner.Run == run {
		return a.unpause(store, owner, more)
	}
	for _, order := range []runlog.Order{runlog.Stop, runlog.Pause} { // what was said to the run's last life; from the lock on, orders are for this one
		if err := store.Clear(run, order); err != nil {
			return err
		}
	}
	held, err := lock(store, run)
	if err != nil {
		return err
	}
	defer held.Release()
	if err := a.killLeftovers(run); err != nil {
		return err
	}
	state := &fold.State{}
	log, tail, err := store.Reopen(run, state)
	if err != nil {
		return err
	}
	defer log.Close()
	if state.Stopped != nil && state.Stopped.Status == ralph.StatusCompleted {
		if !a.globals.quiet {
			fmt.Fprintf(a.streams.Err, "run %s is complete; nothing was started\n", run)
		}
		return a.finish(state, state.Result(), "hard")
	}
	s := &session{app: a, run: run, state: state, store: store, log: log, torn: tail.Dropped}
	if s.plan, err = a.planAgain(ctx, workspace, s, more); err != nil {
		return err
	}
	if state.Asked != nil {
		s.asked = *state.Asked
	}
	return s.play(ctx)
}

// planAgain makes the plan from the recorded settings; only more may differ. The run goes on in its worktree, if it has one.
func (a *app) planAgain(ctx context.Context, home workspace.Workspace, s *session, more raise) (*assembly.Plan, error) {
	workspace := home
	if known := s.state.Started.Worktree; known != nil {
		var said []string
		var err error
		if workspace, said, err = home.Reenter(ctx, *known, a.streams.Env); err != nil {
			return nil, err
		}
		for _, text := range said {
			fmt.Fprintf(a.streams.Err, "ralph: %s\n", text)
		}
	}
	plan, err := a.recordedPlan(ctx, workspace, s.state, more)
	if err == nil {
		err = plan.MissingKey()
	}
	if err != nil {
		return nil, err
	}
	if plan.Trusting = a.trusts(); plan.Trusting {
		return plan, nil
	}
	plan.AgentFiles = assembly.AgentFiles(workspace, plan.Settings) // another agent's, or changed since the run began
	if err := a.consent(home, plan.AgentFiles); err != nil {
		return nil, err
	}
	if plan.TaskFile == "" {
		return plan, nil
	}
	kept, err := s.log.Keep("tasks")
	if err != nil {
		return nil, err
	}
	plan.Agreed = assembly.KeptTaskCommands(workspace, plan.Settings, kept, s.state)
	return plan, a.consent(home, plan.Agreed)
}

func (a *app) recordedPlan(ctx context.Context, workspace workspace.Workspace, state *fold.State, more raise) (*assembly.Plan, error) {
	var settings config.Settings
	if err := json.Unmarshal(state.Started.Settings, &settings); err != nil {
		return nil, usage("run %s was not started by this program, so its settings are not known", state.Run)
	}
	if err := raiseLimits(&settings, more); err != nil {
		return nil, err
	}
	if more.agent != "" {
		named, err := config.Load(config.Input{Env: config.NewEnv(nil), Flags: map[string][]string{"agent": {more.agent}}})
		if err != nil {
			return nil, err
		}
		if named.Settings.Agent.Name != settings.Agent.Name { // they were meant for another one
			settings.Agent.Model, settings.Agent.Args = "", nil
		}
		settings.Agent.Name, settings.Agent.Command = named.Settings.Agent.Name, ""
		settings.Agent.Fallback = slices.DeleteFunc(settings.Agent.Fallback, func(f string) bool { return f == settings.Agent.Name })
		settings.IdleTimeout = max(settings.IdleTimeout, named.Settings.IdleTimeout) // a plain command had none
	}
	if more.model != "" {
		settings.Agent.Model = more.model
	}
	settings.Checks.Commands = state.Started.Checks
	settings.Prompt.File = state.Started.PromptFile
	settings.Tasks.File = state.Started.TaskFile
	req := assembly.Request{
		Env: a.streams.Env, Settings: settings, Workspace: workspace, Version: version(), Demo: state.Started.Demo,
		Resumed: true, Begun: conversations(state), Worktree: state.Started.Worktree, Protected: state.Policy.Protects,
	}
	if state.Started.Goal != "" {
		req.Goal = &state.Started.Goal
	}
	if req.Demo {
		req.Program = demoProgram(workspace.Dir)
	}
	return assembly.Prepare(ctx, req)
}

// raiseLimits adds to limits that exist; there is nothing to add to one that does not.
func raiseLimits(s *config.Settings, more raise) error {
	for _, limit := range []struct {
		flag, text, wanted, budget string
		known                      bool
		add                        func(text string) bool // false if the text is none of what is wanted
	}{
		{"iterations", more.iterations, "a whole number above 0", "cap on iterations", s.MaxIterations > 0, func(text string) bool {
			n, err := strconv.Atoi(text)
			s.MaxIterations += n
			return err == nil && n > 0
		}},
		{"time", more.time, "a time such as 90s, 10m or 2h", "time budget", s.MaxTime > 0, func(text string) bool {
			d, err := config.ParseLength(text)
			s.MaxTime += d
			return err == nil && d > 0
		}},
		{"cost", more.cost, "an amount above 0", "money budget", s.MaxCost > 0, func(text string) bool {
			usd, err := strconv.ParseFloat(text, 64)
			s.MaxCost += usd
			return err == nil && usd > 0 && usd < 1e9
		}},
		{"tokens", more.tokens, "a whole number above 0", "token budget", s.MaxTokens > 0, func(text string) bool {
			n, err := strconv.ParseInt(text, 10, 64)
			s.MaxTokens += n
			return err == nil && n > 0
		}},
	} {
		switch {
		case limit.text == "":
		case !limit.add(limit.text):
			return usage("--add-%s %s: %s is wanted", limit.flag, limit.text, limit.wanted)
		case !limit.known:
			return usage("--add-%s: this run has no %s", limit.flag, limit.budget)
		}
	}
	return nil
}

// unpause lets a paused run under way go on.
func (a *app) unpause(store *runlog.Store, owner runlog.Owner, more raise) error {
	paused, err := store.Ordered(owner.Run, runlog.Pause)
	switch {
	case err != nil:
		return err
	case !paused:
		return &runlog.Locked{Path: store.Dir(), Owner: owner}
	case more != raise{}:
		return usage("run %s is under way: its limits, agent and model cannot be changed; ralph stop ends it, then resume takes them", owner.Run)
	}
	if err := store.Clear(owner.Run, runlog.Pause); err != nil {
		return err
	}
	return a.tellPosted("resume", "delivered", owner.Run, "run "+owner.Run+" goes on")
}

// findRun opens the workspace's store and finds the run that was meant.
func (a *app) findRun(ctx context.Context, name string) (workspace.Workspace, *runlog.Store, string, error) {
	workspace, store, err := a.open(ctx)
	if err != nil {
		return workspace, nil, "", err
	}
	run, err := store.Resolve(name)
	if errors.Is(err, runlog.ErrNoRun) {
		return workspace, nil, "", usage("%s (in %s)", strings.TrimPrefix(err.Error(), "find run: "), workspace.Dir)
	}
	return workspace, store, run, err
}

// outsideOnly refuses commands by which an agent could steer or pay for its own run.
func (a *app) outsideOnly(command string) error {
	if run := a.streams.Env.InsideRun; run != "" {
		return usage("ralph %s was called from inside run %s; an agent cannot change its own run", command, run)
	}
	return nil
}

// conversations are how many each model has had in a run so far.
func conversations(state *fold.State) map[string]int {
	return map[string]int{"worker": state.History.Started, "evaluator": state.Reviews}
}

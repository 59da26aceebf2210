package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/loop"
	"github.com/ralphloop/ralph/runlog"
)

// goalCommand is `ralph goal` and its subcommands: a goal for a live session of another agent.
type goalCommand struct {
	*app
	session string
	wait    string // in a session: how long to wait for the first run of the checks
	replace bool
	more    string                // with resume: iterations to add
	values  map[string]*flagValue // flags that are config keys
}

// goalFlags are the flags of run that make sense for a session that Ralph does not start.
var goalFlags = []string{
	"max-iterations", "check", "check-timeout", "protect", "evaluator", "tests-by", "tests-hidden", "proof", "profile",
	"allow-unverified",
}

// sessionWait is how long `ralph goal` waits for the first run of the checks in a session. Claude Code moves a command
// to the background after two minutes.
const sessionWait = "1m"

// goalIterations is the default limit: a session that is refused continues, so an iteration is shorter than in a run.
const goalIterations = 20

func newGoalCommand(a *app) *cobra.Command {
	c := &goalCommand{app: a, values: map[string]*flagValue{}}
	cmd := &cobra.Command{
		Use:         "goal [OBJECTIVE]",
		Short:       "Give a live session of Claude Code or Codex a goal",
		GroupID:     "work",
		Annotations: map[string]string{wordsAreArguments: "yes"},
		Long: `Give the session that you work in a goal. When its agent stops, Ralph runs the
checks and lets the session end only if they prove the work, a person is needed,
or a limit is reached. The session must have Ralph's hooks: ralph hook --help.

With - the objective is read from stdin. Without one, show the goal of this
workspace and its status.`,
		Example: `  ralph goal "make the tests pass" --check "go test ./..."
  ralph goal status
  ralph goal pause     # let the session stop; ralph goal resume continues
  ralph goal clear`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := refuseMistyped(cmd, args); err != nil {
				return err
			}
			return c.run(cmd.Context(), args)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&c.session, "session", "", "the session's `ID`; default: the one that this command is called in")
	flags.StringVar(&c.wait, "wait", sessionWait, "in a session: wait `D` for the first run of the checks")
	flags.BoolVar(&c.replace, "replace", false, "replace the current goal of this workspace")
	for _, key := range config.Keys() {
		if key.Name == "max_iterations" {
			key.Default = strconv.Itoa(goalIterations)
		}
		if slices.Contains(goalFlags, key.Flag) {
			addKeyFlag(flags, c.values, key)
		}
	}
	order := func(use, short string, do func(context.Context) error) *cobra.Command {
		return &cobra.Command{Use: use, Short: short, Args: noArguments, Annotations: outside,
			RunE: func(cmd *cobra.Command, _ []string) error { return do(cmd.Context()) }}
	}
	resume := order("resume", "Continue a paused or ended goal", c.resume)
	resume.Flags().StringVar(&c.more, "add-iterations", "", "raise the limit by `N` iterations")
	resume.Flags().StringVar(&c.session, "session", "", "give the goal to the session with this `ID`")
	cmd.AddCommand(
		&cobra.Command{Use: "status", Short: "Show the goal and its status", Args: noArguments,
			RunE: func(cmd *cobra.Command, _ []string) error { return c.status(cmd.Context()) }},
		order("pause", "Let the session stop until ralph goal resume", c.pause), resume,
		order("clear", "End the goal", c.clear),
	)
	return cmd
}

// refuseMistyped refuses one word that is almost a subcommand: it would become the goal. After -- it is one.
func refuseMistyped(cmd *cobra.Command, args []string) error {
	if len(args) != 1 || cmd.ArgsLenAtDash() == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	meant := cmd.SuggestionsFor(args[0])
	if len(meant) == 0 {
		return nil
	}
	return usage("%q is not a command of ralph goal; did you mean ralph goal %s? If it is the goal: ralph goal -- %s",
		args[0], meant[0], args[0])
}

func (c *goalCommand) run(ctx context.Context, args []string) error {
	switch {
	case len(args) > 1:
		return usage("the objective must be one argument; put it in quotes: ralph goal %q", strings.Join(args, " "))
	case len(args) == 0 && len(written(c.values)) == 0 && c.session == "" && !c.replace:
		return c.status(ctx)
	case c.streams.Env.InsideRun != "":
		return insideRun("goal", c.streams.Env.InsideRun)
	}
	objective, err := givenGoal(firstOf(args), c.streams.In)
	if objective = strings.TrimSpace(objective); err == nil && objective == "" {
		err = usage(`the objective is missing; say what to do: ralph goal "make the tests pass"`)
	}
	if err != nil {
		return err
	}
	switch { // the words of a user in a session come from stdin
	case firstOf(args) != "-":
	case objective == "status":
		return c.status(ctx)
	case objective == "pause", objective == "resume", objective == "clear":
		return usage("only a person can do that, in a terminal outside of the session: ralph goal %s", objective)
	}
	wait, err := config.ParseLength(c.wait)
	if err != nil {
		return usage("--wait %s: choose a time such as 10s or 1m", c.wait)
	}
	if c.streams.Env.Session.Agent == "" { // else the process that runs the checks would be ended as an orphan
		ownOrphans(c.streams.Err)
	}
	home, loaded, agent, err := c.find(ctx)
	if err == nil {
		err = c.agree(home, loaded, nil, nil)
	}
	if err != nil {
		return err
	}
	if err := agreeToGit(ctx, c.app, home, loaded.Settings); err != nil {
		return err
	}
	goal := c.newGoal()
	plan, err := assembly.Prepare(ctx, assembly.Request{
		Env: c.streams.Env, Settings: goalSettings(loaded), Workspace: home, Goal: &objective, Version: version(),
		Trusting: loaded.Settings.Trust, Session: cmp.Or(c.agentName(), "session"),
	})
	if err != nil {
		return err
	}
	if err := plan.MissingKey(); err != nil {
		return err
	}
	if err := c.clearReplaced(ctx, home); err != nil {
		return err
	}
	c.warnWithoutHooks(home.Dir)
	s := &session{app: c.app, plan: plan, goal: &goal, setBy: agent}
	if err := s.begin(ctx); err != nil || c.streams.Env.Session.Agent == "" {
		return err
	}
	return c.awaitChecks(ctx, s, wait.Duration())
}

// find returns the workspace and the settings of a new goal, and the agent of the session that calls, or "". An agent
// chooses the variables of a command, such as the PATH on which git is, so for an agent it finds them once more, with
// the environment of its session.
func (c *goalCommand) find(ctx context.Context) (
	home workspace.Workspace, loaded config.Loaded, agent string, err error,
) {
	if home, loaded, err = c.settings(ctx, written(c.values)); err == nil {
		agent, err = c.mayBegin(home)
	}
	if err != nil || agent == "" {
		return home, loaded, agent, err
	}
	if err = c.refuseChosen(agent, loaded); err == nil {
		c.streams.Env, err = environInside(c.streams.Env, agent, c.streams.ancestors())
	}
	if err == nil {
		home, loaded, err = c.settings(ctx, written(c.values))
	}
	if err == nil {
		_, err = c.mayBegin(home)
	}
	if err == nil {
		err = configAsCommitted(ctx, home, agent)
	}
	if loaded.Origins["trust"].Layer == config.LayerEnvironment {
		loaded.Settings.Trust = false
	}
	return home, loaded, agent, err
}

// goalSettings are the settings of a run that works in the session's own folder, on one goal.
func goalSettings(loaded config.Loaded) config.Settings {
	s := loaded.Settings
	s.Worktree, s.Tasks.File, s.Spec = "", "", ""
	if loaded.Origins["max_iterations"].Layer == config.LayerDefault {
		s.MaxIterations = goalIterations
	}
	return s
}

// agentName is the agent of the session that this command is called in, or "".
func (c *goalCommand) agentName() string {
	if here := c.streams.Env.Session; c.session == "" || c.session == here.ID {
		return here.Agent
	}
	return ""
}

// newGoal returns the index of a new goal. Without a known session, the first one that asks gets it.
func (c *goalCommand) newGoal() runlog.Goal {
	here := c.streams.Env.Session
	id := cmp.Or(c.session, here.ID)
	if id == "" {
		return runlog.Goal{}
	}
	bound := &ralph.SessionBound{Agent: cmp.Or(c.agentName(), "session"), Session: id}
	if id == here.ID {
		bound.PID, bound.Identity = sessionProcess(c.streams.ancestors())
	}
	return runlog.Goal{Session: bound}
}

// mayBegin refuses a second goal in the workspace or for the session, unless the user replaces the first, and a goal
// that an agent sets in place of one which it did not reach. It returns the agent of the session that calls, or "".
func (c *goalCommand) mayBegin(home workspace.Workspace) (agent string, err error) {
	store, err := c.storeOf(home)
	if err != nil {
		return "", err
	}
	if id := cmp.Or(c.session, c.streams.Env.Session.ID); id != "" {
		_, other, ok, err := runlog.GoalOf(c.streams.Env.StateDir, id, home.Dir)
		switch {
		case err != nil && !errors.Is(err, runlog.ErrGoalDamaged): // the log has what a damaged index had
			return "", err
		case ok && other.Ended == "" && other.Workspace != home.Dir:
			return "", usage("session %s has a goal in %s already; end it there with ralph goal clear", id, other.Workspace)
		}
	}
	if !c.replace {
		if err := noSecondGoal(store); err != nil {
			return "", err
		}
	}
	line := c.streams.ancestors()
	if err := outsideSession(store, c.streams.Env, line, "goal"); err != nil {
		return "", err
	}
	if c.streams.Env.Session.Agent == "" { // else the rules for an agent hold
		if err := outsideTaken(store, c.streams.Env, line, "goal"); err != nil {
			return "", err
		}
		if run := runlog.OpenTaken(store); run != "" { // before --replace ends the other goal
			return "", &takenOpen{Run: run}
		}
	}
	return c.caller(store)
}

// noSecondGoal refuses a goal beside one that has not ended.
func noSecondGoal(store *runlog.Store) error {
	goal, ok, err := liveGoal(store)
	if err != nil || !ok || goal.Ended != "" {
		return err
	}
	return usage("this workspace has a goal already (run %s, see ralph goal status); "+
		"end it with ralph goal clear, or pass --replace", goal.Run)
}

// clearReplaced ends the goal that a new one replaces.
func (c *goalCommand) clearReplaced(ctx context.Context, home workspace.Workspace) error {
	store, err := c.storeOf(home)
	if err != nil || !c.replace {
		return err
	}
	goal, ok, err := liveGoal(store)
	if err != nil || !ok || goal.Ended != "" {
		return err
	}
	return c.end(ctx, home, store, goal)
}

// beginGoal registers the goal, so that a stop of the session waits, runs the checks at the base and begins the first
// iteration. The session works on it when this process has ended. A command that is called in a session must end soon,
// so another process runs the checks then.
func (s *session) beginGoal(ctx context.Context) error {
	goal := *s.goal
	goal.Run, goal.Judging = s.run, &runlog.Judging{Owner: ownerFor(s.run), First: true}
	if err := runlog.EditGoal(s.store, func(g *runlog.Goal) error { *g = goal; return nil }); err != nil {
		return err
	}
	step := &loop.SessionStep{Session: goal.Session}
	inside := s.streams.Env.Session.Agent != ""
	if inside {
		step.Order = loop.SessionOpen
	}
	v := s.newView(&s.state)
	result, err := s.takeStep(ctx, step, loop.WithObserver(v.See))
	v.Close()
	if err == nil && !inside {
		err = s.recordPause(ctx)
	}
	noted := s.editOwnGoal(func(g *runlog.Goal) error {
		if err != nil || s.state.Stopped != nil && s.state.Stopped.Status == ralph.StatusInterrupted {
			*g = runlog.Goal{}
			return nil
		}
		s.index(g, step)
		if inside && s.state.Stopped == nil {
			return startJudge(s.app, g, runlog.Judging{First: true})
		}
		g.Judging = nil
		if s.state.Stopped != nil && g.Session != nil {
			g.Answer = &runlog.GoalAnswer{Text: goalEnd(s, uniqueWarnings(s.state.Warnings)), Given: time.Now()}
		}
		goal = *g
		return nil
	})
	switch {
	case err != nil || noted != nil:
		return errors.Join(err, noted)
	case s.state.Stopped != nil:
		return s.finish(ctx, &s.state, result, s.plan.Settings.ExitMap)
	case inside: // see awaitChecks
		return nil
	}
	shown := describeGoal(&s.state, goal)
	return s.table(shown, shown.write)
}

// editOwnGoal changes the index of the run's goal, unless a person has cleared it meanwhile.
func (s *session) editOwnGoal(edit func(*runlog.Goal) error) error {
	return runlog.EditGoal(s.store, func(g *runlog.Goal) error {
		if g.Run != s.run {
			return nil
		}
		return edit(g)
	})
}

// awaitChecks waits some time for the process that runs the checks for the first time, and shows the goal.
func (c *goalCommand) awaitChecks(ctx context.Context, s *session, longest time.Duration) error {
	for begun := time.Now(); time.Since(begun) < longest && ctx.Err() == nil; time.Sleep(hookPoll) {
		goal, ok, err := runlog.ReadGoal(s.store)
		if err != nil {
			return err
		}
		if !ok || goal.Run != s.run || !goal.Judging.Alive() || !goal.Judging.First {
			break
		}
	}
	state, err := stateOf(s.store, s.run)
	if err != nil {
		return err
	}
	if state.Stopped != nil {
		return s.finish(ctx, state, state.Result(), s.plan.Settings.ExitMap)
	}
	return c.status(ctx)
}

// takeStep lets the loop take one step of a run that a live session works for. The caller holds the lock.
func (s *session) takeStep(
	ctx context.Context, step *loop.SessionStep, options ...loop.Option,
) (ralph.Result, error) {
	outliveReaders()
	places, err := s.places()
	if err != nil {
		return ralph.Result{}, err
	}
	run, err := s.plan.Loop(ctx, s.run, places, append(options,
		loop.WithSession(step),
		loop.WithRefusedFiles(s.refused),
		loop.WithOrigin(s.origin),
		loop.WithState(&s.state),
		loop.WithTornTail(s.torn),
		loop.WithRecorder(s.log),
		loop.WithInbox(s.log),
		loop.WithQuestion(s.asked.text, s.asked.steering),
	)...)
	if err != nil {
		return ralph.Result{}, err
	}
	after := ctx
	ctx, release := untilSignal(ctx)
	result, err := run.Run(ctx)
	release()
	err = errors.Join(err, assembly.RemoveCaches(places))
	if err != nil || s.state.Stopped == nil {
		return result, err
	}
	if s.state.History.Started == 0 || step.Order == loop.SessionClear { // else the agent may work on
		s.noteSurroundings(places)
	}
	s.notifyOnStop(context.WithoutCancel(ctx), result)
	_ = workspace.PackSnapshots(after, places.Snapshots, s.streams.Env) // only space is lost if it fails
	return result, nil
}

// index notes what hooks must know after a step.
func (s *session) index(g *runlog.Goal, step *loop.SessionStep) {
	g.Run, g.Ended = s.run, ""
	g.Prompt = cmp.Or(step.Prompt, g.Prompt)
	if s.state.Stopped != nil {
		g.Ended = s.state.Stopped.Status
	}
	g.Protects = runlog.ProtectedNames{Names: s.plan.Literal(), Globs: s.plan.Settings.Protect}
}

package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/loop"
	"github.com/ralphloop/ralph/runlog"
)

// goalStatus is what `ralph goal status` shows.
type goalStatus struct {
	Run        string           `json:"run_id"`
	Objective  string           `json:"objective"`
	Status     ralph.Status     `json:"status"` // active, paused, completed, blocked or budget_exhausted
	Reason     ralph.StopReason `json:"stop_reason"`
	Detail     string           `json:"detail"`
	Verified   bool             `json:"verified"` // as in the result
	Proof      ralph.ProofWord  `json:"proof"`
	Iteration  int              `json:"iteration"` // the current or last one
	Of         int              `json:"max_iterations"`
	Agent      string           `json:"agent"`
	Session    string           `json:"session"` // "" until a session has the goal
	Checks     []string         `json:"checks"`
	Refusals   []ralph.Refusal  `json:"refusals"` // of the last stop
	Judging    bool             `json:"judging"`  // the checks run now
	Trouble    string           `json:"trouble"`  // why Ralph could not judge the last stop
	Warnings   []string         `json:"warnings"`
	next, line string
	now        string // what happens right now
}

// shownWarnings is how many of the last warnings `ralph goal status` shows. The JSON has more.
const shownWarnings = 5

// describeGoal says how far a goal is, from the log of its run. The index says only what happens right now.
func describeGoal(state *fold.State, goal runlog.Goal) goalStatus {
	shown := goalStatus{
		Run: state.Run, Objective: state.Started.Goal, Status: goalWord(state.LiveStatus()), Agent: state.Agent,
		Iteration: min(state.History.Counted+1, max(state.Policy.MaxIterations, state.History.Counted)),
		Of:        state.Policy.MaxIterations, Checks: state.Started.Checks, Refusals: state.Last.Refusals,
		Judging: goal.Judging.Alive(), Trouble: goal.Trouble, Warnings: uniqueWarnings(state.Warnings),
	}
	switch {
	case !shown.Judging:
	case goal.Judging.First:
		shown.now = "the checks run for the first time; the session's first stop waits for them"
	default:
		shown.now = "the checks run"
	}
	if goal.Paused && state.Stopped == nil { // the log has it only after a judgement that ran then
		shown.Status = ralph.StatusPaused
	}
	if shown.Refusals == nil {
		shown.Refusals = []ralph.Refusal{}
	}
	if bound := cmp.Or(goal.Session, state.Session); bound != nil {
		shown.Agent, shown.Session = bound.Agent, bound.Session
	}
	if stopped := state.Stopped; stopped != nil {
		shown.Reason, shown.Detail, shown.Iteration = stopped.Reason, stopped.Detail, state.History.Counted
		result := state.Result()
		shown.Verified, shown.Proof = result.Verified, result.Proof
		shown.line, shown.next = term.ResultLine(state), term.NextCommand(state)
	}
	return shown
}

// goalWord returns the status of a run in the words for goals.
func goalWord(status ralph.Status) ralph.Status {
	switch status {
	case ralph.StatusActive, ralph.StatusPaused, ralph.StatusCompleted, ralph.StatusExhausted:
		return status
	case ralph.StatusWaiting:
		return ralph.StatusActive
	}
	return ralph.StatusBlocked
}

func (g goalStatus) write(out io.Writer) {
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(out, "%s\t%s\n", name, term.Clean(value))
		}
	}
	row("goal", term.Shorten(term.Clean(g.Objective), 200))
	row("status", strings.TrimSuffix(fmt.Sprintf("%s: %s", g.Status, g.line), ": "))
	row("iteration", ofLimit(fmt.Sprint(g.Iteration), fmt.Sprint(g.Of), g.Of > 0))
	switch {
	case g.Session != "":
		row("session", g.Agent+" "+g.Session)
	case g.Reason == "":
		row("session", "none yet: the first one that asks in this workspace gets the goal")
	}
	for _, check := range g.Checks {
		row("check", check)
	}
	if g.Status != ralph.StatusCompleted {
		for _, refusal := range g.Refusals {
			row("refused", term.Shorten(refusal.Code+": "+refusal.Detail, 200))
		}
	}
	for _, warning := range g.Warnings[max(len(g.Warnings)-shownWarnings, 0):] {
		row("warning", term.Shorten(warning, 200))
	}
	row("now", g.now)
	row("problem", g.Trouble)
	row("next", g.next)
	row("run", g.Run)
}

// goalText is the status of a goal that has not ended, in one line.
func goalText(state *fold.State) string {
	if state.LiveStatus() == ralph.StatusPaused {
		return "paused; continue with: ralph goal resume"
	}
	who := "the first session that asks in this workspace"
	if bound := state.Session; bound != nil {
		who = "session " + term.Clean(bound.Session) + " of " + term.Clean(bound.Agent)
	}
	if state.History.Started == 0 {
		return fmt.Sprintf("%s: the checks run for the first time, for the goal of %s", state.LiveStatus(), who)
	}
	return fmt.Sprintf("%s: iteration %d, the goal of %s", state.LiveStatus(), state.History.Started, who)
}

// nextWords says when the agent of a run gets what a person wrote: with the command that continues the run, or when its
// session stops next.
func nextWords(store *runlog.Store, run, otherwise string) string {
	switch goal, ok, err := liveGoal(store); {
	case err != nil || !ok || goal.Run != run:
		return otherwise
	case goal.Ended != "" || goal.Paused:
		return "the session gets your words after ralph goal resume"
	}
	return "the session gets your words when its agent stops next"
}

// current returns the goal of this workspace.
func (c *goalCommand) current(ctx context.Context) (workspace.Workspace, *runlog.Store, runlog.Goal, error) {
	home, store, err := c.open(ctx)
	if err != nil {
		return home, store, runlog.Goal{}, err
	}
	goal, ok, err := liveGoal(store)
	if err == nil && !ok {
		err = usage(`no goal in %s; set one with ralph goal "what to do"`, home.Dir)
	}
	return home, store, goal, err
}

func (c *goalCommand) status(ctx context.Context) error {
	_, store, goal, err := c.current(ctx)
	if err != nil {
		return err
	}
	state, err := stateOf(store, goal.Run)
	if err != nil {
		return err
	}
	shown := describeGoal(state, goal)
	return c.table(shown, shown.write)
}

func (c *goalCommand) pause(ctx context.Context) error {
	home, store, goal, err := c.current(ctx)
	switch {
	case err != nil:
		return err
	case goal.Ended != "":
		return usage("the goal has ended (%s); there is nothing to pause", goalWord(goal.Ended))
	}
	// At once, so that a stop is let through even while an earlier one is being judged.
	if err := editGoal(store, goal, func(g *runlog.Goal) { g.Paused = true }); err != nil {
		return err
	}
	err = c.order(ctx, home, store, goal, &loop.SessionStep{Order: loop.SessionPause})
	if err != nil && !is[*runlog.Locked](err) { // the process that judges records it
		return err
	}
	return c.printSent("pause", "delivered", goal.Run, "the session may stop; continue with ralph goal resume")
}

func (c *goalCommand) clear(ctx context.Context) error {
	home, store, goal, err := c.current(ctx)
	if err != nil {
		return err
	}
	if err := c.end(ctx, home, store, goal); err != nil {
		return err
	}
	return c.print(map[string]string{"run_id": goal.Run, "order": "clear", "state": "delivered"},
		"the goal is cleared; its record is run %s\n", goal.Run)
}

// end ends a goal as interrupted, unless it is reached. The log of one that ended otherwise then says, too, that a
// person is done with it.
func (c *goalCommand) end(
	ctx context.Context, home workspace.Workspace, store *runlog.Store, goal runlog.Goal,
) error {
	if judging := goal.Judging; judging.Alive() { // no one needs its answer
		if other, err := os.FindProcess(judging.PID); err == nil {
			_ = other.Signal(syscall.SIGTERM) // if it cannot be ended, the order waits for it
		}
	}
	if goal.Ended != ralph.StatusCompleted {
		if err := c.order(ctx, home, store, goal, &loop.SessionStep{Order: loop.SessionClear}); err != nil {
			return err
		}
	}
	return runlog.EditGoal(store, func(g *runlog.Goal) error { *g = runlog.Goal{}; return nil })
}

func (c *goalCommand) resume(ctx context.Context) error {
	home, store, goal, err := c.current(ctx)
	switch {
	case err != nil:
		return err
	case goal.Ended == ralph.StatusCompleted:
		return usage("the goal is reached; there is nothing to continue")
	case goal.Ended == "" && !goal.Paused && goal.Trouble == "" && c.session == "":
		return usage("the goal is active; there is nothing to continue; another session gets it with --session ID")
	case goal.Ended == "" && c.more != "":
		return usage("--add-iterations is for a goal that has ended")
	}
	ownOrphans(c.streams.Err)
	step := &loop.SessionStep{Anew: goal.Ended != ""}
	if c.session != "" {
		step.Session = &ralph.SessionBound{Agent: "session", Session: c.session}
	}
	if err := c.order(ctx, home, store, goal, step); err != nil {
		return err
	}
	c.warnWithoutHooks(home.Dir)
	if !c.globals.quiet {
		fmt.Fprintln(c.errLines(), "ralph: now write to the session, such as: continue; its agent does not start by itself")
	}
	return c.status(ctx)
}

// order takes a step for a person, and notes it for hooks.
func (c *goalCommand) order(
	ctx context.Context, home workspace.Workspace, store *runlog.Store, goal runlog.Goal, step *loop.SessionStep,
) error {
	held, err := lockGoal(store, goal.Run)
	if err != nil {
		return err
	}
	defer held.Release()
	return c.reopenHeld(held, store, goal.Run, func(s *session) error {
		again := resumeCommand{app: c.app, changes: resumeChanges{iterations: c.more}}
		agree := func(*assembly.Plan) error { return nil } // no agent and no new command starts
		if s.plan, err = again.rebuildPlan(ctx, home, s, agree); err != nil {
			return err
		}
		if s.state.Asked != nil {
			s.asked = question{text: *s.state.Asked, steering: s.state.Steering}
		}
		if _, err := s.takeStep(ctx, step); err != nil {
			return err
		}
		err = editGoal(store, goal, func(g *runlog.Goal) {
			s.index(g, step)
			g.Session = cmp.Or(step.Session, g.Session)
			g.Paused = s.state.LiveStatus() == ralph.StatusPaused
			g.Trouble, g.Blocks, g.Answer = "", 0, nil
			g.Untold = step.Words || g.Untold
		})
		if stopped := s.state.Stopped; err == nil && stopped != nil && step.Order == "" {
			return usage("%s", term.ResultLine(&s.state)) // a limit that was not raised, or a check that cannot run
		}
		return err
	})
}

// editGoal changes what hooks know about a goal. If they no longer find it, what the record has is put back first.
func editGoal(store *runlog.Store, goal runlog.Goal, edit func(*runlog.Goal)) error {
	return runlog.EditGoal(store, func(g *runlog.Goal) error {
		if g.Run != goal.Run || goal.Trouble == lostIndex {
			*g = goal
		}
		edit(g)
		return nil
	})
}

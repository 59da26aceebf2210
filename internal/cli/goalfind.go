package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/runlog"
)

// noGoal refuses a run beside the goal of a live session: two agents would work on the same files.
func noGoal(store *runlog.Store) error {
	goal, ok, err := liveGoal(store)
	if err != nil || !ok || goal.Ended != "" || goal.Paused {
		return err
	}
	return &goalActive{Run: goal.Run}
}

// goalActive means that a live session works in the workspace.
type goalActive struct{ Run string }

func (g *goalActive) Error() string {
	return "a live session works on a goal in this workspace (run " + g.Run + "); let it finish, or use ralph goal " +
		"pause or ralph goal clear"
}

// lostIndex is the trouble of a goal that hooks do not find, although its log says that it has not ended.
const lostIndex = "its hooks no longer find it; repair that with ralph goal resume"

// liveGoal returns the workspace's goal, unless it was cleared. Whether it has ended, its log says: an agent can reach
// the index that hooks use.
func liveGoal(store *runlog.Store) (goal runlog.Goal, ok bool, err error) {
	return lastGoal(store, func(r runlog.Summary) bool { return r.InSession })
}

// begunGoal is liveGoal without goals that ended before an agent worked, such as for a check that cannot run.
func begunGoal(store *runlog.Store) (goal runlog.Goal, ok bool, err error) {
	return lastGoal(store, func(r runlog.Summary) bool { return r.InSession && (r.Reason == "" || r.Iterations > 0) })
}

func lastGoal(store *runlog.Store, counts func(runlog.Summary) bool) (goal runlog.Goal, ok bool, err error) {
	runs, err := store.Runs()
	last := slices.IndexFunc(runs, counts)
	if err != nil || last < 0 || runs[last].Status == ralph.StatusInterrupted {
		return runlog.Goal{}, false, err
	}
	r := runs[last]
	var ended ralph.Status
	if r.Reason != "" {
		ended = r.Status
	}
	goal, ok, err = runlog.ReadGoal(store)
	if ok && err == nil && goal.Run == r.Run && goal.Ended == ended && !lacksPrompt(goal, r) {
		if goal.Judging != nil && !goal.Judging.Alive() {
			goal.Trouble = cmp.Or(goal.Trouble, runlog.LastWords(store, r.Run))
		}
		return goal, true, nil
	}
	state, err := stateOf(store, r.Run)
	if err != nil {
		return runlog.Goal{}, false, fmt.Errorf("the goal of this workspace cannot be read: %w", err)
	}
	goal = runlog.Goal{
		Run: r.Run, Workspace: state.Started.Workspace, Session: state.Session, Ended: ended,
		Paused: state.LiveStatus() == ralph.StatusPaused,
		Untold: len(state.Answers)+len(state.Steering) > 0, // only the index knew what the session got
	}
	if known, ok := runlog.ReadUnlogged(store, r.Run); ok {
		goal.Session, goal.Paused = cmp.Or(known.Session, goal.Session), known.Paused
	}
	if ended == "" {
		goal.Trouble = lostIndex
	}
	return goal, true, nil
}

// lacksPrompt reports whether hooks do not know what to tell the session of a goal that it works on.
func lacksPrompt(goal runlog.Goal, run runlog.Summary) bool {
	return goal.Prompt == "" && run.Iterations > 0 && goal.Ended == "" && !goal.Paused && !goal.Judging.Alive()
}

// outsideSession refuses a command for people that an agent calls in a live session: with it, the agent could end or
// accept its own goal. It is a guard rail: without a sandbox, a process can hide where it comes from.
func outsideSession(store *runlog.Store, env config.Env, line []process.Ancestor, command string) error {
	goal, ok, err := begunGoal(store)
	if err != nil || !ok || goal.Ended == ralph.StatusCompleted {
		return err
	}
	agent := sessionAgent(env, line, goal.Session)
	if agent == "" {
		return nil
	}
	return usage("ralph %s was called inside a session of %s, and this workspace has a goal; only a person can do that, "+
		"in a terminal outside of the session", command, agent)
}

// lockGoal locks the workspace for an order to a goal. It waits only for work on the goal itself, and a judgement may
// take longer than a person waits.
func lockGoal(store *runlog.Store, run string) (*runlog.Lock, error) {
	var other *runlog.Locked
	for begun := time.Now(); other == nil || time.Since(begun) < orderPatience; time.Sleep(hookPoll) {
		held, err := lock(store, run)
		if !errors.As(err, &other) || other.Owner.Run != run {
			return held, err
		}
	}
	busy := &goalBusy{locked: other, work: "another command works on the goal"}
	if goal, _, err := runlog.ReadGoal(store); err == nil && goal.Judging != nil && goal.Judging.PID == other.Owner.PID {
		busy.work = "the goal is being judged"
	}
	return nil, busy
}

const orderPatience = 5 * time.Second

// goalBusy means that another process works on the goal itself.
type goalBusy struct {
	locked *runlog.Locked
	work   string
}

func (g *goalBusy) Error() string {
	owner := g.locked.Owner
	return fmt.Sprintf("%s (pid %d, since %s); try again in a moment",
		g.work, owner.PID, owner.Started.Format(time.RFC3339))
}

func (g *goalBusy) Unwrap() error { return g.locked }

package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/runlog"
)

// takenPrefix begins the marker of a conversation that ralph take opened. It is not the marker of the run: a process
// that judges the goal of a session ends what carries that one, and would end the open conversation.
const takenPrefix = "taken-"

func takenMarker(run string) string { return takenPrefix + run }

// takenRun returns the run of this workspace in whose open conversation this process was started, or "". The agent
// chooses the environment of what it starts, but not what that descends from.
func takenRun(store *runlog.Store, env config.Env, line []process.Ancestor) string {
	own, _ := env.Lookup(process.MarkerVariable) // some systems tell nothing about other processes
	markers := append([]string{own}, text.Mapped(line, func(p process.Ancestor) string { return p.Marker })...)
	for _, marker := range markers {
		if run, ok := strings.CutPrefix(marker, takenPrefix); ok && run != "" && exists(store.RunDir(run)) {
			return run
		}
	}
	for _, taker := range runlog.Takers(store) {
		if slices.ContainsFunc(line, func(p process.Ancestor) bool { return p.PID == taker.PID }) {
			return taker.Run
		}
	}
	return ""
}

// outsideTaken refuses a command for people that was called inside a conversation of ralph take: with it, the agent
// could accept or continue its own work.
func outsideTaken(store *runlog.Store, env config.Env, line []process.Ancestor, command string) error {
	run := takenRun(store, env, line)
	if run == "" {
		return nil
	}
	return usage("ralph %s was called inside a conversation of run %s that ralph take opened; only a person can do that, "+
		"in a terminal outside of the conversation", command, run)
}

// takenOpen means that a conversation of the run is open.
type takenOpen struct{ Run string }

func (t *takenOpen) Error() string {
	return "a conversation of run " + t.Run + " is still open in ralph take, and its agent could change files while " +
		"checks run; close it first"
}

// noneTaken refuses to run checks while a conversation of one of the workspace's runs is open, and ends what others
// left.
func noneTaken(a *app, store *runlog.Store) error {
	if run := runlog.OpenTaken(store); run != "" {
		return &takenOpen{Run: run}
	}
	return endTaken(a, store)
}

// endTaken ends what conversations of the workspace's runs left whose process of ralph take was killed. Open ones stay.
func endTaken(a *app, store *runlog.Store) error {
	isLeft := func(marker string) bool {
		run, ok := strings.CutPrefix(marker, takenPrefix)
		return ok && run != "" && exists(store.RunDir(run)) && !runlog.IsTaken(store, run)
	}
	killed, err := process.Dead{Marks: isLeft}.Kill()
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("end processes of conversations: %w", err)
	}
	if killed > 0 && !a.globals.quiet {
		fmt.Fprintf(a.errLines(), "ralph: ended what a conversation of ralph take left (%s)\n",
			term.Count(killed, "process"))
	}
	return nil
}

// judges returns the process that judges the workspace's goal now, which outlives the conversation that stopped. The
// agent can write the goal's file, so the process must be one of this program.
func judges(store *runlog.Store) func() []int {
	return func() []int {
		goal, ok, err := runlog.ReadGoal(store)
		if err != nil || !ok || !goal.Judging.Alive() || !process.IsOwn(goal.Judging.PID) {
			return nil
		}
		return []int{goal.Judging.PID}
	}
}

// sayEnded names the processes that ended with a conversation.
func (c *takeCommand) sayEnded(left []process.Leftover) {
	if len(left) == 0 {
		return
	}
	names := text.Mapped(left, func(p process.Leftover) string { return term.Clean(p.Name) })
	slices.Sort(names)
	c.say("ended what the conversation left running: %s (%s)", text.List(slices.Compact(names)),
		term.Count(len(left), "process"))
}

package loop

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// Held are processes of a live session that are stopped while a claim is judged.
type Held struct {
	Names   []string        // what was stopped
	Started func() []string // what the session started since then; the list grows
	Release func()          // lets everything continue
}

// WithHold lets the loop stop what a live session started, while a claim is judged.
func WithHold(hold func() (Held, error)) Option {
	return func(l *Loop) { l.checks.hold = hold }
}

// holdSession stops what a live session started, until release: one of these processes could write the work into the
// views of checks, where nothing else sees it, or break the base there. Nothing that ran before counts, so every run of
// a check is among what follows.
func (r *checkRunner) holdSession() (release func()) {
	if r.hold == nil {
		return func() {}
	}
	held, err := r.hold()
	if err != nil { // then no run of a check counts: what is to be stopped could be the reason
		var asked atomic.Int32 // checks may run side by side
		held = Held{Release: func() {}, Started: func() []string {
			return slices.Repeat([]string{"unknown processes: " + err.Error()}, int(asked.Add(1)))
		}}
	}
	if len(held.Names) > 0 {
		r.notice("session_held", "processes of the session are stopped while checks run: "+text.List(held.Names))
	}
	r.held = &held
	return func() {
		r.held = nil
		held.Release()
	}
}

// remarkOnHeld is what to say about a check that does not pass while processes of the session are stopped.
func (r *checkRunner) remarkOnHeld() string {
	if r.held == nil || len(r.held.Names) == 0 {
		return ""
	}
	return "While it ran, these processes of the session were stopped: " + text.List(r.held.Names) + ". Put the work " +
		"into files of the workspace. If the check needs one of them, let the check start it, or ask a person to start it " +
		"outside of the session."
}

// disturbed returns what the session started since its processes were stopped, as [ralph.ViewInput] has it.
func (r *checkRunner) disturbed() func() []string {
	if r.held == nil {
		return nil
	}
	return r.held.Started
}

// runUndisturbed repeats a run of a check during which the session started a process: that could have changed the
// result. If that happens each time, the check does not pass.
func (s *session) runUndisturbed(run func() (ralph.CheckResult, bool)) (result ralph.CheckResult, ok bool) {
	in := ralph.ViewInput{Disturbed: s.runner.disturbed()}
	for range ralph.DisturbedTries {
		before := in.Disturbances()
		if result, ok = run(); !ok {
			return result, false
		}
		started := in.Disturbances()
		if len(started) == len(before) {
			return result, true
		}
		result.Passed = false
		why := "Counted as failed: the session started " + text.List(started[len(before):]) +
			" while it ran. Start nothing while Ralph checks, and stop again."
		if !result.Hidden {
			result.Output = fmt.Sprintf("%s\n%s", result.Output, why)
		}
	}
	return result, true
}

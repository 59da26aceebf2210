package judge

import (
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// Judge returns the history with the current observation folded into its streaks and totals, ready for
// Decide. It does not change h.
func (h History) Judge(at ralph.Moment) History {
	h.Moment = at
	if !h.Judging {
		return h
	}
	h.Outputs, h.Phrases = slices.Clone(h.Outputs), slices.Clone(h.Phrases)
	now := h.Now
	h.Spend(now.Agent.Spending())
	for _, e := range slices.Concat(now.Evaluations, now.Cut) {
		h.Spend(e.Spending())
	}
	h.measureProgress()
	h.countFailures()
	if ralph.CountsAsIteration(now.Agent.End) {
		h.Counted++
		h.countStalls()
	}
	h.Phrases = text.LastOf(append(h.Phrases, now.Agent.Said.Phrases), phraseWindow)
	return h
}

// measureProgress compares the tree and the checks with the previous iteration. If a tree is not known,
// it assumes progress.
func (h *History) measureProgress() {
	h.Progress = !h.Now.Tree.Known || !h.Tree.Known || !h.Now.Tree.Same(h.Tree)
	if h.Now.Tree.Known {
		h.Tree, h.TreeOf = h.Now.Tree, h.Now.Number
	}
	h.Better = false
	for _, c := range h.byRules(h.Now.Checks) {
		if before, known := h.Checks[CheckKey(c)]; known && before != c.Passed && !c.Broken && !h.Moved {
			h.Progress = true
			h.Better = h.Better || c.Passed
		}
	}
	h.Moved = h.Moved && len(h.Now.Checks) == 0
	h.NoteChecks(h.Now.Checks)
}

// NoteTasks counts proven tasks as progress, even if the work was already in the tree. A task that is left to a
// person is progress, too: the run continues with the others.
func (h *History) NoteTasks(v ralph.TaskVerdict) {
	if len(v.Done)+len(v.Unconfirmed) > 0 {
		h.Progress, h.NoProgress, h.Denials, h.Better = true, 0, 0, true
		if end := h.Now.Agent.End; end == ralph.EndEmpty || end == ralph.EndCut { // it did something after all
			h.AgentFailures = 0
		}
	}
}

func (h *History) countFailures() {
	switch end := h.Now.Agent.End; {
	case end == ralph.EndLimit:
		h.LimitHits++
		return
	case end == ralph.EndProvider:
		h.ProviderFailures++
		if h.OutageFrom == 0 {
			h.OutageFrom = max(h.Moment.Elapsed, 1)
		}
		if len(h.Cooldowns) == 0 { // while other agents cool down, a failing model does not end the wait for them
			h.LimitHits, h.LimitWaited = 0, 0
		}
		return
	case end == ralph.EndFailed, end == ralph.EndBroken, end == ralph.EndKilled,
		end == ralph.EndTimeout, end == ralph.EndIdle,
		// an agent that edits silently, or until it is cut, did not fail
		(end == ralph.EndEmpty || end == ralph.EndCut) && !(h.Progress && h.Now.Tree.Known):
		h.AgentFailures++
	default:
		h.AgentFailures = 0
	}
	h.ProviderFailures, h.OutageFrom, h.LimitHits, h.LimitWaited = 0, 0, 0, 0
	if slices.ContainsFunc(h.Now.Checks, cannotRun) {
		h.BrokenChecks++
	} else if len(h.Now.Checks) > 0 {
		h.BrokenChecks = 0
	}
}

func (h *History) countStalls() {
	h.NoProgress = extendStreak(h.NoProgress, !h.Progress)
	h.Denials = extendStreak(h.Denials, len(h.Now.Agent.Denials) > 0 && !h.Progress)
	before, fault := h.Fault, FaultPrint(h.Now)
	fewer := h.NoteFailing(h.Now.Checks)
	if fault != before || fewer {
		h.SameError = 0
	}
	h.SameError = extendStreak(h.SameError, fault != 0)
	h.Fault = fault
	h.Better = h.Better || fewer || h.failsDifferently(before) || h.nothingFails() && (before != 0 || h.Progress)
	h.Outputs = text.LastOf(append(h.Outputs, h.Now.Agent.OutputBytes), declineWindow)
}

// failsDifferently reports whether something else failed before. A check that cannot run says nothing about that.
func (h *History) failsDifferently(before uint64) bool {
	return before != 0 && h.Fault != 0 && before != h.Fault && !slices.ContainsFunc(h.Now.Checks, cannotRun)
}

// nothingFails reports whether nothing failed in this iteration. If no check ran, the last results count.
func (h *History) nothingFails() bool {
	if len(h.Now.Checks) == 0 {
		for _, passed := range h.Checks {
			if !passed {
				return false
			}
		}
	}
	return h.Fault == 0
}

func cannotRun(c ralph.CheckResult) bool { return c.Broken }

func extendStreak(n int, goesOn bool) int {
	if goesOn {
		return n + 1
	}
	return 0
}

// ApplyVerdict applies a verdict to the history and closes the iteration.
func (h *History) ApplyVerdict(v ralph.Verdict) {
	if h.Judging {
		h.noteRefused(h.Now.Task, v)
	}
	h.NoteTasks(v.Tasks)
	h.Judging, h.Better = false, false
	if v.WaitFor == ralph.WaitLimit {
		h.LimitWaited += v.Wait
	}
	if h.Breaker.State != ralph.BreakerClosed && v.Breaker.State == ralph.BreakerClosed {
		h.resetStalls()
	}
	h.Breaker = v.Breaker
	h.noteUnshown(v)
	h.ForPerson = h.leftToPerson(v.Tasks)
	h.spendChecks(v.Tasks.Shown)
	h.keepEvidence(v.Tasks, h.Now)
	h.Tasks = applyTasks(v.Tasks, h.Tasks, v.Counted)
	for _, by := range v.Tasks.Shown {
		if i := slices.IndexFunc(h.Tasks, func(t ralph.TaskState) bool { return t.ID == by.Task }); i >= 0 {
			h.Tasks[i].Proven = proofWord(*h, []ralph.Showing{by})
		}
	}
	h.Rejections = slices.DeleteFunc(slices.Clone(h.Rejections), func(r TaskRejections) bool {
		return r.Task == v.Tasks.GivenUp && r.Task != "" || slices.Contains(v.Tasks.Done, r.Task)
	})
	switch {
	case v.Cooldown != nil:
		*h = h.withCooldown(*v.Cooldown)
		if v.Cooldown.Because != ralph.EndLimit { // after the cooldown its failures count from zero
			h.AgentFailures, h.ProviderFailures = 0, 0
		}
		if v.Counted { // this agent's stalls say nothing about the next one
			h.resetStalls()
		}
	case v.Escalates:
		h.resetStalls()
	case v.Counted && len(h.Cooldowns) > 0:
		*h = h.withoutCooldown(h.Agent)
	}
}

func (h *History) resetStalls() { h.NoProgress, h.SameError, h.Denials, h.Outputs = 0, 0, 0, nil }

// Restart resets the streaks when a run is resumed. Failures count from zero, and a breaker that is not
// closed becomes half-open.
func (h *History) Restart() {
	h.AgentFailures, h.ProviderFailures, h.OutageFrom, h.BrokenChecks = 0, 0, 0, 0
	h.LimitHits, h.LimitWaited = 0, 0
	h.resetStalls()
	h.Agent, h.Cooldowns, h.Failures, h.Refused = 0, nil, nil, nil
	h.Rejections, h.NotShown, h.Accepted = nil, nil, nil
	h.Tasks = slices.Clone(h.Tasks)
	for i := range h.Tasks {
		t := &h.Tasks[i]
		t.Tries, t.Rounds = 0, 0
		if t.Status == ralph.TaskFailed || t.Status == ralph.TaskUnconfirmed {
			t.Status = ralph.TaskPending
		}
	}
	if h.Breaker.State != ralph.BreakerClosed {
		h.Breaker = ralph.Breaker{State: ralph.BreakerHalfOpen, Reason: h.Breaker.Reason}
	}
}

package judge

import (
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// refusedWork returns what is counted for a task, or for the goal.
func (t AgentTurns) refusedWork(task string) RefusedWork {
	for _, r := range t.Refused {
		if r.Task == task {
			return r
		}
	}
	return RefusedWork{Task: task}
}

// escalate returns the verdict with which a stronger agent takes over: after too many refused claims, or
// instead of ending a run whose breaker tripped. It returns v itself if there is no reason to, or no such
// agent.
func escalate(p ralph.Policy, h History, v ralph.Verdict) ralph.Verdict {
	work := h.refusedWork(h.Now.Task)
	switch {
	case p.Escalation == nil || p.Escalation.Agent >= len(p.Agents) || !h.Judging || !v.Counted || work.Escalated,
		slices.Contains(v.Tasks.Done, h.Now.Task), v.Tasks.GivenUp != "":
		return v
	}
	if refuses(v, h.Now.Task) {
		work.Times++
	}
	tripped := v.Reason == ralph.CircuitOpen
	if v.Action != ralph.GoOn && !tripped || !tripped && work.Times < p.Escalation.After {
		return v
	}
	why := text.Count(work.Times, "refused claim")
	if tripped {
		if limit := limitsRule(p, h, v); limit != nil {
			return v
		}
		why = v.Breaker.Reason
	}
	v.Action, v.Reason, v.WaitFor, v.Wait = ralph.GoOn, "", "", 0
	v.Breaker = ralph.Breaker{State: ralph.BreakerClosed} // the stall was another agent's
	v.Escalates, v.Hint = true, ""
	v.Detail = p.Agents[p.Escalation.Agent] + " takes over after " + why
	return v
}

// refuses reports whether the verdict refuses a claim for a task, or for the goal.
func refuses(v ralph.Verdict, task string) bool {
	isTask := func(r ralph.TaskRefusal) bool { return r.Task == task }
	return len(v.Refusals()) > 0 || slices.ContainsFunc(v.Tasks.Refused, isTask)
}

// noteRefused counts refused claims until the work is done or abandoned.
func (t *AgentTurns) noteRefused(task string, v ralph.Verdict) {
	work := t.refusedWork(task)
	if v.Counted && refuses(v, work.Task) {
		work.Times++
	}
	work.Escalated = work.Escalated || v.Escalates
	counts := slices.DeleteFunc(slices.Clone(t.Refused), func(r RefusedWork) bool { return r.Task == work.Task })
	if work.Times > 0 || work.Escalated {
		counts = append(counts, work)
	}
	t.Refused = slices.DeleteFunc(counts, func(r RefusedWork) bool {
		return slices.Contains(v.Tasks.Done, r.Task) || r.Task != "" && r.Task == v.Tasks.GivenUp
	})
}

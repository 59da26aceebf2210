package judge

import (
	"slices"
	"time"

	"github.com/ralphloop/ralph"
)

// NextAgent returns the agent that works next and how long to wait for it. It is the first one without
// a cooldown, or else the one whose cooldown ends first. ok is false if no agent is worth waiting for,
// because none of the cooldowns comes from a usage limit.
func (h History) NextAgent(p ralph.Policy, at ralph.Span) (agent int, in ralph.Span, ok bool) {
	var first *ralph.AgentCooldown
	for _, i := range h.agentsFor(p, h.Task) {
		cooldown := h.cooldownOf(i)
		if cooldown == nil || cooldown.Over(at) {
			return i, 0, true
		}
		ok = ok || cooldown.Because == ralph.EndLimit
		if cooldown.Until > 0 && (first == nil || cooldown.Until < first.Until) {
			first = cooldown
		}
	}
	if !ok {
		return 0, 0, false
	}
	return first.Agent, first.Until - at, true
}

// agentsFor returns the agents that may work on a task, or on the goal, in order of preference.
func (t AgentTurns) agentsFor(p ralph.Policy, task string) []int {
	var agents []int
	for i := range max(len(p.Agents), 1) {
		if p.Escalation == nil || i != p.Escalation.Agent {
			agents = append(agents, i)
		}
	}
	if p.Escalation != nil && t.refusedWork(task).Escalated {
		agents = slices.Insert(agents, 0, p.Escalation.Agent)
	}
	return agents
}

// cooldownOf returns the last cooldown of an agent that has not worked since, or nil.
func (h History) cooldownOf(agent int) *ralph.AgentCooldown {
	for i := range h.Cooldowns {
		if h.Cooldowns[i].Agent == agent {
			return &h.Cooldowns[i]
		}
	}
	return nil
}

// withCooldown returns the history with a new cooldown for an agent.
func (h History) withCooldown(r ralph.AgentCooldown) History {
	h.Cooldowns = append(h.withoutCooldown(r.Agent).Cooldowns, r)
	return h
}

// withoutCooldown returns the history without the cooldown of an agent.
func (h History) withoutCooldown(agent int) History {
	h.Cooldowns = slices.DeleteFunc(slices.Clone(h.Cooldowns), func(c ralph.AgentCooldown) bool {
		return c.Agent == agent
	})
	return h
}

// TakeTurn makes an agent the current one. Each agent has its own streak of failures, which the work of
// others neither ends nor extends.
func (h *History) TakeTurn(agent int) {
	if agent == h.Agent {
		return
	}
	others := slices.Clone(h.Failures)
	for len(others) <= max(agent, h.Agent) {
		others = append(others, FailureCount{})
	}
	others[h.Agent] = FailureCount{h.AgentFailures, h.ProviderFailures}
	h.Agent, h.AgentFailures, h.ProviderFailures = agent, others[agent].Own, others[agent].Model
	h.Failures = others
}

// outageCooldown is the cooldown of an agent whose model failed too often in a row, while another works.
const outageCooldown = ralph.Span(30 * time.Minute)

// limitCooldown returns the cooldown of the current agent after a usage limit.
func (h History) limitCooldown(p ralph.Policy) ralph.AgentCooldown {
	cooldown := ralph.AgentCooldown{Agent: h.Agent, Because: ralph.EndLimit, Times: h.LimitHits}
	if len(p.Agents) > 1 { // others work in between, so the run's streak is not this agent's
		cooldown.Times = 1
		if before := h.cooldownOf(h.Agent); before != nil && before.Because == ralph.EndLimit {
			cooldown.Times = before.Times + 1
		}
	}
	cooldown.Until = h.Moment.Elapsed + limitWait(h.Now.Agent.RetryAfter, cooldown.Times)
	return cooldown
}

// handOver starts a cooldown for the agent and lets the next one work, if the run's limits allow
// another iteration. It returns nil if no other agent can take over.
func (h History) handOver(p ralph.Policy, v ralph.Verdict, row int, cooldown ralph.AgentCooldown) *ralph.Verdict {
	if len(p.Agents) < 2 {
		return nil
	}
	next, in, ok := h.withCooldown(cooldown).NextAgent(p, h.Moment.Elapsed)
	if !ok {
		return nil
	}
	v.Cooldown = &cooldown
	if limit := limitsRule(p, h, v); limit != nil {
		limit.Hint = "" // the hint is about this agent, but a limit ends the run
		return limit
	}
	if in > 0 {
		waiting := h.waitForReset(p, v, row, in)
		if waiting.Action == ralph.Stop && cooldown.Because != ralph.EndLimit {
			return nil // this agent's failure is a better reason than the other agent's limit
		}
		return waiting
	}
	v.Row, v.Action, v.Detail = row, ralph.GoOn, p.Agents[next]+" takes over"
	return &v
}

// waitForReset returns a verdict that waits until a usage limit resets, or stops if waiting is not allowed.
func (h History) waitForReset(p ralph.Policy, v ralph.Verdict, row int, wait ralph.Span) *ralph.Verdict {
	why := h.Now.Agent.Error
	switch {
	case p.OnLimit == ralph.LimitStop:
		return stopAt(v, row, ralph.RateLimited, "%s", why)
	case h.LimitWaited+wait > p.MaxWait && p.MaxWait > 0:
		return stopAt(v, row, ralph.RateLimited, "%s; the reset is %s away and --max-wait allows %s",
			why, (h.LimitWaited + wait).Short(), p.MaxWait.Short())
	case p.MaxTime > 0 && h.Moment.Elapsed+wait >= p.MaxTime:
		return stopAt(v, 9, ralph.Timeout, "the usage limit's reset is %s away, past the time limit of %s",
			wait.Short(), p.MaxTime.Short())
	}
	return waitAt(v, row, ralph.WaitLimit, wait, why)
}

package judge

import (
	"slices"
	"time"

	"github.com/ralphloop/ralph"
)

// NextAgent says who works next, and how long to wait for it: the first in order that is awake, else the first to wake. False means that there is
// nothing to wait for: nobody's usage limit will be reset.
func (h History) NextAgent(p ralph.Policy, at ralph.Span) (agent int, in ralph.Span, ok bool) {
	var first *ralph.AgentCooldown
	for i := range max(len(p.Agents), 1) {
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

// cooldownOf is the last rest of an agent that has not worked since.
func (h History) cooldownOf(agent int) *ralph.AgentCooldown {
	for i := range h.Cooldowns {
		if h.Cooldowns[i].Agent == agent {
			return &h.Cooldowns[i]
		}
	}
	return nil
}

// withCooldown is the history with an agent laid to rest.
func (h History) withCooldown(r ralph.AgentCooldown) History {
	h.Cooldowns = append(h.withoutCooldown(r.Agent).Cooldowns, r)
	return h
}

// withoutCooldown is the history without the rest of an agent.
func (h History) withoutCooldown(agent int) History {
	h.Cooldowns = slices.DeleteFunc(slices.Clone(h.Cooldowns), func(r ralph.AgentCooldown) bool { return r.Agent == agent })
	return h
}

// TakeTurn puts an agent to work. What others did in between does not end its failures in a row, nor add to them.
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

// outageCooldown is how long an agent rests whose model failed again and again, while another one works.
const outageCooldown = ralph.Span(30 * time.Minute)

// limitCooldown is how long the agent that was limited rests.
func (h History) limitCooldown(p ralph.Policy) ralph.AgentCooldown {
	cooldown := ralph.AgentCooldown{Agent: h.Agent, Because: ralph.EndLimit, Times: h.LimitHits}
	if len(p.Agents) > 1 { // others work in between, so that the streak of the run is not the agent's
		cooldown.Times = 1
		if before := h.cooldownOf(h.Agent); before != nil && before.Because == ralph.EndLimit {
			cooldown.Times = before.Times + 1
		}
	}
	cooldown.Until = h.Moment.Elapsed + limitWait(h.Now.Agent.RetryAfter, cooldown.Times)
	return cooldown
}

// handOver lays the agent to rest and lets the next one work, if the run's limits allow another iteration; nil if there is none.
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
		limit.Hint = "" // what this agent lacks is not what ends the run
		return limit
	}
	if in > 0 {
		waiting := h.waitForReset(p, v, row, in)
		if waiting.Action == ralph.Stop && cooldown.Because != ralph.EndLimit {
			return nil // what happened to this agent says more than that another one is limited
		}
		return waiting
	}
	v.Row, v.Action, v.Detail = row, ralph.GoOn, p.Agents[next]+" takes over"
	return &v
}

// waitForReset waits until a usage limit is reset, or stops where that is not allowed.
func (h History) waitForReset(p ralph.Policy, v ralph.Verdict, row int, wait ralph.Span) *ralph.Verdict {
	why := h.Now.Agent.Error
	switch {
	case p.OnLimit == ralph.LimitStop:
		return stopAt(v, row, ralph.RateLimited, "%s", why)
	case h.LimitWaited+wait > p.MaxWait && p.MaxWait > 0:
		return stopAt(v, row, ralph.RateLimited, "%s; the reset is %s away and --max-wait allows %s", why, (h.LimitWaited + wait).Short(), p.MaxWait.Short())
	case p.MaxTime > 0 && h.Moment.Elapsed+wait >= p.MaxTime:
		return stopAt(v, 9, ralph.Timeout, "the usage limit's reset is %s away, past the time budget of %s", wait.Short(), p.MaxTime.Short())
	}
	return waitAt(v, row, ralph.WaitLimit, wait, why)
}

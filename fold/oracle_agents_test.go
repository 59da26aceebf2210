package fold

import (
	"time"

	"github.com/ralphloop/ralph"
)

// This part of the oracle decides which agent works in a run with several, and which is in a
// cooldown, as the contract says below its verdict table.

// cooldown is what an iteration did to its agent.
type cooldown struct {
	active  bool       // the agent is in a cooldown
	until   ralph.Span // 0: for the rest of the run
	byLimit bool       // because of a usage limit
}

// lastCooldown returns the cooldown that the last iteration puts its agent into, if any.
func (o oracle) lastCooldown() cooldown {
	now, p := o.now(), o.policy
	often := func(times int) bool { return p.MaxFailures > 0 && times >= p.MaxFailures }
	answered := now.Agent.Said.Decide != nil && p.OnDecide == ralph.DecideWait && !o.othersGoOn() ||
		o.goalIsLeftToPerson() || o.listIsLeftToPerson(o.taskStates()) // this is row 5
	switch end := now.Agent.End; {
	case len(p.Agents) < 2:
	case oneOf(end, ralph.EndAuth, ralph.EndMissing, ralph.EndModel):
		return cooldown{active: true}
	case end == ralph.EndLimit:
		return cooldown{active: true, until: now.at.Elapsed + o.limitWait(len(o.iterations)-1), byLimit: true}
	case end == ralph.EndProvider && (often(o.providerFailures()) || p.Outage > 0 && o.outage() >= p.Outage):
		return cooldown{active: true, until: now.at.Elapsed + ralph.Span(30*time.Minute)}
	case now.counts() && !answered && often(o.ownFailures()):
		return cooldown{active: true}
	}
	return cooldown{}
}

// iterationsOf returns the indexes of an agent's iterations in this process, the last one first.
func (o oracle) iterationsOf(agent int) []int {
	var found []int
	for i := len(o.iterations) - 1; i >= len(o.iterations)-len(o.sinceResume()); i-- {
		if o.iterations[i].agentIndex == agent {
			found = append(found, i)
		}
	}
	return found
}

// ownStreak counts the current agent's last iterations that match, and passes over those to skip. A
// cooldown for anything but a limit starts again from zero.
func (o oracle) ownStreak(skip, match func(i int) bool) int {
	count := 0
	for _, i := range o.iterationsOf(o.now().agentIndex) {
		switch {
		case i < len(o.iterations)-1 && o.cooldowns[i].active && !o.cooldowns[i].byLimit:
			return count
		case skip(i):
		case match(i):
			count++
		default:
			return count
		}
	}
	return count
}

// nextAgent returns the agent that works at a time after the last iteration, or the first one whose
// cooldown ends and how long that takes. hope is false if all agents are in a cooldown and none of
// them because of a limit.
func (o oracle) nextAgent(at ralph.Span) (who int, in ralph.Span, hope bool) {
	for agent := range max(len(o.policy.Agents), 1) {
		var last cooldown
		if own := o.iterationsOf(agent); len(own) > 0 {
			last = o.cooldowns[own[0]]
		}
		if !last.active || last.until > 0 && last.until <= at {
			return agent, 0, true
		}
		hope = hope || last.byLimit
		if last.until > 0 && (in == 0 || last.until-at < in) {
			who, in = agent, last.until-at
		}
	}
	return who, in, hope
}

// coolingDownBefore reports whether an agent went into a cooldown before iteration i and has not
// worked since.
func (o oracle) coolingDownBefore(i int) bool {
	if o.iterations[i].resumed || i == 0 {
		return false
	}
	before := o.upTo(i - 1)
	for agent := range len(o.policy.Agents) + 1 {
		for _, j := range before.iterationsOf(agent) {
			if o.cooldowns[j].active {
				return true
			}
			if o.iterations[j].counts() {
				break
			}
		}
	}
	return false
}

// waitedForLimits returns how long the run waited for limits since an iteration last ended
// otherwise, without the wait after the last iteration.
func (o oracle) waitedForLimits() ralph.Span {
	var sum ralph.Span
	last := len(o.iterations) - 1
	for i := len(o.iterations) - len(o.sinceResume()); i <= last; i++ {
		if end := o.iterations[i].Agent.End; end != ralph.EndLimit && !(end == ralph.EndProvider && o.coolingDownBefore(i)) {
			sum = 0
		}
		if o.cooldowns[i].active && i < last {
			_, in, _ := o.upTo(i).nextAgent(o.iterations[i].at.Elapsed)
			sum += in
		}
	}
	return sum
}

// handOver returns the answer if the last iteration puts its agent into a cooldown: another agent
// works, or the run waits for the first cooldown to end. If neither is possible, the run ends for
// the reason that would end it without other agents.
func (o oracle) handOver(a answer, row int, otherwise ralph.StopReason) answer {
	p, at := o.policy, o.now().at.Elapsed
	_, in, hope := o.nextAgent(at)
	tooLong := p.OnLimit == ralph.LimitStop || p.MaxWait > 0 && o.waitedForLimits()+in > p.MaxWait
	pastTheEnd := p.MaxTime > 0 && at+in >= p.MaxTime
	limited := o.now().Agent.End == ralph.EndLimit
	ends := answer{
		Row:      row,
		Action:   ralph.Stop,
		Reason:   otherwise,
		Claimed:  a.Claimed,
		Refusals: a.Refusals,
		Counted:  a.Counted,
		Progress: a.Progress,
		Breaker:  a.Breaker,
	}
	if row == 7 {
		a.Breaker = ralph.BreakerClosed
	}
	switch limit := o.limitHit(at); {
	case !hope:
		return ends
	case limit != "":
		a.Row, a.Action, a.Reason = 9, ralph.Stop, limit
	case in == 0:
		a.Row, a.Action, a.Rests = row, ralph.GoOn, true
	case (tooLong || pastTheEnd) && !limited:
		return ends
	case tooLong:
		a.Row, a.Action, a.Reason = row, ralph.Stop, ralph.RateLimited
	case pastTheEnd:
		a.Row, a.Action, a.Reason = 9, ralph.Stop, ralph.Timeout
	default:
		a.Row, a.Action, a.Wait, a.Length, a.Rests = row, ralph.Wait, ralph.WaitLimit, in, true
	}
	return a
}

// startIteration selects the next agent as the loop does, and compares it with the oracle's.
func (r *simulation) startIteration(resumed bool) int {
	r.t.Helper()
	got, _, _ := r.state.History.NextAgent(r.state.Policy, r.state.Elapsed)
	want := 0
	if !resumed {
		want, _, _ = r.oracle.nextAgent(r.state.Elapsed)
	}
	if got != want {
		r.t.Fatalf("seed %d, iteration %d: agent %d is to work, the oracle says %d: %+v",
			r.seed, r.number, got, want, r.state.History.Cooldowns)
	}
	if before := len(r.oracle.iterations) - 1; !resumed && before >= 0 && r.oracle.iterations[before].agentIndex != got {
		if got < r.oracle.iterations[before].agentIndex {
			r.returns++
		} else {
			r.handOvers++
		}
	}
	r.emit(ralph.EvIterationStarted, ralph.IterationStarted{
		Ordinal:  r.state.History.Counted + 1,
		Diagnose: r.state.History.Breaker.State == ralph.BreakerDiagnose,
		Agent:    got,
		Elapsed:  r.state.Elapsed,
	})
	return got
}

// passTime lets time pass between iterations.
func (r *simulation) passTime(d ralph.Span) {
	if d > 0 {
		r.extraTime += d
		r.emit(ralph.EvAgentOutput, ralph.AgentOutput{Elapsed: r.state.Elapsed + d})
	}
}

// agents returns nil for one agent, or the names of several.
func (d dice) agents() []string { return pick(d, nil, []string{"a", "b"}, []string{"a", "b", "c"}) }

// otherAgents returns the agents after a resume, which may differ.
func (d dice) otherAgents(agents []string) []string {
	if len(agents) < 2 {
		return agents
	}
	return pick(d, agents, agents, []string{"b", "a"}, []string{"c", "a"}, nil)
}

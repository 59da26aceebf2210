package fold

import (
	"time"

	"github.com/ralphloop/ralph"
)

// The agents of the oracle: who works in a run that has several, and who rests, as the contract says below its verdict table.

// bed is what a page did to its agent.
type bed struct {
	laid  bool       // it rests
	until ralph.Span // 0 is for good
	limit bool       // because of a usage limit
}

// bedtime says whether the last page lays its agent to rest.
func (n notebook) bedtime() bed {
	now, p := n.now(), n.policy
	often := func(times int) bool { return p.MaxFailures > 0 && times >= p.MaxFailures }
	answered := now.Agent.Said.Decide != nil && p.OnDecide == ralph.DecideWait // which is row 5
	switch end := now.Agent.End; {
	case len(p.Agents) < 2:
	case oneOf(end, ralph.EndAuth, ralph.EndMissing):
		return bed{laid: true}
	case end == ralph.EndLimit:
		return bed{laid: true, until: now.at.Elapsed + n.limitWait(len(n.pages)-1), limit: true}
	case end == ralph.EndProvider && often(n.providerFailures()):
		return bed{laid: true, until: now.at.Elapsed + ralph.Span(30*time.Minute)}
	case now.against() && !answered && often(n.ownFailures()):
		return bed{laid: true}
	}
	return bed{}
}

// pagesOf are an agent's pages since this process began, the last one first.
func (n notebook) pagesOf(agent int) []int {
	var found []int
	for i := len(n.pages) - 1; i >= len(n.pages)-len(n.sinceResume()); i-- {
		if n.pages[i].who == agent {
			found = append(found, i)
		}
	}
	return found
}

// itsOwn counts the last pages of the agent at work that say yes; those that are silent are passed over. A rest for anything but a limit counts from zero.
func (n notebook) itsOwn(silent, yes func(i int) bool) int {
	count := 0
	for _, i := range n.pagesOf(n.now().who) {
		switch {
		case i < len(n.pages)-1 && n.beds[i].laid && !n.beds[i].limit:
			return count
		case silent(i):
		case yes(i):
			count++
		default:
			return count
		}
	}
	return count
}

// turn says who works at a time after the last page, or how long it takes until somebody does. Without hope everybody rests and nobody is limited.
func (n notebook) turn(at ralph.Span) (who int, in ralph.Span, hope bool) {
	for agent := range max(len(n.policy.Agents), 1) {
		var last bed
		if own := n.pagesOf(agent); len(own) > 0 {
			last = n.beds[own[0]]
		}
		if !last.laid || last.until > 0 && last.until <= at {
			return agent, 0, true
		}
		hope = hope || last.limit
		if last.until > 0 && (in == 0 || last.until-at < in) {
			who, in = agent, last.until-at
		}
	}
	return who, in, hope
}

// restsBefore reports whether somebody was laid to rest before page i and has not worked since.
func (n notebook) restsBefore(i int) bool {
	if n.pages[i].resumed || i == 0 {
		return false
	}
	before := n.upTo(i - 1)
	for agent := range len(n.policy.Agents) + 1 {
		for _, j := range before.pagesOf(agent) {
			if n.beds[j].laid {
				return true
			}
			if n.pages[j].against() {
				break
			}
		}
	}
	return false
}

// slept is what was waited for limits since an iteration last ended otherwise, the last page's wait left out.
func (n notebook) slept() ralph.Span {
	var sum ralph.Span
	last := len(n.pages) - 1
	for i := len(n.pages) - len(n.sinceResume()); i <= last; i++ {
		if end := n.pages[i].Agent.End; end != ralph.EndLimit && !(end == ralph.EndProvider && n.restsBefore(i)) {
			sum = 0
		}
		if n.beds[i].laid && i < last {
			_, in, _ := n.upTo(i).turn(n.pages[i].at.Elapsed)
			sum += in
		}
	}
	return sum
}

// handOver is the answer where the last page lays its agent to rest: another one works, or the first to wake is waited for. Where neither can be, the run
// ends for the reason that would end it without the others.
func (n notebook) handOver(a answer, row int, otherwise ralph.StopReason) answer {
	p, at := n.policy, n.now().at.Elapsed
	_, in, hope := n.turn(at)
	tooLong := p.OnLimit == ralph.LimitStop || p.MaxWait > 0 && n.slept()+in > p.MaxWait
	pastTheEnd := p.MaxTime > 0 && at+in >= p.MaxTime
	limited := n.now().Agent.End == ralph.EndLimit
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
	switch limit := n.limitHit(at); {
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

// takeTurn says who works next, as the loop does, and compares that with the oracle.
func (r *enacted) takeTurn(resumed bool) int {
	r.t.Helper()
	got, _, _ := r.state.History.NextAgent(r.state.Policy, r.state.Elapsed)
	want := 0
	if !resumed {
		want, _, _ = r.notes.turn(r.state.Elapsed)
	}
	if got != want {
		r.t.Fatalf(
			"seed %d, iteration %d: agent %d is to work, the oracle says %d: %+v",
			r.seed,
			r.number,
			got,
			want,
			r.state.History.Cooldowns,
		)
	}
	if before := len(r.notes.pages) - 1; !resumed && before >= 0 && r.notes.pages[before].who != got {
		if got < r.notes.pages[before].who {
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

// pass lets time pass while nobody works.
func (r *enacted) pass(d ralph.Span) {
	if d > 0 {
		r.late += d
		r.emit(ralph.EvAgentOutput, ralph.AgentOutput{Elapsed: r.state.Elapsed + d})
	}
}

// agents makes a run of several, now and then.
func (d dice) agents() []string { return pick(d, nil, []string{"a", "b"}, []string{"a", "b", "c"}) }

// otherAgents is what a resume may make of them.
func (d dice) otherAgents(agents []string) []string {
	if len(agents) < 2 {
		return agents
	}
	return pick(d, agents, agents, []string{"b", "a"}, []string{"c", "a"}, nil)
}

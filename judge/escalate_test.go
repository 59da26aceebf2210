package judge

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

// escalating is a policy with an agent, a fallback and an escalation.
func escalating() ralph.Policy {
	p := ralph.DefaultPolicy()
	p.Agents = []string{"claude", "codex", "claude:opus"}
	p.Escalation = &ralph.Escalation{Agent: 2, After: 2}
	p.Breaker = ralph.BreakerPolicy{NoProgress: 2}
	return p
}

// claims plays one iteration of a goal whose claim is refused, because its check fails.
func claims(p ralph.Policy, h *History, progress bool) ralph.Verdict {
	h.Started++
	agent, _, _ := h.NextAgent(p, 0)
	h.TakeTurn(agent)
	h.Judging = true
	tree := ralph.TreeState{Known: true, Hash: "same"}
	if progress {
		tree.Hash += string(rune('a' + h.Started))
	}
	h.Now = Observation{
		Number: h.Started, Tree: tree,
		Agent:  ralph.AgentOutcome{End: ralph.EndOK, Said: promise.Report{Complete: true, CompleteTag: "COMPLETE"}},
		Checks: []ralph.CheckResult{{Name: "test", Output: string(rune('a' + h.Started))}},
	}
	*h = h.Judge(ralph.Moment{})
	v := Decide(p, *h)
	h.ApplyVerdict(v)
	return v
}

func TestRefusalsEscalate(t *testing.T) {
	p, h := escalating(), History{}
	var got []int
	for range 4 {
		v := claims(p, &h, true)
		if v.Action != ralph.GoOn || v.Escalates != (h.Started == 2) {
			t.Errorf("iteration %d: %+v", h.Started, v)
		}
		agent, _, _ := h.NextAgent(p, 0)
		got = append(got, agent)
	}
	if diff := cmp.Diff([]int{0, 2, 2, 2}, got); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	h.Task = "another" // the escalation is for this work alone
	if agent, _, _ := h.NextAgent(p, 0); agent != 0 {
		t.Errorf("another task starts with agent %d", agent)
	}
	h.Task = ""
	limited := h.withCooldown(ralph.AgentCooldown{Agent: 2, Because: ralph.EndLimit, Until: 100})
	if agent, _, _ := limited.NextAgent(p, 0); agent != 0 {
		t.Errorf("agent %d works while the escalation cools down", agent)
	}
	h.Restart()
	if agent, _, _ := h.NextAgent(p, 0); agent != 0 {
		t.Errorf("a resumed run starts with agent %d", agent)
	}
}

// A tripped breaker escalates instead of ending the run, once.
func TestATrippedBreakerEscalates(t *testing.T) {
	p, h := escalating(), History{}
	p.Escalation.After = 100
	claims(p, &h, false) // its tree is new
	claims(p, &h, false)
	v := claims(p, &h, false)
	want := ralph.Breaker{State: ralph.BreakerClosed}
	if v.Row != 8 || v.Action != ralph.GoOn || !v.Escalates || v.Breaker != want ||
		v.Detail != "claude:opus takes over after 2 iterations in a row without progress" {
		t.Errorf("got %+v", v)
	}
	claims(p, &h, false)
	if v = claims(p, &h, false); v.Action != ralph.Stop || v.Reason != ralph.CircuitOpen || h.Agent != 2 {
		t.Errorf("the second time: agent %d, %+v", h.Agent, v)
	}
}

// A limit of the run comes first, and an escalation is no fallback.
func TestWhatDoesNotEscalate(t *testing.T) {
	p, h := escalating(), History{}
	p.MaxIterations = 2
	claims(p, &h, true)
	if v := claims(p, &h, true); v.Reason != ralph.MaxIterations || v.Escalates {
		t.Errorf("at the iteration limit: %+v", v)
	}
	p.Agents, p.Escalation.Agent = []string{"claude", "claude:opus"}, 1
	h = History{AgentTurns: AgentTurns{Cooldowns: []ralph.AgentCooldown{{Agent: 0, Because: ralph.EndAuth}}}}
	if agent, _, ok := h.NextAgent(p, 0); ok {
		t.Errorf("agent %d takes over from one that is not logged in", agent)
	}
}

func TestReserves(t *testing.T) {
	reserves := []ralph.Reserve{{Window: "5h", Part: 0.2}, {Window: "week", Part: 0.3}}
	const hour = ralph.Span(3600e9)
	used := func(name string, part float64) []ralph.UsageWindow {
		return []ralph.UsageWindow{{Name: name, Used: part, Resets: hour}}
	}
	for name, c := range map[string]struct {
		agents  []string
		windows []ralph.UsageWindow
		onLimit ralph.LimitRule
		maxWait ralph.Span
		action  ralph.Action
		reason  ralph.StopReason
	}{
		"enough is left":   {windows: used("5h", 0.79), action: ralph.GoOn},
		"nothing is known": {action: ralph.GoOn},
		"another window":   {windows: used("3h", 1), action: ralph.GoOn},
		"the reserve":      {windows: used("week", 0.7), action: ralph.Wait},
		"must not wait": {
			windows: used("5h", 0.8), onLimit: ralph.LimitStop, action: ralph.Stop, reason: ralph.RateLimited,
		},
		"waits too long": {
			windows: used("5h", 1), maxWait: hour / 2, action: ralph.Stop, reason: ralph.RateLimited,
		},
		"another takes over": {
			agents: []string{"claude", "codex"}, windows: used("5h", 0.9), action: ralph.GoOn,
		},
	} {
		p := ralph.DefaultPolicy()
		p.Reserves, p.Agents, p.MaxWait = reserves, c.agents, c.maxWait
		if c.onLimit != "" {
			p.OnLimit = c.onLimit
		}
		h := History{Started: 1, Judging: true, Now: Observation{
			Number: 1, Agent: ralph.AgentOutcome{End: ralph.EndCut, Windows: c.windows},
			Tree: ralph.TreeState{Known: true, Hash: "new"},
		}}
		v := Decide(p, h.Judge(ralph.Moment{}))
		if v.Action != c.action || v.Reason != c.reason || (v.Cooldown != nil) != (c.agents != nil) {
			t.Errorf("%s: %+v", name, v)
		}
		if v.Action == ralph.Wait && v.Wait < hour {
			t.Errorf("%s: waits %s", name, v.Wait.Short())
		}
	}
}

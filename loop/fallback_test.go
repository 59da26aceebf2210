package loop

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// fallbackWorld is a run of claude, with others that take over. Every turn of a player is played by
// its own agent.
func fallbackWorld(
	t *testing.T, first []turn, others map[string][]turn, order ...string,
) (*world, map[string]*fakeAgent) {
	t.Helper()
	w := newWorld(t, first...)
	w.cfg.AgentName, w.cfg.Model = "claude", "opus"
	w.checker.results = []ralph.CheckResult{isRed, isGreen}
	players := map[string]*fakeAgent{"claude": w.agent}
	for _, name := range order {
		players[name] = &fakeAgent{turns: others[name]}
		w.cfg.Fallbacks = append(w.cfg.Fallbacks, Fallback{Name: name, Model: name + "-model", Agent: players[name]})
	}
	return w, players
}

// workers are the names that agent_started tells, in order.
func workers(m *memoryLog) []string {
	var names []string
	for _, s := range payloads[ralph.AgentStarted](m) {
		names = append(names, s.Agent+"/"+s.Model)
	}
	return names
}

func crashing() turn { return ends(ralph.AgentOutcome{End: ralph.EndFailed, Error: "boom"}) }
func lockedOut() turn {
	return ends(ralph.AgentOutcome{End: ralph.EndAuth, Error: "refused", Hint: "log in"})
}

func TestFallbacks(t *testing.T) {
	const claude, codex = "claude/opus", "codex/codex-model"
	cases := []struct {
		name   string
		first  []turn
		second []turn
		change func(*world)
		reason ralph.StopReason
		who    []string
		waits  map[ralph.WaitReason][]time.Duration
	}{
		{
			name: "a limit hands over at once", first: []turn{limitTurn(time.Hour)}, second: []turn{done()},
			reason: ralph.AllChecksPassed, who: []string{claude, codex},
		},
		{
			name: "the first comes back when its limit is reset", first: []turn{limitTurn(time.Second), done()},
			second: []turn{nothing()},
			change: func(w *world) { w.policy.IterationDelay = ralph.Span(10 * time.Second) },
			reason: ralph.AllChecksPassed, who: []string{claude, codex, claude},
			waits: map[ralph.WaitReason][]time.Duration{ralph.WaitDelay: {10 * time.Second, 10 * time.Second}},
		},
		{
			name: "both limited: the first reset is waited for", first: []turn{limitTurn(2 * time.Hour)},
			second: []turn{limitTurn(time.Hour), done()},
			reason: ralph.AllChecksPassed, who: []string{claude, codex, codex},
			waits: map[ralph.WaitReason][]time.Duration{ralph.WaitLimit: {time.Hour + 15*time.Second}},
		},
		{
			name: "without a known reset an agent rests longer each time", first: []turn{limitTurn(0), limitTurn(0), done()},
			second: []turn{nothing()},
			change: func(w *world) {
				w.policy.IterationDelay, w.policy.Breaker = ralph.Span(35*time.Second), ralph.BreakerPolicy{}
			}, // one minute, then two
			reason: ralph.AllChecksPassed, who: []string{claude, codex, claude, codex, codex, codex, claude},
			waits: map[ralph.WaitReason][]time.Duration{ralph.WaitDelay: slices.Repeat([]time.Duration{35 * time.Second}, 6)},
		},
		{
			name: "--on-limit stop ends only when nobody is left", first: []turn{limitTurn(0)}, second: []turn{limitTurn(0)},
			change: func(w *world) { w.policy.OnLimit = ralph.LimitStop }, reason: ralph.RateLimited,
			who: []string{claude, codex},
		},
		{
			name: "failures in a row hand over, and count from zero", first: []turn{crashing()},
			second: []turn{crashing(), crashing(), done()},
			reason: ralph.AllChecksPassed, who: []string{claude, claude, claude, codex, codex, codex},
		},
		{
			name: "everybody failed", first: []turn{crashing()}, second: []turn{crashing()},
			reason: ralph.AgentFailed, who: []string{claude, claude, claude, codex, codex, codex},
		},
		{
			name: "a failing model hands over", first: []turn{providerTurn()}, second: []turn{done()},
			change: func(w *world) { w.policy.MaxFailures = 1 }, reason: ralph.AllChecksPassed, who: []string{claude, codex},
		},
		{
			name: "models that all fail end the run", first: []turn{providerTurn()}, second: []turn{providerTurn()},
			change: func(w *world) { w.policy.MaxFailures, w.policy.Outage = 1, 0 }, reason: ralph.ProviderFailed,
			who: []string{claude, codex},
		},
		{
			name:  "a failing model is no end while another one's limit will be reset",
			first: []turn{limitTurn(20 * time.Minute), done()}, second: []turn{providerTurn()},
			change: func(w *world) { w.policy.MaxFailures = 1 }, reason: ralph.AllChecksPassed,
			who:   []string{claude, codex, claude},
			waits: map[ralph.WaitReason][]time.Duration{ralph.WaitLimit: {20*time.Minute + 15*time.Second - worked}},
		},
		{
			name: "nobody is waited for longer than until somebody wakes", first: []turn{providerTurn(), done()},
			second: []turn{limitTurn(5 * time.Hour)},
			change: func(w *world) { w.policy.MaxFailures = 1 }, reason: ralph.AllChecksPassed,
			who:   []string{claude, codex, claude},
			waits: map[ralph.WaitReason][]time.Duration{ralph.WaitLimit: {30*time.Minute - worked}},
		},
		{
			name: "waits add up while nobody works", first: []turn{limitTurn(50 * time.Minute)}, second: []turn{providerTurn()},
			change: func(w *world) { w.policy.MaxFailures, w.policy.MaxWait = 1, ralph.Span(time.Hour) },
			reason: ralph.ProviderFailed, who: []string{claude, codex, codex, claude, codex},
			waits: map[ralph.WaitReason][]time.Duration{
				ralph.WaitLimit: {
					30 * time.Minute, 20*time.Minute + 15*time.Second - 2*worked, 10*time.Minute - 15*time.Second + worked,
				},
			},
		},
		{
			name: "failures in a row are of one agent", first: []turn{limitTurn(time.Second), crashing(), done()},
			second: []turn{crashing(), crashing(), nothing()},
			change: func(w *world) { w.policy.IterationDelay = ralph.Span(3 * time.Second) },
			reason: ralph.AllChecksPassed, who: []string{claude, codex, codex, claude, claude},
			waits: map[ralph.WaitReason][]time.Duration{ralph.WaitDelay: slices.Repeat([]time.Duration{3 * time.Second}, 4)},
		},
		{
			name:   "and others in between do not end them",
			first:  []turn{limitTurn(time.Second), limitTurn(time.Second), limitTurn(time.Second), nothing(), done()},
			second: []turn{crashing()},
			change: func(w *world) { w.policy.IterationDelay = ralph.Span(11 * time.Second) },
			reason: ralph.AllChecksPassed, who: []string{claude, codex, claude, codex, claude, codex, claude, claude},
			waits: map[ralph.WaitReason][]time.Duration{ralph.WaitDelay: slices.Repeat([]time.Duration{11 * time.Second}, 7)},
		},
		{
			name: "a refused login hands over for good", first: []turn{lockedOut()}, second: []turn{nothing(), done()},
			reason: ralph.AllChecksPassed, who: []string{claude, codex, codex},
		},
		{
			name: "nobody is logged in", first: []turn{lockedOut()}, second: []turn{lockedOut()}, reason: ralph.AuthError,
			who: []string{claude, codex},
		},
		{
			name: "a refused login says more than that the other is limited", first: []turn{limitTurn(time.Hour)},
			second: []turn{lockedOut()},
			change: func(w *world) { w.policy.OnLimit = ralph.LimitStop }, reason: ralph.AuthError, who: []string{claude, codex},
		},
		{
			name:  "a sandbox that fails is nobody's",
			first: []turn{ends(ralph.AgentOutcome{End: ralph.EndSandbox, Error: "no"})}, second: []turn{done()},
			reason: ralph.SandboxError, who: []string{claude},
		},
		{
			name: "the cap comes before a hand-over", first: []turn{crashing()}, second: []turn{done()},
			change: func(w *world) { w.policy.MaxIterations = 3 }, reason: ralph.MaxIterations,
			who: []string{claude, claude, claude},
		},
		{
			name: "and before a wait", first: []turn{limitTurn(time.Hour)}, second: []turn{crashing()},
			change: func(w *world) { w.policy.MaxIterations = 3 }, reason: ralph.MaxIterations,
			who: []string{claude, codex, codex, codex},
		},
	}
	for _, c := range cases {
		bubble(t, c.name, func(t *testing.T) {
			w, _ := fallbackWorld(t, c.first, map[string][]turn{"codex": c.second}, "codex")
			if c.change != nil {
				c.change(w)
			}
			result := w.ends(c.reason, countOf(c.who, claude))
			same(t, "who worked", c.who, workers(w.log))
			if c.waits == nil {
				c.waits = map[ralph.WaitReason][]time.Duration{}
			}
			got := waited(w.log)
			delete(got, ralph.WaitBackoff)
			if diff := cmp.Diff(c.waits, got); diff != "" {
				t.Errorf("waits (-want +got):\n%s", diff)
			}
			if len(result.Iterations) != len(c.who) {
				t.Errorf("%d iterations are told of, want %d", len(result.Iterations), len(c.who))
			}
		})
	}
}

func countOf(list []string, word string) int {
	n := 0
	for _, s := range list {
		if s == word {
			n++
		}
	}
	return n
}

func TestTheLogSaysWhoDidWhat(t *testing.T) {
	bubble(t, "and why", func(t *testing.T) {
		w, players := fallbackWorld(
			t, []turn{limitTurn(time.Hour)}, map[string][]turn{"codex": {lockedOut()}, "gemini": {done()}}, "codex", "gemini",
		)
		result := w.ends(ralph.AllChecksPassed, 1)
		var who, why []string
		for _, it := range result.Iterations {
			who = append(who, it.Agent)
		}
		for _, v := range payloads[ralph.VerdictReached](w.log) {
			why = append(why, v.Verdict.Detail)
		}
		same(t, "who", []string{"claude", "codex", "gemini"}, who)
		same(t, "why", []string{
			"codex takes over", "gemini takes over", "the agent claims completion, and every check passes",
		}, why)
		same(t, "model", "gemini-model", players["gemini"].inputs[0].Model)
		same(t, "counted", []bool{false, false, true}, counted(w.log))
	})
}

func TestAnAgentThatFailedDoesNotStallTheNextOne(t *testing.T) {
	bubble(t, "the breaker counts anew", func(t *testing.T) {
		w, _ := fallbackWorld(t, []turn{crashing()}, map[string][]turn{"codex": {nothing(), nothing(), done()}}, "codex")
		w.tree.frozen, w.checker.results = true, append(slices.Repeat([]ralph.CheckResult{isRed}, 6), isGreen)
		w.ends(ralph.AllChecksPassed, 3)
		for _, started := range payloads[ralph.IterationStarted](w.log) {
			if started.Diagnose {
				t.Errorf("iteration %+v is to diagnose only", started)
			}
		}
	})
}

func TestACutJudgementIsOfTheAgentThatWorked(t *testing.T) {
	for _, c := range []struct {
		name   string
		others []string // who take over after the resume
		rests  int
	}{
		{"as before", []string{"codex"}, 1},
		{"further down", []string{"gemini", "codex"}, 2},
		{"nobody of the run any more", []string{"gemini"}, 2},
	} {
		bubble(t, c.name, func(t *testing.T) {
			w, _ := fallbackWorld(t, []turn{limitTurn(time.Hour)}, map[string][]turn{"codex": {lockedOut()}}, "codex")
			w.policy.OnLimit = ralph.LimitStop
			w.ends(ralph.AuthError, 1)
			exited := slices.IndexFunc(w.log.events, func(e ralph.Event) bool {
				o, ok := e.Data.(ralph.AgentOutcome)
				return ok && o.Agent == "codex"
			})
			state := refold(t, w.log.events[:exited+1])
			again, _ := fallbackWorld(
				t, []turn{done()}, map[string][]turn{"codex": {lockedOut()}, "gemini": {lockedOut()}}, c.others...,
			)
			again.checker.results = []ralph.CheckResult{isGreen}
			again.options = append(again.options, WithState(&state))
			again.ends(ralph.AllChecksPassed, 1)
			same(t, "who worked", []string{"claude/opus"}, workers(again.log))
			same(
				t,
				"who rests",
				ralph.AgentCooldown{Agent: c.rests, Because: ralph.EndAuth},
				*payloads[ralph.VerdictReached](again.log)[0].Verdict.Cooldown,
			)
			mustReplay(t, append(w.log.events[:exited+1:exited+1], again.log.events...))
		})
	}
}

func TestAResumeWakesEverybody(t *testing.T) {
	h := judge.History{AgentTurns: judge.AgentTurns{
		Agent: 1, Cooldowns: []ralph.AgentCooldown{{Agent: 0, Because: ralph.EndAuth}},
	}}
	h.Restart()
	if h.Agent != 0 || h.Cooldowns != nil {
		t.Errorf("got %+v", h)
	}
}

func TestAFallbackThatIsNobodyIsRefused(t *testing.T) {
	_, err := New(Config{Task: "x", Agent: &fakeAgent{}, AllowUnverified: true, Fallbacks: []Fallback{{Name: "codex"}}})
	if err == nil || err.Error() != "make loop: no agent" {
		t.Errorf("got %v", err)
	}
}

func TestErrorClasses(t *testing.T) {
	want := map[ralph.EndClass]ralph.ErrorClass{
		ralph.EndOK: ralph.ClassOK, ralph.EndFailed: ralph.ClassBroken, ralph.EndBroken: ralph.ClassBroken,
		ralph.EndEmpty: ralph.ClassBroken, ralph.EndMissing: ralph.ClassBroken, ralph.EndSandbox: ralph.ClassBroken,
		ralph.EndKilled: ralph.ClassKilled, ralph.EndTimeout: ralph.ClassKilled, ralph.EndIdle: ralph.ClassKilled,
		ralph.EndOutOfTime: ralph.ClassKilled, ralph.EndInterrupted: ralph.ClassKilled,
		ralph.EndAuth: ralph.ClassAuth, ralph.EndLimit: ralph.ClassLimit, ralph.EndProvider: ralph.ClassOverloaded,
	}
	for end, class := range want {
		if got := (ralph.AgentOutcome{End: end}).Class(); got != class {
			t.Errorf("%s is %s, want %s", end, got, class)
		}
	}
	denied := ralph.AgentOutcome{End: ralph.EndFailed, Denials: []string{"Bash: rm"}}
	lived := ralph.AgentOutcome{End: ralph.EndOK, Denials: []string{"Bash: rm"}}
	if denied.Class() != ralph.ClassPermission || lived.Class() != ralph.ClassOK {
		t.Errorf("%s, %s", denied.Class(), lived.Class())
	}
}

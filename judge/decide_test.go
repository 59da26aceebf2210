package judge

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

// situation is the input of Decide. The plain one is iteration 1 of a run whose check failed at the
// baseline: files changed, the check still fails, and the agent said nothing.
type situation struct {
	policy ralph.Policy
	before History
	at     ralph.Moment
}

func plainSituation() *situation {
	tree := ralph.TreeState{Known: true, Head: "c0", Hash: "h0"}
	red := []ralph.CheckResult{{Name: "go test", ExitCode: 1, Output: "FAIL"}}
	return &situation{
		policy: lenientPolicy(),
		before: History{
			Started: 1, Judging: true, Base: tree, Baseline: red, Breaker: ralph.Breaker{State: ralph.BreakerClosed},
			LastSeen: LastSeen{Tree: tree, Checks: CheckMarks{}.With(red)},
			Now: Observation{
				Number: 1, Agent: ralph.AgentOutcome{Agent: "fake", End: ralph.EndOK, Said: promise.Report{Text: true}},
				Tree: ralph.TreeState{Known: true, Head: "c0", Hash: "h1"}, Checks: red,
			},
		},
		at: ralph.Moment{Elapsed: ralph.Span(time.Minute)},
	}
}

func (s *situation) decide() ralph.Verdict { return Decide(s.policy, s.before.Judge(s.at)) }

func (s *situation) agent() *ralph.AgentOutcome { return &s.before.Now.Agent }
func (s *situation) said() *promise.Report      { return &s.before.Now.Agent.Said }

func (s *situation) claim() { s.said().Complete, s.said().CompleteTag = true, "COMPLETE" }
func (s *situation) green() {
	s.before.Now.Checks = []ralph.CheckResult{{Name: "go test", Passed: true}}
}
func (s *situation) broken() {
	s.before.Now.Checks = []ralph.CheckResult{
		{Name: "go test", Broken: true, ExitCode: 127, Output: "sh: go: not found\nmore"},
	}
}
func (s *situation) noCheck() {
	s.before.Now.Checks, s.before.Baseline, s.before.Checks = nil, nil, nil
}
func (s *situation) noChanges() { s.before.Now.Tree = s.before.Tree }
func (s *situation) ended(end ralph.EndClass, why string) {
	s.agent().End, s.agent().Error = end, why
	switch end {
	case ralph.EndLimit, ralph.EndProvider, ralph.EndAuth, ralph.EndMissing, ralph.EndSandbox, ralph.EndInterrupted:
		s.before.Now.Checks = nil
	}
}

// betweenIterations makes Decide judge before an iteration instead of after one.
func (s *situation) betweenIterations() { s.before.Judging = false }

var closed = ralph.Breaker{State: ralph.BreakerClosed}

// goesOn, stops and waits are verdicts on the plain situation. A row may change them.
func goesOn() ralph.Verdict {
	return ralph.Verdict{Row: 10, Action: ralph.GoOn, Counted: true, Progress: true, Breaker: closed}
}

func stops(row int, reason ralph.StopReason, detail string) ralph.Verdict {
	return ralph.Verdict{
		Row:      row,
		Action:   ralph.Stop,
		Reason:   reason,
		Detail:   detail,
		Counted:  true,
		Progress: true,
		Breaker:  closed,
	}
}

func waits(row int, why ralph.WaitReason, wait time.Duration, detail string) ralph.Verdict {
	return ralph.Verdict{
		Row:      row,
		Action:   ralph.Wait,
		WaitFor:  why,
		Wait:     ralph.Span(wait),
		Detail:   detail,
		Progress: true,
		Breaker:  closed,
	}
}

func with(v ralph.Verdict, change func(*ralph.Verdict)) ralph.Verdict {
	change(&v)
	return v
}

func uncounted(v *ralph.Verdict) { v.Counted = false }

func outage(v *ralph.Verdict)  { v.Counted, v.Hint = false, providerHint }
func claimed(v *ralph.Verdict) { v.Claimed = true }
func proven(v *ralph.Verdict)  { v.Claimed, v.VerifiedBy = true, []string{ralph.VerifiedChecks} }

func interrupted(by ralph.Signal) ralph.Verdict {
	v := stops(0, ralph.Interrupted, "interrupted by "+string(by))
	v.Signal = by
	return v
}

// interruptedBetween and cappedBetween are verdicts between iterations, where nothing was judged.
var (
	interruptedBetween = ralph.Verdict{
		Action: ralph.Stop, Reason: ralph.Interrupted, Signal: ralph.SignalInterrupt,
		Detail: "interrupted by INT", Breaker: closed,
	}
	cappedBetween = ralph.Verdict{
		Row: 9, Action: ralph.Stop, Reason: ralph.MaxIterations,
		Detail: "iteration limit (3) reached; work unfinished", Breaker: closed,
	}
)

type row struct {
	name  string
	given func(s *situation)
	want  ralph.Verdict
}

func decideRows(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			s := plainSituation()
			r.given(s)
			got := s.decide()
			if diff := cmp.Diff(r.want, got, cmpopts.IgnoreFields(ralph.Verdict{}, "Gates"), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
			if again := s.decide(); !cmp.Equal(got, again) {
				t.Errorf("asked again, Decide says otherwise:\n%s", cmp.Diff(got, again))
			}
		})
	}
}

func TestRow0Interrupts(t *testing.T) {
	decideRows(t, []row{
		{"row 0: TERM kills and beats a proven claim", func(s *situation) {
			s.claim()
			s.green()
			s.at.Signal, s.at.Killed = ralph.SignalTerminate, true
		}, with(interrupted(ralph.SignalTerminate), claimed)},
		{"row 0: HUP kills and beats a failed login", func(s *situation) {
			s.ended(ralph.EndAuth, "not logged in")
			s.at.Signal, s.at.Killed = ralph.SignalHangup, true
		}, with(interrupted(ralph.SignalHangup), uncounted)},
		{"row 0: a second INT kills and beats BLOCKED", func(s *situation) {
			s.said().Blocked = new("no key")
			s.at.Signal, s.at.Killed = ralph.SignalInterrupt, true
		}, interrupted(ralph.SignalInterrupt)},
		{"row 0: one INT and a proven claim is 0", func(s *situation) {
			s.claim()
			s.green()
			s.at.Signal = ralph.SignalInterrupt
		}, with(stops(4, ralph.AllChecksPassed, "the agent claims completion, and every check passes"), proven)},
		{"row 0: one INT and a refused claim is interrupted", func(s *situation) {
			s.claim()
			s.at.Signal = ralph.SignalInterrupt
		}, with(interrupted(ralph.SignalInterrupt), claimed)},
		{"row 0: one INT comes before BLOCKED", func(s *situation) {
			s.said().Blocked = new("no key")
			s.at.Signal = ralph.SignalInterrupt
		}, interrupted(ralph.SignalInterrupt)},
		{"row 0: one INT comes before a failed login", func(s *situation) {
			s.ended(ralph.EndAuth, "not logged in")
			s.at.Signal = ralph.SignalInterrupt
		}, with(interrupted(ralph.SignalInterrupt), uncounted)},
		{"row 0: one INT instead of waiting for a usage limit", func(s *situation) {
			s.ended(ralph.EndLimit, "limit reached")
			s.at.Signal = ralph.SignalInterrupt
		}, with(interrupted(ralph.SignalInterrupt), uncounted)},
		{"row 0: one INT instead of a back-off", func(s *situation) {
			s.ended(ralph.EndProvider, "529")
			s.at.Signal = ralph.SignalInterrupt
		}, with(interrupted(ralph.SignalInterrupt), uncounted)},
		{"row 0: between iterations nothing starts", func(s *situation) {
			s.betweenIterations()
			s.at.Signal = ralph.SignalInterrupt
		}, interruptedBetween},
	})
}

func TestRow1TheEnvironment(t *testing.T) {
	decideRows(t, []row{
		{
			"row 1: the sandbox did not start",
			func(s *situation) { s.ended(ralph.EndSandbox, "no bwrap") },
			with(stops(1, ralph.SandboxError, "no bwrap"), uncounted),
		},
		{"row 1: the program is missing", func(s *situation) { s.ended(ralph.EndMissing, "claude: not found") },
			with(stops(1, ralph.ProgramMissing, "claude: not found"), uncounted)},
		{"row 1: the login failed, and the hint says what to do", func(s *situation) {
			s.ended(ralph.EndAuth, "not logged in")
			s.agent().Hint = "run: ralph login"
		}, with(stops(1, ralph.AuthError, "not logged in"), func(v *ralph.Verdict) {
			v.Counted, v.Hint = false, "run: ralph login"
		})},
		{"row 1: a claim does not help", func(s *situation) {
			s.claim()
			s.ended(ralph.EndAuth, "not logged in")
		}, with(stops(1, ralph.AuthError, "not logged in"), func(v *ralph.Verdict) { v.Counted, v.Claimed = false, true })},
		{"row 1: the words of the agent change nothing", func(s *situation) {
			s.said().Mentions = []string{"Unauthorized: 401, command not found, rate limit 429"}
		}, goesOn()},
		{
			"row 1: the words of the agent's own error change nothing",
			func(s *situation) { s.ended(ralph.EndFailed, "Unauthorized") },
			goesOn(),
		},
	})
}

func TestRow2UsageLimits(t *testing.T) {
	limited := func(change func(*situation)) func(*situation) {
		return func(s *situation) {
			s.ended(ralph.EndLimit, "5-hour limit")
			change(s)
		}
	}
	decideRows(t, []row{
		{
			"row 2: wait to the reset and a little more",
			limited(func(s *situation) { s.agent().RetryAfter = ralph.Span(time.Hour) }),
			waits(2, ralph.WaitLimit, time.Hour+15*time.Second, "5-hour limit"),
		},
		{
			"row 2: an unknown reset is tried after a minute",
			limited(func(*situation) {}),
			waits(2, ralph.WaitLimit, time.Minute, "5-hour limit"),
		},
		{
			"row 2: an unknown reset doubles",
			limited(func(s *situation) { s.before.LimitHits = 2 }),
			waits(2, ralph.WaitLimit, 4*time.Minute, "5-hour limit"),
		},
		{"row 2: an unknown reset stays at half an hour", limited(func(s *situation) { s.before.LimitHits = 50 }),
			waits(2, ralph.WaitLimit, 30*time.Minute, "5-hour limit")},
		{
			"row 2: --on-limit stop",
			limited(func(s *situation) { s.policy.OnLimit = ralph.LimitStop }),
			with(stops(2, ralph.RateLimited, "5-hour limit"), uncounted),
		},
		{"row 2: longer than --max-wait", limited(func(s *situation) { s.agent().RetryAfter = ralph.Span(6 * time.Hour) }),
			with(stops(2, ralph.RateLimited, "5-hour limit; the reset is 6h0m15s away and --max-wait allows 6h"), uncounted)},
		{
			"row 2: exactly --max-wait is allowed",
			limited(func(s *situation) { s.agent().RetryAfter = ralph.Span(6*time.Hour - 15*time.Second) }),
			waits(2, ralph.WaitLimit, 6*time.Hour, "5-hour limit"),
		},
		{
			"row 2: a wait to the last second of --max-time leaves no time to work",
			limited(func(s *situation) { s.policy.MaxTime = ralph.Span(2 * time.Minute) }),
			with(stops(9, ralph.Timeout, "the usage limit's reset is 1m away, past the time limit of 2m"), uncounted),
		},
		{
			"row 2: waits in a row add up to --max-wait",
			limited(func(s *situation) { s.before.LimitWaited = ralph.Span(6 * time.Hour) }),
			with(stops(2, ralph.RateLimited, "5-hour limit; the reset is 6h1m away and --max-wait allows 6h"), uncounted),
		},
		{
			"row 2: --max-wait 0 is no limit",
			limited(func(s *situation) { s.policy.MaxWait, s.agent().RetryAfter = 0, ralph.Span(48*time.Hour) }),
			waits(2, ralph.WaitLimit, 48*time.Hour+15*time.Second, "5-hour limit"),
		},
		{"row 2: a wait across --max-time stops at once", limited(func(s *situation) {
			s.policy.MaxTime, s.agent().RetryAfter = ralph.Span(time.Hour), ralph.Span(time.Hour)
		}),
			with(stops(9, ralph.Timeout, "the usage limit's reset is 1h0m15s away, past the time limit of 1h"), uncounted)},
		{"row 2: BLOCKED beside a limit does not count", limited(func(s *situation) { s.said().Blocked = new("limit") }),
			waits(2, ralph.WaitLimit, time.Minute, "5-hour limit")},
		{"row 2: the cap is not used up by a limit", limited(func(s *situation) { s.policy.MaxIterations = 1 }),
			waits(2, ralph.WaitLimit, time.Minute, "5-hour limit")},
	})
}

func TestRow3TheModelBehindTheAgent(t *testing.T) {
	failed := func(times int) func(*situation) {
		return func(s *situation) {
			s.ended(ralph.EndProvider, "529 overloaded")
			s.before.ProviderFailures, s.policy.Outage = times-1, 0
		}
	}
	fails := func(times int, from, at time.Duration) func(*situation) {
		return func(s *situation) {
			failed(times)(s)
			s.policy.Outage, s.before.OutageFrom, s.at.Elapsed = ralph.Span(time.Hour), ralph.Span(from), ralph.Span(at)
		}
	}
	backoff := func(base time.Duration) ralph.Verdict {
		wait := base + jitter(ralph.Span(base), 1).Duration().Round(time.Millisecond)
		return waits(3, ralph.WaitBackoff, wait, "529 overloaded")
	}
	decideRows(t, []row{
		{"row 3: the first failure backs off", failed(1), backoff(time.Second)},
		{"row 3: the second failure backs off twice as long", failed(2), backoff(2 * time.Second)},
		{
			"row 3: agent.max_failures in a row",
			failed(3),
			with(stops(3, ralph.ProviderFailed, "the model failed 3 times in a row: 529 overloaded"), outage),
		},
		{"row 3: agent.max_failures 0 never gives up", func(s *situation) {
			failed(40)(s)
			s.policy.MaxFailures = 0
		}, backoff(time.Minute)},
		{
			"row 3: an outage is waited for, however often the model fails", fails(40, time.Minute, 5*time.Minute),
			backoff(5 * time.Minute),
		},
		{
			"row 3: no longer than it may last", fails(40, time.Minute, time.Hour+30*time.Second),
			waits(3, ralph.WaitBackoff, 30*time.Second, "529 overloaded"),
		},
		{
			"row 3: an outage that lasted too long", fails(2, time.Minute, time.Hour+time.Minute),
			with(stops(3, ralph.ProviderFailed, "the model has not answered for 1h: 529 overloaded"), func(v *ralph.Verdict) {
				v.Counted, v.Hint = false, outageHint
			}),
		},
		{"row 3: a claim from a cut stream does not count", func(s *situation) {
			failed(1)(s)
			s.claim()
		}, with(backoff(time.Second), claimed)},
	})
	seen := map[ralph.Span]bool{}
	for iteration := range 50 {
		j := jitter(ralph.Span(time.Minute), iteration)
		if j < 0 || j >= ralph.Span(15*time.Second) {
			t.Errorf("jitter of iteration %d is %s, want up to a quarter of a minute", iteration, j)
		}
		seen[j] = true
	}
	if len(seen) < 40 {
		t.Errorf("50 iterations got %d different jitters", len(seen))
	}
}

func TestRow4Completion(t *testing.T) {
	done := "the agent claims completion, and every check passes"
	decideRows(t, []row{
		{
			"row 4: a claim and green checks",
			func(s *situation) { s.claim(); s.green() },
			with(stops(4, ralph.AllChecksPassed, done), proven),
		},
		{
			"row 4: at the cap it is still 0",
			func(s *situation) { s.claim(); s.green(); s.policy.MaxIterations = 1 },
			with(stops(4, ralph.AllChecksPassed, done), proven),
		},
		{"row 4: past every budget it is still 0", func(s *situation) {
			s.claim()
			s.green()
			s.policy.MaxTime, s.policy.MaxCost, s.policy.MaxTokens = 1, 0.1, 1
			s.agent().Cost, s.agent().Tokens = new(5.0), &ralph.Tokens{Input: 9}
		}, with(stops(4, ralph.AllChecksPassed, done), proven)},
		{"row 4: beside BLOCKED and DECIDE the checks tell", func(s *situation) {
			s.claim()
			s.green()
			s.said().Blocked, s.said().Decide = new("x"), new("y")
		}, with(stops(4, ralph.AllChecksPassed, done), proven)},
		{"row 4: a check that was green before shows only that nothing broke", func(s *situation) {
			s.claim()
			s.green()
			s.before.Baseline[0].Passed = true
		}, with(stops(4, ralph.AllChecksPassed, done), func(v *ralph.Verdict) {
			v.Claimed, v.VerifiedBy = true, []string{ralph.VerifiedUnchanged}
		})},
		{"row 4: of two checks one turned green", func(s *situation) {
			s.claim()
			s.before.Now.Checks = []ralph.CheckResult{{Name: "lint", Passed: true}, {Name: "go test", Passed: true}}
			s.before.Baseline = []ralph.CheckResult{{Name: "lint", Passed: true}, {Name: "go test"}}
		}, with(stops(4, ralph.AllChecksPassed, done), func(v *ralph.Verdict) {
			v.Claimed, v.VerifiedBy = true, []string{ralph.VerifiedChecks, ralph.VerifiedUnchanged}
		})},
		{"row 4: a claim by status block", func(s *situation) {
			s.green()
			s.said().Complete, s.said().Status = true, &promise.Status{State: "COMPLETE", ExitSignal: true, Tests: "PASSING"}
		}, with(stops(4, ralph.AllChecksPassed, done), proven)},
		{"row 4: with gate.status off a block claims nothing", func(s *situation) {
			s.green()
			s.policy.Status = ralph.StatusOff
			s.said().Complete, s.said().Status = true, &promise.Status{State: "COMPLETE", ExitSignal: true, Tests: "PASSING"}
		}, goesOn()},
		{"row 4: green checks without a claim are not enough", func(s *situation) { s.green() }, goesOn()},
		{"row 4: gate.claim optional: green checks are enough", func(s *situation) {
			s.green()
			s.policy.Claim = ralph.ClaimOptional
		}, with(stops(4, ralph.AllChecksPassed, done), func(v *ralph.Verdict) {
			v.VerifiedBy = []string{ralph.VerifiedChecks}
		})},
		{
			"row 4: gate.claim optional: red checks are not",
			func(s *situation) { s.policy.Claim = ralph.ClaimOptional },
			goesOn(),
		},
		{"row 4: gate.claim optional: no check and no claim is nothing", func(s *situation) {
			s.noCheck()
			s.policy.Claim, s.policy.AllowUnverified = ralph.ClaimOptional, true
		}, goesOn()},
		{"row 4: --allow-unverified: a claim alone", func(s *situation) {
			s.claim()
			s.noCheck()
			s.policy.AllowUnverified = true
		}, with(stops(4, ralph.Unverified, "the agent says it is done, but nothing was checked"), claimed)},
		{"row 4: a claim and nothing that proves it", func(s *situation) { s.claim(); s.noCheck() }, with(goesOn(), claimed)},
	})
}

func TestRow5APersonIsNeeded(t *testing.T) {
	decideRows(t, []row{
		{"row 5: BLOCKED", func(s *situation) { s.said().Blocked = new("no key") }, stops(5, ralph.Blocked, "no key")},
		{"row 5: BLOCKED without a reason", func(s *situation) { s.said().Blocked = new("") }, stops(5, ralph.Blocked, "")},
		{"row 5: DECIDE", func(s *situation) { s.said().Decide = new("a or b?") }, stops(5, ralph.NeedsDecision, "a or b?")},
		{
			"row 5: BLOCKED comes before DECIDE",
			func(s *situation) { s.said().Blocked, s.said().Decide = new("no key"), new("a or b?") },
			stops(5, ralph.Blocked, "no key"),
		},
		{
			"row 5: a refused COMPLETE falls through to BLOCKED",
			func(s *situation) { s.claim(); s.said().Blocked = new("no key") },
			with(stops(5, ralph.Blocked, "no key"), claimed),
		},
		{
			"row 5: a refused COMPLETE falls through to DECIDE",
			func(s *situation) { s.claim(); s.said().Decide = new("a or b?") },
			with(stops(5, ralph.NeedsDecision, "a or b?"), claimed),
		},
		{
			"row 5: a failed agent can be BLOCKED",
			func(s *situation) { s.ended(ralph.EndFailed, "exit 1"); s.said().Blocked = new("no key") },
			stops(5, ralph.Blocked, "no key"),
		},
		{
			"row 5: at the cap BLOCKED is BLOCKED",
			func(s *situation) { s.policy.MaxIterations = 1; s.said().Blocked = new("no key") },
			stops(5, ralph.Blocked, "no key"),
		},
		{"row 5: a status block says BLOCKED", func(s *situation) {
			s.said().Blocked, s.said().Status = new("ask ops"), &promise.Status{State: "BLOCKED", Recommendation: "ask ops"}
		}, stops(5, ralph.Blocked, "ask ops")},
		{"row 5: with gate.status off a block says nothing", func(s *situation) {
			s.policy.Status = ralph.StatusOff
			s.said().Blocked, s.said().Status = new("ask ops"), &promise.Status{State: "BLOCKED", Recommendation: "ask ops"}
		}, goesOn()},
	})
}

func TestRow7FailuresInARow(t *testing.T) {
	noProgress := func(v *ralph.Verdict) { v.Progress = false }
	for _, end := range []ralph.EndClass{ralph.EndFailed, ralph.EndTimeout, ralph.EndIdle, ralph.EndEmpty} {
		decideRows(t, []row{
			{"row 7: two in a row go on: " + string(end), func(s *situation) {
				s.noChanges()
				s.ended(end, "it broke")
				s.before.AgentFailures = 1
			}, with(goesOn(), noProgress)},
			{"row 7: agent.max_failures in a row: " + string(end), func(s *situation) {
				s.noChanges()
				s.ended(end, "it broke")
				s.before.AgentFailures = 2
			}, with(stops(7, ralph.AgentFailed, "the agent failed 3 times in a row: it broke"), noProgress)},
		})
	}
	brokenTwice := `the check "go test" could not run in 2 iterations in a row: sh: go: not found`
	decideRows(t, []row{
		{"row 7: agent.max_failures 0 is off", func(s *situation) {
			s.ended(ralph.EndFailed, "x")
			s.before.AgentFailures, s.policy.MaxFailures = 99, 0
		}, goesOn()},
		{
			"row 7: an agent that says nothing and edits is at work",
			func(s *situation) { s.ended(ralph.EndEmpty, "said nothing"); s.before.AgentFailures = 2 },
			goesOn(),
		},
		{"row 7: an agent that says nothing where files are not known fails", func(s *situation) {
			s.ended(ralph.EndEmpty, "said nothing")
			s.before.AgentFailures, s.before.Now.Tree = 2, ralph.TreeState{}
		}, stops(7, ralph.AgentFailed, "the agent failed 3 times in a row: said nothing")},
		{"row 7: killed at the run's end is no failure of the agent", func(s *situation) {
			s.ended(ralph.EndOutOfTime, "time is up")
			s.before.AgentFailures, s.policy.MaxTime = 2, ralph.Span(time.Minute)
		}, stops(9, ralph.Timeout, "time limit (1m) reached")},
		{"row 7: a good end between breaks the row", func(s *situation) { s.before.AgentFailures = 2 }, goesOn()},
		{"row 7: a check that cannot run once", func(s *situation) { s.broken() }, goesOn()},
		{
			"row 7: a check cannot run checks.max_broken times in a row",
			func(s *situation) { s.broken(); s.before.BrokenChecks = 1 },
			stops(7, ralph.CheckBroken, brokenTwice),
		},
		{
			"row 7: a claim does not help a check that cannot run",
			func(s *situation) { s.claim(); s.broken(); s.before.BrokenChecks = 1 },
			with(stops(7, ralph.CheckBroken, brokenTwice), claimed),
		},
		{
			"row 7: checks.max_broken 0 is off",
			func(s *situation) { s.broken(); s.before.BrokenChecks, s.policy.MaxBroken = 9, 0 },
			goesOn(),
		},
		{
			"row 7: an iteration without checks leaves the count",
			func(s *situation) { s.before.Now.Checks, s.before.BrokenChecks = nil, 5 },
			goesOn(),
		},
		{"row 7: the agent's failures come before the checks'", func(s *situation) {
			s.broken()
			s.ended(ralph.EndFailed, "x")
			s.before.BrokenChecks, s.before.AgentFailures = 1, 2
		}, stops(7, ralph.AgentFailed, "the agent failed 3 times in a row: x")},
	})
}

func TestRow7TheBaseline(t *testing.T) {
	stopped := func(detail string) ralph.Verdict {
		return ralph.Verdict{Row: 7, Action: ralph.Stop, Reason: ralph.CheckBroken, Detail: detail, Breaker: closed}
	}
	start := ralph.Verdict{Row: 10, Action: ralph.GoOn, Breaker: closed}
	baseline := func(c ralph.CheckResult) func(*situation) {
		return func(s *situation) {
			s.betweenIterations()
			s.before.Started, s.before.Baseline = 0, []ralph.CheckResult{{Name: "lint", Passed: true}, c}
			s.before.Breaker = ralph.Breaker{}
		}
	}
	decideRows(t, []row{
		{
			"row 7: a baseline check that cannot run",
			baseline(ralph.CheckResult{Name: "tox", Broken: true, Output: "tox: not found"}),
			stopped(`the check "tox" cannot run: tox: not found`),
		},
		{"row 7: a baseline check that does not end", baseline(ralph.CheckResult{Name: "tox", TimedOut: true}),
			stopped(`the check "tox" was stopped by its time limit before any agent started (a first build takes longer); ` +
				`raise --check-timeout`)},
		{"row 7: the same in a log of an earlier version", func(s *situation) {
			baseline(ralph.CheckResult{Name: "tox", TimedOut: true})(s)
			s.policy.Rules = 0
		}, stopped(`the check "tox" timed out before any agent started; raise --check-timeout`)},
		{"row 10: a red baseline is only told", baseline(ralph.CheckResult{Name: "tox", ExitCode: 1}), start},
		{"row 10: later the baseline is history", func(s *situation) {
			baseline(ralph.CheckResult{Name: "tox", Broken: true})(s)
			s.before.Started = 1
		}, start},
	})
}

func TestRow9Limits(t *testing.T) {
	decideRows(t, []row{
		{
			"row 9: time",
			func(s *situation) { s.policy.MaxTime = ralph.Span(time.Minute) },
			stops(9, ralph.Timeout, "time limit (1m) reached"),
		},
		{"row 9: money", func(s *situation) {
			s.policy.MaxCost, s.before.Cost = 1, 0.75
			s.agent().Cost = new(0.25)
		}, stops(9, ralph.MaxCost, "cost limit reached: $1.00 of $1.00")},
		{"row 9: tokens, of every kind", func(s *situation) {
			s.policy.MaxTokens, s.before.Tokens = 10, ralph.Tokens{Input: 1, Output: 2}
			s.agent().Tokens = &ralph.Tokens{CacheRead: 3, CacheWrite: 4}
		}, stops(9, ralph.MaxTokens, "token limit reached: 10 of 10")},
		{"row 9: the cap", func(s *situation) { s.policy.MaxIterations, s.before.Counted = 2, 1 },
			stops(9, ralph.MaxIterations, "iteration limit (2) reached; work unfinished")},
		{
			"row 9: a cap of one",
			func(s *situation) { s.policy.MaxIterations = 1 },
			stops(9, ralph.MaxIterations, "iteration limit (1) reached; work unfinished"),
		},
		{"row 9: time comes before money, money before tokens, tokens before the cap", func(s *situation) {
			s.policy.MaxTime, s.policy.MaxCost, s.policy.MaxTokens, s.policy.MaxIterations = 1, 1, 1, 1
			s.agent().Cost, s.agent().Tokens = new(1.0), &ralph.Tokens{Input: 1}
		}, stops(9, ralph.Timeout, "time limit (0s) reached")},
		{"row 9: between iterations too", func(s *situation) {
			s.betweenIterations()
			s.policy.MaxIterations, s.before.Counted = 3, 3
		}, cappedBetween},
		{"row 10: below every limit", func(s *situation) {
			s.policy.MaxTime, s.policy.MaxCost = ralph.Span(61*time.Second), 1
			s.policy.MaxTokens, s.policy.MaxIterations = 10, 2
			s.agent().Cost, s.agent().Tokens = new(0.99), &ralph.Tokens{Input: 9}
		}, goesOn()},
		{"row 10: zero limits are no limits", func(s *situation) {
			s.policy.MaxIterations = 0
			s.before.Counted, s.before.Cost, s.before.Tokens = 1e6, 1e6, ralph.Tokens{Input: 1e12}
			s.at.Elapsed = ralph.Span(1e6 * time.Hour)
		}, goesOn()},
	})
}

// lenientPolicy is the default policy, except that claims need not be shown, as in logs of earlier versions.
// Tests of that rule use the default.
func lenientPolicy() ralph.Policy {
	p := ralph.DefaultPolicy()
	p.Shown, p.TestChange = "", ralph.TestsWarn
	return p
}

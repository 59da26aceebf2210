package judge

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ralphloop/ralph"
)

func stalled(v *ralph.Verdict) { v.Progress = false }

func breakerAt(state ralph.BreakerState, reason string) func(*ralph.Verdict) {
	return func(v *ralph.Verdict) { v.Progress, v.Breaker = false, ralph.Breaker{State: state, Reason: reason} }
}

func TestRow8TheBreaker(t *testing.T) {
	third := func(s *situation) { s.noChanges(); s.before.NoProgress = 2 }
	thirdReason := "3 iterations in a row without progress"
	decideRows(t, []row{
		{
			"row 8: two without progress go on",
			func(s *situation) { s.noChanges(); s.before.NoProgress = 1 },
			with(goesOn(), stalled),
		},
		{
			"row 8: at the threshold the next iteration diagnoses",
			third,
			with(goesOn(), breakerAt(ralph.BreakerDiagnose, thirdReason)),
		},
		{"row 8: breaker.diagnose false opens at once", func(s *situation) { third(s); s.policy.Breaker.Diagnose = false },
			with(stops(8, ralph.CircuitOpen, thirdReason), breakerAt(ralph.BreakerOpen, thirdReason))},
		{
			"row 8: breaker.no_progress 0 is off",
			func(s *situation) { s.noChanges(); s.before.NoProgress, s.policy.Breaker.NoProgress = 99, 0 },
			with(goesOn(), stalled),
		},
		{
			"row 8: the same error, even with progress",
			func(s *situation) { s.before.SameError, s.before.Fault = 4, FaultPrint(s.before.Now) },
			with(goesOn(), func(v *ralph.Verdict) {
				v.Breaker = ralph.Breaker{State: ralph.BreakerDiagnose, Reason: "the same error in 5 iterations in a row"}
			}),
		},
		{
			"row 8: another error breaks the row",
			func(s *situation) { s.before.SameError, s.before.Fault = 4, 12345 },
			goesOn(),
		},
		{"row 8: breaker.same_error 0 is off", func(s *situation) {
			s.before.SameError, s.before.Fault, s.policy.Breaker.SameError = 99, FaultPrint(s.before.Now), 0
		}, goesOn()},
		{
			"row 8: permission denials that stopped work",
			func(s *situation) { s.noChanges(); s.agent().Denials, s.before.Denials = []string{"Bash"}, 1 },
			with(goesOn(), breakerAt(ralph.BreakerDiagnose, "work stopped by permission denials in 2 iterations in a row")),
		},
		{
			"row 8: a denial that the agent lived with",
			func(s *situation) { s.agent().Denials, s.before.Denials = []string{"Bash"}, 9 },
			goesOn(),
		},
		{"row 8: breaker.permission_denials 0 is off", func(s *situation) {
			s.noChanges()
			s.agent().Denials, s.before.Denials, s.policy.Breaker.PermissionDenials = []string{"Bash"}, 9, 0
		}, with(goesOn(), stalled)},
		{
			"row 8: output that declined, with no progress",
			func(s *situation) { s.noChanges(); s.before.Outputs, s.agent().OutputBytes = []int64{1000, 2}, 300 },
			with(
				goesOn(),
				breakerAt(ralph.BreakerDiagnose, "output fell by 70% or more over 3 iterations, and nothing changed"),
			),
		},
		{
			"row 8: output that declined a little less",
			func(s *situation) { s.noChanges(); s.before.Outputs, s.agent().OutputBytes = []int64{1000, 2}, 301 },
			with(goesOn(), stalled),
		},
		{
			"row 8: output that declined, with progress",
			func(s *situation) { s.before.Outputs, s.agent().OutputBytes = []int64{1000, 2}, 0 },
			goesOn(),
		},
		{
			"row 8: two iterations make no decline",
			func(s *situation) { s.noChanges(); s.before.Outputs = []int64{1000} },
			with(goesOn(), stalled),
		},
		{
			"row 8: from nothing to nothing is no decline",
			func(s *situation) { s.noChanges(); s.before.Outputs = []int64{0, 0} },
			with(goesOn(), stalled),
		},
		{"row 8: breaker.output_decline 0 is off", func(s *situation) {
			s.noChanges()
			s.before.Outputs, s.policy.Breaker.OutputDecline = []int64{1000, 2}, 0
		}, with(goesOn(), stalled)},
		{"row 8: check results that change are progress", func(s *situation) { third(s); s.green() }, goesOn()},
		{
			"row 8: files that are not known are not held against the agent",
			func(s *situation) { third(s); s.before.Now.Tree = ralph.TreeState{} },
			goesOn(),
		},
		{"row 8: a claim that is proven in the stall is 0", func(s *situation) {
			third(s)
			s.policy.Breaker.Diagnose = false
			s.claim()
			s.green()
			s.before.Checks = CheckMarks{}.With(s.before.Now.Checks)
		}, with(with(stops(4, ralph.AllChecksPassed, "the agent claims completion, and every check passes"), proven),
			breakerAt(ralph.BreakerOpen, thirdReason))},
		{
			"row 8: the breaker comes before the cap",
			func(s *situation) { third(s); s.policy.Breaker.Diagnose, s.policy.MaxIterations = false, 1 },
			with(stops(8, ralph.CircuitOpen, thirdReason), breakerAt(ralph.BreakerOpen, thirdReason)),
		},
	})
}

func TestRow8AfterTheThreshold(t *testing.T) {
	in := func(state ralph.BreakerState, waited int) func(*situation) {
		return func(s *situation) { s.before.Breaker = ralph.Breaker{State: state, Reason: "stuck", Waits: waited} }
	}
	both := func(a, b func(*situation)) func(*situation) { return func(s *situation) { a(s); b(s) } }
	still := func(s *situation) { s.noChanges() }
	cooldown := func(d time.Duration) func(*situation) {
		return func(s *situation) { s.noChanges(); s.policy.Breaker.Cooldown = ralph.Span(d) }
	}
	cools := func(d time.Duration, waited int) ralph.Verdict {
		return with(waits(8, ralph.WaitCooldown, d, "stuck"), func(v *ralph.Verdict) {
			v.Counted, v.Progress, v.Breaker = true, false, ralph.Breaker{
				State:  ralph.BreakerHalfOpen,
				Reason: "stuck",
				Waits:  waited,
			}
		})
	}
	failing := func(before, now int) func(*situation) {
		return func(s *situation) {
			s.before.Now.Checks[0].FailingTests = now
			s.before.Fault = FaultPrint(s.before.Now)
			s.before.Fewest = map[string]int{CheckKey(s.before.Now.Checks[0]): before}
		}
	}
	tripped := with(stops(8, ralph.CircuitOpen, "stuck"), func(v *ralph.Verdict) {
		v.Breaker = ralph.Breaker{State: ralph.BreakerOpen, Reason: "stuck"}
	})
	decideRows(t, []row{
		{
			"row 8: a diagnosis without progress opens it",
			both(in(ralph.BreakerDiagnose, 0), still),
			with(stops(8, ralph.CircuitOpen, "stuck"), breakerAt(ralph.BreakerOpen, "stuck")),
		},
		{
			"row 8: a diagnosis with another failure closes it",
			both(in(ralph.BreakerDiagnose, 0), func(s *situation) { s.before.Fault = 12345 }), goesOn(),
		},
		{
			"row 8: a diagnosis with fewer failing tests closes it",
			both(in(ralph.BreakerDiagnose, 0), failing(3, 2)), goesOn(),
		},
		{
			"row 8: a diagnosis with as many failing tests opens it",
			both(in(ralph.BreakerDiagnose, 0), failing(2, 2)),
			tripped,
		},
		{
			"row 8: a diagnosis without a check opens it if a check failed last",
			both(in(ralph.BreakerDiagnose, 0), func(s *situation) {
				s.before.Checks = CheckMarks{"\x00go test": false}
				s.before.Now.Checks = nil
			}),
			tripped,
		},
		{
			"row 8: a diagnosis whose check cannot run opens it",
			both(in(ralph.BreakerDiagnose, 0), func(s *situation) {
				s.before.Fault = 12345
				s.before.Now.Checks = []ralph.CheckResult{isBroken}
			}),
			tripped,
		},
		{
			"row 8: in logs of older versions, any progress closes it",
			both(in(ralph.BreakerDiagnose, 0), func(s *situation) {
				s.before.Fault, s.policy.Rules = FaultPrint(s.before.Now), 0
			}), goesOn(),
		},
		{
			"row 8: a diagnosis that only edits opens it",
			both(in(ralph.BreakerDiagnose, 0), func(s *situation) { s.before.Fault = FaultPrint(s.before.Now) }),
			tripped,
		},
		{
			"row 8: a probe without progress opens it again",
			both(in(ralph.BreakerHalfOpen, 0), still),
			with(stops(8, ralph.CircuitOpen, "stuck"), breakerAt(ralph.BreakerOpen, "stuck")),
		},
		{
			"row 8: a probe with another failure closes it",
			both(in(ralph.BreakerHalfOpen, 3), func(s *situation) { s.before.Fault = 12345 }), goesOn(),
		},
		{
			"row 8: breaker.cooldown: a wait, then a probe",
			both(in(ralph.BreakerDiagnose, 0), cooldown(30*time.Minute)),
			cools(30*time.Minute, 1),
		},
		{
			"row 8: breaker.cooldown doubles",
			both(in(ralph.BreakerHalfOpen, 2), cooldown(30*time.Minute)),
			cools(2*time.Hour, 3),
		},
		{
			"row 8: breaker.cooldown doubles to 8 h",
			both(in(ralph.BreakerHalfOpen, 9), cooldown(30*time.Minute)),
			cools(8*time.Hour, 10),
		},
		{
			"row 8: a cool-down of more than 8 h is cut to them",
			both(in(ralph.BreakerDiagnose, 0), cooldown(20*time.Hour)),
			cools(8*time.Hour, 1),
		},
		{
			"row 8: nobody cools down for an iteration that the cap forbids",
			both(in(ralph.BreakerDiagnose, 0), func(s *situation) {
				cooldown(time.Minute)(s)
				s.policy.MaxIterations = 1
			}),
			with(
				stops(9, ralph.MaxIterations, "iteration limit (1) reached; work unfinished"),
				breakerAt(ralph.BreakerOpen, "stuck"),
			),
		},
		{
			"row 8: an iteration that does not count moves nothing",
			both(in(ralph.BreakerDiagnose, 0), func(s *situation) { s.noChanges(); s.ended(ralph.EndLimit, "limit") }),
			with(waits(2, ralph.WaitLimit, time.Minute, "limit"), breakerAt(ralph.BreakerDiagnose, "stuck")),
		},
		{"row 8: a breaker that never moved is closed", func(s *situation) { s.before.Breaker = ralph.Breaker{} }, goesOn()},
		{
			"row 8: BLOCKED in a diagnosis is BLOCKED",
			both(in(ralph.BreakerDiagnose, 0), func(s *situation) { s.noChanges(); s.said().Blocked = new("no key") }),
			with(stops(5, ralph.Blocked, "no key"), breakerAt(ralph.BreakerOpen, "stuck")),
		},
	})
}

func TestABreakerThatClosesCountsFromZero(t *testing.T) {
	h := History{
		Judging: true,
		Streaks: Streaks{
			NoProgress:  3,
			SameError:   5,
			Denials:     2,
			Outputs:     []int64{9, 5, 1},
			LimitWaited: ralph.Span(time.Minute),
		},
		Breaker: ralph.Breaker{State: ralph.BreakerDiagnose, Reason: "stuck"},
	}
	h.ApplyVerdict(ralph.Verdict{Breaker: closed})
	want := History{Breaker: closed, Streaks: Streaks{LimitWaited: ralph.Span(time.Minute)}}
	if diff := cmp.Diff(want, h, cmp.AllowUnexported(History{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("history after the breaker closed (-want +got):\n%s", diff)
	}
}

func TestResumeStartsCountsAnewAndLetsOneProbeThrough(t *testing.T) {
	full := History{
		Started: 7, Counted: 6, Cost: 1.5, Tokens: ralph.Tokens{Input: 9}, Streaks: Streaks{
			AgentFailures:    1,
			ProviderFailures: 2,
			BrokenChecks:     1,
			LimitHits:        4,
			LimitWaited:      ralph.Span(time.Hour),
			NoProgress:       3,
			SameError:        5,
			Denials:          2,
			Outputs:          []int64{9},
			Phrases:          []int{1, 2},
		},
	}
	spent := History{
		Started: 7,
		Counted: 6,
		Cost:    1.5,
		Tokens:  ralph.Tokens{Input: 9},
		Streaks: Streaks{Phrases: []int{1, 2}},
	}
	halfOpen := ralph.Breaker{State: ralph.BreakerHalfOpen, Reason: "stuck"}
	for _, tt := range []struct {
		name         string
		before, want ralph.Breaker
	}{
		{"closed stays closed", closed, closed},
		{"open becomes half-open", ralph.Breaker{State: ralph.BreakerOpen, Reason: "stuck", Waits: 2}, halfOpen},
		{"diagnose becomes half-open", ralph.Breaker{State: ralph.BreakerDiagnose, Reason: "stuck"}, halfOpen},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, want := full, spent
			got.Breaker, want.Breaker = tt.before, tt.want
			got.Restart()
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(History{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("history after resume (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTrippedBreakerBlocks(t *testing.T) {
	p := ralph.DefaultPolicy()
	p.Breaker.Blocks, p.Breaker.Diagnose, p.Breaker.SameError = true, false, 3
	failed := ralph.CheckResult{Name: "go test", ExitCode: 1, Output: "FAIL"}
	h := History{
		Judging: true, Started: 3, Breaker: ralph.Breaker{State: ralph.BreakerClosed},
		Streaks: Streaks{SameError: 3},
		Now:     Observation{Number: 3, Agent: ralph.AgentOutcome{End: ralph.EndOK}, Checks: []ralph.CheckResult{failed}},
	}
	v := Decide(p, h)
	const detail = "the same error in 3 iterations in a row: go test (exit 1) failed"
	if v.Reason != ralph.Blocked || v.Row != 8 || v.Detail != detail {
		t.Errorf("got %s in row %d: %s", v.Reason, v.Row, v.Detail)
	}
	p.Breaker.Blocks = false
	if v := Decide(p, h); v.Reason != ralph.CircuitOpen {
		t.Errorf("without Blocks: got %s", v.Reason)
	}
}

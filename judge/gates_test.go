package judge

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

// openGates are the gates of a claim that holds: the check passes, and the policy is the default.
func openGates() []ralph.Gate {
	return []ralph.Gate{
		{Name: "the agent ended well", State: ralph.GateOpen},
		{Name: "it does not contradict itself", State: ralph.GateOpen},
		{Name: "no task is open", State: ralph.GateNoted, Detail: "no task list"},
		{Name: "checks pass", State: ralph.GateOpen, Detail: "1 of 1 pass on this tree"},
		{Name: "a check can still fail", State: ralph.GateNoted, Detail: "not tried in this iteration"},
		{Name: "nothing protected was changed", State: ralph.GateNoted, Detail: "nothing is protected in this run"},
		{
			Name:   "evidence is fresh",
			State:  ralph.GateOpen,
			Detail: "Ralph ran the checks itself, after the agent had ended",
		},
		{Name: "nothing visibly unfinished", State: ralph.GateOpen},
		{Name: "the evaluator accepts", State: ralph.GateNoted, Detail: "no evaluator is configured"},
		{Name: "the status gate", State: ralph.GateNoted, Detail: "gate.status is advisory"},
		{Name: "something proves it", State: ralph.GateOpen, Detail: "a check ran"},
		{Name: "the work is shown", State: ralph.GateNoted, Detail: "gate.shown is off"},
	}
}

// The gates that these tests change, by their index in the table.
const (
	gateEnd, gateContradiction, gateTasks, gateChecks, gateUnfinished, gateStatus, gateEvidence = 0, 1, 2, 3, 7, 9, 10
)

// gateCase changes a claim that holds and has the gates that then differ.
type gateCase struct {
	name  string
	given func(s *situation)
	gates map[int]ralph.Gate // Name is filled in
}

func refused(code, detail string) ralph.Gate {
	return ralph.Gate{State: ralph.GateShut, Refusal: code, Detail: detail}
}

// contradicted is the refusal of a claim that the agent's own report contradicts.
func contradicted(report string) map[int]ralph.Gate {
	detail := "the agent claims completion, but reports " + report
	return map[int]ralph.Gate{gateContradiction: refused("contradiction", detail)}
}

func warned(detail string) ralph.Gate { return ralph.Gate{State: ralph.GateWarned, Detail: detail} }

func askGateCases(t *testing.T, cases []gateCase) {
	t.Helper()
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			s := plainSituation()
			s.claim()
			s.green()
			tt.given(s)
			want := openGates()
			if slices.ContainsFunc(s.before.Now.Checks, cannotRun) {
				want[4].Detail = "not tried, because a check cannot run"
			}
			if slices.ContainsFunc(s.before.Now.Checks, ralph.CheckResult.Failed) {
				want[4].Detail = "not tried, because a check failed"
			}
			var refusals []ralph.Refusal
			for i := range want {
				gate, changed := tt.gates[i]
				if !changed {
					continue
				}
				gate.Name = want[i].Name
				want[i] = gate
				if gate.State == ralph.GateShut {
					refusals = append(refusals, ralph.Refusal{Code: gate.Refusal, Detail: gate.Detail})
				}
			}
			got := s.decide()
			if diff := cmp.Diff(want, got.Gates); diff != "" {
				t.Errorf("gates (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(refusals, got.Refusals()); diff != "" {
				t.Errorf("refusals (-want +got):\n%s", diff)
			}
			completed := got.Action == ralph.Stop && ralph.StatusOf(got.Reason) == ralph.StatusCompleted
			if completed != (len(refusals) == 0) {
				t.Errorf("completed is %v with the refusals %v", completed, refusals)
			}
		})
	}
}

func block(state, tests string, exit bool) *promise.Status {
	return &promise.Status{State: state, Tests: tests, ExitSignal: exit, WorkType: "TESTING", Recommendation: "ship"}
}

func TestGates(t *testing.T) {
	askGateCases(t, []gateCase{
		{"every gate open", func(*situation) {}, nil},
		{
			"agent_failed: an error result",
			func(s *situation) { s.ended(ralph.EndFailed, "exit 3") },
			map[int]ralph.Gate{gateEnd: refused("agent_failed", "exit 3")},
		},
		{
			"agent_failed: timed out",
			func(s *situation) { s.ended(ralph.EndTimeout, "timed out after 2h") },
			map[int]ralph.Gate{gateEnd: refused("agent_failed", "timed out after 2h")},
		},
		{
			"agent_failed: killed for silence, without a word",
			func(s *situation) { s.ended(ralph.EndIdle, "") },
			map[int]ralph.Gate{gateEnd: refused("agent_failed", "the agent ended with idle")},
		},
		{"a permission denial that it lived with", func(s *situation) { s.agent().Denials = []string{"Bash"} }, nil},
		{"contradiction: IN_PROGRESS", func(s *situation) { s.said().Status = block("IN_PROGRESS", "PASSING", true) },
			contradicted("STATUS: IN_PROGRESS")},
		{"contradiction: STATUS BLOCKED", func(s *situation) { s.said().Status = block("BLOCKED", "PASSING", true) },
			contradicted("STATUS: BLOCKED")},
		{"contradiction: EXIT_SIGNAL false", func(s *situation) { s.said().Status = block("COMPLETE", "PASSING", false) },
			contradicted("EXIT_SIGNAL: false")},
		{"contradiction: FAILING", func(s *situation) { s.said().Status = block("COMPLETE", "FAILING", true) },
			contradicted("TESTS_STATUS: FAILING")},
		{"NOT_RUN is no contradiction", func(s *situation) { s.said().Status = block("COMPLETE", "NOT_RUN", true) }, nil},
		{"gate.status off: a block cannot contradict", func(s *situation) {
			s.policy.Status = ralph.StatusOff
			s.said().Status = block("IN_PROGRESS", "FAILING", false)
		},
			map[int]ralph.Gate{gateStatus: noteGate("gate.status is off")}},
		{"BLOCKED beside green checks is no contradiction", func(s *situation) { s.said().Blocked = new("x") }, nil},
		{
			"contradiction: BLOCKED where no check can tell",
			func(s *situation) { s.noCheck(); s.policy.AllowUnverified = true; s.said().Blocked = new("x") },
			map[int]ralph.Gate{
				gateContradiction: refused("contradiction",
					"the agent claims completion and BLOCKED, and no check can tell which is true"),
				gateChecks:   noteGate("no check ran"),
				gateEvidence: noteGate("no check ran; --allow-unverified lets it pass, unverified"),
			},
		},
		{
			"contradiction: DECIDE where no check can tell",
			func(s *situation) { s.noCheck(); s.policy.AllowUnverified = true; s.said().Decide = new("x") },
			map[int]ralph.Gate{
				gateContradiction: refused("contradiction",
					"the agent claims completion and DECIDE, and no check can tell which is true"),
				gateChecks:   noteGate("no check ran"),
				gateEvidence: noteGate("no check ran; --allow-unverified lets it pass, unverified"),
			},
		},
		{"check_failed: an exit code and a time-out", func(s *situation) {
			s.before.Now.Checks = []ralph.CheckResult{
				{Name: "a", ExitCode: 2},
				{Name: "b", Passed: true},
				{Name: "c", TimedOut: true, ExitCode: 124},
			}
		}, map[int]ralph.Gate{gateChecks: refused("check_failed", "a (exit 2), c (timed out) failed")}},
		{
			"check_broken",
			func(s *situation) { s.broken() },
			map[int]ralph.Gate{gateChecks: refused("check_broken", "go test cannot run")},
		},
		{"check_failed stands before check_broken", func(s *situation) {
			s.before.Now.Checks = []ralph.CheckResult{{Name: "a", Broken: true}, {Name: "b", ExitCode: 1}}
		},
			map[int]ralph.Gate{gateChecks: refused("check_failed", "b (exit 1) failed")}},
		{
			"no_evidence: no check ran",
			func(s *situation) { s.noCheck() },
			map[int]ralph.Gate{
				gateChecks:   noteGate("no check ran"),
				gateEvidence: refused("no_evidence", "no check ran, so nothing proves it"),
			},
		},
		{
			"--allow-unverified",
			func(s *situation) { s.noCheck(); s.policy.AllowUnverified = true },
			map[int]ralph.Gate{
				gateChecks:   noteGate("no check ran"),
				gateEvidence: noteGate("no check ran; --allow-unverified lets it pass, unverified"),
			},
		},
		{
			"every shut gate is told at once",
			func(s *situation) {
				s.ended(ralph.EndFailed, "exit 3")
				s.broken()
				s.said().Status = block("IN_PROGRESS", "FAILING", false)
				s.policy.Status = ralph.StatusRequired
			},
			map[int]ralph.Gate{
				gateEnd:           refused("agent_failed", "exit 3"),
				gateContradiction: refused("contradiction", "the agent claims completion, but reports STATUS: IN_PROGRESS"),
				gateChecks:        refused("check_broken", "go test cannot run"),
				gateStatus:        refused("status_gate", "EXIT_SIGNAL is not true"),
			},
		},
	})
}

func TestTheUnfinishedGate(t *testing.T) {
	todo := func(rule ralph.WordRule, lines ...string) func(*situation) {
		return func(s *situation) {
			s.policy.Unfinished, s.before.Now.Tree.Unfinished, s.before.Base.Unfinished = rule, lines, []string{"old.go: TODO"}
		}
	}
	askGateCases(t, []gateCase{
		{"unfinished: a line added in this run", todo(ralph.UnfinishedRefuse, "old.go: TODO", "a.go: FIXME"),
			map[int]ralph.Gate{gateUnfinished: refused("unfinished", "added lines look unfinished: a.go: FIXME")}},
		{"unfinished: five are named", todo(ralph.UnfinishedRefuse, "1", "2", "3", "4", "5", "6"),
			map[int]ralph.Gate{gateUnfinished: refused("unfinished", "added lines look unfinished: 1; 2; 3; 4; 5")}},
		{"a line that was there before", todo(ralph.UnfinishedRefuse, "old.go: TODO"), nil},
		{
			"gate.unfinished warn",
			todo(ralph.UnfinishedWarn, "a.go: FIXME"),
			map[int]ralph.Gate{gateUnfinished: warned("added lines look unfinished: a.go: FIXME")},
		},
		{
			"gate.unfinished off",
			todo(ralph.UnfinishedOff, "a.go: FIXME"),
			map[int]ralph.Gate{gateUnfinished: noteGate("gate.unfinished is off")},
		},
		{
			"without git nothing is known",
			func(s *situation) { todo(ralph.UnfinishedRefuse, "a.go: FIXME")(s); s.before.Base.Known = false },
			map[int]ralph.Gate{gateUnfinished: noteGate("added lines are unknown without git")},
		},
	})
}

func TestAPlanOfTheAgent(t *testing.T) {
	plan := func(p ralph.PlanRead) func(*situation) { return func(s *situation) { s.before.Now.Plan = &p } }
	six := []string{"a", "b", "c", "d", "e", "f"}
	askGateCases(t, []gateCase{
		{
			"an open plan refuses", plan(ralph.PlanRead{File: "P.md", Open: []string{"write it"}}),
			map[int]ralph.Gate{gateTasks: refused("tasks_open", "P.md has 1 open item: write it")},
		},
		{
			"many items", plan(ralph.PlanRead{File: "P.md", Open: six}),
			map[int]ralph.Gate{gateTasks: refused("tasks_open", "P.md has 6 open items: a; b; c; d; e; …")},
		},
		{
			"a plan that cannot be read refuses", plan(ralph.PlanRead{File: "P.md", Problem: "it is a folder"}),
			map[int]ralph.Gate{gateTasks: refused("tasks_open", "P.md cannot be read: it is a folder")},
		},
		{
			"a finished plan passes", plan(ralph.PlanRead{File: "P.md"}),
			map[int]ralph.Gate{gateTasks: {State: ralph.GateOpen, Detail: "P.md has no open item"}},
		},
		{
			"a missing plan is noted", plan(ralph.PlanRead{File: "P.md", Missing: true}),
			map[int]ralph.Gate{gateTasks: {State: ralph.GateNoted, Detail: "no task list, and there is no file P.md"}},
		},
	})
}

func TestTheStatusGate(t *testing.T) {
	required := func(phrases []int, now int, status *promise.Status) func(*situation) {
		return func(s *situation) {
			s.policy.Status, s.before.Phrases = ralph.StatusRequired, phrases
			s.said().Phrases, s.said().Status = now, status
		}
	}
	agreed := func(detail string) map[int]ralph.Gate {
		return map[int]ralph.Gate{gateStatus: {State: ralph.GateOpen, Detail: detail}}
	}
	askGateCases(t, []gateCase{
		{
			"EXIT_SIGNAL and two phrases now",
			required(nil, 2, block("COMPLETE", "PASSING", true)),
			agreed("EXIT_SIGNAL is true and 2 completion phrases agree"),
		},
		{
			"phrases of the four iterations before",
			required([]int{9, 1, 0, 0, 0}, 1, block("COMPLETE", "PASSING", true)),
			agreed("EXIT_SIGNAL is true and 2 completion phrases agree"),
		},
		{
			"status_gate: phrases of a sixth iteration are forgotten",
			required([]int{9, 0, 0, 0, 0}, 1, block("COMPLETE", "PASSING", true)),
			map[int]ralph.Gate{
				gateStatus: refused(
					"status_gate",
					"EXIT_SIGNAL is true, but only 1 of 2 completion phrases appear in the last five iterations",
				),
			},
		},
		{
			"status_gate: the phrases are named",
			func(s *situation) {
				required(nil, 1, block("COMPLETE", "PASSING", true))(s)
				s.policy.StatusPhrases = promise.DefaultPhrases()
			},
			map[int]ralph.Gate{
				gateStatus: refused(
					"status_gate",
					"EXIT_SIGNAL is true, but only 1 of 2 completion phrases appear in the last five iterations; such a phrase, "+
						`if it is true, is "all done", "all tasks complete", "everything passes", "no remaining work", …, in the text `+
						"or in RECOMMENDATION",
				),
			},
		},
		{
			"status_gate: no block",
			required(nil, 9, nil),
			map[int]ralph.Gate{gateStatus: refused("status_gate", "no valid status block in this iteration")},
		},
		{"status_gate: EXIT_SIGNAL false", required(nil, 9, block("COMPLETE", "PASSING", false)), map[int]ralph.Gate{
			gateContradiction: refused("contradiction", "the agent claims completion, but reports EXIT_SIGNAL: false"),
			gateStatus:        refused("status_gate", "EXIT_SIGNAL is not true"),
		}},
	})
}

func TestAGateNamesOnlyItsOwnRefusals(t *testing.T) {
	want := [][]string{
		{
			"agent_failed",
		},
		{"contradiction"},
		{"tasks_open"},
		{"check_failed", "check_broken"},
		{"check_inert", "environment_changed", "tests_missing", "tests_changed"},
		{"tampered", "environment_changed", "tests_changed", "test_aware", "dependencies_changed"},
		{"stale_evidence"},
		{"missing_evidence", "failed_evidence", "stale_evidence"},
		{"unfinished"},
		{"uncommitted"},
		{"evaluator_rejected"},
		{"status_gate"},
		{"no_evidence"},
		{"not_shown", "nothing_changed"},
	}
	var got [][]string
	for _, kind := range GateKinds() {
		got = append(got, kind.Refusals)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("refusals of the gate table (-want +got):\n%s", diff)
	}
}

func TestARefusalNeedsAClaim(t *testing.T) {
	s := plainSituation()
	s.policy.Claim, s.policy.Committed = ralph.ClaimOptional, ralph.CommittedWarn
	s.policy.VerifierTools = []string{"browser"}
	if got := s.decide(); got.Refusals() != nil || len(got.Gates) != len(GateKinds()) {
		t.Errorf("red checks without a claim: refusals %v, %d gates asked", got.Refusals(), len(got.Gates))
	}
}

func TestAGateThatCannotLookRefuses(t *testing.T) {
	const gateTampered, gateFresh = 5, 6
	askGateCases(t, []gateCase{
		{
			"tampered: no snapshot of the base",
			func(s *situation) { s.policy.Protects = []string{"check.sh"} },
			map[int]ralph.Gate{gateTampered: refused("tampered", NoBase+"; start a new run")},
		},
		{
			"tampered: not even with tests of the base that pass",
			func(s *situation) {
				s.policy.Protects = []string{"check.sh"}
				s.before.Now.BaseTests = &ralph.BaseTestsRun{Files: []string{"a_test.go"}, OldPassed: true}
			},
			map[int]ralph.Gate{gateTampered: refused("tampered", NoBase+"; start a new run")},
		},
		{
			"a snapshot of the base",
			func(s *situation) { s.policy.Protects, s.before.Base.Snapshot = []string{"check.sh"}, "base" },
			map[int]ralph.Gate{gateTampered: openGate("")},
		},
		{
			"stale_evidence names the files",
			func(s *situation) { s.before.Now.Stale, s.before.Now.Moved = true, []string{"run.log"} },
			map[int]ralph.Gate{gateFresh: refused("stale_evidence", "these files changed while checks ran, or since: "+
				"run.log; if you edit them, wait until the checks have run; if a program writes them, end it or add them to "+
				".gitignore")},
		},
	})
}

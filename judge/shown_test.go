package judge

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

// greenClaim is a situation with a claim under the default policy: the check passed before and passes now.
func greenClaim() *situation {
	s := plainSituation()
	s.policy = ralph.DefaultPolicy()
	s.claim()
	s.green()
	s.before.Baseline = []ralph.CheckResult{{Name: "go test", Passed: true, Tree: s.before.Base.ID()}}
	s.before.Now.Work = &ralph.WorkSeen{}
	return s
}

func TestAClaimForTheGoalMustBeShown(t *testing.T) {
	why := "the iteration is up"
	for _, tt := range []struct {
		name   string
		given  func(s *situation)
		reason ralph.StopReason // "" if the run continues
		codes  []string
		proof  ralph.ProofWord
	}{
		{"nothing shows it", func(*situation) {}, "", []string{"not_shown"}, ralph.ProvenNone},
		{"nothing changed", func(s *situation) { s.before.Now.Work.Unchanged = true }, "", []string{"nothing_changed"},
			ralph.ProvenNone},
		{"a check failed before", func(s *situation) { s.before.Baseline[0].Passed = false }, ralph.AllChecksPassed, nil,
			ralph.ProvenWorkspace},
		{"in a view", func(s *situation) {
			s.before.Baseline[0].Passed, s.before.Now.Checks[0].Isolation = false, ralph.IsolationOverlay
		}, ralph.AllChecksPassed, nil, ralph.ProvenShown},
		{"a check failed before, and nothing changed", func(s *situation) {
			s.before.Baseline[0].Passed, s.before.Now.Work.Unchanged = false, true
		}, ralph.AllChecksPassed, nil, ralph.ProvenWorkspace},
		{"a test runner that ran no test", func(s *situation) {
			s.before.Baseline[0].Passed = false
			s.before.Now.Work.Counts = []ralph.TestCount{{Name: "go test"}}
		}, "", []string{"not_shown"}, ralph.ProvenNone},
		{"new tests fail without the work", func(s *situation) {
			s.before.Now.Work.NewTests = []ralph.NewTestsRun{{Name: "go test"}}
		}, ralph.AllChecksPassed, nil, ralph.ProvenWorkspace},
		{"new tests pass without the work", func(s *situation) {
			s.before.Now.Work.NewTests = []ralph.NewTestsRun{{Name: "go test", Passed: true}}
		}, "", []string{"not_shown"}, ralph.ProvenNone},
		{"the evaluator accepts", func(s *situation) {
			s.policy.Evaluator = "codex"
			s.before.Now.Evaluations = []ralph.Evaluation{{Agent: "codex", End: ralph.EndOK, Accepted: true}}
		}, ralph.AllChecksPassed, nil, ralph.ProvenWorkspace},
		{"the evaluator cannot accept nothing", func(s *situation) {
			s.policy.Evaluator, s.before.Now.Work.Unchanged = "codex", true
		}, "", []string{"nothing_changed"}, ralph.ProvenNone},
		{"proof: unbroken", func(s *situation) { s.policy.Proof = ralph.ProofUnbroken }, ralph.AllChecksPassed, nil,
			ralph.ProvenUnbroken},
		{"proof: unbroken, but nothing was done", func(s *situation) {
			s.policy.Proof, s.before.Now.Work.Unchanged = ralph.ProofUnbroken, true
		}, "", []string{"nothing_changed"}, ralph.ProvenNone},
		{"gate.shown warn", func(s *situation) { s.policy.Shown = ralph.ShownWarn }, ralph.AllChecksPassed, nil,
			ralph.ProvenNone},
		{"an earlier version", func(s *situation) { s.policy.Shown = "" }, ralph.AllChecksPassed, nil, ""},
		{"the same claim again", func(s *situation) {
			s.before.NotShown = []UnshownClaim{{Tree: s.before.Now.Tree.ID(), Times: 1}}
		}, ralph.Unconfirmed, []string{"not_shown"}, ralph.ProvenNone},
		{"a second claim of another tree", func(s *situation) {
			s.before.NotShown = []UnshownClaim{{Tree: "c0+other", Times: 1}}
		}, "", []string{"not_shown"}, ralph.ProvenNone},
		{"a third claim of another tree", func(s *situation) {
			s.before.NotShown = []UnshownClaim{{Tree: "c0+other", Times: 2}}
		}, ralph.Unconfirmed, []string{"not_shown"}, ralph.ProvenNone},
		{"UNTESTABLE", func(s *situation) { s.said().Untestable = &why }, ralph.Unconfirmed, []string{"not_shown"},
			ralph.ProvenNone},
		{"UNTESTABLE alone is a claim", func(s *situation) {
			s.said().Complete, s.said().CompleteTag, s.said().Untestable = false, "", &why
		}, ralph.Unconfirmed, []string{"not_shown"}, ralph.ProvenNone},
		{"UNTESTABLE, and a check fails", func(s *situation) {
			s.said().Untestable, s.before.Now.Checks[0].Passed, s.before.Now.Work = &why, false, nil
		}, "", []string{"check_failed"}, ralph.ProvenNone},
		{"gate.shown refuse never asks", func(s *situation) {
			s.said().Untestable, s.policy.Shown = &why, ralph.ShownRefuse
		}, "", []string{"not_shown"}, ralph.ProvenNone},
		{"weakened tests", func(s *situation) {
			s.before.Baseline[0].Passed = false
			s.before.Now.BaseTests = &ralph.BaseTestsRun{Files: []string{"a_test.go"}}
		}, "", []string{"tests_changed"}, ralph.ProvenNone},
		{"weakened tests, claimed again", func(s *situation) {
			s.before.Baseline[0].Passed = false
			s.before.Now.BaseTests = &ralph.BaseTestsRun{Files: []string{"a_test.go"}}
			s.before.NotShown = []UnshownClaim{{Tree: s.before.Now.Tree.ID(), Times: 1}}
		}, ralph.Unconfirmed, []string{"tests_changed"}, ralph.ProvenNone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := greenClaim()
			tt.given(s)
			history := s.before.Judge(s.at)
			v := Decide(s.policy, history)
			if v.Reason != tt.reason {
				t.Errorf("stop reason %q, want %q (%s)", v.Reason, tt.reason, v.Detail)
			}
			var codes []string
			for _, r := range v.Refusals() {
				codes = append(codes, r.Code)
			}
			if diff := cmp.Diff(tt.codes, codes); diff != "" {
				t.Errorf("refusals (-want +got):\n%s", diff)
			}
			history.ApplyVerdict(v)
			if got := ProofOf(s.policy, history, v); got != tt.proof {
				t.Errorf("proof %q, want %q", got, tt.proof)
			}
		})
	}
}

// listed is a list of two tasks, the first of which is claimed and worked on.
func listed() *situation {
	s := greenClaim()
	s.before.Tasks = []ralph.TaskState{{ID: "A", Status: ralph.TaskPending}, {ID: "B", Status: ralph.TaskPending}}
	s.before.Task, s.before.Now.Task = "A", "A"
	s.said().Complete, s.said().CompleteTag, s.said().TasksDone = false, "", []string{"A"}
	return s
}

func TestAClaimForATaskMustBeShown(t *testing.T) {
	for _, tt := range []struct {
		name                       string
		given                      func(s *situation)
		done, refused, unconfirmed []string
	}{
		{"nothing shows it", func(*situation) {}, nil, []string{"A not_shown"}, nil},
		{"the run's check was repaired", func(s *situation) { s.before.Baseline[0].Passed = false }, []string{"A"}, nil, nil},
		{"one repair does not show two tasks", func(s *situation) {
			s.before.Baseline[0].Passed, s.said().TasksDone = false, []string{"B", "A"}
		}, []string{"A"}, []string{"B not_shown"}, nil},
		{"the repair showed another task before", func(s *situation) {
			s.before.Baseline[0].Passed, s.before.SpentChecks = false, []string{"go test"}
		}, nil, []string{"A not_shown"}, nil},
		{"its own check failed when it was selected", func(s *situation) {
			s.before.Baseline = append(s.before.Baseline, ralph.CheckResult{Name: "own", Task: "A"})
			s.before.Now.Checks = append(s.before.Now.Checks, ralph.CheckResult{Name: "own", Task: "A", Passed: true})
			s.before.Now.Work.Unchanged = true
		}, []string{"A"}, nil, nil},
		{"an earlier task satisfied its own check", func(s *situation) {
			s.before.Baseline = append(s.before.Baseline, ralph.CheckResult{Name: "own", Task: "A", Passed: true})
			s.before.Now.Checks = append(s.before.Now.Checks, ralph.CheckResult{Name: "own", Task: "A", Passed: true})
			s.before.Now.Work.AtBase = []ralph.CheckResult{{Name: "own", Task: "A", ExitCode: 1}}
			s.before.Now.Work.Unchanged = true
		}, []string{"A"}, nil, nil},
		{"its own check passed at the run's base", func(s *situation) {
			s.before.Now.Checks = append(s.before.Now.Checks, ralph.CheckResult{Name: "own", Task: "A", Passed: true})
			s.before.Now.Work.AtBase = []ralph.CheckResult{{Name: "own", Task: "A", Passed: true}}
		}, nil, []string{"A not_shown"}, nil},
		{"one new test shows one task", func(s *situation) {
			s.said().TasksDone = []string{"A", "B"}
			s.before.Now.Work.NewTests = []ralph.NewTestsRun{{Name: "go test", Failing: []string{"TestA"}, Count: 1}}
		}, []string{"A"}, []string{"B not_shown"}, nil},
		{"two new tests show two tasks", func(s *situation) {
			s.said().TasksDone = []string{"A", "B"}
			s.before.Now.Work.NewTests = []ralph.NewTestsRun{{Name: "go test", Failing: []string{"TestA", "TestB"}, Count: 2}}
		}, []string{"A", "B"}, nil, nil},
		{"two checks run the same new test", func(s *situation) {
			s.said().TasksDone = []string{"A", "B"}
			s.before.Now.Checks = append(s.before.Now.Checks, ralph.CheckResult{Name: "go test -race", Passed: true})
			s.before.Now.Work.NewTests = []ralph.NewTestsRun{
				{Name: "go test", Failing: []string{"TestA"}, Count: 1},
				{Name: "go test -race", Failing: []string{"TestA"}, Count: 1},
			}
		}, []string{"A"}, []string{"B not_shown"}, nil},
		{"two checks run different new tests", func(s *situation) {
			s.said().TasksDone = []string{"A", "B"}
			s.before.Now.Checks = append(s.before.Now.Checks, ralph.CheckResult{Name: "npm test", Passed: true})
			s.before.Now.Work.NewTests = []ralph.NewTestsRun{
				{Name: "go test", Failing: []string{"TestA"}, Count: 1},
				{Name: "npm test", Failing: []string{"shows b"}, Count: 1},
			}
		}, []string{"A", "B"}, nil, nil},
		{"its own check could not run when it was selected", func(s *situation) {
			s.before.Baseline = append(s.before.Baseline, ralph.CheckResult{Name: "own", Task: "A", Broken: true})
			s.before.Now.Checks = append(s.before.Now.Checks, ralph.CheckResult{Name: "own", Task: "A", Passed: true})
		}, nil, []string{"A not_shown"}, nil},
		{"weakened tests, claimed again", func(s *situation) {
			s.before.Now.BaseTests = &ralph.BaseTestsRun{Files: []string{"a_test.go"}}
			s.before.NotShown = []UnshownClaim{{Task: "A", Tree: s.before.Now.Tree.ID(), Times: 1}}
		}, nil, nil, []string{"A tests_changed"}},
		{"weakened tests, claimed again, and files changed during the checks", func(s *situation) {
			s.before.Now.BaseTests, s.before.Now.Stale = &ralph.BaseTestsRun{Files: []string{"a_test.go"}}, true
			s.before.NotShown = []UnshownClaim{{Task: "A", Tree: s.before.Now.Tree.ID(), Times: 1}}
		}, nil, []string{"A stale_evidence"}, nil},
		{"weakened tests, claimed again, and gate.shown refuses", func(s *situation) {
			s.policy.Shown = ralph.ShownRefuse
			s.before.Now.BaseTests = &ralph.BaseTestsRun{Files: []string{"a_test.go"}}
			s.before.NotShown = []UnshownClaim{{Task: "A", Tree: s.before.Now.Tree.ID(), Times: 1}}
		}, nil, []string{"A tests_changed"}, nil},
		{"proof: unbroken on the task", func(s *situation) { s.before.Tasks[0].Proof = ralph.ProofUnbroken }, []string{"A"},
			nil, nil},
		{"gate.shown warn", func(s *situation) { s.policy.Shown = ralph.ShownWarn }, []string{"A"}, nil, nil},
		{"gate.shown warn, and nothing changed", func(s *situation) {
			s.policy.Shown, s.before.Now.Work.Unchanged = ralph.ShownWarn, true
		}, nil, []string{"A nothing_changed"}, nil},
		{"gate.shown warn, nothing changed, claimed again", func(s *situation) {
			s.policy.Shown, s.before.Now.Work.Unchanged = ralph.ShownWarn, true
			s.before.NotShown = []UnshownClaim{{Task: "A", Tree: s.before.Now.Tree.ID(), Times: 1}}
		}, nil, nil, []string{"A nothing_changed"}},
		{"claimed again", func(s *situation) {
			s.before.NotShown = []UnshownClaim{{Task: "A", Tree: s.before.Now.Tree.ID(), Times: 1}}
		}, nil, nil, []string{"A not_shown"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := listed()
			tt.given(s)
			v := s.decide().Tasks
			codes := func(refusals []ralph.TaskRefusal) []string {
				var all []string
				for _, r := range refusals {
					all = append(all, r.Task+" "+r.Code)
				}
				return all
			}
			got := [][]string{v.Done, codes(v.Refused), codes(v.Unconfirmed)}
			if diff := cmp.Diff([][]string{tt.done, tt.refused, tt.unconfirmed}, got); diff != "" {
				t.Errorf("done, refused, unconfirmed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnUnconfirmedTaskWaitsForAPerson(t *testing.T) {
	s := listed()
	s.before.Tasks = s.before.Tasks[:1]
	s.before.Tasks = append(s.before.Tasks, ralph.TaskState{ID: "B", DependsOn: []string{"A"}, Status: ralph.TaskPending})
	s.before.NotShown = []UnshownClaim{{Task: "A", Tree: s.before.Now.Tree.ID(), Times: 1}}
	h := s.before.Judge(s.at)
	v := Decide(s.policy, h)
	if v.Action != ralph.GoOn {
		t.Fatalf("the run does not continue with the others: %s %s", v.Action, v.Detail)
	}
	h.ApplyVerdict(v)
	if next, ok := NextTask(h.Tasks); !ok || next.ID != "B" {
		t.Fatalf("the dependent is not next: %q", next.ID)
	}
	h.Tasks[1].Status = ralph.TaskDone
	if v = Decide(s.policy, h.Judge(s.at)); v.Reason != ralph.Unconfirmed {
		t.Fatalf("nothing else is left, and the run ends with %q", v.Reason)
	}
	if diff := cmp.Diff([]string{"A"}, Acceptable(h, v)); diff != "" {
		t.Errorf("acceptable (-want +got):\n%s", diff)
	}
	h.Accept(ralph.WorkAccepted{By: "eve", Tasks: []string{"A"}})
	if v = Decide(s.policy, h.Judge(s.at)); v.Reason != ralph.TasksDone {
		t.Fatalf("accepted, and the run ends with %q", v.Reason)
	}
	if got := ProofOf(s.policy, h, v); got != ralph.ProvenAccepted {
		t.Errorf("proof %q", got)
	}
}

func TestAPersonsYesIsForTheLastIterationOnly(t *testing.T) {
	s := listed()
	s.before.Tasks[0].Status = ralph.TaskUnconfirmed
	s.before.Judging = false
	h := s.before.Judge(s.at)
	h.Accept(ralph.WorkAccepted{By: "eve", Tasks: []string{"A"}})
	h.Restart()
	h.Tasks[1].Status = ralph.TaskDone
	if v := Decide(s.policy, h.Judge(s.at)); v.Action != ralph.GoOn {
		t.Errorf("a resumed run ends with %q because a person accepted an earlier tree", v.Reason)
	}
}

func TestAPersonCannotAcceptTamperedFiles(t *testing.T) {
	s := listed()
	s.before.Tasks = []ralph.TaskState{{ID: "A", Status: ralph.TaskUnconfirmed}}
	s.before.Judging, s.before.Now.Tampered = false, []string{"check.sh (changed)"}
	h := s.before.Judge(s.at)
	h.Accept(ralph.WorkAccepted{By: "eve", Tasks: []string{"A"}})
	if v := Decide(s.policy, h.Judge(s.at)); v.Action != ralph.GoOn {
		t.Errorf("the run ends with %q", v.Reason)
	}
}

func TestATaskThatWaitsForAPersonIsNotAbandoned(t *testing.T) {
	s := listed()
	s.policy.TaskTries = 2
	s.before.Tasks[0].Tries = 1
	s.before.NotShown = []UnshownClaim{{Task: "A", Tree: s.before.Now.Tree.ID(), Times: 1}}
	v := s.decide()
	if v.Action != ralph.GoOn || v.Tasks.GivenUp != "" || len(v.Tasks.Unconfirmed) != 1 {
		t.Errorf("%s %s, abandoned %q, unconfirmed %v", v.Action, v.Reason, v.Tasks.GivenUp, v.Tasks.Unconfirmed)
	}
}

func TestTheRepairOfAHiddenCheckShowsOneTask(t *testing.T) {
	s := listed()
	s.before.Baseline[0].Passed, s.before.Baseline[0].Hidden, s.before.Now.Checks[0].Hidden = false, true, true
	h := s.before.Judge(s.at)
	h.ApplyVerdict(Decide(s.policy, h))
	if h.Tasks[0].Status != ralph.TaskDone {
		t.Fatalf("task A is %s", h.Tasks[0].Status)
	}
	h.Judging, h.Now.Agent.Said.TasksDone = true, []string{"B"}
	if v := Decide(s.policy, h.Judge(s.at)); len(v.Tasks.Done) > 0 {
		t.Errorf("one repair shows %v, too", v.Tasks.Done)
	}
}

func TestWithoutAClaimNothingIsLeftToAPerson(t *testing.T) {
	s := greenClaim()
	s.policy.Claim = ralph.ClaimOptional
	s.said().Complete, s.said().CompleteTag = false, ""
	s.before.NotShown = []UnshownClaim{{Tree: s.before.Now.Tree.ID(), Times: 2}}
	if v := s.decide(); v.Action != ralph.GoOn {
		t.Errorf("the run ends with %q", v.Reason)
	}
}

func TestAListIsAsWeakAsItsWeakestTaskIfTheGateIsOff(t *testing.T) {
	s := listed()
	s.policy.Shown = ralph.ShownOff
	s.before.Baseline[0].Passed, s.said().TasksDone = false, []string{"A", "B"}
	h := s.before.Judge(s.at)
	v := Decide(s.policy, h)
	h.ApplyVerdict(v)
	if got := ProofOf(s.policy, h, v); v.Reason != ralph.TasksDone || got != ralph.ProvenNone {
		t.Errorf("%s, proof %q", v.Reason, got)
	}
}

func TestARefusalSaysWhyNothingShowsTheClaim(t *testing.T) {
	passing := []ralph.CheckResult{{Name: "go test", Passed: true}}
	failedBefore := []ralph.CheckResult{{Name: "go test"}}
	tests := []string{"a_test.go"}
	for _, tt := range []struct {
		name     string
		baseline []ralph.CheckResult
		work     *ralph.WorkSeen
		want     string
	}{
		{"nothing is known", passing, nil,
			"the checks passed before this work, too, and no test was added that fails without it"},
		{"the repaired check shows another task", failedBefore, &ralph.WorkSeen{},
			"go test failed before and passes now, but that already shows another task, and no test was added that " +
				"fails without this work"},
		{"no test ran", failedBefore, &ralph.WorkSeen{Counts: []ralph.TestCount{{Name: "go test"}}},
			"go test ran no test, so it shows nothing"},
		{"new tests pass without the work", passing,
			&ralph.WorkSeen{Tests: tests, NewTests: []ralph.NewTestsRun{{Name: "go test", Passed: true}}},
			"the new tests also pass without your change: a_test.go"},
		{"new tests show another task", passing,
			&ralph.WorkSeen{Tests: tests, NewTests: []ralph.NewTestsRun{{Name: "go test"}}},
			"the new tests that fail without the work already show another task"},
		{"old tests of the task pass without the work", passing,
			&ralph.WorkSeen{NewTests: []ralph.NewTestsRun{{Name: "go test", Passed: true}}},
			"the tests of the task also pass without your change"},
		{"new tests could not run", passing, &ralph.WorkSeen{Tests: tests},
			"the checks passed before, and the changed tests could not be run without your change: a_test.go"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := History{Baseline: tt.baseline}
			h.Now.Checks, h.Now.Work = passing, tt.work
			if got := whyNotShown(h); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

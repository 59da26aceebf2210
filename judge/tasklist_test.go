package judge

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

type tasks = []ralph.TaskState

// task returns a pending task with some changes.
func task(id string, changes ...func(*ralph.TaskState)) ralph.TaskState {
	t := ralph.TaskState{ID: id, Title: "do " + id, Status: ralph.TaskPending}
	for _, change := range changes {
		change(&t)
	}
	return t
}

func isDone(t *ralph.TaskState)      { t.Status = ralph.TaskDone }
func hasFailed(t *ralph.TaskState)   { t.Status = ralph.TaskFailed }
func isRegressed(t *ralph.TaskState) { t.Regressed = true }
func isOptional(t *ralph.TaskState)  { t.Optional = true }
func isHuman(t *ralph.TaskState)     { t.Human = true }
func asks(t *ralph.TaskState)        { t.Question = "a or b?" }

func dependsOn(ids ...string) func(*ralph.TaskState) {
	return func(t *ralph.TaskState) { t.DependsOn = ids }
}
func priority(n int) func(*ralph.TaskState)  { return func(t *ralph.TaskState) { t.Priority = &n } }
func tried(times int) func(*ralph.TaskState) { return func(t *ralph.TaskState) { t.Tries = times } }
func retried(rounds int) func(*ralph.TaskState) {
	return func(t *ralph.TaskState) { t.Rounds = rounds }
}

func TestNextTask(t *testing.T) {
	for _, tt := range []struct {
		name  string
		tasks []ralph.TaskState
		want  string // "" for none
	}{
		{"no list", nil, ""},
		{"the first of equals", tasks{task("A"), task("B")}, "A"},
		{"not what is done", tasks{task("A", isDone), task("B")}, "B"},
		{"not what failed", tasks{task("A", hasFailed), task("B")}, "B"},
		{"everything done", tasks{task("A", isDone), task("B", isDone)}, ""},

		{"a dependency comes first", tasks{task("A", dependsOn("B")), task("B")}, "B"},
		{"a dependency that is done is no hindrance", tasks{task("A", dependsOn("B")), task("B", isDone)}, "A"},
		{"a dependency's dependency", tasks{task("A", dependsOn("B")), task("B", dependsOn("C")), task("C")}, "C"},
		{"every dependency counts", tasks{task("A", dependsOn("B", "C")), task("B", isDone), task("C")}, "C"},
		{"a dependency that failed holds back", tasks{task("A", dependsOn("B")), task("B", hasFailed)}, ""},
		{"a dependency that failed holds back only what needs it",
			tasks{task("A", dependsOn("B")), task("B", hasFailed), task("C")}, "C"},
		{"an unknown dependency is not waited for", tasks{task("A", dependsOn("Z"))}, "A"},
		{"a dependency that regressed and is still done is no hindrance",
			tasks{task("A", dependsOn("B")), task("B", isDone, isRegressed)}, "A"},
		{"a dependency that was opened again comes first",
			tasks{task("A", dependsOn("B"), priority(1)), task("B", isRegressed)}, "B"},
		{"a circle is not walked for ever", tasks{task("A", dependsOn("B")), task("B", dependsOn("A"))}, ""},
		{"a circle of one", tasks{task("A", dependsOn("A"))}, ""},
		{"what is beside a circle is worked", tasks{task("A", dependsOn("B")), task("B", dependsOn("A")), task("C")}, "C"},

		{"a human one is never chosen", tasks{task("A", isHuman), task("B")}, "B"},
		{"a human one is never waited for", tasks{task("A", dependsOn("H")), task("H", isHuman)}, "A"},
		{"only a human one left", tasks{task("H", isHuman), task("A", isDone)}, ""},
		{"what a human one alone needs is not worked", tasks{task("H", isHuman, dependsOn("O")), task("O", isOptional)}, ""},
		{"an optional one is not chosen", tasks{task("O", isOptional), task("B")}, "B"},
		{"only an optional one left", tasks{task("O", isOptional), task("A", isDone)}, ""},
		{"an optional one that another needs", tasks{task("O", isOptional), task("B", dependsOn("O"))}, "O"},
		{"an optional one that a needed optional one needs",
			tasks{task("A", dependsOn("O")), task("O", isOptional, dependsOn("P")), task("P", isOptional)}, "P"},
		{"an optional one that no blocking one needs",
			tasks{task("O", isOptional), task("P", isOptional, dependsOn("O")), task("B", isDone)}, ""},

		{"what regressed goes before priority", tasks{task("A", priority(1)), task("B", isRegressed)}, "B"},
		{"of what regressed, priority", tasks{task("A", isRegressed), task("B", isRegressed, priority(9))}, "B"},
		{"the lowest number is the most urgent",
			tasks{task("A", priority(3)), task("B", priority(2)), task("C", priority(10))}, "B"},
		{"a priority goes before none", tasks{task("A"), task("B", priority(1_000_000))}, "B"},
		{"a negative priority goes before zero", tasks{task("A", priority(0)), task("B", priority(-1))}, "B"},
		{"of equal priority the first", tasks{task("A", priority(2)), task("B", priority(1)), task("C", priority(1))}, "B"},
		{"dependencies go before priority",
			tasks{task("A", priority(1), dependsOn("B")), task("B", priority(9)), task("C", priority(5))}, "C"},
		{"what was given up waits behind the others", tasks{task("A", priority(1), retried(1)), task("B")}, "B"},
		{"what was given up waits even if it regressed", tasks{task("A", isRegressed, retried(1)), task("B")}, "B"},
		{"what was given up less often comes first", tasks{task("A", retried(2)), task("B", retried(1))}, "B"},
		{"one that waits for an answer does not hold up the others", tasks{task("A", asks), task("B")}, "B"},
		{"what needs one that waits for an answer waits, too", tasks{task("A", asks), task("B", dependsOn("A"))}, ""},
		{"tries change nothing: one that was begun is gone on with", tasks{task("A", tried(5)), task("B")}, "A"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := NextTask(tt.tasks)
			want := ralph.TaskState{}
			if i := slices.IndexFunc(tt.tasks, func(t ralph.TaskState) bool { return t.ID == tt.want }); i >= 0 {
				want = tt.tasks[i]
			}
			if diff := cmp.Diff(want, got); diff != "" || ok != (tt.want != "") {
				t.Errorf("chosen %v (-want +got):\n%s", ok, diff)
			}
		})
	}
}

// list puts a task list into the situation: the check passes, and the agent worked on the next
// task.
func (s *situation) list(tasks ...ralph.TaskState) {
	s.green()
	next, _ := NextTask(tasks)
	s.before.Tasks, s.before.Task, s.before.Now.Task = tasks, next.ID, next.ID
}

// tags makes the agent say that these tasks are done; marks makes it tick them in the list.
func (s *situation) tags(ids ...string)  { s.said().TasksDone = ids }
func (s *situation) marks(ids ...string) { s.before.Now.Listed = ids }

// addOwnCheck adds the result of a task's own check.
func (s *situation) addOwnCheck(task string, result ralph.CheckResult) {
	result.Name, result.Task = "own "+task, task
	s.before.Now.Checks = append(s.before.Now.Checks, result)
}

func (s *situation) red() { s.before.Now.Checks = []ralph.CheckResult{{Name: "go test", ExitCode: 1}} }

// onTasks returns a verdict with these results for tasks.
func onTasks(v ralph.Verdict, tasks ralph.TaskVerdict) ralph.Verdict {
	v.Tasks = tasks
	return v
}

// allDone returns the verdict that ends a run because its list is done.
func allDone(tasks ralph.TaskVerdict) ralph.Verdict {
	tasks.AllDone = true
	v := onTasks(stops(4, ralph.TasksDone, "every task of the list is proven done"), tasks)
	v.VerifiedBy = []string{ralph.VerifiedChecks}
	return v
}

func refusal(task, code, detail string) []ralph.TaskRefusal {
	return []ralph.TaskRefusal{{Task: task, Code: code, Detail: detail}}
}

func TestClaimsForTasks(t *testing.T) {
	ab := func(s *situation) { s.list(task("A"), task("B")) }
	doneA := onTasks(goesOn(), ralph.TaskVerdict{Current: "A", Done: []string{"A"}})
	nothingDone := onTasks(goesOn(), ralph.TaskVerdict{Current: "A"})
	decideRows(t, []row{
		{"tasks: a tag is a claim", func(s *situation) { ab(s); s.tags("A") }, doneA},
		{"tasks: a mark in the list is a claim", func(s *situation) { ab(s); s.marks("A") }, doneA},
		{"tasks: both are one claim", func(s *situation) { ab(s); s.tags("A"); s.marks("A") }, doneA},
		{"tasks: green checks without a claim prove nothing", ab, nothingDone},
		{
			"tasks: COMPLETE claims the current one and no other",
			func(s *situation) { ab(s); s.claim() },
			with(doneA, claimed),
		},
		{"tasks: a tag for another than the current one", func(s *situation) { ab(s); s.tags("B") },
			onTasks(goesOn(), ralph.TaskVerdict{Current: "A", Done: []string{"B"}})},
		{
			"tasks: the list's order, not the agent's",
			func(s *situation) { s.list(task("A"), task("B"), task("C")); s.tags("B", "A") },
			onTasks(goesOn(), ralph.TaskVerdict{Current: "A", Done: []string{"A", "B"}}),
		},
		{"tasks: a tag in another case", func(s *situation) { ab(s); s.tags("a") }, doneA},
		{
			"tasks: a tag in another case that could mean two",
			func(s *situation) { s.list(task("ab"), task("AB")); s.tags("Ab") },
			onTasks(goesOn(), ralph.TaskVerdict{Current: "ab"}),
		},
		{"tasks: the very id goes before another case", func(s *situation) { s.list(task("ab"), task("AB")); s.tags("AB") },
			onTasks(goesOn(), ralph.TaskVerdict{Current: "ab", Done: []string{"AB"}})},
		{"tasks: an unknown id", func(s *situation) { ab(s); s.tags("Z-9") }, nothingDone},
		{
			"tasks: one that is done already",
			func(s *situation) { s.list(task("A"), task("B", isDone)); s.tags("B") },
			nothingDone,
		},
		{"tasks: one that was given up", func(s *situation) { s.list(task("A"), task("B", hasFailed)); s.tags("B") },
			onTasks(goesOn(), ralph.TaskVerdict{Current: "A", Done: []string{"B"}})},
		{"tasks: an agent that said nothing and marked one", func(s *situation) {
			ab(s)
			s.marks("A")
			s.ended(ralph.EndEmpty, "it said nothing")
		}, doneA},
		{"tasks: a claim by status block", func(s *situation) {
			ab(s)
			s.said().Complete, s.said().Status = true, &promise.Status{State: "COMPLETE", ExitSignal: true, Tests: "PASSING"}
		}, with(doneA, claimed)},
		{"tasks: with gate.status off a block claims nothing", func(s *situation) {
			ab(s)
			s.policy.Status = ralph.StatusOff
			s.said().Complete, s.said().Status = true, &promise.Status{State: "COMPLETE", ExitSignal: true, Tests: "PASSING"}
		}, nothingDone},
		{
			"tasks: with gate.status off a tag still claims",
			func(s *situation) { ab(s); s.policy.Status = ralph.StatusOff; s.claim() },
			with(doneA, claimed),
		},
	})
}

func TestProofOfTasks(t *testing.T) {
	refused := func(code, detail string) ralph.Verdict {
		return onTasks(goesOn(), ralph.TaskVerdict{Current: "A", Refused: refusal("A", code, detail)})
	}
	claimsA := func(change func(*situation)) func(*situation) {
		return func(s *situation) {
			s.list(task("A"), task("B"), task("Z", isDone))
			s.tags("A")
			change(s)
		}
	}
	doneA := onTasks(goesOn(), ralph.TaskVerdict{Current: "A", Done: []string{"A"}})
	ofZ := "own Z, the check of task Z, which was done, failed"
	regressedZ := onTasks(goesOn(), ralph.TaskVerdict{
		Current: "A", Refused: refusal("A", ralph.RefusedCheckFailed, ofZ), Regressed: []string{"Z"},
	})
	nothingRan := "no check of the run or of the task ran, so nothing proves it"
	decideRows(t, []row{
		{"tasks: its own check is green", claimsA(func(s *situation) { s.addOwnCheck("A", isGreen) }), doneA},
		{
			"tasks: a red check of the run",
			claimsA(func(s *situation) { s.red(); s.addOwnCheck("A", isGreen) }),
			refused(ralph.RefusedCheckFailed, "go test (exit 1) failed"),
		},
		{
			"tasks: a red check of the run re-opens nothing",
			claimsA(func(s *situation) { s.red(); s.addOwnCheck("Z", isGreen) }),
			refused(ralph.RefusedCheckFailed, "go test (exit 1) failed"),
		},
		{
			"tasks: a check of the run that cannot run",
			claimsA(func(s *situation) { s.broken() }),
			refused(ralph.RefusedCheckBroken, "go test cannot run"),
		},
		{
			"tasks: its own check is red",
			claimsA(func(s *situation) { s.addOwnCheck("A", isRed) }),
			refused(ralph.RefusedCheckFailed, "own A (exit 1) failed"),
		},
		{
			"tasks: its own check ran out of time",
			claimsA(func(s *situation) { s.addOwnCheck("A", ralph.CheckResult{TimedOut: true, ExitCode: 124}) }),
			refused(ralph.RefusedCheckFailed, "own A (timed out) failed"),
		},
		{
			"tasks: its own check cannot run",
			claimsA(func(s *situation) { s.addOwnCheck("A", isBroken) }),
			refused(ralph.RefusedCheckBroken, "own A cannot run"),
		},
		{
			"tasks: red says more than broken",
			claimsA(func(s *situation) { s.broken(); s.addOwnCheck("A", isRed) }),
			refused(ralph.RefusedCheckFailed, "own A (exit 1) failed"),
		},
		{"tasks: everything red is named", claimsA(func(s *situation) { s.red(); s.addOwnCheck("A", isRed) }),
			refused(ralph.RefusedCheckFailed, "go test (exit 1), own A (exit 1) failed")},
		{"tasks: another claim's red check is its own matter", claimsA(func(s *situation) {
			s.tags("A", "B")
			s.addOwnCheck("A", isGreen)
			s.addOwnCheck("B", isRed)
		}), onTasks(goesOn(), ralph.TaskVerdict{
			Current: "A",
			Done:    []string{"A"},
			Refused: refusal("B", ralph.RefusedCheckFailed, "own B (exit 1) failed"),
		})},
		{
			"tasks: a done one's red check refuses and is a regression",
			claimsA(func(s *situation) { s.addOwnCheck("A", isGreen); s.addOwnCheck("Z", isRed) }),
			regressedZ,
		},
		{
			"tasks: a done one's check that cannot run is no regression, but refuses",
			claimsA(func(s *situation) { s.addOwnCheck("Z", isBroken) }),
			onTasks(goesOn(), ralph.TaskVerdict{
				Current: "A",
				Refused: refusal("A", ralph.RefusedCheckBroken, "own Z (the check of task Z, which was done) cannot run"),
			}),
		},
		{
			"tasks: its own red check is told before a done one's",
			claimsA(func(s *situation) { s.addOwnCheck("A", isRed); s.addOwnCheck("Z", isRed) }),
			onTasks(goesOn(), ralph.TaskVerdict{
				Current:   "A",
				Refused:   refusal("A", ralph.RefusedCheckFailed, "own A (exit 1) failed"),
				Regressed: []string{"Z"},
			}),
		},
		{
			"tasks: a regression is told once and refuses again",
			claimsA(func(s *situation) { s.before.Tasks[2].Regressed = true; s.addOwnCheck("Z", isRed) }),
			refused(ralph.RefusedCheckFailed, ofZ),
		},
		{
			"tasks: a regression is mended",
			claimsA(func(s *situation) { s.before.Tasks[2].Regressed = true; s.addOwnCheck("Z", isGreen) }),
			onTasks(goesOn(), ralph.TaskVerdict{Current: "A", Done: []string{"A"}, Mended: []string{"Z"}}),
		},
		{"tasks: mended wants every own check green", claimsA(func(s *situation) {
			s.before.Tasks[2].Regressed = true
			s.addOwnCheck("Z", isGreen)
			s.addOwnCheck("Z", isRed)
		}), refused(ralph.RefusedCheckFailed, ofZ)},
		{"tasks: a regression is seen without a claim", func(s *situation) {
			s.list(task("A"), task("Z", isDone))
			s.addOwnCheck("Z", isRed)
		}, onTasks(goesOn(), ralph.TaskVerdict{Current: "A", Regressed: []string{"Z"}})},
		{
			"tasks: an agent that failed proves nothing",
			claimsA(func(s *situation) { s.ended(ralph.EndFailed, "exit 3") }),
			refused(ralph.RefusedAgentFailed, "exit 3"),
		},
		{"tasks: an agent that ran out of time proves nothing", claimsA(func(s *situation) { s.ended(ralph.EndTimeout, "") }),
			refused(ralph.RefusedAgentFailed, "the agent ended with timeout")},
		{
			"tasks: no check ran",
			claimsA(func(s *situation) { s.noCheck() }),
			refused(ralph.RefusedNoEvidence, nothingRan),
		},
		{
			"tasks: no check ran, and --allow-unverified",
			claimsA(func(s *situation) { s.noCheck(); s.policy.AllowUnverified = true }),
			doneA,
		},
		{"tasks: another claim's check, green or not, proves nothing", claimsA(func(s *situation) {
			s.noCheck()
			s.tags("A", "B")
			s.addOwnCheck("B", isGreen)
		}), onTasks(goesOn(), ralph.TaskVerdict{
			Current: "A",
			Done:    []string{"B"},
			Refused: refusal("A", ralph.RefusedNoEvidence, nothingRan),
		})},
		{"tasks: the check of a task that is done proves no other", func(s *situation) {
			s.list(task("A"), task("Z", isDone))
			s.noCheck()
			s.tags("A")
			s.addOwnCheck("Z", isGreen)
		}, refused(ralph.RefusedNoEvidence, nothingRan)},
		{"tasks: a commit that failed", claimsA(func(s *situation) {
			commit := ralph.CheckResult{Name: ralph.CommitCheck, ExitCode: 1, Output: "hook says no"}
			s.before.Now.Checks = append(s.before.Now.Checks, commit)
		}), refused(ralph.RefusedCheckFailed, "git commit (exit 1) failed")},
	})
}

func TestRow4EveryTask(t *testing.T) {
	last := func(s *situation) { s.list(task("A"), task("Z", isDone)) }
	lastA := ralph.TaskVerdict{Current: "A", Done: []string{"A"}}
	left := func(v ralph.Verdict) ralph.Verdict { v.Tasks.AllDone = true; return v }
	refusedO := refusal("O", ralph.RefusedCheckFailed, "own O (exit 1) failed")
	decideRows(t, []row{
		{"row 4: the last task's tag", func(s *situation) { last(s); s.tags("A") }, allDone(lastA)},
		{"row 4: the last task's mark", func(s *situation) { last(s); s.marks("A") }, allDone(lastA)},
		{"row 4: COMPLETE on the last task", func(s *situation) { last(s); s.claim() }, with(allDone(lastA), claimed)},
		{"row 4: COMPLETE with a task open is refused", func(s *situation) { s.list(task("A"), task("B")); s.claim() },
			with(onTasks(goesOn(), lastA), claimed)},
		{"row 4: several at once", func(s *situation) { s.list(task("A"), task("B")); s.tags("A", "B") },
			allDone(ralph.TaskVerdict{Current: "A", Done: []string{"A", "B"}})},
		{"row 4: human and optional ones are not waited for", func(s *situation) {
			s.list(task("A"), task("H", isHuman), task("O", isOptional))
			s.tags("A")
		}, allDone(lastA)},
		{
			"row 4: a list of nothing but optional ones",
			func(s *situation) { s.list(task("O", isOptional)) },
			allDone(ralph.TaskVerdict{}),
		},
		{
			"row 4: one that was given up is open",
			func(s *situation) { s.list(task("A"), task("B", hasFailed)); s.tags("A") },
			onTasks(goesOn(), lastA),
		},
		{
			"row 4: at the cap it is still 0",
			func(s *situation) { last(s); s.tags("A"); s.policy.MaxIterations = 1 },
			allDone(lastA),
		},
		{"row 4: on the last try it is still 0", func(s *situation) {
			s.list(task("A", tried(2)))
			s.tags("A")
			s.policy.TaskTries = 3
		}, allDone(lastA)},
		{"row 4: STATUS: IN_PROGRESS beside the last task's tag contradicts nothing", func(s *situation) {
			last(s)
			s.tags("A")
			s.said().Status = &promise.Status{State: "IN_PROGRESS", Tests: "PASSING"}
		}, allDone(lastA)},
		{"row 4: STATUS: IN_PROGRESS beside COMPLETE does", func(s *situation) {
			last(s)
			s.claim()
			s.said().Status = &promise.Status{State: "IN_PROGRESS", Tests: "PASSING"}
		}, with(left(onTasks(goesOn(), lastA)), claimed)},
		{"row 4: every other gate is asked too", func(s *situation) {
			last(s)
			s.tags("A")
			s.policy.Unfinished, s.before.Now.Tree.Unfinished = ralph.UnfinishedRefuse, []string{"a.go: TODO"}
		}, left(onTasks(goesOn(), lastA))},
		{
			"row 4: proven before, and what kept it open is gone",
			func(s *situation) { s.list(task("A", isDone)) },
			allDone(ralph.TaskVerdict{}),
		},
		{"row 4: proven before, and a check is red now", func(s *situation) { s.list(task("A", isDone)); s.red() },
			left(onTasks(goesOn(), ralph.TaskVerdict{}))},
		{
			"row 4: proven before, and its own check is red now",
			func(s *situation) { s.list(task("A", isDone)); s.addOwnCheck("A", isRed) },
			onTasks(goesOn(), ralph.TaskVerdict{Regressed: []string{"A"}, Reopened: []string{"A"}}),
		},
		{"row 4: by the agent's word alone", func(s *situation) {
			last(s)
			s.tags("A")
			s.noCheck()
			s.policy.AllowUnverified = true
		}, with(allDone(lastA), func(v *ralph.Verdict) {
			v.VerifiedBy = nil
			v.Detail = "every task of the list is proven done, but only the agent says so: nothing was checked"
		})},
		{"row 4: BLOCKED beside the agent's word contradicts it", func(s *situation) {
			last(s)
			s.tags("A")
			s.noCheck()
			s.policy.AllowUnverified = true
			s.said().Blocked = new("no key")
		}, left(onTasks(stops(5, ralph.Blocked, "no key"), lastA))},
		{"row 4: gate.claim optional: green checks beside open tasks are not enough", func(s *situation) {
			s.list(task("A"))
			s.policy.Claim = ralph.ClaimOptional
		}, onTasks(goesOn(), ralph.TaskVerdict{Current: "A"})},
		{"row 4: gate.claim optional: a claim for the last task is", func(s *situation) {
			last(s)
			s.tags("A")
			s.policy.Claim = ralph.ClaimOptional
		}, allDone(lastA)},
		{"row 4: an optional one's red check does not keep the run open", func(s *situation) {
			s.list(task("A"), task("O", isOptional))
			s.tags("A", "O")
			s.addOwnCheck("O", isRed)
		}, allDone(ralph.TaskVerdict{Current: "A", Done: []string{"A"}, Refused: refusedO})},
		{"row 4: an optional one's check alone proves nothing", func(s *situation) {
			s.list(task("Z", isDone), task("O", isOptional))
			s.noCheck()
			s.tags("O")
			s.addOwnCheck("O", isRed)
		}, onTasks(goesOn(), ralph.TaskVerdict{AllDone: true, Refused: refusedO})},
		{
			"row 0: one INT and every task proven is 0",
			func(s *situation) { last(s); s.tags("A"); s.at.Signal = ralph.SignalInterrupt },
			allDone(lastA),
		},
		{"row 0: one INT and a task open; what is proven is kept", func(s *situation) {
			s.list(task("A"), task("B"))
			s.tags("A")
			s.at.Signal = ralph.SignalInterrupt
		}, onTasks(interrupted(ralph.SignalInterrupt), lastA)},
		{"row 0: TERM beats every task proven", func(s *situation) {
			last(s)
			s.tags("A")
			s.at.Signal, s.at.Killed = ralph.SignalTerminate, true
		}, left(onTasks(interrupted(ralph.SignalTerminate), lastA))},
	})
}

func TestRow6Tries(t *testing.T) {
	tries := func(before int, change func(*situation)) func(*situation) {
		return func(s *situation) {
			s.list(task("A", tried(before)), task("B"), task("Z", isDone))
			s.policy.TaskTries = 3
			change(s)
		}
	}
	plain := func(*situation) {}
	currentA := ralph.TaskVerdict{Current: "A"}
	givenUp := ralph.TaskVerdict{Current: "A", GivenUp: "A"}
	halt := onTasks(stops(6, ralph.TaskTries, "task A was worked on in 3 iterations without being proven"), givenUp)
	decideRows(t, []row{
		{"row 6: one try is left", tries(1, plain), onTasks(goesOn(), ralph.TaskVerdict{Current: "A"})},
		{"row 6: halt", tries(2, plain), halt},
		{
			"row 6: a refused claim is a try",
			tries(2, func(s *situation) { s.tags("A"); s.red() }),
			with(halt, func(v *ralph.Verdict) {
				v.Tasks.Refused = refusal("A", ralph.RefusedCheckFailed, "go test (exit 1) failed")
			}),
		},
		{"row 6: proven on the last try", tries(2, func(s *situation) { s.tags("A") }),
			onTasks(goesOn(), ralph.TaskVerdict{Current: "A", Done: []string{"A"}})},
		{"row 6: proving another one does not save it", tries(2, func(s *situation) { s.tags("B") }),
			with(halt, func(v *ralph.Verdict) { v.Tasks.Done = []string{"B"} })},
		{
			"row 6: tasks.max_tries 0 is off",
			tries(99, func(s *situation) { s.policy.TaskTries = 0 }),
			onTasks(goesOn(), ralph.TaskVerdict{Current: "A"}),
		},
		{"row 6: a failing model is no try", tries(2, func(s *situation) {
			s.ended(ralph.EndProvider, "529")
			s.before.ProviderFailures, s.policy.MaxFailures, s.policy.Outage = 5, 3, 0
		}), with(onTasks(stops(3, ralph.ProviderFailed, "the model failed 6 times in a row: 529"), currentA), outage)},
		{"row 6: skip", tries(2, func(s *situation) { s.policy.OnTaskFailure = ralph.TaskSkip }), onTasks(goesOn(), givenUp)},
		{"row 6: retry", tries(2, func(s *situation) { s.policy.OnTaskFailure, s.policy.TaskRetries = ralph.TaskRetry, 1 }),
			onTasks(goesOn(), ralph.TaskVerdict{Current: "A", GivenUp: "A", Retried: true})},
		{"row 6: retry is used up", tries(2, func(s *situation) {
			s.policy.OnTaskFailure, s.policy.TaskRetries = ralph.TaskRetry, 1
			s.before.Tasks[0].Rounds, s.before.Task, s.before.Now.Task = 1, "A", "A"
		}), with(halt, func(v *ralph.Verdict) { v.Detail = "task A was worked on in 6 iterations without being proven" })},
		{"row 6: what regressed before is open again", tries(2, func(s *situation) { s.before.Tasks[2].Regressed = true }),
			with(halt, func(v *ralph.Verdict) { v.Tasks.Reopened = []string{"Z"} })},
		{"row 6: what regresses now is open again", tries(2, func(s *situation) { s.addOwnCheck("Z", isRed) }),
			with(halt, func(v *ralph.Verdict) { v.Tasks.Regressed, v.Tasks.Reopened = []string{"Z"}, []string{"Z"} })},
		{
			"row 6: what is mended stays done",
			tries(2, func(s *situation) { s.before.Tasks[2].Regressed = true; s.addOwnCheck("Z", isGreen) }),
			with(halt, func(v *ralph.Verdict) { v.Tasks.Mended = []string{"Z"} }),
		},
		{
			"row 6: while tries are left, what regressed is not opened",
			tries(0, func(s *situation) { s.addOwnCheck("Z", isRed) }),
			onTasks(goesOn(), ralph.TaskVerdict{Current: "A", Regressed: []string{"Z"}}),
		},
		{
			"row 6: BLOCKED comes before it",
			tries(2, func(s *situation) { s.said().Blocked = new("no key") }),
			onTasks(stops(5, ralph.Blocked, "no key"), givenUp),
		},
		{"row 6: it comes before the cap", tries(2, func(s *situation) { s.policy.MaxIterations = 1 }), halt},
		{"row 6: a question that is waited for is no failure of the task", tries(2, func(s *situation) {
			s.said().Decide, s.policy.OnDecide = new("a or b?"), ralph.DecideWait
		}), onTasks(goesOn(), ralph.TaskVerdict{Current: "A", Question: "a or b?"})},
		{"row 5: a question without another task is waited for", tries(2, func(s *situation) {
			s.said().Decide, s.policy.OnDecide = new("a or b?"), ralph.DecideWait
			s.before.Tasks[1].Question = "c or d?"
		}), with(onTasks(waits(5, ralph.WaitAnswer, 0, "a or b?"), ralph.TaskVerdict{Current: "A", Question: "a or b?"}),
			func(v *ralph.Verdict) { v.Counted = true })},
		{"row 5: earlier versions waited with the other tasks", tries(2, func(s *situation) {
			s.said().Decide, s.policy.OnDecide, s.policy.Rules = new("a or b?"), ralph.DecideWait, 1
		}), with(onTasks(waits(5, ralph.WaitAnswer, 0, "a or b?"), currentA), func(v *ralph.Verdict) { v.Counted = true })},
	})
}

// These are verdicts about the list between iterations.
func TestTasksBetweenIterations(t *testing.T) {
	start := ralph.Verdict{Row: 10, Action: ralph.GoOn, Breaker: closed}
	gaveUp := func(detail string) ralph.Verdict {
		return ralph.Verdict{Row: 6, Action: ralph.Stop, Reason: ralph.TaskTries, Detail: detail, Breaker: closed}
	}
	doneAlready := ralph.Verdict{
		Row:        4,
		Action:     ralph.Stop,
		Reason:     ralph.TasksDone,
		Detail:     "every task of the list was done already, and every check passes",
		Breaker:    closed,
		VerifiedBy: []string{ralph.VerifiedUnchanged},
	}
	before := func(started int, baseline ralph.CheckResult, tasks ...ralph.TaskState) func(*situation) {
		return func(s *situation) {
			s.list(tasks...)
			s.betweenIterations()
			s.before.Started, s.before.Baseline = started, []ralph.CheckResult{baseline}
		}
	}
	decideRows(t, []row{
		{"row 10: something is to be done", before(0, isGreen, task("A"), task("B", hasFailed)), start},
		{"row 4: everything was done already", before(0, isGreen, task("A", isDone), task("H", isHuman)), doneAlready},
		{"row 10: everything was done, and a check is red", before(0, isRed, task("A", isDone)), start},
		{"row 10: everything was done, and nothing was checked", func(s *situation) {
			before(0, isGreen, task("A", isDone))(s)
			s.before.Baseline = nil
		}, start},
		{"row 10: a green baseline and no list", func(s *situation) { before(0, isGreen)(s) }, start},
		{"row 10: later than the start a verdict on an iteration tells", before(1, isGreen, task("A", isDone)), start},
		{"row 0: nothing starts after an INT, whatever was done", func(s *situation) {
			before(0, isGreen, task("A", isDone))(s)
			s.at.Signal = ralph.SignalInterrupt
		}, interruptedBetween},
		{
			"row 7: everything was done, and a check cannot run",
			before(0, isBroken, task("A", isDone)),
			ralph.Verdict{
				Row:     7,
				Action:  ralph.Stop,
				Reason:  ralph.CheckBroken,
				Detail:  `the check "" cannot run: not found`,
				Breaker: closed,
			},
		},
		{"row 10: another task is ready", before(3, isRed, task("A", asks), task("B")), start},
		{
			"row 5: every task that is ready waits for an answer",
			before(3, isRed, task("A", asks), task("B", dependsOn("A")), task("C", hasFailed), task("D", asks)),
			ralph.Verdict{
				Row: 5, Action: ralph.Wait, WaitFor: ralph.WaitAnswer, Detail: "A: a or b?; D: a or b?", Breaker: closed,
			},
		},
		{
			"row 6: what is left was given up",
			before(3, isRed, task("A", hasFailed), task("B", isDone)),
			gaveUp("abandoned: A"),
		},
		{
			"row 6: what is left waits for what was given up",
			before(3, isRed, task("A", hasFailed), task("B", dependsOn("A"))),
			gaveUp("abandoned: A; 1 task waits for it"),
		},
		{
			"row 6: two given up, two wait",
			before(3, isRed, task("A", hasFailed), task("B", dependsOn("A")), task("C", hasFailed), task("D", dependsOn("C"))),
			gaveUp("abandoned: A, C; 2 tasks wait for them"),
		},
		{
			"row 6: what was given up is optional, what waits for it is not",
			before(3, isRed, task("O", isOptional, hasFailed), task("B", dependsOn("O"))),
			gaveUp("abandoned: O; 1 task waits for it"),
		},
		{
			"row 10: given up and optional, and all else is done",
			before(3, isRed, task("O", isOptional, hasFailed), task("B", isDone)),
			start,
		},
		{"row 9: limits come before it", func(s *situation) {
			before(3, isRed, task("A", hasFailed))(s)
			s.policy.MaxIterations, s.before.Counted = 3, 3
		}, cappedBetween},
	})
}

func TestTheGateOfTasks(t *testing.T) {
	many := tasks{task("A", isDone)}
	for _, id := range []string{"B", "C", "D", "E", "F", "G"} {
		many = append(many, task(id))
	}
	allOpen := ralph.Gate{State: ralph.GateOpen, Detail: "every required task is done"}
	notDone := func(detail string) ralph.Gate { return refused(ralph.RefusedTasksOpen, detail) }
	for name, tt := range map[string]struct {
		tasks []ralph.TaskState
		want  ralph.Gate
	}{
		"no list":            {nil, ralph.Gate{State: ralph.GateNoted, Detail: "no task list"}},
		"all done":           {tasks{task("A", isDone)}, allOpen},
		"human and optional": {tasks{task("H", isHuman), task("O", isOptional)}, allOpen},
		"one open":           {tasks{task("A"), task("B", isDone)}, notDone("1 task not done: A")},
		"failed, regressed": {
			tasks{task("A", hasFailed), task("B", isDone, isRegressed)},
			notDone("2 tasks not done: A, B"),
		},
		"many open": {many, notDone("6 tasks not done: B, C, D, E, F, …")},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, askTasks(ralph.DefaultPolicy(), History{Tasks: tt.tasks})); diff != "" {
				t.Errorf("gate (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("a claim is told every gate at once", func(t *testing.T) {
		s := plainSituation()
		s.list(task("A"), task("B"))
		s.claim()
		s.red()
		want := []ralph.Refusal{
			{Code: ralph.RefusedTasksOpen, Detail: "2 tasks not done: A, B"},
			{Code: ralph.RefusedCheckFailed, Detail: "go test (exit 1) failed"},
		}
		if diff := cmp.Diff(want, s.decide().Refusals()); diff != "" {
			t.Errorf("refusals (-want +got):\n%s", diff)
		}
	})
}

// ApplyVerdict changes the list as the verdict says.
func TestStatesAfterAVerdict(t *testing.T) {
	before := tasks{task("A", tried(1)), task("B", tried(2), isRegressed), task("Z", isDone)}
	counted, free := ralph.Verdict{Counted: true}, ralph.Verdict{}
	for _, tt := range []struct {
		name string
		v    ralph.Verdict
		want []ralph.TaskState
	}{
		{"nothing was worked on", counted, before},
		{
			"a try",
			onTasks(counted, ralph.TaskVerdict{Current: "A"}),
			tasks{task("A", tried(2)), before[1], before[2]},
		},
		{"an iteration that does not count is no try", onTasks(free, ralph.TaskVerdict{Current: "A"}), before},
		{
			"proven",
			onTasks(counted, ralph.TaskVerdict{Current: "B", Done: []string{"B"}, Mended: []string{"B"}}),
			tasks{before[0], task("B", isDone), before[2]},
		},
		{
			"regressed: still done",
			onTasks(counted, ralph.TaskVerdict{Regressed: []string{"Z"}}),
			tasks{before[0], before[1], task("Z", isDone, isRegressed)},
		},
		{
			"regressed and opened again",
			onTasks(counted, ralph.TaskVerdict{Regressed: []string{"Z"}, Reopened: []string{"Z"}}),
			tasks{before[0], before[1], task("Z", isRegressed)},
		},
		{
			"mended",
			onTasks(counted, ralph.TaskVerdict{Current: "A", Mended: []string{"B"}}),
			tasks{task("A", tried(2)), task("B", tried(2)), before[2]},
		},
		{
			"given up",
			onTasks(counted, ralph.TaskVerdict{Current: "A", GivenUp: "A"}),
			tasks{task("A", hasFailed), before[1], before[2]},
		},
		{
			"given up and retried later",
			onTasks(counted, ralph.TaskVerdict{Current: "A", GivenUp: "A", Retried: true}),
			tasks{task("A", retried(1)), before[1], before[2]},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := History{Tasks: before}
			kept := slices.Clone(before)
			h.ApplyVerdict(tt.v)
			if diff := cmp.Diff(tt.want, h.Tasks); diff != "" {
				t.Errorf("tasks (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(kept, before); diff != "" {
				t.Errorf("what was known before is changed (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("a resume counts anew", func(t *testing.T) {
		h := History{
			Tasks: tasks{
				task("A", hasFailed, retried(2)),
				task("B", tried(2), isRegressed),
				task("Z", isDone, isRegressed),
			},
		}
		h.Restart()
		want := tasks{task("A"), task("B", isRegressed), task("Z", isDone, isRegressed)}
		if diff := cmp.Diff(want, h.Tasks, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("tasks (-want +got):\n%s", diff)
		}
	})
}

// Section 6: progress is HEAD, tree, tasks and check results. An agent that proves work that was
// already done makes progress.
func TestAProvenTaskIsProgress(t *testing.T) {
	s := plainSituation()
	s.list(task("A"), task("B"))
	s.tags("A")
	s.noChanges()
	s.before.Checks = CheckMarks{}.With(s.before.Now.Checks)
	s.before.NoProgress, s.before.Denials = 2, 1
	s.agent().Denials = []string{"Bash(rm)"}
	v := s.decide()
	want := onTasks(goesOn(), ralph.TaskVerdict{Current: "A", Done: []string{"A"}})
	if diff := cmp.Diff(want, v, cmpopts.IgnoreFields(ralph.Verdict{}, "Gates")); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
	h := s.before.Judge(s.at)
	h.ApplyVerdict(v)
	if h.NoProgress != 0 || h.Denials != 0 || !h.Progress {
		t.Errorf("after it: %d without progress, %d denials, progress %v", h.NoProgress, h.Denials, h.Progress)
	}
}

// The run continues with other tasks after one that only a person can settle.
func TestATaskLeftToAPersonIsProgress(t *testing.T) {
	h := History{Streaks: Streaks{NoProgress: 2, Denials: 1}}
	h.NoteTasks(ralph.TaskVerdict{Unconfirmed: []ralph.TaskRefusal{{Task: "A", Code: ralph.RefusedNoChange}}})
	if h.NoProgress != 0 || h.Denials != 0 || !h.Progress {
		t.Errorf("after it: %d without progress, %d denials, progress %v", h.NoProgress, h.Denials, h.Progress)
	}
}

package judge

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

// job is a pending task, changed where a row says so.
func job(id string, changes ...func(*ralph.TaskState)) ralph.TaskState {
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

func after(ids ...string) func(*ralph.TaskState) {
	return func(t *ralph.TaskState) { t.DependsOn = ids }
}
func priority(n int) func(*ralph.TaskState)  { return func(t *ralph.TaskState) { t.Priority = &n } }
func tried(times int) func(*ralph.TaskState) { return func(t *ralph.TaskState) { t.Tries = times } }
func putBehind(rounds int) func(*ralph.TaskState) {
	return func(t *ralph.TaskState) { t.Rounds = rounds }
}

func TestNextTask(t *testing.T) {
	for _, tt := range []struct {
		name  string
		tasks []ralph.TaskState
		want  string // "" for none
	}{
		{"no list", nil, ""},
		{"the first of equals", []ralph.TaskState{job("A"), job("B")}, "A"},
		{"not what is done", []ralph.TaskState{job("A", isDone), job("B")}, "B"},
		{"not what failed", []ralph.TaskState{job("A", hasFailed), job("B")}, "B"},
		{"everything done", []ralph.TaskState{job("A", isDone), job("B", isDone)}, ""},

		{"a dependency comes first", []ralph.TaskState{job("A", after("B")), job("B")}, "B"},
		{"a dependency that is done is no hindrance", []ralph.TaskState{job("A", after("B")), job("B", isDone)}, "A"},
		{"a dependency's dependency", []ralph.TaskState{job("A", after("B")), job("B", after("C")), job("C")}, "C"},
		{"every dependency counts", []ralph.TaskState{job("A", after("B", "C")), job("B", isDone), job("C")}, "C"},
		{"a dependency that failed holds back", []ralph.TaskState{job("A", after("B")), job("B", hasFailed)}, ""},
		{"a dependency that failed holds back only what needs it", []ralph.TaskState{job("A", after("B")), job("B", hasFailed), job("C")}, "C"},
		{"an unknown dependency is not waited for", []ralph.TaskState{job("A", after("Z"))}, "A"},
		{"a dependency that regressed and is still done is no hindrance", []ralph.TaskState{job("A", after("B")), job("B", isDone, isRegressed)}, "A"},
		{"a dependency that was opened again comes first", []ralph.TaskState{job("A", after("B"), priority(1)), job("B", isRegressed)}, "B"},
		{"a circle is not walked for ever", []ralph.TaskState{job("A", after("B")), job("B", after("A"))}, ""},
		{"a circle of one", []ralph.TaskState{job("A", after("A"))}, ""},
		{"what is beside a circle is worked", []ralph.TaskState{job("A", after("B")), job("B", after("A")), job("C")}, "C"},

		{"a human one is never chosen", []ralph.TaskState{job("A", isHuman), job("B")}, "B"},
		{"a human one is never waited for", []ralph.TaskState{job("A", after("H")), job("H", isHuman)}, "A"},
		{"only a human one left", []ralph.TaskState{job("H", isHuman), job("A", isDone)}, ""},
		{"what a human one alone needs is not worked", []ralph.TaskState{job("H", isHuman, after("O")), job("O", isOptional)}, ""},
		{"an optional one is not chosen", []ralph.TaskState{job("O", isOptional), job("B")}, "B"},
		{"only an optional one left", []ralph.TaskState{job("O", isOptional), job("A", isDone)}, ""},
		{"an optional one that another needs", []ralph.TaskState{job("O", isOptional), job("B", after("O"))}, "O"},
		{"an optional one that a needed optional one needs", []ralph.TaskState{job("A", after("O")), job("O", isOptional, after("P")), job("P", isOptional)}, "P"},
		{"an optional one that nobody blocking needs", []ralph.TaskState{job("O", isOptional), job("P", isOptional, after("O")), job("B", isDone)}, ""},

		{"what regressed goes before priority", []ralph.TaskState{job("A", priority(1)), job("B", isRegressed)}, "B"},
		{"of what regressed, priority", []ralph.TaskState{job("A", isRegressed), job("B", isRegressed, priority(9))}, "B"},
		{"the lowest number is the most urgent", []ralph.TaskState{job("A", priority(3)), job("B", priority(2)), job("C", priority(10))}, "B"},
		{"a priority goes before none", []ralph.TaskState{job("A"), job("B", priority(1_000_000))}, "B"},
		{"a negative priority goes before zero", []ralph.TaskState{job("A", priority(0)), job("B", priority(-1))}, "B"},
		{"of equal priority the first", []ralph.TaskState{job("A", priority(2)), job("B", priority(1)), job("C", priority(1))}, "B"},
		{"dependencies go before priority", []ralph.TaskState{job("A", priority(1), after("B")), job("B", priority(9)), job("C", priority(5))}, "C"},
		{"what was given up waits behind the others", []ralph.TaskState{job("A", priority(1), putBehind(1)), job("B")}, "B"},
		{"what was given up waits even if it regressed", []ralph.TaskState{job("A", isRegressed, putBehind(1)), job("B")}, "B"},
		{"what was given up less often comes first", []ralph.TaskState{job("A", putBehind(2)), job("B", putBehind(1))}, "B"},
		{"tries change nothing: one that was begun is gone on with", []ralph.TaskState{job("A", tried(5)), job("B")}, "A"},
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

// list puts a task list into the situation: the check is green, and what comes next was worked on.
func (s *situation) list(tasks ...ralph.TaskState) {
	s.green()
	next, _ := NextTask(tasks)
	s.before.Tasks, s.before.Task, s.before.Now.Task = tasks, next.ID, next.ID
}

// tags has the agent say that these tasks are done, marks that it ticked them in the list.
func (s *situation) tags(ids ...string)  { s.said().TasksDone = ids }
func (s *situation) marks(ids ...string) { s.before.Now.Listed = ids }

// own adds the result of a task's own check.
func (s *situation) own(task string, result ralph.CheckResult) {
	result.Name, result.Task = "own "+task, task
	s.before.Now.Checks = append(s.before.Now.Checks, result)
}

func (s *situation) red() { s.before.Now.Checks = []ralph.CheckResult{{Name: "go test", ExitCode: 1}} }

// onTasks is a verdict that says this about the tasks.
func onTasks(v ralph.Verdict, tasks ralph.TaskVerdict) ralph.Verdict {
	v.Tasks = tasks
	return v
}

// allDone is the verdict that ends a run with its list.
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
	ab := func(s *situation) { s.list(job("A"), job("B")) }
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
			func(s *situation) { s.list(job("A"), job("B"), job("C")); s.tags("B", "A") },
			onTasks(goesOn(), ralph.TaskVerdict{Current: "A", Done: []string{"A", "B"}}),
		},
		{"tasks: a tag in another case", func(s *situation) { ab(s); s.tags("a") }, doneA},
		{
			"tasks: a tag in another case that could mean two",
			func(s *situation) { s.list(job("ab"), job("AB")); s.tags("Ab") },
			onTasks(goesOn(), ralph.TaskVerdict{Current: "ab"}),
		},
		{"tasks: the very id goes before another case", func(s *situation) { s.list(job("ab"), job("AB")); s.tags("AB") },
			onTasks(goesOn(), ralph.TaskVerdict{Current: "ab", Done: []string{"AB"}})},
		{"tasks: an unknown id", func(s *situation) { ab(s); s.tags("Z-9") }, nothingDone},
		{
			"tasks: one that is done already",
			func(s *situation) { s.list(job("A"), job("B", isDone)); s.tags("B") },
			nothingDone,
		},
		{"tasks: one that was given up", func(s *situation) { s.list(job("A"), job("B", hasFailed)); s.tags("B") },
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
			s.list(job("A"), job("B"), job("Z", isDone))
			s.tags("A")
			change(s)
		}
	}
	doneA := onTasks(goesOn(), ralph.TaskVerdict{Current: "A", Done: []string{"A"}})
	ofZ := "own Z, the check of task Z, which was done, failed"
	decideRows(t, []row{
		{"tasks: its own check is green", claimsA(func(s *situation) { s.own("A", isGreen) }), doneA},
		{
			"tasks: a red check of the run",
			claimsA(func(s *situation) { s.red(); s.own("A", isGreen) }),
			refused(ralph.RefusedCheckFailed, "go test (exit 1) failed"),
		},
		{"tasks: a red check of the run re-opens nothing", claimsA(func(s *situation) { s.red(); s.own("Z", isGreen) }),
			refused(ralph.RefusedCheckFailed, "go test (exit 1) failed")},
		{
			"tasks: a check of the run that cannot run",
			claimsA(func(s *situation) { s.broken() }),
			refused(ralph.RefusedCheckBroken, "go test cannot run"),
		},
		{
			"tasks: its own check is red",
			claimsA(func(s *situation) { s.own("A", isRed) }),
			refused(ralph.RefusedCheckFailed, "own A (exit 1) failed"),
		},
		{
			"tasks: its own check ran out of time",
			claimsA(func(s *situation) { s.own("A", ralph.CheckResult{TimedOut: true, ExitCode: 124}) }),
			refused(ralph.RefusedCheckFailed, "own A (timed out) failed"),
		},
		{
			"tasks: its own check cannot run",
			claimsA(func(s *situation) { s.own("A", isBroken) }),
			refused(ralph.RefusedCheckBroken, "own A cannot run"),
		},
		{
			"tasks: red says more than broken",
			claimsA(func(s *situation) { s.broken(); s.own("A", isRed) }),
			refused(ralph.RefusedCheckFailed, "own A (exit 1) failed"),
		},
		{"tasks: everything red is named", claimsA(func(s *situation) { s.red(); s.own("A", isRed) }),
			refused(ralph.RefusedCheckFailed, "go test (exit 1), own A (exit 1) failed")},
		{"tasks: another claim's red check is its own matter", claimsA(func(s *situation) {
			s.tags("A", "B")
			s.own("A", isGreen)
			s.own("B", isRed)
		}), onTasks(goesOn(), ralph.TaskVerdict{Current: "A", Done: []string{"A"}, Refused: refusal("B", ralph.RefusedCheckFailed, "own B (exit 1) failed")})},
		{
			"tasks: a done one's red check refuses and is a regression",
			claimsA(func(s *situation) { s.own("A", isGreen); s.own("Z", isRed) }),
			onTasks(
				goesOn(),
				ralph.TaskVerdict{Current: "A", Refused: refusal("A", ralph.RefusedCheckFailed, ofZ), Regressed: []string{"Z"}},
			),
		},
		{
			"tasks: a done one's check that cannot run is a regression",
			claimsA(func(s *situation) { s.own("Z", isBroken) }),
			onTasks(
				goesOn(),
				ralph.TaskVerdict{Current: "A", Refused: refusal("A", ralph.RefusedCheckFailed, ofZ), Regressed: []string{"Z"}},
			),
		},
		{
			"tasks: its own red check is told before a done one's",
			claimsA(func(s *situation) { s.own("A", isRed); s.own("Z", isRed) }),
			onTasks(
				goesOn(),
				ralph.TaskVerdict{
					Current:   "A",
					Refused:   refusal("A", ralph.RefusedCheckFailed, "own A (exit 1) failed"),
					Regressed: []string{"Z"},
				},
			),
		},
		{
			"tasks: a regression is told once and refuses again",
			claimsA(func(s *situation) { s.before.Tasks[2].Regressed = true; s.own("Z", isRed) }),
			refused(ralph.RefusedCheckFailed, ofZ),
		},
		{
			"tasks: a regression is mended",
			claimsA(func(s *situation) { s.before.Tasks[2].Regressed = true; s.own("Z", isGreen) }),
			onTasks(goesOn(), ralph.TaskVerdict{Current: "A", Done: []string{"A"}, Mended: []string{"Z"}}),
		},
		{"tasks: mended wants every own check green", claimsA(func(s *situation) {
			s.before.Tasks[2].Regressed = true
			s.own("Z", isGreen)
			s.own("Z", isRed)
		}), refused(ralph.RefusedCheckFailed, ofZ)},
		{"tasks: a regression is seen without a claim", func(s *situation) {
			s.list(job("A"), job("Z", isDone))
			s.own("Z", isRed)
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
			refused(ralph.RefusedNoEvidence, "no check of the run or of the task ran, so nothing proves it"),
		},
		{
			"tasks: no check ran, and --allow-unverified",
			claimsA(func(s *situation) { s.noCheck(); s.policy.AllowUnverified = true }),
			doneA,
		},
		{"tasks: another claim's check, green or not, proves nothing", claimsA(func(s *situation) {
			s.noCheck()
			s.tags("A", "B")
			s.own("B", isGreen)
		}), onTasks(goesOn(), ralph.TaskVerdict{
			Current: "A",
			Done:    []string{"B"},
			Refused: refusal(
				"A",
				ralph.RefusedNoEvidence,
				"no check of the run or of the task ran, so nothing proves it",
			),
		})},
		{"tasks: the check of a task that is done proves no other", func(s *situation) {
			s.list(job("A"), job("Z", isDone))
			s.noCheck()
			s.tags("A")
			s.own("Z", isGreen)
		}, onTasks(goesOn(), ralph.TaskVerdict{Current: "A", Refused: refusal("A", ralph.RefusedNoEvidence, "no check of the run or of the task ran, so nothing proves it")})},
		{"tasks: a commit that failed", claimsA(func(s *situation) {
			s.before.Now.Checks = append(
				s.before.Now.Checks,
				ralph.CheckResult{Name: ralph.CommitCheck, ExitCode: 1, Output: "hook says no"},
			)
		}), refused(ralph.RefusedCheckFailed, "git commit (exit 1) failed")},
	})
}

func TestRow4EveryTask(t *testing.T) {
	last := func(s *situation) { s.list(job("A"), job("Z", isDone)) }
	lastA := ralph.TaskVerdict{Current: "A", Done: []string{"A"}}
	left := func(v ralph.Verdict) ralph.Verdict { v.Tasks.AllDone = true; return v }
	decideRows(t, []row{
		{"row 4: the last task's tag", func(s *situation) { last(s); s.tags("A") }, allDone(lastA)},
		{"row 4: the last task's mark", func(s *situation) { last(s); s.marks("A") }, allDone(lastA)},
		{"row 4: COMPLETE on the last task", func(s *situation) { last(s); s.claim() }, with(allDone(lastA), claimed)},
		{"row 4: COMPLETE with a task open is refused", func(s *situation) { s.list(job("A"), job("B")); s.claim() },
			with(onTasks(goesOn(), lastA), claimed)},
		{"row 4: several at once", func(s *situation) { s.list(job("A"), job("B")); s.tags("A", "B") },
			allDone(ralph.TaskVerdict{Current: "A", Done: []string{"A", "B"}})},
		{"row 4: human and optional ones are not waited for", func(s *situation) {
			s.list(job("A"), job("H", isHuman), job("O", isOptional))
			s.tags("A")
		}, allDone(lastA)},
		{
			"row 4: a list of nothing but optional ones",
			func(s *situation) { s.list(job("O", isOptional)) },
			allDone(ralph.TaskVerdict{}),
		},
		{
			"row 4: one that was given up is open",
			func(s *situation) { s.list(job("A"), job("B", hasFailed)); s.tags("A") },
			onTasks(goesOn(), lastA),
		},
		{
			"row 4: at the cap it is still 0",
			func(s *situation) { last(s); s.tags("A"); s.policy.MaxIterations = 1 },
			allDone(lastA),
		},
		{"row 4: on the last try it is still 0", func(s *situation) {
			s.list(job("A", tried(2)))
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
			func(s *situation) { s.list(job("A", isDone)) },
			allDone(ralph.TaskVerdict{}),
		},
		{"row 4: proven before, and a check is red now", func(s *situation) { s.list(job("A", isDone)); s.red() },
			left(onTasks(goesOn(), ralph.TaskVerdict{}))},
		{
			"row 4: proven before, and its own check is red now",
			func(s *situation) { s.list(job("A", isDone)); s.own("A", isRed) },
			onTasks(goesOn(), ralph.TaskVerdict{Regressed: []string{"A"}, Reopened: []string{"A"}}),
		},
		{"row 4: by the agent's word alone", func(s *situation) {
			last(s)
			s.tags("A")
			s.noCheck()
			s.policy.AllowUnverified = true
		}, with(allDone(lastA), func(v *ralph.Verdict) {
			v.Detail, v.VerifiedBy = "every task of the list is proven done, by the agent's word alone: nothing was checked", nil
		})},
		{"row 4: BLOCKED beside the agent's word contradicts it", func(s *situation) {
			last(s)
			s.tags("A")
			s.noCheck()
			s.policy.AllowUnverified = true
			s.said().Blocked = new("no key")
		}, left(onTasks(stops(5, ralph.Blocked, "no key"), lastA))},
		{"row 4: gate.claim optional: green checks beside open tasks are not enough", func(s *situation) {
			s.list(job("A"))
			s.policy.Claim = ralph.ClaimOptional
		}, onTasks(goesOn(), ralph.TaskVerdict{Current: "A"})},
		{"row 4: gate.claim optional: a claim for the last task is", func(s *situation) {
			last(s)
			s.tags("A")
			s.policy.Claim = ralph.ClaimOptional
		}, allDone(lastA)},
		{"row 4: an optional one's red check does not keep the run open", func(s *situation) {
			s.list(job("A"), job("O", isOptional))
			s.tags("A", "O")
			s.own("O", isRed)
		}, allDone(ralph.TaskVerdict{Current: "A", Done: []string{"A"}, Refused: refusal("O", ralph.RefusedCheckFailed, "own O (exit 1) failed")})},
		{"row 4: an optional one's check alone proves nothing", func(s *situation) {
			s.list(job("Z", isDone), job("O", isOptional))
			s.noCheck()
			s.tags("O")
			s.own("O", isRed)
		}, onTasks(goesOn(), ralph.TaskVerdict{AllDone: true, Refused: refusal("O", ralph.RefusedCheckFailed, "own O (exit 1) failed")})},
		{
			"row 0: one INT and every task proven is 0",
			func(s *situation) { last(s); s.tags("A"); s.at.Signal = ralph.SignalInterrupt },
			allDone(lastA),
		},
		{"row 0: one INT and a task open; what is proven is kept", func(s *situation) {
			s.list(job("A"), job("B"))
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
			s.list(job("A", tried(before)), job("B"), job("Z", isDone))
			s.policy.TaskTries = 3
			change(s)
		}
	}
	plain := func(*situation) {}
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
			s.before.ProviderFailures, s.policy.MaxFailures = 5, 3
		}), with(onTasks(stops(3, ralph.ProviderFailed, "the model failed 6 times in a row: 529"), ralph.TaskVerdict{Current: "A"}), outage)},
		{"row 6: skip", tries(2, func(s *situation) { s.policy.OnTaskFailure = ralph.TaskSkip }), onTasks(goesOn(), givenUp)},
		{"row 6: retry", tries(2, func(s *situation) { s.policy.OnTaskFailure, s.policy.TaskRetries = ralph.TaskRetry, 1 }),
			onTasks(goesOn(), ralph.TaskVerdict{Current: "A", GivenUp: "A", Retried: true})},
		{"row 6: retry is used up", tries(2, func(s *situation) {
			s.policy.OnTaskFailure, s.policy.TaskRetries = ralph.TaskRetry, 1
			s.before.Tasks[0].Rounds, s.before.Task, s.before.Now.Task = 1, "A", "A"
		}), with(halt, func(v *ralph.Verdict) { v.Detail = "task A was worked on in 6 iterations without being proven" })},
		{"row 6: what regressed before is open again", tries(2, func(s *situation) { s.before.Tasks[2].Regressed = true }),
			with(halt, func(v *ralph.Verdict) { v.Tasks.Reopened = []string{"Z"} })},
		{"row 6: what regresses now is open again", tries(2, func(s *situation) { s.own("Z", isRed) }),
			with(halt, func(v *ralph.Verdict) { v.Tasks.Regressed, v.Tasks.Reopened = []string{"Z"}, []string{"Z"} })},
		{
			"row 6: what is mended stays done",
			tries(2, func(s *situation) { s.before.Tasks[2].Regressed = true; s.own("Z", isGreen) }),
			with(halt, func(v *ralph.Verdict) { v.Tasks.Mended = []string{"Z"} }),
		},
		{"row 6: while tries are left, what regressed is not opened", tries(0, func(s *situation) { s.own("Z", isRed) }),
			onTasks(goesOn(), ralph.TaskVerdict{Current: "A", Regressed: []string{"Z"}})},
		{
			"row 6: BLOCKED comes before it",
			tries(2, func(s *situation) { s.said().Blocked = new("no key") }),
			onTasks(stops(5, ralph.Blocked, "no key"), givenUp),
		},
		{"row 6: it comes before the cap", tries(2, func(s *situation) { s.policy.MaxIterations = 1 }), halt},
		{"row 6: a question that is waited for is no failure of the task", tries(2, func(s *situation) {
			s.said().Decide, s.policy.OnDecide = new("a or b?"), ralph.DecideWait
		}), with(onTasks(waits(5, ralph.WaitAnswer, 0, "a or b?"), ralph.TaskVerdict{Current: "A"}), func(v *ralph.Verdict) { v.Counted = true })},
	})
}

// What a verdict between iterations says of the list.
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
			s.between()
			s.before.Started, s.before.Baseline = started, []ralph.CheckResult{baseline}
		}
	}
	decideRows(t, []row{
		{"row 10: something is to be done", before(0, isGreen, job("A"), job("B", hasFailed)), start},
		{"row 4: everything was done already", before(0, isGreen, job("A", isDone), job("H", isHuman)), doneAlready},
		{"row 10: everything was done, and a check is red", before(0, isRed, job("A", isDone)), start},
		{"row 10: everything was done, and nothing was checked", func(s *situation) {
			before(0, isGreen, job("A", isDone))(s)
			s.before.Baseline = nil
		}, start},
		{"row 10: a green baseline and no list", func(s *situation) { before(0, isGreen)(s) }, start},
		{"row 10: later than the start a verdict on an iteration tells", before(1, isGreen, job("A", isDone)), start},
		{"row 0: nothing starts after an INT, whatever was done", func(s *situation) {
			before(0, isGreen, job("A", isDone))(s)
			s.at.Signal = ralph.SignalInterrupt
		}, ralph.Verdict{Action: ralph.Stop, Reason: ralph.Interrupted, Signal: ralph.SignalInterrupt, Detail: "interrupted by INT", Breaker: closed}},
		{
			"row 7: everything was done, and a check cannot run",
			before(0, isBroken, job("A", isDone)),
			ralph.Verdict{
				Row:     7,
				Action:  ralph.Stop,
				Reason:  ralph.CheckBroken,
				Detail:  `the check "" cannot run: not found`,
				Breaker: closed,
			},
		},
		{"row 6: what is left was given up", before(3, isRed, job("A", hasFailed), job("B", isDone)), gaveUp("abandoned: A")},
		{
			"row 6: what is left waits for what was given up",
			before(3, isRed, job("A", hasFailed), job("B", after("A"))),
			gaveUp("abandoned: A; 1 task waits for it"),
		},
		{
			"row 6: two given up, two wait",
			before(3, isRed, job("A", hasFailed), job("B", after("A")), job("C", hasFailed), job("D", after("C"))),
			gaveUp("abandoned: A, C; 2 tasks wait for them"),
		},
		{
			"row 6: what was given up is optional, what waits for it is not",
			before(3, isRed, job("O", isOptional, hasFailed), job("B", after("O"))),
			gaveUp("abandoned: O; 1 task waits for it"),
		},
		{
			"row 10: given up and optional, and all else is done",
			before(3, isRed, job("O", isOptional, hasFailed), job("B", isDone)),
			start,
		},
		{"row 9: limits come before it", func(s *situation) {
			before(3, isRed, job("A", hasFailed))(s)
			s.policy.MaxIterations, s.before.Counted = 3, 3
		}, ralph.Verdict{Row: 9, Action: ralph.Stop, Reason: ralph.MaxIterations, Detail: "iteration limit (3) reached; work unfinished", Breaker: closed}},
	})
}

func TestTheGateOfTasks(t *testing.T) {
	many := []ralph.TaskState{job("A", isDone)}
	for _, id := range []string{"B", "C", "D", "E", "F", "G"} {
		many = append(many, job(id))
	}
	for name, tt := range map[string]struct {
		tasks []ralph.TaskState
		want  ralph.Gate
	}{
		"no list":            {nil, ralph.Gate{State: ralph.GateNoted, Detail: "no task list was worked"}},
		"all done":           {[]ralph.TaskState{job("A", isDone)}, ralph.Gate{State: ralph.GateOpen, Detail: "every task that blocks is done"}},
		"human and optional": {[]ralph.TaskState{job("H", isHuman), job("O", isOptional)}, ralph.Gate{State: ralph.GateOpen, Detail: "every task that blocks is done"}},
		"one open":           {[]ralph.TaskState{job("A"), job("B", isDone)}, ralph.Gate{State: ralph.GateShut, Refusal: ralph.RefusedTasksOpen, Detail: "1 task not done: A"}},
		"failed, regressed":  {[]ralph.TaskState{job("A", hasFailed), job("B", isDone, isRegressed)}, ralph.Gate{State: ralph.GateShut, Refusal: ralph.RefusedTasksOpen, Detail: "2 tasks not done: A, B"}},
		"many open":          {many, ralph.Gate{State: ralph.GateShut, Refusal: ralph.RefusedTasksOpen, Detail: "6 tasks not done: B, C, D, E, F, …"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, askTasks(ralph.DefaultPolicy(), History{Tasks: tt.tasks})); diff != "" {
				t.Errorf("gate (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("a claim is told every gate at once", func(t *testing.T) {
		s := plainSituation()
		s.list(job("A"), job("B"))
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

// What becomes of the list when a verdict is taken over.
func TestStatesAfterAVerdict(t *testing.T) {
	before := []ralph.TaskState{job("A", tried(1)), job("B", tried(2), isRegressed), job("Z", isDone)}
	counted, free := ralph.Verdict{Counted: true}, ralph.Verdict{}
	for _, tt := range []struct {
		name string
		v    ralph.Verdict
		want []ralph.TaskState
	}{
		{"nothing was worked on", counted, before},
		{"a try", onTasks(counted, ralph.TaskVerdict{Current: "A"}), []ralph.TaskState{job("A", tried(2)), before[1], before[2]}},
		{"an iteration that does not count is no try", onTasks(free, ralph.TaskVerdict{Current: "A"}), before},
		{"proven", onTasks(counted, ralph.TaskVerdict{Current: "B", Done: []string{"B"}, Mended: []string{"B"}}), []ralph.TaskState{before[0], job("B", isDone), before[2]}},
		{"regressed: still done", onTasks(counted, ralph.TaskVerdict{Regressed: []string{"Z"}}), []ralph.TaskState{before[0], before[1], job("Z", isDone, isRegressed)}},
		{"regressed and opened again", onTasks(counted, ralph.TaskVerdict{Regressed: []string{"Z"}, Reopened: []string{"Z"}}), []ralph.TaskState{before[0], before[1], job("Z", isRegressed)}},
		{"mended", onTasks(counted, ralph.TaskVerdict{Current: "A", Mended: []string{"B"}}), []ralph.TaskState{job("A", tried(2)), job("B", tried(2)), before[2]}},
		{"given up", onTasks(counted, ralph.TaskVerdict{Current: "A", GivenUp: "A"}), []ralph.TaskState{job("A", hasFailed), before[1], before[2]}},
		{"given up and put behind", onTasks(counted, ralph.TaskVerdict{Current: "A", GivenUp: "A", Retried: true}), []ralph.TaskState{job("A", putBehind(1)), before[1], before[2]}},
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
			Tasks: []ralph.TaskState{
				job("A", hasFailed, putBehind(2)),
				job("B", tried(2), isRegressed),
				job("Z", isDone, isRegressed),
			},
		}
		h.Restart()
		want := []ralph.TaskState{job("A"), job("B", isRegressed), job("Z", isDone, isRegressed)}
		if diff := cmp.Diff(want, h.Tasks, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("tasks (-want +got):\n%s", diff)
		}
	})
}

// Section 6: progress is HEAD, tree, tasks and check results. An agent that proves work which lies there already is not idle.
func TestAProvenTaskIsProgress(t *testing.T) {
	s := plainSituation()
	s.list(job("A"), job("B"))
	s.tags("A")
	s.still()
	s.before.Checks = CheckMarks{}.With(s.before.Now.Checks)
	s.before.NoProgress, s.before.Denials = 2, 1
	s.agent().Denials = []string{"Bash(rm)"}
	v := s.decide()
	if diff := cmp.Diff(
		onTasks(goesOn(), ralph.TaskVerdict{Current: "A", Done: []string{"A"}}),
		v,
		cmpopts.IgnoreFields(ralph.Verdict{}, "Gates"),
	); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
	h := s.before.Judge(s.at)
	h.ApplyVerdict(v)
	if h.NoProgress != 0 || h.Denials != 0 || !h.Progress {
		t.Errorf("after it: %d without progress, %d denials, progress %v", h.NoProgress, h.Denials, h.Progress)
	}
}

package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/judge"
	"github.com/ralphloop/ralph/promise"
)

// acceptedBy is another process in which a person accepts work of a run that has ended.
func (w *world) acceptedBy(yes ralph.WorkAccepted, options ...Option) *world {
	w.t.Helper()
	again := newWorld(w.t)
	again.cfg, again.policy = w.cfg, w.policy
	again.cfg.Agent = again.agent
	state := refold(w.t, w.log.events)
	again.options = append(w.options, WithState(&state), WithAcceptance(&yes))
	again.options = append(again.options, options...)
	return again
}

// replaysWith asks for every verdict of a run and of its continuation again.
func (w *world) replaysWith(again *world) {
	w.t.Helper()
	log := slices.Concat(w.log.events, again.log.events)
	mustReplay(w.t, log)
	events := func(yield func(ralph.Event, error) bool) {
		for _, e := range log {
			if !yield(e, nil) {
				return
			}
		}
	}
	judgements, err := fold.Replay(events, func(p ralph.Policy) ralph.Policy { return p })
	if err != nil {
		w.t.Fatal(err)
	}
	for _, j := range judgements {
		if !j.Same() {
			w.t.Errorf("iteration %d: recorded %+v, replayed %+v", j.Iteration, j.Recorded, j.Again)
		}
	}
}

var ann = ralph.WorkAccepted{By: "ann", Why: "I read it"}

// unconfirmed is a run that claimed its goal, and nothing shows the work.
func unconfirmed(t *testing.T) (*world, *fakeExaminer, *keeper) {
	w, e, k := examined(t)
	w.mustShow()
	e.check = alwaysGreen
	w.agent.turns = []turn{done().then(k.becomes("1"))}
	w.ends(ralph.Unconfirmed, 2)
	e.ran = nil
	return w, e, k
}

func TestAPersonAcceptsTheGoal(t *testing.T) {
	for name, tt := range map[string]struct {
		tree   string            // as the person finds it
		check  ralph.CheckResult // on that tree
		moves  bool              // files change while the check runs again
		reason ralph.StopReason
		ran    []string
		detail string
	}{
		"the tree that was judged": {
			"1", isRed, false, ralph.AllChecksPassed, nil, "ann accepted it: I read it",
		},
		"a tree that passes": {
			"2", isGreen, false, ralph.AllChecksPassed, []string{"claimed: go test"}, "ann accepted it: I read it",
		},
		"a tree that fails": {
			"2", isRed, false, ralph.Unconfirmed, []string{"claimed: go test"},
			"not accepted: the files changed since the claim, and go test fails now",
		},
		"a tree that changes again": {
			"2", isGreen, true, ralph.Unconfirmed, []string{"claimed: go test"},
			"not accepted: files changed while the checks ran; accept it again",
		},
	} {
		bubble(t, name, func(t *testing.T) {
			w, e, k := unconfirmed(t)
			k.becomes(tt.tree)()
			e.check = func(ralph.ViewInput, string) ralph.CheckResult {
				if tt.moves {
					k.becomes("3")()
				}
				return tt.check
			}
			again := w.acceptedBy(ann)
			result := again.run(t.Context())
			again.ended(result, tt.reason, 0)
			same(t, "checks", tt.ran, e.ran)
			same(t, "the reason", tt.detail, again.log.stopped().Detail)
			accepted := tt.reason == ralph.AllChecksPassed
			same(t, "accepted", accepted, len(payloads[ralph.WorkAccepted](again.log)) == 1)
			same(t, "verified", accepted, result.Verified)
			same(t, "by a person", accepted, slices.Contains(result.VerifiedBy, ralph.VerifiedPerson))
			same(t, "proof", accepted, result.Proof == ralph.ProvenAccepted)
			w.replaysWith(again)
		})
	}
}

// Hidden checks run again, too.
func TestAcceptingRunsHiddenChecksAgain(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		w, e, k := unconfirmed(t)
		w.cfg.Hidden = []string{"secret"}
		k.becomes("2")()
		e.check = func(in ralph.ViewInput, _ string) ralph.CheckResult { return greenIf(in.Kind != ralph.ViewHidden) }
		again := w.acceptedBy(ann)
		again.ended(again.run(t.Context()), ralph.Unconfirmed, 0)
		same(t, "checks", []string{"claimed: go test", "hidden: hidden check 1"}, e.ran)
		w.replaysWith(again)
	})
}

// What checks write while a person accepts is not the user's when the run is resumed.
func TestWhatChecksWriteWhileAPersonAccepts(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		w, e, k := unconfirmed(t)
		k.becomes("2")()
		e.check = func(ralph.ViewInput, string) ralph.CheckResult { k.becomes("3")(); return isRed }
		again := w.acceptedBy(ann)
		again.ended(again.run(t.Context()), ralph.Unconfirmed, 0)
		same(t, "joined", []string{"0(1..2)"}, k.joined)
		same(t, "the tree", "3", again.loop.State().History.Tree.Snapshot)
	})
}

// unshownList is a run through a list whose checks pass before and after.
func unshownList(t *testing.T, b *memoryTasks, turns ...turn) *world {
	w, e, _ := examined(t)
	w.mustShow()
	w.cfg.Task = ""
	e.check = alwaysGreen
	w.options = append(w.options, WithTasks(b))
	w.agent.turns = turns
	return w
}

func TestAPersonAcceptsTasks(t *testing.T) {
	for name, tt := range map[string]struct {
		tasks  []string
		reason ralph.StopReason
		detail string
		lies   map[string]ralph.TaskStatus
	}{
		"all of them": {
			[]string{"A", "B"}, ralph.TasksDone, "every task of the list is done, some of them accepted by a person",
			map[string]ralph.TaskStatus{"A": ralph.TaskDone, "B": ralph.TaskDone},
		},
		"some of them": {
			[]string{"A"}, ralph.Unconfirmed, "claimed, but not shown: B",
			map[string]ralph.TaskStatus{"A": ralph.TaskDone, "B": ralph.TaskPending},
		},
	} {
		bubble(t, name, func(t *testing.T) {
			b := newMemoryTasks(entry("A"), entry("B"))
			w := unshownList(t, b, tagging("A", "B"))
			w.ends(ralph.Unconfirmed, 2)
			same(t, "the list before", map[string]ralph.TaskStatus{"A": ralph.TaskPending, "B": ralph.TaskPending}, b.lies())
			yes := ann
			yes.Tasks = tt.tasks
			again := w.acceptedBy(yes)
			again.ended(again.run(t.Context()), tt.reason, 0)
			same(t, "the reason", tt.detail, again.log.stopped().Detail)
			same(t, "the list", tt.lies, b.lies())
			var told []string
			for _, moved := range payloads[ralph.TaskMoved](again.log) {
				told = append(told, moved.Task+" "+moved.Detail)
			}
			var want []string
			for _, id := range tt.tasks {
				want = append(want, id+" accepted by ann")
			}
			same(t, "told", want, told)
			w.replaysWith(again)
		})
	}
}

// A run that ended for another reason ends as before: no verdict was reached that could be recorded.
func TestAcceptingAPartLeavesTheEndOfTheRun(t *testing.T) {
	blocked := "the server is down"
	for name, tt := range map[string]struct {
		limit  int
		reason ralph.StopReason
	}{
		"blocked":               {10, ralph.Blocked},
		"blocked, at the limit": {3, ralph.Blocked},
	} {
		bubble(t, name, func(t *testing.T) {
			b := newMemoryTasks(entry("A"), entry("B"))
			w := unshownList(t, b, tagging("A"), tagging("A"), says(promise.Report{Blocked: &blocked}))
			w.policy.MaxIterations = tt.limit
			w.ends(tt.reason, 3)
			yes := ann
			yes.Tasks = []string{"A"}
			again := w.acceptedBy(yes)
			again.ended(again.run(t.Context()), tt.reason, 0)
			same(t, "the reason", blocked, again.log.stopped().Detail)
			same(t, "verdicts", nil, payloads[ralph.VerdictReached](again.log))
			same(t, "A", ralph.TaskDone, b.lies()["A"])
			w.replaysWith(again)
		})
	}
	bubble(t, "killed between iterations", func(t *testing.T) {
		b := newMemoryTasks(entry("A"), entry("B"))
		w := unshownList(t, b, tagging("A"), tagging("A"), says(promise.Report{Blocked: &blocked}))
		w.ends(ralph.Blocked, 3)
		w.log.events = w.log.events[:indexOfLast(w.log.events, ralph.EvTaskUnconfirmed)+1]
		yes := ann
		yes.Tasks = []string{"A"}
		again := w.acceptedBy(yes)
		again.ended(again.run(t.Context()), ralph.Interrupted, 0)
		same(t, "the reason", "other work is left; continue with ralph resume", again.log.stopped().Detail)
	})
}

// An iteration that was not judged may have changed anything, the task list included.
func TestAcceptingNeedsAJudgedIteration(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		w, _, _ := unconfirmed(t)
		w.log.events = w.log.events[:indexOfLast(w.log.events, ralph.EvAgentExited)+1]
		again := w.acceptedBy(ann)
		_, err := New(again.cfg, append([]Option{WithPolicy(again.policy)}, again.options...)...)
		if err == nil || !strings.Contains(err.Error(), "was not judged") {
			t.Errorf("got %v", err)
		}
	})
}

func TestAnAcceptanceThatCannotBeRecorded(t *testing.T) {
	for _, kind := range []ralph.EventType{ralph.EvAccepted, ralph.EvVerdict} {
		bubble(t, string(kind), func(t *testing.T) {
			w, _, _ := unconfirmed(t)
			again := w.acceptedBy(ann)
			probe := w.acceptedBy(ann)
			probe.run(t.Context())
			at := indexOfLast(probe.log.events, kind)
			again.log.onAppend = func(ralph.Event) {
				if len(again.log.events) == at {
					again.log.failAt = again.log.ops + 1
				}
			}
			result := again.run(t.Context())
			same(t, "exit code", 74, result.ExitCode)
			same(t, "verified", false, result.Verified)
		})
	}
}

func TestATaskListThatCannotBeWrittenIsNotAccepted(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		b := newMemoryTasks(entry("A"))
		w := unshownList(t, b, tagging("A"))
		w.ends(ralph.Unconfirmed, 2)
		b.readOnly = errors.New("read-only file system")
		yes := ann
		yes.Tasks = []string{"A"}
		again := w.acceptedBy(yes)
		same(t, "exit code", 74, again.run(t.Context()).ExitCode)
	})
}

// Files that an earlier run refused are compared with what they were before that run.
func TestWhatAnEarlierRunRefusedStaysRefused(t *testing.T) {
	earlier := &ralph.RefusedEarlier{Run: "R0", Base: "old", Files: []string{"a_test.go", "b_test.go"}}
	bubble(t, "the base", func(t *testing.T) {
		w, e, k := examined(t)
		w.agent.turns = []turn{done().then(k.becomes("1"))}
		w.options = append([]Option{WithRefusedFiles(earlier)}, w.options...)
		w.ends(ralph.AllChecksPassed, 1)
		const base = "0 with a_test.go b_test.go of old"
		same(t, "compared", []string{base + " 1"}, e.compared)
		same(t, "recorded", earlier, payloads[ralph.RunStarted](w.log)[0].Refused)
		same(t, "told", []string{"run R0 refused changes to a_test.go, b_test.go, so this run compares with the " +
			"state before; to accept the changes: ralph accept --files a_test.go b_test.go, or commit them"},
			warningsOf(w.log, "refused_earlier"))
	})
	bubble(t, "a snapshot that is gone", func(t *testing.T) {
		w, _, k := examined(t, done())
		k.withErr = errLost
		w.options = append(w.options, WithRefusedFiles(earlier))
		result := w.ends(ralph.IOFailed, 0)
		same(t, "exit code", 74, result.ExitCode)
		if !strings.Contains(result.Summary, "the files that run R0 refused cannot be compared") {
			t.Errorf("the summary is %q", result.Summary)
		}
	})
}

// The claim still waits for a person if the accepting process is interrupted while checks run again.
func TestAnInterruptedAcceptanceLosesNothing(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		w, e, k := unconfirmed(t)
		k.becomes("2")()
		ctx, kill := context.WithCancelCause(t.Context())
		e.check = func(ralph.ViewInput, string) ralph.CheckResult {
			kill(ralph.Killed{Signal: ralph.SignalInterrupt})
			return isGreen
		}
		again := w.acceptedBy(ann)
		again.ended(again.run(ctx), ralph.Interrupted, 0)
		same(t, "accepted", nil, payloads[ralph.WorkAccepted](again.log))
		state := again.loop.State()
		same(t, "acceptable", []string{""}, judge.Acceptable(state.Policy, state.History, state.Verdict))
		w.replaysWith(again)
	})
}

// The own check of another task that is not done does not keep a task from being accepted.
func TestAcceptingATaskBesideAnotherThatFails(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		other := entry("B")
		other.Checks = []string{"test B"}
		b := newMemoryTasks(entry("A"), other)
		w, e, _ := examined(t)
		w.mustShow()
		w.cfg.Task = ""
		w.policy.MaxIterations = 3
		e.check = func(_ ralph.ViewInput, name string) ralph.CheckResult { return greenIf(name != "test B") }
		w.options = append(w.options, WithTasks(b))
		w.agent.turns = []turn{tagging("A"), tagging("A"), tagging("B")}
		w.ends(ralph.MaxIterations, 3)
		yes := ann
		yes.Tasks = []string{"A"}
		again := w.acceptedBy(yes)
		again.ended(again.run(t.Context()), ralph.MaxIterations, 0)
		same(t, "the list", map[string]ralph.TaskStatus{"A": ralph.TaskDone, "B": ralph.TaskPending}, b.lies())
		w.replaysWith(again)
	})
}

// After some tasks were accepted, a person can still reject the others.
func TestTheTasksThatAreLeftAreStillAQuestion(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		w := unshownList(t, newMemoryTasks(entry("A"), entry("B")), tagging("A", "B"))
		w.ends(ralph.Unconfirmed, 2)
		yes := ann
		yes.Tasks = []string{"A"}
		again := w.acceptedBy(yes)
		again.ended(again.run(t.Context()), ralph.Unconfirmed, 0)
		asked := again.loop.State().Asked
		if asked == nil || *asked != "claimed, but not shown: B" {
			t.Errorf("the question is %v", asked)
		}
	})
}

// A loop accepts nothing that a person cannot settle, whatever its caller checked.
func TestOnlyWhatAPersonMaySettleIsAccepted(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*ralph.Policy)
		yes    ralph.WorkAccepted
	}{
		"another gate refuses":       {func(p *ralph.Policy) { p.Unfinished = ralph.UnfinishedRefuse }, ann},
		"gate.shown never asks":      {func(p *ralph.Policy) { p.Shown = ralph.ShownRefuse }, ann},
		"a task that does not exist": {func(*ralph.Policy) {}, ralph.WorkAccepted{By: "ann", Tasks: []string{"A"}}},
	} {
		bubble(t, name, func(t *testing.T) {
			w, e, k := examined(t)
			w.mustShow()
			tt.change(&w.policy)
			w.policy.MaxIterations = 2
			e.check = alwaysGreen
			w.agent.turns = []turn{done().then(func() {
				k.becomes("1")()
				k.unfinished = []string{"a.go: TODO"}
			})}
			w.run(t.Context())
			again := w.acceptedBy(tt.yes)
			_, err := New(again.cfg, append([]Option{WithPolicy(again.policy)}, again.options...)...)
			if err == nil || !strings.Contains(err.Error(), "a person cannot settle") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// cutAcceptance is a process that continues a run whose person's yes was cut after an event. With again, the person
// accepts it once more.
func (w *world) cutAcceptance(once *world, after ralph.EventType, again bool) *world {
	w.t.Helper()
	log := slices.Concat(w.log.events, once.log.events[:indexOfLast(once.log.events, after)+1])
	state := refold(w.t, log)
	next := newWorld(w.t)
	next.cfg, next.policy = w.cfg, w.policy
	next.cfg.Agent = next.agent
	next.options = append(w.options, WithState(&state))
	if again {
		next.options = append(next.options, WithAcceptance(fold.UnfinishedYes(&state)))
	}
	return next
}

// A process that dies after it recorded a person's yes leaves a run that ends as if it had not died, whether it is
// resumed or accepted again.
func TestAnAcceptanceThatWasCutEndsTheSame(t *testing.T) {
	for _, again := range []bool{false, true} {
		for _, after := range []ralph.EventType{ralph.EvAccepted, ralph.EvTaskDone, ralph.EvVerdict} {
			bubble(t, fmt.Sprintf("a list, after %s, accepted again: %v", after, again), func(t *testing.T) {
				b := newMemoryTasks(entry("A"), entry("B"))
				w := unshownList(t, b, tagging("A", "B"))
				w.ends(ralph.Unconfirmed, 2)
				yes := ann
				yes.Tasks = []string{"A", "B"}
				once, unwritten := w.acceptedBy(yes), b.clone()
				want := once.run(t.Context())
				if after != ralph.EvVerdict {
					b.file, b.kept = unwritten.file, unwritten.kept
				}
				next := w.cutAcceptance(once, after, again)
				result := next.run(t.Context())
				next.ended(result, ralph.TasksDone, 0)
				same(t, "proof", want.Proof, result.Proof)
				same(t, "verified by", want.VerifiedBy, result.VerifiedBy)
				same(t, "the reason", want.Summary, result.Summary)
				same(t, "accepted again", nil, payloads[ralph.WorkAccepted](next.log))
				same(t, "the list", map[string]ralph.TaskStatus{"A": ralph.TaskDone, "B": ralph.TaskDone}, b.lies())
			})
		}
		bubble(t, fmt.Sprintf("the goal, accepted again: %v", again), func(t *testing.T) {
			w, _, _ := unconfirmed(t)
			once := w.acceptedBy(ann)
			want := once.run(t.Context())
			next := w.cutAcceptance(once, ralph.EvAccepted, again)
			result := next.run(t.Context())
			next.ended(result, ralph.AllChecksPassed, 0)
			same(t, "proof", want.Proof, result.Proof)
			same(t, "the reason", want.Summary, result.Summary)
		})
	}
	bubble(t, "files changed since", func(t *testing.T) {
		w, e, k := unconfirmed(t)
		once := w.acceptedBy(ann)
		once.run(t.Context())
		next := w.cutAcceptance(once, ralph.EvAccepted, false)
		k.becomes("2")()
		e.check = func(ralph.ViewInput, string) ralph.CheckResult { return isRed }
		next.ended(next.run(t.Context()), ralph.Unconfirmed, 0)
	})
	bubble(t, "a part of a list", func(t *testing.T) {
		w := unshownList(t, newMemoryTasks(entry("A"), entry("B")), tagging("A", "B"))
		w.ends(ralph.Unconfirmed, 2)
		yes := ann
		yes.Tasks = []string{"A"}
		once := w.acceptedBy(yes)
		once.run(t.Context())
		next := w.cutAcceptance(once, ralph.EvAccepted, false)
		next.agent.turns = []turn{tagging("B")}
		next.ended(next.run(t.Context()), ralph.Unconfirmed, 2) // resume works on what is left
	})
}

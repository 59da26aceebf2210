package loop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

// yard is what survives a crash of a run with a list: the list, how often each task was worked on,
// and what the agent did to the list.
type yard struct {
	mu        sync.Mutex
	book      *memoryTasks
	work      map[string]int
	mischiefs int
}

func newYard() *yard {
	b := newMemoryTasks(entry("A", "own A"), entry("B", "own B"), entry("C"))
	b.file[0].DependsOn = []string{"B"}
	return &yard{book: b, work: map[string]int{}}
}

func (y *yard) copied() *yard {
	y.mu.Lock()
	defer y.mu.Unlock()
	return &yard{book: y.book.clone(), work: maps.Clone(y.work), mischiefs: y.mischiefs}
}

// agentWorks is one piece of work on a task, and what an agent does to the list beside it: it
// deletes a task, adds one, and ticks one.
func (y *yard) agentWorks(task string) promise.Report {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.work[task]++
	y.mischiefs++
	switch y.mischiefs {
	case 1:
		y.book.drop("C")
	case 2:
		y.book.append(entry("N", "own N"))
	case 3:
		y.book.tick(task)
		return promise.Report{Text: true}
	}
	return promise.Report{Text: true, TasksDone: []string{task}}
}

// green reports whether a check passes: A and B need two pieces of work, everything else one.
func (y *yard) green(check string) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	switch check {
	case "own A":
		return y.work["A"] > 1
	case "own B":
		return y.work["B"] > 1
	case "own N":
		return y.work["N"] > 0
	}
	return true
}

// recordedYard is a run whose yard was noted at every event, so that it can be cut anywhere.
type recordedYard struct {
	events []ralph.Event
	yards  []*yard
}

// cutAfter is the run as a kill leaves it: right after event k, or with everything done to the list
// before the next event was recorded.
func (r recordedYard) cutAfter(k int, late bool) (recordedYard, *yard) {
	at := k - 1
	if late {
		at = min(k, len(r.yards)-1)
	}
	return recordedYard{r.events[:k:k], r.yards[:k:k]}, r.yards[at].copied()
}

// liveYard runs a loop over the yard, going on with what was recorded.
func liveYard(t *testing.T, past recordedYard, y *yard) (*world, recordedYard, ralph.Result) {
	t.Helper()
	task := ""
	w := newWorld(t, func(ctx context.Context, in ralph.AgentInput) ralph.AgentOutcome {
		if o := works(ctx, in, ralph.AgentOutcome{End: ralph.EndOK}); o.End != ralph.EndOK {
			return o
		}
		return ralph.AgentOutcome{End: ralph.EndOK, Said: y.agentWorks(task)}
	})
	w.cfg.Task, w.policy.MaxIterations = "", 30
	w.options = append(
		w.options,
		WithTasks(y.book),
		WithPrompter(promptFunc(func(in ralph.PromptInput) (ralph.Prompt, error) {
			task = ""
			if in.Task != nil {
				task = in.Task.ID
			}
			return ralph.Prompt{Text: "work"}, nil
		})),
		WithChecker(checkerOf(func(in ralph.CheckInput) ralph.CheckResult {
			return ralph.CheckResult{Name: in.Name, Passed: y.green(in.Name)}
		})),
		WithTree(treeOf(func() ralph.TreeState { return ralph.TreeState{Known: true, Hash: fmt.Sprint(y.copied().work)} })),
	)
	if len(past.events) > 0 {
		state := refold(t, past.events)
		w.options = append(w.options, WithState(&state))
	}
	now := recordedYard{slices.Clone(past.events), slices.Clone(past.yards)}
	w.log.onAppend = func(e ralph.Event) { now.events, now.yards = append(now.events, e), append(now.yards, y.copied()) }
	return w, now, w.run(t.Context())
}

func TestResumeOfAListAtEveryCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, whole, result := liveYard(t, recordedYard{}, newYard())
		if result.StopReason != ralph.TasksDone {
			t.Fatalf("the uncut run ended with %s (%s)", result.StopReason, result.Summary)
		}
		for k := range cuts(whole.events) {
			for _, late := range []bool{false, true} {
				mustEndWell(t, whole, k, late)
			}
			if t.Failed() {
				return
			}
		}
	})
}

// mustEndWell cuts a run after k events and checks the resumed run against what resume promises.
func mustEndWell(t *testing.T, whole recordedYard, k int, late bool) {
	t.Helper()
	past, y := whole.cutAfter(k, late)
	w, again, result := liveYard(t, past, y)
	name := fmt.Sprintf("cut after event %d, %s (late: %t): ", k, past.events[k-1].Type, late)
	if result.StopReason != ralph.TasksDone || result.ExitCode != 0 {
		t.Errorf("%sended with %s (%s)", name, result.StopReason, result.Summary)
	}
	same(
		t,
		name+"the list",
		map[string]ralph.TaskStatus{"A": ralph.TaskDone, "B": ralph.TaskDone, "C": ralph.TaskDone, "N": ralph.TaskDone},
		y.book.lies(),
	)
	same(t, name+"tasks", ralph.TaskCount{Done: 4}, result.Tasks)
	final := refold(t, again.events)
	same(t, name+"the fold", w.loop.State().Result(), final.Result())
	same(t, name+"states", statesOf(w.loop.State().History.Tasks), statesOf(final.History.Tasks))
	mustBeDoneOnce(t, name, again.events)
}

func statesOf(tasks []ralph.TaskState) map[string]ralph.TaskStatus {
	states := map[string]ralph.TaskStatus{}
	for _, t := range tasks {
		states[t.ID] = t.Status
	}
	return states
}

// mustBeDoneOnce: nothing is proven twice, and nothing restored is reported twice for one
// iteration.
func mustBeDoneOnce(t *testing.T, name string, events []ralph.Event) {
	t.Helper()
	done := map[string]int{}
	for _, e := range events {
		reached, ok := e.Data.(ralph.VerdictReached)
		if !ok {
			continue
		}
		for _, id := range reached.Verdict.Tasks.Done {
			done[id]++
		}
	}
	for id, times := range done {
		if times != 1 {
			t.Errorf("%s%s was proven %d times", name, id, times)
		}
	}
}

// The harness reverts what the agent did before a crash; the next prompt says so once.
func TestAListThatACrashedAgentInjuredIsPutBack(t *testing.T) {
	injured := []string{"B was deleted"}
	bubble(t, "before it exited", func(t *testing.T) {
		b := newMemoryTasks(entry("A"), entry("B"))
		w := listed(t, b, tagging("A"))
		w.run(t.Context())
		w.log.events = w.log.events[:slices.Index(w.log.types(), ralph.EvAgentStarted)+1]
		b = newMemoryTasks(entry("A"), entry("B"))
		b.drop("B")
		again := w.resumed(b, tagging("A", "B"))
		inputs := again.prompted()
		again.ends(ralph.TasksDone, 1)
		same(
			t,
			"tampered",
			[]ralph.FilesTampered{{What: "task_list", File: "tasks.json", Details: injured, Restored: true}},
			payloads[ralph.FilesTampered](again.log),
		)
		same(t, "what the prompt says", injured, (*inputs)[0].Last.ListProblems)
	})
	bubble(t, "after it exited, and after that was told", func(t *testing.T) {
		b := newMemoryTasks(entry("A"), entry("B"))
		w := listed(t, b, nothing().then(func() { b.drop("B") }))
		w.run(t.Context())
		w.log.events = w.log.events[:slices.Index(w.log.types(), ralph.EvTampered)+1]
		b = newMemoryTasks(entry("A"), entry("B"))
		b.drop("B")
		again := w.resumed(b, tagging("A", "B"))
		inputs := again.prompted()
		again.ends(ralph.TasksDone, 1)
		same(t, "what the prompt says", injured, (*inputs)[0].Last.ListProblems)
	})
}

// After a run has ended, the list belongs to the user again, however the run ended.
func TestWhatTheUserChangesBeforeAResumeHolds(t *testing.T) {
	for _, tt := range []struct {
		name   string
		kill   func(w *world, cancel func())
		agents int // of the second process
	}{
		{"killed while the agent was at work", func(_ *world, cancel func()) { time.AfterFunc(time.Second, cancel) }, 2},
		{"killed while checks ran", func(w *world, cancel func()) {
			w.checker.before = func(_ context.Context, call int) {
				if call == 2 {
					cancel()
				}
			}
		}, 1},
		{"stopped", func(w *world, _ func()) { w.stopAfter(time.Second, ralph.SignalInterrupt) }, 1},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			b := newMemoryTasks(entry("A"), entry("B"), entry("C"))
			w := listed(t, b, tagging("A"))
			ctx, cancel := context.WithCancelCause(t.Context())
			tt.kill(w, func() { cancel(ralph.Killed{Signal: ralph.SignalTerminate}) })
			w.ended(w.run(ctx), ralph.Interrupted, 1)
			b.drop("B")
			b.change("C", func(t *ralph.Task) { t.Title = "something else" })
			again := w.resumed(b, tagging("A"), tagging("C"))
			if tt.agents == 1 {
				again.agent.turns = []turn{tagging("C")}
			}
			again.ends(ralph.TasksDone, tt.agents)
			same(t, "tampered", nil, payloads[ralph.FilesTampered](again.log))
			same(
				t,
				"the list",
				[]ralph.Task{
					{ID: "A", Title: "do A", Status: ralph.TaskDone},
					{ID: "C", Title: "something else", Status: ralph.TaskDone},
				},
				b.file,
			)
		})
	}
}

// A kill between keeping a new task and recording it must not let the run complete without it.
func TestATaskAddedBeforeACrashIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newMemoryTasks(entry("A"))
		w := listed(t, b, tagging("A").then(func() { b.append(entry("N")) }), tagging("N"))
		w.ends(ralph.TasksDone, 2)
		added := slices.IndexFunc(w.log.events, func(e ralph.Event) bool {
			selected, ok := e.Data.(ralph.TaskSelected)
			return ok && len(selected.List) == 2
		})
		w.log.events = w.log.events[:added]
		b = newMemoryTasks(entry("A"), entry("N"))
		again := w.resumed(b, tagging("N"))
		again.ends(ralph.TasksDone, 1)
		same(t, "the list", map[string]ralph.TaskStatus{"A": ralph.TaskDone, "N": ralph.TaskDone}, b.lies())
	})
}

// A check that could not run before any agent started is forgotten once the user removes it from
// the list.
func TestABrokenCheckThatWasTakenAwayDoesNotStopAResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newMemoryTasks(entry("A", "nosuch"))
		w := listed(t, b, tagging("A"))
		w.cfg.Checks, w.checker.results = nil, []ralph.CheckResult{isBroken}
		w.ends(ralph.CheckBroken, 0)
		b.change("A", func(t *ralph.Task) { t.Checks = []string{"true"} })
		w.resumed(b, tagging("A")).ends(ralph.TasksDone, 1)
	})
}

// lostBook has no copy of its list until it adopts one.
type lostBook struct {
	*memoryTasks
	adopted bool
}

func (b *lostBook) List() []ralph.Task {
	if !b.adopted {
		return nil
	}
	return b.memoryTasks.List()
}

func (b *lostBook) Adopt(known map[string]ralph.TaskStatus) error {
	err := b.memoryTasks.Adopt(known)
	b.adopted = b.adopted || err == nil
	return err
}

func (b *lostBook) Inspect() (ralph.TaskEdits, error) {
	if !b.adopted {
		return ralph.TaskEdits{}, errors.New("no list was adopted yet")
	}
	return b.memoryTasks.Inspect()
}

// Without the harness's copy of the list, a claim is checked with the own checks in the file, and
// without the file not at all.
func TestAClaimIsMeasuredByOwnChecksThoughTheCopyIsLost(t *testing.T) {
	cut := func(t *testing.T) *world {
		w := listed(t, newMemoryTasks(entry("A", "own A")), tagging("A"))
		w.run(t.Context())
		w.log.events = w.log.events[:slices.Index(w.log.types(), ralph.EvTreeQuiet)+1]
		return w
	}
	bubble(t, "the file is there", func(t *testing.T) {
		again := cut(t).resumed(nil, nothing())
		again.options = append(again.options, WithTasks(&lostBook{memoryTasks: newMemoryTasks(entry("A", "own A"))}))
		again.policy.MaxIterations, again.checker.results = 1, []ralph.CheckResult{isGreen, isRed}
		again.ends(ralph.MaxIterations, 0)
		same(
			t,
			"refused",
			refusal("A", ralph.RefusedCheckFailed, "own A (exit 1) failed"),
			payloads[ralph.ClaimRefused](again.log)[0].Tasks,
		)
	})
	bubble(t, "the file cannot be read", func(t *testing.T) {
		again := cut(t).resumed(nil, nothing())
		b := newMemoryTasks(entry("A", "own A"))
		b.broken = true
		again.options = append(again.options, WithTasks(&lostBook{memoryTasks: b}))
		again.make()
		if result, err := again.loop.Run(t.Context()); err == nil {
			t.Errorf("ended with %s", result.StopReason)
		}
	})
}

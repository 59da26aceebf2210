package loop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
)

// A run is cut after every event, with what happened to the tree until the next, and in the middle
// of a move. An agent on C never finds half of B, and the next agent on B finds all of it.
func TestResumeWithWorkSetAsideAtEveryCut(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		whole, violations := liveShelf(t, shelfCut{
			book: newMemoryTasks(entry("A"), entry("B"), entry("C")), shelf: newMemoryTree(),
		})
		if len(violations) > 0 || len(whole) < 60 {
			t.Fatalf("the uncut run has %d events: %q", len(whole), violations)
		}
		halves := 0
		for i, cut := range whole {
			if cut.half {
				halves++
			}
			again := cut
			again.book, again.shelf = cut.book.clone(), cut.shelf.clone()
			_, violations := liveShelf(t, again)
			for _, v := range violations {
				t.Errorf("cut %d, after %s (half done: %t): %s", i, cut.events[len(cut.events)-1].Type, cut.half, v)
			}
		}
		if halves < 2 {
			t.Errorf("%d cuts in the middle of a move", halves)
		}
	})
}

// What the harness had written when it was killed is not the user's, whatever the user writes then.
func TestHalfMovedWorkIsNoPartOfTheBase(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		whole, _ := liveShelf(t, shelfCut{book: newMemoryTasks(entry("A"), entry("B"), entry("C")), shelf: newMemoryTree()})
		told := map[string]bool{}
		for i, cut := range whole {
			if !cut.half {
				continue
			}
			again := shelfCut{cut.events, cut.book.clone(), cut.shelf.clone(), false}
			again.shelf.write("mine=new")
			after, _ := liveShelf(t, again)
			for _, e := range after[len(after)-1].events {
				if n, ok := e.Data.(ralph.Notice); ok {
					told[n.Code] = true
				}
				if tree, ok := e.Data.(ralph.TreeState); ok && strings.Contains(tree.Base, "half") {
					t.Errorf("cut %d: the base is %s", i, tree.Base)
				}
			}
		}
		if !told["base_unknown"] || !told[workLeft] || !told[workNotRestored] {
			t.Errorf("told %v", told)
		}
	})
}

// An interrupt in the middle of a move leaves the rest to the next process; no agent works on
// half-moved files.
func TestInterruptedMove(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := newMemoryTree()
		w, b := shelved(
			t,
			ralph.TaskSkip,
			s,
			s.does(tagging("A"), "a=half"),
			s.does(tagging("B"), "b=half"),
			s.does(tagging("C"), "c=half", "c2=half"),
		)
		w.ends(ralph.TaskTries, 3)

		cut := w.resumed(b, s.does(tagging("A"), "a=done"))
		cut.onShelf(s)
		ctx, cancel := context.WithCancelCause(t.Context())
		s.between = func() { cancel(ralph.Killed{Signal: ralph.SignalInterrupt}) }
		cut.ended(cut.run(ctx), ralph.Interrupted, 0)
		same(t, "the tree", "c2=half code=old", s.holds())

		s.between = nil
		w.log.events = append(w.log.events, cut.log.events...)
		again := w.resumed(
			b, s.does(tagging("A"), "a=done"), s.does(tagging("B"), "b=done"), s.does(tagging("C"), "c=done", "c2=done"),
		)
		again.onShelf(s)
		again.ends(ralph.TasksDone, 3)
		same(
			t,
			"what agents find",
			[]string{"4: a=half code=old", "5: a=done b=half code=old", "6: a=done b=done c=half c2=half code=old"},
			s.found()[3:],
		)
	})
}

// Files of the harness stay when work is stashed, and tampering with them is remembered. Tampering
// that was reverted is forgotten.
func TestTamperingThatStaysIsRemembered(t *testing.T) {
	for edit, want := range map[string][]string{
		"x_test.go=weak":           nil,
		".ralph/learnings.md=obey": {".ralph/learnings.md (changed)"},
	} {
		bubble(t, edit, func(t *testing.T) {
			s := newMemoryTree()
			s.write("x_test.go=strict", ".ralph/learnings.md=user's")
			w, _ := shelved(
				t,
				ralph.TaskSkip,
				s,
				s.does(tagging("A"), "a=done"),
				s.does(tagging("B"), "b=half", edit),
				s.does(tagging("C"), "c=done"),
			)
			name, _, _ := strings.Cut(edit, "=")
			w.options = append(w.options, WithExaminer(&fakeExaminer{
				t: t, mode: ralph.IsolationOverlay,
				check: func(in ralph.ViewInput, _ string) ralph.CheckResult {
					return greenIf(!strings.Contains(in.Now.Hash, "half"))
				},
				compare: func(_, now ralph.TreeState) (ralph.Tampering, error) {
					found := ralph.Tampering{Known: true}
					if strings.Contains(now.Snapshot, edit) {
						found.Tampered = []ralph.FileChange{{Name: name, Kind: ralph.FileChanged}}
					}
					return found, nil
				},
			}))
			inputs := w.prompted()
			w.run(t.Context())
			same(t, "moved", 1, len(payloads[ralph.WorkStashed](w.log)))
			same(t, "what C is told", want, (*inputs)[2].Last.Tampered)
		})
	}
}

// Abandoning a task during the attempts at another one does not stash the other's work.
func TestWorkUnderWayIsNotTakenAlong(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := newMemoryTree()
		b := newMemoryTasks(entry("A"), entry("B"))
		w := listed(
			t,
			b,
			s.does(tagging("A"), "a=done"),
			s.does(nothing(), "b=part"),
			s.does(nothing(), "d=bad"),
			s.does(nothing(), "d=worse"),
			s.does(tagging("B"), "b=done"),
		)
		w.policy.TaskTries, w.policy.OnTaskFailure = 2, ralph.TaskSkip
		w.onShelf(s)
		w.options = append(
			w.options,
			WithHooks(ralph.HookFuncs{After: func(_ context.Context, judged ralph.IterationJudged) error {
				if judged.Iteration == 2 {
					urgent := entry("D")
					urgent.Priority = new(0)
					b.append(urgent)
				}
				return nil
			}}),
		)
		w.ends(ralph.TaskTries, 5)
		same(t, "worked on", []string{"A", "B", "D", "D", "B"}, workedOn(w.log))
		same(t, "what B finds", "a=done b=part code=old d=worse", named(s.seen[4]))
		same(
			t,
			"warnings",
			[]string{"the work on the abandoned task D stays in the tree: it also has unfinished work on B"},
			warningsOf(w.log, workLeft),
		)
	})
}

// shelfCut is a run as a kill leaves it.
type shelfCut struct {
	events []ralph.Event
	book   *memoryTasks
	shelf  *memoryTree
	half   bool // in the middle of a move
}

// liveShelf runs tasks A, B and C to their end, where B needs two iterations, and returns every
// moment at which it could be killed.
func liveShelf(t *testing.T, past shelfCut) (cuts []shelfCut, violations []string) {
	t.Helper()
	b, s := past.book, past.shelf
	var w *world
	w = listed(t, b, func(ctx context.Context, in ralph.AgentInput) ralph.AgentOutcome {
		task, tree := w.loop.State().History.Task, s.holds()
		if task == "C" && strings.Contains(tree, "half") {
			violations = append(violations, "C finds "+tree)
		}
		if task == "B" && len(w.loop.State().Stashed) > 0 {
			violations = append(violations, "B has work aside and finds "+tree)
		}
		edit := map[string][]string{"A": {"a=done"}, "B": {"b=half", "code=half"}, "C": {"c=done"}}[task]
		if task == "B" && strings.Contains(tree, "b=half") {
			edit = []string{"b=done", "code=new"}
		}
		o := tagging(task)(ctx, in)
		if o.End == ralph.EndOK {
			s.write(edit...)
		}
		return o
	})
	w.policy.TaskTries, w.policy.OnTaskFailure, w.policy.TaskRetries, w.policy.MaxIterations = 1, ralph.TaskRetry, 3, 30
	w.onShelf(s)
	if len(past.events) > 0 {
		state := refold(t, past.events)
		w.options = append(w.options, WithState(&state))
	}
	events := slices.Clone(past.events)
	note := func(half bool) { cuts = append(cuts, shelfCut{slices.Clip(events), b.clone(), s.clone(), half}) }
	w.log.onAppend = func(e ralph.Event) {
		if len(events) > 0 {
			note(false) // the last moment before this one is recorded
		}
		events = append(events, e)
		note(false)
	}
	s.between = func() {
		s.mu.Unlock()
		note(true)
		s.mu.Lock()
	}
	result := w.run(t.Context())
	if result.StopReason != ralph.TasksDone || s.holds() != "a=done b=done c=done code=new" {
		violations = append(
			violations, fmt.Sprintf("it ended with %s (%s) and %s", result.StopReason, result.Summary, s.holds()),
		)
	}
	final := refold(t, events)
	same(t, "the fold", w.loop.State().Result(), final.Result())
	same(t, "what is kept", w.loop.State().Stashed, final.Stashed)
	mustReplay(t, events)
	return cuts, violations
}

// An abandoned task that left no changes blocks nothing, and work that had to stay is not stashed
// with another task's.
func TestOnlyWorkThatIsThereIsInTheWay(t *testing.T) {
	bubble(t, "without a trace", func(t *testing.T) {
		s := newMemoryTree()
		w, b := shelved(
			t,
			ralph.TaskSkip,
			s,
			s.does(tagging("A"), "a=done"),
			s.does(nothing()),
			s.does(tagging("C"), "c=half"),
			s.does(tagging("D"), "d=done"),
		)
		b.append(entry("D"))
		w.ends(ralph.TaskTries, 4)
		same(t, "what D finds", "a=done code=old", named(s.seen[3]))
	})
	bubble(t, "it stayed", func(t *testing.T) {
		s := newMemoryTree()
		w, b := shelved(
			t,
			ralph.TaskSkip,
			s,
			s.does(tagging("A"), "a=done"),
			s.does(tagging("B"), "b=half"),
			s.does(tagging("C"), "c=half"),
			s.does(tagging("D"), "d=done"),
		)
		b.append(entry("D"))
		s.before = func(ralph.SwitchInput) {
			s.write("mine=new")
			s.before = nil
		}
		w.run(t.Context())
		same(t, "set aside", []string{"B"}, func() (tasks []string) {
			for _, stashed := range payloads[ralph.WorkStashed](w.log) {
				tasks = append(tasks, stashed.Task)
			}
			return tasks
		}())
		same(t, "what D finds", "a=done b=half c=half code=old mine=new", named(s.seen[3]))
	})
}

package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
)

// shelved is a world with tasks A, B and C, each tried once, over a shelf. The check is red as long as a file says "half".
func shelved(t *testing.T, rule ralph.TaskRule, s *memoryTree, turns ...turn) (*world, *memoryTasks) {
	b := newMemoryTasks(entry("A"), entry("B"), entry("C"))
	w := listed(t, b, turns...)
	w.policy.TaskTries, w.policy.OnTaskFailure, w.policy.TaskRetries = 1, rule, 1
	w.onShelf(s)
	return w, b
}

func (w *world) onShelf(s *memoryTree) {
	w.options = append(w.options, WithTree(s), WithChecker(checkerOf(func(in ralph.CheckInput) ralph.CheckResult {
		half := strings.Contains(s.holds(), "half")
		return ralph.CheckResult{Name: in.Name, Passed: !half, Output: fmt.Sprint(half)}
	})))
}

// fails is B with half-done work, over three tasks of which the others succeed.
func failsAtB(s *memoryTree, more ...turn) []turn {
	return append([]turn{
		s.does(tagging("A"), "a=done", "tasks.json=1", ".ralph/config.yaml=user's"),
		s.does(tagging("B"), "b=half", "code=half", ".ralph/config.yaml=agent's"),
		s.does(tagging("C"), "c=done"),
	}, more...)
}

const (
	atA = ".ralph/config.yaml=user's a=done code=old tasks.json=1"
	atB = ".ralph/config.yaml=agent's a=done b=half code=half tasks.json=1"
)

func TestWorkOnATaskThatIsGivenUpIsSetAside(t *testing.T) {
	const clean, withC = ".ralph/config.yaml=agent's a=done code=old tasks.json=1", ".ralph/config.yaml=agent's a=done c=done code=old tasks.json=1"
	back := ".ralph/config.yaml=agent's a=done b=half c=done code=half tasks.json=1"
	bubble(t, "skip, and a resume", func(t *testing.T) {
		s := newMemoryTree()
		w, b := shelved(t, ralph.TaskSkip, s, failsAtB(s)...)
		inputs := w.prompted()
		w.ends(ralph.TaskTries, 3)
		same(t, "moves", []string{"done A", "failed B", "done C"}, moves(w.log))
		same(t, "set aside", []ralph.WorkStashed{{Task: "B", Iteration: 2, Base: atA, Work: atB}}, payloads[ralph.WorkStashed](w.log))
		same(t, "what agents find", []string{"1: code=old", "2: " + atA, "3: " + clean}, s.found())
		same(t, "the tree", withC, s.holds())
		same(t, "what C is told of B's tree", ralph.Feedback{Number: 2, TaskRefusals: []ralph.TaskRefusal{{Task: "B", Code: ralph.RefusedCheckFailed, Detail: "go test (exit 0) failed"}}}, (*inputs)[2].Last)
		same(t, "warnings", nil, payloads[ralph.Notice](w.log))
		if base := w.loop.State().History.Base.Snapshot; strings.Contains(base, "half") || strings.Contains(base, "agent's") {
			t.Errorf("what the harness moved is in the base: %s", base)
		}

		again := w.resumed(b, s.does(tagging("B"), "b=done", "code=new"))
		again.onShelf(s)
		again.ends(ralph.TasksDone, 1)
		same(t, "brought back", []ralph.WorkRestored{{Task: "B", Iteration: 2, From: withC, To: back}}, payloads[ralph.WorkRestored](again.log))
		same(t, "what B finds", back, named(s.seen[3]))
		same(t, "what is aside", nil, again.loop.State().Stashed)
	})
	bubble(t, "retry", func(t *testing.T) {
		s := newMemoryTree()
		w, _ := shelved(t, ralph.TaskRetry, s, failsAtB(s, s.does(tagging("B"), "b=done", "code=new"))...)
		w.ends(ralph.TasksDone, 4)
		same(t, "what agents find", []string{"1: code=old", "2: " + atA, "3: " + clean, "4: " + back}, s.found())
		types := slices.DeleteFunc(w.log.types(), func(e ralph.EventType) bool {
			return e != ralph.EvWorkStashed && e != ralph.EvWorkRestored && e != ralph.EvTaskFailed && e != ralph.EvIterationStarted
		})
		same(t, "order", []ralph.EventType{
			ralph.EvIterationStarted, ralph.EvIterationStarted, ralph.EvTaskFailed, ralph.EvWorkStashed, ralph.EvIterationStarted, ralph.EvWorkRestored, ralph.EvIterationStarted,
		}, types)
	})
	bubble(t, "halt leaves it where it is", func(t *testing.T) {
		s := newMemoryTree()
		w, b := shelved(t, ralph.TaskHalt, s, failsAtB(s)...)
		w.ends(ralph.TaskTries, 2)
		same(t, "the tree", atB, s.holds())
		again := w.resumed(b, s.does(tagging("B"), "b=done", "code=new"), s.does(tagging("C"), "c=done"))
		again.onShelf(s)
		again.ends(ralph.TasksDone, 2)
		same(t, "what B finds", atB, named(s.seen[2]))
		same(t, "moved", 0, len(payloads[ralph.WorkStashed](again.log))+len(payloads[ralph.WorkRestored](again.log)))
	})
	bubble(t, "a task that is next again keeps it", func(t *testing.T) {
		s := newMemoryTree()
		w, b := shelved(t, ralph.TaskRetry, s, s.does(tagging("A"), "a=half"), s.does(tagging("A"), "a=done"))
		b.drop("B")
		b.drop("C")
		w.ends(ralph.TasksDone, 2)
		same(t, "what agents find", []string{"1: code=old", "2: a=half code=old"}, s.found())
	})
	bubble(t, "a task that changed nothing", func(t *testing.T) {
		s := newMemoryTree()
		w, _ := shelved(t, ralph.TaskSkip, s, s.does(tagging("A"), "a=done"), s.does(nothing(), ".ralph/STEERING.md=struck", "tasks.json=2"), s.does(tagging("C")))
		w.ends(ralph.TaskTries, 3)
		same(t, "moved", 0, len(payloads[ralph.WorkStashed](w.log)))
		same(t, "warnings", nil, payloads[ralph.Notice](w.log))
	})
	bubble(t, "the list comes in between", func(t *testing.T) { // B alone is left, and then the user adds D
		s := newMemoryTree()
		var b *memoryTasks
		w, b := shelved(t, ralph.TaskRetry, s, s.does(tagging("A"), "a=done"), s.does(tagging("B", "C"), "b=half"), s.does(tagging("D"), "d=done"), s.does(tagging("B"), "b=done"))
		b.drop("C")
		w.options = append(w.options, WithHooks(ralph.HookFuncs{After: func(_ context.Context, judged ralph.IterationJudged) error {
			if judged.Iteration == 2 {
				b.append(entry("D"))
			}
			return nil
		}}))
		w.ends(ralph.TasksDone, 4)
		same(t, "what agents find", []string{"1: code=old", "2: a=done code=old", "3: a=done code=old", "4: a=done b=half code=old d=done"}, s.found())
	})
}

// The last task that is given up leaves its work in the tree, since nothing comes after it. A resume works on another first.
func TestWorkThatStayedIsInTheWayOfAResume(t *testing.T) {
	bubble(t, "the run ended", func(t *testing.T) {
		s := newMemoryTree()
		w, b := shelved(t, ralph.TaskSkip, s, s.does(tagging("A"), "a=half"), s.does(tagging("B"), "b=half"), s.does(tagging("C"), "c=half"))
		w.ends(ralph.TaskTries, 3)
		same(t, "the tree", "c=half code=old", s.holds())
		again := w.resumed(b, s.does(tagging("A"), "a=done"), s.does(tagging("B"), "b=done"), s.does(tagging("C"), "c=done"))
		again.onShelf(s)
		again.ends(ralph.TasksDone, 3)
		same(t, "what agents find", []string{"4: a=half code=old", "5: a=done b=half code=old", "6: a=done b=done c=half code=old"}, s.found()[3:])
	})
	bubble(t, "killed before it was recorded", func(t *testing.T) {
		s := newMemoryTree()
		w, b := shelved(t, ralph.TaskSkip, s, failsAtB(s)...)
		w.run(t.Context())
		w.log.events = w.log.events[:slices.Index(w.log.types(), ralph.EvTaskFailed)]
		s.write("c=", "b=half", "code=half")
		b.change("B", func(t *ralph.Task) { t.DependsOn = []string{"C"} })
		again := w.resumed(b, s.does(tagging("C"), "c=done"), s.does(tagging("B"), "b=done", "code=new"))
		again.onShelf(s)
		again.ends(ralph.TasksDone, 2)
		if strings.Contains(named(s.seen[3]), "half") || !strings.Contains(named(s.seen[4]), "half") {
			t.Errorf("agents find %q", s.found())
		}
	})
}

// What the harness takes out and puts in is no progress of the agent that comes next, nor is it that checks fare otherwise then.
func TestMovedWorkIsNoProgress(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := newMemoryTree()
		w, _ := shelved(t, ralph.TaskRetry, s, failsAtB(s)[0], s.does(nothing(), "b=half"), s.does(nothing()))
		w.policy.MaxIterations = 4
		w.run(t.Context())
		var progress []bool
		for _, v := range payloads[ralph.VerdictReached](w.log) {
			progress = append(progress, v.Verdict.Progress)
		}
		same(t, "worked on", []string{"A", "B", "C", "B"}, workedOn(w.log))
		same(t, "progress", []bool{true, true, false, false}, progress[:4])
	})
}

func TestWorkIsNotBroughtBackOverOthers(t *testing.T) {
	bubble(t, "conflict", func(t *testing.T) {
		s := newMemoryTree()
		w, _ := shelved(t, ralph.TaskRetry, s, failsAtB(s, s.does(tagging("B"), "b=done"))...)
		w.agent.turns[2] = s.does(tagging("C"), "code=new", "c=done")
		inputs := w.prompted()
		w.ends(ralph.TasksDone, 4)
		same(t, "what B finds", ".ralph/config.yaml=agent's a=done c=done code=new tasks.json=1", named(s.seen[3]))
		why := "code was changed in another way since"
		same(t, "brought back", []ralph.WorkRestored{{Task: "B", Iteration: 2, Why: why, Conflicts: []string{"code"}}}, payloads[ralph.WorkRestored](w.log))
		same(t, "warnings", []string{"the work on B was not brought back: " + why + "; ralph diff R1 --task B shows it, ralph restore R1 2 --to DIR writes it out"}, warningsOf(w.log, workNotRestored))
		same(t, "what prompts say", []string{"", "", "", why}, []string{(*inputs)[0].RestoreFailure, (*inputs)[1].RestoreFailure, (*inputs)[2].RestoreFailure, (*inputs)[3].RestoreFailure})
		same(t, "what is aside when it is proven", nil, w.loop.State().Stashed)
	})
	for name, tt := range map[string]struct {
		spoil func(s *memoryTree)
		why   string
	}{
		"merge":     {func(s *memoryTree) { s.fails["Merge"] = errors.New("objects are missing") }, "objects are missing"},
		"disk full": {func(s *memoryTree) { s.fails["Switch"] = errDisk }, errDisk.Error()},
		"somebody writes meanwhile": {func(s *memoryTree) {
			s.before = func(ralph.SwitchInput) { s.write("mine=new") }
		}, "mine was changed meanwhile"},
	} {
		bubble(t, name, func(t *testing.T) {
			s := newMemoryTree()
			w, _ := shelved(t, ralph.TaskRetry, s, failsAtB(s, s.does(tagging("B"), "b=done"))...)
			w.agent.turns[2] = s.does(tagging("C"), "c=done").then(func() { tt.spoil(s) })
			w.run(t.Context())
			told := payloads[ralph.WorkRestored](w.log)
			if len(told) == 0 || told[len(told)-1].Why != tt.why {
				t.Errorf("brought back: %+v", told)
			}
			if strings.Contains(named(s.seen[3]), "half") && name != "disk full" { // which leaves what was written until then
				t.Errorf("B finds %s", named(s.seen[3]))
			}
			kept := w.loop.State().Stashed
			state := refold(t, w.log.events)
			if err := state.Apply(ralph.Event{Version: ralph.EventVersion, Seq: state.Seq + 1, Type: ralph.EvRunResumed, Data: ralph.RunResumed{Policy: w.policy}}); err != nil {
				t.Fatal(err)
			}
			if conflicts := name == "somebody writes meanwhile"; len(kept) > 0 && (state.Stashed[0].RestoreFailure != "") != conflicts {
				t.Errorf("when it continues: %+v", state.Stashed)
			}
		})
	}
}

func TestWorkThatCannotBeSetAsideStays(t *testing.T) {
	const stays = "the work on B, which was given up, stays in the tree: "
	for name, tt := range map[string]struct {
		spoil func(w *world, s *memoryTree)
		want  string
	}{
		"no such power":      {func(w *world, s *memoryTree) { w.options = append(w.options, WithTree(struct{ ralph.Tree }{s})) }, "the work on a task that was given up stays in the tree: no copies are kept here that it could come back from"},
		"cannot be compared": {func(_ *world, s *memoryTree) { s.fails["Changes"] = errors.New("objects are missing") }, stays + "objects are missing"},
		"somebody wrote": {func(w *world, s *memoryTree) {
			w.options = append(w.options, WithChecker(checkerOf(func(in ralph.CheckInput) ralph.CheckResult {
				half := strings.Contains(s.holds(), "half")
				if half {
					s.write("mine=new", "code=mine")
				}
				return ralph.CheckResult{Name: in.Name, Passed: !half}
			})))
		}, stays + "code, mine were changed since its agent ended"},
		"somebody writes meanwhile": {func(_ *world, s *memoryTree) {
			s.before = func(ralph.SwitchInput) { s.write("mine=new") }
		}, stays + "mine was changed since its agent ended"},
		"a file stays": {func(_ *world, s *memoryTree) { s.stays = []string{"b"} }, stays + "of it b"},
		"disk full":    {func(_ *world, s *memoryTree) { s.fails["Switch"] = errDisk }, stays + errDisk.Error()},
	} {
		bubble(t, name, func(t *testing.T) {
			s := newMemoryTree()
			w, _ := shelved(t, ralph.TaskSkip, s, failsAtB(s)...)
			tt.spoil(w, s)
			w.run(t.Context())
			same(t, "warnings", []string{tt.want}, warningsOf(w.log, workLeft))
			mine := strings.Contains(s.holds(), "mine")
			if !strings.Contains(named(s.seen[2]), "half") || mine != strings.HasPrefix(name, "somebody") {
				t.Errorf("C finds %s; at the end there is %s", named(s.seen[2]), s.holds())
			}
			if base := w.loop.State().History.Base.Snapshot; strings.Contains(base, "half") {
				t.Errorf("what the agent left is in the base: %s", base)
			}
			stayed := slices.ContainsFunc(payloads[ralph.WorkRestored](w.log), func(b ralph.WorkRestored) bool { return b.Stayed })
			if stayed != (name == "somebody writes meanwhile") {
				t.Errorf("told %+v", payloads[ralph.WorkRestored](w.log))
			}
		})
	}
}

// What the user writes between two iterations is none of the work that is set aside later, and joins what is settled as it joins the base.
func TestWhatTheUserWroteBetweenIterationsStays(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := newMemoryTree()
		w, _ := shelved(t, ralph.TaskSkip, s, failsAtB(s)...)
		w.options = append(w.options, WithHooks(ralph.HookFuncs{After: func(_ context.Context, judged ralph.IterationJudged) error {
			if judged.Iteration == 1 {
				s.write("mine=new")
			}
			return nil
		}}))
		w.ends(ralph.TaskTries, 3)
		same(t, "the tree", ".ralph/config.yaml=agent's a=done c=done code=old mine=new tasks.json=1", s.holds())
		h := w.loop.State().History
		if !strings.Contains(h.Base.Snapshot, "mine=new") || strings.Contains(h.Base.Snapshot, "done") {
			t.Errorf("the base is %s", h.Base.Snapshot)
		}
	})
}

// An evaluator sees what a task changed in all, also what it did before it was set aside, and nothing of others.
func TestEvaluatorsSeeWhatCameBack(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := newMemoryTree()
		w, _ := shelved(t, ralph.TaskRetry, s, failsAtB(s, s.does(tagging("B"), "b=done"))...)
		w.options = append(w.options, WithChecker(checkerOf(func(in ralph.CheckInput) ralph.CheckResult {
			return ralph.CheckResult{Name: in.Name, Passed: !strings.Contains(s.holds(), "b=half")}
		})))
		f := w.judgedBy(accepts())
		w.ends(ralph.TasksDone, 4)
		var diffs []string
		for _, in := range f.inputs {
			diffs = append(diffs, in.Task+": "+in.Diff)
		}
		own := ".ralph/config.yaml=agent's a=done "
		same(t, "diffs", []string{
			"A: code=old -> " + atA,
			"C: " + atA + " -> " + own + "c=done code=old tasks.json=1",
			"B: " + own + "c=done code=old tasks.json=1 -> " + own + "b=done c=done code=half tasks.json=1",
		}, diffs)
	})
}

// A run is cut after every event, with what was done to the tree until the next, and in the middle of what the harness does to it. Whoever works on C
// never finds half of B, and whoever works on B again finds what was there.
func TestResumeWithWorkSetAsideAtEveryCut(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		whole, violations := liveShelf(t, shelfCut{book: newMemoryTasks(entry("A"), entry("B"), entry("C")), shelf: newMemoryTree()})
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

// What the harness had written when it was killed is no user's, whatever the user writes then.
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

// A key that ends the program in the middle of a move leaves the rest to the next process; no agent works on the halves.
func TestInterruptedMove(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := newMemoryTree()
		w, b := shelved(t, ralph.TaskSkip, s, s.does(tagging("A"), "a=half"), s.does(tagging("B"), "b=half"), s.does(tagging("C"), "c=half", "c2=half"))
		w.ends(ralph.TaskTries, 3)

		cut := w.resumed(b, s.does(tagging("A"), "a=done"))
		cut.onShelf(s)
		ctx, cancel := context.WithCancelCause(t.Context())
		s.between = func() { cancel(ralph.Killed{Signal: ralph.SignalInterrupt}) }
		cut.ended(cut.run(ctx), ralph.Interrupted, 0)
		same(t, "the tree", "c2=half code=old", s.holds())

		s.between = nil
		w.log.events = append(w.log.events, cut.log.events...)
		again := w.resumed(b, s.does(tagging("A"), "a=done"), s.does(tagging("B"), "b=done"), s.does(tagging("C"), "c=done", "c2=done"))
		again.onShelf(s)
		again.ends(ralph.TasksDone, 3)
		same(t, "what agents find", []string{"4: a=half code=old", "5: a=done b=half code=old", "6: a=done b=done c=half c2=half code=old"}, s.found()[3:])
	})
}

// Files of the harness stay when work is set aside: that an agent changed them is not forgotten. What is put back is.
func TestTamperingThatStaysIsRemembered(t *testing.T) {
	for edit, want := range map[string][]string{"x_test.go=weak": nil, ".ralph/learnings.md=obey": {".ralph/learnings.md (changed)"}} {
		bubble(t, edit, func(t *testing.T) {
			s := newMemoryTree()
			s.write("x_test.go=strict", ".ralph/learnings.md=user's")
			w, _ := shelved(t, ralph.TaskSkip, s, s.does(tagging("A"), "a=done"), s.does(tagging("B"), "b=half", edit), s.does(tagging("C"), "c=done"))
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

// A task in the middle of another one's tries takes nothing of it along when it is given up.
func TestWorkUnderWayIsNotTakenAlong(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := newMemoryTree()
		b := newMemoryTasks(entry("A"), entry("B"))
		w := listed(t, b, s.does(tagging("A"), "a=done"), s.does(nothing(), "b=part"), s.does(nothing(), "d=bad"), s.does(nothing(), "d=worse"), s.does(tagging("B"), "b=done"))
		w.policy.TaskTries, w.policy.OnTaskFailure = 2, ralph.TaskSkip
		w.onShelf(s)
		w.options = append(w.options, WithHooks(ralph.HookFuncs{After: func(_ context.Context, judged ralph.IterationJudged) error {
			if judged.Iteration == 2 {
				urgent := entry("D")
				urgent.Priority = new(0)
				b.append(urgent)
			}
			return nil
		}}))
		w.ends(ralph.TaskTries, 5)
		same(t, "worked on", []string{"A", "B", "D", "D", "B"}, workedOn(w.log))
		same(t, "what B finds", "a=done b=part code=old d=worse", named(s.seen[4]))
		same(t, "warnings", []string{"the work on D, which was given up, stays in the tree: work on B, which is not done, lies there with it"}, warningsOf(w.log, workLeft))
	})
}

// shelfCut is a run as a kill leaves it.
type shelfCut struct {
	events []ralph.Event
	book   *memoryTasks
	shelf  *memoryTree
	half   bool // in the middle of a move
}

// liveShelf runs tasks A, B and C to their end, of which B wants two iterations, and gives every moment at which it could be killed.
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
			note(false) // the last moment before this one is told
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
		violations = append(violations, fmt.Sprintf("it ended with %s (%s) and %s", result.StopReason, result.Summary, s.holds()))
	}
	final := refold(t, events)
	same(t, "the fold", w.loop.State().Result(), final.Result())
	same(t, "what is kept", w.loop.State().Stashed, final.Stashed)
	mustReplay(t, events)
	return cuts, violations
}

// A task that is given up without a trace is in nobody's way, and work that had to stay is not taken along with another one's.
func TestOnlyWorkThatIsThereIsInTheWay(t *testing.T) {
	bubble(t, "without a trace", func(t *testing.T) {
		s := newMemoryTree()
		w, b := shelved(t, ralph.TaskSkip, s, s.does(tagging("A"), "a=done"), s.does(nothing()), s.does(tagging("C"), "c=half"), s.does(tagging("D"), "d=done"))
		b.append(entry("D"))
		w.ends(ralph.TaskTries, 4)
		same(t, "what D finds", "a=done code=old", named(s.seen[3]))
	})
	bubble(t, "it stayed", func(t *testing.T) {
		s := newMemoryTree()
		w, b := shelved(t, ralph.TaskSkip, s, s.does(tagging("A"), "a=done"), s.does(tagging("B"), "b=half"), s.does(tagging("C"), "c=half"), s.does(tagging("D"), "d=done"))
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

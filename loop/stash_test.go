package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralphloop/ralph"
)

// shelved is a world with tasks A, B and C, each tried once, over a memoryTree. The check fails as
// long as a file says "half".
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
	const clean, withC = ".ralph/config.yaml=agent's a=done code=old tasks.json=1", ".ralph/config.yaml=agent's a=done " +
		"c=done code=old tasks.json=1"
	back := ".ralph/config.yaml=agent's a=done b=half c=done code=half tasks.json=1"
	bubble(t, "skip, and a resume", func(t *testing.T) {
		s := newMemoryTree()
		w, b := shelved(t, ralph.TaskSkip, s, failsAtB(s)...)
		inputs := w.prompted()
		w.ends(ralph.TaskTries, 3)
		same(t, "moves", []string{"done A", "failed B", "done C"}, moves(w.log))
		same(
			t,
			"set aside",
			[]ralph.WorkStashed{{Task: "B", Iteration: 2, Base: atA, Work: atB}},
			payloads[ralph.WorkStashed](w.log),
		)
		same(t, "what agents find", []string{"1: code=old", "2: " + atA, "3: " + clean}, s.found())
		same(t, "the tree", withC, s.holds())
		same(
			t,
			"what C is told of B's tree",
			ralph.Feedback{
				Number:       2,
				TaskRefusals: []ralph.TaskRefusal{{Task: "B", Code: ralph.RefusedCheckFailed, Detail: "go test (exit 0) failed"}},
			},
			(*inputs)[2].Last,
		)
		same(t, "warnings", nil, payloads[ralph.Notice](w.log))
		if base := w.loop.State().History.Base.Snapshot; strings.Contains(base, "half") || strings.Contains(base, "agent's") {
			t.Errorf("what the harness moved is in the base: %s", base)
		}

		again := w.resumed(b, s.does(tagging("B"), "b=done", "code=new"))
		again.onShelf(s)
		again.ends(ralph.TasksDone, 1)
		same(
			t,
			"brought back",
			[]ralph.WorkRestored{{Task: "B", Iteration: 2, From: withC, To: back}},
			payloads[ralph.WorkRestored](again.log),
		)
		same(t, "what B finds", back, named(s.seen[3]))
		same(t, "what is aside", nil, again.loop.State().Stashed)
	})
	bubble(t, "retry", func(t *testing.T) {
		s := newMemoryTree()
		w, _ := shelved(t, ralph.TaskRetry, s, failsAtB(s, s.does(tagging("B"), "b=done", "code=new"))...)
		w.ends(ralph.TasksDone, 4)
		same(t, "what agents find", []string{"1: code=old", "2: " + atA, "3: " + clean, "4: " + back}, s.found())
		types := slices.DeleteFunc(w.log.types(), func(e ralph.EventType) bool {
			return e != ralph.EvWorkStashed && e != ralph.EvWorkRestored && e != ralph.EvTaskFailed &&
				e != ralph.EvIterationStarted
		})
		same(t, "order", []ralph.EventType{
			ralph.EvIterationStarted, ralph.EvIterationStarted, ralph.EvTaskFailed, ralph.EvWorkStashed,
			ralph.EvIterationStarted, ralph.EvWorkRestored, ralph.EvIterationStarted,
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
		w, _ := shelved(
			t,
			ralph.TaskSkip,
			s,
			s.does(tagging("A"), "a=done"),
			s.does(nothing(), ".ralph/STEERING.md=struck", "tasks.json=2"),
			s.does(tagging("C")),
		)
		w.ends(ralph.TaskTries, 3)
		same(t, "moved", 0, len(payloads[ralph.WorkStashed](w.log)))
		same(t, "warnings", nil, payloads[ralph.Notice](w.log))
	})
	bubble(t, "the list comes in between", func(t *testing.T) { // B alone is left, and then the user adds D
		s := newMemoryTree()
		var b *memoryTasks
		w, b := shelved(
			t,
			ralph.TaskRetry,
			s,
			s.does(tagging("A"), "a=done"),
			s.does(tagging("B", "C"), "b=half"),
			s.does(tagging("D"), "d=done"),
			s.does(tagging("B"), "b=done"),
		)
		b.drop("C")
		w.options = append(
			w.options,
			WithHooks(ralph.HookFuncs{After: func(_ context.Context, judged ralph.IterationJudged) error {
				if judged.Iteration == 2 {
					b.append(entry("D"))
				}
				return nil
			}}),
		)
		w.ends(ralph.TasksDone, 4)
		same(
			t,
			"what agents find",
			[]string{"1: code=old", "2: a=done code=old", "3: a=done code=old", "4: a=done b=half code=old d=done"},
			s.found(),
		)
	})
}

// The last abandoned task leaves its work in the tree, because nothing comes after it. A resume
// works on another task first.
func TestWorkThatStayedIsInTheWayOfAResume(t *testing.T) {
	bubble(t, "the run ended", func(t *testing.T) {
		s := newMemoryTree()
		w, b := shelved(
			t, ralph.TaskSkip, s, s.does(tagging("A"), "a=half"), s.does(tagging("B"), "b=half"), s.does(tagging("C"), "c=half"),
		)
		w.ends(ralph.TaskTries, 3)
		same(t, "the tree", "c=half code=old", s.holds())
		again := w.resumed(b, s.does(tagging("A"), "a=done"), s.does(tagging("B"), "b=done"), s.does(tagging("C"), "c=done"))
		again.onShelf(s)
		again.ends(ralph.TasksDone, 3)
		same(
			t,
			"what agents find",
			[]string{"4: a=half code=old", "5: a=done b=half code=old", "6: a=done b=done c=half code=old"},
			s.found()[3:],
		)
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

// What the harness stashes and restores is not progress of the next agent, nor is a different check
// result after it.
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
		why := "code was changed since, and the changes conflict"
		same(
			t,
			"brought back",
			[]ralph.WorkRestored{{Task: "B", Iteration: 2, Why: why, Conflicts: []string{"code"}}},
			payloads[ralph.WorkRestored](w.log),
		)
		same(
			t,
			"warnings",
			[]string{
				"the work on B was not restored: " + why +
					"; show it with ralph diff R1 --task B, or write it to a folder with ralph restore R1 2 --to DIR",
			},
			warningsOf(w.log, workNotRestored),
		)
		same(t, "what prompts say", []string{"", "", "", why}, []string{
			(*inputs)[0].RestoreFailure, (*inputs)[1].RestoreFailure, (*inputs)[2].RestoreFailure, (*inputs)[3].RestoreFailure,
		})
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
			if err := state.Apply(ralph.Event{
				Version: ralph.EventVersion, Seq: state.Seq + 1, Type: ralph.EvRunResumed, Data: ralph.RunResumed{Policy: w.policy},
			}); err != nil {
				t.Fatal(err)
			}
			if conflicts := name == "somebody writes meanwhile"; len(kept) > 0 &&
				(state.Stashed[0].RestoreFailure != "") != conflicts {
				t.Errorf("when it goes on: %+v", state.Stashed)
			}
		})
	}
}

func TestWorkThatCannotBeSetAsideStays(t *testing.T) {
	const stays = "the work on the abandoned task B stays in the tree: "
	for name, tt := range map[string]struct {
		spoil func(w *world, s *memoryTree)
		want  string
	}{
		"no such power": {func(w *world, s *memoryTree) {
			w.options = append(w.options, WithTree(struct{ ralph.Tree }{s}))
		}, "the work on an unfinished task stays in the tree: there are no snapshots to restore it from"},
		"cannot be compared": {
			func(_ *world, s *memoryTree) { s.fails["Changes"] = errors.New("objects are missing") },
			stays + "objects are missing",
		},
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
		"a file stays": {func(_ *world, s *memoryTree) { s.stays = []string{"b"} }, stays + "files left: b"},
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
			stayed := slices.ContainsFunc(payloads[ralph.WorkRestored](w.log), func(b ralph.WorkRestored) bool {
				return b.Stayed
			})
			if stayed != (name == "somebody writes meanwhile") {
				t.Errorf("told %+v", payloads[ralph.WorkRestored](w.log))
			}
		})
	}
}

// What the user writes between two iterations is not part of work that is stashed later. It joins
// the last proven tree as it joins the base.
func TestWhatTheUserWroteBetweenIterationsStays(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := newMemoryTree()
		w, _ := shelved(t, ralph.TaskSkip, s, failsAtB(s)...)
		w.policy.IterationDelay = ralph.Span(time.Minute)
		time.AfterFunc(worked+time.Second, func() { s.write("mine=new") })
		w.ends(ralph.TaskTries, 3)
		same(t, "the tree", ".ralph/config.yaml=agent's a=done c=done code=old mine=new tasks.json=1", s.holds())
		h := w.loop.State().History
		if !strings.Contains(h.Base.Snapshot, "mine=new") || strings.Contains(h.Base.Snapshot, "done") {
			t.Errorf("the base is %s", h.Base.Snapshot)
		}
	})
}

// Who changed a file while checks or hooks ran is not known. It does not join the base, and it does not
// leave the tree with work that is stashed later, unless the user says that it is theirs.
func TestWhatChangedWhileHooksRanStays(t *testing.T) {
	const stays = "the work on the abandoned task B stays in the tree: mine was changed while checks or hooks ran"
	for name, tt := range map[string]struct {
		accepted bool
		warnings []string
		tree     string
	}{
		"nobody's": {
			false, []string{stays}, ".ralph/config.yaml=agent's a=done b=half c=done code=half mine=new tasks.json=1",
		},
		"the user's": {
			true, nil, ".ralph/config.yaml=agent's a=done c=done code=old mine=new tasks.json=1",
		},
	} {
		bubble(t, name, func(t *testing.T) {
			s := newMemoryTree()
			w, _ := shelved(t, ralph.TaskSkip, s, failsAtB(s)...)
			box := &memoryInbox{}
			after := func(_ context.Context, judged ralph.IterationJudged) error {
				if judged.Iteration == 1 {
					s.write("mine=new")
				}
				if tt.accepted && judged.Iteration == 1 {
					box.write(ralph.MessageFiles, "mine")
				}
				return nil
			}
			w.options = append(w.options, WithHooks(ralph.HookFuncs{After: after}), WithInbox(box))
			w.ends(ralph.TaskTries, 3)
			same(t, "the tree", tt.tree, s.holds())
			same(t, "warnings", tt.warnings, warningsOf(w.log, workLeft))
			joined := strings.Contains(w.loop.State().History.Base.Snapshot, "mine=new")
			same(t, "joins the base", tt.accepted, joined)
		})
	}
}

// An evaluator sees everything that a task changed, also before it was stashed, and nothing of
// other tasks.
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

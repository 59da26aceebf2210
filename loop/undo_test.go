package loop

import (
	"context"
	"testing"

	"github.com/ralphloop/ralph"
)

// inPlace is a world over a shelf whose check runs in the workspace itself and writes there.
func inPlace(t *testing.T, s *memoryTree, turns ...turn) (*world, *fakeExaminer) {
	w := newWorld(t, turns...)
	e := &fakeExaminer{t: t, mode: ralph.IsolationInPlace}
	e.check = func(ralph.ViewInput, string) ralph.CheckResult {
		green := s.holds() == "code=new"
		s.write("code=spoilt", "junk=new")
		return greenIf(green)
	}
	w.options = append(w.options, WithExaminer(e), WithTree(s))
	return w, e
}

// What checks in place write is put back before anything is concluded from them, the user's files
// of before the run as well.
func TestWhatChecksInPlaceWroteIsPutBack(t *testing.T) {
	const wrote = "a check that ran in the workspace itself changed code, junk; the changes were undone"
	bubble(t, "after a claim", func(t *testing.T) {
		s := newMemoryTree()
		w, _ := inPlace(t, s, s.does(done(), "code=new"))
		w.policy.MaxIterations = 1
		w.ends(ralph.AllChecksPassed, 1)
		same(t, "the tree", "code=new", s.holds())
		same(t, "what the agent finds", []string{"1: code=old"}, s.found())
		same(t, "base", "code=old", w.loop.State().History.Base.Snapshot)
		same(t, "told, once", []string{wrote}, warningsOf(w.log, "check_wrote"))
	})
	bubble(t, "by a key in the middle of a check", func(t *testing.T) {
		s := newMemoryTree()
		w, e := inPlace(t, s, s.does(done(), "code=new"))
		ctx, cancel := context.WithCancelCause(t.Context())
		check := e.check
		e.check = func(in ralph.ViewInput, name string) ralph.CheckResult {
			defer func() {
				if s.seen != nil {
					cancel(ralph.Killed{Signal: ralph.SignalInterrupt})
				}
			}()
			return check(in, name)
		}
		w.ended(w.run(ctx), ralph.Interrupted, 1)
		same(t, "the tree", "code=new", s.holds())
	})
	bubble(t, "where that fails, nothing is proven", func(t *testing.T) {
		s := newMemoryTree()
		w, _ := inPlace(t, s, s.does(done().then(func() { s.stays = []string{"code"} }), "code=new"))
		w.policy.MaxIterations = 1
		result := w.ends(ralph.MaxIterations, 1)
		same(t, "refusals", []string{ralph.RefusedStale}, result.Iterations[0].Refusals)
		same(
			t,
			"warnings",
			[]string{wrote, "a check that ran in the workspace itself changed code, junk, and the changes could not be undone"},
			warningsOf(w.log, "check_wrote"),
		)
	})
}

// What the user wrote since the last snapshot is the user's, even if a check writes in place right
// after it.
func TestTheUsersEditsAreNotPutBack(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := newMemoryTree()
		w := listed(
			t, newMemoryTasks(entry("A"), entry("B", "own B")), s.does(tagging("A"), "a=done"), s.does(tagging("B"), "b=done"),
		)
		e := &fakeExaminer{t: t, mode: ralph.IsolationInPlace}
		e.check = func(_ ralph.ViewInput, name string) ralph.CheckResult {
			green := name != "own B" || len(s.seen) > 1
			s.write("junk=new")
			return greenIf(green)
		}
		w.options = append(w.options, WithExaminer(e), WithTree(s))
		w.log.onAppend = func(e ralph.Event) {
			if selected, ok := e.Data.(ralph.TaskSelected); ok && selected.Task == "B" {
				s.write("mine=new")
			}
		}
		w.ends(ralph.TasksDone, 2)
		same(t, "the tree", "a=done b=done code=old mine=new", s.holds())
	})
}

// A process that dies during a baseline in place leaves what the check wrote. It must not be
// attributed to the user.
func TestABaselineInPlaceThatWasKilled(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := newMemoryTree()
		s.write("x_test.go=strict")
		b := newMemoryTasks(entry("A"), entry("B", "own B"))
		play := func(w *world) *fakeExaminer {
			e := &fakeExaminer{t: t, mode: ralph.IsolationInPlace}
			e.check = func(_ ralph.ViewInput, name string) ralph.CheckResult {
				return greenIf(name != "own B" || len(s.seen) > 1)
			}
			w.options = append(w.options, WithExaminer(e), WithTree(s))
			return e
		}
		w := listed(t, b, s.does(tagging("A"), "a=done"), s.does(tagging("B"), "b=done"))
		play(w)
		w.ends(ralph.TasksDone, 2)
		cut := 0
		for i, e := range w.log.events {
			if started, ok := e.Data.(ralph.CheckStarted); ok && started.Task == "B" && cut == 0 {
				cut = i + 1
			}
		}
		w.log.events = w.log.events[:cut]
		s.write("b=", "x_test.go=weak")
		b.change("B", func(t *ralph.Task) { t.Status = ralph.TaskPending })
		again := w.resumed(b, s.does(tagging("B"), "b=done"))
		play(again)
		again.ends(ralph.TasksDone, 1)
		same(t, "the base", "code=old x_test.go=strict", again.loop.State().History.Base.Snapshot)
	})
}

// Where the harness cannot restore files, a check that undoes what it proved proves nothing; files
// that it adds are allowed.
func TestChecksInPlaceWhereNothingCanBePutBack(t *testing.T) {
	for edit, want := range map[string]ralph.StopReason{
		"code=spoilt": ralph.MaxIterations, "junk=new": ralph.AllChecksPassed,
	} {
		bubble(t, edit, func(t *testing.T) {
			s := newMemoryTree()
			w, e := inPlace(t, s, s.does(done(), "code=new"))
			w.policy.MaxIterations = 1
			e.check = func(ralph.ViewInput, string) ralph.CheckResult {
				green := len(s.seen) > 0
				if green {
					s.write(edit)
				}
				return greenIf(green)
			}
			w.options = append(w.options, WithTree(struct {
				ralph.Tree
				ralph.Snapshots
			}{s, s}))
			w.ends(want, 1)
		})
	}
}

// What a person writes during the first attempt to restore files is not mistaken for the check's by
// a second one.
func TestPuttingBackIsTriedOnce(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := newMemoryTree()
		w, _ := inPlace(t, s, s.does(done().then(func() {
			s.before = func(ralph.SwitchInput) { s.write("mine=new") }
		}), "code=new"))
		w.policy.MaxIterations = 1
		result := w.ends(ralph.MaxIterations, 1)
		same(t, "refusals", []string{ralph.RefusedStale}, result.Iterations[0].Refusals)
		same(t, "the tree", "code=spoilt junk=new mine=new", s.holds())
	})
}

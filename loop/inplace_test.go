package loop

import (
	"testing"

	"github.com/ralphloop/ralph"
)

// What checks write in place stays, and so does what the user writes meanwhile.
func TestChecksInPlaceLeaveFilesAlone(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := newMemoryTree()
		w := newWorld(t, s.does(done(), "code=new"))
		e := &fakeExaminer{t: t, mode: ralph.IsolationInPlace}
		e.check = func(ralph.ViewInput, string) ralph.CheckResult {
			s.write("junk=new", "mine=new")
			return greenIf(len(s.seen) > 0)
		}
		w.options = append(w.options, WithExaminer(e), WithTree(s))
		w.ends(ralph.AllChecksPassed, 1)
		same(t, "the tree", "code=new junk=new mine=new", s.holds())
		same(t, "told, once", []string{"junk, mine changed while checks or hooks ran; the changes stay, and " +
			"are judged with the rest of the tree"}, warningsOf(w.log, "check_wrote"))
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

package loop

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ralphloop/ralph"
)

// Changes that the user calls their own join the base and the last proven tree, whenever the message comes.
func TestFilesThatTheUserTakesOver(t *testing.T) {
	for name, at := range map[string]time.Duration{
		"while an agent works":   worked + time.Minute + worked/2,
		"between two iterations": worked + time.Minute + worked + time.Second,
	} {
		bubble(t, name, func(t *testing.T) {
			s, box := newMemoryTree(), &memoryInbox{}
			b := newMemoryTasks(entry("A"), entry("B"))
			w := listed(t, b, s.does(tagging("A"), "a=done"), s.does(nothing(), "b=part"), s.does(tagging("B"), "b=done"))
			w.onShelf(s)
			w.options = append(w.options, WithInbox(box))
			w.policy.IterationDelay = ralph.Span(time.Minute)
			time.AfterFunc(worked+time.Minute+worked/2, func() { s.write("mine=new", "other=new") })
			time.AfterFunc(at, func() { box.write(ralph.MessageFiles, "mine") })
			var settled []string
			w.log.onAppend = func(e ralph.Event) {
				if yes, ok := e.Data.(ralph.WorkAccepted); ok {
					same(t, "files", []string{"mine"}, yes.Files)
					settled = append(settled, w.loop.State().History.LastProvenTree)
				}
			}
			w.ends(ralph.TasksDone, 3)
			same(t, "the base", "code=old mine=new", w.loop.State().History.Base.Snapshot)
			same(t, "the last proven tree, once", []string{"a=done code=old mine=new"}, settled)
		})
	}
}

// A protected file that the user takes over is not tampered with.
func TestTamperingThatWasTheUsersOwn(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		w, e, k := examined(t)
		box := &memoryInbox{}
		w.options = append(w.options, WithInbox(box))
		w.agent.turns = []turn{done().then(k.becomes("1")), done()}
		e.compare = func(base, now ralph.TreeState) (ralph.Tampering, error) {
			if strings.Contains(base.Snapshot, "a_test.go") {
				return ralph.Tampering{Known: true}, nil
			}
			return hurt("1")(base, now)
		}
		w.log.onAppend = func(e ralph.Event) {
			if e.Type == ralph.EvClaimRefused {
				box.write(ralph.MessageFiles, "a_test.go\nci.yml")
			}
		}
		result := w.ends(ralph.AllChecksPassed, 2)
		same(t, "refusals", [][]string{{ralph.RefusedTampered}, {}}, refusedIn(result))
		same(t, "compared", []string{"0 1", "0 with a_test.go ci.yml of 1 1"}, e.compared)
		same(t, "refused at the end", nil, w.loop.State().RefusedFiles())
	})
}

// A list that the user changed while an agent worked is adopted. Otherwise Ralph restores the task.
func TestAListThatTheUserTakesOver(t *testing.T) {
	for name, tt := range map[string]struct {
		message string
		tasks   []string
	}{
		"the list":     {"tasks.json", []string{"A", "C"}},
		"another file": {"code", []string{"A", "B", "C"}},
	} {
		bubble(t, name, func(t *testing.T) {
			b, box := newMemoryTasks(entry("A"), entry("B"), entry("C")), &memoryInbox{}
			w := listed(t, b, tagging("A"), tagging("B", "C"), tagging("C"))
			w.onShelf(newMemoryTree())
			w.options = append(w.options, WithInbox(box))
			time.AfterFunc(worked/2, func() { b.drop("B"); box.write(ralph.MessageFiles, tt.message) })
			w.run(t.Context())
			var tasks []string
			for _, task := range w.loop.State().History.Tasks {
				tasks = append(tasks, task.ID)
			}
			same(t, "tasks", tt.tasks, tasks)
		})
	}
}

// A message that cannot be acknowledged is not delivered twice.
func TestFilesAreTakenOverOnce(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		box := &memoryInbox{jammed: errors.New("read-only file system")}
		box.write(ralph.MessageFiles, "code")
		w := newWorld(t, nothing())
		w.options = append(w.options, WithTree(newMemoryTree()), WithInbox(box))
		w.policy.MaxIterations = 3
		w.ends(ralph.MaxIterations, 3)
		same(t, "accepted", []ralph.WorkAccepted{{Files: []string{"code"}, Message: "letter 1"}},
			payloads[ralph.WorkAccepted](w.log))
	})
}

func TestFilesThatCannotBeTakenOver(t *testing.T) {
	for name, tt := range map[string]struct {
		tree ralph.Tree
		why  string
	}{
		"no snapshots": {&fakeTree{frozen: true}, "this run keeps no snapshots"},
		"an error":     {&keeper{files: "0", withErr: errLost}, "the copy is gone"},
		"no hash":      {&keeper{files: "0", lost: true}, "there is no snapshot to compare them with"},
	} {
		bubble(t, name, func(t *testing.T) {
			box := &memoryInbox{}
			box.write(ralph.MessageFiles, "a\nb")
			w := newWorld(t, nothing())
			w.options = append(w.options, WithTree(tt.tree), WithInbox(box))
			w.policy.MaxIterations = 2
			w.ends(ralph.MaxIterations, 2)
			same(t, "told once", []string{"cannot accept the changes of a, b: " + tt.why},
				warningsOf(w.log, "files_not_accepted"))
			same(t, "accepted", nil, payloads[ralph.WorkAccepted](w.log))
			same(t, "messages left", 1, len(box.letters))
		})
	}
}

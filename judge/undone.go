package judge

import (
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// ShownTask is what showed a task when it was done. It must show the task until the run ends.
type ShownTask struct {
	Task    string   `json:"task"`
	Check   string   `json:"check"`
	Own     bool     `json:"own,omitempty"`     // the check is the task's own
	Command string   `json:"command,omitempty"` // of the check, "" if the name is the command
	Tests   []string `json:"tests,omitempty"`   // that failed without the work, if their names are known
	Tree    string   `json:"tree"`              // the snapshot that has them
	// AskedBy is an unconfirmed task whose work made the tests fail: a person decides about both.
	AskedBy string `json:"asked_by,omitempty"`
}

// Evidence returns what must still show the tasks that are done.
func Evidence(h History) []ShownTask {
	return slices.DeleteFunc(slices.Clone(h.Evidence), func(e ShownTask) bool {
		t, _ := FindTask(h.Tasks, e.Task)
		asks, _ := FindTask(h.Tasks, e.AskedBy)
		leftToPerson := asks.Status == ralph.TaskUnconfirmed ||
			asks.Status == ralph.TaskDone && asks.Proven == ralph.ProvenAccepted
		return t.Status != ralph.TaskDone || leftToPerson
	})
}

// keepEvidence remembers what showed tasks, and which of it a person will decide about. The agent cannot change hidden
// checks, which run for every claim.
func (l *ShownLog) keepEvidence(v ralph.TaskVerdict, now Observation) {
	l.Evidence = slices.Clone(l.Evidence)
	for _, by := range v.Shown {
		l.Evidence = slices.DeleteFunc(l.Evidence, func(e ShownTask) bool { return e.Task == by.Task })
		own, isOwn := findCheck(now.Checks, by.Check, by.Task)
		c, ran := findCheck(now.Checks, by.Check, "")
		if isOwn {
			c = own
		}
		if (isOwn || ran) && !c.Hidden && now.Tree.Snapshot != "" {
			l.Evidence = append(l.Evidence, ShownTask{
				Task: by.Task, Check: c.Name, Own: isOwn, Command: c.Command, Tests: by.Tests, Tree: now.Tree.Snapshot,
			})
		}
	}
	for _, r := range v.Unconfirmed {
		for i, e := range l.Evidence {
			isUndone := func(u ralph.UndoneTask) bool { return u.Task == e.Task }
			if r.Code == ralph.RefusedTestsChanged && slices.ContainsFunc(now.Undone, isUndone) {
				l.Evidence[i].AskedBy = r.Task
			}
		}
	}
}

// AdoptTests makes the tests of a tree those that must show the tasks that are done, because the user changed them.
func (l *ShownLog) AdoptTests(tree string) {
	l.Evidence = text.Mapped(l.Evidence, func(e ShownTask) ShownTask {
		e.Tree, e.Tests = tree, nil
		return e
	})
}

// describeUndone says which tasks were done and no longer are.
func describeUndone(undone []ralph.UndoneTask) string {
	return strings.Join(text.Mapped(undone, ralph.UndoneTask.String), "; ") + "; restore that work and its tests"
}

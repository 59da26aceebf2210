package judge

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// NextTask chooses the next task among those whose dependencies are done. It prefers tasks that were
// abandoned less often, then regressed tasks, then the most urgent, then the first. It chooses optional
// tasks only if another task needs them, never chooses or waits for human tasks, and never chooses a
// task that waits for an answer.
func NextTask(tasks []ralph.TaskState) (ralph.TaskState, bool) {
	var next *ralph.TaskState // the first of equal tasks
	for _, t := range readyTasks(tasks) {
		if t.Question == "" && (next == nil || compareUrgency(t, next) < 0) {
			next = t
		}
	}
	if next == nil {
		return ralph.TaskState{}, false
	}
	return *next, true
}

func compareUrgency(a, b *ralph.TaskState) int {
	return cmp.Or(
		cmp.Compare(a.Rounds, b.Rounds),
		-compareBools(a.Regressed, b.Regressed),
		cmp.Compare(a.Urgency(), b.Urgency()),
	)
}

// AwaitedTasks returns the tasks whose answers a run waits for: none while there is another task to work on.
func AwaitedTasks(tasks []ralph.TaskState) []ralph.TaskState {
	if _, more := NextTask(tasks); more {
		return nil
	}
	return text.Mapped(readyTasks(tasks), func(t *ralph.TaskState) ralph.TaskState { return *t })
}

// readyTasks returns the tasks whose dependencies are done.
func readyTasks(tasks []ralph.TaskState) []*ralph.TaskState {
	byID := map[string]*ralph.TaskState{}
	for i := range tasks {
		byID[tasks[i].ID] = &tasks[i]
	}
	needed := neededTasks(tasks, byID)
	isOpen := func(dependency string) bool {
		t := byID[dependency]
		return t != nil && t.Status != ralph.TaskDone && t.Status != ralph.TaskUnconfirmed && !t.Human
	}
	var ready []*ralph.TaskState
	for i := range tasks {
		t := &tasks[i]
		if t.Status == ralph.TaskPending && needed[t.ID] && !t.Human && !slices.ContainsFunc(t.DependsOn, isOpen) {
			ready = append(ready, t)
		}
	}
	return ready
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// neededTasks returns the blocking tasks and everything that they depend on.
func neededTasks(tasks []ralph.TaskState, byID map[string]*ralph.TaskState) map[string]bool {
	needed := map[string]bool{}
	var need func(id string)
	need = func(id string) {
		if needed[id] {
			return
		}
		needed[id] = true
		if t := byID[id]; t != nil {
			for _, dependency := range t.DependsOn {
				need(dependency)
			}
		}
	}
	for _, t := range tasks {
		if !t.Optional && !t.Human {
			need(t.ID)
		}
	}
	return needed
}

// OpenTasks lists the tasks that keep the run from completing.
func OpenTasks(tasks []ralph.TaskState) []string {
	var open []string
	for _, t := range tasks {
		if t.Open() {
			open = append(open, t.ID)
		}
	}
	return open
}

// taskIndex finds many tasks of a long list.
type taskIndex struct {
	tasks []ralph.TaskState
	at    map[string]int
}

func indexTasks(tasks []ralph.TaskState) taskIndex {
	x := taskIndex{tasks, make(map[string]int, len(tasks))}
	for i, t := range slices.Backward(tasks) { // the first of equal IDs counts
		x.at[t.ID] = i
	}
	return x
}

// find is FindTask.
func (x taskIndex) find(id string) (ralph.TaskState, bool) {
	if i, ok := x.at[id]; ok {
		return x.tasks[i], true
	}
	return FindTask(x.tasks, id)
}

// FindTask finds a task by its ID. It ignores case if that matches exactly one task.
func FindTask(tasks []ralph.TaskState, id string) (ralph.TaskState, bool) {
	if id == "" {
		return ralph.TaskState{}, false
	}
	if i := slices.IndexFunc(tasks, func(t ralph.TaskState) bool { return t.ID == id }); i >= 0 {
		return tasks[i], true
	}
	var alike []ralph.TaskState
	for _, t := range tasks {
		if strings.EqualFold(t.ID, id) {
			alike = append(alike, t)
		}
	}
	if len(alike) == 1 {
		return alike[0], true
	}
	return ralph.TaskState{}, false
}

// applyTasks returns the tasks after the verdict. counted tells whether the iteration counts.
func applyTasks(v ralph.TaskVerdict, tasks []ralph.TaskState, counted bool) []ralph.TaskState {
	tasks = slices.Clone(tasks)
	for i := range tasks {
		t := &tasks[i]
		switch {
		case slices.Contains(v.Done, t.ID):
			t.Status, t.Regressed, t.Tries, t.Question = ralph.TaskDone, false, 0, ""
			continue
		case slices.ContainsFunc(v.Unconfirmed, func(r ralph.TaskRefusal) bool { return r.Task == t.ID }):
			t.Status, t.Regressed, t.Tries, t.Question = ralph.TaskUnconfirmed, false, 0, ""
			continue
		case slices.Contains(v.Regressed, t.ID):
			t.Regressed = true
		case slices.Contains(v.Mended, t.ID):
			t.Regressed = false
		}
		if slices.Contains(v.Reopened, t.ID) {
			t.Status = ralph.TaskPending
		}
		if t.ID == v.Current && counted {
			t.Tries++
		}
		if t.ID == v.Current && v.Question != "" {
			t.Question = v.Question
		}
		if t.ID != v.GivenUp {
			continue
		}
		t.Tries = 0
		if v.Retried {
			t.Rounds++
		} else {
			t.Status = ralph.TaskFailed
		}
	}
	return tasks
}

func regressedTasks(tasks []ralph.TaskState) []string {
	var regressed []string
	for _, t := range tasks {
		if t.Status == ralph.TaskDone && t.Regressed {
			regressed = append(regressed, t.ID)
		}
	}
	return regressed
}

func roundsOf(tasks []ralph.TaskState, id string) int {
	t, _ := FindTask(tasks, id)
	return t.Rounds
}

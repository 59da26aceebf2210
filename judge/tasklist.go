package judge

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
)

// NextTask chooses what to work on: of the tasks whose dependencies are done, one that regressed, then the most urgent, then the first. Optional
// tasks are chosen only if another one needs them, human ones never, and nobody waits for them.
func NextTask(tasks []ralph.TaskState) (ralph.TaskState, bool) {
	needed := neededTasks(tasks)
	var ready []ralph.TaskState
	for _, t := range tasks {
		if t.Status == ralph.TaskPending && needed[t.ID] && !t.Human && len(openDependencies(t, tasks)) == 0 {
			ready = append(ready, t)
		}
	}
	if len(ready) == 0 {
		return ralph.TaskState{}, false
	}
	return slices.MinFunc(ready, func(a, b ralph.TaskState) int { // of equals, the first one
		return cmp.Or(cmp.Compare(a.Rounds, b.Rounds), -compareBools(a.Regressed, b.Regressed), cmp.Compare(a.Urgency(), b.Urgency()))
	}), true
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

// neededTasks are the blocking tasks and what they depend on.
func neededTasks(tasks []ralph.TaskState) map[string]bool {
	byID := map[string]ralph.TaskState{}
	for _, t := range tasks {
		byID[t.ID] = t
	}
	needed := map[string]bool{}
	var need func(id string)
	need = func(id string) {
		if needed[id] {
			return
		}
		needed[id] = true
		for _, dependency := range byID[id].DependsOn {
			need(dependency)
		}
	}
	for _, t := range tasks {
		if !t.Optional && !t.Human {
			need(t.ID)
		}
	}
	return needed
}

// openDependencies lists the dependencies that are not done.
func openDependencies(t ralph.TaskState, tasks []ralph.TaskState) []string {
	var open []string
	for _, other := range tasks {
		if slices.Contains(t.DependsOn, other.ID) && other.Status != ralph.TaskDone && !other.Human {
			open = append(open, other.ID)
		}
	}
	return open
}

// OpenTasks are those that a run cannot be complete without.
func OpenTasks(tasks []ralph.TaskState) []string {
	var open []string
	for _, t := range tasks {
		if t.Open() {
			open = append(open, t.ID)
		}
	}
	return open
}

// FindTask finds a task by its id, in another case too if that is clear.
func FindTask(tasks []ralph.TaskState, id string) (ralph.TaskState, bool) {
	var alike []ralph.TaskState
	for _, t := range tasks {
		if t.ID == id {
			return t, true
		}
		if strings.EqualFold(t.ID, id) {
			alike = append(alike, t)
		}
	}
	if len(alike) == 1 {
		return alike[0], true
	}
	return ralph.TaskState{}, false
}

// applyTasks gives the tasks as the verdict leaves them. counted says that the iteration was one of the N.
func applyTasks(v ralph.TaskVerdict, tasks []ralph.TaskState, counted bool) []ralph.TaskState {
	tasks = slices.Clone(tasks)
	for i := range tasks {
		t := &tasks[i]
		switch {
		case slices.Contains(v.Done, t.ID):
			t.Status, t.Regressed, t.Tries = ralph.TaskDone, false, 0
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

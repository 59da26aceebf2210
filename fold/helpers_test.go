package fold

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ralphloop/ralph"
)

func statesOf(tasks []ralph.TaskState) map[string]ralph.TaskStatus {
	states := map[string]ralph.TaskStatus{}
	for _, t := range tasks {
		states[t.ID] = t.Status
	}
	return states
}

// pendingTask returns a pending task with some changes.
func pendingTask(id string, changes ...func(*ralph.TaskState)) ralph.TaskState {
	t := ralph.TaskState{ID: id, Title: "do " + id, Status: ralph.TaskPending}
	for _, change := range changes {
		change(&t)
	}
	return t
}

func same[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

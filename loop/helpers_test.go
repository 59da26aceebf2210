package loop

import (
	"slices"

	"github.com/ralphloop/ralph"
)

var closed = ralph.Breaker{State: ralph.BreakerClosed}

func refused(code, detail string) ralph.Gate {
	return ralph.Gate{State: ralph.GateShut, Refusal: code, Detail: detail}
}
func openGate(detail string) ralph.Gate  { return ralph.Gate{State: ralph.GateOpen, Detail: detail} }
func notedGate(detail string) ralph.Gate { return ralph.Gate{State: ralph.GateNoted, Detail: detail} }
func warned(detail string) ralph.Gate    { return ralph.Gate{State: ralph.GateWarned, Detail: detail} }

func oneOf[T comparable](x T, of ...T) bool { return slices.Contains(of, x) }

// job is a pending task, changed where a row says so.
func job(id string, changes ...func(*ralph.TaskState)) ralph.TaskState {
	t := ralph.TaskState{ID: id, Title: "do " + id, Status: ralph.TaskPending}
	for _, change := range changes {
		change(&t)
	}
	return t
}

func isDone(t *ralph.TaskState)     { t.Status = ralph.TaskDone }
func isProven(t *ralph.TaskState)   { t.Proven = ralph.ProvenWorkspace }
func isOptional(t *ralph.TaskState) { t.Optional = true }
func isHuman(t *ralph.TaskState)    { t.Human = true }

func refusal(task, code, detail string) []ralph.TaskRefusal {
	return []ralph.TaskRefusal{{Task: task, Code: code, Detail: detail}}
}

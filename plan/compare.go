package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
)

// mostAdded is how many tasks an agent may add in one iteration. It should work on the list, not
// flood it.
const mostAdded = 100

// compare describes what an agent changed in tasks that it may only work on and tick off, one
// sentence each. States do not count; they are claims.
func compare(before, now []item) []string {
	known, current := statesOf(before), map[string]item{}
	for _, it := range now {
		current[it.ID] = it
	}
	unknown := map[string][]string{} // titles and ids of tasks that are new, or have a new id
	for _, it := range now {
		if known[it.ID] == "" {
			unknown[it.Title] = append(unknown[it.Title], it.ID)
		}
	}
	var injuries []string
	renamed := map[string]bool{}
	for _, was := range before {
		is, there := current[was.ID]
		if there {
			injuries = append(injuries, changes(was.Task, is.Task)...)
			continue
		}
		ids := unknown[was.Title]
		if len(ids) == 0 {
			injuries = append(injuries, fmt.Sprintf("task %s was deleted", was.ID))
			continue
		}
		unknown[was.Title] = ids[1:]
		renamed[ids[0]] = true
		injuries = append(injuries, fmt.Sprintf("the id of task %s was changed to %s", was.ID, ids[0]))
	}
	for _, it := range now {
		if known[it.ID] == "" && !renamed[it.ID] {
			injuries = append(injuries, excesses(it.Task)...)
		}
	}
	if added := len(now) - len(before); added > mostAdded {
		injuries = append(injuries, fmt.Sprintf("%d tasks were added; the limit is %d", added, mostAdded))
	}
	if len(injuries) == 0 && reordered(before, now) {
		injuries = append(injuries, "open tasks were reordered")
	}
	return injuries
}

// excesses describes what a task that an agent added must not contain.
func excesses(added ralph.Task) []string {
	var all []string
	note := func(excess bool, format string) {
		if excess {
			all = append(all, fmt.Sprintf(format, added.ID))
		}
	}
	note(len(added.Checks) > 0, "task %s, which the agent added, has its own checks; only the user may add commands")
	note(added.Proof == ralph.ProofUnbroken,
		"task %s, which the agent added, says proof: unbroken; only the user may set that")
	return all
}

// changes describes the damage to one task.
func changes(was, is ralph.Task) []string {
	var all []string
	note := func(changed bool, format string) {
		if changed {
			all = append(all, fmt.Sprintf(format, was.ID))
		}
	}
	note(was.Title != is.Title, "the title of task %s was changed")
	note(!stillThere(was.Description, is.Description), "the description of task %s was changed")
	note(!slices.Equal(was.Acceptance, is.Acceptance), "the acceptance criteria of task %s were changed")
	note(!slices.Equal(was.DependsOn, is.DependsOn), "the dependencies of task %s were changed")
	note(!slices.Equal(was.Checks, is.Checks), "the checks of task %s were changed")
	note(!reflect.DeepEqual(was.Priority, is.Priority), "the priority of task %s was changed")
	note(was.Category != is.Category, "the category of task %s was changed")
	note(!was.Optional && is.Optional, "task %s was made optional")
	note(was.Optional && !is.Optional, "task %s is no longer optional")
	note(!was.Human && is.Human, "task %s was assigned to a person")
	note(was.Human && !is.Human, "task %s is no longer assigned to a person")
	note(was.Proof != is.Proof, "the proof of task %s was changed")
	note(was.SpecFile != is.SpecFile, "the spec file of task %s was changed")
	return all
}

// stillThere reports whether every line of a text is in another one, in the same order. An agent
// may add what it found out.
func stillThere(was, is string) bool {
	lines := strings.Split(was, "\n")
	for line := range strings.Lines(is) {
		if len(lines) > 0 && strings.TrimSpace(line) == strings.TrimSpace(lines[0]) {
			lines = lines[1:]
		}
	}
	return len(lines) == 0 || strings.TrimSpace(strings.Join(lines, "")) == ""
}

// reordered reports whether open tasks are in another order. The position of finished tasks does
// not matter.
func reordered(before, now []item) bool {
	status := statesOf(now)
	var was, is []string
	open := map[string]bool{}
	for _, it := range before {
		if it.Status != ralph.TaskDone && status[it.ID] != ralph.TaskDone {
			was = append(was, it.ID)
			open[it.ID] = true
		}
	}
	for _, it := range now {
		if open[it.ID] {
			is = append(is, it.ID)
		}
	}
	return !slices.Equal(was, is)
}

package cli

import (
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/internal/workspace"
)

// tasksForPerson are the open tasks of a list that a run left to a person.
type tasksForPerson struct {
	unconfirmed []string
	next        string          // what the person can do about them; "" if that must wait
	questions   []fold.Question // of tasks that wait for an answer
}

// forPerson returns the open tasks of a list that the last run with this list left to a person. The file
// calls them pending, so only the run's log knows them.
func (a *app) forPerson(space workspace.Workspace, file string, tasks []ralph.Task) tasksForPerson {
	var found tasksForPerson
	store, err := a.storeOf(space)
	if err != nil {
		return found
	}
	runs, err := store.Runs() // newest first
	if err != nil {
		return found
	}
	for i, r := range runs {
		if r.TaskFile != file || r.Broken != "" {
			continue
		}
		state, err := stateOf(store, r.Run)
		if err != nil || state.Started.Worktree != nil {
			continue
		}
		for _, t := range tasks {
			left := func(s ralph.TaskState) bool { return s.ID == t.ID && s.Status == ralph.TaskUnconfirmed }
			if t.Status == ralph.TaskPending && slices.ContainsFunc(state.History.Tasks, left) {
				found.unconfirmed = append(found.unconfirmed, t.ID)
			}
		}
		found.questions = slices.DeleteFunc(fold.OpenQuestions(state), func(asked fold.Question) bool {
			return !slices.ContainsFunc(tasks, func(t ralph.Task) bool {
				return t.Status == ralph.TaskPending && t.ID == asked.Task
			})
		})
		if len(found.unconfirmed) > 0 && !r.Live && state.Phase == fold.PhaseNone {
			var run []string
			if i > 0 { // by default commands are about the newest run
				run = []string{r.Run}
			}
			found.next = "claimed, but a person must decide; look at it with ralph diff, then: " +
				strings.Join(slices.Concat([]string{"ralph accept"}, run, found.unconfirmed), " ")
			if rejected(store, r.Run) {
				found.next = "your rejection waits; the agent reads it with: " +
					strings.Join(append([]string{term.ResumeCommand(state)}, run...), " ")
			}
		}
		return found
	}
	return found
}

package term

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
)

// taskLines tells what happened to the task list and to what people wrote for the agent.
func (l *Lines) taskLines(e ralph.Event) []string {
	switch data := e.Data.(type) {
	case ralph.TaskSelected:
		if e.Iteration == 0 && data.List != nil {
			count := l.State.TaskCount()
			return []string{
				fmt.Sprintf("tasks: %d open, %d done in %s", count.Open, count.Done, Clean(l.State.Started.TaskFile)),
			}
		}
	case ralph.TaskMoved:
		switch e.Type {
		case ralph.EvTaskFailed:
			return []string{"  " + l.Style.Red("task "+data.Task+" given up") + reasonOf(data.Detail)}
		case ralph.EvTaskReopened:
			return []string{"  " + l.Style.Yellow("task "+data.Task+" reopened") + reasonOf(data.Detail)}
		}
	case ralph.WorkStashed:
		return []string{
			fmt.Sprintf(
				"  work on %s stashed: see it with ralph diff %s --task %s, write it out with ralph restore %s %d --to DIR",
				data.Task,
				e.Run,
				data.Task,
				e.Run,
				data.Iteration,
			),
		}
	case ralph.WorkRestored:
		if data.Why == "" && !data.Stayed { // otherwise a warning says it
			return []string{fmt.Sprintf("  work on %s restored, from iteration %d", data.Task, data.Iteration)}
		}
	case ralph.SteeringSeen:
		if data.State == ralph.SteeringRemoved {
			return []string{"  steering removed: " + Shorten(Clean(data.Text), 100)}
		}
		return []string{
			fmt.Sprintf("  steering delivered in iteration %d: %s", l.State.History.Counted+1, Shorten(Clean(data.Text), 100)),
		}
	case ralph.AnswerGiven:
		return []string{
			fmt.Sprintf("  answer delivered in iteration %d: %s", l.State.History.Counted+1, Shorten(Clean(data.Answer), 100)),
		}
	case ralph.LearningProposed:
		return []string{
			fmt.Sprintf("  learning proposed (ralph learnings --accept %s): %s", data.ID, Shorten(Clean(data.Text), 100)),
		}
	case ralph.CommitResult:
		lines := []string{fmt.Sprintf("  commit %.10s %s", data.Commit, Shorten(Clean(data.Subject), 80))}
		if data.Output != "" { // hooks that were not run, or failed when all was done
			lines = append(lines, "  "+l.Style.Yellow("warning: ")+Shorten(Clean(data.Output), 300))
		}
		return lines
	}
	return l.proofLines(e)
}

// task names what the iteration works on.
func (l *Lines) task() string {
	id := l.State.History.Now.Task
	for _, t := range l.State.History.Tasks {
		if t.ID == id {
			return ": " + taskName(t)
		}
	}
	return ""
}

func taskName(t ralph.TaskState) string {
	if t.Title == "" || t.Title == t.ID {
		return t.ID
	}
	return t.ID + " " + Shorten(Clean(t.Title), 60)
}

// claimedTasks lists the tasks that the agent says are done, each marked proven or only claimed.
func (l *Lines) claimedTasks(v ralph.Verdict) []string {
	if len(l.State.Iterations) == 0 || v.Row == 0 && v.Signal != "" {
		return nil
	}
	last := l.State.Iterations[len(l.State.Iterations)-1]
	var tasks []string
	for _, claim := range last.Claims {
		id, ok := strings.CutSuffix(claim, ":DONE")
		if !ok {
			continue
		}
		proven := slices.ContainsFunc(l.State.History.Tasks, func(t ralph.TaskState) bool { // by this iteration or before
			return strings.EqualFold(t.ID, id) && t.Status == ralph.TaskDone && !t.Regressed
		})
		tasks = append(tasks, id+provenMark(proven, last))
	}
	for _, id := range v.Tasks.Done { // by a claim that everything is
		if !slices.ContainsFunc(tasks, func(t string) bool { return strings.EqualFold(t, id+provenMark(true, last)) }) {
			tasks = append(tasks, id+provenMark(true, last))
		}
	}
	if len(tasks) == 0 {
		return nil
	}
	return []string{"  Tasks: " + Clean(strings.Join(tasks, ", "))}
}

func provenMark(proven bool, by ralph.IterationResult) string {
	switch {
	case proven && len(by.CheckResults) == 0:
		return " (accepted unverified)"
	case proven:
		return " (proven)"
	}
	return " (claimed)"
}

func provenWord(reason ralph.StopReason) string {
	if reason == ralph.TasksDone {
		return "every task proven"
	}
	return "claim proven"
}

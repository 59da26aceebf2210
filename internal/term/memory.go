package term

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
)

// taskLines describes events about the task list, and about messages and learnings.
func (l *Lines) taskLines(e ralph.Event) []string {
	switch data := e.Data.(type) {
	case ralph.TaskSelected:
		if e.Iteration == 0 && data.List != nil {
			count, file := l.State.TaskCount(), Clean(l.State.Started.TaskFile)
			return []string{fmt.Sprintf("tasks: %d open, %d done in %s", count.Open, count.Done, file)}
		}
	case ralph.TaskMoved:
		switch e.Type {
		case ralph.EvTaskFailed:
			return []string{"  " + l.Style.Red("task "+data.Task+" abandoned") + reasonOf(data.Detail)}
		case ralph.EvTaskReopened:
			return []string{"  " + l.Style.Yellow("task "+data.Task+" reopened") + reasonOf(data.Detail)}
		}
	case ralph.WorkStashed:
		see := fmt.Sprintf("see it with ralph diff %s --task %s", e.Run, data.Task)
		write := fmt.Sprintf("write it out with ralph restore %s %d --to DIR", e.Run, data.Iteration)
		return []string{fmt.Sprintf("  work on %s stashed: %s, %s", data.Task, see, write)}
	case ralph.WorkRestored:
		if data.Why == "" && !data.Stayed { // otherwise there is a warning
			return []string{fmt.Sprintf("  work on %s restored, from iteration %d", data.Task, data.Iteration)}
		}
	case ralph.WorkAccepted:
		if len(data.Tasks) > 0 {
			return []string{"  Tasks: " + Clean(strings.Join(data.Tasks, " (accepted), ")) + " (accepted)"}
		}
	case ralph.SteeringSeen:
		if data.State == ralph.SteeringRemoved {
			return []string{"  steering removed: " + Shorten(Clean(data.Text), 100)}
		}
		text := Shorten(Clean(data.Text), 100)
		if data.State == ralph.SteeringEarlier {
			return []string{"  steering that answers no question, because it was there before, or a hook wrote it: " + text}
		}
		return []string{fmt.Sprintf("  steering delivered in iteration %d: %s", l.State.History.Counted+1, text)}
	case ralph.AnswerGiven:
		answer := Shorten(Clean(data.Answer), 100)
		return []string{fmt.Sprintf("  answer delivered in iteration %d: %s", l.State.History.Counted+1, answer)}
	case ralph.LimitsRaised:
		return []string{"  limits raised: " + limitsRaised(data)}
	case ralph.LearningProposed:
		text := Shorten(Clean(data.Text), 100)
		return []string{fmt.Sprintf("  learning proposed (ralph learnings --accept %s): %s", data.ID, text)}
	case ralph.CommitResult:
		lines := []string{fmt.Sprintf("  commit %.10s %s", data.Commit, Shorten(Clean(data.Subject), 80))}
		if data.Output != "" { // hooks did not run, or failed after the commit
			lines = append(lines, "  "+l.Style.Yellow("warning: ")+Shorten(Clean(data.Output), 300))
		}
		return lines
	}
	return l.proofLines(e)
}

// task names the task of the iteration.
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

// claimedTasks lists the tasks that the agent claims are done, each marked proven or only claimed. A verdict on
// what a person accepted is about other tasks.
func (l *Lines) claimedTasks(v ralph.Verdict) []string {
	if len(l.State.Iterations) == 0 || v.Row == 0 && v.Signal != "" || l.State.History.Accepted != nil {
		return nil
	}
	last := l.State.Iterations[len(l.State.Iterations)-1]
	var tasks []string
	for _, claim := range last.Claims {
		id, ok := strings.CutSuffix(claim, ":DONE")
		if !ok {
			continue
		}
		tasks = append(tasks, id+l.provenMark(id, last))
	}
	for _, id := range v.Tasks.Done { // includes tasks proven by a claim that everything is done
		marked := id + l.provenMark(id, last)
		if !slices.ContainsFunc(tasks, func(t string) bool { return strings.EqualFold(t, marked) }) {
			tasks = append(tasks, marked)
		}
	}
	if len(tasks) == 0 {
		return nil
	}
	line := "  Tasks: " + Clean(strings.Join(tasks[:min(len(tasks), mostClaims)], ", "))
	if len(tasks) > mostClaims {
		line += fmt.Sprintf(" and %d more", len(tasks)-mostClaims)
	}
	return []string{line}
}

// mostClaims is how many claims of one iteration are shown.
const mostClaims = 20

// provenMark says whether a claimed task is done, by this iteration or an earlier one, and how far that is
// proven.
func (l *Lines) provenMark(id string, by ralph.IterationResult) string {
	i := slices.IndexFunc(l.State.History.Tasks, func(t ralph.TaskState) bool {
		return strings.EqualFold(t.ID, id) && t.Status == ralph.TaskDone && !t.Regressed
	})
	switch {
	case i < 0:
		return " (claimed)"
	case l.State.History.Tasks[i].Proven == ralph.ProvenAccepted:
		return " (accepted)"
	case len(by.CheckResults) == 0:
		return " (accepted unverified)"
	case l.State.History.Tasks[i].Proven == ralph.ProvenNone:
		return " (done, not shown)"
	case l.State.History.Tasks[i].Proven == ralph.ProvenReported:
		return " (done, as the agent's tools report)"
	}
	return " (proven)"
}

func provenWord(v ralph.Verdict) string {
	by := ralph.ShownBy("")
	if len(v.Shown) > 0 {
		by = v.Shown[0].By
	}
	switch {
	case v.Reason == ralph.TasksDone:
		return "every task done"
	case by == ralph.ShownByPerson:
		return "claim accepted"
	case by == ralph.ShownUnbroken:
		return "claim passes: nothing broke"
	case by == ralph.ShownByTools:
		return "claim passes, as the agent's own tools report"
	case by == ralph.ShownByNothing:
		return "claim passes, but nothing shows the work"
	}
	return "claim proven"
}

// limitsRaised says by how much each limit was raised.
func limitsRaised(l ralph.LimitsRaised) string {
	var parts []string
	if l.Iterations > 0 {
		parts = append(parts, Count(l.Iterations, "more iteration"))
	}
	if l.Time > 0 {
		parts = append(parts, l.Time.Short()+" more")
	}
	if l.Cost > 0 {
		parts = append(parts, fmt.Sprintf("$%.2f more", l.Cost))
	}
	if l.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d more tokens", l.Tokens))
	}
	return strings.Join(parts, ", ")
}

package judge

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// questionOf returns the question for which the current task waits after this iteration, or "". A question of a task
// that is done, or of a run without a list, is the run's own.
func questionOf(p ralph.Policy, h History, v ralph.TaskVerdict) string {
	asked := h.Now.Agent.Said.Decide
	if asked == nil || p.OnDecide != ralph.DecideWait || p.Rules < 2 || !ralph.CountsAsIteration(h.Now.Agent.End) {
		return ""
	}
	t, ok := FindTask(applyTasks(v, h.Tasks, false), v.Current)
	if !ok || t.Status != ralph.TaskPending || blockedRule(p, h, ralph.Verdict{}) != nil {
		return ""
	}
	return cmp.Or(*asked, "the agent asked no question")
}

// decideRule is row 5: the agent asks a person to decide. The other tasks of a list go on.
func decideRule(p ralph.Policy, h History, v ralph.Verdict) *ralph.Verdict {
	asked := h.Now.Agent.Said.Decide
	if asked == nil {
		return nil
	}
	if p.OnDecide != ralph.DecideWait {
		return stopAt(v, 5, ralph.NeedsDecision, "%s", *asked)
	}
	if v.Tasks.Question != "" {
		if _, more := NextTask(applyTasks(v.Tasks, h.Tasks, v.Counted)); more {
			return nil
		}
	}
	if v.Breaker.State == ralph.BreakerOpen { // an answer is a reason to try once more
		v.Breaker.State = ralph.BreakerHalfOpen
	}
	return waitAt(v, 5, ralph.WaitAnswer, 0, *asked)
}

// answerRule is row 5, between iterations: every task that could be worked on waits for an answer.
func answerRule(_ ralph.Policy, h History, v ralph.Verdict) *ralph.Verdict {
	awaited := AwaitedTasks(h.Tasks)
	if len(awaited) == 0 {
		return nil
	}
	questions := text.Mapped(awaited, func(t ralph.TaskState) string { return t.ID + ": " + t.Question })
	return waitAt(v, 5, ralph.WaitAnswer, 0, strings.Join(questions, "; "))
}

// SettleQuestions returns the tasks after some questions were answered.
func SettleQuestions(tasks []ralph.TaskState, answered func(ralph.TaskState) bool) []ralph.TaskState {
	tasks = slices.Clone(tasks)
	for i := range tasks {
		if answered(tasks[i]) {
			tasks[i].Question = ""
		}
	}
	return tasks
}

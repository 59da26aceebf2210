package fold

import (
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

func iterationResult(o judge.Observation, v ralph.Verdict) ralph.IterationResult {
	said := o.Agent.Said
	r := ralph.IterationResult{
		Iteration:          o.Number,
		Task:               o.Task,
		Agent:              o.Agent.Agent,
		StepsTaken:         o.Agent.Steps,
		Cost:               o.Agent.Cost,
		CostPartial:        o.Agent.CostPartial,
		Duration:           o.Agent.Duration,
		CompletionTagFound: said.CompleteTag != "",
		Claims:             judge.ClaimsOf(o),
		TasksDone:          append([]string{}, v.Tasks.Done...),
		CheckResults:       o.Checks,
		AllChecksPassed:    judge.AllPassed(o.Checks),
		StatusBlock:        said.Status,
		Refusals:           []string{},
		Denials:            o.Agent.Denials,
		Allow:              o.Agent.Allow,
		Evidence:           judge.EvidenceOf(o),
		Counted:            v.Counted,
	}
	if r.CheckResults == nil {
		r.CheckResults = []ralph.CheckResult{}
	}
	for _, refusal := range v.Refusals() {
		r.Refusals = append(r.Refusals, refusal.Code)
	}
	for _, refused := range slices.Concat(v.Tasks.Refused, v.Tasks.Unconfirmed) {
		if !slices.Contains(r.Refusals, refused.Code) {
			r.Refusals = append(r.Refusals, refused.Code)
		}
	}
	if o.Agent.End != ralph.EndOK {
		text := o.Agent.Error
		if text == "" {
			text = string(o.Agent.End)
		}
		r.Error, r.ErrorClass = &text, o.Agent.Class()
	}
	return r
}

// TaskCount counts the open and the done tasks of the list.
func (s *State) TaskCount() ralph.TaskCount { return countTasks(s.History.Tasks) }

func countTasks(tasks []ralph.TaskState) ralph.TaskCount {
	count := ralph.TaskCount{Open: len(judge.OpenTasks(tasks))}
	for _, t := range tasks {
		if t.Status == ralph.TaskDone && !t.Open() {
			count.Done++
		}
	}
	return count
}

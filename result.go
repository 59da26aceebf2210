package ralph

import (
	"slices"

	"github.com/ralphloop/ralph/promise"
)

// What verified_by may hold.
const (
	VerifiedChecks    = "checks"           // a check turned green in this run
	VerifiedUnchanged = "checks_unchanged" // a check was green before, or no canary turned it red: nothing broke, which is not the same
	VerifiedEvaluator = "evaluator"        // an evaluator accepted it, and there was no check
)

// Result is what a run leaves behind: the object of `ralph run --json` and of result.json.
type Result struct {
	RunID           string            `json:"run_id"`
	Status          Status            `json:"status"`
	StopReason      StopReason        `json:"stop_reason"`
	ExitCode        int               `json:"exit_code"`
	Success         bool              `json:"success"`
	Verified        bool              `json:"verified"`
	VerifiedBy      []string          `json:"verified_by"`
	Reason          string            `json:"reason"`         // of BLOCKED
	Question        string            `json:"question"`       // of DECIDE
	Summary         string            `json:"summary"`        // why it stopped, in one sentence
	Hint            string            `json:"hint,omitempty"` // what to do about it, such as the login command
	TotalIterations int               `json:"total_iterations"`
	TotalCost       *float64          `json:"total_cost"`
	CostEstimated   bool              `json:"cost_estimated"`
	CostPartial     bool              `json:"cost_partial,omitempty"` // it cost more than that: at least so much
	TotalTokens     *Tokens           `json:"total_tokens"`
	TokensPartial   bool              `json:"tokens_partial,omitempty"`
	TotalDuration   Span              `json:"total_duration"`
	WorktreePath    string            `json:"worktree_path"`
	Branch          string            `json:"branch"`
	Tasks           TaskCount         `json:"tasks"`
	Demo            bool              `json:"demo,omitempty"`
	Receipt         string            `json:"receipt,omitempty"` // the hash that the log's chain ends with
	Iterations      []IterationResult `json:"iterations"`
}

// TaskCount counts the tasks of the list that was worked.
type TaskCount struct {
	Done int `json:"done"`
	Open int `json:"open"`
}

// IterationResult is one iteration of a Result. Unknown figures are nil.
type IterationResult struct {
	Iteration          int             `json:"iteration"`
	Task               string          `json:"task"`
	Agent              string          `json:"agent"`
	StepsTaken         *int            `json:"steps_taken"`
	Cost               *float64        `json:"cost"`
	CostPartial        bool            `json:"cost_partial,omitempty"`
	Duration           Span            `json:"duration"`
	CompletionTagFound bool            `json:"completion_tag_found"`
	Claims             []string        `json:"claims"`
	TasksDone          []string        `json:"tasks_done"`
	CheckResults       []CheckResult   `json:"check_results"`
	AllChecksPassed    bool            `json:"all_checks_passed"`
	StatusBlock        *promise.Status `json:"status_block"`
	Refusals           []string        `json:"refusals"`
	Error              *string         `json:"error"`
	ErrorClass         ErrorClass      `json:"error_class,omitempty"` // of an agent that did not end well
	Denials            []string        `json:"denials,omitempty"`
	Allow              []string        `json:"allow,omitempty"` // what would have allowed them, behind `ralph run`
	Counted            bool            `json:"counted"`
}

func iterationResult(o Observation, v Verdict) IterationResult {
	said := o.Agent.Said
	r := IterationResult{
		Iteration: o.Number, Agent: o.Agent.Agent, StepsTaken: o.Agent.Steps, Cost: o.Agent.Cost, CostPartial: o.Agent.CostPartial,
		Duration:           o.Agent.Duration,
		CompletionTagFound: said.CompleteTag != "", Claims: claimsOf(o), Task: o.Task, TasksDone: append([]string{}, v.Tasks.Done...),
		CheckResults: o.Checks, AllChecksPassed: AllPassed(o.Checks), StatusBlock: said.Status, Refusals: []string{}, Counted: v.Counted,
		Denials: o.Agent.Denials, Allow: o.Agent.Allow,
	}
	if r.CheckResults == nil {
		r.CheckResults = []CheckResult{}
	}
	for _, refusal := range v.Refusals() {
		r.Refusals = append(r.Refusals, refusal.Code)
	}
	for _, refused := range v.Tasks.Refused {
		if !slices.Contains(r.Refusals, refused.Code) {
			r.Refusals = append(r.Refusals, refused.Code)
		}
	}
	if o.Agent.End != EndOK {
		text := o.Agent.Error
		if text == "" {
			text = string(o.Agent.End)
		}
		r.Error, r.ErrorClass = &text, o.Agent.Class()
	}
	return r
}

// TaskCount counts the tasks of the list that is worked.
func (s *State) TaskCount() TaskCount { return countTasks(s.History.Tasks) }

func countTasks(tasks []TaskState) TaskCount {
	count := TaskCount{Open: len(openTasks(tasks))}
	for _, t := range tasks {
		if t.Status == TaskDone && !t.Open() {
			count.Done++
		}
	}
	return count
}

// claimsOf lists what the agent claimed, by tag, by block or in the task list.
func claimsOf(o Observation) []string {
	said := o.Agent.Said
	claims := []string{}
	switch {
	case said.CompleteTag != "":
		claims = append(claims, said.CompleteTag)
	case said.Complete:
		claims = append(claims, "COMPLETE")
	}
	if said.Blocked != nil {
		claims = append(claims, "BLOCKED")
	}
	if said.Decide != nil {
		claims = append(claims, "DECIDE")
	}
	for _, task := range slices.Concat(said.TasksDone, o.Listed) {
		if claim := task + ":DONE"; !slices.Contains(claims, claim) {
			claims = append(claims, claim)
		}
	}
	return claims
}

// AllPassed reports whether checks ran and all of them passed.
func AllPassed(checks []CheckResult) bool {
	for _, c := range checks {
		if !c.Passed {
			return false
		}
	}
	return len(checks) > 0
}

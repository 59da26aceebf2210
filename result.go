package ralph

import "github.com/ralphloop/ralph/promise"

// Result is the result of a run, as printed by `ralph run --json` and stored in result.json.
type Result struct {
	RunID           string            `json:"run_id"`
	Status          Status            `json:"status"`
	StopReason      StopReason        `json:"stop_reason"`
	ExitCode        int               `json:"exit_code"`
	Success         bool              `json:"success"`
	Verified        bool              `json:"verified"`
	VerifiedBy      []string          `json:"verified_by"`
	Proof           ProofWord         `json:"proof,omitempty"`  // how far the result proves the work
	Reason          string            `json:"reason"`           // of BLOCKED
	Question        string            `json:"question"`         // of DECIDE
	Summary         string            `json:"summary"`          // why it stopped, in one sentence
	Hint            string            `json:"hint,omitempty"`   // what to do about it, such as the login command
	Answer          string            `json:"answer,omitempty"` // the agent's last message, without tags
	TotalIterations int               `json:"total_iterations"`
	TotalCost       *float64          `json:"total_cost"`
	CostEstimated   bool              `json:"cost_estimated"`
	CostPartial     bool              `json:"cost_partial,omitempty"` // the run cost at least TotalCost
	TotalTokens     *Tokens           `json:"total_tokens"`
	TokensPartial   bool              `json:"tokens_partial,omitempty"`
	TotalDuration   Span              `json:"total_duration"`
	Sandbox         string            `json:"sandbox,omitempty"` // of agents; "none, bwrap" if a resume changed it
	WorktreePath    string            `json:"worktree_path"`
	Branch          string            `json:"branch"`
	Tasks           TaskCount         `json:"tasks"`
	GoalFiles       []string          `json:"goal_files,omitempty"` // of goals that were too long for a prompt
	Demo            bool              `json:"demo,omitempty"`
	Receipt         string            `json:"receipt,omitempty"` // the last hash of the log's chain
	Iterations      []IterationResult `json:"iterations"`
}

// The values of Result.VerifiedBy.
const (
	VerifiedChecks = "checks" // a check failed before and passes now
	// VerifiedUnchanged means that a check already passed before, or that no canary made it fail. It
	// shows that nothing broke, which is weaker than VerifiedChecks.
	VerifiedUnchanged = "checks_unchanged"
	VerifiedTests     = "tests"     // new tests fail without the work and pass with it
	VerifiedEvaluator = "evaluator" // an evaluator accepted it, and there was no check
	VerifiedPerson    = "person"    // a person accepted it
	VerifiedTools     = "tools"     // tools that the agent called itself passed, and there was no check
)

// TaskCount counts the tasks of the run's list.
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
	ErrorClass         ErrorClass      `json:"error_class,omitempty"` // if the agent did not end OK
	Denials            []string        `json:"denials,omitempty"`
	Evidence           []ToolEvidence  `json:"evidence,omitempty"` // verifiers that the agent ran itself
	Allow              []string        `json:"allow,omitempty"`    // arguments of `ralph run` that would have allowed them
	Counted            bool            `json:"counted"`
}

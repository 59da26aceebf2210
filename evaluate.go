package ralph

import (
	"context"
	"time"
)

// Evaluator gives a second opinion on a claim, with a fresh context. A rejection is a value, and so is
// an evaluator that cannot be asked. An error means that the harness itself failed. Evaluation.Tries
// must count how often a model was asked.
type Evaluator interface {
	Evaluate(ctx context.Context, in EvaluationInput) (Evaluation, error)
}

// EvaluationInput is what an evaluator gets: the task and the evidence, never the worker's conversation.
type EvaluationInput struct {
	Iteration   int
	Task        string // "" for the whole goal
	Title       string
	Goal        string // the goal, or the task's description
	GoalFile    string // the file in the workspace that has all of Goal, in case it is too long; "" for none
	Criteria    []string
	Diff        string
	DiffCut     bool
	Checks      []CheckResult
	TestChanges *BaseTestsRun
	Undone      []UndoneTask // earlier tasks
	Case        string       // the case that the worker submitted, if any
	Ledger      []Evaluation // the latest evaluations of this task, oldest first
	Recurring   map[Rejection]int
	Dir         string
	Base, Now   TreeState
	Folder      string // for the prompt and the output; "" keeps neither
	Marker      string
	Timeout     time.Duration
	Budget      Budget         // of all that the evaluator asks
	Live        func(Activity) // never nil
	// Over gets what the evaluation has used so far and returns why the evaluator must not ask again,
	// or "" if it may. A nil Over sets no limit.
	Over func(so Evaluation) string
}

// Evaluation is one verdict of an evaluator. If End is not ok, there is no verdict, because the
// evaluator could not be asked.
type Evaluation struct {
	Tree      string    `json:"tree,omitempty"`     // the tree that was evaluated
	Terms     string    `json:"terms,omitempty"`    // a digest of the criteria
	Cached    bool      `json:"standing,omitempty"` // an earlier verdict on the same tree and terms, reused
	Task      string    `json:"task,omitempty"`
	Accepted  bool      `json:"accepted"`
	Category  Rejection `json:"category,omitempty"`
	Concern   string    `json:"concern,omitempty"`
	Evidence  []string  `json:"evidence,omitempty"` // as file:line, each of which exists
	NextStep  string    `json:"next_step,omitempty"`
	Malformed bool      `json:"malformed,omitempty"` // a rejection in an unusable form; it counts like any other
	Problem   string    `json:"problem,omitempty"`   // why an earlier answer could not be used as it was
	// Tries counts how often the evaluator was asked until its answer could be parsed. 0 means that it
	// was not asked; such an evaluation does not count and is not reused.
	Tries         int      `json:"tries,omitempty"`
	Agent         string   `json:"agent"`
	Model         string   `json:"model,omitempty"`
	End           EndClass `json:"end"`
	Error         string   `json:"error,omitempty"`
	Hint          string   `json:"hint,omitempty"`
	RetryAfter    Span     `json:"retry_after,omitempty"`
	Cost          *float64 `json:"cost,omitempty"`
	CostEstimated bool     `json:"cost_estimated,omitempty"`
	CostPartial   bool     `json:"cost_partial,omitempty"`
	Tokens        *Tokens  `json:"tokens,omitempty"`
	TokensPartial bool     `json:"tokens_partial,omitempty"`
	Duration      Span     `json:"duration"`
}

// NoVerdict reports whether the evaluator gave no usable answer, so it said nothing about the work.
func (e Evaluation) NoVerdict() bool { return e.Category == RejectedInvalid && !e.Malformed }

// AsInterrupted returns an evaluation that a signal ended. It keeps what the evaluation cost and drops
// any verdict.
func (e Evaluation) AsInterrupted() Evaluation {
	return Evaluation{
		Agent:         e.Agent,
		Model:         e.Model,
		Tries:         e.Tries,
		Duration:      e.Duration,
		End:           EndInterrupted,
		Error:         "interrupted",
		Cost:          e.Cost,
		CostEstimated: e.CostEstimated,
		CostPartial:   e.CostPartial,
		Tokens:        e.Tokens,
		TokensPartial: e.TokensPartial,
	}
}

// Rejection is the category of an evaluator's rejection.
type Rejection string

// The categories of rejections. The harness sets RejectedInvalid if an answer cannot be used.
const (
	RejectedScope    Rejection = "scope_creep"
	RejectedGap      Rejection = "acceptance_gap"
	RejectedWeakTest Rejection = "weak_test"
	RejectedWrong    Rejection = "tests_pass_but_wrong"
	RejectedHalf     Rejection = "half_finished"
	RejectedSpec     Rejection = "spec_violation"
	RejectedInvalid  Rejection = "invalid_verdict"
)

// Rejections lists the categories that an evaluator may choose from.
func Rejections() []Rejection {
	return []Rejection{RejectedScope, RejectedGap, RejectedWeakTest, RejectedWrong, RejectedHalf, RejectedSpec}
}

// TaskLedger records the evaluations of one task: the latest verdicts and a count of each category.
type TaskLedger struct {
	Task   string
	Last   []Evaluation
	Counts map[Rejection]int
}

package ralph

import (
	"context"
	"time"
)

// Evaluator gives a second opinion on a claim, with fresh context. That it rejects, or cannot be asked, is a value; an error means that the
// harness is in trouble. An Evaluation must say in Tries how often somebody was asked.
type Evaluator interface {
	Evaluate(ctx context.Context, in EvaluationInput) (Evaluation, error)
}

// EvaluationInput is what an evaluator gets to know: the task and the evidence, never the worker's talk.
type EvaluationInput struct {
	Iteration   int
	Task        string // "" for the whole goal
	Title       string
	Goal        string // the goal, or the task's description
	Criteria    []string
	Diff        string
	DiffCut     bool
	Checks      []CheckResult
	TestChanges *BaseTestsRun
	Case        string       // what the worker submitted, where there is such a thing
	Ledger      []Evaluation // the last ones of this task, oldest first
	Recurring   map[Rejection]int
	Dir         string
	Base, Now   TreeState
	Folder      string // where to leave prompt and output; "" keeps nothing
	Marker      string
	Timeout     time.Duration
	Live        func(Activity) // never nil
	// Over says why nobody may be asked once more, with what the evaluation took so far; "" is that somebody may. nil is no limit.
	Over func(so Evaluation) string
}

// Evaluation is one verdict of an evaluator. With an End that is not ok there is no verdict: it could not be asked.
type Evaluation struct {
	Tree          string    `json:"tree,omitempty"`     // that it is about
	Terms         string    `json:"terms,omitempty"`    // a digest of what was asked for
	Cached        bool      `json:"standing,omitempty"` // given before on the same tree and terms: nobody was asked again
	Task          string    `json:"task,omitempty"`
	Accepted      bool      `json:"accepted"`
	Category      Rejection `json:"category,omitempty"`
	Concern       string    `json:"concern,omitempty"`
	Evidence      []string  `json:"evidence,omitempty"` // as file:line, each of which exists
	NextStep      string    `json:"next_step,omitempty"`
	Malformed     bool      `json:"malformed,omitempty"` // a rejection in a form that could not be used; it counts like any other
	Problem       string    `json:"problem,omitempty"`   // why an answer before could not be used as it was
	Tries         int       `json:"tries,omitempty"`     // how often it was asked before it could be understood; with 0 nobody was, and it neither stands nor counts
	Agent         string    `json:"agent"`
	Model         string    `json:"model,omitempty"`
	End           EndClass  `json:"end"`
	Error         string    `json:"error,omitempty"`
	Hint          string    `json:"hint,omitempty"`
	RetryAfter    Span      `json:"retry_after,omitempty"`
	Cost          *float64  `json:"cost,omitempty"`
	CostEstimated bool      `json:"cost_estimated,omitempty"`
	CostPartial   bool      `json:"cost_partial,omitempty"`
	Tokens        *Tokens   `json:"tokens,omitempty"`
	TokensPartial bool      `json:"tokens_partial,omitempty"`
	Duration      Span      `json:"duration"`
}

// NoVerdict reports whether nothing was said about the work: the answers were none.
func (e Evaluation) NoVerdict() bool { return e.Category == RejectedInvalid && !e.Malformed }

// AsInterrupted is what is left of an evaluation that a signal ended, whatever was said in it: what it cost.
func (e Evaluation) AsInterrupted() Evaluation {
	return Evaluation{
		Agent: e.Agent, Model: e.Model, Tries: e.Tries, Duration: e.Duration, End: EndInterrupted, Error: "interrupted",
		Cost: e.Cost, CostEstimated: e.CostEstimated, CostPartial: e.CostPartial, Tokens: e.Tokens, TokensPartial: e.TokensPartial,
	}
}

// Rejection is why an evaluator rejects.
type Rejection string

// The categories of rejections. RejectedInvalid is the harness's word for an answer that is none.
const (
	RejectedScope    Rejection = "scope_creep"
	RejectedGap      Rejection = "acceptance_gap"
	RejectedWeakTest Rejection = "weak_test"
	RejectedWrong    Rejection = "tests_pass_but_wrong"
	RejectedHalf     Rejection = "half_finished"
	RejectedSpec     Rejection = "spec_violation"
	RejectedInvalid  Rejection = "invalid_verdict"
)

// Rejections are the categories that an evaluator may choose from.
func Rejections() []Rejection {
	return []Rejection{RejectedScope, RejectedGap, RejectedWeakTest, RejectedWrong, RejectedHalf, RejectedSpec}
}

// TaskLedger is what evaluators said of one task: the newest verdicts, and how often each category came up.
type TaskLedger struct {
	Task   string
	Last   []Evaluation
	Counts map[Rejection]int
}

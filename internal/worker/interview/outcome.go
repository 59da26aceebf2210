package interview

import "github.com/ralphloop/ralph"

// Status is the result of an interview.
type Status string

// The results of an interview.
const (
	Written      Status = "written"       // there is a plan, and it lints
	NeedsAnswers Status = "needs_answers" // a question got no answer
	NoPlan       Status = "no_plan"       // the model wrote no plan
	OverBudget   Status = "over_budget"   // the model wrote no plan within its budget
	Failed       Status = "failed"        // the model could not be asked, or the interview was cut off
)

// Outcome is the result of an interview and its cost. Unknown figures are nil, never zero. All
// texts are plain.
type Outcome struct {
	Status Status
	Plan
	Text     string   // the list as it would be written
	Warnings []string // warnings about the plan that the model left as they are

	Asked    []Asked
	Question *Question // with NeedsAnswers: the unanswered question

	Spent
	Tools map[string]int // calls by tool name

	End        ralph.EndClass
	Error      string     // one sentence, unless there is a plan
	Hint       string     // what the user can do about it
	RetryAfter ralph.Span // with a limit: until the reset, if known
}

// Spent is what an interview used.
type Spent struct {
	Turns         int           `json:"turns"`
	Agent         string        `json:"agent,omitempty"` // the agent that planned; "" if a model did
	Model         string        `json:"model"`           // the model that answered, as far as known
	Tokens        *ralph.Tokens `json:"tokens"`
	TokensPartial bool          `json:"tokens_partial,omitempty"` // more than Tokens says
	Cost          *float64      `json:"cost"`
	CostEstimated bool          `json:"cost_estimated"`
	CostPartial   bool          `json:"cost_partial,omitempty"` // more was spent than Cost says
	Duration      ralph.Span    `json:"duration"`
}

// Plan is what the model wrote. Its tasks are the new ones, all pending.
type Plan struct {
	Tasks         []ralph.Task `json:"tasks"`
	Overview      string       `json:"overview"`
	OpenQuestions []string     `json:"open_questions"` // what should be decided, but does not hold up the work
	Blockers      []string     `json:"blockers"`       // what keeps tasks from being done until a person acts
	ScopeNotes    []string     `json:"scope_notes"`    // what was left out, and what was assumed
}

// Question is a question that only a person can answer.
type Question struct {
	Number  int      `json:"number"` // from 1
	Text    string   `json:"question"`
	Options []string `json:"options,omitempty"` // to choose from; any other answer is allowed
}

// Asked is a question with its answer. An empty answer lets the model decide.
type Asked struct {
	Question
	Answer string `json:"answer"`
}

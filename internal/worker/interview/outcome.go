package interview

import "github.com/ralphloop/ralph"

// Status says what came of an interview.
type Status string

// What can come of an interview.
const (
	Written      Status = "written"       // there is a plan, and it lints
	NeedsAnswers Status = "needs_answers" // a question was asked that nobody answers
	NoPlan       Status = "no_plan"       // the model did not get there
	OverBudget   Status = "over_budget"   // the model did not get there for what it may cost
	Failed       Status = "failed"        // the model could not be asked, or the interview was cut off
)

// Outcome is what came of an interview, and what it cost. Unknown figures are nil, never zero. All texts are plain.
type Outcome struct {
	Status Status
	Plan
	Text     string   // the list as it would be written
	Warnings []string // what the model was told of its plan and left as it is

	Asked    []Asked
	Question *Question // with NeedsAnswers: what nobody answered

	Spent
	Tools map[string]int // calls by tool name

	End        ralph.EndClass
	Error      string     // one sentence, unless there is a plan
	Hint       string     // what the user can do about it
	RetryAfter ralph.Span // with a limit: until the reset, where known
}

// Spent is what an interview took.
type Spent struct {
	Turns         int           `json:"turns"`
	Model         string        `json:"model"` // that answered, as far as is known
	Tokens        *ralph.Tokens `json:"tokens"`
	TokensPartial bool          `json:"tokens_partial,omitempty"` // more than Tokens says
	Cost          *float64      `json:"cost"`
	CostEstimated bool          `json:"cost_estimated"`
	CostPartial   bool          `json:"cost_partial,omitempty"` // more was spent than Cost says
	Duration      ralph.Span    `json:"duration"`
}

// Plan is what the model wrote. Its tasks are the new ones, all of them pending.
type Plan struct {
	Tasks         []ralph.Task `json:"tasks"`
	Overview      string       `json:"overview"`
	OpenQuestions []string     `json:"open_questions"` // what should be settled, and does not hold up the work
	Blockers      []string     `json:"blockers"`       // what keeps tasks from being done until a person acts
	ScopeNotes    []string     `json:"scope_notes"`    // what was left out, and what was taken for granted
}

// Question is something that only a person can tell.
type Question struct {
	Number  int      `json:"number"` // from 1
	Text    string   `json:"question"`
	Options []string `json:"options,omitempty"` // to choose from; any other answer is as good
}

// Asked is a question with its answer, which may be empty: then the person leaves it to the model.
type Asked struct {
	Question
	Answer string `json:"answer"`
}

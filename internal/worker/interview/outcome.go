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
	Status Status `json:"status"`
	Plan
	Text     string   `json:"-"`                  // the list as it would be written
	Warnings []string `json:"warnings,omitempty"` // what the model was told of its plan and left as it is

	Asked    []Asked   `json:"asked,omitempty"`
	Question *Question `json:"question,omitempty"` // with NeedsAnswers: what nobody answered

	Turns         int            `json:"turns"`
	Tools         map[string]int `json:"tools,omitempty"` // calls by tool name
	Model         string         `json:"model,omitempty"` // that answered, as far as is known
	Tokens        *ralph.Tokens  `json:"tokens,omitempty"`
	TokensPartial bool           `json:"tokens_partial,omitempty"` // more than Tokens says
	Cost          *float64       `json:"cost,omitempty"`
	CostEstimated bool           `json:"cost_estimated,omitempty"`
	CostPartial   bool           `json:"cost_partial,omitempty"` // more was spent than Cost says
	Duration      ralph.Span     `json:"duration"`

	End        ralph.EndClass `json:"end"`
	Error      string         `json:"error,omitempty"`       // one sentence, unless there is a plan
	Hint       string         `json:"hint,omitempty"`        // what the user can do about it
	RetryAfter ralph.Span     `json:"retry_after,omitempty"` // with a limit: until the reset, where known
}

// Plan is what the model wrote. Its tasks are the new ones, all of them pending.
type Plan struct {
	Tasks         []ralph.Task `json:"tasks,omitempty"`
	Overview      string       `json:"overview,omitempty"`
	OpenQuestions []string     `json:"open_questions,omitempty"` // what should be settled, and does not hold up the work
	Blockers      []string     `json:"blockers,omitempty"`       // what keeps tasks from being done until a person acts
	ScopeNotes    []string     `json:"scope_notes,omitempty"`    // what was left out, and what was taken for granted
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

package promise

// Report is what an agent said about its own work in one iteration: claims, never proof. It is kept in a run's log, so its JSON form is stable.
type Report struct {
	Complete       bool     `json:"complete,omitempty"`       // a completion claim, by tag or by status block
	CompleteTag    string   `json:"complete_tag,omitempty"`   // the tag's type; "" when only the block claims
	CompleteText   string   `json:"complete_text,omitempty"`  // what followed the colon
	Blocked        *string  `json:"blocked,omitempty"`        // the last reason, which may be empty
	Decide         *string  `json:"decide,omitempty"`         // the last question, which may be empty
	TasksDone      []string `json:"tasks_done,omitempty"`     // in first-seen order, each once
	Status         *Status  `json:"status,omitempty"`         // the last whole valid block
	StatusProblem  string   `json:"status_problem,omitempty"` // why the last whole block was invalid
	Contradictions []string `json:"contradictions,omitempty"` // such as BLOCKED beside EXIT_SIGNAL: true
	Mentions       []string `json:"mentions,omitempty"`       // tags that were only talked about
	Unknown        []string `json:"unknown,omitempty"`        // types that nobody knows
	Learnings      []string `json:"learnings,omitempty"`      // what the agent proposes to remember
	Phrases        int      `json:"phrases,omitempty"`        // completion phrases in the agent's text
	Text           bool     `json:"text,omitempty"`           // anything but blanks was said at all
}

// Status is one valid status block.
type Status struct {
	State          string `json:"status"`
	TasksCompleted int    `json:"tasks_completed_this_loop"`
	FilesModified  int    `json:"files_modified"`
	Tests          string `json:"tests_status"`
	WorkType       string `json:"work_type"`
	ExitSignal     bool   `json:"exit_signal"`
	Recommendation string `json:"recommendation"`
}

// Claims reports whether the block is a completion claim.
func (s Status) Claims() bool {
	return s.State == "COMPLETE" && s.ExitSignal && s.Tests == "PASSING"
}

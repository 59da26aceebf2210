package promise

import "strings"

// Report is what an agent said about its own work in one iteration: claims, never proof. A run's
// log stores it, so its JSON form is stable.
type Report struct {
	Complete       bool     `json:"complete,omitempty"`       // a completion claim, by tag or status block
	CompleteTag    string   `json:"complete_tag,omitempty"`   // the tag's type; "" if only the block claims
	CompleteText   string   `json:"complete_text,omitempty"`  // the text after the colon
	Blocked        *string  `json:"blocked,omitempty"`        // the last reason, which may be empty
	Decide         *string  `json:"decide,omitempty"`         // the last question, which may be empty
	Untestable     *string  `json:"untestable,omitempty"`     // the last reason why no test shows the work
	TasksDone      []string `json:"tasks_done,omitempty"`     // in the order first seen, each once
	Status         *Status  `json:"status,omitempty"`         // the last complete valid block
	StatusProblem  string   `json:"status_problem,omitempty"` // why the last complete block was invalid
	Contradictions []string `json:"contradictions,omitempty"` // such as BLOCKED with EXIT_SIGNAL: true
	Mentions       []string `json:"mentions,omitempty"`       // tags that were only talked about
	Unknown        []string `json:"unknown,omitempty"`        // tags of unknown types
	Learnings      []string `json:"learnings,omitempty"`      // what the agent wants later iterations to know
	Phrases        int      `json:"phrases,omitempty"`        // completion phrases in the agent's text
	Text           bool     `json:"text,omitempty"`           // the agent wrote anything but white space
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

// WhyNoClaim returns the fields that keep a block from being a claim although it says COMPLETE or
// signals an exit, as "TESTS_STATUS is NOT_RUN". It returns "" for every other block.
func (s Status) WhyNoClaim() string {
	if s.Claims() || s.State == "BLOCKED" || s.State == "IN_PROGRESS" && !s.ExitSignal {
		return ""
	}
	var fields []string
	if s.State != "COMPLETE" {
		fields = append(fields, "STATUS is "+s.State)
	}
	if !s.ExitSignal {
		fields = append(fields, "EXIT_SIGNAL is false")
	}
	if s.Tests != "PASSING" {
		fields = append(fields, "TESTS_STATUS is "+s.Tests)
	}
	return strings.Join(fields, " and ")
}

package ralph

import "context"

// Prompter builds the prompt of one iteration.
type Prompter interface {
	Prompt(ctx context.Context, in PromptInput) (Prompt, error)
}

// Prompt is a built prompt and the parts that it was made of.
type Prompt struct {
	Text  string
	Parts []PromptPart
}

// PromptPart is one part of a prompt, as recorded in the prompt_built event.
type PromptPart struct {
	Name      string `json:"part"`
	Bytes     int    `json:"bytes"`
	Truncated bool   `json:"truncated,omitempty"`
	Hash      string `json:"hash"`
}

// PromptInput is what a Prompter builds a prompt from.
type PromptInput struct {
	Ordinal  int // iteration i
	Of       int // of N, 0 for no limit
	Template string
	Goal     string
	SpecFile string
	// GoalFile and TemplateFile name the files in the workspace that have all of Goal and Template,
	// in case they are too long; "" for none.
	GoalFile, TemplateFile string
	Checks                 []string
	Policy                 Policy
	Diagnose               string   // why this iteration is for diagnosis only
	Last                   Feedback // on the previous iteration

	Dir            string      // the workspace
	Task           *Task       // the task to work on; nil without a list or an open task
	Try            int         // of the task
	RestoreFailure string      // why the task's stashed work was not restored
	ListFile       string      // "" without a list
	Tasks          []TaskState // the whole list
	WhoCommits     string      // "agent", "harness", or "" for neither
	Steering       []SteeringSeen
	Diff           string // since the run began
	DiffCut        bool
	Progress       string // the newest entries
	Learnings      string
	Answers        []AnswerGiven
	OpenQuestion   string // a question from an earlier run that was never answered
	Ledger         []TaskLedger
	ByCase         bool     // the agent is a Submitter
	ByTools        bool     // the agent's model is offered the loop's tools
	NeedsNewTest   bool     // the checks pass already, so only a new test shows the work
	GivenTests     []string // test files that another agent wrote for this work, and that are protected
}

// Feedback is what the next prompt says about the previous iteration.
type Feedback struct {
	Number         int
	Error          string
	Cut            string // the limit at which the iteration was stopped
	Failed         []CheckResult
	Refusals       []Refusal
	GreenNoClaim   bool
	Recommendation string
	StatusProblem  string
	WhyNoClaim     string // the fields that keep the status block from being a claim
	Mismatches     []string
	Mentions       []string
	TaskRefusals   []TaskRefusal
	Proven         []string // tasks
	ListProblems   []string // damage to the task list that the harness repaired
	Tampered       []string // protected files that were changed
	Unseen         []string // added files that checks do not see
	Rejections     []Evaluation
	Evidence       []ToolEvidence // verifiers that the agent ran itself
}

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

// PromptPart is one part of a prompt as the prompt_built event tells it.
type PromptPart struct {
	Name      string `json:"part"`
	Bytes     int    `json:"bytes"`
	Truncated bool   `json:"truncated,omitempty"`
	Hash      string `json:"hash"`
}

// PromptInput is what a Prompter gets to know.
type PromptInput struct {
	Ordinal  int // iteration i
	Of       int // of N, 0 for no cap
	Template string
	Goal     string
	SpecFile string
	Checks   []string
	Policy   Policy
	Diagnose string   // why this iteration is for diagnosis only
	Last     Feedback // of the iteration before

	Dir            string      // the workspace
	Task           *Task       // to work on; nil without a list, or when nothing in it is open
	Try            int         // of the task
	RestoreFailure string      // why what an earlier try left was not brought back into the tree
	ListFile       string      // "" without a list
	Tasks          []TaskState // the whole list
	WhoCommits     string      // "agent", "harness", or "" for nobody
	Steering       []SteeringSeen
	Diff           string // since the run began
	DiffCut        bool
	Progress       string // the newest entries
	Learnings      string
	Answers        []AnswerGiven
	OpenQuestion   string // asked before, and never answered
	Ledger         []TaskLedger
	ByCase         bool // the agent is a Submitter
}

// Feedback is what the iteration before has to say to the next one.
type Feedback struct {
	Number         int
	Error          string
	Failed         []CheckResult
	Refusals       []Refusal
	GreenNoClaim   bool
	Recommendation string
	StatusProblem  string
	Mismatches     []string
	Mentions       []string
	TaskRefusals   []TaskRefusal
	Proven         []string // tasks
	ListProblems   []string // what had to be put back in the task list
	Tampered       []string // protected files that are not as they were
	Unseen         []string // added files that checks do not see
	Rejections     []Evaluation
}

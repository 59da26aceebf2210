package prompt

// Input is everything a prompt may say. What is empty is not spoken of.
type Input struct {
	Ordinal int // iteration i
	Of      int // of N, 0 for no cap

	Template    string // the user's own prompt file
	ProjectRoot string // absolute path of the workspace
	Goal        string // the goal or the text of the spec
	SpecFile    string // where the goal was read, if from a file

	Steering     []string // what the user wants done before anything else, oldest first
	SteeringFile string   // where a finished item is struck off
	Answers      []Answer
	OpenQuestion string // asked by an earlier run and never answered

	Task         *Task  // the one to work on
	ListFile     string // the task list, as people write its path
	Plan         []PlanLine
	TasksAllDone bool // every task is proven, but the run is not complete

	Commits        string   // who commits: CommitsAgent, CommitsHarness, or nobody
	Tags           []string // what completes
	ByCase         bool     // claims are submitted as a case, not printed
	CaseOver       bool     // a refused case was the last
	StatusRequired bool
	Checks         []string
	Diagnose       string // why this iteration is for diagnosis only

	Diff      string // what changed since the run began
	DiffCut   bool   // there is more than Diff holds
	Progress  string // the last entries of the run's diary
	Learnings string // what earlier iterations found worth remembering

	LastError      string
	Proven         []string // tasks proven in the iteration before
	Failed         []Failure
	Refusals       []Refusal
	TaskRefusals   []TaskRefusal
	ListProblems   []string // what was put back in the task list
	Tampered       []string // protected files that are not as they were
	Unseen         []string // added files that checks do not see
	HiddenFailed   bool     // a check failed that nothing may be told about
	Rejections     []Rejection
	GreenNoClaim   bool
	Recommendation string
	StatusProblem  string
	Mismatches     []string
	Mentions       []string
}

// Who commits; nobody if neither.
const (
	CommitsAgent   = "agent"
	CommitsHarness = "harness"
)

// Task is the task of one iteration.
type Task struct {
	ID, Title, Description, Category string

	Acceptance []string
	Checks     []string // its own, beside the run's
	SpecFile   string   // where more is said about it
	Try        int      // how often it was taken up, this time included
	Regressed  bool     // it was proven, and does not hold any more
	NotBack    string   // why what an earlier try left is not in the tree; "" if it is
}

// PlanLine is one task of the list, for the overview. Status is pending, done or failed.
type PlanLine struct {
	ID, Title, Status               string
	Own, Optional, Human, Regressed bool
}

// Answer is what the user answered to a question of the agent's.
type Answer struct{ Question, Answer string }

// Failure is a check that did not pass last time.
type Failure struct{ Name, How, Output string }

// Refusal is a gate that was shut last time.
type Refusal struct{ Code, Detail string }

// Rejection is what an evaluator wants mended.
type Rejection struct {
	Task, Category, Concern, NextStep string

	Evidence []string // as file:line
	Times    int      // how often this category came up so far, this time included
	Standing bool     // it was said before of the same files
}

// TaskRefusal says why the claim for one task was refused last time.
type TaskRefusal struct{ Task, Code, Detail string }

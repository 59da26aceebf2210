package ralph

import "math"

// Task is one item of a task list in any format. Its JSON form is that of .ralph/tasks.json.
type Task struct {
	ID          string     `json:"id"`
	Title       string     `json:"title"`
	Description string     `json:"description,omitempty"`
	Acceptance  []string   `json:"acceptance,omitempty"`
	DependsOn   []string   `json:"depends_on,omitempty"`
	Priority    *int       `json:"priority,omitempty"` // the lowest number comes first; tasks without one come last
	Checks      []string   `json:"checks,omitempty"`   // its own, beside the run's
	Category    string     `json:"category,omitempty"`
	Optional    bool       `json:"optional,omitempty"` // does not block completion
	Human       bool       `json:"human,omitempty"`    // for a person; the run never waits for it
	Proof       ProofRule  `json:"proof,omitempty"`    // what its claim must prove; "" as the run
	Status      TaskStatus `json:"status"`

	SpecFile string `json:"-"` // the file in which the format keeps details; "" for none
}

// Blocks reports whether the run cannot complete while the task is open.
func (t Task) Blocks() bool { return !t.Optional && !t.Human }

// TaskStatus is the state of a task, as the harness knows it.
type TaskStatus string

// The states of a task.
const (
	TaskPending TaskStatus = "pending"
	TaskDone    TaskStatus = "done"
	TaskFailed  TaskStatus = "failed"
	// TaskUnconfirmed is claimed, with passing checks, but not shown: a person must accept it. Task files
	// call it pending.
	TaskUnconfirmed TaskStatus = "unconfirmed"
)

// Word returns the status for people: in files and logs an open task is "pending".
func (s TaskStatus) Word() string {
	if s == TaskPending {
		return "open"
	}
	return string(s)
}

// Tasks owns the task list of one run. The harness's copy is authoritative: marks that an agent writes
// into the file are claims, and what it deletes is restored. Every format of package plan passes the
// same conformance suite.
type Tasks interface {
	// File returns the list's path in the workspace, as people write it.
	File() string

	// List returns the current list, with the states of the last Adopt or Write.
	List() []Task

	// Adopt reads the list while no agent is at work. Changes since the last Adopt or Write are the
	// user's and are accepted. The known states are those that the harness has recorded. They apply to
	// every task whose state the user did not change, and Adopt writes them to the file. If known is
	// nil, at the start of a run, the states in the file apply. If the list cannot be read, the error
	// says where and why, the last good list stays current, and the file is not changed.
	Adopt(known map[string]TaskStatus) error

	// Inspect returns what an agent did to the list since the last Adopt or Write. It changes nothing.
	Inspect() (TaskEdits, error)

	// Write sets these states in the file; other tasks keep theirs. It restores the whole list if an
	// agent damaged it. Otherwise the agent's other edits stay, and tasks that it added join the list
	// as pending. Only the bytes of changed states are touched. If Write fails, the states apply
	// anyway, and the next Adopt writes them first: an agent's edits must never pass for the user's.
	Write(states map[string]TaskStatus) error
}

// TaskEdits describes what an agent did to the list.
type TaskEdits struct {
	Claims     []string // tasks that it marked done, in the list's order
	Added      []string // tasks that it added
	ListDamage []string // a sentence for each deleted task, changed criterion, or unreadable or missing file
}

// TaskTests is an optional interface of Tasks that maps tasks to test files (checks.task_tests).
type TaskTests interface {
	// Tests lists the test files of these tasks as sorted, unique paths in the workspace.
	Tests(ids []string) ([]string, error)
	// Suite lists every file that matches the pattern, except the files of these tasks.
	Suite(without []string) ([]string, error)
}

// TaskState is the part of a task that is needed to choose the next task and to judge it.
type TaskState struct {
	ID        string     `json:"id"`
	Title     string     `json:"title"`
	DependsOn []string   `json:"depends_on,omitempty"`
	Priority  *int       `json:"priority,omitempty"`
	Optional  bool       `json:"optional,omitempty"`
	Human     bool       `json:"human,omitempty"`
	Proof     ProofRule  `json:"proof,omitempty"`
	Status    TaskStatus `json:"status"`
	Proven    ProofWord  `json:"proven,omitempty"`    // how far this run proved it
	Regressed bool       `json:"regressed,omitempty"` // it was done, and its own check now fails
	Tries     int        `json:"tries,omitempty"`     // iterations spent on it without proving it
	Rounds    int        `json:"rounds,omitempty"`    // how often it was abandoned and moved behind the others
	Question  string     `json:"question,omitempty"`  // of its agent; the task waits for the answer
}

// Open reports whether the task keeps the run from completing.
func (t TaskState) Open() bool {
	return !t.Optional && !t.Human && (t.Status != TaskDone || t.Regressed)
}

// Urgency returns the sort key of the task: smaller comes first. Tasks without a priority come last.
func (t TaskState) Urgency() int {
	if t.Priority == nil {
		return math.MaxInt
	}
	return *t.Priority
}

// TaskVerdict is the part of a verdict that concerns the tasks.
type TaskVerdict struct {
	Current string        `json:"current,omitempty"`
	Done    []string      `json:"done,omitempty"`    // proven by this iteration
	Refused []TaskRefusal `json:"refused,omitempty"` // claimed and not proven
	// Unconfirmed lists claims that only a person can settle.
	Unconfirmed []TaskRefusal `json:"unconfirmed,omitempty"`
	Shown       []Showing     `json:"shown,omitempty"`     // why the done ones count as shown
	Regressed   []string      `json:"regressed,omitempty"` // done before; an own check fails now
	Mended      []string      `json:"mended,omitempty"`    // regressed before; all own checks pass now
	GivenUp     string        `json:"given_up,omitempty"`  // the task that is abandoned
	Rejected    bool          `json:"rejected,omitempty"`  // abandoned because the evaluator rejected it too often
	Because     StopReason    `json:"because,omitempty"`   // why the agent itself abandoned it
	Retried     bool          `json:"retried,omitempty"`   // the abandoned task moves behind the others
	Reopened    []string      `json:"reopened,omitempty"`  // regressed tasks that replace the abandoned one
	AllDone     bool          `json:"all_done,omitempty"`  // no blocking task is open
	Question    string        `json:"question,omitempty"`  // the current task waits for an answer to it
}

// TaskRefusal is the reason why a claim for one task was refused.
type TaskRefusal struct {
	Task   string `json:"task"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

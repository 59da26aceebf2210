package ralph

import "math"

// Task is one item of a task list, whatever format it was written in. Its JSON form is that of .ralph/tasks.json.
type Task struct {
	ID          string     `json:"id"`
	Title       string     `json:"title"`
	Description string     `json:"description,omitempty"`
	Acceptance  []string   `json:"acceptance,omitempty"`
	DependsOn   []string   `json:"depends_on,omitempty"`
	Priority    *int       `json:"priority,omitempty"` // the lowest number is worked first; tasks without one come last
	Checks      []string   `json:"checks,omitempty"`   // its own, beside the run's
	Category    string     `json:"category,omitempty"`
	Optional    bool       `json:"optional,omitempty"` // does not block completion
	Human       bool       `json:"human,omitempty"`    // for a person; never waited for
	Status      TaskStatus `json:"status"`

	SpecFile string `json:"-"` // where the format keeps more about it, "" if nowhere
}

// Blocks reports whether the run cannot be complete while the task is open.
func (t Task) Blocks() bool { return !t.Optional && !t.Human }

// TaskStatus is how far a task is, as the harness knows it.
type TaskStatus string

// The states of a task.
const (
	TaskPending TaskStatus = "pending"
	TaskDone    TaskStatus = "done"
	TaskFailed  TaskStatus = "failed"
)

// Tasks owns the task list of one run. The harness's copy is the truth: what an agent writes into the file is a claim, and what it takes away is
// put back. Every format of package plan passes one conformance suite.
type Tasks interface {
	// File names the list: its path in the workspace, as people write it.
	File() string

	// List is the list in force, with the states of the last Adopt or Write.
	List() []Task

	// Adopt reads the list while no agent is at work: what changed since the last Adopt or Write was the user's doing and holds. known are
	// the states that the harness has recorded; they hold for every task whose state the user did not change, and are written to the file.
	// With known nil, at the start of a run, the states in the file are taken as they stand. If the list cannot be read, the error says
	// where and why, the last good one stays in force, and the file is left alone.
	Adopt(known map[string]TaskStatus) error

	// Inspect says what an agent did to the list since the last Adopt or Write. It changes nothing.
	Inspect() (TaskEdits, error)

	// Write brings the file to these states; a task that is not named keeps its own. What an agent injured is put back whole; otherwise the
	// agent's other edits stay, and tasks that it added join the list as pending. Only the bytes of a state that changed are touched.
	// If it fails, the states hold all the same, and the next Adopt does it first: what an agent left is never taken for the user's.
	Write(states map[string]TaskStatus) error
}

// TaskEdits is what an agent did to the list.
type TaskEdits struct {
	Claims     []string // tasks that it marked done, in the list's order
	Added      []string // tasks that it added
	ListDamage []string // tasks deleted, criteria changed, the file broken or gone: a sentence each
}

// TaskTests is an optional power of Tasks: which test files belong to which task (checks.task_tests).
type TaskTests interface {
	// Tests lists the test files of these tasks, sorted, each once, as paths in the workspace.
	Tests(ids []string) ([]string, error)
	// Suite lists every file that the pattern could mean, but those of the tasks named.
	Suite(without []string) ([]string, error)
}

// TaskState is a task as the run knows it: what the choice of the next task and the verdict need, and nothing else.
type TaskState struct {
	ID        string     `json:"id"`
	Title     string     `json:"title"`
	DependsOn []string   `json:"depends_on,omitempty"`
	Priority  *int       `json:"priority,omitempty"`
	Optional  bool       `json:"optional,omitempty"`
	Human     bool       `json:"human,omitempty"`
	Status    TaskStatus `json:"status"`
	Regressed bool       `json:"regressed,omitempty"` // it was done, and its own check turned red
	Tries     int        `json:"tries,omitempty"`     // iterations that it was worked on without being proven
	Rounds    int        `json:"rounds,omitempty"`    // how often it was given up and put behind the others
}

// Open reports whether the run cannot be complete because of this task.
func (t TaskState) Open() bool {
	return !t.Optional && !t.Human && (t.Status != TaskDone || t.Regressed)
}

// Urgency orders tasks: the smaller comes first, and one without a priority last.
func (t TaskState) Urgency() int {
	if t.Priority == nil {
		return math.MaxInt
	}
	return *t.Priority
}

// TaskVerdict is what a verdict says about the tasks.
type TaskVerdict struct {
	Current   string        `json:"current,omitempty"`
	Done      []string      `json:"done,omitempty"`      // proven by this iteration
	Refused   []TaskRefusal `json:"refused,omitempty"`   // claimed and not proven
	Regressed []string      `json:"regressed,omitempty"` // done before, own check red now
	Mended    []string      `json:"mended,omitempty"`    // regressed before, own checks green now
	GivenUp   string        `json:"given_up,omitempty"`  // used up its tries
	Rejected  bool          `json:"rejected,omitempty"`  // not its tries, but its evaluations
	Because   StopReason    `json:"because,omitempty"`   // the agent itself gave it up
	Retried   bool          `json:"retried,omitempty"`   // and is put behind the others
	Reopened  []string      `json:"reopened,omitempty"`  // regressed ones that take the given-up one's place
	AllDone   bool          `json:"all_done,omitempty"`  // no blocking task is open any more
}

// TaskRefusal says why a claim for one task was refused.
type TaskRefusal struct {
	Task   string `json:"task"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

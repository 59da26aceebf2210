package report

import (
	"time"

	"github.com/ralphloop/ralph"
)

// FormatVersion is the version of the JSON form. It increases when a field changes its meaning or
// is removed. New fields do not change it.
const FormatVersion = 1

// Report is a run as a document.
type Report struct {
	Format    int       `json:"format"` // FormatVersion
	Run       string    `json:"run_id"`
	Demo      bool      `json:"demo,omitempty"`
	InSession bool      `json:"in_session,omitempty"` // the agent was a live session
	Workspace string    `json:"workspace"`
	Goal      string    `json:"goal,omitempty"`
	SpecFile  string    `json:"spec_file,omitempty"`
	TaskFile  string    `json:"task_file,omitempty"`
	Profile   string    `json:"profile"`
	Agent     string    `json:"agent"`
	Model     string    `json:"model,omitempty"`
	Sandbox   string    `json:"sandbox,omitempty"` // what the agents ran in
	Evaluator string    `json:"evaluator,omitempty"`
	TestsBy   string    `json:"tests_first,omitempty"` // who wrote tests before any work, and which
	Protects  []string  `json:"protects,omitempty"`    // patterns of protected files
	StartedAt time.Time `json:"started_at"`
	UpdatedAt time.Time `json:"updated_at"` // time of the last event

	Outcome     Outcome      `json:"outcome"`
	Spent       Spent        `json:"spent"`       // by the whole run, including evaluators
	Sessions    []Session    `json:"sessions"`    // the processes that ran it, in order
	Evidence    []Check      `json:"evidence"`    // last result of each check in the last judged iteration
	Gates       []ralph.Gate `json:"gates"`       // of the last verdict that checked gates
	GatesOf     int          `json:"gates_of"`    // the iteration of that verdict; 0 if there is none
	Tasks       []Task       `json:"tasks"`       // of the run's task list
	Claims      []Claim      `json:"claims"`      // what the agent said, and what Ralph saw
	Evaluations []Evaluation `json:"evaluations"` // in order
	Tests       []BaseTests  `json:"tests_changed"`
	Tampering   []Tampering  `json:"tampering"`
	Warnings    []Warning    `json:"warnings"`
	Iterations  []Iteration  `json:"iterations"`
	Checks      []Check      `json:"checks"` // every check that ran, in order, including baselines
	Receipt     Receipt      `json:"receipt"`
}

// Outcome is the status or the result of the run.
type Outcome struct {
	Ended      bool             `json:"ended"`
	Status     ralph.Status     `json:"status"`
	Reason     ralph.StopReason `json:"stop_reason,omitempty"`
	Name       string           `json:"name,omitempty"` // of the exit code, such as COMPLETE
	ExitCode   int              `json:"exit_code"`
	Detail     string           `json:"detail,omitempty"` // why, in one sentence
	Verified   bool             `json:"verified"`
	VerifiedBy []string         `json:"verified_by"`
	Changed    string           `json:"changed,omitempty"` // in one line
}

// Spent is the cost of something. Unreported values are nil, never zero.
type Spent struct {
	Duration      ralph.Span    `json:"duration"`
	Tokens        *ralph.Tokens `json:"tokens"`
	Cost          *float64      `json:"cost"`                   // in dollars
	CostEstimated bool          `json:"cost_estimated"`         // from tokens and prices
	CostPartial   bool          `json:"cost_partial,omitempty"` // the real cost is higher: only a part is known
	TokensPartial bool          `json:"tokens_partial,omitempty"`
}

// Session is a process that ran the run or a part of it.
type Session struct {
	Number  int       `json:"session"` // from 1
	Ralph   string    `json:"ralph"`   // its version
	PID     int       `json:"pid"`
	At      time.Time `json:"at"`
	Resumed bool      `json:"resumed,omitempty"`
	Torn    int64     `json:"torn_bytes,omitempty"` // of an incomplete last line that the process before left
}

// Check is one check that Ralph ran.
type Check struct {
	Name        string            `json:"name"`              // the command, or the number of a hidden check
	Command     string            `json:"command,omitempty"` // if it differs from the name; empty for hidden checks
	Task        string            `json:"task,omitempty"`
	Hidden      bool              `json:"hidden,omitempty"`
	Baseline    bool              `json:"baseline,omitempty"` // ran before an agent worked
	Iteration   int               `json:"iteration"`
	Session     int               `json:"session"`
	At          time.Time         `json:"at"` // when it ended
	Duration    ralph.Span        `json:"duration"`
	Passed      bool              `json:"passed"`
	Broken      bool              `json:"broken,omitempty"` // it could not run
	TimedOut    bool              `json:"timed_out,omitempty"`
	ExitCode    int               `json:"exit_code"`
	Tree        string            `json:"tree,omitempty"`          // it ran on: commit+hash of the differences
	TreeAfter   string            `json:"tree_after,omitempty"`    // after all checks of the iteration, if known
	OutputHash  string            `json:"output_sha256,omitempty"` // of its whole output; empty for hidden checks
	Isolation   string            `json:"isolation,omitempty"`     // overlay, copy or inplace; "" in the workspace itself
	NeedsAccess ralph.Access      `json:"weaker,omitempty"`        // if it needs more than an isolated tree
	Attempts    int               `json:"attempts,omitempty"`      // if more than one
	Flaked      bool              `json:"flaked,omitempty"`        // failed and passed on the same tree
	Attribution ralph.Attribution `json:"attribution,omitempty"`   // clean, regressed, baseline-broken or fixed
	Proof       *Proof            `json:"proof,omitempty"`         // whether it can fail, if that was tested
}

// Proof says whether a passing check can fail.
type Proof struct {
	Canary  ralph.CanaryState `json:"canary"` // red is good: the planted failing test failed
	Detail  string            `json:"detail,omitempty"`
	Tests   int               `json:"tests,omitempty"` // that ran, if known
	Lost    int               `json:"lost,omitempty"`  // ran at the base, but not now
	Missing []string          `json:"missing,omitempty"`

	Environment []string         `json:"environment,omitempty"` // what differs at the base since the run began
	Needs       []string         `json:"needs,omitempty"`       // added test files that tests of the base need
	Flaky       []string         `json:"flaky,omitempty"`
	Quick       bool             `json:"quick,omitempty"`       // the environment was not compared
	BasePassed  bool             `json:"base_passed,omitempty"` // it passed before and did not run again
	Table       []ralph.ProofRun `json:"table,omitempty"`       // the runs that were compared
}

// Task is one task of the list.
type Task struct {
	ID       string           `json:"id"`
	Title    string           `json:"title,omitempty"`
	Status   ralph.TaskStatus `json:"status"`
	Proven   bool             `json:"proven"`    // by this run, and not regressed since
	ProvenIn int              `json:"proven_in"` // iteration; 0 if this run did not prove it
	Tries    int              `json:"tries"`     // counted iterations that worked on it
	Spent    Spent            `json:"spent"`     // by these iterations and by evaluations of the task
	Checks   []Check          `json:"checks,omitempty"`
	Refusals []string         `json:"refusals,omitempty"` // codes of refused claims, without duplicates
}

// Claim is one claim of the agent, with what Ralph saw.
type Claim struct {
	Iteration int      `json:"iteration"`
	Case      int      `json:"case,omitempty"` // number of the case in its iteration; 0 for other claims
	Claimed   string   `json:"claimed"`        // for a case, its summary
	Seen      string   `json:"seen"`
	Holds     Holds    `json:"holds"`
	Refusals  []string `json:"refusals,omitempty"` // codes of a refused case
}

// Holds says whether a claim agrees with what Ralph saw.
type Holds string

// The claim agrees, it does not, or Ralph saw nothing that could tell.
const (
	HoldsYes     Holds = "yes"
	HoldsNo      Holds = "no"
	HoldsUnknown Holds = "unknown"
)

// Evaluation is one verdict of an evaluator.
type Evaluation struct {
	Iteration int             `json:"iteration"`
	At        time.Time       `json:"at"`
	Task      string          `json:"task,omitempty"` // "" for the whole goal
	Agent     string          `json:"agent"`
	Model     string          `json:"model,omitempty"`
	Asked     bool            `json:"asked"`              // false if it could not be asked; then there is no verdict
	Cached    bool            `json:"standing,omitempty"` // verdict reused from the same tree
	Tree      string          `json:"tree,omitempty"`
	Accepted  bool            `json:"accepted"`
	Category  ralph.Rejection `json:"category,omitempty"`
	Concern   string          `json:"concern,omitempty"` // or why it could not be asked
	Evidence  []string        `json:"evidence,omitempty"`
	NextStep  string          `json:"next_step,omitempty"`
	Malformed bool            `json:"malformed,omitempty"` // a rejection in an unusable form; it counts like any other
	Problem   string          `json:"problem,omitempty"`   // why an earlier answer could not be used as it was
	Spent     Spent           `json:"spent"`
}

// BaseTests is the result of running the original tests after the agent changed tests.
type BaseTests struct {
	Iteration int      `json:"iteration"`
	Files     []string `json:"files"`
	Aware     []string `json:"aware,omitempty"` // product code that asks whether it is being tested
	OldPassed bool     `json:"old_passed"`
	Failed    []string `json:"failed,omitempty"` // checks that fail with the old tests
}

// Tampering is what an agent did to files that it must not change.
type Tampering struct {
	Iteration int      `json:"iteration"`
	What      string   `json:"what"` // task_list or protected
	File      string   `json:"file,omitempty"`
	Details   []string `json:"details,omitempty"`
	Unseen    []string `json:"unseen,omitempty"` // added files that checks did not see
	Restored  bool     `json:"restored"`
}

// Warning is a warning that the user saw.
type Warning struct {
	Iteration int    `json:"iteration"`
	Code      string `json:"code"`
	Text      string `json:"text"`
}

// Iteration is one iteration of the run.
type Iteration struct {
	Number      int            `json:"iteration"`
	Session     int            `json:"session"`
	Task        string         `json:"task,omitempty"`
	Agent       string         `json:"agent"`
	Model       string         `json:"model,omitempty"`
	StartedAt   time.Time      `json:"started_at"`
	End         ralph.EndClass `json:"end"` // of the agent
	Error       string         `json:"error,omitempty"`
	Counted     bool           `json:"counted"`
	Claimed     bool           `json:"claimed"`
	Action      ralph.Action   `json:"action"` // of the verdict
	Refusals    []string       `json:"refusals,omitempty"`
	TasksDone   []string       `json:"tasks_done,omitempty"`
	Commit      string         `json:"commit,omitempty"`
	TreeBefore  string         `json:"tree_before,omitempty"`
	TreeAfter   string         `json:"tree_after,omitempty"`   // after the agent ended; the checks ran on it
	TreeChecked string         `json:"tree_checked,omitempty"` // after the checks, if known
	Spent       Spent          `json:"spent"`                  // by the agent only
}

// Receipt says whether the log is unchanged since it was written.
type Receipt struct {
	Head     string `json:"head"`     // of the chain: a hash over the whole log
	Recorded string `json:"recorded"` // the head in the run's result; "" if there is none
	At       int64  `json:"at"`       // the event after which the head was the recorded one
	Events   int64  `json:"events"`
	Linked   int64  `json:"linked"` // events with a link; logs of old versions have none
	Torn     int64  `json:"torn,omitempty"`
	Break    *Break `json:"break"` // the first break; null if the chain is intact
}

// Break is the first place where the log differs from what was written.
type Break struct {
	Seq    int64  `json:"seq"`
	Offset int64  `json:"offset"`
	Why    string `json:"why"`
}

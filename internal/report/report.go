package report

import (
	"time"

	"github.com/ralphloop/ralph"
)

// FormatVersion is the version of the JSON form. It grows when a field changes its meaning or goes away; new fields may come at any time.
const FormatVersion = 1

// Report is a run as a document.
type Report struct {
	Format    int       `json:"format"` // FormatVersion
	Run       string    `json:"run_id"`
	Demo      bool      `json:"demo,omitempty"`
	Workspace string    `json:"workspace"`
	Goal      string    `json:"goal,omitempty"`
	SpecFile  string    `json:"spec_file,omitempty"`
	TaskFile  string    `json:"task_file,omitempty"`
	Profile   string    `json:"profile"`
	Agent     string    `json:"agent"`
	Model     string    `json:"model,omitempty"`
	Evaluator string    `json:"evaluator,omitempty"`
	Protects  []string  `json:"protects,omitempty"` // patterns of protected files
	StartedAt time.Time `json:"started_at"`
	UpdatedAt time.Time `json:"updated_at"` // of the last event

	Outcome     Outcome      `json:"outcome"`
	Spent       Spent        `json:"spent"`       // by the whole run, evaluators included
	Sessions    []Session    `json:"sessions"`    // the processes that ran it, in order
	Evidence    []Check      `json:"evidence"`    // the checks of the last iteration that was judged, each as it stood at the end
	Gates       []ralph.Gate `json:"gates"`       // of the last verdict that asked any
	GatesOf     int          `json:"gates_of"`    // the iteration that they were asked for; 0 if none ever was
	Tasks       []Task       `json:"tasks"`       // of the list that was worked
	Claims      []Claim      `json:"claims"`      // what the agent said, and what the harness saw
	Evaluations []Evaluation `json:"evaluations"` // in order
	Tests       []BaseTests  `json:"tests_changed"`
	Tampering   []Tampering  `json:"tampering"`
	Warnings    []Warning    `json:"warnings"`
	Iterations  []Iteration  `json:"iterations"`
	Checks      []Check      `json:"checks"` // everything that was run, in order; baselines included
	Receipt     Receipt      `json:"receipt"`
}

// Outcome is how the run stands.
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

// Spent is what something cost. What nobody reported is nil, never zero.
type Spent struct {
	Duration      ralph.Span    `json:"duration"`
	Tokens        *ralph.Tokens `json:"tokens"`
	Cost          *float64      `json:"cost"`                   // in dollars
	CostEstimated bool          `json:"cost_estimated"`         // reckoned from tokens
	CostPartial   bool          `json:"cost_partial,omitempty"` // it cost more than that: only a part is known
	TokensPartial bool          `json:"tokens_partial,omitempty"`
}

// Session is one process that ran the run, or a part of it.
type Session struct {
	Number  int       `json:"session"` // from 1
	Ralph   string    `json:"ralph"`   // its version
	PID     int       `json:"pid"`
	At      time.Time `json:"at"`
	Resumed bool      `json:"resumed,omitempty"`
	Torn    int64     `json:"torn_bytes,omitempty"` // of a last line that the one before did not write whole
}

// Check is one check that the harness ran.
type Check struct {
	Name        string            `json:"name"`              // the command; of a hidden one, its number
	Command     string            `json:"command,omitempty"` // where the name is something else; not of hidden ones
	Task        string            `json:"task,omitempty"`
	Hidden      bool              `json:"hidden,omitempty"`
	Baseline    bool              `json:"baseline,omitempty"` // before an agent worked on it
	Iteration   int               `json:"iteration"`
	Session     int               `json:"session"`
	At          time.Time         `json:"at"` // when it ended
	Duration    ralph.Span        `json:"duration"`
	Passed      bool              `json:"passed"`
	Broken      bool              `json:"broken,omitempty"` // it could not run
	TimedOut    bool              `json:"timed_out,omitempty"`
	ExitCode    int               `json:"exit_code"`
	Tree        string            `json:"tree,omitempty"`          // that it ran on: commit+hash of what differs from it
	TreeAfter   string            `json:"tree_after,omitempty"`    // when all checks of the iteration had run, where that was looked at
	OutputHash  string            `json:"output_sha256,omitempty"` // of all that it wrote; not of hidden ones
	Isolation   string            `json:"isolation,omitempty"`     // overlay, copy or inplace; "" in the workspace itself
	NeedsAccess ralph.Access      `json:"weaker,omitempty"`        // it needs more than the view gives
	Attempts    int               `json:"attempts,omitempty"`      // where it was more than one
	Flaked      bool              `json:"flaked,omitempty"`        // red and green on one and the same tree
	Attribution ralph.Attribution `json:"attribution,omitempty"`   // clean, regressed, baseline-broken or fixed
	Proof       *Proof            `json:"proof,omitempty"`         // what its being green is worth, where that was asked
}

// Proof says whether a green check can fail.
type Proof struct {
	Canary  ralph.CanaryState `json:"canary"` // red is what is wanted: a test that must fail failed
	Detail  string            `json:"detail,omitempty"`
	Tests   int               `json:"tests,omitempty"` // that ran, where known
	Lost    int               `json:"lost,omitempty"`  // that ran at the base and did not run now
	Missing []string          `json:"missing,omitempty"`
}

// Task is one task of the list.
type Task struct {
	ID       string           `json:"id"`
	Title    string           `json:"title,omitempty"`
	Status   ralph.TaskStatus `json:"status"`
	Proven   bool             `json:"proven"`    // by this run, and it still holds
	ProvenIn int              `json:"proven_in"` // iteration; 0 if this run did not prove it
	Tries    int              `json:"tries"`     // iterations that worked on it, up to its proof
	Spent    Spent            `json:"spent"`     // by them, evaluations of it included
	Checks   []Check          `json:"checks,omitempty"`
	Refusals []string         `json:"refusals,omitempty"` // of claims for it, each code once
}

// Claim is one thing that the agent said, beside what was seen.
type Claim struct {
	Iteration int      `json:"iteration"`
	Case      int      `json:"case,omitempty"` // the number of a case within its iteration; 0 for a claim of another kind
	Claimed   string   `json:"claimed"`        // of a case, its summary
	Seen      string   `json:"seen"`
	Holds     Holds    `json:"holds"`
	Refusals  []string `json:"refusals,omitempty"` // codes, of a case that was refused
}

// Holds says whether a claim agrees with what was seen.
type Holds string

// It does, it does not, or nothing was seen that could tell.
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
	Asked     bool            `json:"asked"`              // false: it could not be asked, and there is no verdict
	Cached    bool            `json:"standing,omitempty"` // given before on the same tree: not asked again
	Tree      string          `json:"tree,omitempty"`
	Accepted  bool            `json:"accepted"`
	Category  ralph.Rejection `json:"category,omitempty"`
	Concern   string          `json:"concern,omitempty"` // or why it could not be asked
	Evidence  []string        `json:"evidence,omitempty"`
	NextStep  string          `json:"next_step,omitempty"`
	Malformed bool            `json:"malformed,omitempty"` // a rejection in a form that could not be used; it counts like any other
	Problem   string          `json:"problem,omitempty"`   // why an answer before could not be used as it was
	Spent     Spent           `json:"spent"`
}

// BaseTests says how the tests of the base fared where the agent had changed tests.
type BaseTests struct {
	Iteration int      `json:"iteration"`
	Files     []string `json:"files"`
	Aware     []string `json:"aware,omitempty"` // product code that asks whether it is being tested
	OldPassed bool     `json:"old_passed"`
	Failed    []string `json:"failed,omitempty"` // checks that are red with the old tests
}

// Tampering is what an agent did to files that are not its own.
type Tampering struct {
	Iteration int      `json:"iteration"`
	What      string   `json:"what"` // task_list or protected
	File      string   `json:"file,omitempty"`
	Details   []string `json:"details,omitempty"`
	Unseen    []string `json:"unseen,omitempty"` // added files that checks did not see
	Restored  bool     `json:"restored"`
}

// Warning is a sentence that the user was warned with.
type Warning struct {
	Iteration int    `json:"iteration"`
	Code      string `json:"code"`
	Text      string `json:"text"`
}

// Iteration is one turn of an agent.
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
	TreeAfter   string         `json:"tree_after,omitempty"`   // when the agent was gone: what the checks ran on
	TreeChecked string         `json:"tree_checked,omitempty"` // when the checks had run, where that was looked at
	Spent       Spent          `json:"spent"`                  // by the agent alone
}

// Receipt says whether the log is still the one that was written.
type Receipt struct {
	Head     string `json:"head"`     // of the chain: a hash over everything that the log holds
	Recorded string `json:"recorded"` // the head that the run's result tells, "" if it tells none
	At       int64  `json:"at"`       // the event behind which the recorded head was the head
	Events   int64  `json:"events"`
	Linked   int64  `json:"linked"` // events that carry a link; a log of an old version has none
	Torn     int64  `json:"torn,omitempty"`
	Break    *Break `json:"break"` // the first; null if the chain holds
}

// Break is where the log stops to be what was written.
type Break struct {
	Seq    int64  `json:"seq"`
	Offset int64  `json:"offset"`
	Why    string `json:"why"`
}

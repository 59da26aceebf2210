package ralph

import (
	"context"
	"time"
)

// The ways in which a view keeps checks and workspace apart.
const (
	IsolationOverlay = "overlay"
	IsolationCopy    = "copy"
	IsolationInPlace = "inplace"
)

// cut is what is left of an evaluation that a signal ended, whatever was said in it: what it cost.
func (e Evaluation) AsInterrupted() Evaluation {
	return Evaluation{
		Agent: e.Agent, Model: e.Model, Tries: e.Tries, Duration: e.Duration, End: EndInterrupted, Error: "interrupted",
		Cost: e.Cost, CostEstimated: e.CostEstimated, CostPartial: e.CostPartial, Tokens: e.Tokens, TokensPartial: e.TokensPartial,
	}
}

// Copies is an optional power of a Tree that keeps copies. Names are of files below the workspace, with slashes; a link is a file.
type Copies interface {
	// Changes lists the files that differ between two copies, by name.
	Changes(ctx context.Context, from, to string) ([]FileChange, error)
	// Files lists the files of a copy, by name.
	Files(ctx context.Context, id string) ([]string, error)
	// Read gives up to limit bytes of one file of a copy. A link reads as its target. One that is not there is fs.ErrNotExist.
	Read(ctx context.Context, id, name string, limit int) ([]byte, error)
	// Extract writes files of a copy below dir, at their names, programs as programs and links as links. nil are all. Names that the copy does not
	// have are left out.
	Extract(ctx context.Context, id, dir string, names []string) error
	// Join keeps a copy of base with everything that changed between from and to, and names it.
	Join(ctx context.Context, base, from, to string) (string, error)
}

// FileChange is one file that differs between two copies.
type FileChange struct {
	Name string     `json:"name"`
	Kind ChangeKind `json:"kind"`
}

// String is the change as a line for people.
func (c FileChange) String() string { return c.Name + " (" + string(c.Kind) + ")" }

// ChangeKind says how a file differs.
type ChangeKind string

// How a file can differ. One that became a link, or a program, is changed.
const (
	FileAdded   ChangeKind = "added"
	FileChanged ChangeKind = "changed"
	FileDeleted ChangeKind = "deleted"
)

// Examiner looks at what an agent left: what became of protected files, and how checks fare where the agent cannot reach them.
type Examiner interface {
	// Compare says what the difference between two trees means. Trees of which no copy is kept compare as nothing known.
	Compare(ctx context.Context, base, now TreeState) (Tampering, error)
	// Open makes a view. It must be closed. Only one may be open at a time.
	Open(ctx context.Context, in ViewInput) (View, error)
	// Prove asks whether a check that is green in such a view can still fail, and whether the tests that ran at the base run. No view is open.
	Prove(ctx context.Context, in ViewInput, check CheckInput) (Proof, error)
	// BaseText is a protected file as it was at the base.
	BaseText(ctx context.Context, base TreeState, name string) (string, error)
}

// Narrower is an optional power of an Examiner: whether PATH in its views lacks folders that the user's has, because they lie in the workspace.
type Narrower interface {
	Narrows() bool
}

// Tampering is what became of the files that matter to checks.
type Tampering struct {
	Known    bool
	Tampered []FileChange // protected, and changed or deleted
	Unseen   []string     // added, and kept from checks
	Tests    []string     // existed at the base or steer them, are not protected, and changed
	Aware    []string     // product code that asks whether it is being tested and did not at the base, with the line
	Around   []string     // files outside of the tree that steer checks and that this isolation cannot show as they were, with a reason
}

// ViewKind says what a view shows.
type ViewKind string

// The views.
const (
	ViewClaimed  ViewKind = "claimed"   // protected files as at the base, added ones that match absent
	ViewBase     ViewKind = "base"      // everything as at the base
	ViewOldTests ViewKind = "old_tests" // claimed, and every test that existed at the base as it was then
	ViewHidden   ViewKind = "hidden"    // claimed, with the files of hidden checks laid over
	ViewReviewed ViewKind = "reviewed"  // as the agent left it, but what instructs agents as at the base
)

// ViewInput asks for a view.
type ViewInput struct {
	Kind   ViewKind
	Dir    string // the workspace
	Marker string
	Base   TreeState
	Now    TreeState
	Way    Way
	// BaseRed says, to Prove, that the check was red before any agent worked.
	BaseRed bool
}

// Way says how much of the view a check can do with. Isolation must not make a check red that is green in the user's own shell.
type Way string

// The usual way; with the folders of the workspace that are in PATH; and with these, in place.
const (
	WayUsual   Way = ""
	WayPath    Way = "path"
	WayInPlace Way = "inplace"
)

// View is where checks run. It is a Checker: what checks write in it is gone when it is closed, unless Isolation says inplace.
type View interface {
	Checker
	// Isolation is overlay, copy or inplace, and why it is not a stronger one.
	Isolation() (mode, why string)
	Close() error
}

// Proof says what a green check is worth.
type Proof struct {
	Name    string      `json:"name"`
	Task    string      `json:"task,omitempty"`
	Canary  CanaryState `json:"canary"`
	Detail  string      `json:"detail,omitempty"`
	Tests   int         `json:"tests,omitempty"`   // that ran, where known
	Missing []string    `json:"missing,omitempty"` // ran at the base and did not run now; the first of them
	Lost    int         `json:"lost,omitempty"`    // how many are missing
}

// CanaryState says what became of a test that must fail.
type CanaryState string

// A canary turned the check red, stayed without effect though it should have had one, could not turn it red at the base either, or there is none.
const (
	CanaryRed   CanaryState = "red"
	CanaryGreen CanaryState = "green"
	CanaryMute  CanaryState = "mute"
	CanaryNone  CanaryState = "none"
)

// TestsWeighed says how the tests of the base fare on a tree in which they were changed, and which product code knows of them.
type TestsWeighed struct {
	Files     []string      `json:"files"`
	Aware     []string      `json:"aware,omitempty"` // with the line that asks
	Old       []CheckResult `json:"old"`
	OldPassed bool          `json:"old_passed"`
}

// Evaluator gives a second opinion on a claim, with fresh context. That it rejects, or cannot be asked, is a value; an error means that the
// harness is in trouble. An Evaluation must say in Tries how often somebody was asked.
type Evaluator interface {
	Evaluate(ctx context.Context, in EvaluationInput) (Evaluation, error)
}

// EvaluationInput is what an evaluator gets to know: the task and the evidence, never the worker's talk.
type EvaluationInput struct {
	Iteration   int
	Task        string // "" for the whole goal
	Title       string
	Goal        string // the goal, or the task's description
	Criteria    []string
	Diff        string
	DiffCut     bool
	Checks      []CheckResult
	TestChanges *TestsWeighed
	Case        string       // what the worker submitted, where there is such a thing
	Ledger      []Evaluation // the last ones of this task, oldest first
	Recurring   map[Rejection]int
	Dir         string
	Base, Now   TreeState
	Folder      string // where to leave prompt and output; "" keeps nothing
	Marker      string
	Timeout     time.Duration
	Live        func(Activity) // never nil
	// Over says why nobody may be asked once more, with what the evaluation took so far; "" is that somebody may. nil is no limit.
	Over func(so Evaluation) string
}

// Rejection is why an evaluator rejects.
type Rejection string

// The categories of rejections. RejectedInvalid is the harness's word for an answer that is none.
const (
	RejectedScope    Rejection = "scope_creep"
	RejectedGap      Rejection = "acceptance_gap"
	RejectedWeakTest Rejection = "weak_test"
	RejectedWrong    Rejection = "tests_pass_but_wrong"
	RejectedHalf     Rejection = "half_finished"
	RejectedSpec     Rejection = "spec_violation"
	RejectedInvalid  Rejection = "invalid_verdict"
)

// Rejections are the categories that an evaluator may choose from.
func Rejections() []Rejection {
	return []Rejection{RejectedScope, RejectedGap, RejectedWeakTest, RejectedWrong, RejectedHalf, RejectedSpec}
}

// Evaluation is one verdict of an evaluator. With an End that is not ok there is no verdict: it could not be asked.
type Evaluation struct {
	Tree          string    `json:"tree,omitempty"`     // that it is about
	Terms         string    `json:"terms,omitempty"`    // a digest of what was asked for
	Standing      bool      `json:"standing,omitempty"` // given before on the same tree and terms: nobody was asked again
	Task          string    `json:"task,omitempty"`
	Accepted      bool      `json:"accepted"`
	Category      Rejection `json:"category,omitempty"`
	Concern       string    `json:"concern,omitempty"`
	Evidence      []string  `json:"evidence,omitempty"` // as file:line, each of which exists
	NextStep      string    `json:"next_step,omitempty"`
	Malformed     bool      `json:"malformed,omitempty"` // a rejection in a form that could not be used; it counts like any other
	Problem       string    `json:"problem,omitempty"`   // why an answer before could not be used as it was
	Tries         int       `json:"tries,omitempty"`     // how often it was asked before it could be understood; with 0 nobody was, and it neither stands nor counts
	Agent         string    `json:"agent"`
	Model         string    `json:"model,omitempty"`
	End           EndClass  `json:"end"`
	Error         string    `json:"error,omitempty"`
	Hint          string    `json:"hint,omitempty"`
	RetryAfter    Span      `json:"retry_after,omitempty"`
	Cost          *float64  `json:"cost,omitempty"`
	CostEstimated bool      `json:"cost_estimated,omitempty"`
	CostPartial   bool      `json:"cost_partial,omitempty"`
	Tokens        *Tokens   `json:"tokens,omitempty"`
	TokensPartial bool      `json:"tokens_partial,omitempty"`
	Duration      Span      `json:"duration"`
}

// NoVerdict reports whether nothing was said about the work: the answers were none.
func (e Evaluation) NoVerdict() bool { return e.Category == RejectedInvalid && !e.Malformed }

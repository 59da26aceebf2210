package ralph

import "context"

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

// PathStripper is an optional power of an Examiner: whether PATH in its views lacks folders that the user's has, because they lie in the workspace.
type PathStripper interface {
	StripsPath() bool
}

// Tampering is what became of the files that matter to checks.
type Tampering struct {
	Known        bool
	Tampered     []FileChange // protected, and changed or deleted
	Unseen       []string     // added, and kept from checks
	Tests        []string     // existed at the base or steer them, are not protected, and changed
	TestAware    []string     // product code that asks whether it is being tested and did not at the base, with the line
	OutsideFiles []string     // files outside of the tree that steer checks and that this isolation cannot show as they were, with a reason
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
	Access Access
	// BaseRed says, to Prove, that the check was red before any agent worked.
	BaseRed bool
}

// Access says how much of the view a check can do with. Isolation must not make a check red that is green in the user's own shell.
type Access string

// The usual way; with the folders of the workspace that are in PATH; and with these, in place.
const (
	AccessIsolated      Access = ""
	AccessWorkspacePath Access = "path"
	AccessInPlace       Access = "inplace"
)

// View is where checks run. It is a Checker: what checks write in it is gone when it is closed, unless Isolation says inplace.
type View interface {
	Checker
	// Isolation is overlay, copy or inplace, and why it is not a stronger one.
	Isolation() (mode, why string)
	Close() error
}

// The ways in which a view keeps checks and workspace apart.
const (
	IsolationOverlay = "overlay"
	IsolationCopy    = "copy"
	IsolationInPlace = "inplace"
)

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

// BaseTestsRun says how the tests of the base fare on a tree in which they were changed, and which product code knows of them.
type BaseTestsRun struct {
	Files     []string      `json:"files"`
	Aware     []string      `json:"aware,omitempty"` // with the line that asks
	Old       []CheckResult `json:"old"`
	OldPassed bool          `json:"old_passed"`
}

package ralph

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// Examiner inspects what an agent left behind: what happened to protected files, and how checks do
// where the agent cannot reach them.
type Examiner interface {
	// Compare classifies the differences between two trees. If a tree has no snapshot, the result is not Known.
	Compare(ctx context.Context, base, now TreeState) (Tampering, error)
	// Open makes a view. The caller must close it. Only one view may be open at a time.
	Open(ctx context.Context, in ViewInput) (View, error)
	// Prove fills the table of a check that passes in such a view: whether the check can still fail, whether
	// the tests that ran at the base still run, and whether the environment is the same as before. No view
	// may be open.
	Prove(ctx context.Context, in ViewInput, check CheckInput) (Proof, error)
	// WrittenTests lists the test files that were added or changed between two trees.
	WrittenTests(ctx context.Context, base, now TreeState) ([]string, error)
	// RunTests names the tests of a check in such a view. It runs the check only if it did not run in such a
	// view in the same iteration before. No view may be open.
	RunTests(ctx context.Context, in ViewInput, check CheckInput) (TestRun, error)
	// BaseText returns the text of a protected file at the base.
	BaseText(ctx context.Context, base TreeState, name string) (string, error)
}

// DecidingLister is an optional interface of an Examiner. Deciding lists the files that differ between two trees and
// decide what checks show: protected ones, and tests. Tests in files of the product are not listed.
type DecidingLister interface {
	Deciding(ctx context.Context, base, now TreeState) (protected, tests []string, err error)
}

// PathStripper is an optional interface of an Examiner. StripsPath reports whether PATH in its views
// lacks folders of the user's PATH because they are inside the workspace.
type PathStripper interface {
	StripsPath() bool
}

// ChangeDater is an optional interface of an Examiner. LastChange returns which of these files and folders was changed
// last (folders end in a slash), and when, as far as the system tells. It skips those that do not exist.
type ChangeDater interface {
	LastChange(names []string) (name string, at time.Time)
}

// Forker is an optional interface of an Examiner that can prove several checks side by side. Fork returns an Examiner
// for another goroutine. It knows what the original knows.
type Forker interface {
	Fork() Examiner
}

// IgnoredWatcher is an optional interface of an Examiner that watches files outside the tree.
type IgnoredWatcher interface {
	// SettleIgnored records these files as a judgement left them.
	SettleIgnored() error
	// AdoptIgnored makes what changed since SettleIgnored the user's own, because no agent was at work.
	AdoptIgnored() error
	// IgnoredFiles lists ignored files that views of a tree show, and those that they do not, because agents wrote them.
	IgnoredFiles(ctx context.Context, base, now TreeState) (shown, leftOut []string, err error)
}

// OutsideAccepter is an optional interface of an Examiner that shows checks configuration files outside the tree as
// they were before any agent worked.
type OutsideAccepter interface {
	// AcceptOutside takes those of the files as they are now, and returns the names that it knows.
	AcceptOutside(names []string) (known []string, err error)
	// ChangedInCopy lists those that differ now and that a check in a copy would see as they are.
	ChangedInCopy() []string
}

// RowKeeper is an optional interface of an Examiner. KeepRows stores results of checks that the next run in the
// workspace may use, and returns a digest of them; "" if there are none. The run ends with this status, and none of its
// processes is alive.
type RowKeeper interface {
	KeepRows(end Status) (digest string, err error)
}

// Tampering describes what happened to the files that matter to checks.
type Tampering struct {
	Known    bool
	Tampered []FileChange // protected files that were changed or deleted
	Unseen   []string     // added files that are hidden from checks
	Tests    []string     // unprotected tests from the base, and files that control them, that changed
	// TestAware lists product code that detects whether it is being tested and did not at the base. Each
	// entry has the line.
	TestAware []string
	// LeftOut lists ignored files that were added or changed, so that checks do not see them.
	LeftOut []string
	// Environment lists changes that are not part of the tree and decide what checks do: installed
	// libraries that changed while their lock file did not, and links that leave the workspace.
	Environment []string
	// Dependencies lists folders that changed with their lock file and that checks see as they are.
	Dependencies []string
	// OutsideFiles lists changed files outside the tree that affect checks and that this isolation
	// cannot show in their old state. Each entry has the reason.
	OutsideFiles []string
}

// Names returns the names of the files: those that are protected, tests, and code that detects tests.
func (t Tampering) Names() []string {
	names := slices.Concat(t.Unseen, t.Tests)
	for _, c := range t.Tampered {
		names = append(names, c.Name)
	}
	for _, line := range t.TestAware {
		name, _, _ := strings.Cut(line, ": ")
		names = append(names, name)
	}
	return names
}

// ViewKind names the files that a view shows.
type ViewKind string

// The views.
const (
	ViewClaimed    ViewKind = "claimed"     // protected files as at the base, without files added under protected names
	ViewBase       ViewKind = "base"        // everything as at the base
	ViewOldTests   ViewKind = "old_tests"   // claimed, with every test as at the base, and no other
	ViewNewTests   ViewKind = "new_tests"   // the base, with the tests of the claimed tree
	ViewHidden     ViewKind = "hidden"      // claimed, plus the files of hidden checks
	ViewHiddenBase ViewKind = "hidden_base" // the base, plus the files of hidden checks
	ViewGiven      ViewKind = "given"       // the base, plus the tests that an author wrote
	ViewAsLeft     ViewKind = "as_left"     // claimed, with the ignored files that the agent added or changed
	ViewReviewed   ViewKind = "reviewed"    // as the agent left it, with agent instructions as at the base
)

// ViewInput asks for a view.
type ViewInput struct {
	Kind   ViewKind
	Dir    string // the workspace
	Marker string
	Base   TreeState
	Now    TreeState
	Access Access
	// Iteration is the iteration that asks. What an earlier one saw may no longer be true.
	Iteration int
	// Again asks RunTests to run the check even if it ran in such a view before.
	Again bool
	// Answer is the answer of the agent that the check finds in a file; nil if it gets no such file. Views of the
	// base have an empty one, because it is part of the work.
	Answer *string
	// First and Then tell Prove how the check ended before any agent worked, and in which tree. Then is nil
	// if that is not known.
	First TreeState
	Then  *CheckResult
	// Started is called when Prove starts to run a column of the table; nil is allowed.
	Started func(ProofColumn)
	// Disturbed names what a live session started while its processes should be stopped; nil without one. The list
	// grows. A run of a check during which it grew says nothing, whether the check passed or failed.
	Disturbed func() []string
}

// ErrDisturbed means that no run of a check counts, because a live session started processes during each of them.
var ErrDisturbed = errors.New("the session started processes while checks ran")

// DisturbedTries is how often a run of a check is tried that a live session disturbs.
const DisturbedTries = 3

// Disturbances returns what Disturbed names.
func (in ViewInput) Disturbances() []string {
	if in.Disturbed == nil {
		return nil
	}
	return in.Disturbed()
}

// Access is how much of the workspace a check needs to reach. Isolation must not fail a check that
// passes in the user's own shell.
type Access string

// The kinds of access, from the most isolated to the least.
const (
	AccessIsolated      Access = ""        // an isolated view
	AccessWorkspacePath Access = "path"    // a view, with the workspace's folders in PATH
	AccessCopy          Access = "copy"    // a copy, with its folders in PATH, for checks that an overlay makes fail
	AccessInPlace       Access = "inplace" // the workspace itself, with its folders in PATH; only in old logs
)

// View is a Checker that runs checks in its own copy of the files. Close removes what checks wrote in
// it, unless the isolation mode is inplace.
type View interface {
	Checker
	// Isolation returns overlay, copy or inplace, and why the mode is not a stronger one.
	Isolation() (mode, why string)
	Close() error
}

// ErrNoView means that checks can only run in the workspace itself, and that what was asked for must
// not be done there.
var ErrNoView = errors.New("neither an overlay nor a copy of the workspace can be made")

// The modes of isolation between checks and the workspace.
const (
	IsolationOverlay = "overlay"
	IsolationCopy    = "copy"
	IsolationInPlace = "inplace"
)

// TestRun is the result of a check whose tests are known by name.
type TestRun struct {
	Result CheckResult
	Total  int      // how many tests ran; -1 if that is not known
	Ran    []string // the tests that ran, sorted; nil if their names are not known
	Passed []string // those that passed
}

// TestsSeen names the tests that a check ran, and how they ended.
type TestsSeen struct {
	Passed  []string `json:"passed,omitempty"` // sorted, as all lists here
	Failed  []string `json:"failed,omitempty"`
	Skipped []string `json:"skipped,omitempty"`
	// Sum replaces the names if there are too many of them for the log.
	Sum   string `json:"sum,omitempty"`
	Total int    `json:"total"` // how many ran; -1 if that is not known
	// Unstable is how many tests have names that differ from run to run. They are not in the lists.
	Unstable int `json:"unstable,omitempty"`
}

// ProofColumn names a run in the table of a proof.
type ProofColumn string

// The columns of the table.
const (
	ColumnThen    ProofColumn = "then"    // the base, before any agent worked
	ColumnToday   ProofColumn = "today"   // the base with planted tests, at the time of the claim
	ColumnClaimed ProofColumn = "claimed" // the claimed tree
	ColumnCanary  ProofColumn = "canary"  // the claimed product with the base's tests, and planted ones
	// ColumnLiterals is the claimed tree with a wrong expected value in a few tests.
	ColumnLiterals ProofColumn = "literals"
)

// ProofRun is one run in the table of a proof.
type ProofRun struct {
	Column  ProofColumn `json:"column"`
	Exit    int         `json:"exit"`
	Passed  int         `json:"passed,omitempty"` // how many tests of the project passed, if they have names
	Failed  int         `json:"failed,omitempty"`
	Skipped int         `json:"skipped,omitempty"`
	Tests   int         `json:"tests"`             // how many tests of the project ran; -1 if that is not known
	Planted int         `json:"planted,omitempty"` // how many tests were planted, or got a wrong literal
	Fired   int         `json:"fired,omitempty"`   // how many of these failed
	Repeats bool        `json:"repeats,omitempty"` // it repeats a run in which something looked wrong
	Reused  string      `json:"reused,omitempty"`  // the run that it comes from, if that is another one
}

// Proof reports whether a check that passes could have failed.
type Proof struct {
	Name    string      `json:"name"`
	Task    string      `json:"task,omitempty"`
	Canary  CanaryState `json:"canary"`
	Detail  string      `json:"detail,omitempty"`
	Tests   int         `json:"tests,omitempty"`   // how many tests ran, if known
	Missing []string    `json:"missing,omitempty"` // the first tests that ran at the base and no longer run
	Lost    int         `json:"lost,omitempty"`    // how many tests are missing
	// Environment lists what differs between the base before any agent worked and the base today.
	Environment []string `json:"environment,omitempty"`
	// Needs lists added test files without which tests of the base fail.
	Needs []string `json:"needs,omitempty"`
	// Flaky lists tests that passed and failed on one tree.
	Flaky []string `json:"flaky,omitempty"`
	// Quick says that the environment was not compared, and that no literals were changed.
	Quick bool `json:"quick,omitempty"`
	// BasePassed says that the base did not run again, because it passed before and nothing differs from that.
	BasePassed bool `json:"base_passed,omitempty"`
	// Table lists the runs that were compared.
	Table []ProofRun `json:"table,omitempty"`
}

// CanaryState is the effect of a canary: a planted test that must fail.
type CanaryState string

// The effects of a canary.
const (
	CanaryRed   CanaryState = "red"   // the canary made the check fail, as it must
	CanaryGreen CanaryState = "green" // the check passed although the canary should have failed it
	CanaryMute  CanaryState = "mute"  // the canary could not make the check fail at the base either
	CanaryNone  CanaryState = "none"  // no canary exists for the check
)

// BaseTestsRun is the result of running the base's tests on a tree that changed them. It also lists
// the product code that detects whether it is being tested.
type BaseTestsRun struct {
	Files     []string      `json:"files"`
	Aware     []string      `json:"aware,omitempty"` // with the line that detects tests
	Old       []CheckResult `json:"old"`
	OldPassed bool          `json:"old_passed"`
}

// OldBroken reports whether checks cannot run with the original tests, so that nothing is known about them.
func (b BaseTestsRun) OldBroken() bool {
	return !b.OldPassed && len(b.Old) > 0 && !slices.ContainsFunc(b.Old, CheckResult.Failed)
}

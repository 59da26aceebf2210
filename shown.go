package ralph

import "strings"

// WorkSeen is what the harness found out about claimed work, beside the results of the checks. The base
// of a claim is the tree in which the last task was proven, or the run's base.
type WorkSeen struct {
	Unchanged bool `json:"unchanged,omitempty"` // no file differs from the base of the claim, or from the origin
	Restored  bool `json:"restored,omitempty"`  // no file differs from the origin; see Origin
	// NoProduct says that no file but tests, and files that checks do not see, differs from the run's base.
	NoProduct bool     `json:"no_product,omitempty"`
	Tests     []string `json:"tests,omitempty"` // test files that were added or changed since the base of the claim
	// AtBase has the results at the run's base of checks that did not run there before.
	AtBase []CheckResult `json:"at_base,omitempty"`
	// AtOrigin has the results of checks on the tree before earlier runs that did not complete.
	AtOrigin []CheckResult `json:"at_origin,omitempty"`
	// NewTests has the results of checks with these test files and the other files of the base.
	NewTests []NewTestsRun `json:"new_tests,omitempty"`
	// Counts tells how many tests the checks ran, as far as that is known.
	Counts []TestCount `json:"counts,omitempty"`
}

// WorkUndone lists the tasks that were done and that the claimed tree no longer does.
type WorkUndone struct {
	Tasks []UndoneTask `json:"tasks"`
}

// UndoneTask is a task that was done. What showed it does not pass with the tests as they were then.
type UndoneTask struct {
	Task  string   `json:"task"`
	Check string   `json:"check"`
	Tests []string `json:"tests,omitempty"` // that do not pass, if their names are known
}

// String names the task and what no longer passes.
func (u UndoneTask) String() string {
	what := u.Check
	if len(u.Tests) > 0 {
		what = strings.Join(u.Tests, ", ")
	}
	return "the work on " + u.Task + " was undone: " + what + " showed it and no longer passes"
}

// NewTestsRun is how a check that passes on the claimed tree does with the base's product code and the
// claimed tests.
type NewTestsRun struct {
	Name   string `json:"name"`
	Task   string `json:"task,omitempty"`
	Passed bool   `json:"passed"`
	Output string `json:"output,omitempty"` // the end of it
	// Failing lists tests that pass on the claimed tree and do not pass here; empty if no names are known.
	Failing []string `json:"failing,omitempty"`
	Count   int      `json:"count,omitempty"` // how many there are
	// PassedEarlier says that they pass with the product code from before earlier runs that did not complete.
	PassedEarlier bool `json:"passed_earlier,omitempty"`
}

// ShowWork reports whether the tests fail without the work, and did so before earlier runs that did not complete.
func (r NewTestsRun) ShowWork() bool { return !r.Passed && !r.PassedEarlier }

// TestCount is how many tests a check ran.
type TestCount struct {
	Name  string `json:"name"`
	Task  string `json:"task,omitempty"`
	Tests int    `json:"tests"`
}

// Showing is the reason why the goal, or a task, counts as shown.
type Showing struct {
	Task  string   `json:"task,omitempty"` // "" for the goal
	By    ShownBy  `json:"by"`
	Check string   `json:"check,omitempty"` // that failed before, or fails without the work
	Tests []string `json:"tests,omitempty"` // that fail without the work
	Who   string   `json:"who,omitempty"`   // the evaluator or the person that accepted it
	Why   string   `json:"why,omitempty"`   // what the person wrote, or what is missing
}

// ShownBy is a kind of evidence for work.
type ShownBy string

// The kinds of evidence.
const (
	ShownByRunCheck  ShownBy = "check"      // a check of the run failed at the base and passes now
	ShownByTaskCheck ShownBy = "task_check" // the same for a check of the task itself
	ShownByTests     ShownBy = "tests"      // new tests fail without the work
	ShownByEvaluator ShownBy = "evaluator"
	ShownByPerson    ShownBy = "person"
	ShownByTools     ShownBy = "tools"    // only the agent's own tools passed
	ShownUnbroken    ShownBy = "unbroken" // not shown: the user asked for no more than checks that still pass
	ShownByNothing   ShownBy = "nothing"  // not shown: the policy only warns
)

// WorkAccepted records that a person accepts claimed work.
type WorkAccepted struct {
	By    string   `json:"by"`
	Why   string   `json:"why,omitempty"`
	Tasks []string `json:"tasks,omitempty"` // none for the goal
	// Files are workspace files whose changes are the user's own; then it is about nothing else.
	Files   []string `json:"files,omitempty"`
	Message string   `json:"letter,omitempty"` // that brought it
	// Tree and Checks are set if the checks ran again, because the files had changed.
	Tree   TreeState     `json:"tree,omitzero"`
	Checks []CheckResult `json:"checks,omitempty"`
}

// ProofWord is how far exit 0 proves the work.
type ProofWord string

// The words for proof, from the strongest to the weakest.
const (
	ProvenShown     ProofWord = "shown"     // checks or tests show the work, or the evaluator accepted it
	ProvenWorkspace ProofWord = "workspace" // shown, but by checks that ran in the workspace itself
	ProvenAccepted  ProofWord = "accepted"  // a person accepted it
	ProvenUnbroken  ProofWord = "unbroken"  // the user asked for no more than checks that still pass
	ProvenReported  ProofWord = "reported"  // tools that the agent called itself report success
	ProvenNone      ProofWord = "none"
)

package ralph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Checker runs one check on the current workspace. It blocks until every process of the check is
// gone. A check that fails or cannot run is a value. An error means that the harness itself failed.
type Checker interface {
	Check(ctx context.Context, in CheckInput) (CheckResult, error)
}

// CheckInput names one check.
type CheckInput struct {
	Name    string // the command, as the user wrote it
	Command string // the command to run, if it differs from Name
	Dir     string // the workspace
	Folder  string // for the output; "" keeps none
	File    string // the output's file name in Folder
	Marker  string
	Timeout time.Duration
}

// CheckResult is the result of one check.
type CheckResult struct {
	Name      string `json:"name"`
	Passed    bool   `json:"passed"`
	Output    string `json:"output"` // the last 2,000 characters
	ExitCode  int    `json:"exit_code"`
	Duration  Span   `json:"duration"`
	Broken    bool   `json:"broken,omitempty"` // the check cannot run, so it neither passes nor fails
	TimedOut  bool   `json:"timed_out,omitempty"`
	Killed    bool   `json:"killed,omitempty"` // another process may have ended it, so it says nothing about the work
	Truncated bool   `json:"truncated,omitempty"`
	Survivors int    `json:"survivors,omitempty"`
	// FailingTests is how many tests failed, according to their runner; 0 if unknown.
	FailingTests int `json:"failing_tests,omitempty"`
	// Hints say what may have kept a check that failed from passing, and which option changes that. Output ends with
	// them, too, each in a line of its own.
	Hints []string `json:"hints,omitempty"`

	// NotInTree names ignored files without which the check fails and with which it passes.
	NotInTree []string `json:"not_in_tree,omitempty"`

	Task        string      `json:"task,omitempty"`          // the task that the check belongs to; "" for the run
	Command     string      `json:"command,omitempty"`       // the command that ran, if it differs from Name
	Isolation   string      `json:"isolation,omitempty"`     // of the view it ran in: overlay, copy or inplace
	NeedsAccess Access      `json:"weaker,omitempty"`        // access beyond an isolated view that its baseline needed
	Hidden      bool        `json:"hidden,omitempty"`        // the agent only learns whether it passed
	Attempts    int         `json:"attempts,omitempty"`      // set if it ran more than once
	Flaked      bool        `json:"flaked,omitempty"`        // passed and failed on the same tree
	OutputHash  string      `json:"output_sha256,omitempty"` // of the whole output
	Tree        string      `json:"tree,omitempty"`          // the tree that it ran on
	Attribution Attribution `json:"attribution,omitempty"`   // computed from the baseline, not recorded
	Proof       *Proof      `json:"proof,omitempty"`         // recorded as a separate event, not here
	// Reused is the run that the result comes from: the check ended so on the same base, and was not run again.
	Reused string `json:"reused,omitempty"`
	// Tests names the tests that ran. The log has them only for checks that ran before any agent worked.
	Tests *TestsSeen `json:"tests,omitempty"`
}

// FullName returns the check's name, prefixed with its task if it belongs to one.
func (c CheckResult) FullName() string {
	if c.Task == "" {
		return c.Name
	}
	return c.Task + ": " + c.Name
}

// HintLine returns a hint as Output has it.
func HintLine(hint string) string { return "[ralph: " + hint + "]" }

// Printed returns the end of what the check printed: Output without the lines of the hints.
func (c CheckResult) Printed() string {
	printed := c.Output
	for _, hint := range slices.Backward(c.Hints) {
		printed = strings.TrimSuffix(strings.TrimSuffix(printed, HintLine(hint)), "\n")
	}
	return printed
}

// Failed reports whether the check ran and did not pass. A check that cannot run says nothing about the work.
func (c CheckResult) Failed() bool { return !c.Passed && !c.Broken }

// RanToEnd reports whether nothing stopped a check: neither its time limit nor a signal.
func (c CheckResult) RanToEnd() bool { return !c.Broken && !c.TimedOut && !c.Killed }

// FailedInTime reports whether a check ran to its end and failed. One that was stopped might have passed.
func (c CheckResult) FailedInTime() bool { return c.Failed() && c.RanToEnd() }

// HowFailed describes why a check did not pass: its exit code, that it timed out, or that it cannot run.
func (c CheckResult) HowFailed() string {
	switch {
	case c.Broken:
		return "cannot run"
	case c.TimedOut:
		return "timed out"
	}
	return fmt.Sprintf("exit %d", c.ExitCode)
}

// Attribution compares a check with its baseline.
type Attribution string

// The attributions of a check.
const (
	CheckClean     Attribution = "clean"           // passed before, passes now
	CheckRegressed Attribution = "regressed"       // passed before, fails now
	CheckWasBroken Attribution = "baseline-broken" // failed before, fails now
	CheckFixed     Attribution = "fixed"           // failed before, passes now
)

// CheckFuncs is a Checker made of functions, by the name of the check. A function that returns nil passes.
type CheckFuncs map[string]func(ctx context.Context) error

// Check implements Checker.
func (c CheckFuncs) Check(ctx context.Context, in CheckInput) (CheckResult, error) {
	result := CheckResult{Name: in.Name}
	check, ok := c[in.Name]
	if !ok {
		result.Broken, result.ExitCode, result.Output = true, 127, "no such check"
		return result, nil
	}
	if in.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, in.Timeout)
		defer cancel()
	}
	begun := time.Now()
	err := check(ctx)
	result.Duration = Span(time.Since(begun))
	switch {
	case err == nil:
		result.Passed = true
	case errors.Is(err, context.DeadlineExceeded):
		result.TimedOut, result.ExitCode = true, 124
		result.Output = fmt.Sprintf("Timeout after %s", Span(in.Timeout).Short())
	default:
		result.ExitCode, result.Output = 1, err.Error()
	}
	return result, nil
}

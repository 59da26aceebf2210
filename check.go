package ralph

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Checker runs one check on the workspace as it stands. It blocks until every process of the check is gone. A check that fails or cannot run is
// a value; an error means that the harness itself is in trouble.
type Checker interface {
	Check(ctx context.Context, in CheckInput) (CheckResult, error)
}

// CheckInput names one check.
type CheckInput struct {
	Name    string // the command, as the user wrote it
	Command string // what to run, where that is not the name
	Dir     string // the workspace
	Folder  string // where to leave the output; "" keeps none
	File    string // the output's file name in Folder
	Marker  string
	Timeout time.Duration
}

// CheckResult is what the harness saw of one check.
type CheckResult struct {
	Name      string `json:"name"`
	Passed    bool   `json:"passed"`
	Output    string `json:"output"` // the last 2,000 characters
	ExitCode  int    `json:"exit_code"`
	Duration  Span   `json:"duration"`
	Broken    bool   `json:"broken,omitempty"` // it cannot run, as opposed to: it fails
	TimedOut  bool   `json:"timed_out,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
	Survivors int    `json:"survivors,omitempty"`
	Task      string `json:"task,omitempty"` // whose own check it is; "" for the run's

	Command     string      `json:"command,omitempty"`       // what was run, where that is not the name
	Isolation   string      `json:"isolation,omitempty"`     // of the view it ran in: overlay, copy or inplace
	NeedsAccess Access      `json:"weaker,omitempty"`        // it needs more than the view gives, as the baseline showed
	Hidden      bool        `json:"hidden,omitempty"`        // the agent learns of it only whether it passed
	Attempts    int         `json:"attempts,omitempty"`      // where it was run more than once
	Flaked      bool        `json:"flaked,omitempty"`        // red and green on one and the same tree
	OutputHash  string      `json:"output_sha256,omitempty"` // of all that it wrote
	Tree        string      `json:"tree,omitempty"`          // that it ran on
	Attribution Attribution `json:"attribution,omitempty"`   // what the baseline makes of it; not recorded, but reckoned
	Proof       *Proof      `json:"proof,omitempty"`         // not recorded here, but as an event of its own
}

// FullName is the check's name, behind the task whose own check it is.
func (c CheckResult) FullName() string {
	if c.Task == "" {
		return c.Name
	}
	return c.Task + ": " + c.Name
}

// HowFailed says how a check failed: its exit code, or that it timed out.
func (c CheckResult) HowFailed() string {
	if c.TimedOut {
		return "timed out"
	}
	return fmt.Sprintf("exit %d", c.ExitCode)
}

// Attribution compares a check with its baseline.
type Attribution string

// A check was and is green, turned red, was red before, or turned green.
const (
	CheckClean     Attribution = "clean"
	CheckRegressed Attribution = "regressed"
	CheckWasBroken Attribution = "baseline-broken"
	CheckFixed     Attribution = "fixed"
)

// CheckFuncs makes checks of functions, by name: nil is a pass.
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
		result.TimedOut, result.ExitCode, result.Output = true, 124, fmt.Sprintf("Timeout after %s", Span(in.Timeout).Short())
	default:
		result.ExitCode, result.Output = 1, err.Error()
	}
	return result, nil
}

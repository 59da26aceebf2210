package ralph

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ralphloop/ralph/promise"
)

// AgentFunc makes an agent of a function: it gets the prompt and returns what the agent says. An error is a failed iteration.
func AgentFunc(say func(ctx context.Context, prompt string) (string, error)) Agent {
	return agentFunc(say)
}

type agentFunc func(ctx context.Context, prompt string) (string, error)

func (f agentFunc) Run(ctx context.Context, in AgentInput) (AgentOutcome, error) {
	if in.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, in.Timeout)
		defer cancel()
	}
	begun := time.Now()
	text, err := f(ctx, in.Prompt)
	outcome := AgentOutcome{
		End: EndOK, Duration: Span(time.Since(begun)), OutputBytes: int64(len(text)), Said: promise.Parse(text, in.Words),
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		outcome.End, outcome.Error = EndTimeout, fmt.Sprintf("timed out after %s", Span(in.Timeout).Short())
	case err != nil:
		outcome.End, outcome.Error = EndFailed, err.Error()
	case !outcome.Said.Text:
		outcome.End, outcome.Error = EndEmpty, "the agent said nothing"
	}
	return outcome, nil
}

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

package containment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/sandbox"
)

// answerTimeout is how long an engine may take to answer, and createTimeout how long to make something.
const (
	answerTimeout = 30 * time.Second
	createTimeout = 10 * time.Minute
)

// engine is the program of a tier that works elsewhere: docker or sbx.
type engine struct {
	tier    sandbox.Tier
	program string   // its path
	env     []string // the user's
}

// newEngine finds the program of a tier, but not in the workspace: an agent could have put it there.
func newEngine(tier sandbox.Tier, env []string, workspace string) (engine, error) {
	name := map[sandbox.Tier]string{sandbox.Docker: "docker", sandbox.Sbx: "sbx"}[tier]
	path, err := locateOutside(workspace, name, env)
	if err != nil {
		return engine{}, &Unavailable{Tier: tier, Why: name + " is not on PATH", Fix: fixes[tier]}
	}
	return engine{tier: tier, program: path, env: env}, nil
}

// call runs the program and returns what it printed. The error has what it complained about.
func (e engine) call(ctx context.Context, timeout time.Duration, args ...string) (string, error) {
	said, complaint := &bounded{}, &bounded{}
	ended, err := process.Run(ctx, process.Spec{
		Argv: append([]string{e.program}, args...), Env: e.env, Timeout: timeout,
		Stdout: process.Sink{Tap: said}, Stderr: process.Sink{Tap: complaint},
	})
	switch {
	case err != nil:
		return "", fmt.Errorf("call %s: %w", e.tier, err)
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case ended.StartError != nil:
		return "", ended.StartError
	case ended.State == process.TimedOut:
		return "", fmt.Errorf("no answer after %v", timeout)
	case ended.ExitCode != 0:
		first, _, _ := strings.Cut(strings.TrimSpace(complaint.String()), "\n")
		first = strings.TrimRight(first, ".!")
		return said.String(), errors.New(cmp.Or(first, fmt.Sprintf("it ended with %d", ended.ExitCode)))
	}
	return said.String(), nil
}

// unavailable says why the tier does not work; a context that was canceled is another matter.
func (e engine) unavailable(ctx context.Context, why, fix string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &Unavailable{Tier: e.tier, Why: withoutQuestion(why), Fix: fix}
}

// withoutQuestion returns a complaint without the question at its end, which the fix answers: "Is the docker daemon
// running?"
func withoutQuestion(complaint string) string {
	rest, asks := strings.CutSuffix(complaint, "?")
	if end := strings.LastIndex(rest, ". "); asks && end > 0 {
		return complaint[:end]
	}
	return complaint
}

// bounded keeps the first part of an output.
type bounded struct{ strings.Builder }

func (b *bounded) Write(p []byte) (int, error) {
	const enough = 1 << 20
	if b.Len() < enough {
		b.Builder.Write(p)
	}
	return len(p), nil
}

// locateOutside finds a program on PATH, but not in a workspace: an agent could have put it there.
func locateOutside(workspace, name string, env []string) (string, error) {
	folder := real(workspace)
	return process.Locate(name, env, func(path string) bool {
		return isWithin(path, workspace) || isWithin(path, folder) || isWithin(real(path), folder)
	})
}

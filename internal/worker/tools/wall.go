package tools

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

// wallTimeout limits the trial of a sandbox.
const wallTimeout = 30 * time.Second

// withoutWall is the answer to a call whose command could not start because the sandbox failed.
func withoutWall(why string) Output {
	return Output{Text: "the command was not run: the sandbox failed: " + why, Failed: true, NoSandbox: why}
}

// brokenWall says why a command did not start, if the sandbox is the reason; "" otherwise. A command that ran can
// look the same, such as one that starts a sandbox itself. So another one, which does nothing, must fail, too.
func (t bash) brokenWall(ctx context.Context, ended process.Result, said *excerpt) string {
	why := t.wallComplaint(ended, said)
	if why == "" || ended.State == process.NotStarted {
		return why
	}
	var again excerpt
	spec := t.spec(".", t.argv("true")...)
	spec.Stdout, spec.StderrToStdout = process.Sink{Tap: &again}, true
	spec.Timeout, spec.Grace, spec.Guarded, spec.Mask = wallTimeout, t.Grace, true, t.Mask.Writer
	ended, err := process.Run(ctx, t.entered(spec))
	if err != nil {
		return ""
	}
	return t.wallComplaint(ended, &again)
}

// wallComplaint says why a command did not start, as far as its end shows.
func (t bash) wallComplaint(ended process.Result, said *excerpt) string {
	if t.Sandbox == "" || t.Sandbox == sandbox.None {
		return ""
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(said.head)), "\n")
	switch {
	case ended.State == process.NotStarted && !errors.Is(ended.StartError, process.ErrNoDir):
		return ended.StartError.Error()
	case ended.State == process.Exited && t.Sandbox.Failed(ended.ExitCode, first):
		line, _ := plain([]byte(first))
		return cmp.Or(line, fmt.Sprintf("it ended with %d", ended.ExitCode))
	}
	return ""
}

package verify

import (
	"context"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/process"
)

// wallRemark is the last line of the output of a check that did not run because of its wall.
const wallRemark = "The check did not run: its sandbox failed"

// firstLine keeps the first line that is written to it, up to a limit.
type firstLine struct{ kept []byte }

func (f *firstLine) Write(p []byte) (int, error) {
	const limit = 1 << 10
	f.kept = append(f.kept, p[:min(len(p), limit-len(f.kept))]...)
	return len(p), nil
}

func (f *firstLine) text() string {
	line, _, _ := strings.Cut(string(f.kept), "\n")
	return line
}

// wallFailed reports whether a check did not run because its wall could not be made. A check that ran can look the
// same, and would then be excused. So a command that does nothing must fail behind the wall, too.
func (s Shell) wallFailed(ctx context.Context, in ralph.CheckInput, ended process.Result, first *firstLine) bool {
	if !s.looksWalled(ended, first) {
		return false
	}
	var again firstLine
	ended, err := process.Run(ctx, s.inView(process.Spec{
		Argv: process.Shell("true"), Dir: in.Dir, Env: s.Env, Marker: in.Marker, Guarded: true, Timeout: askTimeout,
		Stdout: process.Sink{Tap: &again}, StderrToStdout: true,
	}))
	return err == nil && (ended.State == process.NotStarted || s.looksWalled(ended, &again))
}

func (s Shell) looksWalled(ended process.Result, first *firstLine) bool {
	return s.WallFailed != nil && ended.State == process.Exited && s.WallFailed(ended.ExitCode, first.text())
}

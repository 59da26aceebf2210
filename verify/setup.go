package verify

import (
	"context"
	"errors"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/proof/pristine"
)

// setup installs dependencies in a view before its first command.
type setup struct {
	command string
	view    *pristine.View
	done    bool
	failed  *ralph.CheckResult
}

// prepare runs the setup command, or adds it to a check where nothing that commands write is kept. It
// returns the check to run, or the result of a setup that failed.
func (s *setup) prepare(
	ctx context.Context, shell Shell, check ralph.CheckInput,
) (ralph.CheckInput, *ralph.CheckResult, error) {
	if v, isOverlay := s.view, s.view.Mode() == pristine.Overlay; isOverlay && !v.OnDisk() {
		check.Command = "{ " + s.command + "\n} >/dev/null 2>&1 || exit 1\n" + command(check)
		return check, nil, nil
	}
	if !s.done {
		shell.Prepare, shell.secret = nil, "" // installing needs nothing that is hidden
		enter := shell.Enter
		shell.Enter = func(spec *process.Spec) {
			enter(spec)
			if spec.Enclosure != nil {
				spec.Enclosure.NoNetwork = false // packages come from there
			}
		}
		in := check
		in.Name, in.Command = "checks.setup", s.command
		if in.File != "" {
			in.File = "setup-" + check.File
		}
		result, err := shell.Check(ctx, in)
		if err != nil || ctx.Err() != nil {
			return check, nil, errors.Join(err, ctx.Err())
		}
		if s.done = true; !result.Passed {
			s.failed = &result
		}
	}
	if s.failed == nil {
		return check, nil, nil
	}
	failed := *s.failed
	failed.Name, failed.Broken = check.Name, false
	failed.Output = strings.TrimRight(failed.Output, "\n") + "\n" +
		"checks.setup failed (" + s.failed.HowFailed() + "), so the check did not run: " + s.command
	return check, &failed, nil
}

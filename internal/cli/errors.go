package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/containment"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/runlog"
)

// usage returns an error for a mistake of the caller, with exit code 64.
func usage(format string, args ...any) error {
	return &config.UsageError{Msg: fmt.Sprintf(format, args...)}
}

// exitStatus is the status of a command that has already printed its error.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// exitCode maps every error to a process status. No other code does.
func exitCode(err error) int {
	status, printed := errors.AsType[exitStatus](err)
	switch {
	case err == nil:
		return 0
	case printed:
		return int(status)
	case is[*config.UsageError](err), is[*runlog.TooNew](err):
		return ralph.ExitUsage
	case is[*assembly.Missing](err):
		return ralph.ExitCode(ralph.ProgramMissing, "")
	case is[*containment.Unavailable](err):
		return ralph.ExitCode(ralph.SandboxError, "")
	case is[*assembly.NoKey](err):
		return ralph.ExitCode(ralph.AuthError, "")
	case is[*runlog.Locked](err), is[*goalActive](err), is[*takenOpen](err):
		return ralph.ExitLocked
	case errors.Is(err, ralph.ErrIO), is[*runlog.Damaged](err),
		is[*fs.PathError](err), is[*os.LinkError](err), is[*os.SyscallError](err):
		return ralph.ExitCode(ralph.IOFailed, "")
	}
	return ralph.ExitCode(ralph.Internal, "")
}

// is reports whether an error of type E is in the chain.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// printError prints an error on stderr, or as JSON on stdout.
func (a *app) printError(err error) {
	if is[exitStatus](err) {
		return
	}
	if a.wantsJSON() {
		object := map[string]any{"error": err.Error(), "exit_code": exitCode(err)}
		if writeIndented(a.streams.Out, object) == nil {
			return
		}
	}
	// Errors that list commands have several lines.
	for i, line := range strings.Split(strings.TrimSpace(err.Error()), "\n") {
		if i == 0 {
			line = "ralph: " + line
		}
		fmt.Fprintln(a.errLines(), strings.TrimRight(term.Printable(line), " "))
	}
}

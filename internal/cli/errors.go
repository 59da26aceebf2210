package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/runlog"
)

// usage is a mistake of the caller: exit 64.
func usage(format string, args ...any) error {
	return &config.UsageError{Msg: fmt.Sprintf(format, args...)}
}

// exitStatus carries a status out of a command that has already said what it had to say.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// exitCode is the one switch from an error to a process status.
func exitCode(err error) int {
	status, said := errors.AsType[exitStatus](err)
	switch {
	case err == nil:
		return 0
	case said:
		return int(status)
	case is[*config.UsageError](err), is[*runlog.TooNew](err):
		return ralph.ExitUsage
	case is[*assembly.Missing](err):
		return ralph.ExitCode(ralph.ProgramMissing, "")
	case is[*assembly.NoKey](err):
		return ralph.ExitCode(ralph.AuthError, "")
	case is[*runlog.Locked](err):
		return ralph.ExitLocked
	case errors.Is(err, ralph.ErrIO), is[*runlog.Damaged](err), is[*fs.PathError](err):
		return ralph.ExitCode(ralph.IOFailed, "")
	}
	return ralph.ExitCode(ralph.Internal, "")
}

// is reports whether an error of type E is in the chain.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// printError writes an error where its reader looks for it.
func (a *app) printError(err error) {
	if is[exitStatus](err) {
		return
	}
	if a.wantsJSON() &&
		writeIndented(a.streams.Out, map[string]any{"error": err.Error(), "exit_code": exitCode(err)}) == nil {
		return
	}
	for i, line := range strings.Split(strings.TrimSpace(err.Error()), "\n") { // of several lines where commands are listed
		if i == 0 {
			line = "ralph: " + line
		}
		fmt.Fprintln(a.streams.Err, strings.TrimRight(term.Printable(line), " "))
	}
}

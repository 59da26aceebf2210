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

// exit carries a status out of a command that has already said what it had to say.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// exitCode is the one switch from an error to a process status.
func exitCode(err error) int {
	var (
		status  exit
		misuse  *config.UsageError
		locked  *runlog.Locked
		missing *assembly.Missing
		noKey   *assembly.NoKey
		newer   *runlog.TooNew
		damaged *runlog.Damaged
		file    *fs.PathError
	)
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, &misuse), errors.As(err, &newer):
		return ralph.ExitUsage
	case errors.As(err, &missing):
		return ralph.ExitCode(ralph.ProgramMissing, "")
	case errors.As(err, &noKey):
		return ralph.ExitCode(ralph.AuthError, "")
	case errors.As(err, &locked):
		return ralph.ExitLocked
	case errors.Is(err, ralph.ErrIO), errors.As(err, &damaged), errors.As(err, &file):
		return ralph.ExitCode(ralph.IOFailed, "")
	}
	return ralph.ExitCode(ralph.Internal, "")
}

// tellError writes an error where its reader looks for it.
func (a *app) tellError(err error) {
	var status exit
	if errors.As(err, &status) {
		return
	}
	if a.wantsJSON() && writeIndented(a.streams.Out, map[string]any{"error": err.Error(), "exit_code": exitCode(err)}) == nil {
		return
	}
	for i, line := range strings.Split(strings.TrimSpace(err.Error()), "\n") { // of several lines where commands are listed
		if i == 0 {
			line = "ralph: " + line
		}
		fmt.Fprintln(a.streams.Err, strings.TrimRight(term.Printable(line), " "))
	}
}

package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/proof/canary"
	"github.com/ralphloop/ralph/internal/secrets"
	"github.com/ralphloop/ralph/internal/text"
)

// DefaultOutputLimit is how many bytes of a check's output are kept on disk by default.
const DefaultOutputLimit = 4 << 20

// Shell runs checks with the system's shell. It implements [ralph.Checker]. One value may run many
// checks at once.
type Shell struct {
	// Env is the complete environment of every check, except for the marker that the harness adds.
	Env []string
	// Withheld has the names of the user's variables that are not in Env. The output of a check that fails and mentions
	// one says how to pass it.
	Withheld []string
	// OutputLimit is how many bytes of output the file keeps, half from the beginning and half from
	// the end; 0 means DefaultOutputLimit.
	OutputLimit int64
	// Grace is the time between TERM and KILL after a timeout; 0 means process.DefaultGrace, less
	// than 0 means none.
	Grace time.Duration
	// Enter changes a command so that it runs in a view of the workspace; nil runs it in the
	// workspace itself.
	Enter func(*process.Spec)
	// Wall puts the command into a sandbox, after Enter; nil leaves it outside.
	Wall func(*process.Spec)
	// WallFailed reports whether a command behind the wall did not start because the wall could not be made, by its
	// exit status and the first line of its output; nil if there is no wall.
	WallFailed func(status int, complaint string) bool
	// Hides reports whether the wall hides a file that exists; nil if there is no wall.
	Hides func(path string) bool
	// Keeps reports whether the wall keeps a path from being changed; nil if it keeps none.
	Keeps func(path string) bool
	// Mask masks secrets in the output. A masked secret in a command is the secret itself. nil masks nothing.
	Mask *secrets.Masker
	// Prepare runs before each check and returns the check to run, or the result of a check that cannot
	// be prepared; nil prepares nothing.
	Prepare func(context.Context, Shell, ralph.CheckInput) (ralph.CheckInput, *ralph.CheckResult, error)

	secret string   // an assignment for the shell that runs a hidden check
	needs  []string // what the check can read although it is among hidden or temporary files
	answer *answerFile
}

var _ ralph.Checker = Shell{}

// Check runs one check and waits until all of its processes are gone. The outcome is a value. An
// error means that the output could not be stored, and wraps [ralph.ErrIO]. If ctx is done, the
// check ends as a failure that says so, and the caller must not draw conclusions about the
// workspace.
func (s Shell) Check(ctx context.Context, in ralph.CheckInput) (ralph.CheckResult, error) {
	return s.run(ctx, in, func(out io.Writer) io.WriteCloser { return unchanged{out} })
}

// run runs one check like [Shell.Check]. listen returns the writer that gets the output of the check's processes. What
// that writer writes to out, until it is closed, is the output that is stored and returned. It is not called for a
// check that is empty or whose output cannot be stored.
func (s Shell) run(
	ctx context.Context, in ralph.CheckInput, listen func(out io.Writer) io.WriteCloser,
) (ralph.CheckResult, error) {
	result := ralph.CheckResult{Name: in.Name}
	if strings.TrimSpace(in.Name) == "" {
		result.Broken, result.ExitCode, result.Output = true, -1, "the check is empty; it would run nothing"
		return result, nil
	}
	if s.Prepare != nil {
		prepared, failed, err := s.Prepare(ctx, s, in)
		if failed != nil {
			result = *failed
		}
		if err != nil || failed != nil {
			return result, err
		}
		in = prepared
	}
	kept, err := s.keepOutput(ctx, in)
	if err != nil {
		return result, err
	}
	command := s.Mask.Reveal(cmp.Or(in.Command, in.Name))
	env, removeAnswer, err := s.answer.give(command, s.Env)
	if err != nil {
		return result, errors.Join(err, kept.Close())
	}
	defer removeAnswer()
	masked := s.Mask.Writer(kept)
	listener := listen(masked)
	spec := process.Spec{
		Argv: process.Shell(command), Dir: in.Dir, Env: env, Marker: in.Marker, Guarded: true,
		Stdout: process.Sink{Tap: io.MultiWriter(&kept.first, listener)}, StderrToStdout: true,
		Timeout: in.Timeout, Grace: s.Grace,
	}
	if s.secret != "" {
		stdin, err := sendSecret(&spec, s.secret+"\n"+command)
		if err != nil {
			return result, runError(in.Name, cmp.Or(err, kept.Close()))
		}
		defer stdin.Close()
	}
	spec.Needs = s.needs
	ended, err := process.Run(ctx, s.inView(spec))
	if err == nil && errors.Is(ended.StartError, process.ErrEnclosure) { // it could be created when the view was opened
		err = &process.IOError{Op: "open view", Err: ended.StartError}
	}
	if err = cmp.Or(err, listener.Close(), masked.Close(), kept.Close()); err != nil {
		return result, runError(in.Name, err)
	}
	s.describe(ctx, in, ended, kept, &result)
	return result, nil
}

// describe fills in how a check ended.
func (s Shell) describe(
	ctx context.Context, in ralph.CheckInput, ended process.Result, kept *keptOutput, result *ralph.CheckResult,
) {
	seen, noWall := &kept.seen, ""
	if s.wallFailed(ctx, in, ended, &kept.first) {
		noWall = wallRemark
	}
	result.ExitCode = ended.ExitCode
	result.OutputHash = kept.hash()
	result.Duration = ralph.Span(ended.Duration)
	result.Survivors = ended.Survivors
	result.Truncated = kept.bytes > s.outputLimit()
	result.TimedOut = ended.State == process.TimedOut
	result.Passed = ended.State == process.Exited && ended.Signal == "" && ended.ExitCode == 0
	result.Hints = s.hints(in, ended, string(seen.kept))
	result.Output = seen.text(strings.Join(present(append(
		[]string{cmp.Or(noWall, endRemark(ended, in.Timeout))}, text.Mapped(result.Hints, ralph.HintLine)...)), "\n"))
	if ended.State == process.Exited && !result.Passed && !seen.cut {
		result.FailingTests = canary.CountFailing(string(seen.kept))
	}
	result.Killed = ended.State == process.Exited && !result.Passed && wasKilled(ended.ExitCode, string(seen.kept))
	result.Broken = ended.State == process.NotStarted || noWall != ""
	if ended.State == process.Exited && ended.Signal == "" && !result.Broken {
		switch ended.ExitCode {
		case 126, 127:
			result.Broken = !s.runnable(ctx, in)
		case 1:
			result.Broken = !seen.cut && lacksModule(cmp.Or(in.Command, in.Name), string(seen.kept))
		}
	}
}

// hints returns what may have kept a check from passing, and which options change that.
func (s Shell) hints(in ralph.CheckInput, ended process.Result, printed string) []string {
	if ended.State != process.Exited || ended.ExitCode == 0 {
		return nil
	}
	return present([]string{hintHidden(printed, s.Hides), hintKept(printed, s.Keeps), s.hintWithheld(in, printed)})
}

// present returns the texts that are not empty, or nil.
func present(texts []string) (all []string) {
	for _, words := range texts {
		if words != "" {
			all = append(all, readable([]byte(words)))
		}
	}
	return all
}

// StripsPath reports whether the environment's PATH leads into a workspace.
func (s Shell) StripsPath(dir string) bool {
	list, _ := s.variable("PATH")
	kept := Shell{Env: WithoutWorkspace([]string{"PATH=" + list}, dir)}
	without, _ := kept.variable("PATH")
	return without != list
}

// inView returns the command as it runs in the view.
func (s Shell) inView(spec process.Spec) process.Spec {
	if s.Enter != nil {
		s.Enter(&spec)
	}
	if s.Wall != nil {
		s.Wall(&spec)
	}
	return spec
}

func (s Shell) outputLimit() int64 { return cmp.Or(max(s.OutputLimit, 0), DefaultOutputLimit) }

func outputPath(in ralph.CheckInput) (string, error) {
	if in.Folder == "" || in.File == "" {
		return "", nil
	}
	path := filepath.Join(in.Folder, in.File)
	return path, os.MkdirAll(filepath.Dir(path), 0o700)
}

func runError(name string, err error) error {
	if _, storage := errors.AsType[*process.IOError](err); storage {
		return fmt.Errorf("run check %q: %w: %w", name, ralph.ErrIO, err)
	}
	return fmt.Errorf("run check %q: %w", name, err)
}

// endRemark is the line that the harness adds to the output of a check that it ended or could not
// start.
func endRemark(ended process.Result, timeout time.Duration) string {
	switch ended.State {
	case process.TimedOut:
		return "Timeout after " + strconv.FormatFloat(timeout.Seconds(), 'f', -1, 64) + "s"
	case process.Canceled:
		return "Interrupted"
	case process.NotStarted:
		return "The shell did not start: " + ended.StartError.Error()
	}
	if ended.OutOfMemory {
		return "Killed for memory"
	}
	return ""
}

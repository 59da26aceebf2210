package verify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
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
)

// DefaultCap is how many bytes of a check's output are kept on disk when a Shell names
// no other number.
const DefaultCap = 4 << 20

// Shell runs checks with the system's shell. It implements [ralph.Checker], and one
// value may run many checks at once.
type Shell struct {
	// Env is the whole environment of every check; the harness's marks are added.
	Env []string
	// Cap is how many bytes of output the file keeps, half of them from the beginning
	// and half from the end; 0 is DefaultCap.
	Cap int64
	// Grace is the time between TERM and KILL at a time-out; 0 is process.DefaultGrace,
	// less than 0 none.
	Grace time.Duration
	// Enter has a check see the workspace as a view shows it; nil leaves everything as it is.
	Enter func(*process.Spec)
}

var _ ralph.Checker = Shell{}

// Check runs one check and waits until its whole tree is gone. How it fared is a
// value; an error means that its output could not be stored and wraps [ralph.ErrIO]. A
// done ctx ends the check as a failure that says so: whoever ended ctx knows that this
// tells nothing about the workspace.
func (s Shell) Check(ctx context.Context, in ralph.CheckInput) (ralph.CheckResult, error) {
	result := ralph.CheckResult{Name: in.Name}
	if strings.TrimSpace(in.Name) == "" {
		result.Broken, result.ExitCode, result.Output = true, -1, "the check is empty, it would run nothing"
		return result, nil
	}
	path, err := outputPath(in)
	if err != nil {
		return result, fmt.Errorf("keep output of check %q: %w: %w", in.Name, ralph.ErrIO, err)
	}
	var seen tail
	whole := sha256.New()
	ended, err := process.Run(ctx, s.entered(process.Spec{
		Argv: process.Shell(cmp.Or(in.Command, in.Name)), Dir: in.Dir, Env: s.Env, Marker: in.Marker,
		Stdout: process.Sink{Path: path, Limit: s.cap(), Tap: io.MultiWriter(&seen, whole)}, StderrToStdout: true,
		Timeout: in.Timeout, Grace: s.Grace,
	}))
	if err != nil {
		return result, runError(in.Name, err)
	}
	result.ExitCode = ended.ExitCode
	result.OutputHash = hex.EncodeToString(whole.Sum(nil))
	result.Duration = ralph.Span(ended.Duration)
	result.Survivors = ended.Survivors
	result.Truncated = ended.StdoutBytes > s.cap()
	result.TimedOut = ended.State == process.TimedOut
	result.Passed = ended.State == process.Exited && ended.Signal == "" && ended.ExitCode == 0
	result.Output = seen.text(remark(ended, in.Timeout))
	result.Broken = ended.State == process.NotStarted
	if ended.State == process.Exited && ended.Signal == "" && (ended.ExitCode == 126 || ended.ExitCode == 127) {
		result.Broken = !s.runnable(ctx, in)
	}
	return result, nil
}

// StripsPath reports whether the environment's PATH leads into a workspace.
func (s Shell) StripsPath(dir string) bool {
	list, _ := s.variable("PATH")
	kept := Shell{Env: WithoutWorkspace([]string{"PATH=" + list}, dir)}
	without, _ := kept.variable("PATH")
	return without != list
}

// entered is a command as the view has it.
func (s Shell) entered(spec process.Spec) process.Spec {
	if s.Enter != nil {
		s.Enter(&spec)
	}
	return spec
}

func (s Shell) cap() int64 { return cmp.Or(max(s.Cap, 0), DefaultCap) }

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

// remark is the line that the harness adds below the output of a check that did not
// come to its own end.
func remark(ended process.Result, timeout time.Duration) string {
	switch ended.State {
	case process.TimedOut:
		return "Timeout after " + strconv.FormatFloat(timeout.Seconds(), 'f', -1, 64) + "s"
	case process.Canceled:
		return "Interrupted"
	case process.NotStarted:
		return "The shell did not start: " + ended.StartError.Error()
	}
	return ""
}

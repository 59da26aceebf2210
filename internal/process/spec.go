package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

const (
	// MarkerVariable contains Spec.Marker in the environment of every process of a tree.
	MarkerVariable = "RALPH_PROCESS_MARKER"

	// DefaultGrace is the time between SIGTERM and SIGKILL if a Spec sets none. Agent programs were
	// seen to need 1.7 s to stop the tools that they run.
	DefaultGrace = 3 * time.Second

	// tokenVariable distinguishes trees that share one marker.
	tokenVariable = "RALPH_PROCESS_TREE"
)

// Spec is one command, fully explicit: nothing is inherited that is not named here.
type Spec struct {
	// Argv is the program and its arguments. A bare program name is looked up in the PATH of Env; a
	// relative path with a slash is relative to Dir.
	Argv []string
	// Dir is the working folder; default: the harness's own.
	Dir string
	// Env is the whole environment as KEY=value; of duplicates the last counts. Without a PATH the
	// program is looked up in the usual system folders.
	Env []string

	// Stdin is the program's input; Run does not close it. It is a file, so that no goroutine has to
	// feed it and a program that does not read cannot block one.
	Stdin *os.File
	// StdinFile is the path of a regular file to use instead. With neither the program reads
	// /dev/null.
	StdinFile string

	// Stdout and Stderr are the destinations of the two streams.
	Stdout, Stderr Sink
	// StderrToStdout sends both streams to Stdout, in the order of writing, like 2>&1. Stderr must
	// then be empty.
	StderrToStdout bool

	// Timeout limits the whole run; default: no limit.
	Timeout time.Duration
	// IdleTimeout limits the time without a byte on either stream; default: no limit.
	IdleTimeout time.Duration
	// Grace is the time between SIGTERM and SIGKILL; default: DefaultGrace; less than 0: none.
	Grace time.Duration

	// Mask returns a writer through which the output of each stream goes before it is stored or tapped, for
	// secrets. Its Close passes on what it kept back. Default: none.
	Mask func(io.Writer) io.WriteCloser `json:"-"`

	// Marker is set in the environment as MarkerVariable, for Dead. Several trees may share one.
	// Default: a random marker.
	Marker string

	// Needs are files and folders that the program must be able to read. Run ignores them: they are for a sandbox
	// that hides others.
	Needs []string

	// Guarded puts a process of ours between this one and the program. It adopts every orphan of the
	// tree, and kills the tree if this process dies, also by SIGKILL. It has no effect on systems other
	// than Linux.
	Guarded bool
	// Filtered lets the guard make the connections of the tree, so that none reaches the server that
	// gives a machine of a cloud its credentials. It needs Guarded, and Linux 5.10 on x86-64 or ARM.
	Filtered bool

	// Limits are what the tree may use. They need Guarded.
	Limits Limits

	// Ended, if set, ends what the program started out of reach, such as a container. Run calls it when the
	// tree is gone, and returns afterwards. It may add to the result. The context is never canceled.
	Ended func(context.Context, *Result) `json:"-"`

	// Enclosure, if set, makes the tree see a different file system. The program is looked up, and Dir
	// is entered, inside it.
	Enclosure *Enclosure
	makeOnly  bool // exit when the enclosure is complete; there is no program
}

// Sink is the destination of one stream: a capped file, a live consumer, both or neither. The
// stream is always read, so the program never blocks on it.
type Sink struct {
	// Path is the file, created or truncated with mode 0600; default: no file.
	Path string
	// Limit is how many bytes the file keeps: half of them from the start, half from the end. It must
	// be positive if Path is set.
	Limit int64
	// Tap sees every byte, also those that the file does not keep. It is called from one goroutine per
	// stream and must not block for long or keep the slice. An error ends the tree, and Run returns
	// it as an *IOError. A panic also ends the tree, and continues in the goroutine that called Run as
	// a *TapPanic.
	Tap io.Writer
}

// State is how a tree ended.
type State string

const (
	// Exited means that the main process ended by itself, with any status.
	Exited State = "exited"
	// TimedOut means that Spec.Timeout ended it.
	TimedOut State = "timed_out"
	// Idle means that Spec.IdleTimeout ended it.
	Idle State = "idle"
	// Canceled means that the context ended it, or was canceled before it started.
	Canceled State = "canceled"
	// Aborted means that its output could not be stored or consumed; Run returns
	// the error.
	Aborted State = "aborted"
	// NotStarted means that there never was a process; see Result.StartError.
	NotStarted State = "not_started"
)

// Result describes how one process tree ran and ended.
type Result struct {
	State State
	// ExitCode is the status of the main process: 128+n if signal n killed it; 127
	// if the program was not found, 126 if it cannot be executed, -1 if it did not
	// start for another reason.
	ExitCode int
	// Signal names the signal that killed the main process ("killed", "terminated"); "" if it exited.
	Signal string
	// OutOfMemory means that a SIGKILL ended a guarded program, or a program that its shell waited for
	// (status 137), and that the kernel killed a process for memory meanwhile.
	OutOfMemory bool
	// MemoryKills counts the processes that were killed because the tree reached its limit of memory. The
	// program may have survived that.
	MemoryKills int
	// StartError says why there was no process. It wraps ErrNotFound, ErrNotExecutable, ErrNoDir,
	// ErrEnclosure, ErrLimits, ErrFilter or ErrGuard where that is the reason.
	StartError error

	// Pid is the process ID of the main process; 0 if there was none.
	Pid int
	// Duration is the time from the start until the tree was gone.
	Duration time.Duration
	// CPU is the user and system time of the main process, of all processes that it waited for, and of
	// orphans that we reaped.
	CPU time.Duration

	StdoutBytes, StderrBytes         int64
	StdoutTruncated, StderrTruncated bool
	// OutputHeld means that a process out of our reach kept a stream open after the end, so that later
	// output is lost.
	OutputHeld bool

	// Survivors counts the processes that outlived the main process and were killed; 0 after a clean
	// exit.
	Survivors int
	// SurvivorNames are the names of the first of them, at most 8.
	SurvivorNames []string
	// Unkillable counts processes that are still alive: those of another user, or stuck in the kernel.
	Unkillable int
}

// Errors that say why a process could not be started; see Result.StartError.
var (
	ErrNotFound      = errors.New("program not found")
	ErrNotExecutable = errors.New("program not executable")
	ErrNoDir         = errors.New("working folder not usable")
)

// IOError is trouble on the harness's side: an output file that cannot be created or written, an
// input file that cannot be read, or no pipe.
type IOError struct {
	Op   string // the failed operation, such as "create stdout file"
	Path string // the file, if there is one
	Err  error
}

func (e *IOError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("%s: %v", e.Op, e.Err)
	}
	return fmt.Sprintf("%s %s: %v", e.Op, e.Path, e.Err)
}

// Unwrap returns the cause, for errors.Is(err, syscall.ENOSPC) and the like.
func (e *IOError) Unwrap() error { return e.Err }

// TapPanic is the value that Run panics with after a Tap panicked and the tree is gone.
type TapPanic struct {
	Value any    // what the Tap panicked with
	Stack []byte // where it did
}

func (p *TapPanic) Error() string {
	return fmt.Sprintf("tap panicked: %v\n%s", p.Value, p.Stack)
}

func (s *Spec) validate() error {
	switch {
	case s.Limits != Limits{} && !s.Guarded:
		return errors.New("check spec: limits need a guard")
	case len(s.Argv) == 0 || s.Argv[0] == "":
		return errors.New("check spec: no program")
	case s.Stdin != nil && s.StdinFile != "":
		return errors.New("check spec: both Stdin and StdinFile")
	case s.StderrToStdout && s.Stderr != Sink{}:
		return errors.New("check spec: both StderrToStdout and Stderr")
	case s.Stdout.Path != "" && s.Stdout.Path == s.Stderr.Path:
		return errors.New("check spec: Stdout and Stderr use one file; set StderrToStdout instead")
	case s.Stdout.Path != "" && s.Stdout.Limit <= 0, s.Stderr.Path != "" && s.Stderr.Limit <= 0:
		return errors.New("check spec: an output file needs a Limit")
	}
	return nil
}

func (s *Spec) grace() time.Duration {
	return max(cmp.Or(s.Grace, DefaultGrace), 0)
}

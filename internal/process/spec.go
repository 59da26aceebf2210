package process

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

const (
	// MarkerVariable holds Spec.Marker in the environment of every process of a tree.
	MarkerVariable = "RALPH_PROCESS_MARKER"

	// DefaultGrace is the time between TERM and KILL when a Spec names none.
	// Agent programs were seen to need 1.7 s to stop the tools that they run.
	DefaultGrace = 3 * time.Second

	// tokenVariable tells trees apart that share one marker.
	tokenVariable = "RALPH_PROCESS_TREE"
)

// Spec is one command, fully explicit: nothing is inherited that is not named here.
type Spec struct {
	// Argv is the program and its arguments. A bare program name is looked up in
	// the PATH of Env, a relative one with a slash is taken from Dir.
	Argv []string
	// Dir is the working folder; "" is the harness's own.
	Dir string
	// Env is the whole environment as KEY=value; of duplicates the last counts.
	// Without a PATH in it the usual system folders are searched for the program.
	Env []string

	// Stdin is what the program reads; it is not closed. It is a file, so that no
	// goroutine feeds it and a program that does not read cannot block anybody.
	Stdin *os.File
	// StdinFile is the path of a regular file instead. With neither the program reads
	// /dev/null.
	StdinFile string

	// Stdout and Stderr say where the two streams go.
	Stdout, Stderr Sink
	// StderrToStdout puts both streams into Stdout, in the order of writing, as
	// 2>&1 does. Stderr must then be empty.
	StderrToStdout bool

	// Timeout bounds the whole run; 0 is no bound.
	Timeout time.Duration
	// IdleTimeout bounds the time without a byte on either stream; 0 is no bound.
	IdleTimeout time.Duration
	// Grace is the time between TERM and KILL; 0 is DefaultGrace, less than 0 none.
	Grace time.Duration

	// Marker is put into the environment as MarkerVariable, for Sweep. Several
	// trees may share one. "" is a random one.
	Marker string

	// Enclosure makes the tree see the file system otherwise; nil leaves it alone.
	// The program is looked up, and Dir is entered, as they are seen inside.
	Enclosure *Enclosure
	makeOnly  bool // end when the enclosure is made: there is no program
}

// Sink is where one stream goes: to a capped file, to a live consumer, to both, or
// nowhere. The stream is read in every case, so the program never blocks on it.
type Sink struct {
	// Path is the file, made anew with mode 0600; "" is none.
	Path string
	// Cap is how many bytes the file keeps: half of them from the beginning, half
	// from the end. It must be positive if Path is set.
	Cap int64
	// Tap sees every byte, also those that the cap cuts. It is called from one
	// goroutine per stream and must not block for long or keep the slice. An error
	// ends the tree and comes back from Run. A panic ends the tree, too, and goes
	// on in the goroutine that called Run, as a *TapPanic.
	Tap io.Writer
}

// State is how a tree ended.
type State string

const (
	// Exited means that the main process ended by itself, with whatever status.
	Exited State = "exited"
	// TimedOut means that Spec.Timeout ended it.
	TimedOut State = "timed_out"
	// Idle means that Spec.IdleTimeout ended it.
	Idle State = "idle"
	// Canceled means that the context ended it, or was done before it began.
	Canceled State = "canceled"
	// Aborted means that its output could not be stored or consumed; Run returns
	// the error.
	Aborted State = "aborted"
	// NotStarted means that there never was a process; see Result.StartError.
	NotStarted State = "not_started"
)

// Result is the whole story of one process tree.
type Result struct {
	State State
	// ExitCode is the status of the main process: 128+n if signal n killed it; 127
	// if the program was not found, 126 if it cannot be executed, -1 if it did not
	// start for another reason.
	ExitCode int
	// Signal names the signal that killed the main process ("killed", "terminated"); "" if it exited.
	Signal string
	// StartError says why there was no process. errors.Is knows ErrNotFound,
	// ErrNotExecutable, ErrNoDir and ErrEnclosure.
	StartError error

	// Pid was the main process's; 0 if there was none.
	Pid int
	// Duration is from the start until the tree was gone.
	Duration time.Duration
	// CPU is user and system time of the main process and of all that it waited
	// for, and of orphans that came back to us.
	CPU time.Duration

	StdoutBytes, StderrBytes         int64
	StdoutTruncated, StderrTruncated bool
	// OutputHeld says that somebody out of reach kept a stream open after the end,
	// so that what came later is lost.
	OutputHeld bool

	// Survivors counts the processes that outlived the main process and had to be
	// killed; 0 after a clean exit.
	Survivors int
	// SurvivorNames are the first of their names, at most 8.
	SurvivorNames []string
	// Unkillable counts those that are still alive: run by another user, or stuck
	// in the kernel.
	Unkillable int
}

// Errors that say why a process could not be started; see Result.StartError.
var (
	ErrNotFound      = errors.New("program not found")
	ErrNotExecutable = errors.New("program not executable")
	ErrNoDir         = errors.New("working folder not usable")
)

// IOError is trouble on the harness's side: an output file that cannot be made or
// written, an input file that cannot be read, no pipe to be had.
type IOError struct {
	Op   string // what was tried, as "create stdout file"
	Path string // the file, if it was about one
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

// TapPanic is what Run panics with after a Tap panicked and the tree is gone.
type TapPanic struct {
	Value any    // what the Tap panicked with
	Stack []byte // where it did
}

func (p *TapPanic) Error() string {
	return fmt.Sprintf("tap panicked: %v\n%s", p.Value, p.Stack)
}

func (s *Spec) validate() error {
	switch {
	case len(s.Argv) == 0 || s.Argv[0] == "":
		return errors.New("check spec: no program")
	case s.Stdin != nil && s.StdinFile != "":
		return errors.New("check spec: both Stdin and StdinFile")
	case s.StderrToStdout && s.Stderr != Sink{}:
		return errors.New("check spec: both StderrToStdout and Stderr")
	case s.Stdout.Path != "" && s.Stdout.Path == s.Stderr.Path:
		return errors.New("check spec: Stdout and Stderr in one file, which is StderrToStdout")
	case s.Stdout.Path != "" && s.Stdout.Cap <= 0, s.Stderr.Path != "" && s.Stderr.Cap <= 0:
		return errors.New("check spec: an output file needs a Cap")
	}
	return nil
}

func (s *Spec) grace() time.Duration {
	return max(cmp.Or(s.Grace, DefaultGrace), 0)
}

package agent

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/promise"
	"github.com/ralphloop/ralph/sandbox"
)

// Exit statuses with which a shell reports that a program is missing or cannot be executed.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// exitSignaled are the statuses of programs that clean up after HUP, INT or TERM, and of shells and
// launchers whose program was killed by one of these or by KILL.
var exitSignaled = []int{129, 130, 137, 143}

// ended is what is known from outside about an agent that is gone.
type ended struct {
	process.Result
	interrupted   bool   // the run is being ended
	program       string // as the user knows it
	sandbox       sandbox.Tier
	complaint     string // the first line on standard error
	stderr        string // the last line there
	timeout, idle time.Duration
	cut           string // the limit at which the harness stopped it
}

// verdict decides how the agent ended: first by what the harness did to it, then by its closing
// event, then by its exit status.
func (e ended) verdict(r *stream.Reading, spoke bool) stream.Fault {
	switch {
	case e.State == process.NotStarted:
		return notStarted(e)
	case e.interrupted && e.State == process.Canceled:
		return stream.Fault{Class: ralph.EndInterrupted, Text: "interrupted"}
	case r.Hopeless:
		return *r.Fault
	case r.Closed:
		return e.byClosingEvent(r, spoke)
	case e.cut != "":
		return stream.Fault{Class: ralph.EndCut, Text: "stopped at " + e.cut}
	case e.State == process.TimedOut:
		return stream.Fault{Class: ralph.EndTimeout, Text: fmt.Sprintf("timed out after %s", e.timeout) + whileRetrying(r)}
	case e.State == process.Idle:
		return stream.Fault{
			Class: ralph.EndIdle,
			Text:  fmt.Sprintf("killed after %s without any output", e.idle) + whileRetrying(r),
		}
	case e.OutOfMemory:
		return stream.Fault{
			Class: ralph.EndKilled, Text: "the agent was killed for memory", Hint: hintMemory,
		}
	case e.Signal != "":
		return stream.Fault{Class: ralph.EndKilled, Text: "the agent was killed by a signal (" + e.Signal + ")"}
	case slices.Contains(exitSignaled, e.ExitCode):
		return stream.Fault{
			Class: ralph.EndKilled,
			Text:  fmt.Sprintf("the agent was terminated by a signal (exit status %d)", e.ExitCode),
		}
	case e.StdoutBytes == 0 && e.sandbox.Failed(e.ExitCode, e.complaint):
		return stream.Fault{Class: ralph.EndSandbox, Text: fmt.Sprintf("sandbox %s: %s", e.sandbox, e.complaint)}
	case r.Events == 0 && (e.ExitCode == exitNotFound || e.ExitCode == exitNotExecutable):
		return missing(e)
	case r.Structured:
		return e.withoutClosingEvent(r)
	}
	return byExitStatus(e, spoke)
}

const hintMemory = "raise sandbox.memory if you set it, end other programs, or raise the memory limit of the " +
	"container or service that Ralph runs in"

func notStarted(e ended) stream.Fault {
	if errors.Is(e.StartError, process.ErrNotFound) || errors.Is(e.StartError, process.ErrNotExecutable) {
		return missing(e)
	}
	switch {
	case e.sandbox != "" && e.sandbox != sandbox.None:
		return stream.Fault{Class: ralph.EndSandbox, Text: fmt.Sprintf("sandbox %s: %v", e.sandbox, e.StartError)}
	case errors.Is(e.StartError, process.ErrLimits), errors.Is(e.StartError, process.ErrFilter):
		return stream.Fault{Class: ralph.EndSandbox, Text: fmt.Sprintf("sandbox: %v", e.StartError)}
	}
	return stream.Fault{Class: ralph.EndFailed, Text: fmt.Sprintf("the agent could not be started: %v", e.StartError)}
}

func missing(e ended) stream.Fault {
	f := stream.Fault{
		Class: ralph.EndMissing,
		Text:  "the agent was not found: " + promise.OneLine(e.program, stream.DetailSize),
	}
	if e.ExitCode == exitNotExecutable {
		f.Text = "the agent cannot be executed: " + promise.OneLine(e.program, stream.DetailSize)
	}
	f.Text += quoted(e.stderr)
	return f
}

// byClosingEvent judges an agent that reported how it ended. Whether it had to be killed afterwards
// does not matter.
func (e ended) byClosingEvent(r *stream.Reading, spoke bool) stream.Fault {
	if r.Fault != nil {
		return *r.Fault
	}
	if e.State == process.Exited {
		return byExitStatus(e, spoke)
	}
	return byWords(spoke)
}

func (e ended) withoutClosingEvent(r *stream.Reading) stream.Fault {
	if r.ByStatus != nil {
		if f := r.ByStatus(e.ExitCode); f != nil {
			return *f
		}
	}
	if r.ByComplaint != nil && r.Events == 0 && e.ExitCode != 0 {
		if f := r.ByComplaint(e.complaint); f != nil {
			return *f
		}
	}
	switch {
	case r.Events == 0 && e.StdoutBytes > 0:
		return stream.Fault{
			Class: ralph.EndBroken,
			Text:  "the agent's output could not be understood; its format may be new",
			Hint:  stream.BrokenHint,
		}
	case r.Retry != nil:
		return *r.Retry
	case r.Cut:
		return stream.Fault{Class: ralph.EndProvider, Text: "the agent's output was cut off"}
	case e.ExitCode != 0:
		return badStatus(e)
	}
	return stream.Fault{Class: ralph.EndFailed, Text: "the agent ended without a result" + quoted(e.stderr)}
}

func byExitStatus(e ended, spoke bool) stream.Fault {
	if e.ExitCode != 0 {
		return badStatus(e)
	}
	return byWords(spoke)
}

func byWords(spoke bool) stream.Fault {
	if !spoke {
		return stream.Fault{Class: ralph.EndEmpty, Text: stream.SaidNothing}
	}
	return stream.Fault{Class: ralph.EndOK}
}

func badStatus(e ended) stream.Fault {
	return stream.Fault{
		Class: ralph.EndFailed,
		Text:  fmt.Sprintf("the agent ended with exit status %d", e.ExitCode) + quoted(e.stderr),
	}
}

// withUnkillable turns an end that left processes alive into a failure: they may go on changing the
// tree that is about to be judged. Classes that say more about what to do next stay.
func (e ended) withUnkillable(f stream.Fault) stream.Fault {
	kept := []ralph.EndClass{ralph.EndAuth, ralph.EndLimit, ralph.EndProvider, ralph.EndMissing, ralph.EndInterrupted}
	if e.Unkillable == 0 || slices.Contains(kept, f.Class) {
		return f
	}
	text := fmt.Sprintf("processes of the agent that could not be killed: %d", e.Unkillable)
	if names := promise.OneLine(strings.Join(e.SurvivorNames, ", "), stream.DetailSize); names != "" {
		if e.Survivors > e.Unkillable {
			names = "among " + names // the list also names those that were killed
		}
		text += " (" + names + ")"
	}
	if f.Text != "" {
		text += "; " + f.Text
	}
	f.Class, f.Text = ralph.EndFailed, text
	return f
}

func whileRetrying(r *stream.Reading) string {
	if r.Retry == nil {
		return ""
	}
	return " while it was retrying: " + r.Retry.Text
}

func quoted(line string) string {
	if line == "" {
		return ""
	}
	return ": " + line
}

// worthQuoting returns the line of standard error to quote: the last one, unless it only follows an
// error, such as advice on usage.
func worthQuoting(first, last string) string {
	if strings.HasPrefix(first, "error:") || strings.HasPrefix(first, "Error:") {
		return first
	}
	return last
}

// firstAndLastLine returns the first and last lines of a file that are not blank, shortened. Of a
// long file only the beginning and the end are read.
func firstAndLastLine(path string) (first, last string) {
	f, err := os.Open(path)
	if err != nil {
		return "", ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", ""
	}
	const enough = 4 << 10
	part := func(from int64) []string {
		text := make([]byte, enough)
		n, _ := f.ReadAt(text, from)
		return strings.Split(strings.TrimSpace(string(text[:n])), "\n")
	}
	head, tail := part(0), part(max(info.Size()-enough, 0))
	return promise.OneLine(head[0], stream.SentenceSize), promise.OneLine(tail[len(tail)-1], stream.SentenceSize)
}

package agent

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/promise"
)

// Exit statuses by which a shell says that a program is not there or cannot be executed.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// exitSignaled are the statuses of programs that clean up after a HUP, INT or TERM, and of shells and launchers whose program died by one or by KILL.
var exitSignaled = []int{129, 130, 137, 143}

// brokenHint is what helps when a CLI talks in a way that nobody here knows.
const brokenHint = "`ralph doctor` tries this version of the CLI; with --agent-cmd its plain output can be used"

// ended is what is known from outside about an agent that is gone.
type ended struct {
	process.Result
	interrupted   bool   // the run is being ended
	program       string // as the user knows it
	complaint     string // the first line on standard error
	stderr        string // the last line there
	timeout, idle time.Duration
}

// verdict says how the agent ended: first what the harness did to it, then what its closing event says, then what the exit status says.
func (r *reading) verdict(e ended, spoke bool) fault {
	switch {
	case e.State == process.NotStarted:
		return notStarted(e)
	case e.interrupted && e.State == process.Canceled:
		return fault{class: ralph.EndInterrupted, text: "interrupted"}
	case r.hopeless:
		return *r.fault
	case r.closed:
		return r.byClosingEvent(e, spoke)
	case e.State == process.TimedOut:
		return fault{class: ralph.EndTimeout, text: fmt.Sprintf("timed out after %s", e.timeout) + r.whileRetrying()}
	case e.State == process.Idle:
		return fault{class: ralph.EndIdle, text: fmt.Sprintf("killed after %s without any output", e.idle) + r.whileRetrying()}
	case e.Signal != "":
		return fault{class: ralph.EndKilled, text: "the agent died by a signal (" + e.Signal + ")"}
	case slices.Contains(exitSignaled, e.ExitCode):
		return fault{class: ralph.EndKilled, text: fmt.Sprintf("the agent was ended by a signal (exit status %d)", e.ExitCode)}
	case r.events == 0 && (e.ExitCode == exitNotFound || e.ExitCode == exitNotExecutable):
		return missing(e)
	case r.structured:
		return r.withoutClosingEvent(e)
	}
	return byExitStatus(e, spoke)
}

func notStarted(e ended) fault {
	if errors.Is(e.StartError, process.ErrNotFound) || errors.Is(e.StartError, process.ErrNotExecutable) {
		return missing(e)
	}
	return fault{class: ralph.EndFailed, text: fmt.Sprintf("the agent could not be started: %v", e.StartError)}
}

func missing(e ended) fault {
	f := fault{class: ralph.EndMissing, text: "the agent was not found: " + promise.OneLine(e.program, detailSize)}
	if e.ExitCode == exitNotExecutable {
		f.text = "the agent cannot be executed: " + promise.OneLine(e.program, detailSize)
	}
	f.text += quoted(e.stderr)
	return f
}

// byClosingEvent judges an agent that said how it ended. That it had to be killed afterwards does not matter.
func (r *reading) byClosingEvent(e ended, spoke bool) fault {
	if r.fault != nil {
		return *r.fault
	}
	if e.State == process.Exited {
		return byExitStatus(e, spoke)
	}
	return byWords(spoke)
}

func (r *reading) withoutClosingEvent(e ended) fault {
	if r.byStatus != nil {
		if f := r.byStatus(e.ExitCode); f != nil {
			return *f
		}
	}
	if r.byComplaint != nil && r.events == 0 && e.ExitCode != 0 {
		if f := r.byComplaint(e.complaint); f != nil {
			return *f
		}
	}
	switch {
	case r.events == 0 && e.StdoutBytes > 0:
		return fault{class: ralph.EndBroken, text: "nothing of the agent's output was understood; is its output format new?", hint: brokenHint}
	case r.retry != nil:
		return *r.retry
	case r.cut:
		return fault{class: ralph.EndProvider, text: "the agent's output broke off"}
	case e.ExitCode != 0:
		return badStatus(e)
	}
	return fault{class: ralph.EndFailed, text: "the agent ended without a result" + quoted(e.stderr)}
}

func byExitStatus(e ended, spoke bool) fault {
	if e.ExitCode != 0 {
		return badStatus(e)
	}
	return byWords(spoke)
}

func byWords(spoke bool) fault {
	if !spoke {
		return fault{class: ralph.EndEmpty, text: saidNothing}
	}
	return fault{class: ralph.EndOK}
}

func badStatus(e ended) fault {
	return fault{class: ralph.EndFailed, text: fmt.Sprintf("the agent ended with exit status %d", e.ExitCode) + quoted(e.stderr)}
}

// withUnkillable makes a failure of an end that left processes alive: they may go on changing the tree that is about to be judged. Ends that say
// more about what to do next stay as they are.
func (f fault) withUnkillable(e ended) fault {
	if e.Unkillable == 0 {
		return f
	}
	switch f.class {
	case ralph.EndAuth, ralph.EndLimit, ralph.EndProvider, ralph.EndMissing, ralph.EndInterrupted:
		return f
	}
	text := fmt.Sprintf("processes of the agent that could not be killed: %d", e.Unkillable)
	if names := promise.OneLine(strings.Join(e.SurvivorNames, ", "), detailSize); names != "" {
		if e.Survivors > e.Unkillable {
			names = "among " + names // the names of those that were killed are there, too
		}
		text += " (" + names + ")"
	}
	if f.text != "" {
		text += "; " + f.text
	}
	f.class, f.text = ralph.EndFailed, text
	return f
}

func (r *reading) whileRetrying() string {
	if r.retry == nil {
		return ""
	}
	return " while it tried again: " + r.retry.text
}

func quoted(line string) string {
	if line == "" {
		return ""
	}
	return ": " + line
}

// worthQuoting is the line of standard error that is worth quoting: the last one, unless it only ends what an error began, such as advice on usage.
func worthQuoting(first, last string) string {
	if strings.HasPrefix(first, "error:") || strings.HasPrefix(first, "Error:") {
		return first
	}
	return last
}

// firstAndLastLine gives those lines of a file that are not blank, shortened. Of a long file only the beginning and the end are looked into.
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
	return promise.OneLine(head[0], sentenceSize), promise.OneLine(tail[len(tail)-1], sentenceSize)
}

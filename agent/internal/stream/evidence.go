package stream

import (
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/shell"
	"github.com/ralphloop/ralph/promise"
)

// maxAwaited is how many calls without a result are remembered.
const maxAwaited = 64

// Evidence collects the tool calls that are evidence. Its size is bounded.
type Evidence struct {
	verifiers ralph.Verifiers
	dir       string
	awaited   map[string]ralph.ToolEvidence // calls without a result, by ID
	seen      []ralph.ToolEvidence
}

// Ended is how a tool call ended.
type Ended struct {
	Exit   *int // the exit code of its command; nil if it is not reported
	Failed bool // the CLI's own error flag
	// FlagIsExit means that the flag is also set if a command fails. Otherwise a command without an exit code is no
	// evidence.
	FlagIsExit bool
	Output     string
}

// Began remembers a call, if it is one that can be evidence. Any other call may change files, so evidence that is
// gathered meanwhile is stale.
func (e *Evidence) Began(id, tool string, run shell.Call) {
	verifier := e.verifiers.Of(tool, run.Line, e.dir)
	if verifier == "" || !run.ShowsResultIn(e.dir) {
		for id, call := range e.awaited {
			call.Stale = true
			e.awaited[id] = call
		}
		return
	}
	if _, again := e.awaited[id]; again || len(e.awaited) >= maxAwaited || len(id) > MaxSession {
		return
	}
	if e.awaited == nil {
		e.awaited = map[string]ralph.ToolEvidence{}
	}
	e.awaited[id] = ralph.ToolEvidence{
		Tool: promise.OneLine(tool, DetailSize), CallID: id, Command: strings.Clone(run.Line), Verifier: verifier,
	}
}

// Awaits reports whether a call that can be evidence has no result yet.
func (e *Evidence) Awaits() bool { return len(e.awaited) > 0 }

// Dropped forgets a call whose result says nothing, for example because it continues in the background.
func (e *Evidence) Dropped(id string) { delete(e.awaited, id) }

// Ended records the result of a call.
func (e *Evidence) Ended(id string, how Ended, now time.Time) {
	call, known := e.awaited[id]
	delete(e.awaited, id)
	switch {
	case !known:
		return
	case how.Exit != nil && *how.Exit != 0, how.Failed:
		call.Status = ralph.EvidenceFail
	case how.Exit == nil && call.Command != "" && !how.FlagIsExit:
		return
	default:
		call.Status = ralph.EvidencePass
	}
	call.Output, call.Observed = how.Output, now
	e.seen = ralph.WithEvidence(e.seen, call)
}

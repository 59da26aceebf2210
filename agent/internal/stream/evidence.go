package stream

import (
	"hash/maphash"
	"strconv"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/shell"
	"github.com/ralphloop/ralph/promise"
)

const (
	maxAwaited = 64      // how many calls without a result are remembered
	maxCalls   = 1 << 16 // how many calls are told apart; later ones are no evidence
)

// Evidence collects the tool calls that are evidence. Its size is bounded.
type Evidence struct {
	verifiers ralph.Verifiers
	dir       string
	awaited   map[string]ralph.ToolEvidence // calls without a result, by ID
	seen      []ralph.ToolEvidence
	calls     map[uint64]uint64 // what every call was, by ID, both hashed; ambiguous if the ID had two
	seed      maphash.Seed
}

// ambiguous is the hash of an ID that more than one call had.
const ambiguous = 0

// Ended is how a tool call ended.
type Ended struct {
	Exit   *int // the exit code of its command; nil if it is not reported
	Failed bool // the CLI's own error flag
	// FlagIsExit means that the flag is also set if a command fails. Otherwise a command without an exit code is no
	// evidence.
	FlagIsExit bool
	Output     string
}

// Began remembers a call, if it is one that can be evidence. A CLI may report the same call more than once. If another
// one had its ID, whose result is whose is unknown, so neither is evidence.
func (e *Evidence) Began(id, tool string, run shell.Call) {
	key := e.hash(id)
	counts := strconv.FormatBool(run.ShowsResultIn(e.dir))
	what := max(e.hash(tool, run.Line, counts), ambiguous+1)
	before, again := e.calls[key]
	switch {
	case again && before != what:
		e.disown(id)
	case !again && len(e.calls) < maxCalls:
		e.calls[key] = what
	}
	e.Told(id, tool, run)
}

// Announced is for a CLI that announces each call once and says later what it is, with Told. An ID that is announced
// again is that of two calls.
func (e *Evidence) Announced(id string) {
	key := e.hash(id)
	if _, again := e.calls[key]; again {
		e.disown(id)
	} else if len(e.calls) < maxCalls {
		e.calls[key] = ambiguous + 1
	}
}

// disown makes every call with an ID no evidence, now and later.
func (e *Evidence) disown(id string) {
	e.calls[e.hash(id)] = ambiguous
	delete(e.awaited, id)
	var kept []ralph.ToolEvidence
	for _, call := range e.seen {
		if call.CallID != id {
			kept = append(kept, call)
		}
	}
	e.seen = kept
}

// isUnique reports whether an ID is known to be that of one call.
func (e *Evidence) isUnique(id string) bool {
	what, known := e.calls[e.hash(id)]
	return known && what != ambiguous
}

// hash is the identity of a call or of its ID.
func (e *Evidence) hash(texts ...string) uint64 {
	if e.calls == nil {
		e.calls, e.seed = map[uint64]uint64{}, maphash.MakeSeed()
	}
	return maphash.String(e.seed, strings.Join(texts, "\x00"))
}

// Told remembers a call, if what is known about it by now makes it one that can be evidence. Any other call may change
// files, so evidence that is gathered meanwhile is stale.
func (e *Evidence) Told(id, tool string, run shell.Call) {
	verifier := e.verifiers.Of(tool, run.Line, e.dir)
	if verifier == "" || !run.ShowsResultIn(e.dir) || !e.isUnique(id) {
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

// Package stream is shared by the readers of agent CLIs: it takes lines and JSON from a process
// while it prints, and records what is known about the agent so far. Its memory does not grow with
// the output.
package stream

import (
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

// Limits for the memory of a reading.
const (
	MaxToolNames = 64 // further ones are counted under OtherTools
	OtherTools   = "(other)"
	MaxDenials   = 16
	MaxSession   = 200
	DetailSize   = 120 // characters of a live detail or a denial
	SentenceSize = 300 // characters quoted from a CLI
)

// Reader takes a CLI's standard output, in pieces of any size, and records what it learns in its
// reading. Write never fails.
type Reader interface {
	io.Writer
	// Close ends the output.
	Close()
}

// Reading is what is known about one agent while it runs. Its size is bounded.
type Reading struct {
	Said *Speech
	Live func(ralph.Activity)
	Now  func() time.Time

	// ReadOnly means that the agent may only read: its answer is kept, and no advice is given that
	// would let it do more.
	ReadOnly bool

	// Folder of the iteration, for CLIs that leave their figures in a file there; "" is none.
	Folder string

	// OwnFolder is where the CLI keeps its own files, for one that records there what its stream lacks; "" is unknown.
	OwnFolder string

	Structured bool // the dialect has a closing event
	Events     int  // events that were understood
	Lost       int  // lines that were too long and may have mattered
	Cut        bool // the output broke off within a line

	Closed   bool   // the closing event was seen
	Fault    *Fault // the error of the closing event
	Retry    *Fault // why the CLI is retrying; nil once it succeeded
	Hopeless bool   // waiting for the end is pointless; Fault says why

	Figures
	Evidence Evidence
	Advice   string // for the user, however it ended

	// ByStatus classifies an exit status if no event explains the end; nil if statuses mean
	// nothing.
	ByStatus func(status int) *Fault
	// ByComplaint classifies the first line on standard error of a CLI that failed before its first
	// event; nil if no such lines are known.
	ByComplaint func(line string) *Fault
}

// Hear sets up the scanner. Only in free text can the prompt come back as if the agent had written
// it.
func (r *Reading) Hear(in ralph.AgentInput) {
	words := in.Words
	words.Prompt = ""
	if !r.Structured {
		words.Prompt = in.Prompt
	}
	r.Evidence = Evidence{verifiers: in.Verifiers, dir: in.Dir}
	r.Said = &Speech{Scanner: promise.NewScanner(words)}
	if r.ReadOnly || in.KeepAnswer {
		r.Said.answer = &lastMessage{}
	}
}

// Say passes on text that the agent wrote.
func (r *Reading) Say(text string) {
	_, _ = r.Said.WriteString(text) // never fails
	if detail := promise.OneLine(text[:min(len(text), 4*DetailSize)], DetailSize); detail != "" {
		r.Live(ralph.Activity{Kind: "text", Detail: detail})
	}
}

// Tool records a tool call.
func (r *Reading) Tool(name, detail string) {
	name, detail = promise.OneLine(name, DetailSize), promise.OneLine(detail, DetailSize)
	r.countTool(name)
	r.Live(ralph.Activity{Kind: "tool", Name: name, Detail: detail})
}

// TellSpent passes on the known spending, so that it is not lost if the harness dies.
func (r *Reading) TellSpent() {
	cost, estimated := r.cost()
	r.Live(ralph.Activity{Kind: "spent", Cost: cost, Tokens: r.tokens(), Estimated: estimated})
}

// Denied records a call that the CLI did not allow, and the flags with which it would; "" if none
// are known.
func (r *Reading) Denied(name, detail, allow string) {
	if len(r.Denials) >= MaxDenials {
		return
	}
	r.Denials = append(r.Denials, promise.OneLine(strings.TrimSuffix(name+": "+detail, ": "), DetailSize))
	if allow = promise.OneLine(allow, SentenceSize); allow != "" && !r.ReadOnly && !slices.Contains(r.Allow, allow) {
		r.Allow = append(r.Allow, allow)
	}
}

// Retrying records that the CLI will retry, and why.
func (r *Reading) Retrying(why *Fault) {
	r.Retry = why
	r.Live(ralph.Activity{Kind: "retry", Detail: why.Text})
}

// SayAll passes on a whole message that the agent wrote.
func (r *Reading) SayAll(message string) {
	r.Say(message)
	r.Said.EndMessage()
}

// Fill writes the results into an outcome.
func (r *Reading) Fill(o *ralph.AgentOutcome) {
	o.Steps, o.Tokens, o.Session = r.Steps, r.tokens(), r.Session
	o.Cost, o.CostEstimated = r.cost()
	o.Windows = r.usageWindows(r.Now())
	o.Tools, o.Denials, o.Allow, o.Model = maps.Clone(r.Tools), r.Denials, r.Allow, r.Model
	o.Said, o.Answer, o.Evidence = r.Said.Report(), r.Said.lastWords(), r.Evidence.seen
}

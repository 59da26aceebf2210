// Package stream is what the readers of agent CLIs share: lines and JSON taken from a process while it prints, and what
// is known of the agent so far. Its memory does not grow with the output.
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

// What bounds the memory that a reading takes.
const (
	MaxToolNames = 64 // beyond these, calls are counted under OtherTools
	OtherTools   = "(other)"
	MaxDenials   = 16
	MaxSession   = 200
	DetailSize   = 120 // characters of a live detail or a denial
	SentenceSize = 300 // characters quoted from a CLI
)

// Reader takes a CLI's standard output, in pieces of any size, and notes in its reading what it learns. Write never fails.
type Reader interface {
	io.Writer
	// Close ends the output.
	Close()
}

// Reading is what is known of one agent while it talks. Its size is bounded whatever the agent prints.
type Reading struct {
	Said *Speech
	Live func(ralph.Activity)
	Now  func() time.Time

	ReadOnly bool // it may only read: its answer is kept, and nothing is advised that would let it do more

	Folder string // of the iteration, for CLIs that leave their figures in a file there; "" is none

	Structured bool // the dialect has a closing event
	Events     int  // events that were understood
	Lost       int  // lines too long to be read that may have mattered
	Cut        bool // the output broke off within a line

	Closed   bool   // the closing event was seen
	Fault    *Fault // what the closing event complains of
	Retry    *Fault // what the CLI is trying again for; nil once it got on
	Hopeless bool   // waiting for the end is pointless; fault says why

	Figures
	Advice string // for the user, however it ended

	// ByStatus says what an exit status means where no event tells it; nil if statuses mean nothing.
	ByStatus func(status int) *Fault
	// ByComplaint knows the first line on standard error of a CLI that ended with an error before its first event; nil if nothing is known of such.
	ByComplaint func(line string) *Fault
}

// Hear sets the scanner up. Only where the output has no form can the prompt come back as if the agent had said it.
func (r *Reading) Hear(in ralph.AgentInput) {
	words := in.Words
	words.Prompt = ""
	if !r.Structured {
		words.Prompt = in.Prompt
	}
	r.Said = &Speech{Scanner: promise.NewScanner(words)}
	if r.ReadOnly {
		r.Said.answer = &lastMessage{}
	}
}

// Say passes on text of the agent's own.
func (r *Reading) Say(text string) {
	_, _ = r.Said.WriteString(text) // never fails
	if detail := promise.OneLine(text[:min(len(text), 4*DetailSize)], DetailSize); detail != "" {
		r.Live(ralph.Activity{Kind: "text", Detail: detail})
	}
}

// Tool notes the call of a tool.
func (r *Reading) Tool(name, detail string) {
	name, detail = promise.OneLine(name, DetailSize), promise.OneLine(detail, DetailSize)
	r.countTool(name)
	r.Live(ralph.Activity{Kind: "tool", Name: name, Detail: detail})
}

// TellSpent passes on what is known to have been spent, so that it is not lost with the harness.
func (r *Reading) TellSpent() {
	cost, estimated := r.cost()
	r.Live(ralph.Activity{Kind: "spent", Cost: cost, Tokens: r.tokens(), Estimated: estimated})
}

// Denied notes a call that the CLI did not allow, and what a user could write so that it would; "" if nothing is known to help.
func (r *Reading) Denied(name, detail, allow string) {
	if len(r.Denials) >= MaxDenials {
		return
	}
	r.Denials = append(r.Denials, promise.OneLine(strings.TrimSuffix(name+": "+detail, ": "), DetailSize))
	if allow = promise.OneLine(allow, SentenceSize); allow != "" && !r.ReadOnly && !slices.Contains(r.Allow, allow) {
		r.Allow = append(r.Allow, allow)
	}
}

// Retrying notes that the CLI will try again, and why.
func (r *Reading) Retrying(why *Fault) {
	r.Retry = why
	r.Live(ralph.Activity{Kind: "retry", Detail: why.Text})
}

// SayAll passes on a whole message of the agent's own.
func (r *Reading) SayAll(message string) {
	r.Say(message)
	r.Said.EndMessage()
}

// Fill writes what was read into an outcome.
func (r *Reading) Fill(o *ralph.AgentOutcome) {
	o.Steps, o.Tokens, o.Session = r.Steps, r.tokens(), r.Session
	o.Cost, o.CostEstimated = r.cost()
	o.Tools, o.Denials, o.Allow, o.Model = maps.Clone(r.Tools), r.Denials, r.Allow, r.Model
	o.Said, o.Answer = r.Said.Report(), r.Said.lastWords()
}

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

	Steps   *int
	Cost    *float64
	Tokens  *ralph.Tokens // as the closing event says
	Spent   ralph.Tokens  // at least, as far as other events tell
	Tools   map[string]int
	Denials []string
	Allow   []string // what would allow them, as a user writes it
	Session string
	Model   string // that works, as far as is known
	Advice  string // for the user, however it ended

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
	if r.Tools == nil {
		r.Tools = map[string]int{}
	}
	counted := name
	if _, known := r.Tools[name]; !known && len(r.Tools) >= MaxToolNames {
		counted = OtherTools
	}
	r.Tools[counted]++
	r.Live(ralph.Activity{Kind: "tool", Name: name, Detail: detail})
}

// TellSpent passes on what is known to have been spent, so that it is not lost with the harness.
func (r *Reading) TellSpent() {
	a := ralph.Activity{Kind: "spent", Cost: r.Cost, Tokens: r.Tokens}
	if a.Tokens == nil && r.Spent.Total() > 0 {
		spent := r.Spent
		a.Tokens = &spent
	}
	if a.Cost == nil {
		a.Cost = listPrice(r.Model, a.Tokens)
		a.Estimated = a.Cost != nil
	}
	r.Live(a)
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

// InSession notes the first session that is told.
func (r *Reading) InSession(id string) {
	if r.Session == "" {
		r.Session = promise.OneLine(id, MaxSession)
	}
}

// Works notes which model works.
func (r *Reading) Works(model string) {
	if name := promise.OneLine(model, DetailSize); name != "" {
		r.Model = name
	}
}

// Step counts one more step, which is whatever the dialect can tell apart: a call of the model, a message, a tool that ended.
func (r *Reading) Step() {
	if r.Steps == nil {
		r.Steps = new(int)
	}
	*r.Steps++
}

// Fill writes what was read into an outcome.
func (r *Reading) Fill(o *ralph.AgentOutcome) {
	o.Steps, o.Cost, o.Tokens, o.Session = r.Steps, r.Cost, r.Tokens, r.Session
	o.Tools, o.Denials, o.Allow, o.Model = maps.Clone(r.Tools), r.Denials, r.Allow, r.Model
	if o.Tokens == nil && r.Spent.Total() > 0 {
		spent := r.Spent
		o.Tokens = &spent
	}
	o.Said, o.Answer = r.Said.Report(), r.Said.lastWords()
}

// AddTokens adds what was used to a sum.
func AddTokens(sum *ralph.Tokens, used ralph.Tokens) {
	sum.Input += used.Input
	sum.Output += used.Output
	sum.CacheRead += used.CacheRead
	sum.CacheWrite += used.CacheWrite
}

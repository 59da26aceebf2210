package agent

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

const (
	maxToolNames = 64 // beyond these, calls are counted under otherTools
	otherTools   = "(other)"
	maxDenials   = 16
	maxSession   = 200
	detailSize   = 120 // characters of a live detail or a denial
	sentenceSize = 300 // characters quoted from a CLI
)

// reading is what is known of one agent while it talks. Its size is bounded whatever the agent prints.
type reading struct {
	said *speech
	live func(ralph.Activity)
	now  func() time.Time

	readOnly bool // it may only read: its answer is kept, and nothing is advised that would let it do more

	folder string // of the iteration, for CLIs that leave their figures in a file there; "" is none

	structured bool // the dialect has a closing event
	events     int  // events that were understood
	lost       int  // lines too long to be read that may have mattered
	cut        bool // the output broke off within a line

	closed   bool   // the closing event was seen
	fault    *fault // what the closing event complains of
	retry    *fault // what the CLI is trying again for; nil once it got on
	hopeless bool   // waiting for the end is pointless; fault says why

	steps   *int
	cost    *float64
	tokens  *ralph.Tokens // as the closing event says
	spent   ralph.Tokens  // at least, as far as other events tell
	tools   map[string]int
	denials []string
	allow   []string // what would allow them, as a user writes it
	session string
	model   string // that works, as far as is known
	advice  string // for the user, however it ended

	// byStatus says what an exit status means where no event tells it; nil if statuses mean nothing.
	byStatus func(status int) *fault
	// byComplaint knows the first line on standard error of a CLI that ended with an error before its first event; nil if nothing is known of such.
	byComplaint func(line string) *fault
}

// say passes on text of the agent's own.
func (r *reading) say(text []byte) {
	_, _ = r.said.Write(text) // never fails
	if detail := promise.OneLine(string(text[:min(len(text), 4*detailSize)]), detailSize); detail != "" {
		r.live(ralph.Activity{Kind: "text", Detail: detail})
	}
}

// tool notes the call of a tool.
func (r *reading) tool(name, detail string) {
	name, detail = promise.OneLine(name, detailSize), promise.OneLine(detail, detailSize)
	if r.tools == nil {
		r.tools = map[string]int{}
	}
	counted := name
	if _, known := r.tools[name]; !known && len(r.tools) >= maxToolNames {
		counted = otherTools
	}
	r.tools[counted]++
	r.live(ralph.Activity{Kind: "tool", Name: name, Detail: detail})
}

// tellSpent passes on what is known to have been spent, so that it is not lost with the harness.
func (r *reading) tellSpent() {
	a := ralph.Activity{Kind: "spent", Cost: r.cost, Tokens: r.tokens}
	if a.Tokens == nil && r.spent.Total() > 0 {
		spent := r.spent
		a.Tokens = &spent
	}
	if a.Cost == nil {
		a.Cost = listPrice(r.model, a.Tokens)
		a.Estimated = a.Cost != nil
	}
	r.live(a)
}

// denied notes a call that the CLI did not allow, and what a user could write so that it would; "" if nothing is known to help.
func (r *reading) denied(name, detail, allow string) {
	if len(r.denials) >= maxDenials {
		return
	}
	r.denials = append(r.denials, promise.OneLine(strings.TrimSuffix(name+": "+detail, ": "), detailSize))
	if allow = promise.OneLine(allow, sentenceSize); allow != "" && !r.readOnly && !slices.Contains(r.allow, allow) {
		r.allow = append(r.allow, allow)
	}
}

// retrying notes that the CLI will try again, and why.
func (r *reading) retrying(why *fault) {
	r.retry = why
	r.live(ralph.Activity{Kind: "retry", Detail: why.text})
}

func (r *reading) inSession(id []byte) {
	if r.session == "" && len(id) > 0 {
		r.session = promise.OneLine(string(unescape(nil, id)), maxSession)
	}
}

// works notes which model works, as the CLI wrote its name into its JSON.
func (r *reading) works(escaped []byte) {
	if name := promise.OneLine(string(unescape(nil, escaped)), detailSize); name != "" {
		r.model = name
	}
}

// step counts one more step, which is whatever the dialect can tell apart: a call of the model, a message, a tool that ended.
func (r *reading) step() {
	if r.steps == nil {
		r.steps = new(int)
	}
	*r.steps++
}

// fill writes what was read into an outcome.
func (r *reading) fill(o *ralph.AgentOutcome) {
	o.Steps, o.Cost, o.Tokens, o.Session = r.steps, r.cost, r.tokens, r.session
	o.Tools, o.Denials, o.Allow, o.Model = maps.Clone(r.tools), r.denials, r.allow, r.model
	if o.Tokens == nil && r.spent.Total() > 0 {
		spent := r.spent
		o.Tokens = &spent
	}
	o.Said, o.Answer = r.said.Report(), r.said.lastWords()
}

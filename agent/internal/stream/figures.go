package stream

import (
	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/promise"
)

// Figures are what an agent did and what it took, for its outcome.
type Figures struct {
	Steps   *int
	Cost    *float64
	Tokens  *ralph.Tokens // as the closing event says
	Spent   ralph.Tokens  // at least, as far as other events tell
	Tools   map[string]int
	Denials []string
	Allow   []string // what would allow them, as a user writes it
	Session string
	Model   string // that works, as far as is known
}

// tokens are those of the closing event, else what other events told; nil if none did.
func (f *Figures) tokens() *ralph.Tokens {
	if f.Tokens == nil && f.Spent.Total() > 0 {
		spent := f.Spent
		return &spent
	}
	return f.Tokens
}

func (f *Figures) countTool(name string) {
	if f.Tools == nil {
		f.Tools = map[string]int{}
	}
	if _, known := f.Tools[name]; !known && len(f.Tools) >= MaxToolNames {
		name = OtherTools
	}
	f.Tools[name]++
}

// InSession notes the first session that is told.
func (f *Figures) InSession(id string) {
	if f.Session == "" {
		f.Session = promise.OneLine(id, MaxSession)
	}
}

// Works notes which model works.
func (f *Figures) Works(model string) {
	if name := promise.OneLine(model, DetailSize); name != "" {
		f.Model = name
	}
}

// Step counts one more step, which is whatever the dialect can tell apart: a call of the model, a message, a tool that ended.
func (f *Figures) Step() {
	if f.Steps == nil {
		f.Steps = new(int)
	}
	*f.Steps++
}

// EstimateCost fills in what an agent cost that does not tell, from its tokens and the list price of its model. Where the CLI named no model it is the
// one that was asked for. Without a price the cost stays unknown.
func EstimateCost(o *ralph.AgentOutcome) {
	if o.Cost == nil {
		o.Cost = listPrice(o.Model, o.Tokens)
		o.CostEstimated = o.Cost != nil
	}
}

// listPrice is nil if the tokens or what they cost is not known.
func listPrice(name string, tokens *ralph.Tokens) *float64 {
	return new(model.Bill).Count((*model.Usage)(tokens), name)
}

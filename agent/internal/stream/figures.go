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

// cost returns what the agent cost. Where the CLI does not tell, it is estimated from the tokens and the list price of
// the model, which is the one that was asked for if the CLI named none. Without a price the cost stays unknown.
func (f *Figures) cost() (usd *float64, estimated bool) {
	if f.Cost != nil {
		return f.Cost, false
	}
	usd = new(model.Bill).Count((*model.Usage)(f.tokens()), f.Model)
	return usd, usd != nil
}

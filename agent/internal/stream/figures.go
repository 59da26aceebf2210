package stream

import (
	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/promise"
)

// Figures are what an agent did and used, for its outcome.
type Figures struct {
	Steps   *int
	Cost    *float64
	Tokens  *ralph.Tokens // from the closing event
	Spent   ralph.Tokens  // minimum, from other events
	Tools   map[string]int
	Denials []string
	Allow   []string // flags that would allow them, as a user writes them
	Session string
	Model   string // the model in use, as far as is known
}

// tokens returns those of the closing event, otherwise those of other events; nil if there are
// none.
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

// InSession records the first session that is reported.
func (f *Figures) InSession(id string) {
	if f.Session == "" {
		f.Session = promise.OneLine(id, MaxSession)
	}
}

// Works records which model is used.
func (f *Figures) Works(model string) {
	if name := promise.OneLine(model, DetailSize); name != "" {
		f.Model = name
	}
}

// Step counts one more step, which is whatever the dialect can distinguish: a model call, a
// message, a tool that ended.
func (f *Figures) Step() {
	if f.Steps == nil {
		f.Steps = new(int)
	}
	*f.Steps++
}

// Exceeds says which limit of a budget was reached; see [ralph.Budget.Exceeded].
func (f *Figures) Exceeds(b ralph.Budget) string {
	if b == (ralph.Budget{}) {
		return ""
	}
	var cost *float64
	if b.Cost > 0 {
		cost, _ = f.cost()
	}
	return b.Exceeded(cost, f.tokens(), f.Steps)
}

// cost returns what the agent cost. If the CLI does not report it, it is estimated from the tokens
// and the list price of the model, which is the requested one if the CLI named none. Without a
// price the cost stays unknown.
func (f *Figures) cost() (usd *float64, estimated bool) {
	if f.Cost != nil {
		return f.Cost, false
	}
	usd = new(model.Bill).Count((*model.Usage)(f.tokens()), f.Model)
	return usd, usd != nil
}

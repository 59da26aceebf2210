package stream

import (
	"slices"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
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

	windows []window // of the subscription
}

// window is one window of a subscription.
type window struct {
	name   string
	used   float64
	resets time.Time // zero if unknown
}

// Window records how much of a subscription's window of that many minutes is used, and when it
// resets, in seconds since 1970.
func (f *Figures) Window(minutes int64, used float64, resets int64) {
	w := window{name: ralph.WindowName(minutes), used: used}
	if resets > 0 {
		w.resets = time.Unix(resets, 0)
	}
	same := func(known window) bool { return known.name == w.name }
	f.windows = append(slices.DeleteFunc(f.windows, same), w)
}

// usageWindows returns the windows as of now.
func (f *Figures) usageWindows(now time.Time) []ralph.UsageWindow {
	return text.Mapped(f.windows, func(w window) ralph.UsageWindow {
		known := ralph.UsageWindow{Name: w.name, Used: w.used}
		if w.resets.After(now) {
			known.Resets = ralph.Span(w.resets.Sub(now)).Rounded()
		}
		return known
	})
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
	if b.None() {
		return ""
	}
	if _, why, ok := ralph.Reached(b.Reserves, f.usageWindows(time.Time{})); ok {
		return why
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

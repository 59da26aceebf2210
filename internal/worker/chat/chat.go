// Package chat holds one conversation with a model, for the worker and the planner. It makes the
// calls, waits where that helps, shows what arrives, drops what no longer fits into the model's
// window, and counts the cost. The caller decides what is said and done.
package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/secrets"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/promise"
)

// DefaultWindow is the assumed context size in tokens of an unknown model.
const DefaultWindow = 128_000

const (
	shownSize    = 200 // characters of a live detail
	sentenceSize = 300 // characters quoted from a provider
)

// Options configure a conversation.
type Options struct {
	Client    model.Client // wrapped to retry failed calls; see model.Retrier
	Model     string
	MaxOutput int // tokens of one reply; default: the client's
	// Window is the model's context size in tokens; default: the known size, or DefaultWindow.
	Window int64
	Price  func(name string) (price model.Price, ok bool) // default: model.PriceOf
	Live   func(ralph.Activity)
	Failed func(error) // called for each failed call; may be nil
	// Terse shows only the beginning of a text, once it is complete. Thoughts are still shown as they
	// arrive.
	Terse bool
	// Mask masks secrets in what is sent; nil masks nothing.
	Mask *secrets.Masker
}

// Conversation is what was said so far and what it cost. It is for one goroutine.
type Conversation struct {
	o       Options
	client  model.Client
	bill    model.Bill
	system  string
	tools   []model.Tool
	history *history
	shown   *lines
	answers string
	waiting string
	unpaid  []model.Usage // usage of failed attempts of the current call
	came    bool          // part of the current reply has arrived
}

// Reply is the model's reply, as a message of the assistant, and its cost; nil if unknown.
type Reply struct {
	model.Reply
	Cost *float64
}

// New returns a conversation. It calls nothing yet.
func New(o Options) *Conversation {
	c := &Conversation{o: o, bill: model.Bill{Price: o.Price}}
	c.client = model.WithRetries(o.Client, c.waits)
	return c
}

// Begin sets the system prompt and the tools.
func (c *Conversation) Begin(system string, tools []model.Tool) {
	c.system, c.tools, c.history = system, tools, newHistory(c.window(), system, tools)
}

func (c *Conversation) window() int64 {
	known, _ := WindowOf(c.o.Model, c.o.Price)
	return cmp.Or(c.o.Window, known)
}

// WindowOf returns the context size of a model in tokens, and whether it is known. The default is
// DefaultWindow. price may be nil.
func WindowOf(name string, price func(string) (model.Price, bool)) (tokens int64, known bool) {
	tokens, _ = model.Window(name)
	if price != nil && tokens == 0 {
		if told, ok := price(name); ok {
			tokens = told.Context
		}
	}
	return cmp.Or(tokens, DefaultWindow), tokens != 0
}

// Add adds a message to the conversation, which then owns it. Results of tools may be dropped when
// room is needed, except those at the indexes in kept.
func (c *Conversation) Add(m model.Message, kept ...int) {
	if m.Role != model.Assistant { // a provider wants its own words back as they were
		m.Text = c.o.Mask.String(m.Text)
		m.Results = slices.Clone(m.Results)
		for i := range m.Results {
			m.Results[i].Text = c.o.Mask.String(m.Results[i].Text)
		}
	}
	c.history.add(m, kept)
}

// Answers returns the model that answered last, as the provider calls it; "" if it does not say.
func (c *Conversation) Answers() string { return c.answers }

// Waiting returns the fault that the client is waiting out, or was when a call was cut; "" after a
// reply.
func (c *Conversation) Waiting() string { return c.waiting }

// Spent returns what all calls used so far.
func (c *Conversation) Spent() ralph.Spending {
	sum := c.bill.Sum()
	return ralph.Spending{
		Tokens:        (*ralph.Tokens)(sum.Usage),
		TokensPartial: sum.MissingUsage,
		Cost:          sum.Cost,
		Estimated:     sum.Estimated,
		CostPartial:   sum.MissingUsage || sum.Unpriced,
	}
}

// Ask gets one reply to the conversation, without adding it. A conversation that is too long is
// shortened once and sent again. must names a tool that has to be called; if the endpoint does not
// support that, the model decides.
func (c *Conversation) Ask(ctx context.Context, must string) (Reply, error) {
	c.history.fit()
	for shortened := false; ; {
		if err := ctx.Err(); err != nil {
			return Reply{}, err
		}
		reply, err := c.send(ctx, must)
		fault, _ := errors.AsType[*model.Fault](err)
		switch {
		case fault == nil || ctx.Err() != nil:
			return reply, err
		case fault.Kind == model.FaultOverflow && !shortened && c.history.overflowed():
			shortened = true
			c.o.Live(ralph.Activity{Kind: "retry", Detail: "the conversation is too long: old tool output is dropped"})
		case fault.Kind == model.FaultRefused && must != "":
			must = ""
		default:
			return Reply{}, err
		}
	}
}

// send makes one model call.
func (c *Conversation) send(ctx context.Context, must string) (Reply, error) {
	c.shown, c.came = &lines{live: c.o.Live, terse: c.o.Terse}, false
	reply, err := c.client.Send(ctx, model.Request{
		Model:     c.o.Model,
		System:    c.system,
		Messages:  c.history.messages,
		Tools:     c.tools,
		MaxOutput: c.o.MaxOutput,
		MustCall:  must,
	}, c.hear)
	if err != nil {
		c.shown.flush()
		c.lost(err)
		if c.o.Failed != nil {
			c.o.Failed(err)
		}
		return Reply{}, err
	}
	reply.Message.Role = model.Assistant
	if reply.Usage != nil && !reply.Usage.Plausible() {
		reply.Usage = nil
	}
	c.shown.end(reply.Message.Text)
	c.history.counted(reply.Usage)
	c.waiting, c.unpaid = "", nil
	if reply.Model != "" {
		c.answers = promise.OneLine(reply.Model, shownSize)
	}
	cost := c.bill.Add(reply, c.o.Model)
	c.reportSpent()
	return Reply{reply, cost}, nil
}

func (c *Conversation) hear(d model.Delta) {
	c.came = true
	c.shown.hear(d)
}

// brokeOff counts a reply that began and did not complete: the provider's usage for it, if any, is
// incomplete.
func (c *Conversation) brokeOff() {
	if c.came {
		c.bill.AddUnknown()
	}
	c.came = false
}

// waits shows what the client waits for.
func (c *Conversation) waits(p model.Pause) {
	c.shown.cut()
	c.brokeOff()
	c.waiting = promise.OneLine(p.Fault.Error(), sentenceSize)
	if p.Fault.Usage != nil {
		c.unpaid = append(c.unpaid, *p.Fault.Usage)
	}
	c.o.Live(ralph.Activity{
		Kind:   "retry",
		Detail: fmt.Sprintf("%s; again in %s", promise.OneLine(c.waiting, shownSize), p.Wait.Round(time.Second)),
	})
}

// lost counts what was paid without a reply. A fault has the sum; without a fault, the attempts
// reported it.
func (c *Conversation) lost(err error) {
	c.brokeOff()
	paid := c.unpaid
	if fault, ok := errors.AsType[*model.Fault](err); ok {
		paid = nil
		if fault.Usage != nil {
			paid = []model.Usage{*fault.Usage}
		}
	}
	for _, u := range paid {
		c.bill.Count(&u, c.o.Model)
	}
	if c.unpaid = nil; paid != nil {
		c.reportSpent()
	}
}

func (c *Conversation) reportSpent() {
	spent := c.Spent()
	c.o.Live(ralph.Activity{Kind: "spent", Cost: spent.Cost, Tokens: spent.Tokens, Estimated: spent.Estimated})
}

// Package chat is one conversation with a model, as the worker and the planner hold it. It makes the calls, waits where that helps, shows what comes, drops what
// no longer fits into the model's window, and keeps the bill. What is said and done is the matter of whoever leads it.
package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/promise"
)

// DefaultWindow is how many tokens a model is taken to hold if nothing is known of it.
const DefaultWindow = 128_000

const (
	shownSize    = 200 // characters of a live detail
	sentenceSize = 300 // characters that are quoted from a provider
)

// Options say who is asked, and who is told of it.
type Options struct {
	Client    model.Client // it is made patient; see model.Patient
	Model     string
	MaxOutput int // tokens of one reply; 0 leaves it to the client
	// tokens that the model holds; 0 is what is known of it, or DefaultWindow
	Window int64
	Price  func(name string) (price model.Price, ok bool) // of a model; nil is model.PriceOf
	Live   func(ralph.Activity)
	Failed func(error) // told of each call that brings no reply; may be nil
	// of what is said only the beginning is shown, when all of it is there; thoughts are shown as they come all the same
	Terse bool
}

// Conversation is what was said so far, and what it took. It is for one goroutine.
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
	unpaid  []model.Usage // of attempts that failed while one call is waited for
	came    bool          // something of the reply that is waited for has come
}

// Reply is what the model said, as a message of the assistant, and what that cost; nil if it is not known.
type Reply struct {
	model.Reply
	Cost *float64
}

// New makes a conversation. Nobody is asked yet.
func New(o Options) *Conversation {
	c := &Conversation{o: o, bill: model.Bill{Price: o.Price}}
	c.client = model.Patiently(o.Client, c.waits)
	return c
}

// Begin says what the model is told before everything else, and what it may call.
func (c *Conversation) Begin(system string, tools []model.Tool) {
	c.system, c.tools, c.history = system, tools, newHistory(c.window(), system, tools)
}

func (c *Conversation) window() int64 {
	known, _ := WindowOf(c.o.Model, c.o.Price)
	return cmp.Or(c.o.Window, known)
}

// WindowOf is how many tokens a model holds, and whether that is known of it. What is not known is DefaultWindow. price may be nil.
func WindowOf(name string, price func(string) (model.Price, bool)) (tokens int64, known bool) {
	tokens, _ = model.Window(name)
	if price != nil && tokens == 0 {
		if told, ok := price(name); ok {
			tokens = told.Context
		}
	}
	return cmp.Or(tokens, DefaultWindow), tokens != 0
}

// Add takes a message into the conversation, which owns it from then on. Results of tools may be dropped when room is needed; those at the places in kept stay.
func (c *Conversation) Add(m model.Message, kept ...int) { c.history.add(m, kept) }

// Answers is the model that answered last, as the provider calls it; "" if it does not say.
func (c *Conversation) Answers() string { return c.answers }

// Waiting is what the provider is waited for at the moment, or was when a call was cut; "" after a reply.
func (c *Conversation) Waiting() string { return c.waiting }

// Spent is what all calls took so far.
func (c *Conversation) Spent() ralph.Spending {
	sum := c.bill.Sum()
	return ralph.Spending{
		Tokens:        (*ralph.Tokens)(sum.Usage),
		TokensPartial: sum.Untold,
		Cost:          sum.Cost,
		Estimated:     sum.Cost != nil,
		CostPartial:   sum.Untold || sum.Unpriced,
	}
}

// Ask gets one reply to the conversation as it stands, and does not take it into it. A conversation that is too long is shortened once and sent again. must
// names a tool that has to be called; where an endpoint does not know how, it is left to the model.
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

// brokeOff counts a reply that began and did not come to its end: what a provider tells of it, if anything, is not all.
func (c *Conversation) brokeOff() {
	if c.came {
		c.bill.Miss()
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

// lost counts what was paid for no reply: a fault has the sum of it, and where there is none each attempt told it.
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

package interview

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/model"
)

// send makes one model call, and a second one if the request turns out to be too long for the first time.
func (c *conversation) send(ctx context.Context) (model.Reply, error) {
	if err := ctx.Err(); err != nil {
		return model.Reply{}, err
	}
	if most := c.window * bytesPerToken; int64(c.size()) > most*8/10 {
		c.forget(int(most / 2))
	}
	reply, err := c.once(ctx)
	if fault, ok := errors.AsType[*model.Fault](err); ok && fault.Kind == model.FaultOverflow && !c.shrunk {
		c.shrunk = true
		if c.forget(0) {
			c.options.Live(ralph.Activity{Kind: "retry", Detail: "the conversation is too long for the model; what was read is dropped"})
			return c.once(ctx)
		}
	}
	return reply, err
}

func (c *conversation) once(ctx context.Context) (model.Reply, error) {
	thought := murmur{live: c.options.Live}
	reply, err := c.client.Send(ctx, c.request, thought.hear)
	thought.flush()
	if err != nil {
		if fault, ok := errors.AsType[*model.Fault](err); ok {
			c.spend(fault.Usage)
		}
		return model.Reply{}, err
	}
	if reply.Model != "" {
		c.out.Model = plainLine(reply.Model)
	}
	c.spend(reply.Lost)
	if !c.spend(reply.Usage) && !reply.Empty() {
		c.spent.unknown()
		c.spent.untold = true
	}
	if text := brief(reply.Message.Text); text != "" {
		c.options.Live(ralph.Activity{Kind: "text", Detail: text})
	}
	return reply, nil
}

// patient is the client with patience: what it waits for is shown.
func (c *conversation) patient() model.Client {
	p := model.Patient{Client: c.options.Client}
	if own, ok := c.options.Client.(*model.Patient); ok {
		p = *own // twice as patient would be endless
	}
	told := p.Told
	p.Told = func(pause model.Pause) {
		if told != nil {
			told(pause)
		}
		c.options.Live(ralph.Activity{Kind: "retry", Detail: fmt.Sprintf("%s; again in %s", brief(pause.Fault.Error()), pause.Wait.Round(time.Second))})
	}
	return &p
}

// murmur shows what a model thinks, line by line.
type murmur struct {
	live func(ralph.Activity)
	line strings.Builder
}

func (m *murmur) hear(d model.Delta) {
	for piece := range strings.Lines(d.Thought) {
		if m.line.Len() < 4*detailSize {
			m.line.WriteString(piece)
		}
		if strings.HasSuffix(piece, "\n") {
			m.flush()
		}
	}
}

func (m *murmur) flush() {
	if text := brief(m.line.String()); text != "" {
		m.live(ralph.Activity{Kind: "thought", Detail: text})
	}
	m.line.Reset()
}

// fail ends the interview with what an error means.
func (c *conversation) fail(ctx context.Context, err error) {
	if ctx.Err() != nil {
		end, what := ralph.EndInterrupted, "the interview was interrupted"
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			end, what = ralph.EndTimeout, "the interview took too long"
		}
		c.end(Failed, end, "%s", what)
		return
	}
	fault, ok := errors.AsType[*model.Fault](err)
	if !ok {
		c.end(Failed, ralph.EndFailed, "the model cannot be asked: %s", err)
		return
	}
	ends := map[model.FaultKind]ralph.EndClass{model.FaultAuth: ralph.EndAuth, model.FaultLimit: ralph.EndLimit, model.FaultProvider: ralph.EndProvider}
	end, known := ends[fault.Kind]
	if !known {
		end = ralph.EndFailed
	}
	c.end(Failed, end, "%s", fault)
	switch end {
	case ralph.EndLimit:
		c.out.RetryAfter = ralph.Span(fault.RetryAfter)
	case ralph.EndAuth:
		if c.options.KeyEnv != "" {
			c.out.Hint = fmt.Sprintf("set %s to a key that works", c.options.KeyEnv)
		}
	}
}

const (
	bytesPerToken = 3       // rather few: code has more tokens than prose
	guessedWindow = 128_000 // tokens, of a model that nobody knows
	keptAsItIs    = 500     // bytes of a result that are not worth dropping
)

func windowOf(o Options) int64 {
	if o.Window > 0 {
		return o.Window
	}
	if tokens, ok := model.Window(o.Model); ok {
		return tokens
	}
	return guessedWindow
}

// size is how many bytes the model reads.
func (c *conversation) size() int {
	n := len(c.request.System)
	for _, t := range c.request.Tools {
		n += len(t.Description) + len(t.Schema)
	}
	for _, m := range c.request.Messages {
		n += len(m.Text)
		for _, thought := range m.Thought {
			n += len(thought)
		}
		for _, call := range m.Calls {
			n += len(call.Input)
		}
		for _, r := range m.Results {
			n += len(r.Text)
		}
	}
	return n
}

// forget drops what was read, the oldest first, until the conversation has no more than target bytes. It can be read again; what a person answered, and
// what was wrong with a plan, stays. It reports whether anything was dropped.
func (c *conversation) forget(target int) bool {
	left, dropped := c.size(), false
	for i := range c.request.Messages {
		m := &c.request.Messages[i]
		if len(m.Results) == 0 || i == 0 {
			continue
		}
		calls := c.request.Messages[i-1].Calls
		m.Results = slices.Clone(m.Results)
		for k := range m.Results {
			r := &m.Results[k]
			if left <= target || len(r.Text) <= keptAsItIs || c.reading[calls[k].Name] == nil {
				continue
			}
			stub := fmt.Sprintf("[output dropped: %d bytes; read it again if you need it]", len(r.Text))
			left -= len(r.Text) - len(stub)
			r.Text, dropped = stub, true
		}
	}
	return dropped
}

// spending adds up what an interview takes. A cost that is not known of one call is not known of all.
type spending struct {
	tokens *ralph.Tokens
	cost   *float64
	vague  bool
	untold bool // of one call not even the tokens are known
}

func (s *spending) unknown() { s.vague, s.cost = true, nil }

// spend counts one usage, and reports whether there is anything to count.
func (c *conversation) spend(u *model.Usage) bool {
	if u == nil || min(u.Input, u.Output, u.CacheRead, u.CacheWrite) < 0 {
		return false
	}
	s := &c.spent
	if s.tokens == nil {
		s.tokens = &ralph.Tokens{}
	}
	s.tokens.Input += u.Input
	s.tokens.Output += u.Output
	s.tokens.CacheRead += u.CacheRead
	s.tokens.CacheWrite += u.CacheWrite
	switch usd, known := c.costOf(*u); {
	case !known:
		s.unknown()
	case !s.vague:
		if s.cost != nil {
			usd += *s.cost
		}
		usd = math.Round(usd*1e6) / 1e6
		s.cost = &usd
	}
	total := *s.tokens
	c.options.Live(ralph.Activity{Kind: "spent", Tokens: &total, Cost: s.cost, Estimated: s.cost != nil})
	return true
}

// costOf goes by the name that the provider has for the model, or else by the one that it was asked for.
func (c *conversation) costOf(u model.Usage) (usd float64, known bool) {
	for _, name := range []string{c.out.Model, c.options.Model} {
		if price, ok := c.options.Price(name); ok {
			return price.Cost(u)
		}
	}
	return 0, false
}

// overspent says why there may be no further call; "" if there may be one. What a plan took that is there already is nobody's concern.
func (c *conversation) overspent() string {
	o, s := c.options, c.spent
	switch {
	case o.MaxTokens > 0 && s.tokens != nil && s.tokens.Total() >= o.MaxTokens:
		return fmt.Sprintf("there is no plan after %d tokens; the cap is %d", s.tokens.Total(), o.MaxTokens)
	case o.MaxCost > 0 && s.cost != nil && *s.cost >= o.MaxCost:
		return fmt.Sprintf("there is no plan for $%.4f; the cap is $%.2f", *s.cost, o.MaxCost)
	case !o.Unmetered && (o.MaxTokens > 0 && s.untold || o.MaxCost > 0 && s.vague):
		return "the provider does not say what a call takes, so that the cap cannot be kept"
	}
	return ""
}

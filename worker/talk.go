package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/hooks"
	"github.com/ralphloop/ralph/internal/worker/chat"
	"github.com/ralphloop/ralph/internal/worker/tools"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/promise"
)

const (
	// maxEmpty replies in a row in which nothing came end a conversation.
	maxEmpty = 3
	// emptyPause is how long the first of them is waited for; each other one takes twice as long.
	emptyPause = 2 * time.Second
	// thoughtOnly stands for the text of a reply that has none: providers want a message to end with something that was said.
	thoughtOnly = "(no answer)"
)

// role is who leads a conversation: a worker, who makes a case, or a reviewer, who gives a verdict.
type role interface {
	name() string
	system() string
	tools(o tools.Options) []tools.Tool
	// closing is the tool with which the conversation can end.
	closing() model.Tool
	// close answers a call of it. With an ending the conversation is over.
	close(ctx context.Context, input json.RawMessage) (tools.Output, *ending)
	// quiet answers a reply without calls: with the next message, or with an ending.
	quiet(r model.Reply) (string, *ending)
	// hurry is what to say when only some turns are left; "" is nothing.
	hurry(left int) string
	// must is the tool that has to be called when only some turns are left; "" is none.
	must(left int) string
	// usedUp and nothing are the endings when no turn is left, and when nothing comes from the model.
	usedUp() *ending
	nothing() *ending
	// finish may add something to how it ended.
	finish(ctx context.Context, end *ending)
}

// talk is one conversation with a model: a fresh context, from the first message to its end.
type talk struct {
	o    Options
	in   ralph.AgentInput
	lead role

	chat     *chat.Conversation
	begun    time.Time
	deadline time.Time // zero is none
	tools    map[string]tools.Tool
	specs    []model.Tool
	turns    int
	stopped  bool // no other turn may follow
	late     bool // nor is there time for what this one asks for

	said       *promise.Scanner
	record     *transcript
	toolCounts map[string]int
	repeats    repeats
	hooks      *hooks.Set
	denials    []string // the first of those that were denied
	denied     int
	notTaken   []string // inputs of closing calls that ended nothing

	hookWarnings []ralph.HookRun // that the loop was not told of yet
}

func newTalk(o Options, in ralph.AgentInput, record *transcript) *talk {
	words := in.Words
	words.Prompt = "" // a reply never holds the prompt
	o.Model = cmp.Or(in.Model, o.Model)
	t := &talk{
		o:          o,
		in:         in,
		begun:      time.Now(),
		said:       promise.NewScanner(words),
		record:     record,
		toolCounts: map[string]int{},
	}
	t.chat = chat.New(chat.Options{
		Client: o.Client, Model: o.Model, MaxOutput: o.MaxOutput, Window: o.Window, Price: o.Price, Live: in.Live,
		Failed: func(err error) {
			record.write(entry{Role: model.Assistant, Error: promise.OneLine(err.Error(), sentenceSize)})
		},
	})
	t.hooks = t.hookSet()
	if in.Timeout > 0 {
		t.deadline = t.begun.Add(in.Timeout)
	}
	return t
}

// equip lays the tools out and begins the conversation.
func (t *talk) equip(set []tools.Tool) {
	t.tools = make(map[string]tools.Tool, len(set))
	for _, tool := range set {
		spec := tool.Spec()
		t.tools[spec.Name] = tool
		t.specs = append(t.specs, spec)
	}
	t.specs = append(t.specs, t.lead.closing())
	t.chat.Begin(t.lead.system(), t.specs)
	t.add(model.Message{Role: model.User, Text: t.in.Prompt}, entry{})
}

// add takes a message into the conversation and writes it down.
func (t *talk) add(m model.Message, more entry, kept ...int) {
	t.chat.Add(m, kept...)
	t.record.message(m, more)
}

// answering is the model that answers, as far as is known.
func (t *talk) answering() string { return cmp.Or(t.chat.Answers(), t.o.Model) }

// goOn takes turns until the conversation is over.
func (t *talk) goOn(ctx context.Context) *ending {
	for t.turns < t.o.MaxTurns {
		reply, end := t.reply(ctx)
		if end == nil {
			end = t.react(ctx, reply)
		}
		switch {
		case end != nil || t.record.err != nil:
			return end
		case t.stopped: // not even if its case was refused
			return &ending{class: ralph.EndOK}
		}
	}
	return t.lead.usedUp()
}

// reply asks until something comes. That is a turn.
func (t *talk) reply(ctx context.Context) (model.Reply, *ending) {
	for empty := 1; ; empty++ {
		if end := t.over(ctx); end != nil {
			return model.Reply{}, end
		}
		asked := time.Now()
		reply, end := t.ask(ctx, t.lead.must(t.o.MaxTurns-t.turns-1))
		if end != nil {
			return model.Reply{}, end
		}
		turn := ralph.Turn{
			Number:   t.turns + 1,
			Duration: ralph.Span(time.Since(asked)),
			End:      string(reply.End),
			Model:    t.answering(),
		}
		turn.Free = reply.Empty() && reply.End != model.EndRefuse
		for _, c := range reply.Message.Calls[:min(len(reply.Message.Calls), maxCalls)] {
			turn.Calls = append(turn.Calls, promise.OneLine(c.Name, shownSize))
		}
		t.heard(ctx, reply, turn)
		if !turn.Free {
			t.turns++
			return reply.Reply, nil
		}
		t.record.write(entry{
			Role:  model.Assistant,
			Model: t.chat.Answers(),
			End:   reply.End,
			Error: "nothing came",
			Usage: (*ralph.Tokens)(reply.Usage),
		})
		switch {
		case t.stopped:
			return model.Reply{}, &ending{class: ralph.EndOK}
		case empty == maxEmpty:
			return model.Reply{}, t.lead.nothing()
		}
		t.in.Live(ralph.Activity{Kind: "retry", Detail: "an empty reply"})
		t.pause(ctx, emptyPause<<(empty-1))
	}
}

// heard tells the loop what a reply took, which may say that it was the last.
func (t *talk) heard(ctx context.Context, r chat.Reply, turn ralph.Turn) {
	turn.Tokens, turn.Cost, turn.Estimated, turn.Spent = (*ralph.Tokens)(r.Usage), r.Cost, r.Cost != nil, t.chat.Spent()
	if t.in.Turn != nil {
		// Not with the iteration's deadline: what was paid for has to be recorded.
		turn.Hooks, t.hookWarnings = t.hookWarnings, nil
		order := t.in.Turn(ctx, turn)
		t.stopped, t.late = order.Stop, order.Late
	}
}

// react does what a reply asks for.
func (t *talk) react(ctx context.Context, r model.Reply) *ending {
	m := r.Message
	if strings.TrimSpace(m.Text) == "" {
		m.Text = ""
		if len(m.Calls) == 0 {
			m.Text = thoughtOnly
		}
	}
	t.said.WriteString(r.Message.Text)
	t.said.EndMessage()
	t.add(m, entry{Turn: t.turns, Model: t.chat.Answers(), End: r.End, Usage: (*ralph.Tokens)(r.Usage)})
	switch {
	case r.End == model.EndRefuse:
		return &ending{class: ralph.EndFailed, text: "the model refuses to go on" + quoted(r.Message.Text)}
	case len(m.Calls) == 0:
		return t.quiet(r)
	case t.late && !t.onlyCloses(m.Calls):
		return &ending{class: ralph.EndOK}
	}
	return t.answer(ctx, r)
}

// quiet goes on after a reply without calls.
func (t *talk) quiet(r model.Reply) *ending {
	next, end := t.lead.quiet(r)
	switch {
	case end != nil:
		return end
	case t.stopped:
		return &ending{class: ralph.EndOK}
	}
	t.add(model.Message{Role: model.User, Text: next}, entry{})
	return nil
}

// onlyCloses reports whether there is nothing to do but to close: that much is done even if the time is over.
func (t *talk) onlyCloses(calls []model.Call) bool {
	return !slices.ContainsFunc(calls, func(c model.Call) bool { return c.Name != t.lead.closing().Name })
}

// outcome is what the loop gets to know.
func (t *talk) outcome(end *ending) ralph.AgentOutcome {
	spent := t.chat.Spent()
	steps := t.turns
	o := ralph.AgentOutcome{
		Agent:      t.lead.name(),
		Model:      t.answering(),
		End:        end.class,
		Error:      end.text,
		Hint:       end.hint,
		RetryAfter: ralph.Span(end.wait),
		Duration:   ralph.Span(time.Since(t.begun)), Steps: &steps, Tokens: spent.Tokens, TokensPartial: spent.TokensPartial,
		Cost: spent.Cost, CostEstimated: spent.Estimated, CostPartial: spent.CostPartial,
		OutputBytes: t.record.bytes,
		Truncated:   t.record.full,
		Said:        t.said.Report(),
		TaskEnd:     end.task,
		AnswersCut:  end.cut,
		Answer:      end.answer,
		Denials:     t.allDenials(), Hooks: t.hookWarnings,
	}
	if len(t.toolCounts) > 0 {
		o.Tools = t.toolCounts
	}
	// What was said of being stuck before the work went on is over.
	o.Said.Blocked, o.Said.Decide = end.blocked, end.decide
	if end.learning != "" {
		o.Said.Learnings = append(o.Said.Learnings, end.learning)
	}
	return o
}

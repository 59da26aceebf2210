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
	// maxEmpty is the number of empty replies in a row that end a conversation.
	maxEmpty = 3
	// emptyPause is the pause after the first empty reply; it doubles each time.
	emptyPause = 2 * time.Second
	// thoughtOnly replaces the text of a reply that has none, because providers want a message to end
	// with text.
	thoughtOnly = "(no answer)"
)

// role controls a conversation: a worker makes a case, a reviewer gives a verdict.
type role interface {
	name() string
	system() string
	tools(o tools.Options) []tools.Tool
	// closing returns the tool that can end the conversation.
	closing() model.Tool
	// close answers a call of the closing tool. If it returns an ending, the conversation is over.
	close(ctx context.Context, input json.RawMessage) (tools.Output, *ending)
	// onNoCall answers a reply without calls: with the next message or with an ending.
	onNoCall(r model.Reply) (string, *ending)
	// turnWarning returns a warning about the number of turns left; "" means none.
	turnWarning(left int) string
	// requiredTool returns the tool that must be called when so many turns are left; "" means none.
	requiredTool(left int) string
	// outOfTurns and noReplies return the endings when no turn is left, and when the model sends only
	// empty replies.
	outOfTurns() *ending
	noReplies() *ending
	// finish may add to the ending.
	finish(ctx context.Context, end *ending)
}

// conversation is one conversation with a model: a fresh context, from the first message to its
// end.
type conversation struct {
	o    Options
	in   ralph.AgentInput
	lead role

	chat     *chat.Conversation
	begun    time.Time
	deadline time.Time // zero means none
	tools    map[string]tools.Tool
	specs    []model.Tool
	turns    int
	order    ralph.TurnOrder // the loop's last one

	said          *promise.Scanner
	record        *transcript
	toolCounts    map[string]int
	repeats       repeats
	hooks         *hooks.Set
	denials       []string // the first denied calls
	denied        int
	refusedInputs []string // inputs of closing calls that ended nothing

	evidence     []ralph.ToolEvidence
	hookWarnings []ralph.HookRun // not reported to the loop yet
}

func newConversation(o Options, in ralph.AgentInput, record *transcript) *conversation {
	words := in.Words
	words.Prompt = "" // a reply never contains the prompt
	o.Model = cmp.Or(in.Model, o.Model)
	t := &conversation{
		o:          o,
		in:         in,
		begun:      time.Now(),
		said:       promise.NewScanner(words),
		record:     record,
		toolCounts: map[string]int{},
	}
	t.chat = chat.New(chat.Options{
		Client: o.Client, Model: o.Model, MaxOutput: o.MaxOutput, Window: o.Window, Price: o.Price, Live: in.Live,
		Mask: o.Mask,
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

// start sets up the tools and begins the conversation.
func (t *conversation) start(set []tools.Tool) {
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

// add adds a message to the conversation and to the transcript.
func (t *conversation) add(m model.Message, more entry, kept ...int) {
	t.chat.Add(m, kept...)
	t.record.message(m, more)
}

// answering returns the model that answers, as far as known.
func (t *conversation) answering() string { return cmp.Or(t.chat.Answers(), t.o.Model) }

// takeTurns takes turns until the conversation is over.
func (t *conversation) takeTurns(ctx context.Context) *ending {
	for t.turns < t.o.MaxTurns {
		reply, end := t.reply(ctx)
		if end == nil {
			end = t.react(ctx, reply)
		}
		switch {
		case end != nil || t.record.err != nil:
			return end
		case t.order.Stop: // even if its case was refused
			return t.stoppedByLoop()
		}
	}
	return t.lead.outOfTurns()
}

// reply asks until the model sends something, which counts as a turn.
func (t *conversation) reply(ctx context.Context) (model.Reply, *ending) {
	for empty := 1; ; empty++ {
		if end := t.timeIsUp(ctx); end != nil {
			return model.Reply{}, end
		}
		asked := time.Now()
		reply, end := t.ask(ctx, t.lead.requiredTool(t.o.MaxTurns-t.turns-1))
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
		t.reportTurn(ctx, reply, turn)
		if !turn.Free {
			t.turns++
			return reply.Reply, nil
		}
		t.record.write(entry{
			Role:  model.Assistant,
			Model: t.chat.Answers(),
			End:   reply.End,
			Error: "empty reply",
			Usage: (*ralph.Tokens)(reply.Usage),
		})
		switch {
		case t.order.Stop:
			return model.Reply{}, t.stoppedByLoop()
		case empty == maxEmpty:
			return model.Reply{}, t.lead.noReplies()
		}
		t.in.Live(ralph.Activity{Kind: "retry", Detail: "an empty reply"})
		t.pause(ctx, emptyPause<<(empty-1))
	}
}

// reportTurn reports to the loop what a reply used. The loop may answer that it was the last.
func (t *conversation) reportTurn(ctx context.Context, r chat.Reply, turn ralph.Turn) {
	turn.Tokens, turn.Cost, turn.Spent = (*ralph.Tokens)(r.Usage), r.Cost, t.chat.Spent()
	turn.Estimated = r.Cost != nil && r.Reply.Cost == nil
	if t.in.Turn == nil { // a reviewer, or an author of tests
		t.order.Cut = t.in.Budget.Exceeded(turn.Spent.Cost, turn.Spent.Tokens, nil)
		t.order.Stop = t.order.Cut != ""
	} else {
		// Without the iteration's deadline, because what was paid for must be recorded.
		turn.Hooks, t.hookWarnings = t.hookWarnings, nil
		t.order = t.in.Turn(ctx, turn)
	}
}

// stoppedByLoop is the end of a conversation that may take no further turn.
func (t *conversation) stoppedByLoop() *ending {
	if t.order.Cut != "" {
		return &ending{class: ralph.EndCut, text: "stopped at " + t.order.Cut}
	}
	return &ending{class: ralph.EndOK}
}

// react does what a reply asks for.
func (t *conversation) react(ctx context.Context, r model.Reply) *ending {
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
		return &ending{class: ralph.EndFailed, text: "the model refused to continue" + quoted(r.Message.Text)}
	case len(m.Calls) == 0:
		return t.replyWithoutCalls(r)
	case t.order.Late && !t.onlyCloses(m.Calls):
		return &ending{class: ralph.EndOK}
	}
	return t.answer(ctx, r)
}

// replyWithoutCalls continues after a reply without calls.
func (t *conversation) replyWithoutCalls(r model.Reply) *ending {
	next, end := t.lead.onNoCall(r)
	switch {
	case end != nil:
		return end
	case t.order.Stop:
		return t.stoppedByLoop()
	}
	t.add(model.Message{Role: model.User, Text: next}, entry{})
	return nil
}

// onlyCloses reports whether all calls close the conversation; those run even if the time is up.
func (t *conversation) onlyCloses(calls []model.Call) bool {
	return !slices.ContainsFunc(calls, func(c model.Call) bool { return c.Name != t.lead.closing().Name })
}

// outcome returns the outcome for the loop.
func (t *conversation) outcome(end *ending) ralph.AgentOutcome {
	spent := t.chat.Spent()
	steps := t.turns
	o := ralph.AgentOutcome{
		Agent:         t.lead.name(),
		Model:         t.answering(),
		End:           end.class,
		Error:         end.text,
		Hint:          end.hint,
		RetryAfter:    ralph.Span(end.wait),
		Duration:      ralph.Span(time.Since(t.begun)),
		Steps:         &steps,
		Tokens:        spent.Tokens,
		TokensPartial: spent.TokensPartial,
		Cost:          spent.Cost,
		CostEstimated: spent.Estimated,
		CostPartial:   spent.CostPartial,
		OutputBytes:   t.record.bytes,
		Truncated:     t.record.full,
		Said:          t.said.Report(),
		TaskEnd:       end.task,
		AnswersCut:    end.cut,
		CaseProblem:   end.caseProblem,
		Answer:        end.answer,
		Evidence:      t.evidence,
		Denials:       t.allDenials(),
		Hooks:         t.hookWarnings,
	}
	if len(t.toolCounts) > 0 {
		o.Tools = t.toolCounts
	}
	// A report of being stuck that was followed by more work no longer counts.
	o.Said.Blocked, o.Said.Decide = end.blocked, end.decide
	if end.learning != "" {
		o.Said.Learnings = append(o.Said.Learnings, end.learning)
	}
	return o
}

package acp

import (
	"bytes"
	"fmt"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/promise"
)

// update is one session/update taken apart, text still escaped.
type update struct {
	kind          string
	session       []byte
	message, text []byte // of a chunk
	subAgent      bool
	call          toolCall
	status        string
	plan          planState
	cost          *float64
	spent         ralph.Tokens
}

// planState is how far a plan has come.
type planState struct {
	done, all int
	now       string // what is worked on
}

// update takes one piece of news.
func (a *listener) update(params []byte) {
	u := parseUpdate(params)
	a.Events++
	if len(u.session) > 0 && a.Session != "" && promise.OneLine(string(stream.Unescape(nil, u.session)), stream.MaxSession) != a.Session {
		u.subAgent = true
	}
	a.spend(u)
	switch u.kind {
	case "agent_message_chunk":
		if !u.subAgent {
			a.thought.show()
			a.words.say(u.message, u.text)
		}
	case "agent_thought_chunk":
		a.words.end()
		a.thought.add(stream.Unescape(nil, u.text))
	case "tool_call", "tool_call_update":
		a.called(u.call, u.status)
	case "plan":
		a.thought.show()
		detail := fmt.Sprintf("%d of %d done", u.plan.done, u.plan.all)
		if u.plan.now != "" {
			detail += "; " + u.plan.now
		}
		a.Live(ralph.Activity{Kind: "plan", Name: "plan", Detail: promise.OneLine(detail, stream.DetailSize)})
	}
}

// called notes a tool call once, shows what becomes known of it before it is done, and gives all that is known of it.
func (a *listener) called(told toolCall, status string) toolCall {
	before := a.calls.find(told.id).about()
	call, isNew := a.calls.note(told)
	switch {
	case isNew:
		a.fallSilent()
		a.Tool(call.name(), call.about())
	case status == "in_progress" && call.about() != before:
		a.Live(ralph.Activity{Kind: "tool", Name: promise.OneLine(call.name(), stream.DetailSize), Detail: promise.OneLine(call.about(), stream.DetailSize)})
	}
	return call
}

// spend notes what was spent so far. The cost is that of the session; one of 0 is not told apart from one that is not known. Tokens beside a
// message are those of one model call.
func (a *listener) spend(u update) {
	if u.cost == nil && u.spent.Total() == 0 {
		return
	}
	if u.cost != nil {
		a.Cost = u.cost
	}
	stream.AddTokens(&a.Spent, u.spent)
	a.TellSpent()
}

func parseUpdate(params []byte) (u update) {
	w := stream.Walker{Text: params}
	for key := range w.Fields() {
		switch string(key) {
		case "sessionId":
			u.session, _ = w.Str()
		case "update":
			body := w // a call is read by a walk of its own
			u.parse(&w)
			if u.kind == "tool_call" || u.kind == "tool_call_update" {
				u.call.parse(&body)
			}
		}
	}
	return u
}

func (u *update) parse(w *stream.Walker) {
	for key := range w.Fields() {
		switch string(key) {
		case "sessionUpdate":
			u.kind = w.Word()
		case "messageId":
			u.message, _ = w.Str()
		case "status":
			u.status = w.Word()
		case "content":
			u.parseText(w)
		case "entries":
			u.plan.parse(w)
		case "cost":
			u.parseCost(w)
		case "_meta":
			u.parseMeta(w)
		}
	}
}

func (u *update) parseText(w *stream.Walker) {
	kind := ""
	var text []byte
	for key := range w.Fields() {
		switch string(key) {
		case "type":
			kind = w.Word()
		case "text":
			text, _ = w.Str()
		}
	}
	if kind == "text" {
		u.text = text
	}
}

func (u *update) parseCost(w *stream.Walker) {
	amount, currency := 0.0, ""
	for key := range w.Fields() {
		switch string(key) {
		case "amount":
			amount, _ = w.Number()
		case "currency":
			currency = w.Word()
		}
	}
	if amount > 0 && currency == "USD" {
		u.cost = &amount
	}
}

// parseMeta reads what agents tell beyond the protocol. That a message is a sub-agent's was found in qwen's own program, and is known of the
// adapter for Claude Code from documentation only.
func (u *update) parseMeta(w *stream.Walker) {
	for key := range w.Fields() {
		switch string(key) {
		case "usage":
			u.spent = readTokens(w)
		case "parentToolCallId":
			u.subAgent = w.Word() != ""
		case "claudeCode":
			for key := range w.Fields() {
				if string(key) == "parentToolUseId" {
					u.subAgent = w.Word() != ""
				}
			}
		}
	}
}

func (p *planState) parse(w *stream.Walker) {
	for range w.Elements() {
		content, status := "", ""
		for key := range w.Fields() {
			switch string(key) {
			case "content":
				content = w.Word()
			case "status":
				status = w.Word()
			}
		}
		p.all++
		switch {
		case status == "completed":
			p.done++
		case status == "in_progress" && p.now == "":
			p.now = promise.OneLine(content, stream.DetailSize)
		}
	}
}

// readTokens reads a usage. By the protocol all kinds of tokens stand side by side and add up to the total, and opencode does so; where they do not
// add up, as with qwen, the input includes what came from the cache and the output the thoughts. opencode tells the last model call only.
func readTokens(w *stream.Walker) ralph.Tokens {
	var t ralph.Tokens
	var thoughts, total int64
	for key := range w.Fields() {
		switch string(key) {
		case "inputTokens":
			t.Input = w.Count()
		case "outputTokens":
			t.Output = w.Count()
		case "cachedReadTokens":
			t.CacheRead = w.Count()
		case "cachedWriteTokens":
			t.CacheWrite = w.Count()
		case "thoughtTokens":
			thoughts = w.Count()
		case "totalTokens":
			total = w.Count()
		}
	}
	if t.Total()+thoughts == total {
		t.Output += thoughts
	} else {
		t.Input = max(t.Input-t.CacheRead-t.CacheWrite, 0)
	}
	return t
}

// quota reads the figures that gemini puts beside the end of a turn, with the model that really worked.
func (a *listener) quota(w *stream.Walker) {
	for key := range w.Fields() {
		if string(key) != "quota" {
			continue
		}
		for key := range w.Fields() {
			switch string(key) {
			case "token_count":
				a.quotaTokens(w)
			case "model_usage":
				a.quotaModel(w)
			}
		}
	}
}

func (a *listener) quotaTokens(w *stream.Walker) {
	for key := range w.Fields() {
		switch string(key) {
		case "input_tokens":
			a.Spent.Input = w.Count()
		case "output_tokens":
			a.Spent.Output = w.Count()
		}
	}
}

func (a *listener) quotaModel(w *stream.Walker) {
	for i := range w.Elements() {
		for key := range w.Fields() {
			if string(key) == "model" && i == 0 {
				a.Model = promise.OneLine(w.Word(), stream.DetailSize)
			}
		}
	}
}

// fallSilent ends the message and the thought under way.
func (a *listener) fallSilent() {
	a.words.end()
	a.thought.show()
}

// words passes on what the agent says, piece by piece.
type words struct {
	*stream.Reading
	open    bool
	message []byte // id of the message under way, if it has one
	line    liveLine
	buffer  []byte
}

// say takes a piece of a message. Pieces with different ids are of different messages.
func (s *words) say(id, escaped []byte) {
	if len(escaped) == 0 {
		return
	}
	if s.open && !bytes.Equal(id, s.message) {
		s.end()
	}
	s.open, s.message = true, append(s.message[:0], id...)
	s.buffer = stream.Unescape(s.buffer[:0], escaped)
	_, _ = s.Said.Write(s.buffer) // never fails
	s.line.add(s.buffer)
}

// end ends the message under way.
func (s *words) end() {
	if s.open {
		s.open = false
		s.Said.EndMessage()
		s.line.show()
	}
}

// liveLine shows text that comes in pieces line by line: the pieces are as short as a syllable.
type liveLine struct {
	*stream.Reading
	kind string
	text []byte // the beginning of the line under way
}

func (l *liveLine) add(text []byte) {
	for len(text) > 0 {
		line, after, whole := bytes.Cut(text, []byte("\n"))
		room := max(4*stream.DetailSize-len(l.text), 0)
		l.text = append(l.text, line[:min(len(line), room)]...)
		if whole {
			l.show()
		}
		text = after
	}
}

// show tells the line under way and begins another.
func (l *liveLine) show() {
	if detail := promise.OneLine(string(l.text), stream.DetailSize); detail != "" {
		l.Live(ralph.Activity{Kind: l.kind, Detail: detail})
	}
	l.text = l.text[:0]
}

// recentCalls remembers the last tool calls: a question about one may tell no more than its id.
type recentCalls struct {
	recent [32]toolCall
	next   int
}

// note adds what is told of a call to what was known, and says whether it is a new one.
func (c *recentCalls) note(told toolCall) (toolCall, bool) {
	if known := c.find(told.id); known.id != "" {
		known.merge(told)
		return *known, false
	}
	c.recent[c.next%len(c.recent)] = told
	c.next++
	return told, true
}

// find gives the call of that id, or an empty one.
func (c *recentCalls) find(id string) *toolCall {
	for i := range c.recent {
		if id != "" && c.recent[i].id == id {
			return &c.recent[i]
		}
	}
	return &toolCall{}
}

package agent

import (
	"bytes"
	"fmt"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

// acpUpdate is one session/update taken apart, text still escaped.
type acpUpdate struct {
	kind          string
	session       []byte
	message, text []byte // of a chunk
	subAgent      bool
	call          acpCall
	status        string
	plan          acpPlan
	cost          *float64
	spent         ralph.Tokens
}

// acpPlan is how far a plan has come.
type acpPlan struct {
	done, all int
	now       string // what is worked on
}

// update takes one piece of news.
func (a *acpStream) update(params []byte) {
	u := parseACPUpdate(params)
	a.events++
	if len(u.session) > 0 && a.session != "" && promise.OneLine(string(unescape(nil, u.session)), maxSession) != a.session {
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
		a.thought.add(unescape(nil, u.text))
	case "tool_call", "tool_call_update":
		a.called(u.call, u.status)
	case "plan":
		a.thought.show()
		detail := fmt.Sprintf("%d of %d done", u.plan.done, u.plan.all)
		if u.plan.now != "" {
			detail += "; " + u.plan.now
		}
		a.live(ralph.Activity{Kind: "plan", Name: "plan", Detail: promise.OneLine(detail, detailSize)})
	}
}

// called notes a tool call once, shows what becomes known of it before it is done, and gives all that is known of it.
func (a *acpStream) called(told acpCall, status string) acpCall {
	before := a.calls.find(told.id).about()
	call, isNew := a.calls.note(told)
	switch {
	case isNew:
		a.fallSilent()
		a.tool(call.name(), call.about())
	case status == "in_progress" && call.about() != before:
		a.live(ralph.Activity{Kind: "tool", Name: promise.OneLine(call.name(), detailSize), Detail: promise.OneLine(call.about(), detailSize)})
	}
	return call
}

// spend notes what was spent so far. The cost is that of the session; one of 0 is not told apart from one that is not known. Tokens beside a
// message are those of one model call.
func (a *acpStream) spend(u acpUpdate) {
	if u.cost == nil && u.spent.Total() == 0 {
		return
	}
	if u.cost != nil {
		a.cost = u.cost
	}
	addTokens(&a.spent, u.spent)
	a.tellSpent()
}

func parseACPUpdate(params []byte) (u acpUpdate) {
	w := walker{text: params}
	for key := range w.fields() {
		switch string(key) {
		case "sessionId":
			u.session, _ = w.str()
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

func (u *acpUpdate) parse(w *walker) {
	for key := range w.fields() {
		switch string(key) {
		case "sessionUpdate":
			u.kind = w.word()
		case "messageId":
			u.message, _ = w.str()
		case "status":
			u.status = w.word()
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

func (u *acpUpdate) parseText(w *walker) {
	kind := ""
	var text []byte
	for key := range w.fields() {
		switch string(key) {
		case "type":
			kind = w.word()
		case "text":
			text, _ = w.str()
		}
	}
	if kind == "text" {
		u.text = text
	}
}

func (u *acpUpdate) parseCost(w *walker) {
	amount, currency := 0.0, ""
	for key := range w.fields() {
		switch string(key) {
		case "amount":
			amount, _ = w.number()
		case "currency":
			currency = w.word()
		}
	}
	if amount > 0 && currency == "USD" {
		u.cost = &amount
	}
}

// parseMeta reads what agents tell beyond the protocol. That a message is a sub-agent's was found in qwen's own program, and is known of the
// adapter for Claude Code from documentation only.
func (u *acpUpdate) parseMeta(w *walker) {
	for key := range w.fields() {
		switch string(key) {
		case "usage":
			u.spent = acpTokens(w)
		case "parentToolCallId":
			u.subAgent = w.word() != ""
		case "claudeCode":
			for key := range w.fields() {
				if string(key) == "parentToolUseId" {
					u.subAgent = w.word() != ""
				}
			}
		}
	}
}

func (p *acpPlan) parse(w *walker) {
	for range w.elements() {
		content, status := "", ""
		for key := range w.fields() {
			switch string(key) {
			case "content":
				content = w.word()
			case "status":
				status = w.word()
			}
		}
		p.all++
		switch {
		case status == "completed":
			p.done++
		case status == "in_progress" && p.now == "":
			p.now = promise.OneLine(content, detailSize)
		}
	}
}

// acpTokens reads a usage. By the protocol all kinds of tokens stand side by side and add up to the total, and opencode does so; where they do not
// add up, as with qwen, the input includes what came from the cache and the output the thoughts. opencode tells the last model call only.
func acpTokens(w *walker) ralph.Tokens {
	var t ralph.Tokens
	var thoughts, total int64
	for key := range w.fields() {
		switch string(key) {
		case "inputTokens":
			t.Input = w.count()
		case "outputTokens":
			t.Output = w.count()
		case "cachedReadTokens":
			t.CacheRead = w.count()
		case "cachedWriteTokens":
			t.CacheWrite = w.count()
		case "thoughtTokens":
			thoughts = w.count()
		case "totalTokens":
			total = w.count()
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
func (a *acpStream) quota(w *walker) {
	for key := range w.fields() {
		if string(key) != "quota" {
			continue
		}
		for key := range w.fields() {
			switch string(key) {
			case "token_count":
				a.quotaTokens(w)
			case "model_usage":
				a.quotaModel(w)
			}
		}
	}
}

func (a *acpStream) quotaTokens(w *walker) {
	for key := range w.fields() {
		switch string(key) {
		case "input_tokens":
			a.spent.Input = w.count()
		case "output_tokens":
			a.spent.Output = w.count()
		}
	}
}

func (a *acpStream) quotaModel(w *walker) {
	for i := range w.elements() {
		for key := range w.fields() {
			if string(key) == "model" && i == 0 {
				a.model = promise.OneLine(w.word(), detailSize)
			}
		}
	}
}

// fallSilent ends the message and the thought under way.
func (a *acpStream) fallSilent() {
	a.words.end()
	a.thought.show()
}

// acpWords passes on what the agent says, piece by piece.
type acpWords struct {
	*reading
	open    bool
	message []byte // id of the message under way, if it has one
	line    acpLine
	buffer  []byte
}

// say takes a piece of a message. Pieces with different ids are of different messages.
func (s *acpWords) say(id, escaped []byte) {
	if len(escaped) == 0 {
		return
	}
	if s.open && !bytes.Equal(id, s.message) {
		s.end()
	}
	s.open, s.message = true, append(s.message[:0], id...)
	s.buffer = unescape(s.buffer[:0], escaped)
	_, _ = s.said.Write(s.buffer) // never fails
	s.line.add(s.buffer)
}

// end ends the message under way.
func (s *acpWords) end() {
	if s.open {
		s.open = false
		s.said.EndMessage()
		s.line.show()
	}
}

// acpLine shows text that comes in pieces line by line: the pieces are as short as a syllable.
type acpLine struct {
	*reading
	kind string
	text []byte // the beginning of the line under way
}

func (l *acpLine) add(text []byte) {
	for len(text) > 0 {
		line, after, whole := bytes.Cut(text, []byte("\n"))
		room := max(4*detailSize-len(l.text), 0)
		l.text = append(l.text, line[:min(len(line), room)]...)
		if whole {
			l.show()
		}
		text = after
	}
}

// show tells the line under way and begins another.
func (l *acpLine) show() {
	if detail := promise.OneLine(string(l.text), detailSize); detail != "" {
		l.live(ralph.Activity{Kind: l.kind, Detail: detail})
	}
	l.text = l.text[:0]
}

// acpCalls remembers the last tool calls: a question about one may tell no more than its id.
type acpCalls struct {
	recent [32]acpCall
	next   int
}

// note adds what is told of a call to what was known, and says whether it is a new one.
func (c *acpCalls) note(told acpCall) (acpCall, bool) {
	if known := c.find(told.id); known.id != "" {
		known.merge(told)
		return *known, false
	}
	c.recent[c.next%len(c.recent)] = told
	c.next++
	return told, true
}

// find gives the call of that id, or an empty one.
func (c *acpCalls) find(id string) *acpCall {
	for i := range c.recent {
		if id != "" && c.recent[i].id == id {
			return &c.recent[i]
		}
	}
	return &acpCall{}
}

package agent

import (
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/promise"
)

// gooseStream reads the events of `goose run --output-format stream-json`.
//
//	message       a piece of a message: of the model (role assistant), or the results of tools (role user, never looked into). The pieces of one
//	              message have one id
//	notification  what extensions and sub-agents tell on the side
//	error         the run failed
//	complete      the closing event, with what was spent; in versions before September 2026 after an error, too
//
// When the model cannot be reached, goose says so in the agent's name, and many versions call that a good end.
type gooseStream struct {
	*stream.Reading
	message string // id of the message that is being written
	writing bool
	open    string        // the call of a tool that has no result yet
	excuse  *stream.Fault // what goose said in the agent's name, if that came last
	buffer  []byte
}

// gooseEvent is one event taken apart, strings still escaped.
type gooseEvent struct {
	kind, failure []byte
	cost          *float64
	message       gooseMessage
	tokens        ralph.Tokens
	metered       bool // the tokens are told
}

// gooseUsage is what the CLI calls its tokens. The input's figure includes the cache's. The total says nothing that these do not, and in older
// versions it is that of the last call alone.
var gooseUsage = stream.TokenNames{"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_write_input_tokens"}

// gooseMessage is a piece of a message.
type gooseMessage struct {
	id, role []byte
	content  []gooseContent
	inferred bool // it says of itself that a model wrote it
}

// gooseContent is text, the call or the result of a tool, or a notice.
type gooseContent struct{ kind, text, tool, detail, notice []byte }

func (g *gooseStream) ignores(kind []byte) bool { return string(kind) == "notification" }

func (g *gooseStream) event(text []byte) bool {
	e, ok := g.parse(text)
	if !ok {
		g.beforeTheStream(text)
		return false
	}
	switch string(e.kind) {
	case "notification":
	case "message":
		g.piece(e.message)
	case "error":
		g.Closed, g.Fault = true, gooseFault(string(stream.Unescape(nil, e.failure)))
	case "complete":
		g.complete(e)
	default:
		return true
	}
	g.Events++
	return true
}

// beforeTheStream knows the complaints that goose prints as plain text on standard output and ends with.
func (g *gooseStream) beforeTheStream(text []byte) {
	if found := gooseUnconfigured().FindSubmatch(text); found != nil && g.Events == 0 {
		g.Events++
		g.Retry = &stream.Fault{Class: ralph.EndAuth, Text: promise.OneLine(string(found[1]), stream.SentenceSize), Hint: gooseLogin}
	}
}

var gooseUnconfigured = text.LazyRegexp(`^\s*error: (No (?:provider|model) configured\b.*)`)

// longEvent is the result of a tool, or a call with a long input.
func (g *gooseStream) longEvent(head []byte) bool {
	e, _ := g.parse(head)
	switch {
	case string(e.kind) == "message" && string(e.message.role) == "user":
	case string(e.kind) == "message" && len(e.message.content) == 1 && string(e.message.content[0].kind) == "toolRequest":
	default:
		return false
	}
	g.Events++
	g.piece(e.message)
	return true
}

// parse takes an event apart in one pass. It stops early at those that nobody looks into.
func (g *gooseStream) parse(text []byte) (e gooseEvent, ok bool) {
	w := stream.Walker{Text: text}
	for key := range w.Fields() {
		switch string(key) {
		case "type":
			if e.kind, _ = w.Str(); g.ignores(e.kind) {
				return e, true
			}
		case "message":
			e.message = parseGooseMessage(&w)
		case "error":
			e.failure, _ = w.Str()
		case "cost_usd":
			if n, ok := w.Number(); ok {
				e.cost = &n
			}
		default:
			e.metered = gooseUsage.Take(&w, key, &e.tokens) || e.metered
		}
	}
	return e, !w.Bad && len(e.kind) > 0
}

func parseGooseMessage(w *stream.Walker) (m gooseMessage) {
	for key := range w.Fields() {
		switch string(key) {
		case "id":
			m.id, _ = w.Str()
		case "role":
			m.role, _ = w.Str()
		case "content":
			for range w.Elements() {
				m.content = append(m.content, parseGooseContent(w))
			}
		case "metadata":
			for key := range w.Fields() {
				m.inferred = m.inferred || string(key) == "inference" && w.Peek() == '{'
			}
		}
	}
	return m
}

func parseGooseContent(w *stream.Walker) (c gooseContent) {
	for key := range w.Fields() {
		switch string(key) {
		case "type":
			c.kind, _ = w.Str()
		case "text", "msg":
			c.text, _ = w.Str()
		case "message":
			c.text, _ = w.Str()
		case "notificationType":
			c.notice, _ = w.Str()
		case "toolCall":
			c.tool, c.detail = parseGooseCall(w)
		}
	}
	return c
}

// parseGooseCall knows a call inside of the result that it is wrapped in.
func parseGooseCall(w *stream.Walker) (tool, detail []byte) {
	for key := range w.Fields() {
		if string(key) != "value" {
			continue
		}
		for key := range w.Fields() {
			switch string(key) {
			case "name":
				tool, _ = w.Str()
			case "arguments":
				detail = tellingField(w)
			}
		}
	}
	return tool, detail
}

// piece hears a piece of a message. Results of tools end a message, since the next one answers them.
func (g *gooseStream) piece(m gooseMessage) {
	if string(m.role) != "assistant" {
		g.writing, g.open, g.Retry = false, "", nil
		return
	}
	for _, c := range m.content {
		switch string(c.kind) {
		case "text":
			g.speak(m, c.text)
		case "toolRequest", "frontendToolRequest":
			g.excuse = nil
			g.begin(m)
			name := string(stream.Unescape(nil, c.tool))
			g.open = promise.OneLine(name+": "+string(stream.Unescape(nil, c.detail)), stream.DetailSize)
			g.Tool(name, string(stream.Unescape(nil, c.detail)))
		case "error":
			g.excuse = gooseFault(string(stream.Unescape(nil, c.text)))
		case "systemNotification":
			if string(c.notice) == "creditsExhausted" {
				g.excuse = &stream.Fault{Class: ralph.EndLimit, Text: "the credit is used up: " + promise.OneLine(string(stream.Unescape(nil, c.text)), stream.SentenceSize)}
			}
		}
	}
}

// speak passes on the agent's words, and keeps back what goose says in its name. That comes as a whole, in a message of its own.
func (g *gooseStream) speak(m gooseMessage, escaped []byte) {
	g.buffer = stream.Unescape(g.buffer[:0], escaped)
	continued := g.writing && g.message == string(m.id)
	if !m.inferred && !continued && gooseExcuse().Match(g.buffer) {
		g.excuse = gooseFault(string(g.buffer))
		return
	}
	g.excuse = nil
	g.begin(m)
	g.Say(g.buffer)
}

// begin counts an answer of the model when its first piece comes.
func (g *gooseStream) begin(m gooseMessage) {
	if g.writing && g.message == string(m.id) {
		return
	}
	g.Said.EndMessage()
	g.writing, g.message = true, string(m.id)
	g.Step()
}

func (g *gooseStream) complete(e gooseEvent) {
	g.Said.EndMessage()
	g.Tokens, g.Cost = nil, e.cost
	if e.metered {
		g.Tokens = stream.WithoutCache(&e.tokens)
	}
	g.TellSpent()
	if !g.Closed {
		g.Fault = g.excuse
	}
	g.Closed = true
}

// endedInTool judges a goose that ended within the call of a tool, without a word about it: that is what it does when the tool needs approval.
func (g *gooseStream) endedInTool(status int) *stream.Fault {
	if status != 1 || g.open == "" || g.Retry != nil {
		return nil
	}
	return &stream.Fault{Class: ralph.EndFailed, Text: "goose ended at the call of a tool, which may have needed approval: " + g.open, Hint: gooseModes}
}

// gooseExcuse is the form of what goose says in the agent's name when a call of the model failed.
var gooseExcuse = text.LazyRegexp(`(?s)^(Ran into this error: .*Please retry if you think this is a transient or recoverable error\.|Network error: .*Please resend your message to try again\.)\s*$`)

// gooseErrors are known by how they begin.
var gooseErrors = sentences{
	{ralph.EndAuth, text.LazyRegexp(`^authentication error: `)},
	{ralph.EndLimit, text.LazyRegexp(`^(?:rate limit exceeded|credits exhausted): `)},
	{ralph.EndProvider, text.LazyRegexp(`^(?:server error: |network error: |request failed: (?:stream decode error|error decoding|error sending request))`)},
}

// gooseFault says what an error of goose means.
func gooseFault(words string) *stream.Fault {
	words = strings.TrimPrefix(strings.TrimSpace(words), "Ran into this error: ")
	words, _, _ = strings.Cut(words, "\n\nPlease re")
	return gooseErrors.fault(words, gooseLogin)
}

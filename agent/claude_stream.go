package agent

import (
	"bytes"
	"hash/maphash"
	"slices"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
)

// claudeStream reads the events of `claude --output-format stream-json`.
//
//	system     init (session), api_retry (the model did not answer; the CLI waits and tries again)
//	assistant  one content block of a message, several lines may share a message id; a sub-agent's if parent_tool_use_id is set
//	user       tool results: never looked into
//	result     the closing event: error flag, usage, denials, and a copy of the last message
//
// Events may have their keys in any order: the result's type is one of its last.
type claudeStream struct {
	*stream.Reading
	message []byte       // id of the message that is being written
	joined  maphash.Hash // of that message's text blocks
	heard   memory       // of the agent's last text blocks and messages, to know a copy
	excuses memory       // of what the CLI said in the agent's name
	spoke   bool
	excuse  string // error code of what the CLI said in the agent's name
	limited bool   // the account's limit was reached
	resets  time.Time
	buffer  []byte // unescaped text
	blocks  []claudeBlock
	metered uint64       // hash of the id of the message whose tokens came last
	used    ralph.Tokens // by that message
	// cacheInInput says that the input figures include what came from the cache.
	cacheInInput bool
}

// memory holds the hashes of the last texts that were put into it.
type memory struct {
	hashes [32]uint64
	next   int
}

func (m *memory) add(hash uint64) {
	m.hashes[m.next%len(m.hashes)] = hash
	m.next++
}

func (m *memory) has(hash uint64) bool { return slices.Contains(m.hashes[:], hash) }

// claudeEvent is one event taken apart, strings still escaped.
type claudeEvent struct {
	kind, subtype, session, code []byte
	model                        []byte // that will work, told at the start
	message                      claudeMessage
	subAgent, synthetic          bool
	status                       int64
	limit                        []byte
	result                       claudeResult
}

// claudeMessage is a piece of a message. Its blocks are valid until the next event is taken apart.
type claudeMessage struct {
	id, model, usage []byte
	blocks           []claudeBlock
}

// claudeBlock is one content block: text, or a tool call and what it is about.
type claudeBlock struct{ kind, text, tool, detail []byte }

// claudeResult are the fields of the closing event.
type claudeResult struct {
	isError        bool
	reason, text   []byte
	errors         []byte
	turns          *int
	cost           *float64
	usage, byModel []byte
	denials        []byte
}

// ignores what went into the model, and the pieces of messages that will come whole.
func (c *claudeStream) ignores(kind []byte) bool {
	return string(kind) == "user" || string(kind) == "stream_event"
}

func (c *claudeStream) event(text []byte) bool {
	e, ok := c.parse(text)
	if !ok {
		return false
	}
	switch string(e.kind) {
	case "user", "stream_event":
		c.Retry = nil
	case "system":
		switch string(e.subtype) {
		case "api_retry":
			c.again(e)
		case "init":
			c.Works(e.model)
		}
	case "rate_limit_event":
		c.limit(e.limit)
	case "assistant":
		c.assistant(e)
	case "result":
		c.finish(e)
	default:
		return true
	}
	c.InSession(e.session)
	c.Events++
	return true
}

// longEvent of an assistant is a tool call with a long input, as a rule.
func (c *claudeStream) longEvent(head []byte) bool {
	e, _ := c.parse(head)
	blocks := e.message.blocks
	if string(e.kind) != "assistant" || len(blocks) != 1 || string(blocks[0].kind) != "tool_use" {
		return false
	}
	c.Events++
	c.meter(e.message)
	c.call(blocks[0])
	return true
}

// parse takes an event apart in one pass. It stops early at those that nobody looks into.
func (c *claudeStream) parse(text []byte) (e claudeEvent, ok bool) {
	w := stream.Walker{Text: text}
	for key := range w.Fields() {
		switch string(key) {
		case "type":
			if e.kind, _ = w.Str(); c.ignores(e.kind) {
				return e, true
			}
		case "subtype":
			e.subtype, _ = w.Str()
		case "session_id":
			e.session, _ = w.Str()
		case "error":
			e.code, _ = w.Str()
		case "model":
			e.model, _ = w.Str()
		case "message":
			e.message = c.parseMessage(&w)
		case "parent_tool_use_id":
			e.subAgent = string(w.Raw()) != "null"
		case "error_status", "api_error_status":
			e.status = w.Count()
		case "is_api_error_message":
			e.synthetic = w.Truth()
		case "rate_limit_info":
			e.limit = w.Raw()
		default:
			e.result.field(&w, string(key))
		}
	}
	return e, !w.Bad && len(e.kind) > 0
}

func (c *claudeStream) parseMessage(w *stream.Walker) (m claudeMessage) {
	c.blocks = c.blocks[:0]
	for key := range w.Fields() {
		switch string(key) {
		case "id":
			m.id, _ = w.Str()
		case "model":
			m.model, _ = w.Str()
		case "usage":
			m.usage = w.Raw()
		case "content":
			for range w.Elements() {
				c.blocks = append(c.blocks, parseBlock(w))
			}
		}
	}
	m.blocks = c.blocks
	return m
}

func parseBlock(w *stream.Walker) (b claudeBlock) {
	for key := range w.Fields() {
		switch string(key) {
		case "type":
			b.kind, _ = w.Str()
		case "text":
			b.text, _ = w.Str()
		case "name":
			b.tool, _ = w.Str()
		case "input":
			b.detail = tellingField(w)
		}
	}
	return b
}

func (r *claudeResult) field(w *stream.Walker, key string) {
	switch key {
	case "is_error":
		r.isError = w.Truth()
	case "terminal_reason":
		r.reason, _ = w.Str()
	case "result":
		r.text, _ = w.Str()
	case "errors":
		r.errors = w.Raw()
	case "num_turns":
		n := int(w.Count())
		r.turns = &n
	case "total_cost_usd":
		if n, ok := w.Number(); ok {
			r.cost = &n
		}
	case "usage":
		r.usage = w.Raw()
	case "modelUsage":
		r.byModel = w.Raw()
	case "permission_denials":
		r.denials = w.Raw()
	}
}

// again notes a retry. A refused login is refused again, for three minutes: there is nothing to wait for.
func (c *claudeStream) again(e claudeEvent) {
	f := claudeFault(e.status, string(e.code))
	if f == nil {
		f = &stream.Fault{Class: ralph.EndProvider, Text: "the model did not answer"}
	}
	c.Retrying(f)
	if f.Class == ralph.EndAuth {
		c.Fault, c.Hopeless = f, true
	}
}

// limit notes the state of the account's usage limit. It is told after every turn; only a rejection matters.
func (c *claudeStream) limit(info []byte) {
	w := stream.Walker{Text: info}
	var status string
	var resets int64
	for key := range w.Fields() {
		switch string(key) {
		case "status":
			status = w.Word()
		case "resetsAt":
			resets = w.Count()
		}
	}
	c.limited = status == "rejected"
	if c.limited && resets > 0 {
		c.resets = time.Unix(resets, 0)
	}
}

// assistant hears what the agent said and did. A sub-agent's tools are work like any other; its words are nobody's,
// its tokens are spent. An agent that goes on after a closing event, when work in the background has ended, say, is at work again.
func (c *claudeStream) assistant(e claudeEvent) {
	if e.synthetic || string(e.message.model) == "<synthetic>" {
		if !e.subAgent {
			c.inAgentsName(e)
		}
		return
	}
	if !e.subAgent {
		c.Closed = false
	}
	c.Retry, c.excuse = nil, ""
	c.meter(e.message)
	for _, b := range e.message.blocks {
		switch {
		case string(b.kind) == "tool_use":
			c.call(b)
		case string(b.kind) == "text" && !e.subAgent:
			c.speak(e.message.id, b.text)
		}
	}
}

func (c *claudeStream) call(b claudeBlock) {
	c.Tool(string(stream.Unescape(nil, b.tool)), string(stream.Unescape(nil, b.detail)))
}

// speak passes on one text block. Blocks with one id are one message.
func (c *claudeStream) speak(id, escaped []byte) {
	c.buffer = stream.Unescape(c.buffer[:0], escaped)
	if len(id) == 0 || !c.spoke || string(id) != string(c.message) {
		c.heard.add(c.joined.Sum64())
		c.Said.EndMessage()
		c.joined.Reset()
		c.message = append(c.message[:0], id...)
	} else {
		_, _ = c.Said.WriteString("\n")
	}
	c.spoke = true
	_, _ = c.joined.Write(c.buffer)
	c.heard.add(c.hash(c.buffer))
	c.Say(c.buffer)
}

// inAgentsName notes what the CLI itself said as if it were the agent.
func (c *claudeStream) inAgentsName(e claudeEvent) {
	if len(e.code) > 0 {
		c.excuse = string(e.code)
	}
	for _, b := range e.message.blocks {
		c.excuses.add(c.hash(stream.Unescape(nil, b.text)))
	}
}

// isOwn says that the agent itself said this before.
func (c *claudeStream) isOwn(text []byte) bool {
	return c.heard.has(c.hash(text)) || maphash.Bytes(c.joined.Seed(), text) == c.joined.Sum64()
}

func (c *claudeStream) hash(text []byte) uint64 {
	return maphash.Bytes(c.joined.Seed(), bytes.TrimSpace(text))
}

// finish reads the closing event. Of several, the last one counts.
func (c *claudeStream) finish(e claudeEvent) {
	r := e.result
	c.ends(r, claudeTokens(r.usage, r.byModel))
	c.deny(r.denials, claudeAllows)
	text, failed := c.lastWords(e)
	if failed || !c.spoke && c.excuse != "" {
		c.Fault = c.complaint(e, text)
	}
}

// ends notes the figures of the closing event.
func (c *claudeStream) ends(r claudeResult, tokens *ralph.Tokens) {
	c.Closed, c.Hopeless, c.Steps, c.Cost, c.Tokens = true, false, r.turns, r.cost, tokens
	c.Fault, c.Retry = nil, nil
	c.TellSpent()
}

// lastWords gives the text of the closing event, which is heard unless it is a copy, and whether the event tells of an error.
func (c *claudeStream) lastWords(e claudeEvent) (text []byte, failed bool) {
	text = stream.Unescape(nil, e.result.text)
	failed = e.result.isError || bytes.HasPrefix(e.subtype, []byte("error")) // older versions set only the subtype
	if !failed && len(text) > 0 && !c.isOwn(text) && !c.excuses.has(c.hash(text)) {
		c.Said.EndMessage()
		c.Say(text)
		c.Said.EndMessage()
		c.heard.add(c.hash(text))
		c.spoke = true
	}
	return text, failed
}

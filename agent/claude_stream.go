package agent

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
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
	*reading
	message []byte       // id of the message that is being written
	joined  maphash.Hash // of that message's text blocks
	heard   [32]uint64   // hashes of the last text blocks and messages, to know a copy
	next    int
	spoke   bool
	excuse  string // error code of what the CLI said in the agent's name
	limited bool   // the account's limit was reached
	resets  time.Time
	buffer  []byte // unescaped text
}

// claudeEvent is one line taken apart, values still as they are written.
type claudeEvent struct {
	kind, subtype, session, code string
	message, parent, limit       []byte
	status                       int64
	synthetic                    bool
	result                       claudeResult
}

// claudeResult are the fields of the closing event.
type claudeResult struct {
	isError        bool
	reason         string
	text           []byte
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
	switch e.kind {
	case "user", "stream_event":
		c.retry = nil
	case "system":
		if e.subtype == "api_retry" {
			c.again(e)
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
	c.inSession(e.session)
	c.events++
	return true
}

// longEvent of an assistant is a tool call with a long input, as a rule.
func (c *claudeStream) longEvent(head []byte) bool {
	e, _ := c.parse(head)
	if e.kind != "assistant" || !c.longCall(head) {
		return false
	}
	c.events++
	return true
}

// parse takes an event apart. It stops early at those that nobody looks into.
func (c *claudeStream) parse(text []byte) (e claudeEvent, ok bool) {
	w := walker{text: text}
	for key := range w.fields() {
		switch string(key) {
		case "type":
			kind, _ := w.str()
			if e.kind = string(kind); c.ignores(kind) {
				return e, true
			}
		case "subtype":
			e.subtype = w.word()
		case "session_id":
			e.session = w.word()
		case "error":
			e.code = w.word()
		case "message":
			e.message = w.raw()
		case "parent_tool_use_id":
			e.parent = w.raw()
		case "error_status", "api_error_status":
			e.status = w.count()
		case "is_api_error_message":
			e.synthetic = w.truth()
		case "rate_limit_info":
			e.limit = w.raw()
		default:
			e.result.field(&w, string(key))
		}
	}
	return e, !w.bad && e.kind != ""
}

func (r *claudeResult) field(w *walker, key string) {
	switch key {
	case "is_error":
		r.isError = w.truth()
	case "terminal_reason":
		r.reason = w.word()
	case "result":
		r.text, _ = w.str()
	case "errors":
		r.errors = w.raw()
	case "num_turns":
		n := int(w.count())
		r.turns = &n
	case "total_cost_usd":
		if n, ok := w.number(); ok {
			r.cost = &n
		}
	case "usage":
		r.usage = w.raw()
	case "modelUsage":
		r.byModel = w.raw()
	case "permission_denials":
		r.denials = w.raw()
	}
}

// again notes a retry. A refused login is refused again, for three minutes: there is nothing to wait for.
func (c *claudeStream) again(e claudeEvent) {
	f := claudeFault(e.status, e.code)
	if f == nil {
		f = &fault{class: ralph.EndProvider, text: "the model did not answer"}
	}
	c.retrying(f)
	if f.class == ralph.EndAuth {
		c.fault, c.hopeless = f, true
	}
}

// limit notes the state of the account's usage limit. It is told after every turn; only a rejection matters.
func (c *claudeStream) limit(info []byte) {
	w := walker{text: info}
	var status string
	var resets int64
	for key := range w.fields() {
		switch string(key) {
		case "status":
			status = w.word()
		case "resetsAt":
			resets = w.count()
		}
	}
	c.limited = status == "rejected"
	if c.limited && resets > 0 {
		c.resets = time.Unix(resets, 0)
	}
}

// assistant reads one content block, or several.
func (c *claudeStream) assistant(e claudeEvent) {
	w := walker{text: e.message}
	var id, content []byte
	for key := range w.fields() {
		switch string(key) {
		case "id":
			id, _ = w.str()
		case "model":
			if model, _ := w.str(); string(model) == "<synthetic>" {
				e.synthetic = true
			}
		case "content":
			content = w.raw()
		}
	}
	subAgent := string(e.parent) != "" && string(e.parent) != "null"
	switch {
	case e.synthetic && subAgent:
		return
	case e.synthetic:
		c.inAgentsName(e.code, content)
		return
	}
	c.retry, c.excuse = nil, ""
	blocks := walker{text: content}
	for range blocks.elements() {
		c.block(&blocks, id, subAgent)
	}
}

// block reads one content block. A sub-agent's tools are work like any other, its words are nobody's.
func (c *claudeStream) block(w *walker, id []byte, subAgent bool) {
	var kind, name string
	var text, input []byte
	for key := range w.fields() {
		switch string(key) {
		case "type":
			kind = w.word()
		case "name":
			name = w.word()
		case "text":
			text, _ = w.str()
		case "input":
			input = w.raw()
		}
	}
	switch {
	case kind == "tool_use":
		c.tool(name, claudeDetail(input))
	case kind == "text" && !subAgent:
		c.speak(id, text)
	}
}

// speak passes on one text block. Blocks with one id are one message.
func (c *claudeStream) speak(id, escaped []byte) {
	c.buffer = unescape(c.buffer[:0], escaped)
	if len(id) == 0 || !c.spoke || string(id) != string(c.message) {
		c.remember(c.joined.Sum64())
		c.said.EndMessage()
		c.joined.Reset()
		c.message = append(c.message[:0], id...)
	} else {
		_, _ = c.said.WriteString("\n")
	}
	c.spoke = true
	_, _ = c.joined.Write(c.buffer)
	c.remember(c.hash(c.buffer))
	c.say(c.buffer)
}

// inAgentsName notes what the CLI itself said as if it were the agent.
func (c *claudeStream) inAgentsName(code string, content []byte) {
	if code != "" {
		c.excuse = code
	}
	w := walker{text: content}
	for range w.elements() {
		for key := range w.fields() {
			if string(key) == "text" {
				if text, ok := w.str(); ok {
					c.remember(c.hash(unescape(nil, text)))
				}
			}
		}
	}
}

func (c *claudeStream) remember(hash uint64) {
	c.heard[c.next%len(c.heard)] = hash
	c.next++
}

func (c *claudeStream) isCopy(text []byte) bool {
	return slices.Contains(c.heard[:], c.hash(text)) || maphash.Bytes(c.joined.Seed(), text) == c.joined.Sum64()
}

func (c *claudeStream) hash(text []byte) uint64 {
	return maphash.Bytes(c.joined.Seed(), bytes.TrimSpace(text))
}

// finish reads the closing event. Of several, the last one counts.
func (c *claudeStream) finish(e claudeEvent) {
	r := e.result
	c.closed, c.hopeless, c.steps, c.cost = true, false, r.turns, r.cost
	c.tokens = claudeTokens(r.usage, r.byModel)
	c.deny(r.denials)
	text := unescape(nil, r.text)
	failed := r.isError || strings.HasPrefix(e.subtype, "error") // older versions set only the subtype
	if !failed && len(text) > 0 && !c.isCopy(text) {
		c.said.EndMessage()
		c.say(text)
		c.said.EndMessage()
		c.spoke = true
	}
	c.fault = nil
	if failed || !c.spoke && c.excuse != "" {
		c.fault = c.complaint(e, string(text))
	}
	c.retry = nil
}

// complaint says what an error result means. The subtype is no help: it is "success" for most of them.
func (c *claudeStream) complaint(e claudeEvent, text string) *fault {
	code := e.code
	if code == "" {
		code = c.excuse
	}
	said := oneLine(text, sentenceSize)
	if said == "" {
		said = claudeErrors(e.result.errors)
	}
	f := claudeFault(e.status, code)
	switch {
	case c.limited && (f == nil || f.class == ralph.EndProvider && e.status == 0):
		f = &fault{class: ralph.EndLimit, text: "the usage limit is reached"}
	case f == nil && strings.Contains(text, "/login"):
		f = claudeFault(401, "")
	case f == nil && e.result.reason == "api_error" && e.status == 0 && code == "":
		f = &fault{class: ralph.EndProvider, text: "the model could not be reached"}
	case f == nil:
		f = &fault{class: ralph.EndFailed, text: "the agent ended with an error"}
		if why := oneLine(orName(e.result.reason, e.subtype), detailSize); why != "" && why != "success" {
			f.text += " (" + why + ")"
		}
	}
	if f.class == ralph.EndLimit && c.resets.After(c.now()) {
		f.wait = c.resets.Sub(c.now())
	}
	if said != "" {
		f.text += ": " + said
	}
	return f
}

// claudeFault says what an HTTP status, or the CLI's own code where there is none, means; nil if it is the agent's own affair.
func claudeFault(status int64, code string) *fault {
	about := func(class ralph.EndClass, text string) *fault {
		if status != 0 {
			text += fmt.Sprintf(" (status %d)", status)
		}
		return &fault{class: class, text: text}
	}
	switch {
	case status == 401, status == 403, code == "authentication_failed":
		f := about(ralph.EndAuth, "the login was refused")
		f.hint = claudeLogin
		return f
	case status == 429, code == "rate_limit":
		return about(ralph.EndLimit, "a usage limit")
	case status == 529, code == "overloaded":
		return about(ralph.EndProvider, "the model is overloaded")
	case status >= 500, status == 408:
		return about(ralph.EndProvider, "the model failed")
	case status == 0 && (code == "server_error" || code == "unknown"):
		return about(ralph.EndProvider, "the model could not be reached")
	}
	return nil
}

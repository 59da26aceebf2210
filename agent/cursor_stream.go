package agent

import (
	"bytes"
)

// cursorStream reads the events of `cursor-agent -p --output-format stream-json`.
//
//	system     init: session, model
//	user       the prompt: never looked into
//	assistant  one message between two calls of tools
//	tool_call  started, completed; the name of the tool is the key that its arguments and its result stand under
//	thinking   delta, completed
//	result     the closing event of a good end, with all that was said; a bad end has none as a rule, and is told on standard error only
type cursorStream struct {
	*reading
	open   map[string]bool // calls that began and have not ended
	spoke  bool
	buffer []byte
	blocks claudeStream // knows how a message is built
}

// cursorEvent is one event taken apart, strings still escaped.
type cursorEvent struct {
	kind, subtype, session, model []byte
	call                          cursorCall
	message                       claudeMessage
	failed                        bool
	text, failure, usage          []byte
}

// cursorCall is the call of a tool.
type cursorCall struct{ id, name, detail, outcome []byte }

func (c *cursorStream) ignores(kind []byte) bool {
	return string(kind) == "user" || string(kind) == "thinking"
}

func (c *cursorStream) event(text []byte) bool {
	e, ok := c.parse(text)
	if !ok {
		return false
	}
	switch string(e.kind) {
	case "user", "thinking":
	case "system":
		if c.model == "" { // what it says is a title, not the name that was asked for
			c.works(e.model)
		}
	case "assistant":
		c.retry = nil
		for _, b := range e.message.blocks {
			if string(b.kind) == "text" {
				c.speak(b.text)
			}
		}
	case "tool_call":
		c.called(e)
	case "error":
		c.closed, c.fault = true, errorWords.fault(string(unescape(nil, e.failure)), cursorLogin)
	case "result":
		c.finish(e)
	default:
		return true
	}
	c.inSession(e.session)
	c.events++
	return true
}

// longEvent is a call with a long input or result, as a rule.
func (c *cursorStream) longEvent(head []byte) bool {
	e, _ := c.parse(head)
	if string(e.kind) != "tool_call" || len(e.call.name) == 0 {
		return false
	}
	c.events++
	c.called(e)
	return true
}

// parse takes an event apart in one pass. It stops early at those that nobody looks into.
func (c *cursorStream) parse(text []byte) (e cursorEvent, ok bool) {
	w := walker{text: text}
	for key := range w.fields() {
		switch string(key) {
		case "type":
			if e.kind, _ = w.str(); c.ignores(e.kind) {
				return e, true
			}
		case "subtype":
			e.subtype, _ = w.str()
		case "session_id":
			e.session, _ = w.str()
		case "model":
			e.model, _ = w.str()
		case "call_id":
			e.call.id, _ = w.str()
		case "tool_call":
			e.call.name, e.call.detail, e.call.outcome = parseCursorCall(&w)
		case "message":
			if w.peek() == '"' {
				e.failure, _ = w.str()
			} else {
				e.message = c.blocks.parseMessage(&w)
			}
		case "is_error":
			e.failed = w.truth()
		case "result":
			e.text, _ = w.str()
		case "error":
			e.failure = firstWords(&w)
		case "usage":
			e.usage = w.raw()
		}
	}
	return e, !w.bad && len(e.kind) > 0
}

// firstWords takes a string, or the message of an object.
func firstWords(w *walker) (words []byte) {
	if w.peek() == '"' {
		words, _ = w.str()
		return words
	}
	for key := range w.fields() {
		if string(key) == "message" {
			words, _ = w.str()
		}
	}
	return words
}

// parseCursorCall knows a tool by its key ("shellToolCall"), and others as a function with a name.
func parseCursorCall(w *walker) (name, detail, outcome []byte) {
	for key := range w.fields() {
		if w.peek() != '{' {
			continue
		}
		name = bytes.TrimSuffix(key, []byte("ToolCall"))
		for key := range w.fields() {
			switch string(key) {
			case "args":
				detail = tellingField(w)
			case "name":
				name, _ = w.str()
			case "result":
				for key := range w.fields() {
					outcome = key
				}
			}
		}
	}
	return name, detail, outcome
}

// called notes a call when it begins, or when it ends if nothing was told before, and a step when it ends.
func (c *cursorStream) called(e cursorEvent) {
	c.retry = nil
	id, name, detail := string(e.call.id), string(unescape(nil, e.call.name)), string(unescape(nil, e.call.detail))
	if !c.open[id] && name != "" {
		c.tool(name, detail)
	}
	if string(e.subtype) != "completed" {
		if c.open == nil {
			c.open = map[string]bool{}
		}
		if len(c.open) < maxOpen {
			c.open[id] = true
		}
		return
	}
	delete(c.open, id)
	c.step()
	if outcome := string(e.call.outcome); outcome == "rejected" || outcome == "permissionDenied" {
		c.denied(name, detail, "--yolo")
	}
}

func (c *cursorStream) speak(escaped []byte) {
	c.buffer = unescape(c.buffer[:0], escaped)
	if len(c.buffer) == 0 {
		return
	}
	c.spoke = true
	c.step()
	c.say(c.buffer)
	c.said.EndMessage()
}

// finish reads the closing event. Its text is all that the agent said, put together: it counts only if nothing else was heard.
func (c *cursorStream) finish(e cursorEvent) {
	c.closed, c.fault, c.retry = true, nil, nil
	c.tokens = cursorUsage.readText(e.usage)
	c.tellSpent()
	if e.failed || bytes.HasPrefix(e.subtype, []byte("error")) {
		if len(e.failure) == 0 && !c.spoke {
			e.failure = e.text // not the agent's words, since it said nothing
		}
		c.fault = errorWords.fault(string(unescape(nil, e.failure)), cursorLogin)
		return
	}
	if !c.spoke {
		c.speak(e.text)
	}
}

// cursorUsage is what the CLI calls its tokens. Versions before 2026 do not tell any. Whether the input's figure includes the cache's is not
// documented; it is taken as it stands.
var cursorUsage = tokenNames{"inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"}

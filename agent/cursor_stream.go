package agent

import (
	"bytes"

	"github.com/ralphloop/ralph/agent/internal/stream"
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
	*stream.Reading
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
		if c.Model == "" { // what it says is a title, not the name that was asked for
			c.Works(e.model)
		}
	case "assistant":
		c.Retry = nil
		for _, b := range e.message.blocks {
			if string(b.kind) == "text" {
				c.speak(b.text)
			}
		}
	case "tool_call":
		c.called(e)
	case "error":
		c.Closed, c.Fault = true, errorWords.fault(string(stream.Unescape(nil, e.failure)), cursorLogin)
	case "result":
		c.finish(e)
	default:
		return true
	}
	c.InSession(e.session)
	c.Events++
	return true
}

// longEvent is a call with a long input or result, as a rule.
func (c *cursorStream) longEvent(head []byte) bool {
	e, _ := c.parse(head)
	if string(e.kind) != "tool_call" || len(e.call.name) == 0 {
		return false
	}
	c.Events++
	c.called(e)
	return true
}

// parse takes an event apart in one pass. It stops early at those that nobody looks into.
func (c *cursorStream) parse(text []byte) (e cursorEvent, ok bool) {
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
		case "model":
			e.model, _ = w.Str()
		case "call_id":
			e.call.id, _ = w.Str()
		case "tool_call":
			e.call.name, e.call.detail, e.call.outcome = parseCursorCall(&w)
		case "message":
			if w.Peek() == '"' {
				e.failure, _ = w.Str()
			} else {
				e.message = c.blocks.parseMessage(&w)
			}
		case "is_error":
			e.failed = w.Truth()
		case "result":
			e.text, _ = w.Str()
		case "error":
			e.failure = firstWords(&w)
		case "usage":
			e.usage = w.Raw()
		}
	}
	return e, !w.Bad && len(e.kind) > 0
}

// firstWords takes a string, or the message of an object.
func firstWords(w *stream.Walker) (words []byte) {
	if w.Peek() == '"' {
		words, _ = w.Str()
		return words
	}
	for key := range w.Fields() {
		if string(key) == "message" {
			words, _ = w.Str()
		}
	}
	return words
}

// parseCursorCall knows a tool by its key ("shellToolCall"), and others as a function with a name.
func parseCursorCall(w *stream.Walker) (name, detail, outcome []byte) {
	for key := range w.Fields() {
		if w.Peek() != '{' {
			continue
		}
		name = bytes.TrimSuffix(key, []byte("ToolCall"))
		for key := range w.Fields() {
			switch string(key) {
			case "args":
				detail = tellingField(w)
			case "name":
				name, _ = w.Str()
			case "result":
				for key := range w.Fields() {
					outcome = key
				}
			}
		}
	}
	return name, detail, outcome
}

// called notes a call when it begins, or when it ends if nothing was told before, and a step when it ends.
func (c *cursorStream) called(e cursorEvent) {
	c.Retry = nil
	id, name, detail := string(e.call.id), string(stream.Unescape(nil, e.call.name)), string(stream.Unescape(nil, e.call.detail))
	if !c.open[id] && name != "" {
		c.Tool(name, detail)
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
	c.Step()
	if outcome := string(e.call.outcome); outcome == "rejected" || outcome == "permissionDenied" {
		c.Denied(name, detail, "--yolo")
	}
}

func (c *cursorStream) speak(escaped []byte) {
	c.buffer = stream.Unescape(c.buffer[:0], escaped)
	if len(c.buffer) == 0 {
		return
	}
	c.spoke = true
	c.Step()
	c.Say(c.buffer)
	c.Said.EndMessage()
}

// finish reads the closing event. Its text is all that the agent said, put together: it counts only if nothing else was heard.
func (c *cursorStream) finish(e cursorEvent) {
	c.Closed, c.Fault, c.Retry = true, nil, nil
	c.Tokens = cursorUsage.ReadText(e.usage)
	c.TellSpent()
	if e.failed || bytes.HasPrefix(e.subtype, []byte("error")) {
		if len(e.failure) == 0 && !c.spoke {
			e.failure = e.text // not the agent's words, since it said nothing
		}
		c.Fault = errorWords.fault(string(stream.Unescape(nil, e.failure)), cursorLogin)
		return
	}
	if !c.spoke {
		c.speak(e.text)
	}
}

// cursorUsage is what the CLI calls its tokens. Versions before 2026 do not tell any. Whether the input's figure includes the cache's is not
// documented; it is taken as it stands.
var cursorUsage = stream.TokenNames{"inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"}

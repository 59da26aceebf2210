package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/agent/internal/stream"
)

// cursorStream reads the events of `cursor-agent -p --output-format stream-json`.
//
//	system     init: session, model
//	user       the prompt: never read
//	assistant  one message between two tool calls
//	tool_call  started, completed; the tool's name is the key of its arguments and its result
//	thinking   delta, completed
//	result     the closing event of a successful run, with the whole text; a failed run usually has none, and is
//	           reported only on standard error
type cursorStream struct {
	*stream.Reading
	open  openCalls
	spoke bool
}

type cursorEvent struct {
	Type    string                `json:"type"`
	Subtype string                `json:"subtype"`
	Session string                `json:"session_id"`
	Model   string                `json:"model"`
	CallID  string                `json:"call_id"`
	Call    map[string]cursorCall `json:"tool_call"`
	Message cursorMessage         `json:"message"`
	IsError bool                  `json:"is_error"`
	Result  string                `json:"result"`
	Failure errorText             `json:"error"`
	Usage   usage                 `json:"usage"`
}

// cursorMessage is a message of the agent, or the text of an error.
type cursorMessage struct {
	claudeMessage
	words errorText
}

// UnmarshalJSON accepts both.
func (m *cursorMessage) UnmarshalJSON(text []byte) error {
	stream.Decode(text, &m.claudeMessage)
	return json.Unmarshal(text, &m.words)
}

// cursorCall is a tool call, under the key of its tool ("shellToolCall"), or of a function with a
// name.
type cursorCall struct {
	Name   string              `json:"name"`
	Args   toolInput           `json:"args"`
	Result map[string]struct{} `json:"result"` // its key is the result
	isCall bool
}

// UnmarshalJSON distinguishes a call from its siblings.
func (t *cursorCall) UnmarshalJSON(text []byte) error {
	type plain cursorCall
	stream.Decode(text, (*plain)(t))
	t.isCall = bytes.HasPrefix(text, []byte("{"))
	return nil
}

func (c *cursorStream) ignores(kind string) bool { return kind == "user" || kind == "thinking" }

func (c *cursorStream) event(e *cursorEvent) bool {
	switch e.Type {
	case "user", "thinking":
	case "system":
		if c.Model == "" { // it reports a title, not the requested name
			c.Works(e.Model)
		}
	case "assistant":
		c.Retry = nil
		for _, b := range e.Message.Blocks {
			if b.Type == "text" {
				c.speak(b.Text)
			}
		}
	case "tool_call":
		c.called(e)
	case "error":
		c.Closed, c.Fault = true, errorWords.fault(e.failure(), cursorLogin)
	case "result":
		c.finish(e)
	default:
		return false
	}
	c.InSession(e.Session)
	return true
}

func (e *cursorEvent) failure() string { return string(cmp.Or(e.Failure, e.Message.words)) }

// call returns the tool of an event, its input, and its result.
func (e *cursorEvent) call() (call openCall, result map[string]struct{}) {
	for _, key := range slices.Sorted(maps.Keys(e.Call)) {
		if tool := e.Call[key]; tool.isCall {
			call = openCall{cmp.Or(tool.Name, strings.TrimSuffix(key, "ToolCall")), tool.Args.about()}
			result = tool.Result
		}
	}
	return call, result
}

// longEvent is usually a call with a long input or result.
func (c *cursorStream) longEvent(e *cursorEvent) bool {
	call, _ := e.call()
	return e.Type == "tool_call" && call.name != "" && c.event(e)
}

// called records a call when it starts, or when it ends if its start was not reported, and a step
// when it ends.
func (c *cursorStream) called(e *cursorEvent) {
	c.Retry = nil
	call, result := e.call()
	if _, known := c.open[e.CallID]; !known && call.name != "" {
		c.Tool(call.name, call.detail)
	}
	if e.Subtype != "completed" {
		c.open.begin(e.CallID, openCall{})
		return
	}
	c.open.end(e.CallID)
	c.Step()
	_, rejected := result["rejected"]
	_, denied := result["permissionDenied"]
	if rejected || denied {
		c.Denied(call.name, call.detail, "--yolo")
	}
}

func (c *cursorStream) speak(text string) {
	if text == "" {
		return
	}
	c.spoke = true
	c.Step()
	c.SayAll(text)
}

// finish reads the closing event. Its text is everything that the agent said: it counts only if
// nothing else was read.
func (c *cursorStream) finish(e *cursorEvent) {
	c.Closed, c.Fault, c.Retry = true, nil, nil
	c.Tokens = cursorUsage.of(e.Usage)
	c.TellSpent()
	if e.IsError || strings.HasPrefix(e.Subtype, "error") {
		words := e.failure()
		if words == "" && !c.spoke {
			words = e.Result // not the agent's text, because it said nothing
		}
		c.Fault = errorWords.fault(words, cursorLogin)
		return
	}
	if !c.spoke {
		c.speak(e.Result)
	}
}

// cursorUsage holds the CLI's names for tokens. Versions before 2026 report none. Whether the input
// figure includes the cache is not documented; it is used as it is.
var cursorUsage = tokenNames{"inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"}

package agent

import (
	"bytes"
	"cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
)

// copilotStream reads the events of `copilot --output-format json`.
//
//	assistant.turn_start     a call of the model
//	assistant.message        what the agent said, whole; a sub-agent's if agentId is set
//	tool.execution_start     a tool begins
//	tool.execution_complete  a tool ended; its error has the code "denied" if it was not allowed
//	model.call_failure       the model did not answer; as a rule the CLI tries again
//	session.error            the end of a bad run
//	abort                    somebody interrupted it
//	result                   the closing event: session and exit status
//
// All others tell nothing that these do not. A result with the status 0 comes after an interruption, too.
type copilotStream struct {
	*stream.Reading
	buffer  []byte
	open    map[string]copilotCall // tools that began and have not ended
	failed  copilotFailure         // the last call of the model that failed
	aborted bool
	silent  bool // the last message of the agent was empty
}

// copilotCall is a tool under way.
type copilotCall struct{ name, detail string }

// copilotEvent is one event taken apart, strings still escaped.
type copilotEvent struct {
	kind, session []byte
	subAgent      []byte // which one
	status        int64  // with which the CLI ends
	data          copilotData
}

// copilotData is what an event tells. The detail is text.
type copilotData struct {
	content, model, parent, callID, tool, code []byte
	detail                                     string
	failure                                    copilotFailure
}

func (c *copilotStream) ignores(kind []byte) bool {
	switch string(kind) {
	case "assistant.turn_start", "assistant.message", "tool.execution_start", "tool.execution_complete", "model.call_failure", "session.error",
		"abort", "result":
		return false
	}
	return true
}

func (c *copilotStream) event(text []byte) bool {
	e, ok := c.parse(text)
	if !ok {
		return false
	}
	switch string(e.kind) {
	case "assistant.turn_start":
		if len(e.subAgent) == 0 {
			c.Step()
		}
	case "assistant.message":
		c.message(e)
	case "tool.execution_start":
		c.began(e)
	case "tool.execution_complete":
		c.ended(e)
	case "model.call_failure":
		c.failed = e.data.failure
		c.Retrying(c.failed.fault())
	case "session.error":
		c.fail(e)
	case "abort":
		c.aborted = c.aborted || len(e.subAgent) == 0
	case "result":
		c.finish(e)
	default:
		if !copilotKnown(e.kind) {
			return true
		}
	}
	c.Events++
	return true
}

// copilotKnown knows the families of events, so that a stream that broke off early is not taken for one that nobody understands.
func copilotKnown(kind []byte) bool {
	family, _, ok := bytes.Cut(kind, []byte("."))
	switch string(family) {
	case "session", "assistant", "tool", "model", "user", "agent", "subagent":
		return ok
	}
	return false
}

// longEvent is a tool's input or output, as a rule. A message's beginning does not tell whose it is.
func (c *copilotStream) longEvent(head []byte) bool {
	e, _ := c.parse(head)
	switch string(e.kind) {
	case "tool.execution_start":
		c.began(e)
	case "tool.execution_complete":
		c.ended(e)
	default:
		return false
	}
	c.Events++
	return true
}

// parse takes an event apart in one pass. It stops early at those that nobody looks into.
func (c *copilotStream) parse(text []byte) (e copilotEvent, ok bool) {
	w := stream.Walker{Text: text}
	for key := range w.Fields() {
		switch string(key) {
		case "type":
			if e.kind, _ = w.Str(); c.ignores(e.kind) {
				return e, true
			}
		case "agentId":
			e.subAgent, _ = w.Str()
		case "sessionId":
			e.session, _ = w.Str()
		case "exitCode":
			e.status = w.Count()
		case "data":
			e.data.parse(&w)
		}
	}
	if len(e.subAgent) == 0 {
		e.subAgent = e.data.parent
	}
	return e, !w.Bad && len(e.kind) > 0
}

func (d *copilotData) parse(w *stream.Walker) {
	for key := range w.Fields() {
		switch string(key) {
		case "content":
			d.content, _ = w.Str()
		case "model":
			d.model, _ = w.Str()
		case "parentToolCallId":
			d.parent, _ = w.Str()
		case "toolCallId":
			d.callID, _ = w.Str()
		case "toolName":
			d.tool, _ = w.Str()
		case "arguments":
			d.detail = string(stream.Unescape(nil, tellingField(w)))
		case "error":
			for key := range w.Fields() {
				if string(key) == "code" {
					d.code, _ = w.Str()
				}
			}
		default:
			d.failure.field(w, string(key))
		}
	}
}

// message hears what the agent said. A sub-agent's words are nobody's.
func (c *copilotStream) message(e copilotEvent) {
	if len(e.subAgent) > 0 {
		return
	}
	c.Retry, c.Fault = nil, nil
	c.Works(e.data.model)
	c.buffer = stream.Unescape(c.buffer[:0], e.data.content)
	c.silent = len(bytes.TrimSpace(c.buffer)) == 0
	if !c.silent {
		c.Say(c.buffer)
		c.Said.EndMessage()
	}
}

// began notes a tool. What sub-agents do is work like any other.
func (c *copilotStream) began(e copilotEvent) {
	call := copilotCall{string(stream.Unescape(nil, e.data.tool)), e.data.detail}
	c.Tool(call.name, call.detail)
	c.Retry, c.silent = nil, false
	if c.open == nil {
		c.open = map[string]copilotCall{}
	}
	if len(c.open) < maxOpen {
		c.open[e.callKey()] = call
	}
}

func (c *copilotStream) ended(e copilotEvent) {
	call := c.open[e.callKey()]
	delete(c.open, e.callKey())
	if string(e.data.code) == "denied" {
		c.Denied(cmp.Or(call.name, "a call"), call.detail, copilotAllows(call)) // its beginning may not have been seen
	}
}

// callKey tells calls apart: sub-agents number theirs anew.
func (e copilotEvent) callKey() string { return string(e.subAgent) + " " + string(e.data.callID) }

// fail notes what ended the run. That of a sub-agent ends only the sub-agent.
func (c *copilotStream) fail(e copilotEvent) {
	if len(e.subAgent) > 0 {
		return
	}
	f := e.data.failure
	switch {
	case f.status != 0 || f.kind != "query":
	case c.Retry != nil: // it does not say itself what the last answer was
		f.kind, f.status = c.failed.kind, c.failed.status
	case c.silent:
		c.Fault = &stream.Fault{Class: ralph.EndEmpty, Text: "the agent's last turn was empty"}
		return
	}
	c.Fault = f.fault()
}

// finish reads the closing event. After an interruption there is no end of the agent's own.
func (c *copilotStream) finish(e copilotEvent) {
	c.InSession(e.session)
	if c.aborted {
		return
	}
	c.Closed, c.Retry = true, nil
	if e.status != 0 && c.Fault == nil {
		c.Fault = &stream.Fault{Class: ralph.EndFailed, Text: stream.EndedWithError}
	}
}

// interrupted says what an end without a closing event was, where the harness did not bring it about.
func (c *copilotStream) interrupted(int) *stream.Fault {
	if !c.aborted {
		return nil
	}
	return &stream.Fault{Class: ralph.EndKilled, Text: "the agent was interrupted"}
}

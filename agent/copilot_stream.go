package agent

import (
	"cmp"
	"slices"
	"strings"

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
	open    openCalls
	failed  copilotFailure // the last call of the model that failed
	aborted bool
	silent  bool // the last message of the agent was empty
}

type copilotEvent struct {
	Type     string `json:"type"`
	Session  string `json:"sessionId"`
	SubAgent string `json:"agentId"`
	Status   int64  `json:"exitCode"` // with which the CLI ends
	Data     struct {
		Content string    `json:"content"`
		Model   string    `json:"model"`
		Parent  string    `json:"parentToolCallId"`
		CallID  string    `json:"toolCallId"`
		Tool    string    `json:"toolName"`
		Input   toolInput `json:"arguments"`
		Error   struct {
			Code string `json:"code"`
		} `json:"error"`
		copilotFailure
	} `json:"data"`
}

// subAgent is the sub-agent that an event is about; "" for the agent itself.
func (e *copilotEvent) subAgent() string { return cmp.Or(e.SubAgent, e.Data.Parent) }

// callKey tells calls apart: sub-agents number theirs anew.
func (e *copilotEvent) callKey() string { return e.subAgent() + " " + e.Data.CallID }

func (c *copilotStream) ignores(kind string) bool {
	switch kind {
	case "assistant.turn_start", "assistant.message", "tool.execution_start", "tool.execution_complete", "model.call_failure", "session.error",
		"abort", "result":
		return false
	}
	return true
}

func (c *copilotStream) event(e *copilotEvent) bool {
	switch e.Type {
	case "assistant.turn_start":
		if e.subAgent() == "" {
			c.Step()
		}
	case "assistant.message":
		c.message(e)
	case "tool.execution_start":
		c.began(e)
	case "tool.execution_complete":
		c.ended(e)
	case "model.call_failure":
		c.failed = e.Data.copilotFailure
		c.Retrying(c.failed.fault())
	case "session.error":
		c.fail(e)
	case "abort":
		c.aborted = c.aborted || e.subAgent() == ""
	case "result":
		c.finish(e)
	default:
		return copilotKnown(e.Type)
	}
	return true
}

// copilotKnown knows the families of events, so that a stream that broke off early is not taken for one that nobody understands.
func copilotKnown(kind string) bool {
	family, _, ok := strings.Cut(kind, ".")
	return ok && slices.Contains([]string{"session", "assistant", "tool", "model", "user", "agent", "subagent"}, family)
}

// longEvent is a tool's input or output, as a rule. A message's beginning does not tell whose it is.
func (c *copilotStream) longEvent(e *copilotEvent) bool {
	return (e.Type == "tool.execution_start" || e.Type == "tool.execution_complete") && c.event(e)
}

// message hears what the agent said. A sub-agent's words are nobody's.
func (c *copilotStream) message(e *copilotEvent) {
	if e.subAgent() != "" {
		return
	}
	c.Retry, c.Fault = nil, nil
	c.Works(e.Data.Model)
	c.silent = strings.TrimSpace(e.Data.Content) == ""
	if !c.silent {
		c.SayAll(e.Data.Content)
	}
}

// began notes a tool. What sub-agents do is work like any other.
func (c *copilotStream) began(e *copilotEvent) {
	c.Tool(e.Data.Tool, e.Data.Input.about())
	c.Retry, c.silent = nil, false
	c.open.begin(e.callKey(), openCall{e.Data.Tool, e.Data.Input.about()})
}

func (c *copilotStream) ended(e *copilotEvent) {
	call, _ := c.open.end(e.callKey())
	if e.Data.Error.Code == "denied" {
		c.Denied(cmp.Or(call.name, "a call"), call.detail, copilotAllows(call)) // its beginning may not have been seen
	}
}

// fail notes what ended the run. That of a sub-agent ends only the sub-agent.
func (c *copilotStream) fail(e *copilotEvent) {
	if e.subAgent() != "" {
		return
	}
	f := e.Data.copilotFailure
	switch {
	case f.Status != 0 || f.kind() != "query":
	case c.Retry != nil: // it does not say itself what the last answer was
		f.FailureKind, f.Status = c.failed.kind(), c.failed.Status
	case c.silent:
		c.Fault = &stream.Fault{Class: ralph.EndEmpty, Text: "the agent's last turn was empty"}
		return
	}
	c.Fault = f.fault()
}

// finish reads the closing event. After an interruption there is no end of the agent's own.
func (c *copilotStream) finish(e *copilotEvent) {
	c.InSession(e.Session)
	if c.aborted {
		return
	}
	c.Closed, c.Retry = true, nil
	if e.Status != 0 && c.Fault == nil {
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

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
//	assistant.turn_start     a model call
//	assistant.message        what the agent said, whole; from a sub-agent if agentId is set
//	tool.execution_start     a tool starts
//	tool.execution_complete  a tool ended; its error has the code "denied" if it was not allowed
//	model.call_failure       the model did not answer; the CLI usually retries
//	session.error            the end of a failed run
//	abort                    it was interrupted
//	result                   the closing event: session and exit status
//
// All others add nothing. A result with status 0 also comes after an interruption.
type copilotStream struct {
	*stream.Reading
	open    openCalls
	failed  copilotFailure // the last failed model call
	aborted bool
	silent  bool // the agent's last message was empty
}

type copilotEvent struct {
	Type     string `json:"type"`
	Session  string `json:"sessionId"`
	SubAgent string `json:"agentId"`
	Status   int64  `json:"exitCode"` // the CLI's exit status
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
		Success bool `json:"success"`
		Shell   struct {
			Exit *int `json:"exitCode"`
		} `json:"shellExecution"`
		Result struct {
			Content string `json:"content"`
		} `json:"result"`
		copilotFailure
	} `json:"data"`
}

// subAgent returns the sub-agent that an event is about; "" for the agent itself.
func (e *copilotEvent) subAgent() string { return cmp.Or(e.SubAgent, e.Data.Parent) }

// callKey distinguishes calls, because sub-agents restart the numbering.
func (e *copilotEvent) callKey() string { return e.subAgent() + " " + e.Data.CallID }

func (c *copilotStream) ignores(kind string) bool {
	switch kind {
	case "assistant.turn_start",
		"assistant.message",
		"tool.execution_start",
		"tool.execution_complete",
		"model.call_failure",
		"session.error",
		"abort",
		"result":
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

// copilotKnown recognizes the families of events, so that a stream that broke off early does not
// look like an unknown format.
func copilotKnown(kind string) bool {
	family, _, ok := strings.Cut(kind, ".")
	return ok && slices.Contains([]string{"session", "assistant", "tool", "model", "user", "agent", "subagent"}, family)
}

// longEvent is usually a tool's input or output. The beginning of a message does not show whose it
// is.
func (c *copilotStream) longEvent(e *copilotEvent) bool {
	return (e.Type == "tool.execution_start" || e.Type == "tool.execution_complete") && c.event(e)
}

// message reads what the agent said. A sub-agent's text does not count.
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

// began records a tool call. Those of sub-agents count like any other.
func (c *copilotStream) began(e *copilotEvent) {
	c.Tool(e.Data.Tool, e.Data.Input.about())
	c.Retry, c.silent = nil, false
	c.open.begin(e.callKey(), openCall{e.Data.Tool, e.Data.Input.about()})
	c.Evidence.Began(e.callKey(), e.Data.Tool, e.Data.Input.run)
}

func (c *copilotStream) ended(e *copilotEvent) {
	call, _ := c.open.end(e.callKey())
	how := stream.Ended{Exit: e.Data.Shell.Exit, Failed: !e.Data.Success, Output: e.Data.Result.Content}
	c.Evidence.Ended(e.callKey(), how, c.Now())
	if e.Data.Error.Code == "denied" {
		// its start may not have been seen
		c.Denied(cmp.Or(call.name, "a call"), call.detail, copilotAllows(call))
	}
}

// fail records what ended the run. A sub-agent's error ends only the sub-agent.
func (c *copilotStream) fail(e *copilotEvent) {
	if e.subAgent() != "" {
		return
	}
	f := e.Data.copilotFailure
	switch {
	case f.Status != 0 || f.kind() != "query":
	case c.Retry != nil: // it does not repeat what the last answer was
		f.FailureKind, f.Status = c.failed.kind(), c.failed.Status
	case c.silent:
		c.Fault = &stream.Fault{Class: ralph.EndEmpty, Text: "the agent's last turn was empty"}
		return
	}
	c.Fault = f.fault()
}

// finish reads the closing event. After an interruption it does not count.
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

// interrupted classifies an end without a closing event that the harness did not cause.
func (c *copilotStream) interrupted(int) *stream.Fault {
	if !c.aborted {
		return nil
	}
	return &stream.Fault{Class: ralph.EndKilled, Text: "the agent was interrupted"}
}

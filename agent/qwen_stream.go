package agent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/text"
)

// qwenStream reads the events of `qwen --output-format stream-json`, which are claude's with these
// differences:
//
//	system/init   names the model
//	system/retry  the model did not answer correctly; with a delay it is a limit, and the CLI waits that long
//	assistant     the CLI's own error text comes as a message of the agent, in brackets
//	result        has an error with a message instead of a code; its tokens include those of hidden calls
//
// Statuses are in the text of an error. Retries without a delay are not reported at all.
type qwenStream struct {
	claudeStream
	held    *qwenEvent // a message that may be the CLI's own
	calling bool       // the agent called a tool that has no result yet
}

type qwenEvent struct {
	claudeEvent
	Failure struct {
		Message string `json:"message"`
	} `json:"error"`
	Retry struct {
		Attempt  int64 `json:"attempt"`
		Attempts int64 `json:"maxRetries"`
		Delay    int64 `json:"delayMs"`
	} `json:"data"`
}

func (q *qwenStream) event(e *qwenEvent) bool {
	if q.held != nil && e.Type != "" {
		if e.Type != "result" || e.Failure.Message != q.held.Message.Blocks[0].Text {
			q.assistant(&q.held.claudeEvent) // it is known to be the agent's now
		}
		q.held = nil
	}
	switch e.Type {
	case "user":
		q.Retry, q.Closed, q.calling = nil, false, false
		q.returned(&e.claudeEvent)
	case "stream_event":
		q.Retry = nil
	case "system":
		switch e.Subtype {
		case "init":
			q.Works(e.Model)
		case "retry":
			q.again(e)
		}
	case "assistant":
		if mayBeExcuse(e.Message.Blocks) {
			q.held = e
			break
		}
		q.assistant(&e.claudeEvent)
		if e.Parent == nil {
			q.calling = slices.ContainsFunc(e.Message.Blocks, func(b claudeBlock) bool { return b.Type == "tool_use" })
		}
	case "result":
		q.finish(e)
	default:
		return false
	}
	q.InSession(e.Session)
	return true
}

func (q *qwenStream) longEvent(e *qwenEvent) bool {
	if q.held != nil {
		q.assistant(&q.held.claudeEvent)
		q.held = nil
	}
	return q.claudeStream.longEvent(&e.claudeEvent)
}

func mayBeExcuse(blocks []claudeBlock) bool {
	return len(blocks) == 1 && blocks[0].Type == "text" && strings.HasPrefix(blocks[0].Text, "[API Error: ")
}

func (q *qwenStream) again(e *qwenEvent) {
	if e.Retry.Delay <= 0 {
		q.Retrying(&stream.Fault{Class: ralph.EndProvider, Text: "the model did not answer correctly"})
		return
	}
	wait := time.Duration(min(e.Retry.Delay, int64(24*time.Hour/time.Millisecond))) * time.Millisecond
	text := fmt.Sprintf(
		"the usage limit is reached; the CLI waits %s (attempt %d of %d)", wait, e.Retry.Attempt, e.Retry.Attempts,
	)
	q.Retrying(&stream.Fault{Class: ralph.EndLimit, Text: text, Wait: wait})
}

// finish reads the closing event. That of a failed sub-agent looks the same, but comes while the
// agent waits for the call that started it: it closes nothing, unless nothing follows.
func (q *qwenStream) finish(e *qwenEvent) {
	tokens := q.usage(e.Usage)
	if tokens != nil && *tokens == (ralph.Tokens{}) && q.spoke {
		tokens = nil // streams that are cut off are not counted
	}
	q.ends(&e.claudeEvent, tokens)
	q.deny(e.Denials, allowedTool)
	if q.lastWords(&e.claudeEvent) {
		q.Fault = qwenFault(e.Failure.Message)
		if q.calling {
			q.Closed, q.Retry = false, q.Fault
		}
	}
}

var (
	qwenStatus  = text.LazyRegexp(`(?s)^(\d{3})\b\s*(.*)$`)
	qwenNoLogin = text.LazyRegexp(`^(?:No auth type is selected|Missing API key)\b`)
)

// qwenFault says what the message of an error means.
func qwenFault(message string) *stream.Fault {
	if qwenNoLogin().MatchString(message) {
		return (&stream.Fault{Class: ralph.EndAuth, Text: stream.NoLogin, Hint: qwenLogin}).Saying(message)
	}
	if ownTurnLimit().MatchString(message) {
		return (&stream.Fault{Class: ralph.EndCut, Text: "stopped at a limit of its own"}).Saying(message)
	}
	m := apiError().FindStringSubmatch(message)
	if m == nil {
		return (&stream.Fault{Class: ralph.EndFailed, Text: stream.EndedWithError}).Saying(message)
	}
	said, status := m[1], int64(0)
	if m := qwenStatus().FindStringSubmatch(said); m != nil {
		status, _ = strconv.ParseInt(m[1], 10, 64) // three digits
		said = m[2]
	}
	f := stream.HTTPFault(status, qwenLogin)
	switch {
	case f != nil && f.Class == ralph.EndLimit:
		f.Wait = waitIn(said)
	case f == nil && status != 0:
		f = (&stream.Fault{Class: ralph.EndFailed, Text: stream.ModelRefused}).WithStatus(status)
	case f == nil && connectionWords().MatchString(strings.ToLower(said)):
		f = &stream.Fault{Class: ralph.EndProvider, Text: stream.ModelUnreachable}
	case f == nil:
		return turnTrouble(said)
	}
	return f.Saying(said)
}

package agent

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/text"
)

// qwenStream reads the events of `qwen --output-format stream-json`, which are claude's but for these:
//
//	system/init   names the model
//	system/retry  the model did not answer as it should; with a delay it is a limit, and the CLI waits as long
//	assistant     what the CLI itself has to say when the model fails comes as a message of the agent, in brackets
//	result        has an error with a message instead of a code; its tokens are those of hidden calls, too
//
// Statuses stand in the words of an error. What is tried again without a delay is not told at all.
type qwenStream struct {
	claudeStream
	held    []byte // the event of a message that may be the CLI's own
	words   string // of that message
	calling bool   // the agent called a tool, of which no result came yet
}

func (q *qwenStream) event(text []byte) bool {
	e, ok := q.parse(text)
	if !ok {
		return false
	}
	if q.held != nil {
		if string(e.kind) == "result" && q.complains(text) == q.words {
			q.held = nil
		} else {
			q.release()
			e, _ = q.parse(text) // again: its blocks are gone
		}
	}
	switch string(e.kind) {
	case "user":
		q.Retry, q.Closed, q.calling = nil, false, false
	case "stream_event":
		q.Retry = nil
	case "system":
		q.system(string(e.subtype), text)
	case "assistant":
		if blocks := e.message.blocks; mayBeExcuse(blocks) {
			q.held, q.words = bytes.Clone(text), string(stream.Unescape(nil, blocks[0].text))
		} else {
			q.assistant(e)
			if !e.subAgent {
				q.calling = slices.ContainsFunc(blocks, func(b claudeBlock) bool { return string(b.kind) == "tool_use" })
			}
		}
	case "result":
		q.finish(e, text)
	default:
		return true
	}
	q.InSession(e.session)
	q.Events++
	return true
}

func (q *qwenStream) longEvent(head []byte) bool {
	if q.held != nil {
		q.release()
	}
	return q.claudeStream.longEvent(head)
}

// release hears a message that was held back, now that it is known to be the agent's.
func (q *qwenStream) release() {
	e, _ := q.parse(q.held)
	q.held = nil
	q.assistant(e)
}

func mayBeExcuse(blocks []claudeBlock) bool {
	return len(blocks) == 1 && string(blocks[0].kind) == "text" && bytes.HasPrefix(blocks[0].text, []byte("[API Error: "))
}

func (q *qwenStream) system(subtype string, text []byte) {
	w := stream.Walker{Text: text}
	for key := range w.Fields() {
		switch {
		case subtype == "init" && string(key) == "model":
			model, _ := w.Str()
			q.Works(model)
		case subtype == "retry" && string(key) == "data":
			q.again(&w)
		}
	}
}

func (q *qwenStream) again(w *stream.Walker) {
	var attempt, attempts, delay int64
	for key := range w.Fields() {
		switch string(key) {
		case "attempt":
			attempt = w.Count()
		case "maxRetries":
			attempts = w.Count()
		case "delayMs":
			delay = w.Count()
		}
	}
	if delay <= 0 {
		q.Retrying(&stream.Fault{Class: ralph.EndProvider, Text: "the model did not answer as it should"})
		return
	}
	wait := time.Duration(min(delay, int64(24*time.Hour/time.Millisecond))) * time.Millisecond
	text := fmt.Sprintf("the usage limit is reached, the CLI waits for %s (attempt %d of %d)", wait, attempt, attempts)
	q.Retrying(&stream.Fault{Class: ralph.EndLimit, Text: text, Wait: wait})
}

// finish reads the closing event. That of a sub-agent that failed looks the same, but comes while the agent waits for the call by which it began: it
// closes nothing, unless nothing follows.
func (q *qwenStream) finish(e claudeEvent, text []byte) {
	tokens := q.usage(e.result.usage)
	if tokens != nil && *tokens == (ralph.Tokens{}) && q.spoke {
		tokens = nil // streams that are cut are not counted
	}
	q.ends(e.result, tokens)
	q.deny(e.result.denials, allowedTool)
	if _, failed := q.lastWords(e); failed {
		q.Fault = qwenFault(q.complains(text))
		if q.calling {
			q.Closed, q.Retry = false, q.Fault
		}
	}
}

// complains gives the message of the error of a closing event; "" if there is none.
func (q *qwenStream) complains(text []byte) (message string) {
	w := stream.Walker{Text: text}
	for key := range w.Fields() {
		if string(key) != "error" {
			continue
		}
		for key := range w.Fields() {
			if string(key) == "message" {
				message = w.Word()
			}
		}
	}
	return message
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

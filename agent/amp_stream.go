package agent

import (
	"bytes"
	"cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/text"
)

// ampStream reads the events of `amp -x --stream-json`. They are those of Claude Code with these
// differences: messages have no id and come whole, their input figure includes cache reads and
// writes, the result has its error as text and its denials by tool, and only the messages report
// spending.
type ampStream struct{ claudeStream }

type ampEvent struct {
	claudeEvent
	Denials []string `json:"permission_denials"`
}

func (a *ampStream) event(e *ampEvent) bool {
	switch e.Type {
	case "user", "stream_event":
		a.Retry = nil
		a.returned(&e.claudeEvent)
	case "system":
	case "assistant":
		a.sum(e.Message.Usage)
		e.Message.Usage = nil
		a.assistant(&e.claudeEvent)
	case "result":
		a.end(e)
	default:
		return false
	}
	a.InSession(e.Session)
	return true
}

// plainText recognizes an unwanted login: without a key Amp starts one, on standard output, and
// waits five minutes for it.
func (a *ampStream) plainText(text []byte) {
	if a.Events == 0 && bytes.HasPrefix(text, []byte("No API key found.")) {
		a.Events++
		a.Fault, a.Hopeless = &stream.Fault{Class: ralph.EndAuth, Text: stream.NoLogin, Hint: ampLogin}, true
	}
}

// ampComplaints are what Amp prints when its server refuses the start.
var ampComplaints = sentences{
	{ralph.EndAuth, text.LazyRegexp(`^(?:invalid or missing api key\.|access token expired\.)`)},
	{ralph.EndLimit, text.LazyRegexp(`^api request for \w+ failed: 429$`)},
	{
		ralph.EndProvider,
		text.LazyRegexp(
			`^(?:amp server returned an error\.|couldn't connect to the amp server at |api request for \w+ failed: 5\d\d$)`,
		),
	},
}

// longEvent of an assistant is usually a tool call with a long input.
func (a *ampStream) longEvent(e *ampEvent) bool {
	e.Message.Usage = nil
	return a.claudeStream.longEvent(&e.claudeEvent)
}

// sum adds the usage of one message.
func (a *ampStream) sum(u usage) {
	if t := withoutCache(claudeUsage.of(u)); t != nil {
		a.Spent = a.Spent.Plus(*t)
		a.TellSpent()
	}
}

// end reads the closing event.
func (a *ampStream) end(e *ampEvent) {
	a.ends(&e.claudeEvent, nil)
	a.Denials, a.Allow = nil, nil
	for _, tool := range e.Denials {
		a.Denied(tool, "", "--yolo")
	}
	if !a.lastWords(&e.claudeEvent) {
		return
	}
	words := e.Code
	if words == "" && !a.isOwn(e.Result) {
		words = e.Result
	}
	a.Fault = errorWords.fault(cmp.Or(words, e.Subtype), ampLogin)
}

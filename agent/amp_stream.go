package agent

import (
	"bytes"
	"cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/text"
)

// ampStream reads the events of `amp -x --stream-json`, which are those of Claude Code but for this: messages have no id and come whole, their
// input figure includes what the cache gave and took, the result names its error in words and its denials by the tool, and what was spent is
// told by the messages alone.
type ampStream struct{ claudeStream }

func (a *ampStream) event(text []byte) bool {
	e, ok := a.parse(text)
	if !ok {
		a.beforeTheStream(text)
		return false
	}
	switch string(e.kind) {
	case "user", "stream_event":
		a.Retry = nil
	case "system":
	case "assistant":
		a.sum(e.message.usage)
		e.message.usage = nil
		a.assistant(e)
	case "result":
		a.end(e)
	default:
		return true
	}
	a.InSession(e.session)
	a.Events++
	return true
}

// beforeTheStream knows how a login begins that nobody asked for: without a key Amp starts one, on standard output, and waits five minutes for it.
func (a *ampStream) beforeTheStream(text []byte) {
	if a.Events == 0 && bytes.HasPrefix(text, []byte("No API key found.")) {
		a.Events++
		a.Fault, a.Hopeless = &stream.Fault{Class: ralph.EndAuth, Text: "there is no login", Hint: ampLogin}, true
	}
}

// ampComplaints are what Amp writes when its server does not let it begin.
var ampComplaints = sentences{
	{ralph.EndAuth, text.LazyRegexp(`^(?:invalid or missing api key\.|access token expired\.)`)},
	{ralph.EndLimit, text.LazyRegexp(`^api request for \w+ failed: 429$`)},
	{ralph.EndProvider, text.LazyRegexp(`^(?:amp server returned an error\.|couldn't connect to the amp server at |api request for \w+ failed: 5\d\d$)`)},
}

// longEvent of an assistant is a tool call with a long input, as a rule.
func (a *ampStream) longEvent(head []byte) bool {
	e, _ := a.parse(head)
	blocks := e.message.blocks
	if string(e.kind) != "assistant" || len(blocks) != 1 || string(blocks[0].kind) != "tool_use" {
		return false
	}
	a.Events++
	a.call(blocks[0])
	return true
}

// sum adds what one message used.
func (a *ampStream) sum(usage []byte) {
	if t := stream.WithoutCache(claudeUsage.ReadText(usage)); t != nil {
		stream.AddTokens(&a.Spent, *t)
		a.TellSpent()
	}
}

// end reads the closing event.
func (a *ampStream) end(e claudeEvent) {
	var tokens *ralph.Tokens
	if a.Spent.Total() > 0 {
		spent := a.Spent
		tokens = &spent
	}
	a.ends(e.result, tokens)
	a.Denials, a.Allow = nil, nil
	w := stream.Walker{Text: e.result.denials}
	if e.result.denials != nil {
		for range w.Elements() {
			a.Denied(w.Word(), "", "--yolo")
		}
	}
	text, failed := a.lastWords(e)
	if !failed {
		return
	}
	words := string(stream.Unescape(nil, e.code))
	if words == "" && !a.isOwn(text) {
		words = string(text)
	}
	a.Fault = errorWords.fault(cmp.Or(words, string(e.subtype)), ampLogin)
}

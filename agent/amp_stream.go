package agent

import (
	"bytes"
	"cmp"

	"github.com/ralphloop/ralph"
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
		a.retry = nil
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
	a.inSession(e.session)
	a.events++
	return true
}

// beforeTheStream knows how a login begins that nobody asked for: without a key Amp starts one, on standard output, and waits five minutes for it.
func (a *ampStream) beforeTheStream(text []byte) {
	if a.events == 0 && bytes.HasPrefix(text, []byte("No API key found.")) {
		a.events++
		a.fault, a.hopeless = &fault{class: ralph.EndAuth, text: "there is no login", hint: ampLogin}, true
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
	a.events++
	a.call(blocks[0])
	return true
}

// sum adds what one message used.
func (a *ampStream) sum(usage []byte) {
	if t := withoutCache(claudeUsage.readText(usage)); t != nil {
		addTokens(&a.spent, *t)
		a.tellSpent()
	}
}

// end reads the closing event.
func (a *ampStream) end(e claudeEvent) {
	var tokens *ralph.Tokens
	if a.spent.Total() > 0 {
		spent := a.spent
		tokens = &spent
	}
	a.ends(e.result, tokens)
	a.denials, a.allow = nil, nil
	w := walker{text: e.result.denials}
	if e.result.denials != nil {
		for range w.elements() {
			a.denied(w.word(), "", "--yolo")
		}
	}
	text, failed := a.lastWords(e)
	if !failed {
		return
	}
	words := string(unescape(nil, e.code))
	if words == "" && !a.isOwn(text) {
		words = string(text)
	}
	a.fault = errorWords.fault(cmp.Or(words, string(e.subtype)), ampLogin)
}

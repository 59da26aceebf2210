package agent

import (
	"bytes"
	"strconv"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/promise"
)

// aiderText reads aider's output, which is free text except for one thing: after every answer of
// the model, and only then, comes a line about its tokens. Text before that line may be the
// agent's; text after the last one is aider's own and is ignored.
//
//	Tokens: 2.3k sent, 24 received. Cost: $0.01 message, $0.03 session.
//
// This tells an answer from an error: aider exits with status 0 even when the model could not be
// reached. An agent may print such lines, but not the last one. The tokens are rounded, and a sum
// of them could be forged, so only the session's cost is used, from the last line.
type aiderText struct {
	*stream.Reading
	started  bool   // aider has printed its version, which it does once it has a model
	answers  int    // answers with a line about tokens
	words    bool   // an answer was not empty
	thinking bool   // the model prints its thinking
	talking  bool   // the agent's message was shown live
	between  bool   // only aider's own lines since the last answer
	costNext bool   // the cost may come on a separate line
	held     []byte // possibly the agent's text, if a line about tokens follows
}

func newAiderText(r *stream.Reading) stream.Reader {
	a := &aiderText{Reading: r}
	r.Structured, r.ByStatus = true, a.ended
	return &stream.Lines{To: a}
}

var (
	aiderTokens = text.LazyRegexp(
		`^Tokens: [\d.]+[kM]? sent(?:, [\d.]+[kM]? cache (?:write|hit))*, ([\d.]+)[kM]? received\.` +
			`(?: Cost: \$[\d.]+ message, \$([\d.]+) session\.)?$`,
	)
	aiderCost  = text.LazyRegexp(`^Cost: \$[\d.]+ message, \$([\d.]+) session\.$`)
	aiderError = text.LazyRegexp(`^litellm\.(\w+: .*)`)
	aiderModel = text.LazyRegexp(`^(?:Main model|Model): (\S+) with `)
	aiderEdit  = []byte("Applied edit to ")
)

// aiderKeyless is what aider prints before it offers a login, accepts that itself, and waits five
// minutes.
const aiderKeyless = "No LLM model was specified and no API keys were provided."

func (a *aiderText) Wants([]byte) bool { return true }

func (a *aiderText) Line(text []byte) {
	line := bytes.TrimRight(text, " \t\r")
	a.Events++
	costNext := a.costNext
	a.costNext = false
	if a.answers == 0 {
		a.beforeAnswers(line)
	}
	if m := aiderTokens().FindSubmatch(line); m != nil {
		a.answered(m[1], m[2])
		return
	}
	if m := aiderCost().FindSubmatch(line); m != nil && costNext {
		a.spentSoFar(m[1])
		return
	}
	if a.between && bytes.HasPrefix(line, aiderEdit) {
		a.Tool("edit", string(line[len(aiderEdit):]))
		return
	}
	if m := aiderError().FindSubmatch(line); m != nil {
		a.Retrying(aiderErrors.fault(string(m[1]), aiderLogin))
	}
	a.between = a.between && len(line) == 0
	a.listen(text)
}

// beforeAnswers reads what aider prints at startup.
func (a *aiderText) beforeAnswers(line []byte) {
	switch {
	case bytes.HasPrefix(line, []byte("Aider v")):
		a.started = true
	case !a.started && string(line) == aiderKeyless:
		a.Fault, a.Hopeless = &stream.Fault{
			Class: ralph.EndAuth,
			Text:  "no API key found for any model",
			Hint:  aiderLogin,
		}, true
	case a.Model == "":
		if m := aiderModel().FindSubmatch(line); m != nil {
			a.Works(string(m[1]))
		}
	}
}

func (a *aiderText) LongLine(head []byte) {
	a.Events++
	a.Lost++
	a.between = false
}

func (a *aiderText) LastLine(text []byte) {
	if text != nil {
		a.Line(text)
	}
}

// listen keeps a line for the scanner unless the model is thinking.
func (a *aiderText) listen(text []byte) {
	switch string(bytes.TrimSpace(text)) {
	case "► **THINKING**":
		a.thinking = true
	case "► **ANSWER**":
		a.thinking = false
	}
	if a.thinking {
		return
	}
	a.held = append(append(a.held, text...), '\n')
	if len(a.held) > stream.MaxLine { // no answer is that long, but memory is bounded
		a.flushHeld()
	}
	head := string(text[:min(len(text), 4*stream.DetailSize)])
	if detail := promise.OneLine(head, stream.DetailSize); detail != "" && !a.talking {
		a.talking = true
		a.Live(ralph.Activity{Kind: "text", Detail: detail})
	}
}

// flushHeld passes on what was kept.
func (a *aiderText) flushHeld() {
	_, _ = a.Said.Write(a.held) // never fails
	if a.held = a.held[:0]; cap(a.held) > 1<<20 {
		a.held = nil
	}
}

// answered records that an answer is complete.
func (a *aiderText) answered(received, cost []byte) {
	a.flushHeld()
	a.Said.EndMessage()
	a.answers++
	a.words = a.words || string(received) != "0"
	a.Retry, a.thinking, a.talking, a.between = nil, false, false, true
	steps := a.answers
	a.Steps = &steps
	if cost == nil {
		a.costNext = true
		return
	}
	a.spentSoFar(cost)
}

func (a *aiderText) spentSoFar(cost []byte) {
	if n, err := strconv.ParseFloat(string(cost), 64); err == nil {
		a.Cost = &n
		a.TellSpent()
	}
}

// ended judges an aider that exited by itself. Status 0 alone means nothing.
func (a *aiderText) ended(status int) *stream.Fault {
	switch {
	case a.Retry != nil:
		return a.Retry
	case status != 0:
		return nil
	case a.answers == 0:
		return &stream.Fault{Class: ralph.EndFailed, Text: "aider ended without an answer from the model"}
	case !a.words:
		return &stream.Fault{Class: ralph.EndEmpty, Text: stream.SaidNothing}
	}
	return &stream.Fault{Class: ralph.EndOK}
}

// aiderErrors are the errors of the library that aider uses to reach models.
var aiderErrors = sentences{
	{ralph.EndAuth, text.LazyRegexp(`^(?:authentication|permissiondenied)error: `)},
	{ralph.EndLimit, text.LazyRegexp(`^(?:ratelimit|routerratelimit|budgetexceeded)error: `)},
	{
		ralph.EndProvider,
		text.LazyRegexp(`^(?:(?:apiconnection|api|apiresponsevalidation|internalserver|serviceunavailable|` +
			`openai|azureopenai)error|timeout): `),
	},
}

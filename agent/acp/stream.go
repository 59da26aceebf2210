package acp

import (
	"bytes"
	"encoding/json"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/promise"
)

// listener reads what an agent says to its client: JSON-RPC messages, one a line.
//
//	responses                   to our requests: session/new tells the session, session/prompt how the turn ended
//	session/update              words and thoughts piece by piece, tool calls, the plan, what it cost
//	session/request_permission  a question, which is decided here
//
// Other requests are for the connection to refuse, other notifications are nothing to us.
type listener struct {
	*stream.Reading
	talk    *talk
	methods []string      // ways to log in
	refused *stream.Fault // the last error, unless an answer came after it
	calls   recentCalls
	words   words
	thought liveLine
}

func newReader(r *stream.Reading, t *talk) stream.Reader {
	r.Structured = true
	r.Model = "" // what was asked for is what works only once the agent says so
	a := &listener{Reading: r, talk: t, thought: liveLine{Reading: r, kind: "thought"}}
	a.words = words{Reading: r, line: liveLine{Reading: r, kind: "text"}}
	return &reader{stream.Lines{To: a}, a}
}

// reader ends the stream behind its last line.
type reader struct {
	stream.Lines
	stream *listener
}

// Close judges a conversation that an error ended.
func (r *reader) Close() {
	r.Lines.Close()
	a := r.stream
	a.fallSilent()
	if !a.Closed && a.refused != nil {
		a.Fault, a.Closed = a.refused, true
	}
}

// message is one message. Its parts reach to the end of the text, so that they can be walked into even if it is cut off.
type message struct{ id, method, params, result, failure []byte }

func parseMessage(text []byte) (m message, ok bool) {
	w := stream.Walker{Text: text}
	version := ""
	for key := range w.Fields() {
		rest := text[w.At:]
		switch string(key) {
		case "jsonrpc":
			version = w.Word()
		case "id":
			m.id = w.Raw()
		case "method":
			m.method, _ = w.Str()
		case "params":
			m.params = rest
		case "result":
			m.result = rest
		case "error":
			if w.Peek() != 'n' { // null stands for none
				m.failure = rest
			}
		}
	}
	return m, !w.Bad && version == "2.0"
}

// updateKind is what a session/update is about.
func (m message) updateKind() string {
	w := stream.Walker{Text: m.params}
	for key := range w.Fields() {
		if string(key) != "update" {
			continue
		}
		for key := range w.Fields() {
			if string(key) == "sessionUpdate" {
				return w.Word()
			}
		}
	}
	return ""
}

// Wants does without what holds nothing of interest once it is long: results of tools, lists of commands, the prompt.
func (a *listener) Wants(head []byte) bool {
	m, _ := parseMessage(head)
	switch m.updateKind() {
	case "tool_call_update", "available_commands_update", "config_option_update", "user_message_chunk":
		return false
	}
	return true
}

func (a *listener) Line(text []byte) {
	w := stream.Walker{Text: text}
	if w.Peek() != '[' {
		a.take(text)
		return
	}
	for range w.Elements() {
		if element := w.Raw(); element != nil {
			a.take(element)
		}
	}
}

// LongLine may be a tool call with a long input, and a question is answered whatever its length.
func (a *listener) LongLine(head []byte) {
	m, _ := parseMessage(head)
	switch kind := m.updateKind(); {
	case kind == "tool_call":
		a.update(m.params)
	case string(m.method) == sdk.ClientMethodSessionRequestPermission && m.id != nil:
		a.permission(m)
	case kind == "" || kind == "agent_message_chunk":
		a.Lost++
	}
}

func (a *listener) LastLine(text []byte) {
	if text != nil && len(bytes.TrimSpace(text)) == 0 {
		return
	}
	w := stream.Walker{Text: text}
	if w.Skip(); w.Bad {
		a.Cut = true
		return
	}
	a.Line(text)
}

func (a *listener) take(text []byte) {
	m, ok := parseMessage(text)
	switch {
	case !ok:
	case m.id == nil:
		if string(m.method) == sdk.ClientMethodSessionUpdate {
			a.update(m.params)
		}
	case !json.Valid(text): // the connection would not hear it either
	case m.method == nil:
		a.response(m)
		a.talk.hear(text)
	case string(m.method) == sdk.ClientMethodSessionRequestPermission:
		a.permission(m)
	default:
		a.Events++
		a.talk.asks(text)
	}
}

// response reads the answer to a request, which is known by what is in it.
func (a *listener) response(m message) {
	a.Events++
	if m.failure != nil {
		a.refusal(m.failure)
		return
	}
	a.refused = nil
	if asked := a.talk.asking(); asked == setModel || asked == sdk.AgentMethodSessionSetConfigOption {
		a.Model = promise.OneLine(a.talk.model, stream.DetailSize)
	}
	w := stream.Walker{Text: m.result}
	for key := range w.Fields() {
		switch string(key) {
		case "authMethods":
			a.loginMethods(&w)
		case "sessionId":
			if id, ok := w.Str(); ok {
				a.InSession(string(stream.Unescape(nil, id)))
			}
		case "models":
			for key := range w.Fields() {
				if string(key) == "currentModelId" {
					a.Model = promise.OneLine(w.Word(), stream.DetailSize)
				}
			}
		case "configOptions":
			a.currentModel(&w)
		case "stopReason":
			a.finish(w.Word())
		case "usage":
			if spent := readTokens(&w); spent.Total() > 0 {
				a.Spent = spent
			}
		case "_meta":
			a.quota(&w)
		}
	}
}

// refusal notes an error, unless it answers what was asked as a favour.
func (a *listener) refusal(failure []byte) {
	switch a.talk.asking() {
	case sdk.AgentMethodSessionSetMode, sdk.AgentMethodSessionSetConfigOption, setModel:
	default:
		a.refused = parseError(failure).fault(loginHint(a.methods))
	}
}

func (a *listener) loginMethods(w *stream.Walker) {
	a.methods = nil
	for range w.Elements() {
		name, description := "", ""
		for key := range w.Fields() {
			switch string(key) {
			case "name":
				name = w.Word()
			case "description":
				description = w.Word()
			}
		}
		if description != "" {
			name += " (" + description + ")"
		}
		if len(a.methods) < 8 && name != "" {
			a.methods = append(a.methods, promise.OneLine(name, stream.DetailSize))
		}
	}
}

// currentModel finds the model among the settings of a session. Not every answer that lists settings is one to session/new, but all tell them as
// they are.
func (a *listener) currentModel(w *stream.Walker) {
	for range w.Elements() {
		category, current := "", ""
		for key := range w.Fields() {
			switch string(key) {
			case "category":
				category = w.Word()
			case "currentValue":
				current = w.Word()
			}
		}
		if category == "model" && current != "" {
			a.Model = promise.OneLine(current, stream.DetailSize)
		}
	}
}

// finish ends the conversation: the turn is over. One that was given up stays so, whatever comes behind.
func (a *listener) finish(reason string) {
	a.fallSilent()
	if a.Hopeless {
		return
	}
	a.Closed, a.Fault = true, stopFault(reason)
	if reason == string(sdk.StopReasonCancelled) && a.talk.cancelled.Load() {
		a.Fault = &stream.Fault{Class: ralph.EndInterrupted, Text: "interrupted"}
	}
}

// permission decides whether a tool may be used.
func (a *listener) permission(m message) {
	a.Events++
	a.fallSilent()
	var asked toolCall
	var options []choice
	w := stream.Walker{Text: m.params}
	for key := range w.Fields() {
		switch string(key) {
		case "toolCall":
			asked.parse(&w)
		case "options":
			options = parseChoices(&w)
		}
	}
	asked.cut = asked.cut || w.Bad // the rest of a question that is too long may name further files
	call := a.called(asked, "in_progress")
	answer := ""
	if a.talk.policy.allows(call) {
		answer = choose(options, allowKinds...)
	}
	if answer == "" {
		answer = choose(options, rejectKinds...)
		a.Denied(call.name(), call.about(), a.talk.policy.wouldAllow())
	}
	a.talk.decide(m.id, answer)
}

func parseChoices(w *stream.Walker) (options []choice) {
	for range w.Elements() {
		var o choice
		for key := range w.Fields() {
			switch string(key) {
			case "optionId":
				o.id = w.Word()
			case "kind":
				o.kind = w.Word()
			}
		}
		options = append(options, o)
	}
	return options
}

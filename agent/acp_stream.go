package agent

import (
	"bytes"
	"encoding/json"

	"github.com/coder/acp-go-sdk"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

// acpStream reads what an agent says to its client: JSON-RPC messages, one a line.
//
//	responses                   to our requests: session/new tells the session, session/prompt how the turn ended
//	session/update              words and thoughts piece by piece, tool calls, the plan, what it cost
//	session/request_permission  a question, which is decided here
//
// Other requests are for the connection to refuse, other notifications are nothing to us.
type acpStream struct {
	*reading
	talk    *acpTalk
	methods []string // ways to log in
	refused *fault   // the last error, unless an answer came after it
	calls   acpCalls
	words   acpWords
	thought acpLine
}

func newACPReader(r *reading, t *acpTalk) reader {
	r.structured = true
	r.model = "" // what was asked for is what works only once the agent says so
	a := &acpStream{reading: r, talk: t, thought: acpLine{reading: r, kind: "thought"}}
	a.words = acpWords{reading: r, line: acpLine{reading: r, kind: "text"}}
	return &acpReader{lines{to: a}, a}
}

// acpReader ends the stream behind its last line.
type acpReader struct {
	lines
	stream *acpStream
}

// close judges a conversation that an error ended.
func (r *acpReader) close() {
	r.lines.close()
	a := r.stream
	a.fallSilent()
	if !a.closed && a.refused != nil {
		a.fault, a.closed = a.refused, true
	}
}

// acpMessage is one message. Its parts reach to the end of the text, so that they can be walked into even if it is cut off.
type acpMessage struct{ id, method, params, result, failure []byte }

func parseACP(text []byte) (m acpMessage, ok bool) {
	w := walker{text: text}
	version := ""
	for key := range w.fields() {
		rest := text[w.at:]
		switch string(key) {
		case "jsonrpc":
			version = w.word()
		case "id":
			m.id = w.raw()
		case "method":
			m.method, _ = w.str()
		case "params":
			m.params = rest
		case "result":
			m.result = rest
		case "error":
			if w.peek() != 'n' { // null stands for none
				m.failure = rest
			}
		}
	}
	return m, !w.bad && version == "2.0"
}

// updateKind is what a session/update is about.
func (m acpMessage) updateKind() string {
	w := walker{text: m.params}
	for key := range w.fields() {
		if string(key) != "update" {
			continue
		}
		for key := range w.fields() {
			if string(key) == "sessionUpdate" {
				return w.word()
			}
		}
	}
	return ""
}

// wants does without what holds nothing of interest once it is long: results of tools, lists of commands, the prompt.
func (a *acpStream) wants(head []byte) bool {
	m, _ := parseACP(head)
	switch m.updateKind() {
	case "tool_call_update", "available_commands_update", "config_option_update", "user_message_chunk":
		return false
	}
	return true
}

func (a *acpStream) line(text []byte) {
	w := walker{text: text}
	if w.peek() != '[' {
		a.take(text)
		return
	}
	for range w.elements() {
		if element := w.raw(); element != nil {
			a.take(element)
		}
	}
}

// longLine may be a tool call with a long input, and a question is answered whatever its length.
func (a *acpStream) longLine(head []byte) {
	m, _ := parseACP(head)
	switch kind := m.updateKind(); {
	case kind == "tool_call":
		a.update(m.params)
	case string(m.method) == acp.ClientMethodSessionRequestPermission && m.id != nil:
		a.permission(m)
	case kind == "" || kind == "agent_message_chunk":
		a.lost++
	}
}

func (a *acpStream) lastLine(text []byte) {
	if text != nil && len(bytes.TrimSpace(text)) == 0 {
		return
	}
	w := walker{text: text}
	if w.skip(); w.bad {
		a.cut = true
		return
	}
	a.line(text)
}

func (a *acpStream) take(text []byte) {
	m, ok := parseACP(text)
	switch {
	case !ok:
	case m.id == nil:
		if string(m.method) == acp.ClientMethodSessionUpdate {
			a.update(m.params)
		}
	case !json.Valid(text): // the connection would not hear it either
	case m.method == nil:
		a.response(m)
		a.talk.hear(text)
	case string(m.method) == acp.ClientMethodSessionRequestPermission:
		a.permission(m)
	default:
		a.events++
		a.talk.asks(text)
	}
}

// response reads the answer to a request, which is known by what is in it.
func (a *acpStream) response(m acpMessage) {
	a.events++
	if m.failure != nil {
		a.refusal(m.failure)
		return
	}
	a.refused = nil
	if asked := a.talk.asking(); asked == acpSetModel || asked == acp.AgentMethodSessionSetConfigOption {
		a.model = promise.OneLine(a.talk.model, detailSize)
	}
	w := walker{text: m.result}
	for key := range w.fields() {
		switch string(key) {
		case "authMethods":
			a.loginMethods(&w)
		case "sessionId":
			if id, ok := w.str(); ok {
				a.inSession(id)
			}
		case "models":
			for key := range w.fields() {
				if string(key) == "currentModelId" {
					a.model = promise.OneLine(w.word(), detailSize)
				}
			}
		case "configOptions":
			a.currentModel(&w)
		case "stopReason":
			a.finish(w.word())
		case "usage":
			if spent := acpTokens(&w); spent.Total() > 0 {
				a.spent = spent
			}
		case "_meta":
			a.quota(&w)
		}
	}
}

// refusal notes an error, unless it answers what was asked as a favour.
func (a *acpStream) refusal(failure []byte) {
	switch a.talk.asking() {
	case acp.AgentMethodSessionSetMode, acp.AgentMethodSessionSetConfigOption, acpSetModel:
	default:
		a.refused = parseACPError(failure).fault(loginHint(a.methods))
	}
}

func (a *acpStream) loginMethods(w *walker) {
	a.methods = nil
	for range w.elements() {
		name, description := "", ""
		for key := range w.fields() {
			switch string(key) {
			case "name":
				name = w.word()
			case "description":
				description = w.word()
			}
		}
		if description != "" {
			name += " (" + description + ")"
		}
		if len(a.methods) < 8 && name != "" {
			a.methods = append(a.methods, promise.OneLine(name, detailSize))
		}
	}
}

// currentModel finds the model among the settings of a session. Not every answer that lists settings is one to session/new, but all tell them as
// they are.
func (a *acpStream) currentModel(w *walker) {
	for range w.elements() {
		category, current := "", ""
		for key := range w.fields() {
			switch string(key) {
			case "category":
				category = w.word()
			case "currentValue":
				current = w.word()
			}
		}
		if category == "model" && current != "" {
			a.model = promise.OneLine(current, detailSize)
		}
	}
}

// finish ends the conversation: the turn is over. One that was given up stays so, whatever comes behind.
func (a *acpStream) finish(reason string) {
	a.fallSilent()
	if a.hopeless {
		return
	}
	a.closed, a.fault = true, acpStop(reason)
	if reason == string(acp.StopReasonCancelled) && a.talk.cancelled.Load() {
		a.fault = &fault{class: ralph.EndInterrupted, text: "interrupted"}
	}
}

// permission decides whether a tool may be used.
func (a *acpStream) permission(m acpMessage) {
	a.events++
	a.fallSilent()
	var asked acpCall
	var options []acpChoice
	w := walker{text: m.params}
	for key := range w.fields() {
		switch string(key) {
		case "toolCall":
			asked.parse(&w)
		case "options":
			options = parseACPOptions(&w)
		}
	}
	asked.cut = asked.cut || w.bad // the rest of a question that is too long may name further files
	call := a.called(asked, "in_progress")
	answer := ""
	if a.talk.policy.allows(call) {
		answer = choose(options, acpAllow...)
	}
	if answer == "" {
		answer = choose(options, acpReject...)
		a.denied(call.name(), call.about(), a.talk.policy.wouldAllow())
	}
	a.talk.decide(m.id, answer)
}

func parseACPOptions(w *walker) (options []acpChoice) {
	for range w.elements() {
		var o acpChoice
		for key := range w.fields() {
			switch string(key) {
			case "optionId":
				o.id = w.word()
			case "kind":
				o.kind = w.word()
			}
		}
		options = append(options, o)
	}
	return options
}

package acp

import (
	"encoding/json"
	"slices"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/promise"
)

// listener reads what an agent sends to its client: JSON-RPC messages, one per line.
//
//	responses                   to our requests: session/new has the session, session/prompt how the turn ended
//	session/update              text and thoughts piece by piece, tool calls, the plan, the cost
//	session/request_permission  a question, which is decided here
//
// Other requests are refused by the connection, other notifications are ignored.
type listener struct {
	*stream.Reading
	talk    *talk
	methods []string      // ways to log in
	refused *stream.Fault // the last error, unless a result came after it
	calls   recentCalls
	words   words
	thought liveLine
}

func newReader(r *stream.Reading, t *talk) stream.Reader {
	r.Model = "" // the requested model counts only once the agent confirms it
	a := &listener{Reading: r, talk: t, thought: liveLine{Reading: r, kind: "thought"}}
	a.words = words{Reading: r, line: liveLine{Reading: r, kind: "text"}}
	return &reader{stream.NewJSONReader(r, a), a}
}

// reader ends the stream after its last line.
type reader struct {
	*stream.Lines
	listener *listener
}

// Close judges a conversation that an error ended.
func (r *reader) Close() {
	r.Lines.Close()
	a := r.listener
	a.endOutput()
	if !a.Closed && a.refused != nil {
		a.Fault, a.Closed = a.refused, true
	}
}

// message is one message of the agent: a response, a notification, or a request of its own.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Error   *rpcError       `json:"error"`
	Result  answer          `json:"result"`
	Params  struct {
		Session string   `json:"sessionId"`
		Update  update   `json:"update"`
		Call    toolCall `json:"toolCall"`
		Options []choice `json:"options"`
	} `json:"params"`
}

// Wants rejects what is of no interest if it is long: tool results, lists of commands, the prompt.
func (a *listener) Wants(head []byte) bool {
	var m message
	stream.Decode(stream.Mend(head), &m)
	unwanted := []string{"tool_call_update", "available_commands_update", "config_option_update", "user_message_chunk"}
	return !slices.Contains(unwanted, m.Params.Update.Kind)
}

// LongObject may be a tool call with a long input. A permission request is answered regardless of
// its length.
func (a *listener) LongObject(text []byte) bool {
	var m message
	stream.Decode(text, &m)
	switch kind := m.Params.Update.Kind; {
	case kind == "tool_call":
		a.update(&m)
	case m.Method == sdk.ClientMethodSessionRequestPermission && m.ID != nil:
		m.Params.Call.cut = true // the rest of the question may name further files
		a.permission(&m)
	case kind == "" || kind == "agent_message_chunk":
		return false
	}
	return true
}

// Object handles one message.
func (a *listener) Object(text []byte) {
	var m message
	switch {
	case !stream.Decode(text, &m) || m.Version != "2.0":
	case m.ID == nil:
		if m.Method == sdk.ClientMethodSessionUpdate {
			a.update(&m)
		}
	case m.Method == "":
		a.response(&m)
		a.talk.forward(text)
	case m.Method == sdk.ClientMethodSessionRequestPermission:
		a.permission(&m)
	default:
		a.Events++
		a.talk.forwardRequest(text)
	}
}

// response reads the response to a request.
func (a *listener) response(m *message) {
	a.Events++
	if m.Error != nil {
		a.refusal(*m.Error)
		return
	}
	a.refused = nil
	if asked := a.talk.asking(); asked == setModel || asked == sdk.AgentMethodSessionSetConfigOption {
		a.Model = promise.OneLine(a.talk.model, stream.DetailSize)
	}
	r := m.Result
	if r.AuthMethods != nil {
		a.methods = loginMethods(r.AuthMethods)
	}
	a.InSession(r.SessionID)
	a.Works(r.Models.Current)
	for _, o := range r.Options {
		if o.Category == "model" {
			a.Works(o.Current)
		}
	}
	if spent := r.Usage.sum(); spent.Total() > 0 {
		a.Spent = spent
	}
	a.quota(r.Meta.Quota)
	if r.StopReason != nil {
		a.finish(*r.StopReason)
	}
}

// refusal records an error, unless it answers an optional request.
func (a *listener) refusal(e rpcError) {
	switch a.talk.asking() {
	case sdk.AgentMethodSessionSetMode, sdk.AgentMethodSessionSetConfigOption, setModel:
	default:
		a.refused = e.fault(loginHint(a.methods))
	}
}

// loginMethods returns the first ways to log in, by their display names.
func loginMethods(offered []authMethod) (names []string) {
	for _, m := range offered {
		name := m.Name
		if m.Description != "" {
			name += " (" + m.Description + ")"
		}
		if len(names) < 8 && name != "" {
			names = append(names, promise.OneLine(name, stream.DetailSize))
		}
	}
	return names
}

// finish ends the conversation: the turn is over. If it was given up before, it stays so.
func (a *listener) finish(reason string) {
	a.endOutput()
	if a.Hopeless {
		return
	}
	a.Closed, a.Fault = true, stopFault(reason)
	if reason == string(sdk.StopReasonCancelled) && a.talk.cancelled.Load() {
		a.Fault = &stream.Fault{Class: ralph.EndInterrupted, Text: "interrupted"}
	}
}

// permission decides whether a tool may be used.
func (a *listener) permission(m *message) {
	a.Events++
	a.endOutput()
	call := a.called(m.Params.Call, "in_progress")
	answer := ""
	if a.talk.policy.allows(call) {
		answer = choose(m.Params.Options, allowKinds...)
	}
	if answer == "" {
		answer = choose(m.Params.Options, rejectKinds...)
		a.Denied(call.name(), call.about(), a.talk.policy.wouldAllow())
	}
	a.talk.decide(m.ID, answer)
}

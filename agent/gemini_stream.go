package agent

import "github.com/ralphloop/ralph/agent/internal/stream"

import "github.com/ralphloop/ralph"

// geminiStream reads the events of `gemini --output-format stream-json`.
//
//	init         session, model
//	message      the prompt (role user), or a piece of what the agent says: pieces that follow each other are one message
//	tool_use     a tool begins
//	tool_result  it ended; a call that was not allowed has an error of a type of its own
//	error        a warning, or why a turn came to nothing
//	result       the closing event: status, tokens, and an error with no code
//
// Retries are told on standard error only.
type geminiStream struct {
	*stream.Reading
	speaking bool                  // the next piece goes on with the message
	calls    map[string]geminiCall // that began and have not ended, by id
	trouble  string                // the last error that was no warning
	unclear  string                // an error result that only the exit status explains
	buffer   []byte
}

type geminiCall struct{ name, detail string }

// geminiEvent is one event taken apart, strings still escaped.
type geminiEvent struct {
	kind, session, model      []byte
	role, content             []byte
	tool, id, detail          []byte
	status, severity, message []byte
	failure                   geminiError
	stats                     []byte
}

type geminiError struct{ kind, message []byte }

func (g *geminiStream) ignores([]byte) bool { return false }

func (g *geminiStream) event(text []byte) bool {
	e, ok := parseGemini(text)
	if !ok {
		return false
	}
	switch string(e.kind) {
	case "init":
		g.InSession(e.session)
		g.Works(e.model)
	case "message":
		if string(e.role) == "assistant" {
			g.speak(e.content)
		}
	case "tool_use":
		g.called(e)
	case "tool_result":
		g.returned(e)
	case "error":
		if string(e.severity) != "warning" {
			g.trouble = string(stream.Unescape(nil, e.message))
		}
	case "result":
		g.finish(e)
	default:
		return true
	}
	g.Events++
	return true
}

// longEvent is what a tool was given or what it printed, as a rule.
func (g *geminiStream) longEvent(head []byte) bool {
	e, _ := parseGemini(head)
	switch {
	case string(e.kind) == "tool_use" && len(e.tool) > 0:
		g.called(e)
	case string(e.kind) == "tool_result" && len(e.id) > 0:
		g.returned(e)
	default:
		return string(e.kind) == "message" && string(e.role) == "user"
	}
	g.Events++
	return true
}

// parseGemini takes an event apart in one pass. It stops early where the rest is of no interest.
func parseGemini(text []byte) (e geminiEvent, ok bool) {
	w := stream.Walker{Text: text}
	for key := range w.Fields() {
		switch string(key) {
		case "type":
			e.kind, _ = w.Str()
		case "session_id":
			e.session, _ = w.Str()
		case "model":
			e.model, _ = w.Str()
		case "role":
			if e.role, _ = w.Str(); string(e.kind) == "message" && string(e.role) == "user" {
				return e, true
			}
		case "content":
			e.content, _ = w.Str()
		case "tool_name":
			e.tool, _ = w.Str()
		case "tool_id":
			e.id, _ = w.Str()
		case "parameters":
			e.detail = tellingField(&w)
		case "status":
			if e.status, _ = w.Str(); string(e.kind) == "tool_result" && string(e.status) == "success" {
				return e, true
			}
		case "severity":
			e.severity, _ = w.Str()
		case "message":
			e.message, _ = w.Str()
		case "error":
			e.failure = parseGeminiError(&w)
		case "stats":
			e.stats = w.Raw()
		}
	}
	return e, !w.Bad && len(e.kind) > 0
}

func parseGeminiError(w *stream.Walker) (f geminiError) {
	for key := range w.Fields() {
		switch string(key) {
		case "type":
			f.kind, _ = w.Str()
		case "message":
			f.message, _ = w.Str()
		}
	}
	return f
}

// speak passes on a piece of a message. A message is a step.
func (g *geminiStream) speak(escaped []byte) {
	g.buffer = stream.Unescape(g.buffer[:0], escaped)
	if len(g.buffer) == 0 {
		return
	}
	if !g.speaking {
		g.Step()
	}
	g.speaking = true
	g.Say(g.buffer)
}

func (g *geminiStream) endMessage() {
	if g.speaking {
		g.Said.EndMessage()
	}
	g.speaking = false
}

func (g *geminiStream) called(e geminiEvent) {
	g.endMessage()
	call := geminiCall{string(stream.Unescape(nil, e.tool)), string(stream.Unescape(nil, e.detail))}
	g.Tool(call.name, call.detail)
	if g.calls == nil {
		g.calls = map[string]geminiCall{}
	}
	if len(g.calls) < maxOpen && len(e.id) <= stream.MaxSession {
		g.calls[string(e.id)] = call
	}
}

// returned counts a tool that ended as a step. A tool that is forbidden altogether is not offered to the agent, and unknown if it is called all
// the same.
func (g *geminiStream) returned(e geminiEvent) {
	g.endMessage()
	call := g.calls[string(e.id)]
	delete(g.calls, string(e.id))
	g.Step()
	kind := string(e.failure.kind)
	if kind == "policy_violation" || kind == "tool_not_registered" && call.name == "run_shell_command" {
		g.Denied(call.name, call.detail, allowedTool(call.name, call.detail))
	}
}

// finish reads the closing event. That of an error without a known meaning counts as none: the exit status says more.
func (g *geminiStream) finish(e geminiEvent) {
	g.endMessage()
	g.Closed, g.Fault, g.Retry, g.unclear = true, nil, nil, ""
	g.count(e.stats)
	g.TellSpent()
	if string(e.status) == "success" {
		return
	}
	message := string(stream.Unescape(nil, e.failure.message))
	if message == "" {
		g.Fault = turnTrouble(g.trouble)
		return
	}
	g.Fault = geminiFault(string(e.failure.kind), message)
	if g.Fault.Class == ralph.EndFailed {
		g.Closed, g.Retry, g.unclear = false, g.Fault, g.Fault.Text
	}
}

// count reads the tokens of the run, and which model had most of them.
func (g *geminiStream) count(stats []byte) {
	if stats == nil {
		return
	}
	w := stream.Walker{Text: stats}
	var total geminiTokens
	var most int64
	for key := range w.Fields() {
		if string(key) != "models" {
			total.field(&w, string(key))
			continue
		}
		for name := range w.Fields() {
			var one geminiTokens
			for key := range w.Fields() {
				one.field(&w, string(key))
			}
			if one.all > most {
				most = one.all
				g.Works(name)
			}
		}
	}
	// Streams that are cut are not counted: zero after words is not known to be true.
	if total != (geminiTokens{}) || g.Steps == nil {
		g.Tokens = total.known()
	}
}

// geminiTokens are the CLI's figures. Its input includes what came from the cache, and its output does not include thinking, which the sum of
// all does.
type geminiTokens struct{ all, input, output, cached int64 }

func (t *geminiTokens) field(w *stream.Walker, key string) {
	switch key {
	case "total_tokens":
		t.all = w.Count()
	case "input_tokens":
		t.input = w.Count()
	case "output_tokens":
		t.output = w.Count()
	case "cached":
		t.cached = w.Count()
	}
}

func (t *geminiTokens) known() *ralph.Tokens {
	return &ralph.Tokens{Input: max(t.input-t.cached, 0), Output: max(t.output, t.all-t.input), CacheRead: t.cached}
}

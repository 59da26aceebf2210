package agent

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
	*reading
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
		g.inSession(e.session)
		g.works(e.model)
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
			g.trouble = string(unescape(nil, e.message))
		}
	case "result":
		g.finish(e)
	default:
		return true
	}
	g.events++
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
	g.events++
	return true
}

// parseGemini takes an event apart in one pass. It stops early where the rest is of no interest.
func parseGemini(text []byte) (e geminiEvent, ok bool) {
	w := walker{text: text}
	for key := range w.fields() {
		switch string(key) {
		case "type":
			e.kind, _ = w.str()
		case "session_id":
			e.session, _ = w.str()
		case "model":
			e.model, _ = w.str()
		case "role":
			if e.role, _ = w.str(); string(e.kind) == "message" && string(e.role) == "user" {
				return e, true
			}
		case "content":
			e.content, _ = w.str()
		case "tool_name":
			e.tool, _ = w.str()
		case "tool_id":
			e.id, _ = w.str()
		case "parameters":
			e.detail = tellingField(&w)
		case "status":
			if e.status, _ = w.str(); string(e.kind) == "tool_result" && string(e.status) == "success" {
				return e, true
			}
		case "severity":
			e.severity, _ = w.str()
		case "message":
			e.message, _ = w.str()
		case "error":
			e.failure = parseGeminiError(&w)
		case "stats":
			e.stats = w.raw()
		}
	}
	return e, !w.bad && len(e.kind) > 0
}

func parseGeminiError(w *walker) (f geminiError) {
	for key := range w.fields() {
		switch string(key) {
		case "type":
			f.kind, _ = w.str()
		case "message":
			f.message, _ = w.str()
		}
	}
	return f
}

// speak passes on a piece of a message. A message is a step.
func (g *geminiStream) speak(escaped []byte) {
	g.buffer = unescape(g.buffer[:0], escaped)
	if len(g.buffer) == 0 {
		return
	}
	if !g.speaking {
		g.step()
	}
	g.speaking = true
	g.say(g.buffer)
}

func (g *geminiStream) endMessage() {
	if g.speaking {
		g.said.EndMessage()
	}
	g.speaking = false
}

func (g *geminiStream) called(e geminiEvent) {
	g.endMessage()
	call := geminiCall{string(unescape(nil, e.tool)), string(unescape(nil, e.detail))}
	g.tool(call.name, call.detail)
	if g.calls == nil {
		g.calls = map[string]geminiCall{}
	}
	if len(g.calls) < maxOpen && len(e.id) <= maxSession {
		g.calls[string(e.id)] = call
	}
}

// returned counts a tool that ended as a step. A tool that is forbidden altogether is not offered to the agent, and unknown if it is called all
// the same.
func (g *geminiStream) returned(e geminiEvent) {
	g.endMessage()
	call := g.calls[string(e.id)]
	delete(g.calls, string(e.id))
	g.step()
	kind := string(e.failure.kind)
	if kind == "policy_violation" || kind == "tool_not_registered" && call.name == "run_shell_command" {
		g.denied(call.name, call.detail, allowedTool(call.name, call.detail))
	}
}

// finish reads the closing event. That of an error without a known meaning counts as none: the exit status says more.
func (g *geminiStream) finish(e geminiEvent) {
	g.endMessage()
	g.closed, g.fault, g.retry, g.unclear = true, nil, nil, ""
	g.count(e.stats)
	g.tellSpent()
	if string(e.status) == "success" {
		return
	}
	message := string(unescape(nil, e.failure.message))
	if message == "" {
		g.fault = turnTrouble(g.trouble)
		return
	}
	g.fault = geminiFault(string(e.failure.kind), message)
	if g.fault.class == ralph.EndFailed {
		g.closed, g.retry, g.unclear = false, g.fault, g.fault.text
	}
}

// count reads the tokens of the run, and which model had most of them.
func (g *geminiStream) count(stats []byte) {
	if stats == nil {
		return
	}
	w := walker{text: stats}
	var total geminiTokens
	var most int64
	for key := range w.fields() {
		if string(key) != "models" {
			total.field(&w, string(key))
			continue
		}
		for name := range w.fields() {
			var one geminiTokens
			for key := range w.fields() {
				one.field(&w, string(key))
			}
			if one.all > most {
				most = one.all
				g.works(name)
			}
		}
	}
	// Streams that are cut are not counted: zero after words is not known to be true.
	if total != (geminiTokens{}) || g.steps == nil {
		g.tokens = total.known()
	}
}

// geminiTokens are the CLI's figures. Its input includes what came from the cache, and its output does not include thinking, which the sum of
// all does.
type geminiTokens struct{ all, input, output, cached int64 }

func (t *geminiTokens) field(w *walker, key string) {
	switch key {
	case "total_tokens":
		t.all = w.count()
	case "input_tokens":
		t.input = w.count()
	case "output_tokens":
		t.output = w.count()
	case "cached":
		t.cached = w.count()
	}
}

func (t *geminiTokens) known() *ralph.Tokens {
	return &ralph.Tokens{Input: max(t.input-t.cached, 0), Output: max(t.output, t.all-t.input), CacheRead: t.cached}
}

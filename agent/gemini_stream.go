package agent

import (
	"maps"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
)

// geminiStream reads the events of `gemini --output-format stream-json`.
//
//	init         session, model
//	message      the prompt (role user), or a piece of what the agent says: consecutive pieces are one message
//	tool_use     a tool starts
//	tool_result  it ended; a call that was not allowed has a special error type
//	error        a warning, or why a turn failed
//	result       the closing event: status, tokens, and an error without a code
//
// Retries are reported only on standard error.
type geminiStream struct {
	*stream.Reading
	speaking bool // the next piece continues the message
	calls    openCalls
	trouble  string // the last error that was not a warning
	unclear  string // an error result that only the exit status explains
	session  geminiSession
}

type geminiEvent struct {
	Type     string    `json:"type"`
	Session  string    `json:"session_id"`
	Model    string    `json:"model"`
	Role     string    `json:"role"`
	Content  string    `json:"content"`
	Tool     string    `json:"tool_name"`
	ID       string    `json:"tool_id"`
	Input    toolInput `json:"parameters"`
	Status   string    `json:"status"`
	Output   string    `json:"output"`
	Severity string    `json:"severity"`
	Message  string    `json:"message"`
	Failure  struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	Stats *geminiStats `json:"stats"`
}

// geminiStats are the tokens of a run, and of its models.
type geminiStats struct {
	geminiTokens
	Models map[string]geminiTokens `json:"models"`
}

// geminiTokens are the CLI's figures. The input includes cached tokens. The output does not include
// thinking, but the total does.
type geminiTokens struct {
	All    int64 `json:"total_tokens"`
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
	Cached int64 `json:"cached"`
}

func (t geminiTokens) split() ralph.Tokens {
	return ralph.Tokens{Input: max(t.Input-t.Cached, 0), Output: max(t.Output, t.All-t.Input), CacheRead: t.Cached}
}

func (g *geminiStream) ignores(string) bool { return false }

func (g *geminiStream) event(e *geminiEvent) bool {
	switch e.Type {
	case "init":
		g.InSession(e.Session)
		g.Works(e.Model)
	case "message":
		if e.Role == "assistant" {
			g.speak(e.Content)
		}
	case "tool_use":
		g.called(e)
		g.readSession()
	case "tool_result":
		g.returned(e)
		g.readSession()
	case "error":
		if e.Severity != "warning" {
			g.trouble = e.Message
		}
	case "result":
		g.finish(e)
	default:
		return false
	}
	return true
}

// longEvent is usually a tool's input or output, or the prompt.
func (g *geminiStream) longEvent(e *geminiEvent) bool {
	switch e.Type {
	case "tool_use":
		return e.Tool != "" && g.event(e)
	case "tool_result":
		return e.ID != "" && g.event(e)
	}
	return e.Type == "message" && e.Role == "user"
}

// speak passes on a piece of a message. A message is a step.
func (g *geminiStream) speak(text string) {
	if text == "" {
		return
	}
	if !g.speaking {
		g.Step()
	}
	g.speaking = true
	g.Say(text)
}

func (g *geminiStream) endMessage() {
	if g.speaking {
		g.Said.EndMessage()
	}
	g.speaking = false
}

func (g *geminiStream) called(e *geminiEvent) {
	g.endMessage()
	g.Tool(e.Tool, e.Input.about())
	g.calls.begin(e.ID, openCall{e.Tool, e.Input.about()})
	g.Evidence.Began(e.ID, e.Tool, e.Input.run)
}

// returned counts a tool that ended as a step. A tool that is forbidden altogether is not offered
// to the agent, and is unknown if it is called anyway.
func (g *geminiStream) returned(e *geminiEvent) {
	g.endMessage()
	call, _ := g.calls.end(e.ID)
	g.Step()
	how := stream.Ended{Exit: resultText(e.Output).failure(), Failed: e.Status != "success", Output: e.Output}
	g.Evidence.Ended(e.ID, how, g.Now())
	if e.Status == "success" {
		return
	}
	kind := e.Failure.Type
	if kind == "policy_violation" || kind == "tool_not_registered" && call.name == "run_shell_command" {
		g.Denied(call.name, call.detail, allowedTool(call.name, call.detail))
	}
}

// finish reads the closing event. An error without a known meaning does not count as one, because
// the exit status says more.
func (g *geminiStream) finish(e *geminiEvent) {
	g.endMessage()
	g.Closed, g.Fault, g.Retry, g.unclear = true, nil, nil, ""
	g.readSession()
	if e.Stats != nil {
		g.count(e.Stats)
	}
	g.TellSpent()
	if e.Status == "success" {
		return
	}
	if e.Failure.Message == "" {
		g.Fault = turnTrouble(g.trouble)
		return
	}
	g.Fault = geminiFault(e.Failure.Type, e.Failure.Message)
	if g.Fault.Class == ralph.EndFailed {
		g.Closed, g.Retry, g.unclear = false, g.Fault, g.Fault.Text
	}
}

// count reads the tokens of the run, and which model used most of them.
func (g *geminiStream) count(stats *geminiStats) {
	var most int64
	for _, name := range slices.Sorted(maps.Keys(stats.Models)) {
		if all := stats.Models[name].All; all > most {
			most = all
			g.Works(name)
		}
	}
	// Streams that are cut off are not counted: zero after text may be wrong.
	if t := stats.geminiTokens; t != (geminiTokens{}) || g.Steps == nil {
		tokens := t.split()
		g.Tokens = &tokens
	}
}

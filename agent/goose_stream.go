package agent

import (
	"cmp"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/promise"
)

// gooseStream reads the events of `goose run --output-format stream-json`.
//
//	message       a piece of a message: of the model (role assistant), or tool results (role user, never read). The
//	              pieces of one message have the same id
//	notification  side information of extensions and sub-agents
//	error         the run failed
//	complete      the closing event, with the usage; in versions before September 2026 also after an error
//
// When the model cannot be reached, goose says so in the agent's name, and many versions report
// success.
type gooseStream struct {
	*stream.Reading
	message string // id of the current message
	writing bool
	open    string        // the tool call that has no result yet
	excuse  *stream.Fault // what goose said in the agent's name, if that came last
}

type gooseEvent struct {
	Type    string       `json:"type"`
	Failure string       `json:"error"`
	Message gooseMessage `json:"message"`
	Cost    *float64     `json:"cost_usd"`
	usage   usage        // of the closing event
}

// UnmarshalJSON also reads the figures, which are beside the other fields.
func (e *gooseEvent) UnmarshalJSON(text []byte) error {
	type plain gooseEvent
	stream.Decode(text, (*plain)(e))
	if e.Type == "complete" {
		stream.Decode(text, &e.usage)
	}
	return nil
}

// gooseUsage holds the CLI's names for tokens. The input figure includes the cache. The total adds
// nothing, and in older versions it is that of the last call alone.
var gooseUsage = tokenNames{"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_write_input_tokens"}

// gooseMessage is a piece of a message.
type gooseMessage struct {
	ID       string         `json:"id"`
	Role     string         `json:"role"`
	Content  []gooseContent `json:"content"`
	Metadata struct {
		Inference *struct{} `json:"inference"` // set if the message declares that a model wrote it
	} `json:"metadata"`
}

// gooseContent is text, a tool call, a tool result, or a notice. A call is wrapped in a result.
type gooseContent struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Msg    string `json:"msg"`
	Error  string `json:"message"`
	Notice string `json:"notificationType"`
	Call   struct {
		Value struct {
			Name  string    `json:"name"`
			Input toolInput `json:"arguments"`
		} `json:"value"`
	} `json:"toolCall"`
}

func (g *gooseStream) ignores(kind string) bool { return kind == "notification" }

func (g *gooseStream) event(e *gooseEvent) bool {
	switch e.Type {
	case "notification":
	case "message":
		g.piece(e.Message)
	case "error":
		g.Closed, g.Fault = true, gooseFault(e.Failure)
	case "complete":
		g.complete(e)
	default:
		return false
	}
	return true
}

// plainText recognizes the complaints that goose prints as plain text on standard output before it
// exits.
func (g *gooseStream) plainText(text []byte) {
	if found := gooseUnconfigured().FindSubmatch(text); found != nil && g.Events == 0 {
		g.Events++
		g.Retry = &stream.Fault{
			Class: ralph.EndAuth,
			Text:  promise.OneLine(string(found[1]), stream.SentenceSize),
			Hint:  gooseLogin,
		}
	}
}

var gooseUnconfigured = text.LazyRegexp(`^\s*error: (No (?:provider|model) configured\b.*)`)

// longEvent is a tool result, or a call with a long input.
func (g *gooseStream) longEvent(e *gooseEvent) bool {
	m := e.Message
	isCall := len(m.Content) == 1 && m.Content[0].Type == "toolRequest"
	return e.Type == "message" && (m.Role == "user" || isCall) && g.event(e)
}

// piece reads a piece of a message. Tool results end a message, because the next one answers them.
func (g *gooseStream) piece(m gooseMessage) {
	if m.Role != "assistant" {
		g.writing, g.open, g.Retry = false, "", nil
		return
	}
	for _, c := range m.Content {
		switch words := cmp.Or(c.Text, c.Msg, c.Error); c.Type {
		case "text":
			g.speak(m, words)
		case "toolRequest", "frontendToolRequest":
			g.excuse = nil
			g.begin(m)
			name, detail := c.Call.Value.Name, c.Call.Value.Input.about()
			g.open = promise.OneLine(name+": "+detail, stream.DetailSize)
			g.Tool(name, detail)
		case "error":
			g.excuse = gooseFault(words)
		case "systemNotification":
			if c.Notice == "creditsExhausted" {
				g.excuse = &stream.Fault{
					Class: ralph.EndLimit,
					Text:  "no credits left: " + promise.OneLine(words, stream.SentenceSize),
				}
			}
		}
	}
}

// speak passes on the agent's text, and holds back what goose says in its name. That comes as a
// whole, in a separate message.
func (g *gooseStream) speak(m gooseMessage, text string) {
	continued := g.writing && g.message == m.ID
	if m.Metadata.Inference == nil && !continued && gooseExcuse().MatchString(text) {
		g.excuse = gooseFault(text)
		return
	}
	g.excuse = nil
	g.begin(m)
	g.Say(text)
}

// begin counts an answer of the model when its first piece comes.
func (g *gooseStream) begin(m gooseMessage) {
	if g.writing && g.message == m.ID {
		return
	}
	g.Said.EndMessage()
	g.writing, g.message = true, m.ID
	g.Step()
}

func (g *gooseStream) complete(e *gooseEvent) {
	g.Said.EndMessage()
	g.Tokens, g.Cost = withoutCache(gooseUsage.of(e.usage)), e.Cost
	g.TellSpent()
	if !g.Closed {
		g.Fault = g.excuse
	}
	g.Closed = true
}

// endedInTool judges a goose that exited silently during a tool call, as it does when the tool
// needs approval.
func (g *gooseStream) endedInTool(status int) *stream.Fault {
	if status != 1 || g.open == "" || g.Retry != nil {
		return nil
	}
	return &stream.Fault{
		Class: ralph.EndFailed,
		Text:  "goose ended during a tool call that may have needed approval: " + g.open,
		Hint:  gooseModes,
	}
}

// gooseExcuse matches what goose says in the agent's name when a model call failed.
var gooseExcuse = text.LazyRegexp(
	`(?s)^(Ran into this error: .*Please retry if you think this is a transient or recoverable error\.|` +
		`Network error: .*Please resend your message to try again\.)\s*$`,
)

// gooseErrors are recognized by their beginning.
var gooseErrors = sentences{
	{ralph.EndAuth, text.LazyRegexp(`^authentication error: `)},
	{ralph.EndLimit, text.LazyRegexp(`^(?:rate limit exceeded|credits exhausted): `)},
	{
		ralph.EndProvider,
		text.LazyRegexp(
			`^(?:server error: |network error: |request failed: (?:stream decode error|error decoding|error sending request))`,
		),
	},
}

// gooseFault classifies an error of goose.
func gooseFault(words string) *stream.Fault {
	words = strings.TrimPrefix(strings.TrimSpace(words), "Ran into this error: ")
	words, _, _ = strings.Cut(words, "\n\nPlease re")
	return gooseErrors.fault(words, gooseLogin)
}

package agent

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
)

// claudeStream reads the events of `claude --output-format stream-json`.
//
//	system     init (session), api_retry (the model did not answer; the CLI waits and retries)
//	assistant  one content block of a message, several lines may share a message id; from a sub-agent if
//	           parent_tool_use_id is set
//	user       tool results: read only for calls that are evidence, never for what the agent said
//	result     the closing event: error flag, usage, denials, and a copy of the last message
//
// Events may have their keys in any order: the result's type is one of its last.
type claudeStream struct {
	*stream.Reading
	message string       // id of the current message
	joined  maphash.Hash // of that message's text blocks
	heard   memory       // the agent's last text blocks and messages, to recognize a copy
	excuses memory       // what the CLI said in the agent's name
	spoke   bool
	excuse  string // error code of what the CLI said in the agent's name
	limited bool   // the account's limit was reached
	resets  time.Time
	turn    uint64       // hash of the id of the last message of the agent itself
	metered uint64       // hash of the id of the message whose tokens came last
	used    ralph.Tokens // by that message
	// cacheInInput means that the input figures include cached tokens.
	cacheInInput bool
	// flagIsExit means that the error flag of a result is also set if a command fails.
	flagIsExit bool
	// exitInResult means that a result is an object with the exit code.
	exitInResult bool
}

// memory holds the hashes of the last texts added to it.
type memory struct {
	hashes [32]uint64
	next   int
}

func (m *memory) add(hash uint64) {
	m.hashes[m.next%len(m.hashes)] = hash
	m.next++
}

func (m *memory) has(hash uint64) bool { return slices.Contains(m.hashes[:], hash) }

type claudeEvent struct {
	Type      string        `json:"type"`
	Subtype   string        `json:"subtype"`
	Session   string        `json:"session_id"`
	Code      string        `json:"error"`
	Model     string        `json:"model"` // the model that will be used, reported at the start
	Message   claudeMessage `json:"message"`
	Parent    any           `json:"parent_tool_use_id"` // the call that started a sub-agent
	Synthetic bool          `json:"is_api_error_message"`
	claudeStatuses
	Limit    claudeLimit `json:"rate_limit_info"`
	Returned struct {
		Background string `json:"backgroundTaskId"` // the command continues
	} `json:"tool_use_result"`

	// Fields of the closing event.
	IsError bool             `json:"is_error"`
	Reason  string           `json:"terminal_reason"`
	Result  string           `json:"result"`
	Errors  []string         `json:"errors"`
	Turns   *int             `json:"num_turns"`
	Cost    *float64         `json:"total_cost_usd"`
	Usage   usage            `json:"usage"`
	ByModel map[string]usage `json:"modelUsage"`
	Denials []claudeDenial   `json:"permission_denials"`
}

// claudeStatuses are what the model's server answered.
type claudeStatuses struct {
	Status     int64 `json:"error_status"`     // of a retry
	LastStatus int64 `json:"api_error_status"` // of the closing event
}

// claudeMessage is a piece of a message.
type claudeMessage struct {
	ID     string        `json:"id"`
	Model  string        `json:"model"`
	Usage  usage         `json:"usage"`
	Blocks []claudeBlock `json:"content"`
}

// claudeBlock is one content block: text, a tool call and its input, or the result of a call.
type claudeBlock struct {
	Type  string    `json:"type"`
	Text  string    `json:"text"`
	ID    string    `json:"id"`
	Tool  string    `json:"name"`
	Input toolInput `json:"input"`

	CallID  string     `json:"tool_use_id"`
	Content resultText `json:"content"`
	IsError bool       `json:"is_error"`
}

// claudeLimit is the state of the account's usage limit.
type claudeLimit struct {
	Status  string                  `json:"status"`
	Resets  int64                   `json:"resetsAt"`
	Windows map[string]claudeWindow `json:"unifiedWindows"` // seen in the schema of version 2.1.325
}

// claudeWindow is the use of one window of a subscription.
type claudeWindow struct {
	Used   float64 `json:"utilization"` // 1 for all of it
	Resets int64   `json:"resetsAt"`
}

type claudeDenial struct {
	Tool  string    `json:"tool_name"`
	Input toolInput `json:"tool_input"`
}

func (e *claudeEvent) status() int64 { return cmp.Or(e.Status, e.LastStatus) }

// ignores skips input to the model, and pieces of messages that will come whole.
func (c *claudeStream) ignores(kind string) bool {
	return kind == "user" && !c.Evidence.Awaits() || kind == "stream_event"
}

func (c *claudeStream) event(e *claudeEvent) bool {
	switch e.Type {
	case "user", "stream_event":
		c.Retry = nil
		c.returned(e)
	case "system":
		switch e.Subtype {
		case "api_retry":
			c.again(e)
		case "init":
			c.Works(e.Model)
		}
	case "rate_limit_event":
		c.limit(e.Limit)
	case "assistant":
		c.assistant(e)
	case "result":
		c.finish(e)
	default:
		return false
	}
	c.InSession(e.Session)
	return true
}

// longEvent of an assistant is usually a tool call with a long input. A long result is no evidence: its error flag may
// be cut off.
func (c *claudeStream) longEvent(e *claudeEvent) bool {
	if e.Type == "user" {
		return true
	}
	if e.Type != "assistant" || !e.Message.isCall() {
		return false
	}
	c.meter(e.Message)
	c.call(e.Message.Blocks[0])
	return true
}

// isCall reports whether a message is only one tool call.
func (m claudeMessage) isCall() bool { return len(m.Blocks) == 1 && m.Blocks[0].Type == "tool_use" }

// again records a retry. A refused login is refused again, for three minutes, so there is nothing
// to wait for.
func (c *claudeStream) again(e *claudeEvent) {
	unknown := &stream.Fault{Class: ralph.EndProvider, Text: "the model did not answer"}
	f := cmp.Or(claudeFault(e.status(), e.Code), unknown)
	c.Retrying(f)
	if f.Class == ralph.EndAuth {
		c.Fault, c.Hopeless = f, true
	}
}

// limit records the state of the account's usage limit. It is reported after every turn.
func (c *claudeStream) limit(l claudeLimit) {
	if w, ok := l.Windows["five_hour"]; ok {
		c.Window(5*60, w.Used, w.Resets)
	}
	if w, ok := l.Windows["seven_day"]; ok {
		c.Window(7*24*60, w.Used, w.Resets)
	}
	c.limited = l.Status == "rejected"
	if c.limited && l.Resets > 0 {
		c.resets = time.Unix(l.Resets, 0)
	}
}

// assistant reads what the agent said and did. A sub-agent's tool calls and tokens count, but its
// text does not. An agent that continues after a closing event, for example when background work
// has ended, is working again.
func (c *claudeStream) assistant(e *claudeEvent) {
	subAgent := e.Parent != nil
	if e.Synthetic || e.Message.Model == "<synthetic>" {
		if !subAgent {
			c.inAgentsName(e)
		}
		return
	}
	if !subAgent {
		c.Closed = false
		if id := c.hash(e.Message.ID); id != c.turn {
			c.turn = id
			c.Step()
		}
	}
	c.Retry, c.excuse = nil, ""
	c.meter(e.Message)
	for _, b := range e.Message.Blocks {
		switch {
		case b.Type == "tool_use":
			c.call(b)
		case b.Type == "text" && !subAgent:
			c.speak(e.Message.ID, b.Text)
		}
	}
}

func (c *claudeStream) call(b claudeBlock) {
	c.Tool(b.Tool, b.Input.about())
	c.Evidence.Began(b.ID, b.Tool, b.Input.run)
}

// returned reads the results of calls that are evidence.
func (c *claudeStream) returned(e *claudeEvent) {
	for _, b := range e.Message.Blocks {
		switch {
		case b.Type != "tool_result":
		case e.Returned.Background != "":
			c.Evidence.Dropped(b.CallID)
		default:
			how := stream.Ended{Failed: b.IsError, FlagIsExit: c.flagIsExit, Output: string(b.Content)}
			switch {
			case c.exitInResult:
				how.Exit = b.Content.exitField()
			case !c.flagIsExit:
				how.Exit = b.Content.failure()
			}
			c.Evidence.Ended(b.CallID, how, c.Now())
		}
	}
}

// speak passes on one text block. Blocks with the same id are one message.
func (c *claudeStream) speak(id, text string) {
	if id == "" || !c.spoke || id != c.message {
		c.heard.add(c.joined.Sum64())
		c.Said.EndMessage()
		c.joined.Reset()
		c.message = id
	} else {
		_, _ = c.Said.WriteString("\n")
	}
	c.spoke = true
	_, _ = c.joined.WriteString(text)
	c.heard.add(c.hash(text))
	c.Say(text)
}

// inAgentsName records what the CLI itself said as if it were the agent.
func (c *claudeStream) inAgentsName(e *claudeEvent) {
	c.excuse = cmp.Or(e.Code, c.excuse)
	for _, b := range e.Message.Blocks {
		c.excuses.add(c.hash(b.Text))
	}
}

// isOwn reports whether the agent itself said this before.
func (c *claudeStream) isOwn(text string) bool {
	return c.heard.has(c.hash(text)) || maphash.String(c.joined.Seed(), text) == c.joined.Sum64()
}

func (c *claudeStream) hash(text string) uint64 {
	return maphash.String(c.joined.Seed(), strings.TrimSpace(text))
}

// finish reads the closing event. The last of several counts.
func (c *claudeStream) finish(e *claudeEvent) {
	c.ends(e, claudeTokens(e.Usage, e.ByModel))
	c.deny(e.Denials, claudeAllows)
	if failed := c.lastWords(e); failed || !c.spoke && c.excuse != "" {
		c.Fault = c.complaint(e)
	}
}

// ends records the figures of the closing event.
func (c *claudeStream) ends(e *claudeEvent, tokens *ralph.Tokens) {
	c.Closed, c.Hopeless, c.Steps, c.Cost, c.Tokens = true, false, e.Turns, e.Cost, tokens
	c.Fault, c.Retry = nil, nil
	c.TellSpent()
}

// lastWords passes on the text of the closing event, unless it is a copy, and reports whether the
// event is an error.
func (c *claudeStream) lastWords(e *claudeEvent) (failed bool) {
	text := e.Result
	failed = e.IsError || strings.HasPrefix(e.Subtype, "error") // older versions set only the subtype
	if !failed && text != "" && !c.isOwn(text) && !c.excuses.has(c.hash(text)) {
		c.Said.EndMessage()
		c.SayAll(text)
		c.heard.add(c.hash(text))
		c.spoke = true
	}
	return failed
}

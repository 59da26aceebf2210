package anthropic

import (
	"cmp"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/model/internal/wire"
)

// usualOutput is the output limit if the request has none. The API requires one.
const usualOutput = 32_000

// tooMuch matches the API's message that says how much output a model allows.
var tooMuch = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`max_tokens: \d+ > (\d+)`) })

// learnMaxOutput records how much output a model allows, and reports whether that is new.
func (c *client) learnMaxOutput(name string, err error) bool {
	fault, ok := errors.AsType[*model.Fault](err)
	if !ok || fault.Kind != model.FaultRefused {
		return false
	}
	m := tooMuch().FindStringSubmatch(fault.Message)
	if m == nil {
		return false
	}
	most, err := strconv.ParseInt(m[1], 10, 64)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || most <= 0 || most == c.maxOutput[name] {
		return false
	}
	c.maxOutput[name] = most
	return true
}

func (c *client) maxTokens(r model.Request) int64 {
	if r.MaxOutput > 0 {
		return int64(r.MaxOutput)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return cmp.Or(c.maxOutput[r.Model], usualOutput)
}

// request is the part of the API's request that this package uses.
type request struct {
	Model      string        `json:"model"`
	MaxTokens  int64         `json:"max_tokens"`
	Stream     bool          `json:"stream"`
	System     []content     `json:"system,omitempty"`
	Messages   []message     `json:"messages"`
	Tools      []tool        `json:"tools,omitempty"`
	ToolChoice *demandedTool `json:"tool_choice,omitempty"`
}

type message struct {
	Role    string    `json:"role"`
	Content []content `json:"content"`
}

// content is a block. A block that came from the provider goes back unchanged.
type content struct {
	raw json.RawMessage

	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   []content       `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
	Cache     *cache          `json:"cache_control,omitempty"`
}

// MarshalJSON writes the block, or raw if it came from the provider.
func (c content) MarshalJSON() ([]byte, error) {
	if c.raw != nil {
		return c.raw, nil
	}
	type plain content
	return json.Marshal(plain(c))
}

type cache struct {
	Type string `json:"type"`
}

var ephemeral = &cache{"ephemeral"}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
	Cache       *cache          `json:"cache_control,omitempty"`
}

type demandedTool struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

func (c *client) request(r model.Request) request {
	p := request{Model: r.Model, MaxTokens: c.maxTokens(r), Stream: true, Messages: messages(r.Messages)}
	if r.System != "" {
		p.System = []content{{Type: typeText, Text: r.System, Cache: ephemeral}}
	}
	for _, t := range r.Tools {
		schema := t.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		p.Tools = append(p.Tools, tool{Name: t.Name, Description: t.Description, InputSchema: schema})
	}
	if n := len(p.Tools); n > 0 {
		p.Tools[n-1].Cache = ephemeral
	}
	if r.MustCall != "" {
		p.ToolChoice = &demandedTool{"tool", r.MustCall}
	}
	return p
}

func messages(all []model.Message) []message {
	sent := []message{}
	for _, m := range all {
		next := message{"user", fromUser(m)}
		if m.Role == model.Assistant {
			next = message{"assistant", fromAssistant(m)}
		}
		if len(next.Content) > 0 { // the API refuses an empty message
			sent = append(sent, next)
		}
	}
	markEnds(sent)
	return sent
}

// markEnds marks what to cache: the end of this request, and the end of the previous one. The
// provider looks back only 20 blocks from a mark, and one step may have more.
func markEnds(sent []message) {
	if len(sent) == 0 {
		return
	}
	last := len(sent) - 1
	mark(sent[last])
	answered := false
	for i := last; i >= 0; i-- {
		switch {
		case sent[i].Role == "assistant":
			answered = true
		case answered:
			mark(sent[i])
			return
		}
	}
}

// mark marks the last block. Thinking cannot be marked, and neither can a raw block.
func mark(m message) {
	if last := &m.Content[len(m.Content)-1]; last.raw == nil {
		last.Cache = ephemeral
	}
}

func fromUser(m model.Message) []content {
	var blocks []content
	for _, r := range m.Results {
		if blank(r.Text) {
			r.Text = "(no output)" // the API refuses blank text
		}
		blocks = append(blocks, content{
			Type: "tool_result", ToolUseID: wire.Name(r.ID), Content: []content{{Type: typeText, Text: r.Text}},
			IsError: r.Failed,
		})
	}
	if !blank(m.Text) {
		blocks = append(blocks, content{Type: typeText, Text: m.Text})
	}
	return blocks
}

func fromAssistant(m model.Message) []content {
	var blocks []content
	thinking, ordered := thoughts(m)
	for _, raw := range thinking {
		blocks = append(blocks, content{raw: raw})
	}
	if ordered {
		return blocks
	}
	if !blank(m.Text) {
		blocks = append(blocks, content{Type: typeText, Text: m.Text})
	}
	for _, call := range m.Calls {
		blocks = append(blocks, content{
			Type: typeCall, ID: wire.Name(call.ID), Name: wire.Name(call.Name), Input: wire.Object(call.Input),
		})
	}
	return blocks
}

// thoughts returns the blocks to send back unchanged. If the message still has the calls of its
// thought, these are all blocks in their order.
func thoughts(m model.Message) (blocks []json.RawMessage, ordered bool) {
	var thinking []json.RawMessage
	var calls []string
	for _, raw := range m.Thought {
		var block struct {
			Type string `json:"type"`
			ID   string `json:"id"`
		}
		switch err := json.Unmarshal(raw, &block); {
		case err != nil: // from another provider
		case block.Type == typeThinking, block.Type == typeRedacted:
			thinking = append(thinking, raw)
		case block.Type == typeCall:
			calls, ordered = append(calls, block.ID), true
		case block.Type == typeText:
			ordered = true
		}
	}
	if !ordered || len(calls) != len(m.Calls) {
		return thinking, false
	}
	for i, call := range m.Calls {
		if call.ID != calls[i] {
			return thinking, false
		}
	}
	return m.Thought, true
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

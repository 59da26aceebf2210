package openai

import (
	"encoding/json"
	"strings"

	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/model/internal/wire"
)

// request is the part of the API's request that this package uses.
type request struct {
	Model               string         `json:"model"`
	Stream              bool           `json:"stream"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
	Messages            []message      `json:"messages"`
	Tools               []tool         `json:"tools,omitempty"`
	ToolChoice          *demandedTool  `json:"tool_choice,omitempty"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type message struct {
	Role             string            `json:"role"`
	Content          *string           `json:"content,omitempty"`
	ToolCallID       string            `json:"tool_call_id,omitempty"`
	ToolCalls        []sentCall        `json:"tool_calls,omitempty"`
	ReasoningContent *string           `json:"reasoning_content,omitempty"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details,omitempty"`
}

type sentCall struct {
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Function calledFunction  `json:"function"`
	Extra    json.RawMessage `json:"extra_content,omitempty"`
}

type calledFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

type demandedTool struct {
	Type     string       `json:"type"`
	Function functionName `json:"function"`
}

type functionName struct {
	Name string `json:"name"`
}

// anything is the schema for a tool that has none.
const anything = `{"type":"object","properties":{}}`

// newRequest builds the request for an endpoint with the given quirks.
func newRequest(r model.Request, h quirks) request {
	p := request{Model: r.Model, Stream: true, Messages: []message{}}
	if r.System != "" {
		p.Messages = append(p.Messages, message{Role: "system", Content: &r.System})
	}
	for _, m := range r.Messages {
		p.Messages = append(p.Messages, messages(m, h)...)
	}
	for _, t := range r.Tools {
		f := function{Name: t.Name, Description: t.Description, Parameters: t.Schema}
		var object map[string]any
		if json.Unmarshal(t.Schema, &object) != nil {
			f.Parameters = json.RawMessage(anything)
		}
		p.Tools = append(p.Tools, tool{"function", f})
	}
	if r.MustCall != "" && !h.noToolChoice {
		p.ToolChoice = &demandedTool{"function", functionName{r.MustCall}}
	}
	if !h.noUsage {
		p.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	switch {
	case r.MaxOutput <= 0:
	case h.legacyMaxTokens:
		p.MaxTokens = r.MaxOutput
	default:
		p.MaxCompletionTokens = r.MaxOutput
	}
	return p
}

// messages converts a message. Here each result becomes a separate message.
func messages(m model.Message, h quirks) []message {
	if m.Role == model.Assistant {
		return fromAssistant(m, h)
	}
	var sent []message
	for _, r := range m.Results {
		text := r.Text
		if r.Failed && !strings.HasPrefix(strings.ToLower(text), "error") {
			text = "Error: " + text
		}
		sent = append(sent, message{Role: "tool", Content: &text, ToolCallID: wire.Name(r.ID)})
	}
	if m.Text != "" || len(m.Results) == 0 {
		sent = append(sent, message{Role: "user", Content: &m.Text})
	}
	return sent
}

func fromAssistant(m model.Message, h quirks) []message {
	if m.Text == "" && len(m.Calls) == 0 {
		return nil // it is empty, and the API would refuse it
	}
	p := message{Role: "assistant"}
	if m.Text != "" {
		p.Content = &m.Text
	}
	back := readThoughts(m.Thought)
	for _, c := range m.Calls {
		p.ToolCalls = append(p.ToolCalls, sentCall{
			ID: wire.Name(c.ID), Type: "function", Function: calledFunction{wire.Name(c.Name), string(wire.Object(c.Input))},
			Extra: back.extra[c.ID],
		})
	}
	p.ReasoningDetails = back.details
	if h.reasoning == reasoningRequired || h.reasoning == reasoningSent && back.content != "" {
		p.ReasoningContent = &back.content
	}
	return []message{p}
}

// thought is one entry of a message's Thought, in the provider's own field names.
type thought struct {
	Content string            `json:"reasoning_content,omitempty"`
	Plain   string            `json:"reasoning,omitempty"`
	Details []json.RawMessage `json:"reasoning_details,omitempty"`
	Call    string            `json:"call,omitempty"` // the ID of the call that the extra content belongs to
	Extra   json.RawMessage   `json:"extra_content,omitempty"`
}

// sentBack is the part of a message's thought that may be sent back.
type sentBack struct {
	content string
	details []json.RawMessage
	extra   map[string]json.RawMessage // by call
}

func readThoughts(thoughts []json.RawMessage) sentBack {
	m := sentBack{extra: map[string]json.RawMessage{}}
	for _, raw := range thoughts {
		var t thought
		if json.Unmarshal(raw, &t) != nil {
			continue // from another provider
		}
		m.content += t.Content
		m.details = append(m.details, t.Details...)
		if t.Call != "" {
			m.extra[t.Call] = t.Extra
		}
	}
	return m
}

package openai

import (
	"encoding/json"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/model/wire"
)

func params(r model.Request, h habits) sdk.ChatCompletionNewParams {
	p := sdk.ChatCompletionNewParams{Model: r.Model}
	if r.System != "" {
		p.Messages = append(p.Messages, sdk.SystemMessage(r.System))
	}
	for _, m := range r.Messages {
		p.Messages = append(p.Messages, messages(m, h)...)
	}
	for _, t := range r.Tools {
		p.Tools = append(p.Tools, tool(t))
	}
	if r.MustCall != "" && !h.noDemand {
		p.ToolChoice = sdk.ToolChoiceOptionFunctionToolChoice(sdk.ChatCompletionNamedToolChoiceFunctionParam{Name: r.MustCall})
	}
	if !h.noUsage {
		p.StreamOptions.IncludeUsage = sdk.Bool(true)
	}
	switch {
	case r.MaxOutput <= 0:
	case h.oldMax:
		p.MaxTokens = sdk.Int(int64(r.MaxOutput))
	default:
		p.MaxCompletionTokens = sdk.Int(int64(r.MaxOutput))
	}
	return p
}

func tool(t model.Tool) sdk.ChatCompletionToolUnionParam {
	function := shared.FunctionDefinitionParam{Name: t.Name}
	if t.Description != "" {
		function.Description = sdk.String(t.Description)
	}
	if json.Unmarshal(t.Schema, &function.Parameters) != nil {
		function.Parameters = shared.FunctionParameters{"type": "object", "properties": map[string]any{}}
	}
	return sdk.ChatCompletionFunctionTool(function)
}

// messages are what one message of ours becomes: each result is one of its own here.
func messages(m model.Message, h habits) []sdk.ChatCompletionMessageParamUnion {
	if m.Role == model.Assistant {
		return fromAssistant(m, h)
	}
	var sent []sdk.ChatCompletionMessageParamUnion
	for _, r := range m.Results {
		text := r.Text
		if r.Failed && !strings.HasPrefix(strings.ToLower(text), "error") {
			text = "Error: " + text
		}
		sent = append(sent, sdk.ToolMessage(text, wire.Name(r.ID)))
	}
	if m.Text != "" || len(m.Results) == 0 {
		sent = append(sent, sdk.UserMessage(m.Text))
	}
	return sent
}

func fromAssistant(m model.Message, h habits) []sdk.ChatCompletionMessageParamUnion {
	if m.Text == "" && len(m.Calls) == 0 {
		return nil // it says nothing, and would be refused
	}
	p := &sdk.ChatCompletionAssistantMessageParam{}
	if m.Text != "" {
		p.Content.OfString = sdk.String(m.Text)
	}
	back := remembered(m.Thought)
	for _, call := range m.Calls {
		function := &sdk.ChatCompletionMessageFunctionToolCallParam{ID: wire.Name(call.ID)}
		function.Function.Name, function.Function.Arguments = wire.Name(call.Name), string(wire.Object(call.Input))
		if extra, ok := back.extra[call.ID]; ok {
			function.SetExtraFields(map[string]any{"extra_content": extra})
		}
		p.ToolCalls = append(p.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{OfFunction: function})
	}
	fields := map[string]any{}
	if len(back.details) > 0 {
		fields["reasoning_details"] = back.details
	}
	if h.reasoningBack {
		fields["reasoning_content"] = back.content // "" too: the endpoint misses the field, not the words
	}
	if len(fields) > 0 {
		p.SetExtraFields(fields)
	}
	return []sdk.ChatCompletionMessageParamUnion{{OfAssistant: p}}
}

// thought is one entry of a message's Thought, in the provider's own field names.
type thought struct {
	Content string            `json:"reasoning_content,omitempty"`
	Plain   string            `json:"reasoning,omitempty"`
	Details []json.RawMessage `json:"reasoning_details,omitempty"`
	Call    string            `json:"call,omitempty"` // whose extra content it is
	Extra   json.RawMessage   `json:"extra_content,omitempty"`
}

// memory is what may be sent back of a message's thought.
type memory struct {
	content string
	details []json.RawMessage
	extra   map[string]json.RawMessage // by call
}

func remembered(thoughts []json.RawMessage) memory {
	m := memory{extra: map[string]json.RawMessage{}}
	for _, raw := range thoughts {
		var t thought
		if json.Unmarshal(raw, &t) != nil {
			continue // another provider's
		}
		m.content += t.Content
		m.details = append(m.details, t.Details...)
		if t.Call != "" {
			m.extra[t.Call] = t.Extra
		}
	}
	return m
}

package openai

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/model/internal/wire"
)

// chunk holds the fields of one stream event that matter here.
type chunk struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Index        int    `json:"index"`
	Delta        delta  `json:"delta"`
	Message      *delta `json:"message"` // instead of Delta, if the reply comes at once
	FinishReason string `json:"finish_reason"`
}

type delta struct {
	Content          json.RawMessage   `json:"content"` // a string, or parts
	Refusal          string            `json:"refusal"`
	ReasoningContent string            `json:"reasoning_content"`
	Reasoning        string            `json:"reasoning"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details"`
	ToolCalls        []piece           `json:"tool_calls"`
}

// piece is a piece of a tool call.
type piece struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // a string; some providers send an object
	} `json:"function"`
	Extra json.RawMessage `json:"extra_content"`
}

// call is a tool call that is still arriving.
type call struct {
	id, name string
	input    strings.Builder
	extra    json.RawMessage
}

// assembly builds a reply from chunks.
type assembly struct {
	onDelta   func(model.Delta)
	id, model string
	text      strings.Builder
	content   strings.Builder // reasoning_content
	plain     strings.Builder // reasoning
	details   []json.RawMessage
	calls     []*call
	byIndex   map[int]*call // the call that pieces with this index belong to
	finish    string
	refused   bool
	usage     json.RawMessage
	done      bool
	trouble   []byte // the data of an error chunk
}

func newAssembly(onDelta func(model.Delta)) *assembly {
	return &assembly{onDelta: onDelta, byIndex: map[int]*call{}}
}

// Add processes one event, and reports whether it added to the reply.
func (a *assembly) Add(data []byte) (progressed bool, err error) {
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0:
		return false, nil
	case bytes.HasPrefix(data, []byte("[DONE]")):
		a.done = true
		return true, nil
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return false, fmt.Errorf("invalid JSON in chunk: %w", err)
	}
	if given(c.Error) {
		a.trouble = data
		return true, nil
	}
	a.id, a.model = cmp.Or(a.id, c.ID), cmp.Or(c.Model, a.model)
	if given(c.Usage) {
		a.usage = c.Usage
	}
	for _, choice := range c.Choices {
		if choice.Index == 0 {
			a.take(choice, data)
		}
	}
	return len(c.Choices) > 0 || given(c.Usage), nil
}

// AddWhole processes a reply that arrived in one piece, and reports whether it is one.
func (a *assembly) AddWhole(data []byte) bool {
	var c chunk
	if json.Unmarshal(data, &c) != nil || given(c.Error) {
		return false
	}
	i := slices.IndexFunc(c.Choices, func(c choice) bool { return c.Index == 0 && c.Message != nil })
	if i < 0 {
		return false
	}
	whole := c.Choices[i]
	whole.Delta = *whole.Message
	for n := range whole.Delta.ToolCalls {
		whole.Delta.ToolCalls[n].Index = n // here only their order distinguishes them
	}
	a.id, a.model, a.usage, a.done = c.ID, c.Model, c.Usage, true
	a.take(whole, data)
	return true
}

func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func (a *assembly) take(c choice, data []byte) {
	d := c.Delta
	if text := textOf(d.Content) + d.Refusal; text != "" {
		a.text.WriteString(text)
		a.onDelta(model.Delta{Text: text})
	}
	a.refused = a.refused || d.Refusal != ""
	a.content.WriteString(d.ReasoningContent)
	a.plain.WriteString(d.Reasoning)
	a.details = append(a.details, d.ReasoningDetails...)
	if thought := cmp.Or(d.ReasoningContent, d.Reasoning); thought != "" {
		a.onDelta(model.Delta{Thought: thought})
	}
	for _, p := range d.ToolCalls {
		a.extend(p)
	}
	a.finish = cmp.Or(c.FinishReason, a.finish)
	if c.FinishReason == "error" {
		a.trouble = data
	}
}

// textOf returns the text of content, which is a string, or a list of parts of which some have
// text.
func textOf(raw json.RawMessage) string {
	var text string
	if !given(raw) || json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &parts) // anything else has no text
	for _, p := range parts {
		text += p.Text
	}
	return text
}

// extend adds a piece to its call. The index identifies the call, but some endpoints use the same
// index for all calls, or none. Then a different ID, or a name after complete input, starts another
// call.
func (a *assembly) extend(p piece) {
	at := a.byIndex[p.Index]
	another := at == nil || p.ID != "" && at.id != "" && p.ID != at.id ||
		p.ID == "" && p.Function.Name != "" && at.name != "" && json.Valid([]byte(at.input.String()))
	if another {
		at = &call{}
		a.calls, a.byIndex[p.Index] = append(a.calls, at), at
	}
	at.id = cmp.Or(at.id, p.ID)
	if at.name == "" && p.Function.Name != "" { // some providers repeat it with every piece
		at.name = p.Function.Name
		a.onDelta(model.Delta{Tool: at.name})
	}
	if given(p.Extra) {
		at.extra = p.Extra
	}
	if !given(p.Function.Arguments) {
		return
	}
	var text string
	if json.Unmarshal(p.Function.Arguments, &text) != nil {
		text = string(p.Function.Arguments)
	}
	at.input.WriteString(text)
}

// Whole reports whether the reply is complete. Some endpoints omit one or the other sign of it.
func (a *assembly) Whole() bool { return a.done || a.finish != "" }

// Done reports whether nothing else needs to be read.
func (a *assembly) Done() bool { return a.done }

// Trouble returns the data of an error event.
func (a *assembly) Trouble() []byte { return a.trouble }

// Usage returns the usage so far.
func (a *assembly) Usage() *model.Usage { return usageOf(a.usage) }

// Reply returns the assembled reply.
func (a *assembly) Reply() model.Reply {
	r := model.Reply{
		ID: a.id, Model: a.model, Usage: usageOf(a.usage), Cost: costOf(a.usage),
		Message: model.Message{Role: model.Assistant, Text: a.text.String()},
	}
	think := func(t thought) {
		if raw, err := json.Marshal(t); err == nil {
			r.Message.Thought = append(r.Message.Thought, raw)
		}
	}
	switch {
	case a.content.Len() > 0:
		think(thought{Content: a.content.String()})
	case a.plain.Len() > 0:
		think(thought{Plain: a.plain.String()})
	}
	if len(a.details) > 0 {
		think(thought{Details: a.details})
	}
	ids := map[string]bool{}
	for _, c := range a.calls {
		if c.id == "" || ids[c.id] {
			c.id = "call_" + rand.Text()
		}
		ids[c.id] = true
		r.Message.Calls = append(r.Message.Calls, model.Call{ID: c.id, Name: c.name, Input: wire.Input(c.input.String())})
		if c.extra != nil {
			think(thought{Call: c.id, Extra: c.extra})
		}
	}
	r.End = a.end(len(r.Message.Calls))
	return r
}

func (a *assembly) end(calls int) model.End {
	switch {
	case a.refused, strings.HasPrefix(a.finish, "content_filter"):
		return model.EndRefuse
	case a.finish == "length":
		return model.EndLength
	case calls > 0: // some providers say "stop" then
		return model.EndCalls
	}
	return model.EndTurn
}

// costOf returns what the provider charges, as OpenRouter reports it; nil if it does not. With a key
// of the user's own for the provider behind it, that one charges most of it.
func costOf(raw json.RawMessage) *float64 {
	var told struct {
		Cost    *float64 `json:"cost"`
		OwnKey  bool     `json:"is_byok"`
		Details struct {
			Upstream float64 `json:"upstream_inference_cost"`
		} `json:"cost_details"`
	}
	if !given(raw) || json.Unmarshal(raw, &told) != nil || told.Cost == nil {
		return nil
	}
	cost := *told.Cost
	if told.OwnKey {
		cost += told.Details.Upstream
	}
	return &cost
}

// usageOf counts each token once: providers include cached tokens in the prompt, and reasoning in
// the completion. If the total is larger than prompt and completion, the completion excludes
// reasoning, as with Gemini.
func usageOf(raw json.RawMessage) *model.Usage {
	var told struct {
		Prompt     int64  `json:"prompt_tokens"`
		Completion int64  `json:"completion_tokens"`
		Total      int64  `json:"total_tokens"`
		Hit        *int64 `json:"prompt_cache_hit_tokens"` // DeepSeek's name
		Details    struct {
			Cached  *int64 `json:"cached_tokens"`
			Written int64  `json:"cache_write_tokens"`
		} `json:"prompt_tokens_details"`
	}
	if !given(raw) || json.Unmarshal(raw, &told) != nil {
		return nil
	}
	read := *cmp.Or(told.Details.Cached, told.Hit, new(int64))
	output := max(told.Completion, told.Total-told.Prompt)
	if told.Completion < 0 || told.Prompt < 0 {
		return nil
	}
	return wire.PlausibleUsage(model.Usage{
		Input: told.Prompt - read - told.Details.Written, Output: output, CacheRead: read, CacheWrite: told.Details.Written,
	})
}

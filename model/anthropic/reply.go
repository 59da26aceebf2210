package anthropic

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/model/internal/wire"
)

// The block types that this package handles.
const (
	typeText     = "text"
	typeThinking = "thinking"
	typeRedacted = "redacted_thinking"
	typeCall     = "tool_use"
)

// event holds the fields of all stream events that matter here. Its data includes its type, so the
// event's name is not needed.
type event struct {
	Type    string `json:"type"`
	Message struct {
		ID    string          `json:"id"`
		Model string          `json:"model"`
		Usage json.RawMessage `json:"usage"`
	} `json:"message"`
	Index        int             `json:"index"`
	ContentBlock json.RawMessage `json:"content_block"`
	Delta        struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		Thinking    string `json:"thinking"`
		Signature   string `json:"signature"`
		PartialJSON string `json:"partial_json"`
		StopReason  string `json:"stop_reason"`
	} `json:"delta"`
	Usage json.RawMessage `json:"usage"`
}

// block is one content block that is still arriving.
type block struct {
	kind      string
	start     map[string]json.RawMessage // as it started
	text      strings.Builder            // or thinking, or input
	signature strings.Builder
	id, name  string
	ended     bool
}

// assembly builds a reply from events. Repeated events do no harm, as far as they can be told from
// similar ones.
type assembly struct {
	onDelta func(model.Delta)
	id      string
	model   string
	stop    string
	usage   counts
	blocks  []*block
	byIndex map[int]*block
	whole   bool
	trouble []byte // an error event's data
}

func newAssembly(onDelta func(model.Delta)) *assembly {
	return &assembly{onDelta: onDelta, byIndex: map[int]*block{}}
}

// Add processes one event, and reports whether it added to the reply.
func (a *assembly) Add(data []byte) (progressed bool, err error) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return false, nil
	}
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return false, fmt.Errorf("invalid JSON in event: %w", err)
	}
	switch e.Type {
	case "message_start":
		a.id, a.model = e.Message.ID, e.Message.Model
		a.usage.add(e.Message.Usage)
	case "content_block_start":
		return true, a.begin(e)
	case "content_block_delta":
		a.extend(e)
	case "content_block_stop":
		if b := a.byIndex[e.Index]; b != nil {
			b.ended = true
		}
	case "message_delta":
		if e.Delta.StopReason != "" {
			a.stop = e.Delta.StopReason
		}
		a.usage.add(e.Usage)
	case "message_stop":
		a.whole = true
	case "error":
		a.trouble = data
	default: // a ping, or an unknown event
		return false, nil
	}
	return true, nil
}

// AddWhole processes a message that arrived in one piece, and reports whether it is one.
func (a *assembly) AddWhole(data []byte) bool {
	var m struct {
		Type       string            `json:"type"`
		ID         string            `json:"id"`
		Model      string            `json:"model"`
		Content    []json.RawMessage `json:"content"`
		StopReason string            `json:"stop_reason"`
		Usage      json.RawMessage   `json:"usage"`
	}
	if json.Unmarshal(data, &m) != nil || m.Type != "message" {
		return false
	}
	for i, raw := range m.Content {
		if a.begin(event{Index: i, ContentBlock: raw}) != nil {
			return false
		}
	}
	a.id, a.model, a.stop, a.whole = m.ID, m.Model, m.StopReason, true
	a.usage.add(m.Usage)
	return true
}

func (a *assembly) begin(e event) error {
	if a.byIndex[e.Index] != nil {
		return nil // it has started already
	}
	b := &block{}
	if err := json.Unmarshal(e.ContentBlock, &b.start); err != nil {
		return errors.New("content block is not an object")
	}
	b.kind, b.id, b.name = b.word("type"), b.word("id"), b.word("name")
	a.blocks, a.byIndex[e.Index] = append(a.blocks, b), b
	switch b.kind {
	case typeText:
		a.appendText(b, model.Delta{Text: b.word("text")})
	case typeThinking:
		a.appendText(b, model.Delta{Thought: b.word("thinking")})
		b.signature.WriteString(b.word("signature"))
	case typeCall:
		b.id = cmp.Or(b.id, "toolu_"+rand.Text())
		if input := bytes.TrimSpace(b.start["input"]); len(input) > 0 && string(input) != "{}" && string(input) != "null" {
			b.text.Write(input) // some providers send it complete
		}
		a.onDelta(model.Delta{Tool: b.name})
	}
	return nil
}

func (b *block) word(field string) string {
	var word string
	_ = json.Unmarshal(b.start[field], &word) // the field stays empty if it is not a string
	return word
}

func (a *assembly) extend(e event) {
	b := a.byIndex[e.Index]
	if b == nil || b.ended {
		return
	}
	switch {
	case b.kind == typeText:
		a.appendText(b, model.Delta{Text: e.Delta.Text})
	case b.kind == typeThinking && e.Delta.Type == "signature_delta":
		b.signature.WriteString(e.Delta.Signature)
	case b.kind == typeThinking:
		a.appendText(b, model.Delta{Thought: e.Delta.Thinking})
	case b.kind == typeCall:
		b.text.WriteString(e.Delta.PartialJSON)
	}
}

// appendText adds a piece of text or of thinking.
func (a *assembly) appendText(b *block, piece model.Delta) {
	if piece != (model.Delta{}) {
		b.text.WriteString(piece.Text + piece.Thought)
		a.onDelta(piece)
	}
}

// Done reports whether nothing else needs to be read.
func (a *assembly) Done() bool { return a.whole }

// Whole reports whether the reply is complete.
func (a *assembly) Whole() bool { return a.whole }

// Trouble returns the data of an error event.
func (a *assembly) Trouble() []byte { return a.trouble }

// Usage returns the usage so far.
func (a *assembly) Usage() *model.Usage { return a.usage.sum() }

// Reply returns the assembled reply.
func (a *assembly) Reply() model.Reply {
	r := model.Reply{ID: a.id, Model: a.model, Usage: a.usage.sum(), Message: model.Message{Role: model.Assistant}}
	var texts []string
	var thinking, all []json.RawMessage
	moved := false // thinking came after something else
	for _, b := range a.blocks {
		switch b.kind {
		case typeText:
			if b.text.Len() > 0 {
				texts = append(texts, b.text.String())
			}
		case typeCall:
			r.Message.Calls = append(r.Message.Calls, model.Call{ID: b.id, Name: b.name, Input: b.input()})
		case typeThinking, typeRedacted:
			moved = moved || len(texts)+len(r.Message.Calls) > 0
			thinking = append(thinking, b.raw())
		}
		all = append(all, b.raw())
	}
	r.Message.Text = strings.Join(texts, "\n\n")
	r.Message.Thought = thinking
	if moved { // without blocks that may not be sent back: those of a type that is not known, and blank text
		r.Message.Thought = slices.DeleteFunc(all, func(raw json.RawMessage) bool { return raw == nil })
	}
	r.End = endOf(a.stop, len(r.Message.Calls))
	return r
}

func endOf(stop string, calls int) model.End {
	switch {
	case stop == "max_tokens", stop == "model_context_window_exceeded":
		return model.EndLength
	case stop == "refusal":
		return model.EndRefuse
	case calls > 0:
		return model.EndCalls
	}
	return model.EndTurn
}

func (b *block) input() json.RawMessage {
	return wire.Input(b.text.String())
}

// raw returns the block as one JSON value, or nil if it may not be sent back.
func (b *block) raw() json.RawMessage {
	whole := make(map[string]any, len(b.start)+2)
	for name, value := range b.start {
		whole[name] = value
	}
	switch b.kind {
	case typeText:
		if blank(b.text.String()) {
			return nil
		}
		whole["text"] = b.text.String()
	case typeThinking:
		whole["thinking"], whole["signature"] = b.text.String(), b.signature.String()
	case typeCall:
		whole["id"], whole["name"], whole["input"] = b.id, wire.Name(b.name), wire.Object(b.input())
	case typeRedacted:
	default:
		return nil
	}
	text, err := json.Marshal(whole)
	if err != nil {
		return nil // it holds only strings and JSON
	}
	return text
}

// counts are the token counts of the stream, each the total so far.
type counts struct {
	Input      *int64 `json:"input_tokens"`
	Output     *int64 `json:"output_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	nonsense   bool
}

// add updates the counts with new ones. Counts that are missing stay as they are.
func (c *counts) add(raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	var now counts
	if json.Unmarshal(raw, &now) != nil {
		c.nonsense = true
		return
	}
	c.Input, c.Output = cmp.Or(now.Input, c.Input), cmp.Or(now.Output, c.Output)
	c.CacheRead, c.CacheWrite = cmp.Or(now.CacheRead, c.CacheRead), cmp.Or(now.CacheWrite, c.CacheWrite)
}

func (c *counts) sum() *model.Usage {
	if c.nonsense {
		return nil
	}
	value := func(n *int64) int64 { return *cmp.Or(n, new(int64)) }
	return wire.PlausibleUsage(model.Usage{
		Input: value(c.Input), Output: value(c.Output), CacheRead: value(c.CacheRead), CacheWrite: value(c.CacheWrite),
	})
}

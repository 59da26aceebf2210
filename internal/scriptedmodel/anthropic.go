package scriptedmodel

import "encoding/json"

// anthropic is the Messages API.
type anthropic struct{}

func (anthropic) name() string { return "anthropic" }

func (anthropic) read(_ string, body []byte) (ask, error) {
	var in struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name   string `json:"name"`
			Schema schema `json:"input_schema"`
		} `json:"tools"`
	}
	if err := readAsk("messages", body, &in); err != nil {
		return ask{}, err
	}
	a := ask{model: in.Model, streaming: in.Stream}
	for _, t := range in.Tools {
		a.tools = append(a.tools, offer{name: t.Name, schema: t.Schema})
	}
	for _, m := range in.Messages {
		a.addMessage(m.Role == "assistant")
		var blocks []struct {
			Type string `json:"type"`
			ID   string `json:"id"`
		}
		if a.answering && json.Unmarshal(m.Content, &blocks) == nil { // text alone may be a plain string
			for _, b := range blocks {
				if b.Type == "tool_use" {
					a.callID = b.ID
				}
			}
		}
	}
	return a, nil
}

func (w anthropic) stream(a answer) []frame {
	begin := w.message(a)
	begin["content"], begin["stop_reason"] = []any{}, nil
	end := object{"delta": object{"stop_reason": w.stopReason(a), "stop_sequence": nil}}
	if !a.turn.Unmetered {
		begin["usage"], end["usage"] = anthropicUsage(a.usage,
			min(a.usage.Output, 1)), anthropicUsage(a.usage, a.usage.Output)
	}
	frames := []frame{
		typed("message_start", object{"message": begin}),
		typed("ping", object{}),
	}
	for i, block := range w.blocks(a) {
		frames = append(frames, anthropicBlock(i, block)...)
	}
	return append(frames, typed("message_delta", end), typed("message_stop", object{}))
}

// anthropicBlock streams one content block in pieces.
func anthropicBlock(index int, block object) []frame {
	start := object{"type": block["type"]}
	var deltas []object
	each := func(text, kind, field string) {
		for _, piece := range pieces(text) {
			deltas = append(deltas, object{"type": kind, field: piece})
		}
	}
	switch block["type"] {
	case "thinking":
		start["thinking"], start["signature"] = "", ""
		each(block["thinking"].(string), "thinking_delta", "thinking")
		deltas = append(deltas, object{"type": "signature_delta", "signature": block["signature"]})
	case "tool_use":
		start["id"], start["name"], start["input"] = block["id"], block["name"], object{}
		deltas = append(deltas, object{"type": "input_json_delta", "partial_json": ""})
		input, isRaw := block["input"].(string)
		if !isRaw {
			input = mustJSON(block["input"])
		}
		each(input, "input_json_delta", "partial_json")
	default:
		start["text"] = ""
		each(block["text"].(string), "text_delta", "text")
	}
	frames := []frame{typed("content_block_start", object{"index": index, "content_block": start})}
	for _, delta := range deltas {
		frames = append(frames, typed("content_block_delta", object{"index": index, "delta": delta}))
	}
	return append(frames, typed("content_block_stop", object{"index": index}))
}

func (w anthropic) whole(a answer) any {
	m := w.message(a)
	m["content"], m["stop_reason"] = w.blocks(a), w.stopReason(a)
	if !a.turn.Unmetered {
		m["usage"] = anthropicUsage(a.usage, a.usage.Output)
	}
	return m
}

func (anthropic) message(a answer) object {
	return object{"id": "msg_" + a.id, "type": "message", "role": "assistant", "model": a.model, "stop_sequence": nil}
}

func (anthropic) blocks(a answer) []object {
	blocks := []object{}
	if a.turn.Thinking != "" {
		blocks = append(blocks, object{"type": "thinking", "thinking": a.turn.Thinking, "signature": "c2NyaXB0ZWQ="})
	}
	if a.turn.Text != "" {
		blocks = append(blocks, object{"type": "text", "text": a.turn.Text})
	}
	for _, c := range a.calls {
		blocks = append(blocks, object{"type": "tool_use", "id": c.id, "name": c.name, "input": c.value()})
	}
	return blocks
}

func (anthropic) stopReason(a answer) string {
	return a.stopReason("max_tokens", "refusal", "tool_use", "end_turn")
}

func anthropicUsage(u Usage, output int64) object {
	return object{
		"input_tokens": u.Input, "output_tokens": output, "cache_read_input_tokens": u.CacheRead,
		"cache_creation_input_tokens": u.CacheWrite,
		"cache_creation":              object{"ephemeral_5m_input_tokens": u.CacheWrite, "ephemeral_1h_input_tokens": 0},
		"service_tier":                "standard",
	}
}

var anthropicKinds = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
	404: "not_found_error",
	413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 504: "timeout_error", 529: "overloaded_error",
}

func (anthropic) failure(t trouble) any {
	return object{
		"type": "error", "request_id": t.request,
		"error": object{"type": t.kind(anthropicKinds, "api_error"), "message": t.message()},
	}
}

func (w anthropic) failureFrames(t trouble, _ int) []frame {
	return []frame{{"error", mustJSON(w.failure(t))}}
}

package scriptedmodel

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
)

// responses is OpenAI's Responses API.
type responses struct{}

func (responses) name() string { return "responses" }

func (responses) read(_ string, body []byte) (ask, error) {
	var in struct {
		Model  string          `json:"model"`
		Stream bool            `json:"stream"`
		Input  json.RawMessage `json:"input"`
		Before string          `json:"previous_response_id"`
		Tools  []struct {
			Type       string `json:"type"`
			Name       string `json:"name"`
			Parameters schema `json:"parameters"`
			Tools      []struct {
				Name       string `json:"name"`
				Parameters schema `json:"parameters"`
			} `json:"tools"` // of a namespace
		} `json:"tools"`
	}
	if err := readAsk("responses", body, &in); err != nil {
		return ask{}, err
	}
	if in.Before != "" {
		return ask{}, errors.New("read responses request: previous_response_id is not supported; send the whole conversation")
	}
	a := ask{model: in.Model, streaming: in.Stream}
	for _, t := range in.Tools {
		for _, inner := range t.Tools {
			a.tools = append(a.tools, offer{name: t.Name + "__" + inner.Name, namespace: t.Name, schema: inner.Parameters})
		}
		if t.Name != "" && t.Tools == nil { // the vendor's built-in tools have none
			a.tools = append(a.tools, offer{name: t.Name, freeform: t.Type == "custom", schema: t.Parameters})
		}
	}
	var items []struct {
		Type   string `json:"type"`
		Role   string `json:"role"`
		CallID string `json:"call_id"`
	}
	_ = json.Unmarshal(in.Input, &items) // a prompt alone may be a plain string
	for _, item := range items {
		isCall := strings.HasSuffix(item.Type, "_call")
		a.addMessage(item.Role == "assistant" || item.Type == "reasoning" || isCall)
		if isCall {
			a.callID = item.CallID
		}
	}
	return a, nil
}

// responseEvents numbers the events of one stream.
type responseEvents struct{ frames []frame }

func (e *responseEvents) add(event string, data object) {
	data["sequence_number"] = len(e.frames)
	e.frames = append(e.frames, typed(event, data))
}

func (w responses) stream(a answer) []frame {
	e := &responseEvents{}
	e.add("response.created", object{"response": w.response(a, "in_progress", nil)})
	e.add("response.in_progress", object{"response": w.response(a, "in_progress", nil)})
	items := w.items(a)
	for i, item := range items {
		e.item(i, item)
	}
	status := w.status(a)
	e.add("response."+status, object{"response": w.response(a, status, items)})
	return e.frames
}

// item streams one item of the output in pieces.
func (e *responseEvents) item(index int, item object) {
	begun := maps.Clone(item)
	begun["status"] = "in_progress"
	at := func(more object) object {
		more["output_index"], more["item_id"] = index, item["id"]
		return more
	}
	switch item["type"] {
	case "reasoning":
		begun["summary"] = []any{}
		e.add("response.output_item.added", object{"output_index": index, "item": begun})
		part := item["summary"].([]object)[0]
		e.add("response.reasoning_summary_part.added",
			at(object{"summary_index": 0, "part": object{"type": "summary_text", "text": ""}}))
		for _, piece := range pieces(part["text"].(string)) {
			e.add("response.reasoning_summary_text.delta", at(object{"summary_index": 0, "delta": piece}))
		}
		e.add("response.reasoning_summary_text.done", at(object{"summary_index": 0, "text": part["text"]}))
		e.add("response.reasoning_summary_part.done", at(object{"summary_index": 0, "part": part}))
	case "message":
		begun["content"] = []any{}
		e.add("response.output_item.added", object{"output_index": index, "item": begun})
		part := item["content"].([]object)[0]
		e.add("response.content_part.added",
			at(object{"content_index": 0, "part": object{"type": "output_text", "text": "", "annotations": []any{}}}))
		for _, piece := range pieces(part["text"].(string)) {
			e.add("response.output_text.delta", at(object{"content_index": 0, "delta": piece, "logprobs": []any{}}))
		}
		e.add("response.output_text.done", at(object{"content_index": 0, "text": part["text"], "logprobs": []any{}}))
		e.add("response.content_part.done", at(object{"content_index": 0, "part": part}))
	case "custom_tool_call":
		begun["input"] = ""
		e.add("response.output_item.added", object{"output_index": index, "item": begun})
		e.add("response.custom_tool_call_input.delta", at(object{"delta": item["input"]}))
		e.add("response.custom_tool_call_input.done", at(object{"input": item["input"]}))
	default:
		begun["arguments"] = ""
		e.add("response.output_item.added", object{"output_index": index, "item": begun})
		for _, piece := range pieces(item["arguments"].(string)) {
			e.add("response.function_call_arguments.delta", at(object{"delta": piece}))
		}
		e.add("response.function_call_arguments.done", at(object{"arguments": item["arguments"], "name": item["name"]}))
	}
	e.add("response.output_item.done", object{"output_index": index, "item": item})
}

func (w responses) whole(a answer) any { return w.response(a, w.status(a), w.items(a)) }

func (responses) status(a answer) string {
	if a.turn.Stop != "" {
		return "incomplete"
	}
	return "completed"
}

func (responses) items(a answer) []object {
	items := []object{}
	if a.turn.Thinking != "" {
		items = append(items, object{
			"type": "reasoning", "id": "rs_" + a.id, "encrypted_content": "c2NyaXB0ZWQ=",
			"summary": []object{{"type": "summary_text", "text": a.turn.Thinking}},
		})
	}
	if a.turn.Text != "" {
		items = append(items, object{
			"type": "message", "id": "msg_" + a.id, "status": "completed", "role": "assistant",
			"content": []object{{"type": "output_text", "text": a.turn.Text, "annotations": []any{}, "logprobs": []any{}}},
		})
	}
	for i, c := range a.calls {
		item := object{
			"type": "function_call", "id": fmt.Sprintf("fc_%s_%d", a.id, i), "call_id": c.id, "name": c.name,
			"status": "completed",
		}
		if c.namespace != "" {
			item["namespace"], item["name"] = c.namespace, strings.TrimPrefix(c.name, c.namespace+"__")
		}
		if c.freeform {
			item["type"], item["input"] = "custom_tool_call", freeText(c)
		} else {
			item["arguments"] = c.arguments()
		}
		items = append(items, item)
	}
	return items
}

// freeText returns the input of a tool that takes text: the script has it as the only argument.
func freeText(c call) string {
	for _, value := range c.input {
		if text, ok := value.(string); ok && len(c.input) == 1 {
			return text
		}
	}
	return c.arguments()
}

func (responses) response(a answer, status string, items []object) object {
	r := object{
		"id": "resp_" + a.id, "object": "response", "created_at": a.now.Unix(), "status": status, "model": a.model,
		"output": append([]object{}, items...), "usage": nil, "error": nil, "incomplete_details": nil, "instructions": nil,
		"metadata":            object{},
		"parallel_tool_calls": true, "temperature": 1.0, "top_p": 1.0, "tool_choice": "auto", "tools": []any{},
		"previous_response_id": nil,
	}
	if status == "in_progress" {
		return r
	}
	u := a.usage
	if !a.turn.Unmetered {
		r["usage"] = object{
			"input_tokens":         u.prompt(),
			"input_tokens_details": object{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
			"output_tokens":        u.Output, "output_tokens_details": object{"reasoning_tokens": u.Reasoning},
			"total_tokens": u.prompt() + u.Output,
		}
	}
	switch a.turn.Stop {
	case StopLength:
		r["incomplete_details"] = object{"reason": "max_output_tokens"}
	case StopRefusal:
		r["incomplete_details"] = object{"reason": "content_filter"}
	}
	return r
}

var openaiKinds = map[int]string{
	400: "invalid_request_error", 401: "invalid_request_error", 403: "invalid_request_error", 404: "invalid_request_error",
	429: "rate_limit_error", 500: "server_error", 503: "server_error", 529: "server_error",
}

var openaiCodes = map[int]string{
	401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded", 500: "server_error",
	503: "server_is_overloaded", 529: "server_is_overloaded",
}

// openaiError returns the error shape that both of OpenAI's formats share. A subscription's limit
// has extra fields.
func openaiError(t trouble) object {
	e := object{"message": t.message(), "type": t.kind(openaiKinds, "invalid_request_error"), "param": nil, "code": nil}
	if code, ok := openaiCodes[t.Status]; ok {
		e["code"] = code
	}
	if t.ResetIn > 0 {
		e["type"], e["code"] = t.kind(nil, "usage_limit_reached"), nil
		e["plan_type"], e["resets_at"] = "pro", t.resetsAt().Unix()
		e["resets_in_seconds"] = int64(time.Duration(t.ResetIn) / time.Second)
	}
	return e
}

func (responses) failure(t trouble) any { return object{"error": openaiError(t)} }

func (responses) failureFrames(t trouble, sent int) []frame {
	e := openaiError(t)
	if e["code"] == nil {
		e["code"] = "server_error"
	}
	return []frame{
		typed("error", object{"code": e["code"], "message": e["message"], "param": nil, "sequence_number": sent}),
		typed("response.failed", object{"sequence_number": sent + 1, "response": object{
			"id": "resp_failed", "object": "response", "created_at": t.now.Unix(), "status": "failed", "output": []any{},
			"usage": nil,
			"error": object{"code": e["code"], "message": e["message"]},
		}}),
	}
}

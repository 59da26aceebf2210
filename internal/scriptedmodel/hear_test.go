package scriptedmodel_test

import (
	"bufio"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ralphloop/ralph/internal/scriptedmodel"
)

// heard is an answer as a client understands it, in any format. The readers here share no code with
// the server.
type heard struct {
	Thinking, Text string
	Calls          []called
	Stop           string
	Usage          scriptedmodel.Usage
	Error          string // sent within a stream
}

type called struct {
	Name string
	Args map[string]any
}

// event is one server-sent event.
type event struct {
	Name string
	Data map[string]any
	Raw  string
}

func readEvents(t *testing.T, from io.Reader) []event {
	t.Helper()
	var events []event
	now := event{}
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case line == "":
			if now.Raw != "[DONE]" {
				if err := json.Unmarshal([]byte(now.Raw), &now.Data); err != nil {
					t.Fatalf("event %q: %v", now.Raw, err)
				}
			}
			events = append(events, now)
			now = event{}
		case strings.HasPrefix(line, "event: "):
			now.Name = line[len("event: "):]
		case strings.HasPrefix(line, "data: "):
			now.Raw += line[len("data: "):]
		default:
			t.Fatalf("line %q is neither an event's name nor its data", line)
		}
	}
	if now.Raw != "" {
		t.Fatalf("the last event %q is not ended", now.Raw)
	}
	return events
}

// at follows keys and indices into a JSON value; nil if there is none.
func at(value any, keys ...string) any {
	for _, key := range keys {
		switch v := value.(type) {
		case map[string]any:
			value = v[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

func text(value any, keys ...string) string {
	s, _ := at(value, keys...).(string)
	return s
}

func number(value any, keys ...string) int64 {
	n, _ := at(value, keys...).(float64)
	return int64(n)
}

func list(value any, keys ...string) []any {
	l, _ := at(value, keys...).([]any)
	return l
}

func arguments(t *testing.T, raw string) map[string]any {
	t.Helper()
	var args map[string]any
	if err := json.Unmarshal([]byte(raw), &args); err != nil {
		t.Fatalf("arguments %q: %v", raw, err)
	}
	return args
}

// names lists the events, with repeated ones collapsed.
func names(events []event) []string {
	var all []string
	for _, e := range events {
		all = append(all, e.Name)
	}
	return slices.Compact(all)
}

func hearAnthropic(t *testing.T, events []event) (h heard) {
	t.Helper()
	blocks := map[int64]map[string]any{}
	open := int64(-1)
	partial := ""
	for i, e := range events {
		if text(e.Data, "type") != e.Name {
			t.Fatalf("event %s has the type %s", e.Name, text(e.Data, "type"))
		}
		index := number(e.Data, "index")
		switch e.Name {
		case "message_start":
			if i != 0 || at(e.Data, "message", "stop_reason") != nil || len(list(e.Data, "message", "content")) != 0 ||
				text(e.Data, "message", "role") != "assistant" {
				t.Fatalf("bad beginning %v", e.Data)
			}
		case "ping":
		case "content_block_start":
			if open != -1 || index != int64(len(blocks)) {
				t.Fatalf("block %d begins while %d is open", index, open)
			}
			open, partial = index, ""
			blocks[index] = at(e.Data, "content_block").(map[string]any)
		case "content_block_delta":
			block := blocks[index]
			if open != index {
				t.Fatalf("piece of block %d while %d is open", index, open)
			}
			delta := at(e.Data, "delta")
			switch text(delta, "type") {
			case "text_delta":
				block["text"] = block["text"].(string) + text(delta, "text")
			case "thinking_delta":
				block["thinking"] = block["thinking"].(string) + text(delta, "thinking")
			case "signature_delta":
				block["signature"] = text(delta, "signature")
			case "input_json_delta":
				partial += text(delta, "partial_json")
			default:
				t.Fatalf("unknown piece %v", delta)
			}
		case "content_block_stop":
			if partial != "" {
				blocks[index]["input"] = any(arguments(t, partial))
			}
			open = -1
		case "message_delta":
			h.Stop, h.Usage = text(e.Data, "delta", "stop_reason"), anthropicUsage(e.Data["usage"])
		case "message_stop":
			if i != len(events)-1 {
				t.Fatal("something follows the end")
			}
		case "error":
			h.Error = text(e.Data, "error", "type")
		default:
			t.Fatalf("unknown event %s", e.Name)
		}
	}
	for _, i := range slices.Sorted(maps.Keys(blocks)) {
		h.addBlock(blocks[i])
	}
	return h
}

func (h *heard) addBlock(block map[string]any) {
	switch text(block, "type") {
	case "text":
		h.Text += text(block, "text")
	case "thinking":
		h.Thinking += text(block, "thinking")
	case "tool_use":
		h.Calls = append(h.Calls, called{text(block, "name"), at(block, "input").(map[string]any)})
	}
}

func hearAnthropicWhole(_ *testing.T, body map[string]any) (h heard) {
	for _, block := range list(body, "content") {
		h.addBlock(block.(map[string]any))
	}
	h.Stop, h.Usage = text(body, "stop_reason"), anthropicUsage(body["usage"])
	return h
}

func anthropicUsage(u any) scriptedmodel.Usage {
	return scriptedmodel.Usage{
		Input: number(u, "input_tokens"), Output: number(u, "output_tokens"),
		CacheRead: number(u, "cache_read_input_tokens"), CacheWrite: number(u, "cache_creation_input_tokens"),
	}
}

func hearResponses(t *testing.T, events []event) (h heard) {
	t.Helper()
	pieces := map[string]string{} // by item
	var items []any
	for i, e := range events {
		if text(e.Data, "type") != e.Name || number(e.Data, "sequence_number") != int64(i) {
			t.Fatalf("event %d %s has the type %s and the number %d", i, e.Name, text(e.Data, "type"),
				number(e.Data, "sequence_number"))
		}
		item := text(e.Data, "item_id")
		switch e.Name {
		case "response.output_text.delta", "response.reasoning_summary_text.delta", "response.function_call_arguments.delta",
			"response.custom_tool_call_input.delta":
			pieces[item] += text(e.Data, "delta")
		case "response.output_text.done", "response.reasoning_summary_text.done":
			if pieces[item] != text(e.Data, "text") {
				t.Fatalf("pieces %q are not the whole %q", pieces[item], text(e.Data, "text"))
			}
		case "response.function_call_arguments.done":
			if pieces[item] != text(e.Data, "arguments") {
				t.Fatalf("pieces %q are not the whole %q", pieces[item], text(e.Data, "arguments"))
			}
		case "response.output_item.done":
			items = append(items, at(e.Data, "item"))
		case "response.completed", "response.incomplete":
			h = hearResponsesWhole(t, at(e.Data, "response").(map[string]any))
			if told, done := jsonOf(t, list(e.Data, "response", "output")), jsonOf(t, append([]any{}, items...)); told != done {
				t.Fatalf("the end tells %s, the items were %s", told, done)
			}
		case "response.failed":
			h.Error = text(e.Data, "response", "error", "code")
		}
	}
	return h
}

func hearResponsesWhole(t *testing.T, r map[string]any) (h heard) {
	t.Helper()
	for _, item := range list(r, "output") {
		switch text(item, "type") {
		case "reasoning":
			h.Thinking += text(item, "summary", "0", "text")
		case "message":
			h.Text += text(item, "content", "0", "text")
		case "function_call":
			h.Calls = append(h.Calls, called{text(item, "name"), arguments(t, text(item, "arguments"))})
		case "custom_tool_call":
			h.Calls = append(h.Calls, called{text(item, "name"), map[string]any{"input": text(item, "input")}})
		}
	}
	h.Stop = text(r, "status") + text(r, "incomplete_details", "reason")
	u := r["usage"]
	h.Usage = openaiUsage(number(u, "input_tokens"), number(u, "output_tokens"), at(u, "input_tokens_details"),
		at(u, "output_tokens_details"))
	h.Usage.CacheWrite = number(u, "input_tokens_details", "cache_write_tokens")
	h.Usage.Input -= h.Usage.CacheWrite
	return h
}

func openaiUsage(input, output int64, of, by any) scriptedmodel.Usage {
	cached := number(of, "cached_tokens")
	return scriptedmodel.Usage{
		Input: input - cached, Output: output, CacheRead: cached, Reasoning: number(by, "reasoning_tokens"),
	}
}

func hearChat(t *testing.T, events []event) (h heard) {
	t.Helper()
	var args []string
	for i, e := range events {
		if e.Raw == "[DONE]" {
			if i != len(events)-1 {
				t.Fatal("something follows [DONE]")
			}
			break
		}
		if kind := text(e.Data, "error", "type"); kind != "" {
			h.Error = kind
			continue
		}
		if u := e.Data["usage"]; u != nil {
			h.Usage = openaiUsage(number(u, "prompt_tokens"), number(u, "completion_tokens"), at(u, "prompt_tokens_details"),
				at(u, "completion_tokens_details"))
		}
		delta := at(e.Data, "choices", "0", "delta")
		h.Text += text(delta, "content")
		h.Thinking += text(delta, "reasoning_content")
		h.Stop += text(e.Data, "choices", "0", "finish_reason")
		for _, c := range list(delta, "tool_calls") {
			if text(c, "id") != "" {
				h.Calls, args = append(h.Calls, called{Name: text(c, "function", "name")}), append(args, "")
			}
			args[number(c, "index")] += text(c, "function", "arguments")
		}
	}
	for i := range args {
		h.Calls[i].Args = arguments(t, args[i])
	}
	return h
}

func hearChatWhole(t *testing.T, body map[string]any) (h heard) {
	t.Helper()
	message := at(body, "choices", "0", "message")
	h.Text, h.Thinking, h.Stop = text(message,
		"content"), text(message, "reasoning_content"), text(body, "choices", "0", "finish_reason")
	for _, c := range list(message, "tool_calls") {
		h.Calls = append(h.Calls, called{text(c, "function", "name"), arguments(t, text(c, "function", "arguments"))})
	}
	u := body["usage"]
	h.Usage = openaiUsage(number(u, "prompt_tokens"), number(u, "completion_tokens"), at(u, "prompt_tokens_details"),
		at(u, "completion_tokens_details"))
	return h
}

func hearGemini(t *testing.T, events []event) (h heard) {
	t.Helper()
	for _, e := range events {
		h.addGemini(e.Data)
	}
	return h
}

func (h *heard) addGemini(body map[string]any) {
	h.Error += text(body, "error", "status")
	for _, p := range list(body, "candidates", "0", "content", "parts") {
		switch {
		case at(p, "functionCall") != nil:
			h.Calls = append(h.Calls, called{text(p, "functionCall", "name"), at(p, "functionCall", "args").(map[string]any)})
		case at(p, "thought") == true:
			h.Thinking += text(p, "text")
		default:
			h.Text += text(p, "text")
		}
	}
	h.Stop += text(body, "candidates", "0", "finishReason")
	if u := body["usageMetadata"]; u != nil {
		cached, thought := number(u, "cachedContentTokenCount"), number(u, "thoughtsTokenCount")
		h.Usage = scriptedmodel.Usage{
			Input: number(u, "promptTokenCount") - cached, CacheRead: cached, Reasoning: thought,
			Output: number(u, "candidatesTokenCount") + thought,
		}
	}
}

func hearGeminiWhole(_ *testing.T, body map[string]any) (h heard) {
	h.addGemini(body)
	return h
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

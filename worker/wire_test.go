package worker

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/model/anthropic"
	"github.com/ralphloop/ralph/model/openai"
)

// spoken is a reply before it has a wire format.
type spoken struct {
	thought, text string
	calls         [][2]string // name and input
}

// oddConversation has all that could break a request that repeats it.
var oddConversation = []spoken{
	{
		text:  "I look.",
		calls: [][2]string{{"bash", `{"command":"printf 'a\377\0b'"}`}, {"read_file", `{"path":"half`}, {"fly", `{}`}},
	},
	{thought: "hm"},
	{text: "Done!"},
	{calls: [][2]string{{"bash", `[]`}, {"bash", `{"command":"true"}`}}},
	{text: " \n", calls: [][2]string{{submitCase, goodCase}}},
}

// wireFormat is how one provider is spoken to.
type wireFormat struct {
	client func(url string) model.Client
	stream func(s spoken) string
	// check holds a request against what the provider accepts, and counts the replies in it.
	check func(t *testing.T, body map[string]any) int
}

func TestOverTheWire(t *testing.T) {
	for name, format := range map[string]wireFormat{
		"anthropic": {
			func(url string) model.Client { return anthropic.New(anthropic.Options{BaseURL: url, Key: "k"}) }, anthropicStream,
			checkAnthropic,
		},
		"openai": {
			func(url string) model.Client { return openai.New(openai.Options{BaseURL: url + "/v1", Key: "k"}) }, openaiStream,
			checkOpenAI,
		},
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var body map[string]any
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
					t.Error(err)
				}
				requests++
				at := format.check(t, body)
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, format.stream(oddConversation[min(at, len(oddConversation)-1)]))
			}))
			defer server.Close()
			j := &judge{}
			got, err := New(Options{Client: format.client(server.URL), Env: os.Environ()}).Run(t.Context(), j.input(t))
			if err != nil {
				t.Fatal(err)
			}
			same(t, "end", ralph.EndOK, got.End)
			same(t, "error", "", got.Error)
			same(t, "requests", 5, requests)
			same(t, "turns", 5, *got.Steps)
			same(t, "cases", 1, len(j.cases))
			if got.Cost == nil || got.Tokens == nil || got.Tokens.Total() == 0 {
				t.Errorf("it took %+v and cost %v", got.Tokens, got.Cost)
			}
		})
	}
}

func sse(events ...any) string {
	var b strings.Builder
	for _, e := range events {
		text, _ := json.Marshal(e)
		fmt.Fprintf(&b, "data: %s\n\n", text)
	}
	return b.String()
}

type object = map[string]any

func anthropicStream(s spoken) string {
	events := []any{
		object{
			"type": "message_start",
			"message": object{
				"id": "m", "model": "claude-sonnet-4-5", "role": "assistant",
				"usage": object{"input_tokens": 10, "output_tokens": 1},
			},
		},
	}
	n := 0
	block := func(content object, deltas ...object) {
		events = append(events, object{"type": "content_block_start", "index": n, "content_block": content})
		for _, d := range deltas {
			events = append(events, object{"type": "content_block_delta", "index": n, "delta": d})
		}
		events = append(events, object{"type": "content_block_stop", "index": n})
		n++
	}
	if s.thought != "" {
		block(object{"type": "thinking", "thinking": ""}, object{"type": "thinking_delta", "thinking": s.thought}, object{
			"type": "signature_delta", "signature": "s",
		})
	}
	if s.text != "" {
		block(object{"type": "text", "text": ""}, object{"type": "text_delta", "text": s.text})
	}
	for i, c := range s.calls {
		block(object{"type": "tool_use", "id": fmt.Sprintf("toolu_%d", i), "name": c[0], "input": object{}}, object{
			"type": "input_json_delta", "partial_json": c[1],
		})
	}
	stop := "end_turn"
	if len(s.calls) > 0 {
		stop = "tool_use"
	}
	return sse(append(
		events,
		object{"type": "message_delta", "delta": object{"stop_reason": stop}, "usage": object{"output_tokens": 5}},
		object{"type": "message_stop"},
	)...)
}

// checkAnthropic knows what the Messages API refuses: empty text, input that is no object, a call
// without its result, a reply that ends with a thought.
func checkAnthropic(t *testing.T, body map[string]any) (replies int) {
	t.Helper()
	open := map[any]bool{}
	for i, m := range body["messages"].([]any) {
		message := m.(object)
		content, _ := message["content"].([]any)
		if len(content) == 0 {
			t.Errorf("message %d is empty", i)
		}
		if message["role"] == "assistant" {
			replies++
			if last := content[len(content)-1].(object); last["type"] == "thinking" {
				t.Errorf("message %d ends with a thought", i)
			}
		}
		for _, b := range content {
			switch block := b.(object); block["type"] {
			case "text":
				if strings.TrimSpace(block["text"].(string)) == "" {
					t.Errorf("message %d has an empty text", i)
				}
			case "tool_use":
				if _, ok := block["input"].(object); !ok {
					t.Errorf("message %d has the input %v", i, block["input"])
				}
				open[block["id"]] = true
			case "tool_result":
				if !open[block["tool_use_id"]] {
					t.Errorf("message %d answers what was not called: %v", i, block["tool_use_id"])
				}
				delete(open, block["tool_use_id"])
			}
		}
	}
	if len(open) > 0 {
		t.Errorf("calls without an answer: %v", open)
	}
	return replies
}

func openaiStream(s spoken) string {
	chunk := func(delta object, finish any) object {
		return object{
			"id": "c", "object": "chat.completion.chunk", "model": "gpt-5",
			"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}},
		}
	}
	events := []any{chunk(object{"role": "assistant"}, nil)}
	if s.thought != "" {
		events = append(events, chunk(object{"reasoning_content": s.thought}, nil))
	}
	if s.text != "" {
		events = append(events, chunk(object{"content": s.text}, nil))
	}
	for i, c := range s.calls {
		call := object{
			"index": i, "id": fmt.Sprintf("call_%d", i), "type": "function", "function": object{"name": c[0], "arguments": c[1]},
		}
		events = append(events, chunk(object{"tool_calls": []any{call}}, nil))
	}
	stop := "stop"
	if len(s.calls) > 0 {
		stop = "tool_calls"
	}
	events = append(events, chunk(object{}, stop),
		object{
			"id": "c", "object": "chat.completion.chunk", "model": "gpt-5", "choices": []any{},
			"usage": object{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
		})
	return sse(events...) + "data: [DONE]\n\n"
}

// checkOpenAI knows what Chat Completions endpoints refuse: a call without its result right behind,
// and a reply without content.
func checkOpenAI(t *testing.T, body map[string]any) (replies int) {
	t.Helper()
	open := map[any]bool{}
	for i, m := range body["messages"].([]any) {
		message := m.(object)
		if message["role"] != "tool" && len(open) > 0 {
			t.Errorf("message %d comes before the answers to %v", i, open)
		}
		switch message["role"] {
		case "assistant":
			replies++
			list, _ := message["tool_calls"].([]any)
			for _, c := range list {
				open[c.(object)["id"]] = true
			}
			if content, _ := message["content"].(string); strings.TrimSpace(content) == "" && len(list) == 0 {
				t.Errorf("message %d is empty", i)
			}
		case "tool":
			if !open[message["tool_call_id"]] {
				t.Errorf("message %d answers what was not called: %v", i, message["tool_call_id"])
			}
			delete(open, message["tool_call_id"])
		}
	}
	return replies
}

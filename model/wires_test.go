package model_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/model/anthropic"
	"github.com/ralphloop/ralph/model/openai"
)

const key = "sk-test-0123456789"

// limits are settings that both clients have.
type limits struct {
	http     *http.Client
	idle     time.Duration
	maxReply int64
}

// wireFormat is one of the formats, with one good stream in it.
type wireFormat struct {
	name    string
	connect func(base string, l limits) model.Client
	frames  []string    // for a reply with thought, text and a call
	whole   int         // how many frames complete the reply
	twice   []int       // frames that may be repeated
	usage   map[int]int // known output tokens after that many frames; none before the first
	want    model.Reply
	failing string // an error frame
	atOnce  obj    // the same reply from a server that does not stream
}

const text = "Grüße 👋 an alle"

func frame(event string, data any) string {
	body, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	if event == "" {
		return "data: " + string(body) + "\n\n"
	}
	return "event: " + event + "\ndata: " + string(body) + "\n\n"
}

type obj = map[string]any

func messages() wireFormat {
	at := func(kind string, index int, rest obj) string {
		rest["type"], rest["index"] = kind, index
		return frame(kind, rest)
	}
	return wireFormat{
		name: "anthropic",
		connect: func(base string, l limits) model.Client {
			return anthropic.New(anthropic.Options{BaseURL: base, Key: key, HTTP: l.http, Idle: l.idle, MaxReply: l.maxReply})
		},
		frames: []string{
			frame("message_start", obj{
				"type": "message_start",
				"message": obj{
					"id": "msg_1", "model": "claude-x",
					"usage": obj{
						"input_tokens": 7, "output_tokens": 1, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 5,
					},
				},
			}),
			at("content_block_start", 0, obj{"content_block": obj{"type": "thinking", "thinking": "", "signature": ""}}),
			at("content_block_delta", 0, obj{"delta": obj{"type": "thinking_delta", "thinking": "Hm, hm."}}),
			at("content_block_delta", 0, obj{"delta": obj{"type": "signature_delta", "signature": "c2ln"}}),
			at("content_block_stop", 0, obj{}),
			at("content_block_start", 1, obj{"content_block": obj{"type": "text", "text": ""}}),
			at("content_block_delta", 1, obj{"delta": obj{"type": "text_delta", "text": "Grüße 👋 "}}),
			at("content_block_delta", 1, obj{"delta": obj{"type": "text_delta", "text": "an alle"}}),
			at("content_block_stop", 1, obj{}),
			at("content_block_start", 2,
				obj{"content_block": obj{"type": "tool_use", "id": "toolu_1", "name": "write", "input": obj{}}}),
			at("content_block_delta", 2, obj{"delta": obj{"type": "input_json_delta", "partial_json": `{"path":"ä`}}),
			at("content_block_delta", 2, obj{"delta": obj{"type": "input_json_delta", "partial_json": `.txt"}`}}),
			at("content_block_stop", 2, obj{}),
			frame("message_delta", obj{
				"type": "message_delta", "delta": obj{"stop_reason": "tool_use"},
				"usage": obj{"output_tokens": 33, "input_tokens": nil},
			}),
			frame("message_stop", obj{"type": "message_stop"}),
		},
		whole: 15,
		twice: []int{0, 1, 4, 5, 8, 9, 12, 13, 14},
		usage: map[int]int{1: 1, 14: 33},
		want: model.Reply{
			ID: "msg_1", Model: "claude-x", End: model.EndCalls,
			Usage: &model.Usage{Input: 7, Output: 33, CacheRead: 90, CacheWrite: 5},
			Message: model.Message{
				Role: model.Assistant, Text: text,
				Thought: []json.RawMessage{json.RawMessage(`{"signature":"c2ln","thinking":"Hm, hm.","type":"thinking"}`)},
				Calls:   []model.Call{{ID: "toolu_1", Name: "write", Input: json.RawMessage(`{"path":"ä.txt"}`)}},
			},
		},
		failing: frame("error", obj{"type": "error", "error": obj{"type": "overloaded_error", "message": "Overloaded"}}),
		atOnce: obj{"type": "message", "role": "assistant", "id": "msg_1", "model": "claude-x", "stop_reason": "tool_use",
			"stop_sequence": nil, "content": []obj{
				{"type": "thinking", "thinking": "Hm, hm.", "signature": "c2ln"}, {"type": "text", "text": text},
				{"type": "tool_use", "id": "toolu_1", "name": "write", "input": obj{"path": "ä.txt"}},
			}, "usage": obj{
				"input_tokens": 7, "output_tokens": 33, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 5,
			}},
	}
}

func chat() wireFormat {
	at := func(delta obj, finish any) string {
		return frame("", obj{
			"id": "chat_1", "model": "gpt-x", "error": nil, "usage": nil,
			"choices": []obj{{"index": 0, "delta": delta, "finish_reason": finish}},
		})
	}
	call := func(rest obj) obj { return obj{"tool_calls": []obj{rest}} }
	return wireFormat{
		name: "openai",
		connect: func(base string, l limits) model.Client {
			return openai.New(openai.Options{BaseURL: base + "/v1", Key: key, HTTP: l.http, Idle: l.idle, MaxReply: l.maxReply})
		},
		frames: []string{
			at(obj{"role": "assistant", "content": ""}, nil),
			at(obj{"reasoning_content": "Hm, "}, nil),
			at(obj{"reasoning_content": "hm."}, nil),
			at(obj{"content": "Grüße 👋 "}, nil),
			at(obj{"content": "an alle"}, nil),
			at(call(obj{"index": 0, "id": "call_1", "type": "function", "function": obj{"name": "write", "arguments": ""}}),
				nil),
			at(call(obj{"index": 0, "function": obj{"arguments": `{"path":"ä`}}), nil),
			at(call(obj{"index": 0, "function": obj{"arguments": `.txt"}`}}), nil),
			at(obj{}, "tool_calls"),
			frame("", obj{"id": "chat_1", "model": "gpt-x", "choices": []obj{}, "usage": obj{
				"prompt_tokens": 102, "completion_tokens": 33, "total_tokens": 135,
				"prompt_tokens_details":     obj{"cached_tokens": 90, "cache_write_tokens": 5},
				"completion_tokens_details": obj{"reasoning_tokens": 20},
			}}),
			"data: [DONE]\n\n",
		},
		whole: 9,
		twice: []int{0, 5, 8, 9, 10},
		usage: map[int]int{10: 33},
		want: model.Reply{
			ID: "chat_1", Model: "gpt-x", End: model.EndCalls,
			Usage: &model.Usage{Input: 7, Output: 33, CacheRead: 90, CacheWrite: 5},
			Message: model.Message{
				Role: model.Assistant, Text: text, Thought: []json.RawMessage{json.RawMessage(`{"reasoning_content":"Hm, hm."}`)},
				Calls: []model.Call{{ID: "call_1", Name: "write", Input: json.RawMessage(`{"path":"ä.txt"}`)}},
			},
		},
		failing: frame("", obj{"error": obj{"type": "server_error", "code": 503, "message": "Overloaded"}}),
		atOnce: obj{"object": "chat.completion", "id": "chat_1", "model": "gpt-x",
			"choices": []obj{{"index": 0, "finish_reason": "tool_calls", "message": obj{
				"role": "assistant", "content": text, "refusal": nil, "reasoning_content": "Hm, hm.",
				"tool_calls": []obj{
					{"id": "call_1", "type": "function", "function": obj{"name": "write", "arguments": `{"path":"ä.txt"}`}},
				},
			}}}, "usage": obj{
				"prompt_tokens": 102, "completion_tokens": 33, "total_tokens": 135,
				"prompt_tokens_details": obj{"cached_tokens": 90, "cache_write_tokens": 5},
			}},
	}
}

func eachWire(t *testing.T, test func(t *testing.T, w wireFormat)) {
	for _, w := range []wireFormat{messages(), chat()} {
		t.Run(w.name, func(t *testing.T) { test(t, w) })
	}
}

// usageAfter returns the known usage after the given number of frames.
func (w wireFormat) usageAfter(n int) *model.Usage {
	for ; n > 0; n-- {
		if output, ok := w.usage[n]; ok {
			u := *w.want.Usage
			u.Output = int64(output)
			return &u
		}
	}
	return nil
}

var ask = model.Request{
	Model: "some-model", System: "Be brief.", Messages: []model.Message{{Role: model.User, Text: "Go."}},
	Tools: []model.Tool{{Name: "write", Description: "writes", Schema: json.RawMessage(`{"type":"object"}`)}},
}

// heard reads a request's body first: a server notices only then that the client has disconnected.
func heard(handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		handler(w, r)
	}
}

// serve handles every request with the given handler.
func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(heard(handler))
	t.Cleanup(server.Close)
	return server.URL
}

// stream sends the pieces of a stream, each in a separate write.
func stream(pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		out := http.NewResponseController(w)
		for _, p := range pieces {
			if _, err := io.WriteString(w, p); err != nil || out.Flush() != nil {
				return
			}
		}
	}
}

// wires is a network in memory. In a synctest bubble its waits take no time, and leftover
// goroutines are detected.
type wires struct{ arriving chan net.Conn }

func (n wires) Accept() (net.Conn, error) {
	c, ok := <-n.arriving
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (n wires) Close() error   { close(n.arriving); return nil }
func (n wires) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

// inMemory serves a handler on such a network, and returns a client for it.
func inMemory(t *testing.T, handler http.HandlerFunc) *http.Client {
	n := wires{make(chan net.Conn)}
	server := &http.Server{Handler: heard(handler)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(n)
	}()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		n.arriving <- theirs
		return ours, nil
	}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		<-ended
	})
	return &http.Client{Transport: transport}
}

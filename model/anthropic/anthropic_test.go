package anthropic_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/model/anthropic"
)

// exchange is one request as received.
type exchange struct {
	path   string
	header http.Header
	body   any
}

// server sends one answer after the other, repeats the last one, and records the requests.
func server(t *testing.T, answers ...string) (base string, asked *[]exchange) {
	t.Helper()
	asked = &[]exchange{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := exchange{path: r.URL.Path, header: r.Header}
		if err := json.NewDecoder(r.Body).Decode(&x.body); err != nil {
			t.Error(err)
		}
		*asked = append(*asked, x)
		answer := answers[min(len(*asked), len(answers))-1]
		if strings.HasPrefix(answer, "{") {
			w.WriteHeader(http.StatusBadRequest)
		} else {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

const start = `data: {"type":"message_start","message":{"id":"m","model":"x","usage":{"input_tokens":1,` +
	`"output_tokens":1}}}` + "\n\n"

// reply is a stream of blocks, each complete at its start or in one piece after it.
func reply(stop string, blocks ...[]string) string {
	all := start
	for i, b := range blocks {
		index := string(rune('0' + i))
		all += `data: {"type":"content_block_start","index":` + index + `,"content_block":` + b[0] + "}\n\n"
		for _, delta := range b[1:] {
			all += `data: {"type":"content_block_delta","index":` + index + `,"delta":` + delta + "}\n\n"
		}
		all += `data: {"type":"content_block_stop","index":` + index + "}\n\n"
	}
	return all + `data: {"type":"message_delta","delta":{"stop_reason":"` + stop + `"},"usage":{"output_tokens":5}}` +
		"\n\n" + `data: {"type":"message_stop"}` + "\n\n"
}

var hello = reply("end_turn", []string{`{"type":"text","text":"Hello."}`})

func parsed(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestRequest(t *testing.T) {
	base, asked := server(t, hello)
	_, err := anthropic.New(anthropic.Options{BaseURL: base + "/v1/", Key: "secret-key"}).Send(t.Context(), model.Request{
		Model: "claude-x", System: "Be brief.", MaxOutput: 99, MustCall: "read",
		Tools: []model.Tool{
			{
				Name: "read", Description: "reads",
				Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"additionalProperties":false}`),
			},
			{Name: "stop"},
		},
		Messages: []model.Message{
			{Role: model.User, Text: "Go."},
			{Role: model.Assistant, Text: "  "},
			{Role: model.Assistant, Text: "I read <this>.",
				Thought: []json.RawMessage{
					json.RawMessage(`{"type":"thinking","thinking":"hm","signature":"sig","more":[1]}`),
					json.RawMessage(`{"type":"redacted_thinking","data":"xyz"}`),
				},
				Calls: []model.Call{
					{ID: "c1", Name: "read", Input: json.RawMessage(`{"path":"a"}`)},
					{ID: "c.2", Name: "no such/tool", Input: json.RawMessage(`{"path":`)},
					{ID: "c3", Name: "", Input: json.RawMessage(`[1]`)},
				}},
			{
				Role: model.ToolRole, Text: "Go on.",
				Results: []model.Result{{ID: "c1", Text: "text\x00\xff"}, {ID: "c.2", Text: "bad", Failed: true}, {ID: "c3"}},
			},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := (*asked)[0]
	if got.path != "/v1/messages" || got.header.Get("X-Api-Key") != "secret-key" ||
		got.header.Get("Authorization") != "" || got.header.Get("Anthropic-Version") == "" {
		t.Errorf("%s %v", got.path, got.header)
	}
	want := parsed(t, `{
		"model": "claude-x", "max_tokens": 99, "stream": true, "tool_choice": {"type": "tool", "name": "read"},
		"system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
		"tools": [
			{"name": "read", "description": "reads", "input_schema": {
				"type": "object", "properties": {"path": {"type": "string"}}, "additionalProperties": false
			}},
			{"name": "stop", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}
		],
		"messages": [
			{"role": "user", "content": [{"type": "text", "text": "Go.", "cache_control": {"type": "ephemeral"}}]},
			{"role": "assistant", "content": [
				{"type": "thinking", "thinking": "hm", "signature": "sig", "more": [1]},
				{"type": "redacted_thinking", "data": "xyz"},
				{"type": "text", "text": "I read <this>."},
				{"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}},
				{"type": "tool_use", "id": "c_2", "name": "no_such_tool", "input": {"malformed_input": "{\"path\":"}},
				{"type": "tool_use", "id": "c3", "name": "_", "input": {"malformed_input": "[1]"}}
			]},
			{"role": "user", "content": [
				{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "text\u0000\ufffd"}]},
				{"type": "tool_result", "tool_use_id": "c_2", "is_error": true, "content": [{"type": "text", "text": "bad"}]},
				{"type": "tool_result", "tool_use_id": "c3", "content": [{"type": "text", "text": "(no output)"}]},
				{"type": "text", "text": "Go on.", "cache_control": {"type": "ephemeral"}}
			]}
		]
	}`)
	if diff := cmp.Diff(want, got.body); diff != "" {
		t.Error(diff)
	}
}

// The client uses nothing from the environment.
func TestEnvironmentIsNotRead(t *testing.T) {
	base, asked := server(t, hello)
	for _, name := range []string{
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE", "ANTHROPIC_IDENTITY_TOKEN",
		"ANTHROPIC_FEDERATION_RULE_ID", "ANTHROPIC_ORGANIZATION_ID",
	} {
		t.Setenv(name, "from-the-environment")
	}
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Custom: from-the-environment")
	for _, o := range []anthropic.Options{{BaseURL: base}, {BaseURL: base, Key: "mine"}} {
		if _, err := anthropic.New(o).Send(t.Context(), model.Request{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	var got [][2]string
	for _, x := range *asked {
		for name, values := range x.header {
			if strings.Contains(strings.Join(values, " "), "from-the-environment") {
				t.Errorf("%s: %s", name, values)
			}
		}
		got = append(got, [2]string{x.header.Get("X-Api-Key"), x.header.Get("Authorization")})
	}
	if diff := cmp.Diff([][2]string{{"", ""}, {"mine", ""}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestUnfitOptions(t *testing.T) {
	for base, want := range map[string]*model.Fault{
		"":              {Kind: model.FaultAuth, Message: "no API key for Anthropic"},
		"ftp://x":       {Kind: model.FaultRefused, Message: "the base URL must look like https://host/v1"},
		"localhost:80":  {Kind: model.FaultRefused, Message: "the base URL must look like https://host/v1"},
		"http://\x7f/v": {Kind: model.FaultRefused, Message: "the base URL must look like https://host/v1"},
	} {
		_, err := anthropic.New(anthropic.Options{BaseURL: base}).Send(t.Context(), model.Request{}, nil)
		if diff := cmp.Diff(want, err); diff != "" {
			t.Errorf("%q: %s", base, diff)
		}
	}
}

// Thinking that came after something else goes back in its place, as long as the calls are the
// same.
func TestThinkingInBetween(t *testing.T) {
	between := reply("tool_use",
		[]string{
			`{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":"one"}`,
			`{"type":"signature_delta","signature":"s1"}`,
		},
		[]string{`{"type":"text","text":""}`, `{"type":"text_delta","text":"First."}`},
		[]string{`{"type":"redacted_thinking","data":"two"}`},
		[]string{
			`{"type":"tool_use","id":"c1","name":"read","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"a\":1}"}`,
		},
		[]string{`{"type":"something_new","x":1}`},
		[]string{`{"type":"text","text":"Last."}`})
	base, asked := server(t, between, hello)
	client := anthropic.New(anthropic.Options{BaseURL: base})
	r := model.Request{Messages: []model.Message{{Role: model.User, Text: "Go."}}}
	got, err := client.Send(t.Context(), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Message.Text != "First.\n\nLast." || len(got.Message.Calls) != 1 {
		t.Errorf("%+v", got.Message)
	}
	results := model.Message{Role: model.ToolRole, Results: []model.Result{{ID: "c1", Text: "ok"}}}
	shorter := got.Message
	shorter.Calls = nil
	for _, m := range []model.Message{got.Message, shorter} {
		r.Messages = append(r.Messages[:1:1], m, results)
		if _, err := client.Send(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
	}
	sent := func(n int) any {
		return (*asked)[n].body.(map[string]any)["messages"].([]any)[1].(map[string]any)["content"]
	}
	thinking := `{"type":"thinking","thinking":"one","signature":"s1"}`
	ordered := parsed(t,
		`[`+thinking+`,{"type":"text","text":"First."},{"type":"redacted_thinking","data":"two"},{"type":"tool_use",`+
			`"id":"c1","name":"read","input":{"a":1}},{"type":"text","text":"Last."}]`)
	if diff := cmp.Diff(ordered, sent(1)); diff != "" {
		t.Error(diff)
	}
	changed := parsed(t,
		`[`+thinking+`,{"type":"redacted_thinking","data":"two"},{"type":"text","text":"First.\n\nLast."}]`)
	if diff := cmp.Diff(changed, sent(2)); diff != "" {
		t.Error(diff)
	}
}

func TestOddCalls(t *testing.T) {
	base, _ := server(t, reply("max_tokens",
		[]string{`{"type":"tool_use","id":"c1","name":"none","input":{}}`},
		[]string{`{"type":"tool_use","id":"c2","name":"whole","input":{"a":1}}`},
		[]string{`{"type":"tool_use","id":"","name":"cut"}`, `{"type":"input_json_delta","partial_json":"{\"a\":"}`}))
	got, err := anthropic.New(anthropic.Options{BaseURL: base}).Send(t.Context(), model.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	calls := got.Message.Calls
	if len(calls) != 3 || calls[2].ID == "" {
		t.Fatalf("%+v", calls)
	}
	calls[2].ID = "made"
	want := []model.Call{
		{ID: "c1", Name: "none", Input: json.RawMessage(`{}`)}, {ID: "c2", Name: "whole", Input: json.RawMessage(`{"a":1}`)},
		{ID: "made", Name: "cut", Input: json.RawMessage(`{"a":`)},
	}
	if diff := cmp.Diff(want, calls); diff != "" || got.End != model.EndLength {
		t.Errorf("%s %s", got.End, diff)
	}
}

func TestEnds(t *testing.T) {
	for stop, want := range map[string]model.End{
		"end_turn": model.EndTurn, "stop_sequence": model.EndTurn, "pause_turn": model.EndTurn, "max_tokens": model.EndLength,
		"model_context_window_exceeded": model.EndLength, "refusal": model.EndRefuse, "what else": model.EndTurn,
	} {
		base, _ := server(t, reply(stop, []string{`{"type":"text","text":"x"}`}))
		if got, err := anthropic.New(anthropic.Options{BaseURL: base}).Send(t.Context(), model.Request{},
			nil); err != nil || got.End != want {
			t.Errorf("%s: %s %v", stop, got.End, err)
		}
	}
}

// A model that allows less output than the default says so only once.
func TestOutputBoundIsLearned(t *testing.T) {
	const less = `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 32000 > 8192, ` +
		`which is the maximum allowed number of output tokens for x"}}`
	base, asked := server(t, less, hello)
	client := anthropic.New(anthropic.Options{BaseURL: base})
	for _, r := range []model.Request{{Model: "x"}, {Model: "x"}, {Model: "y"}, {Model: "x", MaxOutput: 7}} {
		if _, err := client.Send(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
	}
	var got []float64
	for _, x := range *asked {
		got = append(got, x.body.(map[string]any)["max_tokens"].(float64))
	}
	if diff := cmp.Diff([]float64{32000, 8192, 8192, 32000, 7}, got); diff != "" {
		t.Error(diff)
	}
	base, asked = server(t, less)
	client = anthropic.New(anthropic.Options{BaseURL: base})
	_, err := client.Send(t.Context(), model.Request{Model: "x"}, nil)
	if fault, ok := errors.AsType[*model.Fault](err); !ok || fault.Kind != model.FaultRefused || len(*asked) != 2 {
		t.Errorf("%v after %d", err, len(*asked))
	}
}

package openai_test

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
	"github.com/ralphloop/ralph/model/openai"
)

// exchange is one request as received.
type exchange struct {
	path   string
	header http.Header
	body   map[string]any
}

// server sends one answer after the other, repeats the last one, and records the requests. An
// answer that begins with a brace is an error.
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
	return s.URL + "/v1", asked
}

// reply is a stream of deltas.
func reply(finish string, deltas ...string) string {
	var all string
	for _, d := range deltas {
		all += `data: {"id":"c","model":"x","choices":[{"index":0,"delta":` + d + `,"finish_reason":null}]}` + "\n\n"
	}
	if finish != "" {
		all += `data: {"id":"c","model":"x","choices":[{"index":0,"delta":{},"finish_reason":"` + finish + `"}]}` + "\n\n"
	}
	return all + "data: [DONE]\n\n"
}

var hello = reply("stop", `{"content":"Hello."}`)

func refusal(message string) string { return `{"error":{"message":"` + message + `"}}` }

func parsed[T any](t *testing.T, text string) T {
	t.Helper()
	var value T
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestRequest(t *testing.T) {
	base, asked := server(t, hello)
	_, err := openai.New(openai.Options{BaseURL: base + "/", Key: "secret-key"}).Send(t.Context(), model.Request{
		Model: "gpt-x", System: "Be brief.", MaxOutput: 99, MustCall: "read",
		Tools: []model.Tool{
			{
				Name: "read", Description: "reads",
				Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"additionalProperties":false}`),
			},
			{Name: "stop"},
		},
		Messages: []model.Message{
			{Role: model.User, Text: "Go."},
			{Role: model.Assistant},
			{Role: model.Assistant, Text: "I read <this>.",
				Thought: []json.RawMessage{
					json.RawMessage(`{"reasoning_content":"hm"}`),
					json.RawMessage(`{"type":"thinking","thinking":"of somebody else"}`),
				},
				Calls: []model.Call{
					{ID: "c1", Name: "read", Input: json.RawMessage(`{"path":"a"}`)},
					{ID: "c.2", Name: "no such/tool", Input: json.RawMessage(`{"path":`)},
				}},
			{
				Role: model.ToolRole, Text: "Go on.",
				Results: []model.Result{{ID: "c1", Text: "text\x00\xff"}, {ID: "c.2", Text: "bad", Failed: true}},
			},
			{Role: model.Assistant, Calls: []model.Call{{ID: "c3", Name: "stop"}}},
			{Role: model.ToolRole, Results: []model.Result{{ID: "c3", Text: "error: no", Failed: true}}},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := (*asked)[0]
	if got.path != "/v1/chat/completions" || got.header.Get("Authorization") != "Bearer secret-key" {
		t.Errorf("%s %v", got.path, got.header)
	}
	want := parsed[map[string]any](t, `{
		"model": "gpt-x", "max_completion_tokens": 99, "stream": true, "stream_options": {"include_usage": true},
		"tool_choice": {"type": "function", "function": {"name": "read"}},
		"tools": [
			{"type": "function", "function": {"name": "read", "description": "reads", "parameters": {
				"type": "object", "properties": {"path": {"type": "string"}}, "additionalProperties": false
			}}},
			{"type": "function", "function": {"name": "stop", "parameters": {"type": "object", "properties": {}}}}
		],
		"messages": [
			{"role": "system", "content": "Be brief."},
			{"role": "user", "content": "Go."},
			{"role": "assistant", "content": "I read <this>.", "reasoning_content": "hm", "tool_calls": [
				{"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}},
				{"id": "c_2", "type": "function", "function": {
					"name": "no_such_tool", "arguments": "{\"malformed_input\":\"{\\\"path\\\":\"}"
				}}
			]},
			{"role": "tool", "tool_call_id": "c1", "content": "text\u0000\ufffd"},
			{"role": "tool", "tool_call_id": "c_2", "content": "Error: bad"},
			{"role": "user", "content": "Go on."},
			{"role": "assistant", "tool_calls": [
				{"id": "c3", "type": "function", "function": {"name": "stop", "arguments": "{}"}}
			]},
			{"role": "tool", "tool_call_id": "c3", "content": "error: no"}
		]
	}`)
	if diff := cmp.Diff(want, got.body); diff != "" {
		t.Error(diff)
	}
}

// The client uses nothing from the environment.
func TestEnvironmentIsNotRead(t *testing.T) {
	base, asked := server(t, hello)
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"} {
		t.Setenv(name, "from-the-environment")
	}
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Custom: from-the-environment")
	for _, o := range []openai.Options{{BaseURL: base}, {BaseURL: base, Key: "mine"}} {
		if _, err := openai.New(o).Send(t.Context(), model.Request{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, x := range *asked {
		for name, values := range x.header {
			if strings.Contains(strings.Join(values, " "), "from-the-environment") {
				t.Errorf("%s: %s", name, values)
			}
		}
		got = append(got, x.header.Get("Authorization"))
	}
	if diff := cmp.Diff([]string{"", "Bearer mine"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestUnfitOptions(t *testing.T) {
	for base, want := range map[string]*model.Fault{
		"":        {Kind: model.FaultAuth, Message: "no API key for OpenAI"},
		"ftp://x": {Kind: model.FaultRefused, Message: "the base URL must look like https://host/v1"},
	} {
		_, err := openai.New(openai.Options{BaseURL: base}).Send(t.Context(), model.Request{}, nil)
		if diff := cmp.Diff(want, err); diff != "" {
			t.Errorf("%q: %s", base, diff)
		}
	}
}

// The client learns an endpoint's quirks from its refusal, once for each model.
func TestHabitsAreLearned(t *testing.T) {
	for _, tc := range []struct {
		name    string
		refusal string
		differs func(body map[string]any) any
		want    []any
	}{
		{"old name", refusal("Unrecognized request argument supplied: max_completion_tokens"),
			func(b map[string]any) any { return []any{b["max_completion_tokens"], b["max_tokens"]} },
			[]any{[]any{9.0, nil}, []any{nil, 9.0}, []any{nil, 9.0}, []any{9.0, nil}}},
		{"old name, told as a place",
			`{"detail":[{"type":"extra_forbidden","loc":["body","max_completion_tokens"],"msg":"Extra inputs are not ` +
				`permitted","input":9}]}`,
			func(b map[string]any) any { return []any{b["max_completion_tokens"], b["max_tokens"]} },
			[]any{[]any{9.0, nil}, []any{nil, 9.0}, []any{nil, 9.0}, []any{9.0, nil}}},
		{"no usage", refusal("Unknown parameter: 'stream_options'"),
			func(b map[string]any) any { return b["stream_options"] != nil }, []any{true, false, false, true}},
		{"no demand", refusal("this model does not support this tool_choice"),
			func(b map[string]any) any { return b["tool_choice"] != nil }, []any{true, false, false, true}},
		{"reasoning", refusal("Missing reasoning_content field in the assistant message at message index 1"),
			func(b map[string]any) any {
				m := b["messages"].([]any)
				return []any{m[1].(map[string]any)["reasoning_content"], m[2].(map[string]any)["reasoning_content"]}
			},
			[]any{[]any{"hm", nil}, []any{"hm", ""}, []any{"hm", ""}, []any{"hm", nil}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			base, asked := server(t, tc.refusal, hello)
			client := openai.New(openai.Options{BaseURL: base})
			for _, name := range []string{"x", "x", "y"} {
				r := model.Request{Model: name, MaxOutput: 9, MustCall: "read", Messages: []model.Message{
					{Role: model.User, Text: "Go."},
					{Role: model.Assistant, Text: "a", Thought: []json.RawMessage{json.RawMessage(`{"reasoning_content":"hm"}`)}},
					{Role: model.Assistant, Text: "b"}, {Role: model.User, Text: "On."},
				}}
				if _, err := client.Send(t.Context(), r, nil); err != nil {
					t.Fatal(err)
				}
			}
			var got []any
			for _, x := range *asked {
				got = append(got, tc.differs(x.body))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// An endpoint that refuses everything is not asked forever, and the client learns nothing from it.
func TestHabitsThatDoNotHelp(t *testing.T) {
	base, asked := server(t,
		refusal("max_completion_tokens and max_tokens and stream_options and tool_choice and reasoning_content"))
	client := openai.New(openai.Options{BaseURL: base})
	for range 2 {
		*asked = nil
		_, err := client.Send(t.Context(), model.Request{MaxOutput: 9, MustCall: "x"}, nil)
		if fault, ok := errors.AsType[*model.Fault](err); !ok || fault.Kind != model.FaultRefused || len(*asked) != 2 {
			t.Errorf("%v after %d", err, len(*asked))
		}
		if (*asked)[0].body["max_completion_tokens"] != 9.0 {
			t.Errorf("%v", (*asked)[0].body)
		}
	}
}

func TestToolCallsInPieces(t *testing.T) {
	for _, tc := range []struct {
		name   string
		deltas []string
		want   []string // with IDs; "?" if the client made one
	}{
		{"mixed", []string{
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}},{"index":1,"id":"b",` +
				`"function":{"name":"g","arguments":""}}]}`,
			`{"tool_calls":[{"index":1,"function":{"arguments":"{}"}},{"index":0,"function":{"arguments":":1}"}}]}`},
			[]string{`a f {"x":1}`, `b g {}`}},
		{"no identifiers", []string{
			`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}}]}`,
			`{"tool_calls":[{"index":1,"function":{"name":"g"}}]}`}, []string{"? f {}", "? g {}"}},
		{"one index for all", []string{
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`,
			`{"tool_calls":[{"index":0,"id":"b","function":{"name":"f","arguments":"{\"x\":2}"}}]}`},
			[]string{"a f {}", `b f {"x":2}`}},
		{"no index and no identifiers", []string{
			`{"tool_calls":[{"function":{"name":"f","arguments":"{}"}},{"function":{"name":"f","arguments":"{}"}}]}`},
			[]string{"? f {}", "? f {}"}},
		{"the name again and again", []string{
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]}`,
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"1}"}}]}`}, []string{`a f {"x":1}`}},
		{"an object for input", []string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}]}`},
			[]string{`a f {"x":1}`}},
		{"one identifier for two", []string{
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":1,"id":"a",` +
				`"function":{"name":"g","arguments":"{}"}}]}`}, []string{"a f {}", "? g {}"}},
		{"malformed", []string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\": oh"}}]}`},
			[]string{`a f {"x": oh`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			base, _ := server(t, reply("stop", tc.deltas...))
			reply, err := openai.New(openai.Options{BaseURL: base}).Send(t.Context(), model.Request{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range reply.Message.Calls {
				if strings.HasPrefix(c.ID, "call_") && len(c.ID) > 20 {
					c.ID = "?"
				}
				got = append(got, c.ID+" "+c.Name+" "+string(c.Input))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || reply.End != model.EndCalls {
				t.Errorf("%s %s", reply.End, diff)
			}
		})
	}
}

// Fields that a provider needs back go back where they came from.
func TestThoughtRoundTrip(t *testing.T) {
	base, asked := server(t, reply("tool_calls",
		`{"reasoning":"Hm, ","reasoning_details":[{"type":"reasoning.text","text":"Hm, "}]}`,
		`{"reasoning":"hm.","reasoning_details":[{"type":"reasoning.encrypted","data":"x"}]}`,
		`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"},`+
			`"extra_content":{"google":{"thought_signature":"sig"}}},{"index":1,"id":"b","function":{"name":"f"}}]}`), hello)
	client := openai.New(openai.Options{BaseURL: base})
	var told string
	first, err := client.Send(t.Context(), model.Request{}, func(d model.Delta) { told += d.Thought })
	if err != nil || told != "Hm, hm." {
		t.Fatalf("%q %v", told, err)
	}
	if _, err := client.Send(t.Context(), model.Request{Messages: []model.Message{first.Message}}, nil); err != nil {
		t.Fatal(err)
	}
	want := parsed[map[string]any](t, `{
		"role": "assistant",
		"reasoning_details": [{"type": "reasoning.text", "text": "Hm, "}, {"type": "reasoning.encrypted", "data": "x"}],
		"tool_calls": [
			{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"},
				"extra_content": {"google": {"thought_signature": "sig"}}},
			{"id": "b", "type": "function", "function": {"name": "f", "arguments": "{}"}}
		]
	}`)
	if diff := cmp.Diff(any(want), (*asked)[1].body["messages"].([]any)[0]); diff != "" {
		t.Error(diff)
	}
}

func TestEnds(t *testing.T) {
	for _, tc := range []struct {
		stream string
		text   string
		end    model.End
	}{
		{hello, "Hello.", model.EndTurn},
		{reply("length", `{"content":"x"}`), "x", model.EndLength},
		{reply("content_filter", `{"content":"x"}`), "x", model.EndRefuse},
		{reply("stop", `{"refusal":"I "}`, `{"refusal":"won't."}`), "I won't.", model.EndRefuse},
		{reply("", `{"content":"no reason told"}`), "no reason told", model.EndTurn},
		{strings.TrimSuffix(hello, "data: [DONE]\n\n"), "Hello.", model.EndTurn},
		{reply("what else", `{"content":[{"type":"thinking","thinking":"x"},{"type":"text","text":"parts"}]}`), "parts",
			model.EndTurn},
		{strings.ReplaceAll(hello, `"index":0`, `"index":1`), "", model.EndTurn},
	} {
		base, _ := server(t, tc.stream)
		got, err := openai.New(openai.Options{BaseURL: base}).Send(t.Context(), model.Request{}, nil)
		if err != nil || got.Message.Text != tc.text || got.End != tc.end || got.Usage != nil {
			t.Errorf("%q: %+v %v", tc.stream, got, err)
		}
	}
	base, _ := server(t, reply("error", `{"content":"x"}`))
	_, err := openai.New(openai.Options{BaseURL: base}).Send(t.Context(), model.Request{}, nil)
	if fault, ok := errors.AsType[*model.Fault](err); !ok || fault.Kind != model.FaultProvider {
		t.Errorf("%v", err)
	}
}

func TestUsage(t *testing.T) {
	for told, want := range map[string]*model.Usage{
		`{"prompt_tokens":100,"completion_tokens":20,` +
			`"total_tokens":120}`: {Input: 100, Output: 20},
		`{"prompt_tokens":100,"completion_tokens":20,"prompt_tokens_details":null,` +
			`"completion_tokens_details":{"reasoning_tokens":15}}`: {Input: 100, Output: 20},
		`{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":60}}`: {
			Input: 40, Output: 20, CacheRead: 60,
		},
		`{"prompt_tokens":100,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":10}}`: {
			Input: 30, Output: 20, CacheRead: 60, CacheWrite: 10,
		},
		`{"prompt_tokens":100,"completion_tokens":20,"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36}`: {
			Input: 36, Output: 20, CacheRead: 64,
		},
		`{"prompt_tokens":100,"completion_tokens":20,"total_tokens":150}`: {
			Input: 100, Output: 50,
		}, // reasoning outside of the completion
		`{"prompt_tokens":100,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":101}}`: nil,
		`{"prompt_tokens":-1,"completion_tokens":20}`:                                                nil,
		`{"prompt_tokens":1,"completion_tokens":-20,"total_tokens":30}`:                              nil,
		`{"prompt_tokens":0,"completion_tokens":0}`:                                                  nil, `{}`: nil,
		`null`: nil, `"lots"`: nil,
		`{"prompt_tokens":1e300}`: nil,
	} {
		base, _ := server(t,
			strings.Replace(hello, "data: [DONE]", `data: {"choices":[],"usage":`+told+"}\n\ndata: [DONE]", 1))
		got, err := openai.New(openai.Options{BaseURL: base}).Send(t.Context(), model.Request{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Usage); diff != "" {
			t.Errorf("%s: %s", told, diff)
		}
	}
}

// DeepSeek's older models refuse reasoning in messages.
func TestReasoningThatIsRefused(t *testing.T) {
	hello := `data: {"choices":[{"delta":{"content":"hello"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	var sent []any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Messages []map[string]any `json:"messages"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		thought, has := body.Messages[1]["reasoning_content"]
		sent = append(sent, thought)
		if has {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"the reasoning_content field must not be in the messages"}}`)
			return
		}
		// The wrong type, as some servers say.
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, hello)
	}))
	defer server.Close()
	client := openai.New(openai.Options{BaseURL: server.URL})
	for range 2 {
		reply, err := client.Send(t.Context(), model.Request{Model: "x", Messages: []model.Message{
			{Role: model.User, Text: "Go."},
			{Role: model.Assistant, Text: "a", Thought: []json.RawMessage{json.RawMessage(`{"reasoning_content":"hm"}`)}},
			{Role: model.User, Text: "On."},
		}}, nil)
		if err != nil || reply.Message.Text != "hello" {
			t.Fatalf("%q, %v", reply.Message.Text, err)
		}
	}
	if diff := cmp.Diff([]any{"hm", "hm", nil, nil}, sent); diff != "" {
		t.Error(diff)
	}
}

// OpenRouter reports what a reply costs. With a key of the user's own, the provider behind it charges
// most of that.
func TestReportedCost(t *testing.T) {
	for usage, want := range map[string]*float64{
		`{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12,"cost":0.0125}`: new(0.0125),
		`{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12,"cost":0.0005,"is_byok":true,` +
			`"cost_details":{"upstream_inference_cost":0.01}}`: new(0.0105),
		`{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12,"cost":0}`: new(0.0),
		`{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}`:          nil,
	} {
		base, _ := server(t, `data: {"model":"free/thing","choices":[{"delta":{"content":"x"},"finish_reason":"stop"}],`+
			`"usage":`+usage+"}\n\ndata: [DONE]\n\n")
		reply, err := openai.New(openai.Options{BaseURL: base}).Send(t.Context(), model.Request{
			Model: "free/thing", Messages: []model.Message{{Role: model.User, Text: "Go."}},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, reply.Cost); diff != "" {
			t.Errorf("%s (-want +got):\n%s", usage, diff)
		}
		var bill model.Bill
		cost := bill.Add(reply, "free/thing")
		if diff := cmp.Diff(want, cost); diff != "" || bill.Sum().Estimated || (want == nil) != bill.Sum().Unpriced {
			t.Errorf("%s: billed %+v", usage, bill.Sum())
		}
	}
}

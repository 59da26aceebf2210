package scriptedmodel_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/scriptedmodel"
)

const everything = `{"all": {"conversations": [[{
	"thinking": "I should look before I leap, should I not?",
	"text": "Grüße: I will run two commands now.\n\n<promise>DONE</promise>",
	"tools": [{"shell": "echo one"}, {"name": "Odd", "input": {"n": 1}}],
	"usage": {"input": 7, "output": 20, "cache_read": 5, "cache_write": 0, "reasoning": 3}
}]]}}`

func TestAnswerInEveryFormat(t *testing.T) {
	stops := map[string]string{"anthropic": "tool_use", "responses": "completed", "chat": "tool_calls", "gemini": "STOP"}
	eachFormat(t, func(t *testing.T, f format, streams bool) {
		server := start(t, parse(t, everything))
		c := newClient(t, f, server.URL()+"/all")
		c.streams = streams
		argument := "command"
		if f.name == "responses" {
			argument = "cmd"
		}
		want := heard{
			Thinking: "I should look before I leap, should I not?",
			Text:     "Grüße: I will run two commands now.\n\n<promise>DONE</promise>",
			Calls: []called{
				{shells[f.name][0], map[string]any{argument: "echo one", "description": "as the script says"}},
				{"Odd", map[string]any{"n": 1.0}},
			},
			Stop:  stops[f.name],
			Usage: scriptedmodel.Usage{Input: 7, Output: 20, CacheRead: 5, Reasoning: 3},
		}
		if f.name == "anthropic" {
			want.Usage.Reasoning = 0 // the format does not distinguish them
		}
		if diff := cmp.Diff(want, c.hear(nil, shells[f.name])); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWhyTurnsStop(t *testing.T) {
	script := parse(t, `{
		"end": {"conversations": [[{"text": "a"}]]},
		"long": {"conversations": [[{"text": "a", "stop": "length"}]]},
		"refusal": {"conversations": [[{"text": "a", "stop": "refusal"}]]},
		"empty": {"conversations": [[{"empty": true}]]}
	}`)
	want := map[string][]string{
		"anthropic": {"end_turn", "max_tokens", "refusal", "end_turn"},
		"responses": {"completed", "incompletemax_output_tokens", "incompletecontent_filter", "completed"},
		"chat":      {"stop", "length", "content_filter", "stop"},
		"gemini":    {"STOP", "MAX_TOKENS", "SAFETY", "STOP"},
	}
	eachFormat(t, func(t *testing.T, f format, streams bool) {
		server := start(t, script)
		var got []string
		for _, scenario := range []string{"end", "long", "refusal", "empty"} {
			c := newClient(t, f, server.URL()+"/"+scenario)
			c.streams = streams
			h := c.hear(nil, shells[f.name])
			got = append(got, h.Stop)
			if empty := h.Text == "" && h.Thinking == "" && h.Calls == nil; empty != (scenario == "empty") {
				t.Errorf("%s says %+v", scenario, h)
			}
		}
		if diff := cmp.Diff(want[f.name], got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestOrderOfEvents(t *testing.T) {
	server := start(t, parse(t, everything))
	for _, test := range []struct {
		format format
		want   []string
	}{
		{formats[0], strings.Fields(`message_start ping
			content_block_start content_block_delta content_block_stop content_block_start content_block_delta content_block_stop
			content_block_start content_block_delta content_block_stop content_block_start content_block_delta content_block_stop
			message_delta message_stop`)},
		{formats[1], strings.Fields(`response.created response.in_progress
			response.output_item.added response.reasoning_summary_part.added
			response.reasoning_summary_text.delta response.reasoning_summary_text.done
			response.reasoning_summary_part.done response.output_item.done
			response.output_item.added response.content_part.added response.output_text.delta
			response.output_text.done response.content_part.done response.output_item.done
			response.output_item.added response.function_call_arguments.delta
			response.function_call_arguments.done response.output_item.done
			response.output_item.added response.function_call_arguments.delta
			response.function_call_arguments.done response.output_item.done
			response.completed`)},
	} {
		response, err := newClient(t, test.format, server.URL()+"/all").post(nil, shells[test.format.name])
		if err != nil {
			t.Fatal(err)
		}
		if got := response.Header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
			t.Errorf("content type %q", got)
		}
		if diff := cmp.Diff(test.want, names(readEvents(t, response.Body))); diff != "" {
			t.Error(diff)
		}
		response.Body.Close()
	}
}

func TestChatTellsTokensOnlyIfAsked(t *testing.T) {
	server := start(t, scriptedmodel.Standard())
	response, err := http.Post(server.URL()+"/text/v1/chat/completions", "application/json",
		strings.NewReader(`{"model":"x","stream":true,"messages":[{"role":"user","content":"hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	events := readEvents(t, response.Body)
	for _, e := range events {
		if e.Data["usage"] != nil {
			t.Errorf("nobody asked for %s", e.Raw)
		}
	}
	if last := events[len(events)-1].Raw; last != "[DONE]" {
		t.Errorf("the stream ends with %s", last)
	}
}

// A Gemini client that does not ask for events gets one array.
func TestGeminiStreamAsArray(t *testing.T) {
	server := start(t, scriptedmodel.Standard())
	response, err := http.Post(server.URL()+"/text/v1beta/models/x:streamGenerateContent", "application/json",
		strings.NewReader(
			`{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{"name":"a"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var chunks []map[string]any
	if err := json.NewDecoder(response.Body).Decode(&chunks); err != nil {
		t.Fatal(err)
	}
	var h heard
	for _, chunk := range chunks {
		h.addGemini(chunk)
	}
	want := heard{
		Text: "I looked around. Everything is done.\n\n<promise>COMPLETE</promise>", Stop: "STOP",
		Usage: scriptedmodel.DefaultUsage,
	}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Error(diff)
	}
}

// Tool calls use the tools that a client offers, and are filled in according to their schemas.
func TestToolsAsOffered(t *testing.T) {
	const script = `{"s": {"conversations": [[{"text": "Now.", "tools": [{"shell": "echo hi"}]}]]}, "w": ` +
		`{"conversations": [[{"tools": [{"write": {"path": "sub/it's.txt", "text": "hello\n"}}]}]]}}`
	shell := func(properties string, required ...string) string {
		return `{"name":"shell","input_schema":{"type":"object","properties":{` + properties + `},"required":` +
			jsonOf(t, required) + `}}`
	}
	for _, test := range []struct {
		name, scenario, system, tool string
		want                         heard
	}{
		{"a list of words", "s", "", shell(`"command":{"type":"array"}`, "command"),
			heard{
				Text: "Now.", Calls: []called{{"shell", map[string]any{"command": []any{"bash", "-lc", "echo hi"}}}},
				Stop: "tool_use",
			}},
		{"required arguments of all types", "s", "", shell(
			`"cmd":{"type":"string"},"b":{"type":"boolean"},"n":{"type":"number"},"l":{"type":"array"},`+
				`"o":{"type":"object"},"e":{"type":"string","enum":["x","y"]},"free":{"type":"string"}`,
			"cmd", "b", "n", "l", "o", "e"),
			heard{
				Text: "Now.",
				Calls: []called{
					{"shell", map[string]any{
						"cmd": "echo hi", "b": false, "n": 10000.0, "l": []any{}, "o": map[string]any{}, "e": "x",
					}},
				},
				Stop: "tool_use",
			}},
		{"no tool for it", "s", "", `{"name":"Read","input_schema":{}}`,
			heard{Text: "Now.\n\nThe script needs a tool that is not offered; offered tools: Read", Stop: "end_turn"}},
		{"a tool for files", "w", "",
			`{"name":"Write","input_schema":{"properties":{"file_path":{"type":"string"},"content":{"type":"string"}}}}`,
			heard{
				Calls: []called{{"Write", map[string]any{"file_path": "sub/it's.txt", "content": "hello\n"}}}, Stop: "tool_use",
			}},
		{"a tool for files in a known folder", "w", "Primary working directory: /home/me/project\n",
			`{"name":"Write","input_schema":{"properties":{"file_path":{"type":"string"},"content":{"type":"string"}}}}`,
			heard{
				Calls: []called{{"Write", map[string]any{"file_path": "/home/me/project/sub/it's.txt", "content": "hello\n"}}},
				Stop:  "tool_use",
			}},
		{"files by the shell", "w", "", shell(`"cmd":{"type":"string"}`),
			heard{
				Calls: []called{
					{"shell", map[string]any{"cmd": `mkdir -p 'sub' && echo aGVsbG8K | base64 -d > 'sub/it'\''s.txt'`}},
				},
				Stop: "tool_use",
			}},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := start(t, parse(t, script))
			response, err := http.Post(server.URL()+"/"+test.scenario+"/v1/messages", "application/json", strings.NewReader(
				`{"model":"x","stream":true,"system":`+jsonOf(t, test.system)+
					`,"messages":[{"role":"user","content":"hi"}],"tools":[`+test.tool+`]}`))
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			got := hearAnthropic(t, readEvents(t, response.Body))
			got.Usage = scriptedmodel.Usage{}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A tool that takes text must get text.
func TestFreeformTool(t *testing.T) {
	server := start(t,
		parse(t, `{"s": {"conversations": [[{"tools": [{"name": "apply_patch", "input": {"patch": "*** Begin"}}]}]]}}`))
	response, err := http.Post(server.URL()+"/s/v1/responses", "application/json", strings.NewReader(
		`{"model":"x","stream":true,"input":"hi","tools":[{"type":"custom","name":"apply_patch"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got := hearResponses(t, readEvents(t, response.Body))
	want := heard{
		Calls: []called{{"apply_patch", map[string]any{"input": "*** Begin"}}}, Stop: "completed",
		Usage: scriptedmodel.DefaultUsage,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOtherPaths(t *testing.T) {
	server := start(t, scriptedmodel.Standard())
	for _, test := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"GET", "/text/v1/models", 200, `"id":"scripted-1"`},
		{"HEAD", "/text", 200, ""},
		{"POST", "/text/v1/messages/count_tokens", 200, `{"input_tokens":1000}`},
		{"POST", "/text/v1beta/models/x:countTokens", 200, `{"totalTokens":1000}`},
		{"POST", "/text/v1/embeddings", 404, `unsupported request: POST /v1/embeddings`},
		{"GET", "/text/v1/messages", 404, `unsupported request: GET /v1/messages`},
		{"POST", "/v1/messages", 404, `unknown scenario \"v1\": the base URL must end with one of: 401, `},
		{"POST", "/text/v1/messages", 400, `read messages request: `},
	} {
		request, err := http.NewRequestWithContext(t.Context(), test.method, server.URL()+test.path,
			strings.NewReader("no JSON"))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != test.status || !strings.Contains(string(body), test.want) {
			t.Errorf("%s %s: status %d, %s, %v", test.method, test.path, response.StatusCode, body, err)
		}
	}
	if !slices.ContainsFunc(server.Requests(), func(r scriptedmodel.Request) bool {
		return r.Path == "/text/v1/embeddings" && r.Status == 404
	}) {
		t.Error("the log does not have what was refused")
	}
}

func TestTextIsFilledFromTheRequest(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format, streams bool) {
		server := start(t, parse(t, `{"s": {"conversations": [[{
			"text": "I was told to {{what}} {{it}}, {{gone}} {{what}}.",
			"fill": {"what": "(d\\w) it", "it": "do (\\w+)", "gone": "nobody says (this)"}
		}]]}}`))
		c := newClient(t, f, server.URL()+"/s")
		c.streams = streams
		if got := c.hear(nil, shells[f.name]).Text; got != "I was told to do it, {{gone}} do." {
			t.Errorf("got %q", got)
		}
	})
}

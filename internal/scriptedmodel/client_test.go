package scriptedmodel_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/ralphloop/ralph/internal/scriptedmodel"
)

// format describes how a test talks to a server.
type format struct {
	name   string
	path   string // for a streaming request
	whole  string // for a request without streaming
	ask    func(history []turn, tools []string, stream bool) map[string]any
	stream func(*testing.T, []event) heard
	body   func(*testing.T, map[string]any) heard
}

// turn is a finished part of a conversation: the call that the model made, or its text.
type turn struct{ said, callID string }

var formats = []format{
	{"anthropic", "/v1/messages", "/v1/messages", askAnthropic, hearAnthropic, hearAnthropicWhole},
	{"responses", "/v1/responses", "/v1/responses", askResponses, hearResponses, hearResponsesWhole},
	{"chat", "/v1/chat/completions", "/v1/chat/completions", askChat, hearChat, hearChatWhole},
	{"gemini", "/v1beta/models/scripted-1:streamGenerateContent?alt=sse", "/v1beta/models/scripted-1:generateContent",
		askGemini, hearGemini, hearGeminiWhole},
}

type m = map[string]any

func parameters(argument string) m {
	return m{
		"type": "object", "properties": m{argument: m{"type": "string"}, "description": m{"type": "string"}},
		"required": []string{argument, "description"},
	}
}

func askAnthropic(history []turn, tools []string, stream bool) m {
	messages := []m{{"role": "user", "content": "do it"}}
	for _, h := range history {
		if h.callID == "" {
			messages = append(messages, m{"role": "assistant", "content": h.said}, m{"role": "user", "content": "go on"})
			continue
		}
		messages = append(messages,
			m{
				"role": "assistant",
				"content": []m{
					{"type": "text", "text": h.said}, {"type": "tool_use", "id": h.callID, "name": "Bash", "input": m{}},
				},
			},
			m{"role": "user", "content": []m{{"type": "tool_result", "tool_use_id": h.callID, "content": "done"}}})
	}
	offered := []m{}
	for _, name := range tools {
		offered = append(offered, m{"name": name, "input_schema": parameters("command")})
	}
	return m{"model": "scripted-1", "max_tokens": 100, "stream": stream, "messages": messages, "tools": offered}
}

func askResponses(history []turn, tools []string, stream bool) m {
	input := []m{
		{"type": "message", "role": "developer", "content": "be good"},
		{"type": "message", "role": "user", "content": "do it"},
	}
	for _, h := range history {
		input = append(input, m{
			"type": "reasoning", "summary": []any{},
		}, m{"type": "message", "role": "assistant", "content": h.said})
		if h.callID != "" {
			input = append(input,
				m{"type": "function_call", "call_id": h.callID, "name": "exec_command", "arguments": "{}"},
				m{"type": "function_call_output", "call_id": h.callID, "output": "done"})
			continue
		}
		input = append(input, m{"type": "message", "role": "user", "content": "go on"})
	}
	offered := []m{{"type": "web_search"}}
	for _, name := range tools {
		offered = append(offered, m{"type": "function", "name": name, "parameters": parameters("cmd")})
	}
	if len(tools) == 0 {
		offered = nil
	}
	return m{"model": "scripted-1", "stream": stream, "input": input, "tools": offered}
}

func askChat(history []turn, tools []string, stream bool) m {
	messages := []m{{"role": "system", "content": "be good"}, {"role": "user", "content": "do it"}}
	for _, h := range history {
		if h.callID == "" {
			messages = append(messages, m{"role": "assistant", "content": h.said}, m{"role": "user", "content": "go on"})
			continue
		}
		messages = append(messages,
			m{
				"role": "assistant", "content": h.said,
				"tool_calls": []m{{"id": h.callID, "type": "function", "function": m{"name": "bash", "arguments": "{}"}}},
			},
			m{"role": "tool", "tool_call_id": h.callID, "content": "done"})
	}
	offered := []m{}
	for _, name := range tools {
		offered = append(offered, m{"type": "function", "function": m{"name": name, "parameters": parameters("command")}})
	}
	return m{
		"model": "scripted-1", "stream": stream, "stream_options": m{"include_usage": true}, "messages": messages,
		"tools": offered,
	}
}

func askGemini(history []turn, tools []string, _ bool) m {
	contents := []m{{"role": "user", "parts": []m{{"text": "do it"}}}}
	for _, h := range history {
		if h.callID == "" {
			contents = append(contents, m{
				"role": "model", "parts": []m{{"text": h.said}},
			}, m{"role": "user", "parts": []m{{"text": "go on"}}})
			continue
		}
		contents = append(contents,
			m{
				"role":  "model",
				"parts": []m{{"text": h.said}, {"functionCall": m{"id": h.callID, "name": "run_shell_command", "args": m{}}}},
			},
			m{
				"role":  "user",
				"parts": []m{{"functionResponse": m{"name": "run_shell_command", "response": m{"output": "done"}}}},
			})
	}
	offered := []m{}
	for _, name := range tools {
		offered = append(offered, m{"name": name, "parametersJsonSchema": parameters("command")})
	}
	return m{"contents": contents, "tools": []m{{"functionDeclarations": offered}}}
}

// shells lists the shell tools that a client of each format offers.
var shells = map[string][]string{
	"anthropic": {"Bash", "Read"}, "responses": {"exec_command", "view_image"}, "chat": {"bash", "read"},
	"gemini": {"run_shell_command", "read_file"},
}

// client sends requests in one format.
type client struct {
	format
	t        *testing.T
	base     string // includes the scenario
	streams  bool
	agent    string
	requests int
}

func newClient(t *testing.T, f format, base string) *client {
	return &client{format: f, t: t, base: base, streams: true, agent: "test/1"}
}

func start(t *testing.T, script scriptedmodel.Script, options ...scriptedmodel.Option) *scriptedmodel.Running {
	t.Helper()
	running, err := scriptedmodel.Listen("127.0.0.1:0", scriptedmodel.New(script, options...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := running.Close(); err != nil {
			t.Error(err)
		}
	})
	return running
}

func parse(t *testing.T, text string) scriptedmodel.Script {
	t.Helper()
	script, err := scriptedmodel.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return script
}

// post sends a request and returns the raw response.
func (c *client) post(history []turn, tools []string) (*http.Response, error) {
	c.t.Helper()
	body, err := json.Marshal(c.ask(history, tools, c.streams))
	if err != nil {
		c.t.Fatal(err)
	}
	path := c.whole
	if c.streams {
		path = c.path
	}
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.base+path, bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("User-Agent", c.agent)
	c.requests++
	return http.DefaultClient.Do(request)
}

// hear sends a request that must succeed.
func (c *client) hear(history []turn, tools []string) heard {
	c.t.Helper()
	response, err := c.post(history, tools)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(response.Body)
		c.t.Fatalf("status %d: %s", response.StatusCode, text)
	}
	if c.streams {
		return c.stream(c.t, readEvents(c.t, response.Body))
	}
	var body map[string]any
	if err := json.NewDecoder(response.Body).Decode(&body); err != nil {
		c.t.Fatal(err)
	}
	return c.body(c.t, body)
}

// says returns the text of an answer, for tests in which nothing else matters.
func (c *client) says(history ...turn) string {
	c.t.Helper()
	return c.hear(history, shells[c.name]).Text
}

// eachFormat runs a test in every format, streaming and not.
func eachFormat(t *testing.T, test func(t *testing.T, f format, streams bool)) {
	for _, f := range formats {
		for _, streams := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/stream=%v", f.name, streams), func(t *testing.T) {
				t.Parallel()
				test(t, f, streams)
			})
		}
	}
}

package agent

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
)

const codexStart = `{"type":"thread.started","thread_id":"s1"}` + "\n" + `{"type":"turn.started"}` + "\n"

func TestCodexFaults(t *testing.T) {
	const day = 24 * time.Hour
	now := time.Date(2026, 11, 15, 11, 30, 30, 0, time.FixedZone("", 3600))
	cases := []struct {
		message string
		want    stream.Fault
	}{
		{"unexpected status 401 Unauthorized: x", stream.Fault{Class: ralph.EndAuth, Hint: codexLogin}},
		{"unexpected status 403 Forbidden: x", stream.Fault{Class: ralph.EndAuth, Hint: codexLogin}},
		{"Missing environment variable: `KEY`.", stream.Fault{Class: ralph.EndAuth, Hint: codexLogin}},
		{"Not logged in", stream.Fault{Class: ralph.EndAuth, Hint: codexLogin}},
		{"exceeded retry limit, last status: 429 Too Many Requests", stream.Fault{Class: ralph.EndLimit}},
		{
			"You've hit your usage limit. Upgrade to Pro or try again in 2 days 17 hours 14 minutes.",
			stream.Fault{Class: ralph.EndLimit, Wait: 2*day + 17*time.Hour + 14*time.Minute},
		},
		{"You've hit your usage limit. Try again at 12:16 PM.", stream.Fault{
			Class: ralph.EndLimit, Wait: 46*time.Minute + 30*time.Second,
		}},
		{
			"You’ve hit your usage limit. Visit https://x.example to purchase more credits or try again at 11:30 AM.",
			stream.Fault{Class: ralph.EndLimit, Wait: 30 * time.Second},
		},
		// it is in the past
		{"You’ve hit your usage limit. Try again at 9:00 AM.", stream.Fault{Class: ralph.EndLimit}},
		{"You’ve hit your usage limit. Try again at Nov 17th, 2026 12:35 AM.", stream.Fault{
			Class: ralph.EndLimit, Wait: day + 13*time.Hour + 5*time.Minute + 30*time.Second,
		}},
		{"You’ve hit your usage limit. Try again at Nov 77th, 2026 12:35 AM.", stream.Fault{Class: ralph.EndLimit}},
		{"Quota exceeded. Check your plan and billing details.", stream.Fault{Class: ralph.EndLimit}},
		{"unexpected status 502 Bad Gateway: usage limit, url: x", stream.Fault{Class: ralph.EndProvider}},
		{"unexpected status 529 <unknown status code>: Overloaded", stream.Fault{Class: ralph.EndProvider}},
		{"We’re currently experiencing high demand, which may cause temporary errors.", stream.Fault{
			Class: ralph.EndProvider,
		}},
		{"stream disconnected before completion: idle timeout waiting for SSE", stream.Fault{Class: ralph.EndProvider}},
		{"error sending request for url (http://x)", stream.Fault{Class: ralph.EndProvider}},
		{"unexpected status 400 Bad Request: the connection timeout must be positive", stream.Fault{Class: ralph.EndFailed}},
		{"shared rollout token budget exhausted", stream.Fault{Class: ralph.EndFailed}},
	}
	for _, c := range cases {
		for _, retry := range []bool{false, true} {
			c.want.Text = c.message
			message := c.message
			if retry {
				message = "Reconnecting... 2/5 (" + message + ")"
			}
			if got := *codexFault(message, now); got != c.want {
				t.Errorf("%s:\ngot  %+v\nwant %+v", message, got, c.want)
			}
		}
	}
	if got := *codexFault("", now); got != (stream.Fault{Class: ralph.EndFailed, Text: "the agent ended with an error"}) {
		t.Errorf("no message: %+v", got)
	}
}

func TestCodexEndings(t *testing.T) {
	hello := codexStart + `{"type":"item.completed","item":{"id":"i1","type":"agent_message",` +
		`"text":"rate limit 429, unexpected status 401, Not logged in"}}` + "\n"
	done := `{"type":"turn.completed","usage":{"input_tokens":1}}` + "\n"
	retry := `{"type":"error","message":"Reconnecting... 1/5 (unexpected status 500 Oops)"}` + "\n"
	cases := []struct {
		name, stdout string
		status       int
		want         ending
	}{
		{"good", hello + done, 0, ending{End: ralph.EndOK}},
		{"good event, bad status", hello + done, 1, ending{
			End: ralph.EndFailed, Error: "the agent ended with exit status 1",
		}},
		{"no words", codexStart + done, 0, ending{End: ralph.EndEmpty, Error: "the agent wrote no message"}},
		{"no closing event", hello, 0, ending{End: ralph.EndFailed, Error: "the agent ended without a result"}},
		{"failed with status 0", hello + `{"type":"turn.failed","error":{"message":"no"}}` + "\n", 0, ending{
			End: ralph.EndFailed, Error: "no",
		}},
		{"failure as a string", hello + `{"type":"turn.failed","error":"no"}` + "\n", 1, ending{
			End: ralph.EndFailed, Error: "no",
		}},
		{"failure without words", hello + `{"type":"turn.failed"}` + "\n", 1, ending{
			End: ralph.EndFailed, Error: "the agent ended with an error",
		}},
		{"died while retrying", hello + retry, 1, ending{End: ralph.EndProvider, Error: "unexpected status 500 Oops"}},
		{"retried, then good", codexStart + retry + hello + done, 0, ending{End: ralph.EndOK}},
		{"retried, then died", codexStart + retry + hello, 1, ending{
			End: ralph.EndFailed, Error: "the agent ended with exit status 1",
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := listen("codex", []byte(c.stdout), 100, exited(c.status))
			if diff := cmp.Diff(c.want, endingOf(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestCodexFigures(t *testing.T) {
	stdout := codexStart +
		`{"type":"item.started","item":{"id":"i1","type":"command_execution","command":"bash -lc \"make all\""}}` + "\n" +
		`{"type":"item.updated","item":{"id":"i1","type":"command_execution","command":"bash -lc \"make all\""}}` + "\n" +
		`{"type":"item.completed","item":{"id":"i1","type":"command_execution","command":"bash -lc \"make all\"",` +
		`"status":"completed"}}` + "\n" +
		`{"type":"item.completed","item":{"id":"i2","type":"command_execution","command":"rm -rf x",` +
		`"status":"declined"}}` + "\n" +
		`{"type":"item.completed","item":{"id":"i3","type":"file_change",` +
		`"changes":[{"path":"a.go","kind":"add"},{"path":"b.go","kind":"update"}],"status":"completed"}}` + "\n" +
		`{"type":"item.started","item":{"id":"i4","type":"mcp_tool_call","server":"s","tool":"lookup",` +
		`"arguments":{"tool":"x"}}}` + "\n" +
		`{"type":"item.completed","item":{"id":"i5","type":"web_search","query":"go"}}` + "\n" +
		`{"type":"item.completed","item":{"id":"i6","type":"todo_list","items":[]}}` + "\n" +
		`{"type":"item.completed","item":{"id":"i7","type":"agent_message","text":"hello"}}` + "\n" +
		`{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":30,"cache_write_input_tokens":10,` +
		`"output_tokens":5,"reasoning_output_tokens":2}}` + "\n"
	got, live := listenLive("codex", []byte(stdout), whole, exited(0))
	steps := 5
	want := ralph.AgentOutcome{
		Agent: "codex", End: ralph.EndOK, Steps: &steps,
		Tokens:  &ralph.Tokens{Input: 60, Output: 5, CacheRead: 30, CacheWrite: 10},
		Tools:   map[string]int{"command_execution": 2, "file_change": 1, "lookup": 1, "web_search": 1},
		Denials: []string{"command_execution: rm -rf x"}, Allow: []string{"--yolo"},
		Session: "s1", OutputBytes: int64(len(stdout)), Said: got.Said,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	wantLive := []ralph.Activity{
		{Kind: "tool", Name: "command_execution", Detail: "make all"},
		{Kind: "tool", Name: "command_execution", Detail: "rm -rf x"},
		{Kind: "tool", Name: "file_change", Detail: "a.go b.go"},
		{Kind: "tool", Name: "lookup"},
		{Kind: "tool", Name: "web_search", Detail: "go"},
		{Kind: "text", Detail: "hello"},
		{Kind: "spent", Tokens: want.Tokens},
	}
	if diff := cmp.Diff(wantLive, live); diff != "" {
		t.Errorf("live -want +got:\n%s", diff)
	}
}

// The user's MCP servers are disabled one by one, however they are written.
func TestCodexAlone(t *testing.T) {
	const config = "model = \"x\"\n# [mcp_servers.remark]\n[mcp_servers.docs]\ncommand = \"docs\"\n[ " +
		"mcp_servers . \"two words\" ]\nurl = \"x\"\n" +
		"[mcp_servers.docs.env]\nA = \"b\"\n[mcp_servers.'single']\n[other]\n"
	usual := []string{
		"-c", "features.hooks=false", "-c", "notify=[]", "-c", "features.plugins=false", "-c", "features.apps=false",
		"-c", "analytics.enabled=false",
	}
	with := func(servers string) []string { return append(slices.Clone(usual), "-c", servers) }
	cases := []struct {
		name  string
		world world
		want  []string
	}{
		{"no configuration", world{}, usual},
		{"at home", world{files: map[string]string{"/home/me/.codex/config.toml": config}},
			with(`mcp_servers={docs={enabled=false},"two words"={enabled=false},'single'={enabled=false}}`)},
		{"elsewhere", world{env: []string{"CODEX_HOME=/other"}, files: map[string]string{
			"/other/config.toml": "mcp_servers.a.command = \"b\"\n",
		}},
			with(`mcp_servers={a={enabled=false}}`)},
	}
	for _, c := range cases {
		if diff := cmp.Diff(c.want, codexAlone(c.world.look())); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	command, err := codex{}.Command(Request{InheritSettings: true, Look: cases[1].world.look()})
	if err != nil || slices.Contains(command.Argv, "-c") {
		t.Errorf("inherited settings are overridden: %q, %v", command.Argv, err)
	}
}

// Codex retries a refused login five times, seconds apart; the run does not wait for it.
func TestCodexRefusedLoginIsSeenInRetries(t *testing.T) {
	s := newStage(
		t, "codex",
		codexStart+`{"type":"error","message":"Reconnecting... 1/5 (unexpected status 401 Unauthorized: bad key)"}`+"\n",
		"hang",
	)
	want := ending{End: ralph.EndAuth, Error: "unexpected status 401 Unauthorized: bad key", Hint: codexLogin}
	if diff := cmp.Diff(want, endingOf(s.run(t.Context(), t))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestCodexVariables(t *testing.T) {
	cases := map[string]struct {
		config string
		want   []string
	}{
		"none":       {"model = \"gpt\"\n", nil},
		"a provider": {"[model_providers.mine]\nname = \"x\"\nenv_key = \"MY_KEY\" # or 'OTHER'\n", []string{"MY_KEY"}},
		"quoted":     {"[ model_providers . \"my own\" ]\r\n  env_key='MY_KEY'\r\n", []string{"MY_KEY"}},
		"several": {
			"[model_providers.a]\nenv_key = \"A\"\n[model_providers.b]\nenv_key = \"B\"\n[model_providers.c]\nenv_key = \"A\"\n",
			[]string{"A", "B"},
		},
		"headers": {
			"[model_providers.a]\nenv_http_headers = { \"X-One\" = \"ONE\", Two = 'TWO' } # = \"NO\"\nhttp_headers = " +
				"{ a = \"NO\" }\n",
			[]string{"ONE", "TWO"},
		},
		"a table": {
			"[model_providers.a.env_http_headers]\nX-One = \"ONE\"\n\"X-Two\" = " +
				"\"TWO\"\n[model_providers.a.http_headers]\nX = \"NO\"\n",
			[]string{"ONE", "TWO"},
		},
		"dotted keys": {
			"model_providers.a.env_key = \"A\"\nmodel_providers.a.env_http_headers.X = \"B\"\n", []string{"A", "B"},
		},
		"braces": {
			"model_providers = { a = { name = \"x\", env_key = \"A\", env_http_headers = { h = \"B\" } } }\n",
			[]string{"A", "B"},
		},
		"one of them": {"[model_providers]\na = { env_key = \"A\" }\nb.env_key = \"B\"\n", []string{"A", "B"}},
		"of others": {
			"env_key = \"NO\"\n[mcp_servers.a]\nenv_key = \"NO\"\n[[model_providers]]\nenv_key = " +
				"\"NO\"\n[model_providers_old.a]\nenv_key = \"NO\"\n",
			nil,
		},
		"no names": {
			"[model_providers.a]\nenv_key = \"sk-abc\"\nenv_http_headers = { a = \"Bearer x\", b = \"\", c = \"1A\", " +
				"d = \"A*\" }\n",
			nil,
		},
		"a comment": {"[model_providers.a]\n# env_key = \"NO\"\nname = \"a # b\" # \"\n", nil},
		"garbage":   {"[\n]\n=\n\"\n'\n[a\nenv_key\n = \"NO\"\n. = \"NO\"\n", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			look := lookAt("linux", map[string]string{"CODEX_HOME": "/c"}, map[string]string{
				filepath.Join("/c", "config.toml"): c.config,
			})
			if diff := cmp.Diff(c.want, codex{}.About().EnvOf(look)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if got := codexVariables(Look{}); got != nil {
		t.Errorf("without a look: %v", got)
	}
}

package agent

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
)

const (
	cursorInit = `{"type":"system","subtype":"init","apiKeySource":"login","cwd":"/w","session_id":"s1",` +
		`"model":"Composer 2","permissionMode":"default"}` + "\n"
	cursorGood = `{"type":"result","subtype":"success","is_error":false,"duration_ms":1,"result":"all that was said",` +
		`"session_id":"s1"}` + "\n"
)

func cursorSays(text string) string {
	return fmt.Sprintf(
		`{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":%q}]},"session_id":"s1"}`+"\n",
		text,
	)
}

func cursorTool(subtype, id, call string) string {
	return fmt.Sprintf(
		`{"type":"tool_call","subtype":%q,"call_id":%q,"tool_call":%s,"session_id":"s1"}`+"\n", subtype, id, call,
	)
}

func TestCursorCommand(t *testing.T) {
	cases := map[string]struct {
		request Request
		want    Command
	}{
		"edits only": {
			Request{PromptFile: "p", Permissions: PermitEdits, AllowedCommands: []string{"make"}},
			Command{
				Argv: []string{"cursor-agent", "-p", "--output-format", "stream-json", "--trust"},
				Env:  []string{"NO_OPEN_BROWSER=1"}, Stdin: "p",
			},
		},
		"with everything": {
			Request{
				Program: "/opt/agent", PromptFile: "p", Permissions: PermitAll, InheritSettings: true, Model: "gpt",
				ExtraArgs: []string{"--approve-mcps"},
			},
			Command{
				Argv: []string{
					"/opt/agent", "-p", "--output-format", "stream-json", "--trust", "--force", "--model", "gpt",
					"--approve-mcps",
				},
				Env: []string{"NO_OPEN_BROWSER=1"}, Stdin: "p",
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := cursor{}.Command(c.request)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestCursorEndings(t *testing.T) {
	hello := cursorInit + cursorSays("401 Unauthorized, usage limit, 503 unavailable")
	failed := func(fields string) string {
		return `{"type":"result","subtype":"error","is_error":true,` + fields + `"session_id":"s1"}` + "\n"
	}
	cases := []struct {
		name, stdout string
		status       int
		want         ending
	}{
		{"good", hello + cursorGood, 0, ending{End: ralph.EndOK}},
		{"good event, bad status", hello + cursorGood, 1, ending{
			End: ralph.EndFailed, Error: "the agent ended with exit status 1",
		}},
		{
			"no words",
			cursorInit + `{"type":"result","subtype":"success","is_error":false,"result":"","session_id":"s1"}` + "\n",
			0,
			ending{End: ralph.EndEmpty, Error: "the agent wrote no message"},
		},
		{"bad end without an event", hello, 1, ending{End: ralph.EndFailed, Error: "the agent ended with exit status 1"}},
		{"no closing event", hello, 0, ending{End: ralph.EndFailed, Error: "the agent ended without a result"}},
		{"error with status 0", cursorInit + failed(`"error":{"message":"[unauthenticated] Error"},`), 0,
			ending{End: ralph.EndAuth, Error: "[unauthenticated] Error", Hint: cursorLogin}},
		{
			"error in the result's words", cursorInit + failed(`"result":"You've hit your usage limit",`), 1,
			ending{End: ralph.EndLimit, Error: "You've hit your usage limit"},
		},
		{
			"the agent's words in an error", hello + failed(`"result":"401 Unauthorized, usage limit",`), 1,
			ending{End: ralph.EndFailed, Error: "the agent ended with an error"},
		},
		{"error event", cursorInit + `{"type":"error","message":"connection lost"}` + "\n", 1, ending{
			End: ralph.EndProvider, Error: "connection lost",
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, endingOf(listen("cursor", []byte(c.stdout), 100, exited(c.status)))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestCursorFigures(t *testing.T) {
	stdout := cursorInit +
		cursorTool("started", "t1", `{"shellToolCall":{"args":{"command":"where git","workingDirectory":""}}}`) +
		cursorTool(
			"completed", "t1",
			`{"shellToolCall":{"args":{"command":"where git"},"result":{"rejected":{"command":"where git","reason":""}}}}`,
		) +
		cursorTool("completed", "t2", `{"readToolCall":{"args":{"path":"a.go"},"result":{"success":{"content":"x"}}}}`) +
		cursorTool("started", "t3", `{"function":{"name":"lookup","arguments":"{}"}}`) +
		cursorSays("hello") +
		`{"type":"result","subtype":"success","is_error":false,"result":"hello","session_id":"s1",` +
		`"usage":{"inputTokens":30,"outputTokens":10,"cacheReadTokens":20,"cacheWriteTokens":5}}` + "\n"
	got, live := listenLive("cursor", []byte(stdout), whole, exited(0))
	steps := 3
	want := ralph.AgentOutcome{
		Agent: "cursor", End: ralph.EndOK, Steps: &steps,
		Tokens: &ralph.Tokens{Input: 30, Output: 10, CacheRead: 20, CacheWrite: 5}, Model: "Composer 2",
		Tools: map[string]int{"shell": 1, "read": 1, "lookup": 1}, Denials: []string{"shell: where git"},
		Allow:   []string{"--yolo"},
		Session: "s1", OutputBytes: int64(len(stdout)), Said: got.Said,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	wantLive := []ralph.Activity{
		{Kind: "tool", Name: "shell", Detail: "where git"}, {Kind: "tool", Name: "read", Detail: "a.go"},
		{Kind: "tool", Name: "lookup"},
		{Kind: "text", Detail: "hello"}, {Kind: "spent", Tokens: want.Tokens},
	}
	if diff := cmp.Diff(wantLive, live); diff != "" {
		t.Errorf("live -want +got:\n%s", diff)
	}
}

// TestCursorResultIsACopy: it holds all messages joined, so a tag in it would be read twice, in
// another place.
func TestCursorResultIsACopy(t *testing.T) {
	const copied = `{"type":"result","subtype":"success","is_error":false,"result":"One.<promise>COMPLETE</promise>",` +
		`"session_id":"s1"}` + "\n"
	if got := listen("cursor", []byte(cursorInit+cursorSays("One.")+copied), whole, exited(0)); got.Said.Complete {
		t.Errorf("the copy was heard: %+v", got.Said)
	}
	if got := listen("cursor", []byte(cursorInit+copied), whole, exited(0)); !got.Said.Complete || got.End != ralph.EndOK {
		t.Errorf("the only words were not heard: %+v", got)
	}
}

func TestCursorLongLines(t *testing.T) {
	filler := strings.Repeat("x", stream.MaxLine)
	call := `{"editToolCall":{"args":{"path":"a.go"},"result":{"success":{"content":"` + filler + `"}}}}`
	got := listen(
		"cursor", []byte(cursorInit+cursorTool("completed", "t1", call)+cursorSays("done")+cursorGood), 32<<10,
		exited(0),
	)
	if got.End != ralph.EndOK || got.Truncated || got.Tools["edit"] != 1 {
		t.Errorf("%s (%s), truncated %v, tools %v", got.End, got.Error, got.Truncated, got.Tools)
	}
}

func TestCursorAccount(t *testing.T) {
	file := filepath.Join("/home/u", ".config", "cursor", "auth.json")
	cases := map[string]struct {
		goos       string
		env, files map[string]string
		want       Account
	}{
		"nothing on Linux": {"linux", nil, nil, Account{
			Login: LoggedOut, Billing: BillingUnknown, Because: "no CURSOR_API_KEY and no auth.json",
		}},
		"nothing on macOS": {"darwin", nil, nil, Account{Login: LoginUnknown, Billing: BillingUnknown}},
		"variable": {"linux", map[string]string{"CURSOR_API_KEY": "k"}, nil, Account{
			Login: LoggedIn, Billing: BillingUnknown, Because: "CURSOR_API_KEY is set",
		}},
		"file": {"linux", nil, map[string]string{file: "{}"}, Account{
			Login: LoggedIn, Billing: BillingUnknown, Because: "auth.json exists",
		}},
		"moved": {"linux", map[string]string{"XDG_CONFIG_HOME": "/c"}, map[string]string{filepath.Join(
			"/c", "cursor", "auth.json",
		): "{}"},
			Account{Login: LoggedIn, Billing: BillingUnknown, Because: "auth.json exists"}},
	}
	for name, c := range cases {
		if got := cursorAccount(lookAt(c.goos, c.env, c.files)); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func FuzzCursor(f *testing.F) { fuzzReader(f, "cursor") }

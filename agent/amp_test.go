package agent

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

const (
	ampInit = `{"type":"system","subtype":"init","cwd":"/w","session_id":"T-1","tools":["Bash"],"mcp_servers":[]}` + "\n"
	ampGood = `{"type":"result","subtype":"success","duration_ms":1,"is_error":false,"num_turns":1,"result":"",` +
		`"session_id":"T-1"}` + "\n"
)

func ampSays(text string) string {
	return fmt.Sprintf(
		`{"type":"assistant","message":{"type":"message","role":"assistant","content":[{"type":"text","text":%q}]},`+
			`"parent_tool_use_id":null,"session_id":"T-1"}`+"\n",
		text,
	)
}

// The rules were tried with the real `amp permissions test`: the check is allowed exactly, and not
// with anything after it.
const ampEditSettings = `{
  "amp.notifications.enabled": false,
  "amp.permissions": [
    {
      "tool": "Bash",
      "matches": {
        "cmd": [
          "go test ./..."
        ]
      },
      "action": "allow"
    },
    {
      "tool": "Bash",
      "action": "reject",
      "message": "This run allows only its check commands."
    },
    {
      "tool": "shell_command",
      "matches": {
        "command": [
          "go test ./..."
        ]
      },
      "action": "allow"
    },
    {
      "tool": "shell_command",
      "action": "reject",
      "message": "This run allows only its check commands."
    },
    {
      "tool": "*",
      "action": "allow"
    }
  ],
  "amp.updates.mode": "disabled"
}
`

func TestAmpCommand(t *testing.T) {
	settings := filepath.Join("f", "amp-settings.json")
	cases := map[string]struct {
		request Request
		want    Command
	}{
		"edits and checks": {
			Request{PromptFile: "p", Folder: "f", Permissions: PermitEdits, AllowedCommands: []string{
				" go test ./... ", "", "ls *.go", "/x/", "a\nb",
			}},
			Command{
				Argv: []string{"amp", "-x", "--stream-json", "--no-ide", "--settings-file", settings}, Stdin: "p",
				Secrets: []File{{settings, ampEditSettings}},
			},
		},
		"everything": {
			Request{
				Program: "/opt/amp", PromptFile: filepath.Join("f", "p"), Permissions: PermitAll, Model: "high",
				ExtraArgs: []string{"-l", "ralph"},
			},
			Command{
				Argv: []string{
					"/opt/amp", "-x", "--stream-json", "--no-ide", "--settings-file", settings, "--mode", "high", "-l",
					"ralph",
				},
				Stdin: filepath.Join("f", "p"),
				Secrets: []File{{
					settings,
					"{\n  \"amp.dangerouslyAllowAll\": true,\n  \"amp.notifications.enabled\": false,\n  " +
						"\"amp.updates.mode\": \"disabled\"\n}\n",
				}},
			},
		},
		"the user's settings": {
			Request{PromptFile: "p", Permissions: PermitEdits, InheritSettings: true},
			Command{Argv: []string{"amp", "-x", "--stream-json", "--no-ide"}, Stdin: "p"},
		},
		"the user's settings and everything": {
			Request{PromptFile: "p", Permissions: PermitAll, InheritSettings: true},
			Command{Argv: []string{"amp", "-x", "--stream-json", "--no-ide", "--dangerously-allow-all"}, Stdin: "p"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := amp{}.Command(c.request)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestAmpEndings(t *testing.T) {
	hello := ampInit + ampSays("401 Unauthorized, usage limit, 503 unavailable")
	failed := func(fields string) string {
		return `{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":1,` + fields +
			`"session_id":"T-1"}` + "\n"
	}
	cases := []struct {
		name, stdout string
		status       int
		want         ending
	}{
		{"good", hello + ampGood, 0, ending{End: ralph.EndOK}},
		{"good event, bad status", hello + ampGood, 1, ending{
			End: ralph.EndFailed, Error: "the agent ended with exit status 1",
		}},
		{"no words", ampInit + ampGood, 0, ending{End: ralph.EndEmpty, Error: "the agent wrote no message"}},
		{"no closing event", hello, 0, ending{End: ralph.EndFailed, Error: "the agent ended without a result"}},
		{"no login", "No API key found. Starting login flow...\n", 1, ending{
			End: ralph.EndAuth, Error: "no login was found", Hint: ampLogin,
		}},
		{"login refused", ampInit + failed(`"error":"Invalid API key",`), 1, ending{
			End: ralph.EndAuth, Error: "Invalid API key", Hint: ampLogin,
		}},
		{"no credit, with status 0", hello + failed(`"error":"You are out of credits",`), 0, ending{
			End: ralph.EndLimit, Error: "You are out of credits",
		}},
		{"overloaded", hello + failed(`"error":"529 overloaded",`), 1, ending{
			End: ralph.EndProvider, Error: "529 overloaded",
		}},
		{
			"the agent's words in an error",
			hello + failed(`"result":"401 Unauthorized, usage limit, 503 unavailable",`), 1,
			ending{End: ralph.EndFailed, Error: "error_during_execution"},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, endingOf(listen("amp", []byte(c.stdout), 100, exited(c.status)))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestAmpWaitsForNoLogin: without a key it would wait for a login.
func TestAmpWaitsForNoLogin(t *testing.T) {
	tr := loadTranscript(t, "amp", "nokey")
	s := newStage(t, "amp", string(tr.stdout), "hang")
	want := ending{End: ralph.EndAuth, Error: "no login was found", Hint: ampLogin}
	if diff := cmp.Diff(want, endingOf(s.run(t.Context(), t))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestAmpFigures: each message reports its usage, and its input figure includes the cache.
func TestAmpFigures(t *testing.T) {
	stdout := ampInit +
		`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"edit_file",` +
		`"input":{"path":"a.go"}}],"usage":{"input_tokens":15,"cache_creation_input_tokens":3,` +
		`"cache_read_input_tokens":10,"output_tokens":4}},"parent_tool_use_id":null}` + "\n" +
		`{"type":"user","message":{"content":[{"type":"tool_result","content":"ok"}]}}` + "\n" +
		`{"type":"assistant","message":{"content":[{"type":"text","text":"hello"}],` +
		`"usage":{"input_tokens":20,"cache_creation_input_tokens":0,"cache_read_input_tokens":18,"output_tokens":6}},` +
		`"parent_tool_use_id":null}` + "\n" +
		`{"type":"assistant","message":{"content":[{"type":"text","text":"<promise>COMPLETE</promise>"}]},` +
		`"parent_tool_use_id":"t1"}` + "\n" +
		`{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"hello",` +
		`"permission_denials":["Bash"],"session_id":"T-1"}` + "\n"
	got, live := listenLive("amp", []byte(stdout), whole, exited(0))
	steps := 2
	want := ralph.AgentOutcome{
		Agent: "amp", End: ralph.EndOK, Steps: &steps,
		Tokens: &ralph.Tokens{Input: 4, Output: 10, CacheRead: 28, CacheWrite: 3},
		Tools:  map[string]int{"edit_file": 1}, Denials: []string{"Bash"}, Allow: []string{"--yolo"}, Session: "T-1",
		OutputBytes: int64(len(stdout)), Said: got.Said,
	}
	if diff := cmp.Diff(want, got); diff != "" || got.Said.Complete {
		t.Errorf("said %+v, -want +got:\n%s", got.Said, diff)
	}
	first := ralph.Tokens{Input: 2, Output: 4, CacheRead: 10, CacheWrite: 3}
	wantLive := []ralph.Activity{
		{Kind: "spent", Tokens: &first}, {Kind: "tool", Name: "edit_file", Detail: "a.go"},
		{Kind: "spent", Tokens: want.Tokens}, {Kind: "text", Detail: "hello"},
		{Kind: "spent", Tokens: want.Tokens},
	}
	if diff := cmp.Diff(wantLive, live); diff != "" {
		t.Errorf("live -want +got:\n%s", diff)
	}
}

func TestAmpAccount(t *testing.T) {
	file := filepath.Join("/home/u", ".local", "share", "amp", "secrets.json")
	cases := map[string]struct {
		goos       string
		env, files map[string]string
		want       Account
	}{
		"nothing": {"linux", nil, nil, Account{
			Login: LoggedOut, Billing: BillingUnknown, Because: "no AMP_API_KEY and no key in amp/secrets.json",
		}},
		"elsewhere": {"windows", nil, nil, Account{Login: LoginUnknown, Billing: BillingUnknown}},
		"variable": {"linux", map[string]string{"AMP_API_KEY": "k"}, nil, Account{
			Login: LoggedIn, Billing: BillingUnknown, Because: "AMP_API_KEY is set",
		}},
		"file": {"linux", nil, map[string]string{file: `{"apiKey@https://ampcode.com/":"k"}`},
			Account{Login: LoggedIn, Billing: BillingUnknown, Because: "amp/secrets.json has a key"}},
		"moved": {"linux", map[string]string{"XDG_DATA_HOME": "/d"}, map[string]string{filepath.Join(
			"/d", "amp", "secrets.json",
		): `{"apiKey@https://ampcode.com/":"k"}`},
			Account{Login: LoggedIn, Billing: BillingUnknown, Because: "amp/secrets.json has a key"}},
	}
	for name, c := range cases {
		if got := ampAccount(lookAt(c.goos, c.env, c.files)); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func FuzzAmp(f *testing.F) { fuzzReader(f, "amp") }

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

const gooseDone = `{"type":"complete","total_tokens":null}` + "\n"

func gooseSays(id, text string) string {
	return fmt.Sprintf(
		`{"type":"message","message":{"id":%q,"role":"assistant","content":[{"type":"text","text":%q}],`+
			`"metadata":{"userVisible":true}}}`+"\n",
		id,
		text,
	)
}

func gooseCalls(id, tool, command string) string {
	return fmt.Sprintf(
		`{"type":"message","message":{"id":%q,"role":"assistant","content":`+
			`[{"type":"toolRequest","id":"t","toolCall":{"status":"success",`+
			`"value":{"name":%q,"arguments":{"command":%q}}}}]}}`+"\n",
		id,
		tool,
		command,
	)
}

const gooseAnswer = `{"type":"message","message":{"id":"u","role":"user",` +
	`"content":[{"type":"toolResponse","id":"t","toolResult":{"status":"success","value":{"content":[]}}}]}}` + "\n"

func TestGooseCommand(t *testing.T) {
	cases := map[string]struct {
		request Request
		want    Command
	}{
		"without its user's extensions": {
			Request{PromptFile: "p", Permissions: PermitEdits, AllowedCommands: []string{"make"}},
			Command{
				Argv: []string{
					"goose", "run", "--no-session", "--quiet", "--output-format", "stream-json", "--no-profile",
					"--with-builtin", "developer", "-i", "-",
				},
				Env:   []string{"GOOSE_MODE=smart_approve", "GOOSE_DISABLE_SESSION_NAMING=true"},
				Stdin: "p",
			},
		},
		"with everything": {
			Request{
				Program: "/opt/goose", PromptFile: "p", Permissions: PermitAll, InheritSettings: true, Model: "gpt",
				ExtraArgs: []string{"--provider", "openai"},
			},
			Command{
				Argv: []string{
					"/opt/goose", "run", "--no-session", "--quiet", "--output-format", "stream-json", "--model", "gpt",
					"--provider", "openai", "-i", "-",
				},
				Env:   []string{"GOOSE_MODE=auto", "GOOSE_DISABLE_SESSION_NAMING=true"},
				Stdin: "p",
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := goose{}.Command(c.request)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestGooseEndings(t *testing.T) {
	hello := gooseSays("m1", "Authentication error: 401, Rate limit exceeded: no, Network error: no")
	failed := func(err string) string {
		return gooseSays(
			"m2", "Ran into this error: "+err+".\n\nPlease retry if you think this is a transient or recoverable error.",
		)
	}
	cases := []struct {
		name, stdout string
		status       int
		want         ending
	}{
		{"good", hello + gooseDone, 0, ending{End: ralph.EndOK}},
		{"good event, bad status", hello + gooseDone, 1, ending{
			End: ralph.EndFailed, Error: "the agent ended with exit status 1",
		}},
		{"no words", gooseDone, 0, ending{End: ralph.EndEmpty, Error: "the agent wrote no message"}},
		{"no closing event", hello, 0, ending{End: ralph.EndFailed, Error: "the agent ended without a result"}},
		{"login refused, called a good end", failed("Authentication error: bad key") + gooseDone, 0,
			ending{End: ralph.EndAuth, Error: "Authentication error: bad key.", Hint: gooseLogin}},
		{"limit, called a good end", hello + failed("Rate limit exceeded: slow down") + gooseDone, 0, ending{
			End: ralph.EndLimit, Error: "Rate limit exceeded: slow down.",
		}},
		{"no connection", gooseSays(
			"m2", "Network error: Could not connect to 127.0.0.1:1\n\nPlease resend your message to try again.",
		) + gooseDone, 0,
			ending{End: ralph.EndProvider, Error: "Network error: Could not connect to 127.0.0.1:1"}},
		{"stream cut", failed("Request failed: Stream decode error: eof") + gooseDone, 0, ending{
			End: ralph.EndProvider, Error: "Request failed: Stream decode error: eof.",
		}},
		{"bad request", failed("Request failed: Bad request (400)") + gooseDone, 0, ending{
			End: ralph.EndFailed, Error: "Request failed: Bad request (400).",
		}},
		{"an error that the agent got over", failed("Server error: 500") + hello + gooseDone, 0, ending{End: ralph.EndOK}},
		{
			"error event and completion", `{"type":"error","error":"Server error: 503"}` + "\n" + gooseDone, 0,
			ending{End: ralph.EndProvider, Error: "Server error: 503"},
		},
		{"error event alone", hello + `{"type":"error","error":"Headless run interrupted"}` + "\n", 1, ending{
			End: ralph.EndFailed, Error: "Headless run interrupted",
		}},
		{"error without words", `{"type":"error"}` + "\n", 1, ending{
			End: ralph.EndFailed, Error: "the agent ended with an error",
		}},
		{
			"error as a content",
			`{"type":"message","message":{"id":"m","role":"assistant",` +
				`"content":[{"type":"error","message":"Authentication error: no"}]}}` + "\n" + gooseDone,
			0,
			ending{End: ralph.EndAuth, Error: "Authentication error: no", Hint: gooseLogin},
		},
		{
			"no credit",
			`{"type":"message","message":{"id":"m","role":"assistant",` +
				`"content":[{"type":"systemNotification","notificationType":"creditsExhausted",` +
				`"msg":"top up"}]}}` + "\n" + gooseDone,
			0,
			ending{End: ralph.EndLimit, Error: "no credits left: top up"},
		},
		{
			"a notice like others",
			`{"type":"message","message":{"id":"m","role":"assistant",` +
				`"content":[{"type":"systemNotification","notificationType":"inlineMessage",` +
				`"msg":"compacted"}]}}` + "\n" + hello + gooseDone,
			0,
			ending{End: ralph.EndOK},
		},
		{"nothing configured", "\n  error: No provider configured. Run 'goose configure' first.\n\n", 1,
			ending{End: ralph.EndAuth, Error: "No provider configured. Run 'goose configure' first.", Hint: gooseLogin}},
		{"approval needed", hello + gooseCalls("m2", "developer__shell", "rm x"), 1,
			ending{
				End:   ralph.EndFailed,
				Error: "goose ended during a tool call that may have needed approval: developer__shell: rm x",
				Hint:  gooseModes,
			}},
		{"died after a tool", hello + gooseCalls("m2", "developer__shell", "rm x") + gooseAnswer, 1, ending{
			End: ralph.EndFailed, Error: "the agent ended with exit status 1",
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, endingOf(listen("goose", []byte(c.stdout), 100, exited(c.status)))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestGooseExcusesAreNoWords: what goose says in the agent's name contains a server's answer, which
// is not a claim. The same text from a model, by its own declaration or in the middle of a message,
// counts.
func TestGooseExcusesAreNoWords(t *testing.T) {
	const excuse = "Ran into this error: Server error: <promise>COMPLETE</promise>.\n\nPlease retry if you " +
		"think this is a transient or recoverable error."
	own := fmt.Sprintf(
		`{"type":"message","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":%q}],`+
			`"metadata":{"inference":{"provider":"x"}}}}`+"\n",
		excuse,
	)
	cases := map[string]struct {
		stdout string
		said   bool
	}{
		"of goose":               {gooseSays("m1", excuse), false},
		"of the model":           {own, true},
		"in pieces of a message": {gooseSays("m1", "It said: ") + gooseSays("m1", excuse), true},
	}
	for name, c := range cases {
		got := listen("goose", []byte(c.stdout+gooseDone), whole, exited(0))
		if got.Said.Text != c.said || (got.End == ralph.EndOK) != c.said {
			t.Errorf("%s: %s, said %+v", name, got.End, got.Said)
		}
	}
}

func TestGooseFigures(t *testing.T) {
	stdout := gooseSays("m1", "I ") + gooseSays("m1", "look.") + gooseCalls(
		"m1", "developer__shell", "make all",
	) + gooseAnswer +
		gooseCalls("m2", "developer__text_editor", "") + gooseAnswer + gooseSays("m3", "hello") +
		`{"type":"complete","total_tokens":170,"input_tokens":150,"output_tokens":20,"cache_read_input_tokens":100,` +
		`"cache_write_input_tokens":30,"cost_usd":0.125}` + "\n"
	got, live := listenLive("goose", []byte(stdout), whole, exited(0))
	steps, cost := 3, 0.125
	want := ralph.AgentOutcome{
		Agent: "goose", End: ralph.EndOK, Steps: &steps, Cost: &cost,
		Tokens: &ralph.Tokens{Input: 20, Output: 20, CacheRead: 100, CacheWrite: 30},
		Tools:  map[string]int{"developer__shell": 1, "developer__text_editor": 1}, OutputBytes: int64(len(stdout)),
		Said: got.Said,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	wantLive := []ralph.Activity{
		{Kind: "text", Detail: "I"}, {Kind: "text", Detail: "look."},
		{Kind: "tool", Name: "developer__shell", Detail: "make all"},
		{Kind: "tool", Name: "developer__text_editor"}, {Kind: "text", Detail: "hello"},
		{Kind: "spent", Cost: &cost, Tokens: want.Tokens},
	}
	if diff := cmp.Diff(wantLive, live); diff != "" {
		t.Errorf("live -want +got:\n%s", diff)
	}
	totalOnly := gooseSays("m1", "x") + `{"type":"complete","total_tokens":17099}` + "\n"
	if old := listen("goose", []byte(totalOnly), whole, exited(0)); old.Tokens != nil || old.Cost != nil {
		t.Errorf("the last call's context was taken for what was spent: %+v", old)
	}
}

func TestGooseLongLines(t *testing.T) {
	filler := strings.Repeat("x", stream.MaxLine)
	answer := strings.Replace(gooseAnswer, `"content":[]`, `"content":"`+filler+`"`, 1)
	got := listen(
		"goose", []byte(gooseCalls("m1", "developer__shell", filler)+answer+gooseSays("m2", "done")+gooseDone),
		32<<10, exited(0),
	)
	if got.End != ralph.EndOK || got.Truncated || got.Tools["developer__shell"] != 1 {
		t.Errorf("%s (%s), truncated %v, tools %v", got.End, got.Error, got.Truncated, got.Tools)
	}
	if got := listen("goose", []byte(gooseSays("m1", filler)+gooseDone), 32<<10, exited(0)); !got.Truncated {
		t.Errorf("lost words are not told: %+v", got)
	}
}

func TestGooseAccount(t *testing.T) {
	config := filepath.Join("/home/u", ".config", "goose", "config.yaml")
	cases := map[string]struct {
		env, files map[string]string
		want       Account
	}{
		"nothing": {nil, nil, Account{Login: LoggedOut, Billing: BillingUnknown, Because: "no provider is configured"}},
		"variable": {map[string]string{"GOOSE_PROVIDER": "openai"}, nil, Account{
			Login: LoginUnknown, Billing: BillingUnknown, Because: "GOOSE_PROVIDER is set",
		}},
		"configured": {nil, map[string]string{config: "GOOSE_PROVIDER: openai\n"}, Account{
			Login: LoginUnknown, Billing: BillingUnknown,
			Because: "a provider is configured; its key may be in the keyring",
		}},
		"moved": {map[string]string{"XDG_CONFIG_HOME": "/c"}, map[string]string{filepath.Join(
			"/c", "goose", "config.yaml",
		): "GOOSE_PROVIDER: openai\n"},
			Account{
				Login: LoginUnknown, Billing: BillingUnknown,
				Because: "a provider is configured; its key may be in the keyring",
			}},
		"only tools": {nil, map[string]string{config: "extensions: {}\n"}, Account{
			Login: LoggedOut, Billing: BillingUnknown, Because: "no provider is configured",
		}},
	}
	for name, c := range cases {
		if got := gooseAccount(lookAt("linux", c.env, c.files)); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// lookAt is a home with only these variables and files.
func lookAt(goos string, env, files map[string]string) Look {
	return Look{
		Home: "/home/u", GOOS: goos, Env: func(name string) string { return env[name] },
		File: func(path string) ([]byte, bool) { text, ok := files[path]; return []byte(text), ok },
	}
}

func FuzzGoose(f *testing.F) { fuzzReader(f, "goose") }

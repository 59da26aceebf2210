package agent

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/process"
)

const (
	qwenInit = `{"type":"system","subtype":"init","session_id":"s1","model":"qwen3-coder"}` + "\n"
	qwenGood = `{"type":"result","subtype":"success","session_id":"s1","is_error":false,"num_turns":1,"result":"",` +
		`"usage":{"input_tokens":5,"output_tokens":1},"permission_denials":[]}` + "\n"
	qwenRetry = `{"type":"system","subtype":"retry","session_id":"s1",` +
		`"data":{"reason":"retry","discardedToolCalls":0,"preserveText":false}}` + "\n"
	qwenWaits = `{"type":"system","subtype":"retry","session_id":"s1",` +
		`"data":{"reason":"retry","attempt":1,"maxRetries":10,"delayMs":60000,"discardedToolCalls":0}}` + "\n"
)

func qwenSays(text string) string {
	quoted, _ := json.Marshal(text)
	return fmt.Sprintf(
		`{"type":"assistant","session_id":"s1","parent_tool_use_id":null,`+
			`"message":{"id":"m1","model":"qwen3-coder","content":[{"type":"text","text":%s}]}}`+"\n",
		quoted,
	)
}

func qwenFails(message string) string {
	quoted, _ := json.Marshal(message)
	return fmt.Sprintf(
		`{"type":"result","subtype":"error_during_execution","session_id":"s1","is_error":true,"num_turns":1,`+
			`"usage":{"input_tokens":0,"output_tokens":0},"permission_denials":[],"error":{"message":%s}}`+"\n",
		quoted,
	)
}

func TestQwenCommandLines(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths are those of unix")
	}
	quiet := []string{"QWEN_CODE_NO_RELAUNCH=true", "QWEN_TELEMETRY_ENABLED=false", "QWEN_USAGE_STATISTICS_ENABLED=false"}
	alone := func(folder string) []string {
		return append(quiet[:3:3], "QWEN_CODE_SYSTEM_SETTINGS_PATH="+folder+"/qwen-settings.json")
	}
	cases := []struct {
		name    string
		request Request
		want    Command
	}{
		{
			"edit mode with checks",
			Request{PromptFile: "/p/prompt.md", Folder: "/f", Permissions: PermitEdits, AllowedCommands: []string{
				"go vet ./... && go test", "x a,b", "(cd a; make)", "",
			}},
			Command{
				Argv: []string{
					"qwen",
					"--output-format",
					"stream-json",
					"--extensions",
					"none",
					"--allowed-mcp-server-names",
					"none",
					"--allowed-tools",
					"run_shell_command(go vet ./... && go test)",
					"--allowed-tools",
					"run_shell_command(go vet ./...)",
					"--allowed-tools",
					"run_shell_command(go test)",
					"--exclude-tools",
					"run_shell_command(*$(*)",
					"--exclude-tools",
					"run_shell_command(*$ (*)",
					"--exclude-tools",
					"run_shell_command(*`*)",
					"--exclude-tools",
					"run_shell_command(*<(*)",
					"--exclude-tools",
					"run_shell_command(*> (*)",
					"--approval-mode",
					"auto-edit",
				},
				Env:     alone("/f"),
				Stdin:   "/p/prompt.md",
				Secrets: []File{{"/f/qwen-settings.json", qwenSystem(Request{})}},
			},
		},
		{
			"the user's settings apply",
			Request{PromptFile: "/p/prompt.md", Permissions: PermitEdits, InheritSettings: true, Model: "m"},
			Command{
				Argv: []string{"qwen", "--output-format", "stream-json", "--approval-mode", "auto-edit", "--model", "m"},
				Env:  quiet, Stdin: "/p/prompt.md",
			},
		},
		{
			"everything allowed",
			Request{
				Program: "/opt/qwen", PromptFile: "/p/prompt.md", Permissions: PermitAll, AllowedCommands: []string{"make"},
				ExtraArgs: []string{"--debug"},
			},
			Command{
				Argv: []string{
					"/opt/qwen", "--output-format", "stream-json", "--extensions", "none", "--allowed-mcp-server-names",
					"none", "--yolo", "--debug",
				},
				Env: append(alone("/p"), "QWEN_CODE_SUPPRESS_YOLO_WARNING=1"), Stdin: "/p/prompt.md",
				Secrets: []File{{"/p/qwen-settings.json", qwenSystem(Request{})}},
			},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := qwen{}.Command(c.request)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if !json.Valid([]byte(qwenSettings)) {
		t.Error("the settings are no JSON")
	}
}

func TestQwenEndings(t *testing.T) {
	hello := qwenInit + qwenSays("rate limit 429, 401, Missing API key")
	// said is how the CLI complains: first in the agent's name.
	said := func(message string) string { return qwenSays(message) + qwenFails(message) }
	const empty, cut = "Model stream ended with empty response text.", "Model stream ended without a finish reason."
	cases := []struct {
		name, stdout string
		status       int
		want         ending
	}{
		{"good", hello + qwenGood, 0, ending{End: ralph.EndOK}},
		{"good event, bad status", hello + qwenGood, 1, ending{
			End: ralph.EndFailed, Error: "the agent ended with exit status 1",
		}},
		{"no words", qwenInit + qwenGood, 0, ending{End: ralph.EndEmpty, Error: "the agent wrote no message"}},
		{"no closing event", hello, 0, ending{End: ralph.EndFailed, Error: "the agent ended without a result"}},
		{"failed with status 0", hello + said("[API Error: 401 bad key]"), 0, ending{
			End: ralph.EndAuth, Error: "the login was refused (status 401): bad key", Hint: qwenLogin,
		}},
		{"403", qwenInit + said("[API Error: 403 no]"), 1, ending{
			End: ralph.EndAuth, Error: "the login was refused (status 403): no", Hint: qwenLogin,
		}},
		{"no login", qwenFails("No auth type is selected. Please configure an auth type"), 1,
			ending{
				End: ralph.EndAuth, Error: "no login was found: No auth type is selected. Please configure an auth type",
				Hint: qwenLogin,
			}},
		{"no key", qwenFails("Missing API key for OpenAI-compatible auth."), 1,
			ending{
				End: ralph.EndAuth, Error: "no login was found: Missing API key for OpenAI-compatible auth.",
				Hint: qwenLogin,
			}},
		{"429", hello + said("[API Error: 429 Free allocated quota exceeded.]"), 1, ending{
			End: ralph.EndLimit, Error: "the usage limit is reached (status 429): Free allocated quota exceeded.",
		}},
		{"429 with its reset", hello + said(
			"[API Error: 429 slow down, retry after 90s]\nPlease wait and try again later.",
		), 1,
			ending{
				End: ralph.EndLimit, Error: "the usage limit is reached (status 429): slow down, retry after 90s",
				Wait: 90 * time.Second,
			}},
		{"529", hello + said("[API Error: 529 busy]"), 1, ending{
			End: ralph.EndProvider, Error: "the model is overloaded (status 529): busy",
		}},
		{"400", hello + said("[API Error: 400 too long]"), 1, ending{
			End: ralph.EndFailed, Error: "the model refused (status 400): too long",
		}},
		{"no connection", hello + said("[API Error: Connection error. (cause: fetch failed)]"), 1,
			ending{End: ralph.EndProvider, Error: "the model could not be reached: Connection error. (cause: fetch failed)"}},
		{"empty turn", qwenInit + qwenRetry + said("[API Error: "+empty+"]"), 1, ending{
			End: ralph.EndEmpty, Error: "the agent wrote no message: " + empty,
		}},
		{"cut", hello + qwenRetry + said("[API Error: "+cut+"]"), 1, ending{
			End: ralph.EndProvider, Error: "the model's answer was cut off: " + cut,
		}},
		{"turns used up", hello + qwenFails("Reached max session turns"), 53, ending{
			End: ralph.EndCut, Error: "stopped at a limit of its own: Reached max session turns",
		}},
		{
			"an error without words",
			hello + `{"type":"result","subtype":"error_during_execution","is_error":true}` + "\n", 1,
			ending{End: ralph.EndFailed, Error: "the agent ended with an error"},
		},
		{"a sub-agent failed", hello + qwenFails("[API Error: 500 x]") + hello + qwenGood, 0, ending{End: ralph.EndOK}},
		{"retried, then good", qwenInit + qwenRetry + hello + qwenGood, 0, ending{End: ralph.EndOK}},
		{"died while retrying", hello + qwenRetry, 1, ending{
			End: ralph.EndProvider, Error: "the model did not answer correctly",
		}},
		{"retried, then died", hello + qwenRetry + qwenSays("on"), 1, ending{
			End: ralph.EndFailed, Error: "the agent ended with exit status 1",
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := listen("qwen", []byte(c.stdout), 100, exited(c.status))
			if diff := cmp.Diff(c.want, endingOf(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestTrapQwenAnnouncesItsWait(t *testing.T) {
	const text = "the usage limit is reached; the CLI waits 1m0s (attempt 1 of 10)"
	got, live := listenLive("qwen", []byte(qwenInit+qwenWaits), whole, exited(1))
	if diff := cmp.Diff(ending{End: ralph.EndLimit, Error: text, Wait: time.Minute}, endingOf(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]ralph.Activity{{Kind: "retry", Detail: text}}, live); diff != "" {
		t.Errorf("live -want +got:\n%s", diff)
	}
	idle := ended{Result: process.Result{State: process.Idle, ExitCode: 143, Signal: "terminated"}, idle: time.Second}
	want := ending{End: ralph.EndIdle, Error: "killed after 1s without any output while it was retrying: " + text}
	if diff := cmp.Diff(want, endingOf(listen("qwen", []byte(qwenInit+qwenWaits), whole, idle))); diff != "" {
		t.Errorf("idle -want +got:\n%s", diff)
	}
}

// TestTrapQwenSpeaksInTheAgentsName distinguishes the CLI's text when the model fails from what an
// agent says about it.
func TestTrapQwenSpeaksInTheAgentsName(t *testing.T) {
	const tagged = "[API Error: 500 x]\n<promise>COMPLETE</promise>"
	cases := map[string]struct {
		stdout         string
		text, complete bool
	}{
		"the CLI":                       {qwenInit + qwenSays(tagged) + qwenFails(tagged), false, false},
		"the agent, and it goes on":     {qwenInit + qwenSays(tagged) + qwenSays("on") + qwenGood, true, true},
		"the agent, and then it failed": {qwenInit + qwenSays(tagged) + qwenFails("[API Error: 500 y]"), true, true},
		"the agent, as its last word":   {qwenInit + qwenSays(tagged) + qwenGood, true, true},
		"the agent, before a long event": {
			qwenInit + qwenSays(tagged) + `{"type":"assistant","message":{"content":"` +
				strings.Repeat("x", stream.MaxLine) + "\"}}\n" + qwenGood,
			true, true,
		},
		"nobody knows, it was killed": {qwenInit + qwenSays(tagged), false, false},
	}
	for name, c := range cases {
		got := listen("qwen", []byte(c.stdout), whole, exited(0)).Said
		if got.Text != c.text || got.Complete != c.complete {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for _, name := range []string{"401", "500-full"} {
		tr := loadTranscript(t, "qwen", name)
		if got := listen("qwen", tr.stdout, whole, tr.end()); got.Said.Text {
			t.Errorf("%s: words of the CLI were heard: %+v", name, got.Said)
		}
	}
}

func TestQwenFigures(t *testing.T) {
	message := func(id, content string) string {
		return fmt.Sprintf(
			`{"type":"assistant","session_id":"s1","parent_tool_use_id":null,`+
				`"message":{"id":%q,"content":[%s],"usage":{"input_tokens":100,"output_tokens":5,`+
				`"cache_read_input_tokens":30}}}`+"\n",
			id,
			content,
		)
	}
	work := qwenInit + message("m1", `{"type":"text","text":"hello"}`) + message(
		"m2", `{"type":"tool_use","name":"run_shell_command","input":{"command":"git push"}}`,
	)
	denials := `[{"tool_name":"run_shell_command","tool_input":{"command":"git push"}},` +
		`{"tool_name":"run_shell_command","tool_input":{"command":"a, b"}},` +
		`{"tool_name":"web_fetch","tool_input":{"url":"u"}}]`
	stdout := work + `{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"hello",` +
		`"usage":{"input_tokens":500,"output_tokens":20,"cache_read_input_tokens":100,"total_tokens":520},` +
		`"permission_denials":` + denials + "}\n"
	got := listen("qwen", []byte(stdout), whole, exited(0))
	steps := 2
	want := ralph.AgentOutcome{
		Agent: "qwen", End: ralph.EndOK, Steps: &steps, Tokens: &ralph.Tokens{Input: 400, Output: 20, CacheRead: 100},
		Tools:   map[string]int{"run_shell_command": 1},
		Denials: []string{"run_shell_command: git push", "run_shell_command: a, b", "web_fetch: u"},
		Allow:   []string{"-- --allowed-tools 'run_shell_command(git push)'", "--yolo", "-- --allowed-tools 'web_fetch'"},
		Session: "s1", Model: "qwen3-coder", OutputBytes: int64(len(stdout)), Said: got.Said, Cost: got.Cost,
		CostEstimated: got.CostEstimated,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// Without a closing event the messages report the minimum that was spent.
	spent := &ralph.Tokens{Input: 140, Output: 10, CacheRead: 60}
	if diff := cmp.Diff(spent, listen("qwen", []byte(work), whole, exited(1)).Tokens); diff != "" {
		t.Errorf("killed: -want +got:\n%s", diff)
	}
}

func TestQwenAccount(t *testing.T) {
	chosen := func(kind string) map[string]string {
		return map[string]string{"/home/me/.qwen/settings.json": `{"security":{"auth":{"selectedType":"` + kind + `"}}}`}
	}
	oauth := chosen("qwen-oauth")
	oauth["/home/me/.qwen/oauth_creds.json"] = secret
	key := "OPENAI_API_KEY=" + secret
	cases := []struct {
		name string
		in   world
		want Account
	}{
		{"nothing", world{env: []string{key}}, Account{
			Login: LoggedOut, Billing: BillingUnknown,
			Because: "no login was chosen, and OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL are not all set",
		}},
		{"environment", world{env: []string{key, "OPENAI_BASE_URL=x", "QWEN_MODEL=m"}}, Account{
			Login: LoggedIn, Billing: BillingKey, Because: "OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL are set",
		}},
		{"key", world{env: []string{key}, files: chosen("openai")}, Account{
			Login: LoggedIn, Billing: BillingKey, Because: "OPENAI_API_KEY is set",
		}},
		{"key elsewhere", world{files: chosen("openai")}, Account{
			Login: LoginUnknown, Billing: BillingKey, Because: "settings.json chooses openai",
		}},
		{"account", world{files: oauth}, Account{
			Login: LoggedIn, Billing: BillingSubscription,
			Because: "a Qwen account was chosen, and oauth_creds.json exists",
		}},
		{"account without a token", world{files: chosen("qwen-oauth")}, Account{
			Login: LoggedOut, Billing: BillingSubscription,
			Because: "a Qwen account was chosen, and there is no oauth_creds.json",
		}},
		{"another home", world{env: []string{"QWEN_HOME=/q"}, files: map[string]string{
			"/q/settings.json": `{"security":{"auth":{"selectedType":"anthropic"}}}`,
		}},
			Account{Login: LoginUnknown, Billing: BillingKey, Because: "settings.json chooses anthropic"}},
		{"another maker's key", world{env: []string{"GEMINI_API_KEY=" + secret}}, Account{
			Login: LoginUnknown, Billing: BillingUnknown, Because: "no login was chosen, but GEMINI_API_KEY is set",
		}},
		{"env file", world{files: map[string]string{"/home/me/.env": key}}, Account{
			Login: LoginUnknown, Billing: BillingUnknown, Because: "an .env file may contain a key",
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { checkAccount(t, qwen{}, c.in, c.want) })
	}
}

func FuzzQwen(f *testing.F) { fuzzReader(f, "qwen") }

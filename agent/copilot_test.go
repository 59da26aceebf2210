package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/process"
)

const (
	copilotStart = `{"type":"assistant.turn_start","data":{"turnId":"0"}}` + "\n"
	copilotAbort = `{"type":"abort","data":{"reason":"user_initiated"}}` + "\n"
	copilotGood  = `{"type":"result","sessionId":"s1","exitCode":0}` + "\n"
	copilotBad   = `{"type":"result","sessionId":"s1","exitCode":1}` + "\n"
)

func copilotSays(text string) string {
	return `{"type":"assistant.message","data":{"model":"gpt","content":"` + text + `","toolRequests":[]}}` + "\n"
}

func copilotFails(fields string) string { return `{"type":"session.error","data":{` + fields + "}}\n" }

func copilotRetry(fields string) string {
	return `{"type":"model.call_failure","data":{` + fields + "}}\n"
}

func FuzzCopilot(f *testing.F) { fuzzReader(f, "copilot") }

func TestCopilotEndings(t *testing.T) {
	hello := copilotStart + copilotSays("rate limit 429, statusCode 401, transport")
	noAnswer := copilotFails(`"errorType":"query","message":"No response was returned."`)
	lost := copilotRetry(`"failureKind":"transport","errorMessage":"\"cut\""`)
	cases := []struct {
		name, stdout string
		status       int
		want         ending
	}{
		{"good", hello + copilotGood, 0, ending{End: ralph.EndOK}},
		{"good event, bad status", hello + copilotGood, 1, ending{
			End: ralph.EndFailed, Error: "the agent ended with exit status 1",
		}},
		{"bad event, good status", hello + copilotBad, 0, ending{
			End: ralph.EndFailed, Error: "the agent ended with an error",
		}},
		{"no words", copilotStart + copilotGood, 0, ending{End: ralph.EndEmpty, Error: "the agent wrote no message"}},
		{"no words and an error", copilotStart + copilotSays("") + noAnswer + copilotBad, 1, ending{
			End: ralph.EndEmpty, Error: "the agent's last turn was empty",
		}},
		{"no last words", hello + copilotSays(" ") + noAnswer + copilotBad, 1, ending{
			End: ralph.EndEmpty, Error: "the agent's last turn was empty",
		}},
		{"words and an error", hello + noAnswer + copilotBad, 1, ending{
			End: ralph.EndFailed, Error: "the agent ended with an error: No response was returned.",
		}},
		{"no closing event", hello, 0, ending{End: ralph.EndFailed, Error: "the agent ended without a result"}},
		{"nothing but its start", `{"type":"session.info","data":{}}` + "\n", 0, ending{
			End: ralph.EndFailed, Error: "the agent ended without a result",
		}},
		{"refused", copilotFails(`"errorType":"authentication","message":"bad\n key","statusCode":401`) + copilotBad, 1,
			ending{End: ralph.EndAuth, Error: "the login was refused (status 401): bad key", Hint: copilotLogin}},
		{"an error without a status", lost + copilotFails(`"errorType":"query","message":"gave up"`) + copilotBad, 1,
			ending{End: ralph.EndProvider, Error: "the model could not be reached: gave up"}},
		{"a status known from before", copilotRetry(`"failureKind":"api","statusCode":400`) + copilotFails(
			`"errorType":"query","message":"gave up"`,
		) + copilotBad, 1,
			ending{End: ralph.EndFailed, Error: "the model refused (status 400): gave up"}},
		{"retried, then good", lost + hello + copilotGood, 0, ending{End: ralph.EndOK}},
		{"retried, then another error", lost + hello + copilotFails(`"errorType":"query","message":"odd"`) + copilotBad, 1,
			ending{End: ralph.EndFailed, Error: "the agent ended with an error: odd"}},
		{"died while retrying", hello + lost, 1, ending{
			End: ralph.EndProvider, Error: "the model could not be reached: cut",
		}},
		{
			"an error that it got over", copilotFails(`"errorType":"query","message":"odd"`) + hello + copilotGood, 0,
			ending{End: ralph.EndOK},
		},
		{
			"a sub-agent's error",
			hello + `{"type":"session.error","data":{"message":"odd"},"agentId":"a"}` + "\n" + copilotGood, 0,
			ending{End: ralph.EndOK},
		},
		{"interrupted", hello + copilotAbort + copilotGood, 0, ending{
			End: ralph.EndKilled, Error: "the agent was interrupted",
		}},
		{
			"a sub-agent interrupted", `{"type":"abort","data":{},"agentId":"a"}` + "\n" + hello + copilotGood, 0,
			ending{End: ralph.EndOK},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, endingOf(listen("copilot", []byte(c.stdout), 100, exited(c.status)))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestTrapCopilotEndsWellWhenItIsEnded: at TERM it prints a successful result and exits with 0.
func TestTrapCopilotEndsWellWhenItIsEnded(t *testing.T) {
	stdout := copilotStart + copilotSays("half of it") + copilotAbort + copilotGood
	cases := map[string]struct {
		end  ended
		want ending
	}{
		"time-out": {ended{Result: process.Result{State: process.TimedOut}, timeout: time.Minute}, ending{
			End: ralph.EndTimeout, Error: "timed out after 1m0s",
		}},
		"silence": {ended{Result: process.Result{State: process.Idle}, idle: time.Minute}, ending{
			End: ralph.EndIdle, Error: "killed after 1m0s without any output",
		}},
		"the run's end": {ended{Result: process.Result{State: process.Canceled}, interrupted: true}, ending{
			End: ralph.EndInterrupted, Error: "interrupted",
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, endingOf(listen("copilot", []byte(stdout), whole, c.end))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestCopilotFaults(t *testing.T) {
	cases := []struct {
		failure copilotFailure
		want    stream.Fault
	}{
		{copilotFailure{ErrorType: "query", Message: "no", Status: 401}, stream.Fault{
			Class: ralph.EndAuth, Text: "the login was refused (status 401): no", Hint: copilotLogin,
		}},
		{copilotFailure{ErrorType: "query", Message: "no", Status: 403}, stream.Fault{
			Class: ralph.EndAuth, Text: "the login was refused (status 403): no", Hint: copilotLogin,
		}},
		{copilotFailure{ErrorType: "authorization", Message: "", Status: 0}, stream.Fault{
			Class: ralph.EndAuth, Text: "the login was refused", Hint: copilotLogin,
		}},
		{copilotFailure{ErrorType: "query", Message: "no", Status: 429}, stream.Fault{
			Class: ralph.EndLimit, Text: "the usage limit is reached (status 429): no",
		}},
		{copilotFailure{ErrorType: "rate_limit", Message: "no", Status: 0}, stream.Fault{
			Class: ralph.EndLimit, Text: "the usage limit is reached: no",
		}},
		{copilotFailure{ErrorType: "quota", Message: "no", Status: 402}, stream.Fault{
			Class: ralph.EndLimit, Text: "the account's credit is used up (status 402): no", Hint: stream.CreditHint,
		}},
		{copilotFailure{ErrorType: "query", Message: "no", Status: 503}, stream.Fault{
			Class: ralph.EndProvider, Text: "the model is overloaded (status 503): no",
		}},
		{copilotFailure{ErrorType: "query", Message: "no", Status: 529}, stream.Fault{
			Class: ralph.EndProvider, Text: "the model is overloaded (status 529): no",
		}},
		{copilotFailure{ErrorType: "api", Message: "no", Status: 502}, stream.Fault{
			Class: ralph.EndProvider, Text: "the model failed (status 502): no",
		}},
		{copilotFailure{ErrorType: "transport", Message: `"no"`, Status: 0}, stream.Fault{
			Class: ralph.EndProvider, Text: "the model could not be reached: no",
		}},
		{copilotFailure{ErrorType: "context_limit", Message: "no", Status: 400}, stream.Fault{
			Class: ralph.EndFailed, Text: "the context is too long for the model (status 400): no",
		}},
		{copilotFailure{ErrorType: "query", Message: "no", Status: 404}, stream.Fault{
			Class: ralph.EndModel, Text: "the model's server does not know the model (status 404): no",
		}},
		{copilotFailure{ErrorType: "policy", Message: "no", Status: 0}, stream.Fault{
			Class: ralph.EndFailed, Text: "the agent ended with an error: no",
		}},
		{copilotFailure{}, stream.Fault{Class: ralph.EndFailed, Text: "the agent ended with an error"}},
	}
	for _, c := range cases {
		if got := *c.failure.fault(); got != c.want {
			t.Errorf("%+v:\ngot  %+v\nwant %+v", c.failure, got, c.want)
		}
	}
}

func TestCopilotFigures(t *testing.T) {
	begins := func(id, tool, arguments, agent string) string {
		return `{"type":"tool.execution_start","data":{"toolCallId":"` + id + `","toolName":"` + tool +
			`","arguments":{` + arguments + `}}` + agent + "}\n"
	}
	ends := func(id, code, agent string) string {
		return `{"type":"tool.execution_complete","data":{"toolCallId":"` + id +
			`","success":false,"error":{"message":"x","code":"` + code + `"}}` + agent + "}\n"
	}
	const sub = `,"agentId":"a1"`
	stdout := copilotStart + begins("c1", "bash", `"description":"build","command":"make all"`, "") +
		begins(
			"c1", "view", `"path":"/etc/hosts"`, sub,
		) + ends("c1", "denied", sub) + ends("c1", "failure", "") + ends("c9", "denied", "") +
		`{"type":"assistant.turn_start","data":{"parentToolCallId":"c1"}}` + "\n" + copilotRetry(
		`"statusCode":500,"errorMessage":"oops"`,
	) +
		copilotStart + copilotSays("hello") + copilotGood
	got, live := listenLive("copilot", []byte(stdout), 100, exited(0))
	steps := 2
	want := ralph.AgentOutcome{
		Agent: "copilot", End: ralph.EndOK, Steps: &steps, Tools: map[string]int{"bash": 1, "view": 1},
		Denials: []string{"view: /etc/hosts", "a call"},
		Allow:   []string{"-- --add-dir '/etc'", "--yolo"}, Model: "gpt", Session: "s1",
		OutputBytes: int64(len(stdout)), Said: got.Said,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	wantLive := []ralph.Activity{
		{Kind: "tool", Name: "bash", Detail: "make all"},
		{Kind: "tool", Name: "view", Detail: "/etc/hosts"},
		{Kind: "retry", Detail: "the model failed (status 500): oops"},
		{Kind: "text", Detail: "hello"},
	}
	if diff := cmp.Diff(wantLive, live); diff != "" {
		t.Errorf("live -want +got:\n%s", diff)
	}
}

func TestCopilotTokens(t *testing.T) {
	cases := []struct {
		name, text string
		want       *ralph.Tokens
	}{
		{"two models", `{"modelMetrics":{
			"a":{"requests":{"count":2},"usage":{"inputTokens":2600,"outputTokens":100,"cacheReadTokens":600,
				"cacheWriteTokens":50,"reasoningTokens":20}},
			"b":{"usage":{"inputTokens":10,"outputTokens":1}}},
			"agentMetrics":{"main":{"modelMetrics":{"a":{"usage":{"inputTokens":2600}}}}},"lastCallInputTokens":9}`,
			&ralph.Tokens{Input: 1960, Output: 101, CacheRead: 600, CacheWrite: 50}},
		{
			"more from the cache than there is",
			`{"modelMetrics":{"a":{"usage":{"inputTokens":10,"cacheReadTokens":600}}}}`, &ralph.Tokens{CacheRead: 600},
		},
		{"nothing used", `{"modelMetrics":{}}`, nil},
		{"empty", "", nil},
		{"cut", `{"modelMetrics":{"a":{"usage":{"inputTokens":10`, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, copilotTokens([]byte(c.text))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestCopilotLeavesItsFiguresInAFile plays a CLI that writes the requested file.
func TestCopilotLeavesItsFiguresInAFile(t *testing.T) {
	s := newStage(t, "copilot", samples["copilot"], "0")
	s.options.Path = filepath.Join(t.TempDir(), "copilot")
	script := "#!/bin/sh\nwhile [ \"$1\" != --usage-output-file ]; do shift; done\n" +
		`echo '{"modelMetrics":{"gpt":{"usage":{"inputTokens":12,"outputTokens":3,"cacheReadTokens":2}}}}' > "$2"` + "\n" +
		"cat <<'END'\n" + samples["copilot"] + "END\n"
	if err := os.WriteFile(s.options.Path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	var spent []ralph.Activity
	s.input.Live = func(a ralph.Activity) {
		if a.Kind == "spent" {
			spent = append(spent, a)
		}
	}
	want := &ralph.Tokens{Input: 10, Output: 3, CacheRead: 2}
	if got := s.run(t.Context(), t); got.End != ralph.EndOK || !cmp.Equal(want, got.Tokens) {
		t.Errorf("got %+v with %+v", got, got.Tokens)
	}
	if diff := cmp.Diff([]ralph.Activity{{Kind: "spent", Tokens: want}}, spent); diff != "" {
		t.Errorf("live -want +got:\n%s", diff)
	}
}

// TestCopilotFiguresOfAnotherRunAreNotTaken: the file is emptied before the CLI starts.
func TestCopilotFiguresOfAnotherRunAreNotTaken(t *testing.T) {
	s := newStage(t, "copilot", samples["copilot"], "0")
	old := filepath.Join(s.input.Folder, copilotUsage)
	if err := os.WriteFile(old, []byte(`{"modelMetrics":{"gpt":{"usage":{"inputTokens":12}}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := s.run(t.Context(), t); got.End != ralph.EndOK || got.Tokens != nil {
		t.Errorf("got %+v with %+v", got, got.Tokens)
	}
}

func TestCopilotRules(t *testing.T) {
	cases := []struct {
		line string
		want []string
	}{
		{"go test ./...", []string{"shell(go test)"}},
		{" CGO_ENABLED=0 A=b go test ./... ", []string{"shell(go test)"}},
		{"make lint", []string{"shell(make)"}},
		{"./check.sh --all", []string{"shell(./check.sh)"}},
		{"cd web && npm run lint; npm test | tail -3 || true", []string{
			"shell(npm run)", "shell(npm test)", "shell(tail)", "shell(true)",
		}},
		{"git -C x status", nil},
		{"go", nil},
		{"bash -c 'make'", nil},
		{"make && sh run.sh", nil},
		{"timeout 60 go test ./...", nil},
		{"/bin/sh run.sh", nil},
		{"grep 'a; rm b' c", nil},
		{`grep "a" b`, []string{"shell(grep)"}},
		{"make $(cat x)", nil},
		{"make\nrm x", nil},
		{`"my tool" x`, nil},
		{"make 2>&1 | tee log.txt", []string{"shell(make)", "shell(tee)"}},
		{"make & cargo test", []string{"shell(make)", "shell(cargo test)"}},
		{"go test -run 'A' 2>&1", []string{"shell(go test)"}},
		{"make # lint; rm x", nil},
		{"A=1", nil},
		{"", nil},
	}
	for _, c := range cases {
		if diff := cmp.Diff(c.want, copilotRules(c.line)); diff != "" {
			t.Errorf("%q: -want +got:\n%s", c.line, diff)
		}
	}
}

func TestCopilotAllows(t *testing.T) {
	cases := []struct {
		call openCall
		want string
	}{
		{openCall{"bash", "mkdir -p a && npm ci"}, "-- --allow-tool='shell(mkdir)' --allow-tool='shell(npm ci)'"},
		{openCall{"bash", "bash x.sh"}, "--yolo"},
		{openCall{"bash", "make || { rm x; }"}, "--yolo"},
		{openCall{"bash", "curl http://x"}, "--yolo"},
		{openCall{"view", "/etc/it's"}, "-- --add-dir '/etc'"},
		{openCall{"web_fetch", "https://x/y"}, "-- --allow-url='https://x/y'"},
		{openCall{"server-tool", ""}, "--yolo"},
	}
	for _, c := range cases {
		if got := copilotAllows(c.call); got != c.want {
			t.Errorf("%+v: got %s, want %s", c.call, got, c.want)
		}
	}
}

func TestCopilotCommandLines(t *testing.T) {
	cases := []struct {
		name    string
		request Request
		want    Command
	}{
		{
			"edit mode may run the checks",
			Request{PromptFile: "p", Folder: "f", Permissions: PermitEdits, AllowedCommands: []string{
				"go test ./...", "go test ./a", "make lint", "sh x",
			}},
			Command{
				Argv: []string{
					"copilot",
					"--output-format",
					"json",
					"--no-ask-user",
					"--usage-output-file",
					filepath.Join("f", copilotUsage),
					"--allow-tool=write",
					"--allow-tool=shell(go test)",
					"--allow-tool=shell(make)",
					"--disable-builtin-mcps",
				},
				Env:   []string{"COPILOT_ALLOW_ALL=false"},
				Stdin: "p",
				Files: []File{{Path: filepath.Join("f", copilotUsage)}},
			},
		},
		{
			"everything allowed, settings inherited",
			Request{
				Program:         "/opt/copilot",
				PromptFile:      "p",
				Model:           "gpt",
				Permissions:     PermitAll,
				InheritSettings: true,
				AllowedCommands: []string{"make"},
				ExtraArgs:       []string{"--context", "long_context"},
			},
			Command{
				Argv: []string{
					"/opt/copilot", "--output-format", "json", "--no-ask-user", "--allow-all", "--model", "gpt", "--context",
					"long_context",
				},
				Stdin: "p",
			},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := copilot{}.Command(c.request)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestCopilotAccount(t *testing.T) {
	cases := []struct {
		name string
		look Look
		want Account
	}{
		{"nothing", lookAt("linux", nil, nil), Account{Login: LoginUnknown, Billing: BillingUnknown}},
		{"a model of one's own", lookAt("linux", map[string]string{"COPILOT_PROVIDER_BASE_URL": "http://x"}, nil),
			Account{Login: LoggedIn, Billing: BillingKey, Because: "COPILOT_PROVIDER_BASE_URL is set"}},
		{"a token", lookAt("linux", map[string]string{"COPILOT_GITHUB_TOKEN": "secret"}, nil),
			Account{Login: LoggedIn, Billing: BillingSubscription, Because: "COPILOT_GITHUB_TOKEN is set"}},
		{"a token that does not pass", lookAt("linux", map[string]string{"GH_TOKEN": "secret"}, nil),
			Account{
				Login: LoginUnknown, Billing: BillingUnknown,
				Warning: "GH_TOKEN and GITHUB_TOKEN do not reach the agent; COPILOT_GITHUB_TOKEN does",
			}},
		{"an account", lookAt("linux", nil, map[string]string{
			filepath.Join("/home/u", ".copilot", "config.json"): "// x\n" + `{"loggedInUsers": [ {"login":"u"}]}`,
		}),
			Account{Login: LoggedIn, Billing: BillingSubscription, Because: "config.json has an account"}},
		{"no account", lookAt("linux", nil, map[string]string{
			filepath.Join("/home/u", ".copilot", "config.json"): `{"loggedInUsers":[]}`,
		}),
			Account{Login: LoginUnknown, Billing: BillingUnknown}},
		{"an account elsewhere", lookAt("linux", map[string]string{"COPILOT_HOME": "/c"}, map[string]string{
			filepath.Join("/c", "config.json"): `{"logged_in_users":[{}]}`,
		}),
			Account{Login: LoggedIn, Billing: BillingSubscription, Because: "config.json has an account"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := copilotAccount(c.look); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestCopilotLongLines(t *testing.T) {
	filler := strings.Repeat(`all work and no play\n`, stream.MaxLine/20)
	cases := []struct {
		name, line string
		want       func(*ralph.AgentOutcome)
	}{
		{
			"a tool's input",
			`{"type":"tool.execution_start","data":{"toolCallId":"c9","toolName":"create",` +
				`"arguments":{"path":"a","file_text":"` + filler + `"}}}`,
			func(o *ralph.AgentOutcome) { o.Tools["create"]++ },
		},
		{
			"a tool's output",
			`{"type":"tool.execution_complete","data":{"toolCallId":"c1","success":true,"result":{"content":"` + filler + `"}}}`,
			func(*ralph.AgentOutcome) {},
		},
		{"what nobody reads", `{"type":"tool.shell_output","data":{"text":"` + filler + `"}}`, func(*ralph.AgentOutcome) {}},
		{
			"words before calls",
			`{"type":"assistant.message","data":{"content":"<promise>T-2:DONE</promise>","toolRequests":[{"arguments":"` +
				filler + `"}]},"agentId":"a1"}`,
			lostOne,
		},
		{"words", `{"type":"assistant.message","data":{"content":"` + filler + `"}}`, lostOne},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			want := sizeless(listen("copilot", []byte(samples["copilot"]), whole, exited(0)))
			c.want(&want)
			got := listen("copilot", []byte(c.line+"\n"+samples["copilot"]), 32<<10, exited(0))
			if diff := cmp.Diff(want, sizeless(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

package agent

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
)

const opencodeStart = `{"type":"step_start","sessionID":"s1","part":{"type":"step-start"}}` + "\n"

func opencodeSays(text string) string {
	quoted, _ := json.Marshal(text)
	return `{"type":"text","sessionID":"s1","part":{"type":"text","text":` + string(quoted) + `}}` + "\n"
}

func opencodeStops(reason string) string {
	return `{"type":"step_finish","sessionID":"s1","part":{"reason":"` + reason +
		`","tokens":{"input":10,"output":1},"cost":0}}` + "\n"
}

func opencodeFails(failure string) string {
	return `{"type":"error","sessionID":"s1","error":` + failure + "}\n"
}

func opencodeTool(fields string) string {
	return `{"type":"tool_use","sessionID":"s1","part":{"type":"tool","tool":"bash","state":{` + fields + `}}}` + "\n"
}

func FuzzOpencode(f *testing.F) { fuzzReader(f, "opencode") }

func TestOpencodeEndings(t *testing.T) {
	hello := opencodeStart + opencodeSays("rate limit 429, statusCode 401, stream was cut")
	cut := opencodeStart + opencodeSays("I have ") + opencodeStops("unknown")
	tool := opencodeStart + opencodeTool(`"status":"completed","input":{"command":"make"}`) + opencodeStops("tool-calls")
	refused := opencodeFails(`{"name":"APIError","data":{"message":"no","statusCode":401}}`)
	unknown := opencodeFails(`{"name":"UnknownError","data":{"message":"see the logs"}}`)
	stopped := ending{End: ralph.EndFailed, Error: "the agent ended without a result"}
	cutOnce := ending{End: ralph.EndProvider, Error: "the model's stream was cut"}
	auth := ending{End: ralph.EndAuth, Error: "the login was refused (status 401): no", Hint: opencodeLogin}
	cases := []struct {
		name, stdout string
		status       int
		want         ending
	}{
		{"good", hello + opencodeStops("stop"), 0, ending{End: ralph.EndOK}},
		{"at its longest", hello + opencodeStops("length"), 0, ending{End: ralph.EndOK}},
		{"good end, bad status", hello + opencodeStops("stop"), 1, ending{
			End: ralph.EndFailed, Error: "the agent ended with exit status 1",
		}},
		{"no words", opencodeStart + opencodeStops("stop"), 0, ending{
			End: ralph.EndEmpty, Error: "the agent wrote no message",
		}},
		{"not its own words", opencodeStart + `{"type":"text","part":{"text":"hi","synthetic":true}}` + "\n" +
			opencodeStops("stop"), 0,
			ending{End: ralph.EndEmpty, Error: "the agent wrote no message"}},
		{"went on after its end", hello + opencodeStops("stop") + opencodeStart, 0, stopped},
		{"gone before the end of a step", hello, 0, stopped},
		{"gone after a tool", hello + tool, 0, stopped},
		{"cut once", cut, 0, cutOnce},
		{"cut, then good", cut + hello + opencodeStops("stop"), 0, ending{End: ralph.EndOK}},
		{"cut, but busy in between", cut + cut + tool + cut + cut, 0, cutOnce},
		{"cut repeatedly", cut + cut + cut + hello + opencodeStops("stop"), 0, ending{
			End: ralph.EndProvider, Error: "the model's stream was cut repeatedly",
		}},
		{"no reason at all", strings.Repeat(opencodeStart+opencodeStops(""), 3), 143, ending{
			End: ralph.EndProvider, Error: "the model's stream was cut repeatedly",
		}},
		{"an answer that failed", hello + opencodeStops("error"), 0, ending{
			End: ralph.EndProvider, Error: "the model's answer ended with an error",
		}},
		{"refused", refused, 1, auth},
		{"refused with status 0", hello + refused, 0, auth},
		{"a vague error after a clear one", refused + unknown, 1, auth},
		{"a clear error after a vague one", unknown + refused, 1, auth},
		{"a vague error", unknown, 1, ending{
			End: ralph.EndFailed, Error: "the agent ended with an error: see the logs", Hint: opencodeModel,
		}},
		{"an error that it got over", refused + hello + opencodeStops("stop"), 0, ending{End: ralph.EndOK}},
		{"turned down", opencodeStart + opencodeTool(
			`"status":"error","input":{"command":"rm x"},"error":"The user rejected permission to use this specific tool call."`,
		) + opencodeStops("tool-calls"), 0,
			ending{End: ralph.EndFailed, Error: "the agent stopped at a call that was not allowed: bash: rm x"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, endingOf(listen("opencode", []byte(c.stdout), 100, exited(c.status)))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestOpencodeFaults(t *testing.T) {
	api := func(status, headers string) string {
		return `{"name":"APIError","data":{"message":"no\nway","statusCode":` + status +
			`,"isRetryable":true,"responseHeaders":{` + headers + `}}}`
	}
	limit := func(wait time.Duration) stream.Fault {
		return stream.Fault{Class: ralph.EndLimit, Text: "the usage limit is reached (status 429): no way", Wait: wait}
	}
	cases := []struct {
		failure string
		want    stream.Fault
	}{
		{api("401", ""), stream.Fault{
			Class: ralph.EndAuth, Text: "the login was refused (status 401): no way", Hint: opencodeLogin,
		}},
		{api("403", ""), stream.Fault{
			Class: ralph.EndAuth, Text: "the login was refused (status 403): no way", Hint: opencodeLogin,
		}},
		{`{"name":"ProviderAuthError","data":{"providerID":"x","message":"expired"}}`, stream.Fault{
			Class: ralph.EndAuth, Text: "the login was refused: expired", Hint: opencodeLogin,
		}},
		{api("429", ""), limit(0)},
		{api("429", `"retry-after":"90"`), limit(90 * time.Second)},
		{api("429", `"retry-after":"90","retry-after-ms":"1500"`), limit(1500 * time.Millisecond)},
		{
			api("429", `"retry-after":"Sun, 15 Nov 2026 15:00:00 GMT","date":"Sun, 15 Nov 2026 12:30:00 GMT"`),
			limit(150 * time.Minute),
		},
		{api("429", `"retry-after":"Sun, 15 Nov 2026 12:00:00 GMT","date":"Sun, 15 Nov 2026 12:30:00 GMT"`), limit(0)},
		{api("429", `"retry-after":"Sun, 15 Nov 2026 15:00:00 GMT"`), limit(0)},
		{api("429", `"retry-after":"-5"`), limit(0)},
		{api("429", `"retry-after":"1e30"`), limit(365 * 24 * time.Hour)},
		{api("500", ""), stream.Fault{Class: ralph.EndProvider, Text: "the model failed (status 500): no way"}},
		{api("408", ""), stream.Fault{Class: ralph.EndProvider, Text: "the model failed (status 408): no way"}},
		{api("503", `"retry-after":"9"`), stream.Fault{
			Class: ralph.EndProvider, Text: "the model is overloaded (status 503): no way",
		}},
		{api("529", ""), stream.Fault{Class: ralph.EndProvider, Text: "the model is overloaded (status 529): no way"}},
		{api("402", ""), stream.Fault{
			Class: ralph.EndLimit, Text: "the account's credit is used up (status 402): no way", Hint: stream.CreditHint,
		}},
		{api("404", ""), stream.Fault{
			Class: ralph.EndModel, Text: "the model's server does not know the model (status 404): no way",
		}},
		{api("418", ""), stream.Fault{Class: ralph.EndFailed, Text: "the model refused (status 418): no way"}},
		{`{"name":"APIError","data":{"message":"no connection","isRetryable":true}}`, stream.Fault{
			Class: ralph.EndProvider, Text: "the model could not be reached: no connection",
		}},
		{`{"name":"APIError","data":{"message":"odd","isRetryable":false}}`, stream.Fault{
			Class: ralph.EndFailed, Text: "the agent ended with an error: odd",
		}},
		{`{"name":"ContextOverflowError","data":{"message":"too much"}}`, stream.Fault{
			Class: ralph.EndFailed, Text: "the context is too long for the model: too much",
		}},
		{`{"name":"MessageOutputLengthError","data":{}}`, stream.Fault{
			Class: ralph.EndFailed, Text: "the agent ended with an error: MessageOutputLengthError",
		}},
		{`"what"`, stream.Fault{Class: ralph.EndFailed, Text: "the agent ended with an error"}},
		{``, stream.Fault{Class: ralph.EndFailed, Text: "the agent ended with an error"}},
	}
	for _, c := range cases {
		var e opencodeError
		stream.Decode([]byte(c.failure), &e)
		if got := *e.fault(); got != c.want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", c.failure, got, c.want)
		}
	}
}

func TestOpencodeFigures(t *testing.T) {
	finish := func(reason, cost string) string {
		return `{"type":"step_finish","part":{"reason":"` + reason +
			`","tokens":{"total":66,"input":10,"output":5,"reasoning":1,"cache":{"read":30,"write":20}},"cost":` + cost + "}}\n"
	}
	denied := `"The user has specified a rule which prevents you from using this specific tool call. ` +
		`Here are some of the relevant rules [{\"permission\":\"external_directory\"}]"`
	stdout := opencodeStart +
		opencodeTool(`"status":"completed","input":{"description":"build","command":"make all"},"output":"x"`) +
		opencodeTool(`"status":"error","input":{"command":"false"},"error":"it failed"`) +
		`{"type":"tool_use","part":{"tool":"read","state":{"status":"error","input":{"filePath":"/etc/hosts"},"error":` +
		denied + "}}}\n" +
		finish("tool-calls", "0.25") + opencodeStart + opencodeSays("hello") + finish("stop", "0.5")
	got, live := listenLive("opencode", []byte(stdout), 100, exited(0))
	steps, cost, half := 2, 0.75, 0.25
	one := ralph.Tokens{Input: 10, Output: 6, CacheRead: 30, CacheWrite: 20}
	both := ralph.Tokens{Input: 20, Output: 12, CacheRead: 60, CacheWrite: 40}
	want := ralph.AgentOutcome{
		Agent: "opencode", End: ralph.EndOK, Steps: &steps, Cost: &cost, Tokens: &both,
		Tools:   map[string]int{"bash": 2, "read": 1},
		Denials: []string{"read: /etc/hosts"},
		Allow: []string{
			`--yolo, or put this into opencode.json: {"agent":{"build":` +
				`{"permission":{"external_directory":{"/etc/*":"allow"}}}}}`,
		},
		Session: "s1", OutputBytes: int64(len(stdout)), Said: got.Said,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	wantLive := []ralph.Activity{
		{Kind: "tool", Name: "bash", Detail: "make all"},
		{Kind: "tool", Name: "bash", Detail: "false"},
		{Kind: "tool", Name: "read", Detail: "/etc/hosts"},
		{Kind: "spent", Cost: &half, Tokens: &one},
		{Kind: "text", Detail: "hello"},
		{Kind: "spent", Cost: &cost, Tokens: &both},
	}
	if diff := cmp.Diff(wantLive, live); diff != "" {
		t.Errorf("live -want +got:\n%s", diff)
	}
}

// TestOpencodeWithoutPrice: a model without a price is not free.
func TestOpencodeWithoutPrice(t *testing.T) {
	got := listen("opencode", []byte(opencodeStart+opencodeSays("hi")+opencodeStops("stop")), whole, exited(0))
	if got.Cost != nil || got.Tokens == nil || got.Tokens.Total() != 11 {
		t.Errorf("cost %v, tokens %v", got.Cost, got.Tokens)
	}
}

func TestOpencodeAllows(t *testing.T) {
	const config = `--yolo, or put this into opencode.json: {"agent":{"build":{"permission":{`
	outside := `{"permission":"external_directory"}`
	cases := []struct{ tool, detail, complaint, want string }{
		{"bash", "npm test", "", config + `"bash":{"npm test":"allow"}}}}}`},
		{"bash", `echo "x"`, "", config + `"bash":{"echo \"x\"":"allow"}}}}}`},
		{"bash", "npm test | tail", "", "--yolo"},
		{"bash", "", "", "--yolo"},
		{"bash", "cat /etc/hosts", outside, "--yolo"},
		{"read", "/etc/hosts", outside, config + `"external_directory":{"/etc/*":"allow"}}}}}`},
		{"webfetch", "http://x", "", config + `"webfetch":"allow"}}}}`},
	}
	for _, c := range cases {
		if got := opencodeAllows(c.tool, c.detail, c.complaint); got != c.want {
			t.Errorf("%s %q:\ngot  %s\nwant %s", c.tool, c.detail, got, c.want)
		}
	}
}

func TestOpencodeCommandLines(t *testing.T) {
	quiet := []string{
		"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1",
		"OPENCODE_DISABLE_SHARE=1",
	}
	with := func(rules string) []string { return append([]string{"OPENCODE_PERMISSION=" + rules}, quiet...) }
	const free = `{"?*":"deny","?ead":"allow","?dit":"allow","?lob":"allow","?rep":"allow","?ist":"allow","?sp":"allow",` +
		`"?odoread":"allow","?odowrite":"allow","?ask":"allow","?kill":"allow","?ash":{"*":"deny"`
	cases := []struct {
		name    string
		request Request
		want    Command
	}{
		{
			"edit mode may run the checks",
			Request{PromptFile: "p", Dir: "/w", Permissions: PermitEdits, AllowedCommands: []string{
				"go test ./...", " ", ` grep "x" `,
			}},
			Command{
				Argv: []string{
					"opencode", "run", "--format", "json", "--title", "ralph", "--dir", "/w", "--pure", "--agent", "build",
				},
				Env: with(
					free + `,"go test ./... *":"allow","grep \"x\" *":"allow","*` + "`" +
						`*":"deny","*$(*":"deny","go test ./...":"allow","grep \"x\"":"allow"}}`,
				),
				Stdin: "p",
			},
		},
		{
			"without checks",
			Request{PromptFile: "p", Permissions: PermitEdits, Model: "a/b", ExtraArgs: []string{"--variant", "high"}},
			Command{
				Argv: []string{
					"opencode", "run", "--format", "json", "--title", "ralph", "--pure", "--agent", "build", "--model", "a/b",
					"--variant", "high",
				},
				Env: with(free + "}}"), Stdin: "p",
			},
		},
		{
			"everything allowed, settings inherited",
			Request{
				Program: "/opt/oc", PromptFile: "p", Dir: "not/absolute", Permissions: PermitAll,
				AllowedCommands: []string{"make"}, InheritSettings: true,
			},
			Command{
				Argv: []string{"/opt/oc", "run", "--format", "json", "--title", "ralph", "--auto"},
				Env:  with(`{"?*":"allow"}`), Stdin: "p",
			},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := opencode{}.Command(c.request)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestOpencodeAccount(t *testing.T) {
	const file = "/home/u/.local/share/opencode/auth.json"
	cases := []struct {
		name string
		look Look
		want Account
	}{
		{"nothing", lookAt("linux", nil, nil), Account{Login: LoginUnknown, Billing: BillingUnknown}},
		{
			"keys",
			lookAt("linux", nil, map[string]string{file: `{"b":{"type":"api","key":"secret"},"a":{"type":"api"}}`}),
			Account{Login: LoggedIn, Billing: BillingKey, Because: "auth.json has a, b"},
		},
		{"a subscription", lookAt("linux", nil, map[string]string{file: `{"a":{"type":"oauth"}}`}), Account{
			Login: LoggedIn, Billing: BillingSubscription, Because: "auth.json has a",
		}},
		{
			"both", lookAt("linux", nil, map[string]string{file: `{"a":{"type":"oauth"},"b":{"type":"api"}}`}),
			Account{Login: LoggedIn, Billing: BillingUnknown, Because: "auth.json has a, b"},
		},
		{"elsewhere", lookAt("linux", map[string]string{"XDG_DATA_HOME": "/d"}, map[string]string{
			"/d/opencode/auth.json": `{"a":{"type":"api"}}`,
		}),
			Account{Login: LoggedIn, Billing: BillingKey, Because: "auth.json has a"}},
		{"in a variable", lookAt("linux", map[string]string{"OPENCODE_AUTH_CONTENT": `{"a":{"type":"wellknown"}}`}, nil),
			Account{Login: LoggedIn, Billing: BillingUnknown, Because: "OPENCODE_AUTH_CONTENT has a"}},
		{"broken file, but a key", lookAt(
			"linux", map[string]string{"OPENROUTER_API_KEY": "secret"}, map[string]string{file: `{`},
		),
			Account{Login: LoggedIn, Billing: BillingKey, Because: "OPENROUTER_API_KEY is set"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := opencodeAccount(c.look); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// TestTrapOpencodeBeginsAgainForEver: it was seen to send 22 requests, none of which used a token.
func TestTrapOpencodeBeginsAgainForEver(t *testing.T) {
	want := ending{End: ralph.EndProvider, Error: "the model's stream was cut repeatedly"}
	tr := loadTranscript(t, "opencode", "cut")
	s := newStage(t, "opencode", string(tr.stdout), "hang")
	if diff := cmp.Diff(want, endingOf(s.run(t.Context(), t))); diff != "" {
		t.Errorf("recorded: -want +got:\n%s", diff)
	}
	step := opencodeStart + opencodeSays("I have started ") + opencodeStops("unknown")
	s = newStage(t, "opencode", "", "0")
	s.options.Path = filepath.Join(t.TempDir(), "opencode")
	script := "#!/bin/sh\nwhile cat <<'END'\n" + step + "END\ndo :; done\n"
	if err := os.WriteFile(s.options.Path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, endingOf(s.run(t.Context(), t))); diff != "" {
		t.Errorf("for ever: -want +got:\n%s", diff)
	}
}

// TestOpencodeThatStaysHasEndedWell: some versions were seen to finish without exiting.
func TestOpencodeThatStaysHasEndedWell(t *testing.T) {
	s := newStage(t, "opencode", samples["opencode"], "hang")
	s.options.Linger = time.Millisecond
	if got := s.run(t.Context(), t); got.End != ralph.EndOK || !got.Said.Complete {
		t.Errorf("got %+v", got)
	}
}

func TestOpencodeThatGoesOnIsNotEnded(t *testing.T) {
	r := &stream.Reading{Live: func(ralph.Activity) {}, Now: time.Now}
	reader := opencode{}.newReader(r)
	r.Hear(ralph.AgentInput{})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	w := &watcher{Reading: r, to: reader, stop: stop, linger: time.Hour}
	_, _ = w.Write([]byte(samples["opencode"]))
	timer := w.timer
	if timer == nil {
		t.Fatal("no timer after the end")
	}
	_, _ = w.Write([]byte(opencodeStart))
	if w.timer != nil || timer.Stop() || ctx.Err() != nil {
		t.Errorf("timer %v, stopped %v", w.timer, ctx.Err())
	}
	_, _ = w.Write([]byte(opencodeStops("stop")))
	if w.timer == nil {
		t.Error("no timer after the second end")
	}
	w.end()
}

func TestOpencodeLongLines(t *testing.T) {
	filler := strings.Repeat(`all work and no play\n`, stream.MaxLine/20)
	cases := []struct {
		name, line string
		want       func(*ralph.AgentOutcome)
	}{
		{
			"a tool's output",
			`{"type":"tool_use","part":{"tool":"bash","state":{"status":"completed","input":{"command":"yes"},` +
				`"output":"` + filler + `"}}}`,
			func(o *ralph.AgentOutcome) { o.Tools["bash"]++ },
		},
		{"thoughts", `{"type":"reasoning","part":{"text":"` + filler + `"}}`, func(*ralph.AgentOutcome) {}},
		{"words", `{"type":"text","part":{"text":"` + filler + `"}}`, lostOne},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			want := sizeless(listen("opencode", []byte(samples["opencode"]), whole, exited(0)))
			c.want(&want)
			got := listen("opencode", []byte(c.line+"\n"+samples["opencode"]), 32<<10, exited(0))
			if diff := cmp.Diff(want, sizeless(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

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
)

const (
	geminiInit = `{"type":"init","session_id":"s1","model":"gemini-2.5-flash"}` + "\n"
	geminiGood = `{"type":"result","status":"success","stats":{"total_tokens":0}}` + "\n"
)

func geminiSays(text string) string {
	quoted, _ := json.Marshal(text)
	return fmt.Sprintf(`{"type":"message","role":"assistant","content":%s,"delta":true}`+"\n", quoted)
}

func geminiFails(message string) string {
	quoted, _ := json.Marshal(message)
	return fmt.Sprintf(`{"type":"result","status":"error","error":{"type":"unknown","message":%s}}`+"\n", quoted)
}

func geminiComplains(message string) string {
	quoted, _ := json.Marshal(message)
	return fmt.Sprintf(
		`{"type":"error","severity":"error","message":%s}`+"\n", quoted,
	) + `{"type":"result","status":"error"}` + "\n"
}

var geminiQuiet = []string{
	"GEMINI_CLI_NO_RELAUNCH=true", "GEMINI_CLI_TRUST_WORKSPACE=true", "GEMINI_TELEMETRY_ENABLED=false",
}

func TestGeminiCommandLines(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths are those of unix")
	}
	policy := func(commands string) string {
		return "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = [\n" + commands +
			"]\ndecision = \"allow\"\npriority = 999\nallowRedirection = true\n"
	}
	cases := []struct {
		name    string
		request Request
		want    Command
	}{
		{
			"edit mode with checks",
			Request{PromptFile: "/p/prompt.md", Folder: "/f", Permissions: PermitEdits, AllowedCommands: []string{
				"go test ./...", " cd web && npm test 2>&1 | tail -5 ",
			}},
			Command{
				Argv: []string{
					"gemini",
					"--output-format",
					"stream-json",
					"--approval-mode",
					"auto_edit",
					"--policy",
					"/f/gemini-policy.toml",
					"--extensions",
					"none",
					"--allowed-mcp-server-names",
					"none",
				},
				Env:   geminiQuiet,
				Stdin: "/p/prompt.md",
				Files: []File{{
					"/f/gemini-policy.toml",
					policy(
						"  \"go test ./...\",\n  \"cd web && npm test 2>&1 | tail -5\",\n  \"cd web\",\n  \"npm test\",\n  " +
							"\"tail -5\",\n",
					),
				}},
			},
		},
		{
			"edit mode without checks",
			Request{PromptFile: "/p/prompt.md", Permissions: PermitEdits, AllowedCommands: []string{" "}},
			Command{
				Argv: []string{
					"gemini", "--output-format", "stream-json", "--approval-mode", "auto_edit", "--extensions", "none",
					"--allowed-mcp-server-names", "none",
				},
				Env: geminiQuiet, Stdin: "/p/prompt.md",
			},
		},
		{
			"the user's settings apply",
			Request{
				PromptFile: "/p/prompt.md", Permissions: PermitEdits, AllowedCommands: []string{`make "a b" \ c`},
				InheritSettings: true,
			},
			Command{
				Argv: []string{
					"gemini", "--output-format", "stream-json", "--approval-mode", "auto_edit", "--policy",
					"/p/gemini-policy.toml",
				},
				Env: geminiQuiet, Stdin: "/p/prompt.md",
				Files: []File{{"/p/gemini-policy.toml", policy("  \"make \\\"a b\\\" \\\\ c\",\n")}},
			},
		},
		{
			"everything allowed",
			Request{
				Program: "/opt/gemini", PromptFile: "p", Model: "gemini-3-pro", Permissions: PermitAll,
				AllowedCommands: []string{"make"}, ExtraArgs: []string{"--debug"},
			},
			Command{
				Argv: []string{
					"/opt/gemini",
					"--output-format",
					"stream-json",
					"--yolo",
					"--extensions",
					"none",
					"--allowed-mcp-server-names",
					"none",
					"--model",
					"gemini-3-pro",
					"--debug",
				},
				Env:   geminiQuiet,
				Stdin: "p",
			},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := gemini{}.Command(c.request)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestGeminiEndings(t *testing.T) {
	hello := geminiInit + geminiSays("rate limit 429, [API Error: 401 no], API key not valid")
	const advice = "\nPlease wait and try again later. To increase your limits, request a quota increase " +
		"through AI Studio, or switch to another /auth method"
	const (
		limit   = "the usage limit is reached (status 429)"
		refused = "the login was refused"
		noKey   = "API key not valid. Please pass a valid API key."
	)
	api := func(code int, message string) string {
		return fmt.Sprintf(`[API Error: {"error":{"code":%d,"message":%q,"status":"X"}}]`, code, message)
	}
	cases := []struct {
		name, stdout string
		status       int
		want         ending
	}{
		{"good", hello + geminiGood, 0, ending{End: ralph.EndOK}},
		{"good event, bad status", hello + geminiGood, 1, ending{
			End: ralph.EndFailed, Error: "the agent ended with exit status 1",
		}},
		{"no words", geminiInit + geminiGood, 0, ending{End: ralph.EndEmpty, Error: "the agent wrote no message"}},
		{
			"a warning is no trouble",
			hello + `{"type":"error","severity":"warning","message":"Loop detected, stopping execution"}` + "\n" + geminiGood,
			0, ending{End: ralph.EndOK},
		},
		{"empty turn with status 0", geminiInit + geminiComplains(
			"The model returned an empty response with no text or thoughts. Try again.",
		), 0,
			ending{
				End:   ralph.EndEmpty,
				Error: "the agent wrote no message: The model returned an empty response with no text or thoughts. Try again.",
			}},
		{"only thoughts", geminiInit + geminiComplains(
			"The model returned reasoning thoughts but no final response text.",
		), 0,
			ending{
				End:   ralph.EndEmpty,
				Error: "the agent wrote no message: The model returned reasoning thoughts but no final response text.",
			}},
		{"too long an answer", hello + geminiComplains(
			"Model response was truncated because it exceeded the token limit.",
		), 0,
			ending{
				End:   ralph.EndFailed,
				Error: "the agent ended with an error: Model response was truncated because it exceeded the token limit.",
			}},
		{"an error without any word", hello + `{"type":"result","status":"error"}` + "\n", 0, ending{
			End: ralph.EndFailed, Error: "the agent ended with an error",
		}},
		{"an error of blanks", hello + geminiFails(" \n"), 1, ending{
			End: ralph.EndFailed, Error: "the agent ended with an error",
		}},
		{"an unknown status", hello + `{"type":"result","status":"cancelled"}` + "\n", 0, ending{
			End: ralph.EndFailed, Error: "the agent ended with an error",
		}},
		{"403", hello + geminiFails(api(403, "no")), 147, ending{
			End: ralph.EndAuth, Error: refused + " (status 403): no", Hint: geminiLogin,
		}},
		{"a wrong key is status 400", hello + geminiFails(api(400, noKey)), 144, ending{
			End: ralph.EndAuth, Error: refused + ": " + noKey, Hint: geminiLogin,
		}},
		{"400", hello + geminiFails(api(400, "too long")), 144, ending{End: ralph.EndFailed, Error: "too long"}},
		{"an error within an error", hello + geminiFails(api(
			503, `{"error":{"code":503,"message":"The model is overloaded."}}`,
		)), 247,
			ending{End: ralph.EndProvider, Error: "the model is overloaded (status 503): The model is overloaded."}},
		{"a quota with its reset", hello + geminiFails(
			"[API Error: Quota. Please retry in 3600.5s.\nSuggested retry after 3600s.]"+advice,
		), 173,
			ending{
				End: ralph.EndLimit, Error: limit + ": Quota. Please retry in 3600.5s. Suggested retry after 3600s.",
				Wait: 3600500 * time.Millisecond,
			}},
		{"a Google account's quota", hello + geminiFails(
			"[API Error: You have exhausted your capacity on this model. Your quota will reset after "+
				"5h12m30s.]\nPossible quota limitations in place",
		), 173,
			ending{
				End:   ralph.EndLimit,
				Error: limit + ": You have exhausted your capacity on this model. Your quota will reset after 5h12m30s.",
				Wait:  5*time.Hour + 12*time.Minute + 30*time.Second,
			}},
		{"a daily quota", hello + geminiFails("[API Error: You have exhausted your daily quota on this model.]"+advice), 173,
			ending{End: ralph.EndLimit, Error: limit + ": You have exhausted your daily quota on this model."}},
		{"no capacity is no limit", hello + geminiFails(
			"[API Error: No capacity available for model x on the server]"+advice,
		), 173,
			ending{
				End:   ralph.EndProvider,
				Error: "the model is overloaded (status 429): No capacity available for model x on the server",
			}},
		{"no connection", hello + geminiFails("[API Error: exception TypeError: fetch failed sending request]"), 1,
			ending{
				End:   ralph.EndProvider,
				Error: "the model could not be reached: exception TypeError: fetch failed sending request",
			}},
		{"the status explains", hello + geminiFails("[API Error: The model is overloaded.]"), 247,
			ending{End: ralph.EndProvider, Error: "the model is overloaded (status 503): The model is overloaded."}},
		{"the status explains, with a reset", hello + geminiFails("[API Error: wait, retry in 7s]"), 173,
			ending{End: ralph.EndLimit, Error: limit + ": wait, retry in 7s", Wait: 7 * time.Second}},
		{"nothing explains", hello + geminiFails("[API Error: no such model]"), 1, ending{
			End: ralph.EndFailed, Error: "no such model",
		}},
		{"turns used up", hello + geminiFails("Reached max session turns for this session."), 53, ending{
			End: ralph.EndCut, Error: "stopped at a limit of its own: Reached max session turns for this session.",
		}},
		{
			"a login that failed",
			hello + `{"type":"result","status":"error","error":{"type":"FatalAuthenticationError","message":"expired"}}` + "\n",
			41,
			ending{End: ralph.EndAuth, Error: refused + ": expired", Hint: geminiLogin},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := listen("gemini", []byte(c.stdout), 100, exited(c.status))
			if diff := cmp.Diff(c.want, endingOf(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestTrapGeminiStatusZeroIsNoSuccess(t *testing.T) {
	cases := map[string]ralph.EndClass{
		"cut":                          ralph.EndProvider,
		"norelaunch-hang-sigint":       ralph.EndFailed,
		"norelaunch-hang-sigterm":      ralph.EndFailed,
		"norelaunch-sleeptool-sigterm": ralph.EndFailed,
		"sleeptool-sigterm-group":      ralph.EndFailed,
	}
	for name, want := range cases {
		tr := loadTranscript(t, "gemini", name)
		if tr.ExitCode != 0 {
			t.Fatalf("%s ended with %d", name, tr.ExitCode)
		}
		if got := listen("gemini", tr.stdout, whole, tr.end()); got.End != want {
			t.Errorf("%s: %s (%s), want %s", name, got.End, got.Error, want)
		}
	}
}

// TestTrapGeminiStatusesOfHTTP has no result at all: only the exit status is known.
func TestTrapGeminiStatusesOfHTTP(t *testing.T) {
	cases := map[int]ending{
		145: {End: ralph.EndAuth, Error: "the login was refused (status 401)", Hint: geminiLogin},
		147: {End: ralph.EndAuth, Error: "the login was refused (status 403)", Hint: geminiLogin},
		173: {End: ralph.EndLimit, Error: "the usage limit is reached (status 429)"},
		244: {End: ralph.EndProvider, Error: "the model failed (status 500)"},
		247: {End: ralph.EndProvider, Error: "the model is overloaded (status 503)"},
		17:  {End: ralph.EndProvider, Error: "the model is overloaded (status 529)"},
		41:  {End: ralph.EndAuth, Error: "no login was found", Hint: geminiLogin},
		42:  {End: ralph.EndFailed, Error: "the agent ended with exit status 42"},
		0:   {End: ralph.EndFailed, Error: "the agent ended without a result"},
	}
	for status, want := range cases {
		if diff := cmp.Diff(want, endingOf(listen("gemini", []byte(geminiInit), whole, exited(status)))); diff != "" {
			t.Errorf("%d: -want +got:\n%s", status, diff)
		}
	}
	// Without a login nothing is printed, and standard error is not read.
	e := exited(41)
	e.stderr = "Invalid auth method selected."
	if diff := cmp.Diff(cases[41], endingOf(listen("gemini", nil, whole, e))); diff != "" {
		t.Errorf("silent: -want +got:\n%s", diff)
	}
}

func TestTrapGeminiHungModel(t *testing.T) {
	tr := loadTranscript(t, "gemini", "hang")
	s := newStage(t, "gemini", string(tr.stdout), "hang")
	s.input.IdleTimeout = 300 * time.Millisecond
	want := ending{End: ralph.EndIdle, Error: "killed after 300ms without any output"}
	if diff := cmp.Diff(want, endingOf(s.run(t.Context(), t))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestGeminiFigures(t *testing.T) {
	call := func(id, name, parameters string) string {
		return fmt.Sprintf(`{"type":"tool_use","tool_name":%q,"tool_id":%q,"parameters":%s}`+"\n", name, id, parameters)
	}
	result := func(id, rest string) string {
		return fmt.Sprintf(`{"type":"tool_result","tool_id":%q,%s}`+"\n", id, rest)
	}
	forbidden := `"status":"error","output":"no","error":{"type":"policy_violation",` +
		`"message":"Tool execution denied by policy."}`
	unknown := `"status":"error","error":{"type":"tool_not_registered","message":"not found"}`
	stdout := geminiInit + geminiSays("I ") + geminiSays("begin.") +
		call(
			"t1", "run_shell_command", `{"command":"go test ./...","description":"x"}`,
		) + result("t1", `"status":"success","output":"ok"`) +
		call(
			"t2", "run_shell_command", `{"command":"git push"}`,
		) + call("t3", "run_shell_command", `{"command":"a && b"}`) + result("t2", forbidden) + result("t3", forbidden) +
		call("t4", "web_fetch", `{"prompt":"see x"}`) + result("t4", forbidden) +
		call("t5", "run_shell_command", `{"command":"ls"}`) + result("t5", unknown) +
		call("t6", "imagined", `{}`) + result("t6", unknown) +
		geminiSays("hello") +
		`{"type":"result","status":"success","stats":{"total_tokens":180,"input_tokens":100,"output_tokens":50,"cached":30,` +
		`"input":70,"models":{` +
		`"small":{"total_tokens":10},"big":{"total_tokens":170},"other":{"total_tokens":0}}}}` + "\n"
	got, live := listenLive("gemini", []byte(stdout), whole, exited(0))
	steps := 8
	want := ralph.AgentOutcome{
		Agent: "gemini", End: ralph.EndOK, Steps: &steps, Tokens: &ralph.Tokens{Input: 70, Output: 80, CacheRead: 30},
		Tools: map[string]int{"run_shell_command": 4, "web_fetch": 1, "imagined": 1},
		Denials: []string{
			"run_shell_command: git push", "run_shell_command: a && b", "web_fetch: see x", "run_shell_command: ls",
		},
		Allow: []string{
			"-- --allowed-tools 'run_shell_command(git push)'", "--yolo", "-- --allowed-tools 'web_fetch'",
			"-- --allowed-tools 'run_shell_command(ls)'",
		},
		Session: "s1", Model: "big", OutputBytes: int64(len(stdout)), Said: got.Said,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	wantLive := []ralph.Activity{
		{Kind: "text", Detail: "I"}, {Kind: "text", Detail: "begin."},
		{Kind: "tool", Name: "run_shell_command", Detail: "go test ./..."},
		{Kind: "tool", Name: "run_shell_command", Detail: "git push"},
		{Kind: "tool", Name: "run_shell_command", Detail: "a && b"},
		{Kind: "tool", Name: "web_fetch", Detail: "see x"}, {Kind: "tool", Name: "run_shell_command", Detail: "ls"},
		{Kind: "tool", Name: "imagined"},
		{Kind: "text", Detail: "hello"}, {Kind: "spent", Tokens: want.Tokens},
	}
	if diff := cmp.Diff(wantLive, live); diff != "" {
		t.Errorf("live -want +got:\n%s", diff)
	}
}

// TestGeminiMessages has a tag that is whole only if pieces are one message, and one that would be
// whole only if messages were one.
func TestGeminiMessages(t *testing.T) {
	tool := `{"type":"tool_use","tool_name":"glob","tool_id":"t"}` + "\n"
	stdout := geminiInit + geminiSays("<promise>TASK-1:DO") + geminiSays("") + geminiSays("NE</promise>\n") + tool +
		geminiSays("<promise>COMP") + tool + geminiSays("LETE</promise>") + geminiGood
	got := listen("gemini", []byte(stdout), whole, exited(0))
	if got.Said.Complete || !cmp.Equal(got.Said.TasksDone, []string{"TASK-1"}) || *got.Steps != 3 {
		t.Errorf("got %+v", got)
	}
}

func TestGeminiLongLines(t *testing.T) {
	filler := strings.Repeat(`all work and no play\n`, stream.MaxLine/20)
	cases := []struct {
		name, line string
		want       func(*ralph.AgentOutcome)
	}{
		{
			"tool call",
			`{"type":"tool_use","tool_name":"write_file","tool_id":"t9",` +
				`"parameters":{"file_path":"a","content":"` + filler + `"}}`,
			func(o *ralph.AgentOutcome) { o.Tools["write_file"] = 1 },
		},
		{
			"tool result", `{"type":"tool_result","tool_id":"t9","status":"success","output":"` + filler + `"}`,
			func(o *ralph.AgentOutcome) { *o.Steps++ },
		},
		{"prompt", `{"type":"message","role":"user","content":"` + filler + `"}`, func(*ralph.AgentOutcome) {}},
		{"text", strings.TrimSuffix(geminiSays("x"), `x","delta":true}`+"\n") + filler + `"}`, lostOne},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			want := sizeless(listen("gemini", []byte(samples["gemini"]), whole, exited(0)))
			c.want(&want)
			got := sizeless(listen("gemini", []byte(c.line+"\n"+samples["gemini"]), 32<<10, exited(0)))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestGeminiAccount(t *testing.T) {
	chosen := func(kind string) map[string]string {
		return map[string]string{
			"/home/me/.gemini/settings.json": `{"ui":{"theme":"x"},"security":{"folderTrust":{},"auth":{"selectedType":"` +
				kind + `"}}}`,
		}
	}
	oauth := chosen("oauth-personal")
	oauth["/home/me/.gemini/oauth_creds.json"] = `{"access_token":"` + secret + `"}`
	key := "GEMINI_API_KEY=" + secret
	cases := []struct {
		name string
		in   world
		want Account
	}{
		{"nothing", world{}, Account{
			Login: LoggedOut, Billing: BillingUnknown, Because: "no login was chosen, and no GEMINI_API_KEY",
		}},
		{"key", world{env: []string{key}}, Account{Login: LoggedIn, Billing: BillingKey, Because: "GEMINI_API_KEY is set"}},
		{
			"key that was chosen",
			world{env: []string{key, "GOOGLE_GEMINI_BASE_URL=x"}, files: chosen("gemini-api-key")},
			Account{Login: LoggedIn, Billing: BillingKey, Because: "GEMINI_API_KEY is set"},
		},
		{"key elsewhere", world{files: chosen("gemini-api-key")}, Account{
			Login: LoginUnknown, Billing: BillingKey,
			Because: "an API key was chosen; it may be in a keychain or in an .env file",
		}},
		{"account", world{env: []string{key}, files: oauth}, Account{
			Login: LoggedIn, Billing: BillingSubscription,
			Because: "a Google account was chosen, and oauth_creds.json exists",
		}},
		{"account elsewhere", world{files: chosen("oauth-personal")}, Account{
			Login: LoginUnknown, Billing: BillingSubscription,
			Because: "a Google account was chosen; its token may be in a keychain",
		}},
		{"as older versions write it", world{files: map[string]string{
			"/home/me/.gemini/settings.json": `{"selectedAuthType":"vertex-ai"}`,
		}},
			Account{Login: LoginUnknown, Billing: BillingUnknown, Because: "settings.json chooses vertex-ai"}},
		{"another home", world{env: []string{"GEMINI_CLI_HOME=/else"}, files: map[string]string{
			"/else/.gemini/settings.json": `{"selectedAuthType":"cloud-shell"}`,
		}},
			Account{Login: LoginUnknown, Billing: BillingUnknown, Because: "settings.json chooses cloud-shell"}},
		{"cloud", world{env: []string{"GOOGLE_GENAI_USE_VERTEXAI=true", key}}, Account{
			Login: LoginUnknown, Billing: BillingUnknown, Because: "the environment chooses a Google Cloud account",
		}},
		{"another server", world{env: []string{"GOOGLE_GEMINI_BASE_URL=http://x", key}}, Account{
			Login: LoggedOut, Billing: BillingUnknown, Because: "GOOGLE_GEMINI_BASE_URL is set and no login was chosen",
			Warning: "the CLI does not start without one; start `gemini` and choose a login with /auth"}},
		{"env file", world{files: map[string]string{"/home/me/.gemini/.env": key}}, Account{
			Login: LoginUnknown, Billing: BillingUnknown, Because: "~/.gemini/.env may contain a key",
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { checkAccount(t, gemini{}, c.in, c.want) })
	}
}

func FuzzGemini(f *testing.F) { fuzzReader(f, "gemini") }

package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/process"
)

const (
	claudeInit = `{"type":"system","subtype":"init","session_id":"s1"}` + "\n"
	claudeGood = `{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","result":"",` +
		`"num_turns":1}` + "\n"
)

func claudeSays(id, text string) string {
	quoted, _ := json.Marshal(text)
	return fmt.Sprintf(
		`{"type":"assistant","message":{"id":%q,"model":"opus","content":[{"type":"text","text":%s}]},`+
			`"parent_tool_use_id":null}`+"\n",
		id,
		quoted,
	)
}

func claudeEnds(fields string) string { return `{"type":"result",` + fields + "}\n" }

// ending is the part of an outcome that says how the agent ended.
type ending struct {
	End   ralph.EndClass
	Error string
	Hint  string
	Wait  time.Duration
}

func endingOf(o ralph.AgentOutcome) ending {
	return ending{o.End, o.Error, o.Hint, o.RetryAfter.Duration()}
}

func TestClaudeEndings(t *testing.T) {
	hello := claudeInit + claudeSays("m1", "hello")
	limited := func(status string, resets int64) string {
		return fmt.Sprintf(
			`{"type":"rate_limit_event","rate_limit_info":{"status":%q,"resetsAt":%d,"rateLimitType":"five_hour"}}`+"\n",
			status, resets,
		)
	}
	inAnHour := testNow.Add(time.Hour).Unix()
	excuse := func(code string) string {
		return fmt.Sprintf(
			`{"type":"assistant","message":{"id":"x","model":"<synthetic>",`+
				`"content":[{"type":"text","text":"<promise>COMPLETE</promise>"}]},"parent_tool_use_id":null,"error":%q,`+
				`"is_api_error_message":true}`+"\n",
			code,
		)
	}
	retry := func(fields string) string { return `{"type":"system","subtype":"api_retry",` + fields + "}\n" }
	ok := exited(0)
	cases := []struct {
		name, stdout string
		end          ended
		want         ending
	}{
		{"good", hello + claudeGood, ok, ending{End: ralph.EndOK}},
		{"good event, bad status", hello + claudeGood, exited(3), ending{
			End: ralph.EndFailed, Error: "the agent ended with exit status 3",
		}},
		{
			"good event, then it hung", hello + claudeGood,
			ended{Result: process.Result{State: process.Canceled, ExitCode: 143}}, ending{End: ralph.EndOK},
		},
		{
			"good event, then silence", hello + claudeGood,
			ended{Result: process.Result{State: process.Idle, ExitCode: 143}}, ending{End: ralph.EndOK},
		},
		{"good event, then interrupted", hello + claudeGood, ended{
			Result: process.Result{State: process.Canceled}, interrupted: true,
		},
			ending{End: ralph.EndInterrupted, Error: "interrupted"}},
		{"no words", claudeInit + claudeGood, ok, ending{End: ralph.EndEmpty, Error: "the agent wrote no message"}},
		{"turns used up", hello + claudeEnds(
			`"subtype":"error_max_turns","is_error":true,"terminal_reason":"max_turns","errors":["Reached 3"]`,
		), exited(1),
			ending{End: ralph.EndCut, Error: "stopped at a limit of its own: Reached 3"}},
		{"credit used up", hello + claudeEnds(
			`"is_error":true,"subtype":"success","result":"Credit balance is too low"`,
		), exited(1), ending{
			End: ralph.EndLimit, Error: "the account's credit is used up: Credit balance is too low", Hint: stream.CreditHint,
		}},
		{"a model that does not exist", hello + claudeEnds(
			`"is_error":true,"subtype":"success","result":"API Error: 404 no such model"`,
		), exited(1), ending{
			End: ralph.EndModel, Error: "the model's server does not know the model (status 404): API Error: 404 no such model",
			Hint: "choose another model with --model; or correct the base URL",
		}},
		{"older versions flag nothing", hello + claudeEnds(`"subtype":"error_max_turns","is_error":false`), ok,
			ending{End: ralph.EndCut, Error: "stopped at a limit of its own"}},
		{"bad request", hello + claudeEnds(
			`"is_error":true,"subtype":"success","terminal_reason":"api_error","api_error_status":400,"result":"too long"`,
		), exited(1),
			ending{End: ralph.EndFailed, Error: "the agent ended with an error (api_error): too long"}},
		{"forbidden", hello + claudeEnds(`"is_error":true,"api_error_status":403`), exited(1),
			ending{End: ralph.EndAuth, Error: "the login was refused (status 403)", Hint: claudeLogin}},
		{"login without a code", hello + claudeEnds(`"is_error":true,"result":"Please run /login"`), exited(1),
			ending{End: ralph.EndAuth, Error: "the login was refused: Please run /login", Hint: claudeLogin}},
		{"not logged in, without a code", hello + claudeEnds(
			`"is_error":true,"result":"Not logged in · Please run /login"`,
		), exited(1),
			ending{End: ralph.EndAuth, Error: "the login was refused: Not logged in · Please run /login", Hint: claudeLogin}},
		{"a bad key, without a code", hello + claudeEnds(
			`"is_error":true,"result":"Invalid API key · Fix external API key"`,
		), exited(1),
			ending{
				End: ralph.EndAuth, Error: "the login was refused: Invalid API key · Fix external API key",
				Hint: claudeLogin,
			}},
		{"the advice to log in behind another complaint", hello + claudeEnds(
			`"is_error":true,"result":"OAuth token has expired · Please run /login"`,
		), exited(1),
			ending{
				End: ralph.EndAuth, Error: "the login was refused: OAuth token has expired · Please run /login",
				Hint: claudeLogin,
			}},
		{"overloaded", hello + claudeEnds(`"is_error":true,"terminal_reason":"api_error","api_error_status":529`), exited(1),
			ending{End: ralph.EndProvider, Error: "the model is overloaded (status 529)"}},
		{"unreachable", hello + claudeEnds(
			`"is_error":true,"terminal_reason":"api_error","api_error_status":null,"result":"Connection error."`,
		), exited(1),
			ending{End: ralph.EndProvider, Error: "the model could not be reached: Connection error."}},
		{"limit with a reset", hello + limited("rejected", inAnHour) + claudeEnds(
			`"is_error":true,"api_error_status":429,"result":"resets 2pm"`,
		), exited(1),
			ending{End: ralph.EndLimit, Error: "the usage limit is reached (status 429): resets 2pm", Wait: time.Hour}},
		{"limit without a status", hello + limited("rejected", inAnHour) + claudeEnds(
			`"is_error":true,"result":"resets 2pm"`,
		), exited(1),
			ending{End: ralph.EndLimit, Error: "the usage limit is reached: resets 2pm", Wait: time.Hour}},
		{"limit whose reset has passed", hello + limited("rejected", 1000) + claudeEnds(
			`"is_error":true,"api_error_status":429`,
		), exited(1),
			ending{End: ralph.EndLimit, Error: "the usage limit is reached (status 429)"}},
		{"a status told in words only", hello + claudeEnds(
			`"is_error":true,"result":"API Error: 529 {\"type\":\"error\"}"`,
		), exited(1),
			ending{End: ralph.EndProvider, Error: `the model is overloaded (status 529): API Error: 529 {"type":"error"}`}},
		{"a refused login told in words only", hello + claudeEnds(
			`"is_error":true,"result":"Failed to authenticate. API Error: 401"`,
		), exited(1),
			ending{
				End: ralph.EndAuth, Error: "the login was refused (status 401): Failed to authenticate. API Error: 401",
				Hint: claudeLogin,
			}},
		{"another status in words", hello + claudeEnds(
			`"is_error":true,"result":"API Error: 400 prompt is too long"`,
		), exited(1),
			ending{End: ralph.EndFailed, Error: "the model refused: API Error: 400 prompt is too long"}},
		{"a limit told in words only", hello + claudeEnds(
			`"is_error":true,"result":"You've hit your limit · resets 3am (UTC)"`,
		), exited(1),
			ending{End: ralph.EndLimit, Error: "the usage limit is reached: You've hit your limit · resets 3am (UTC)"}},
		{"a limit told in words with its reset", hello + claudeEnds(fmt.Sprintf(
			`"is_error":true,"result":"Claude AI usage limit reached|%d"`, inAnHour,
		)), exited(1),
			ending{
				End:   ralph.EndLimit,
				Error: fmt.Sprintf("the usage limit is reached: Claude AI usage limit reached|%d", inAnHour),
				Wait:  time.Hour,
			}},
		{"another limit told in words", hello + claudeEnds(
			`"is_error":true,"result":"5-hour limit reached ∙ resets 3am"`,
		), exited(1),
			ending{End: ralph.EndLimit, Error: "the usage limit is reached: 5-hour limit reached ∙ resets 3am"}},
		{"a limit that was lifted", hello + limited("rejected", inAnHour) + limited("allowed", inAnHour) + claudeEnds(
			`"is_error":true,"subtype":"error_max_turns"`,
		), exited(1),
			ending{End: ralph.EndCut, Error: "stopped at a limit of its own"}},
		{"turns used up beside a limit", hello + limited("rejected", inAnHour) + claudeEnds(
			`"is_error":true,"subtype":"error_max_turns"`,
		), exited(1),
			ending{End: ralph.EndCut, Error: "stopped at a limit of its own"}},
		{"a limit that did not matter", hello + limited("rejected", inAnHour) + claudeGood, ok, ending{End: ralph.EndOK}},
		{"a warning", hello + limited("allowed_warning", inAnHour) + claudeGood, ok, ending{End: ralph.EndOK}},
		{"only an excuse, not flagged", claudeInit + excuse("rate_limit") + claudeEnds(
			`"is_error":false,"result":"<promise>COMPLETE</promise>"`,
		), ok,
			ending{End: ralph.EndLimit, Error: "the usage limit is reached: <promise>COMPLETE</promise>"}},
		{
			"an excuse before it got on", claudeInit + excuse("server_error") + claudeSays("m1", "hello") + claudeGood,
			ok, ending{End: ralph.EndOK},
		},
		{
			"retries, then good",
			claudeInit + retry(`"error_status":529,"error":"overloaded"`) + claudeSays("m1", "hello") + claudeGood, ok,
			ending{End: ralph.EndOK},
		},
		{
			"died while retrying", claudeInit + retry(`"error_status":503,"error":"server_error"`), exited(1),
			ending{End: ralph.EndProvider, Error: "the model is overloaded (status 503)"},
		},
		{
			"died while retrying, no status", claudeInit + retry(`"error_status":null,"error":"odd"`), exited(1),
			ending{End: ralph.EndProvider, Error: "the model did not answer"},
		},
		{
			"died while limited", claudeInit + retry(`"error_status":429,"error":"rate_limit"`), exited(1),
			ending{End: ralph.EndLimit, Error: "the usage limit is reached (status 429)"},
		},
		{"died later", claudeInit + retry(`"error_status":503`) + `{"type":"user"}` + "\n", exited(1), ending{
			End: ralph.EndFailed, Error: "the agent ended with exit status 1",
		}},
		{"no result", hello, ok, ending{End: ralph.EndFailed, Error: "the agent ended without a result"}},
		{"nothing at all", "", ok, ending{End: ralph.EndFailed, Error: "the agent ended without a result"}},
		{"silent", hello, ended{Result: process.Result{State: process.Idle}, idle: time.Minute}, ending{
			End: ralph.EndIdle, Error: "killed after 1m0s without any output",
		}},
		{"its interpreter is missing", "", ended{
			Result: process.Result{State: process.Exited, ExitCode: 127}, program: "/x/claude",
			stderr: "env: node: No such file",
		},
			ending{End: ralph.EndMissing, Error: "the agent was not found: /x/claude: env: node: No such file"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := listen("claude", []byte(c.stdout), 100, c.end)
			if diff := cmp.Diff(c.want, endingOf(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestClaudeRefusedLoginIsNotWaitedFor(t *testing.T) {
	for _, fields := range []string{
		`"error_status":401`, `"error_status":403,"error":"forbidden"`,
		`"error_status":null,"error":"authentication_failed"`,
	} {
		r := &stream.Reading{Live: func(ralph.Activity) {}}
		reader := claude{}.newReader(r)
		_, _ = reader.Write([]byte(claudeInit))
		if r.Hopeless {
			t.Fatal("hopeless from the start")
		}
		_, _ = reader.Write([]byte(`{"type":"system","subtype":"api_retry","attempt":1,` + fields + "}\n"))
		if !r.Hopeless || r.Fault.Class != ralph.EndAuth {
			t.Errorf("%s: hopeless %v, %+v", fields, r.Hopeless, r.Fault)
		}
	}
}

func TestClaudeWords(t *testing.T) {
	const tag = "<promise>COMPLETE</promise>"
	sub := strings.Replace(claudeSays("m1", tag), `"parent_tool_use_id":null`, `"parent_tool_use_id":"t7"`, 1)
	cases := []struct {
		name, stdout string
		complete     bool
		phrases      int
	}{
		{"its own message", claudeSays("m1", tag), true, 0},
		{"a sub-agent's message", claudeSays("m0", "hello") + sub, false, 0},
		{"a fence left open ends with its message", claudeSays("m1", "```\nx") + claudeSays("m2", tag), true, 0},
		{"a fence left open holds the rest of its message", claudeSays("m1", "```\nx") + claudeSays("m1", tag), false, 0},
		{"thinking in its text", claudeSays("m1", "<think>"+tag+" all done</think>No."), false, 0},
		{"an unclosed thought ends with its message", claudeSays("m1", "<think>x") + claudeSays("m2", tag), true, 0},
		{
			"an unclosed thought holds the rest of its message", claudeSays("m1", "<think>x") + claudeSays("m1", tag),
			false, 0,
		},
		{"blocks without an id are messages", claudeSays("", "```\nx") + claudeSays("", tag), true, 0},
		{
			"the result, where it is no copy",
			claudeSays("m1", "hello") + claudeEnds(`"is_error":false,"result":"`+tag+`"`), true, 0,
		},
		{"the result of an error", claudeSays("m1", "hello") + claudeEnds(`"is_error":true,"result":"`+tag+`"`), false, 0},
		{
			"a copy is not said twice",
			claudeSays("m1", "All done.") + claudeEnds(`"is_error":false,"result":"All done."`), false, 1,
		},
		{"a trimmed copy", claudeSays("m1", "All done.\n\n") + claudeEnds(`"is_error":false,"result":"All done."`), false, 1},
		{
			"a copy of two blocks",
			claudeSays("m1", "All ") + claudeSays("m1", "done.") + claudeEnds(`"is_error":false,"result":"All done."`),
			false, 0,
		},
		{
			"a copy of an earlier message",
			claudeSays("m1", "All done.") + claudeSays("m2", "x") + claudeEnds(`"is_error":false,"result":"All done."`),
			false, 1,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := listen("claude", []byte(claudeInit+c.stdout), 50, exited(0)).Said
			if got.Complete != c.complete || got.Phrases != c.phrases {
				t.Errorf("complete %v, phrases %d; want %v, %d", got.Complete, got.Phrases, c.complete, c.phrases)
			}
		})
	}
}

func TestClaudeFigures(t *testing.T) {
	stdout := claudeInit + claudeSays("m1", "hello") +
		`{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","name":"Write",` +
		`"input":{"content":"x","file_path":"a.go","description":"d"}},{"type":"tool_use","name":"Odd","input":[1]}],` +
		`"usage":{"input_tokens":99}},"parent_tool_use_id":"t7"}` + "\n" +
		claudeEnds(`"is_error":false,"session_id":"s2","num_turns":4,"total_cost_usd":0.25,"usage":{"input_tokens":1},`+
			`"modelUsage":{"opus":{"inputTokens":10,"outputTokens":20,"cacheReadInputTokens":30,`+
			`"cacheCreationInputTokens":40},"haiku":{"inputTokens":1,"outputTokens":2}},`+
			`"permission_denials":[{"tool_name":"Bash","tool_use_id":"t1",`+
			`"tool_input":{"description":"clean","command":"rm -rf x\n y"}},{"tool_name":"Odd"}]`)
	got, live := listenLive("claude", []byte(stdout), whole, exited(0))
	turns, cost := 4, 0.25
	want := ralph.AgentOutcome{
		Agent: "claude", End: ralph.EndOK, Steps: &turns, Cost: &cost,
		Tokens: &ralph.Tokens{Input: 11, Output: 22, CacheRead: 30, CacheWrite: 40},
		Tools:  map[string]int{"Write": 1, "Odd": 1}, Denials: []string{"Bash: rm -rf x y", "Odd"},
		Allow: []string{"--yolo", "-- --allowedTools 'Odd'"}, Session: "s1", OutputBytes: int64(len(stdout)),
		Said: got.Said,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	wantLive := []ralph.Activity{
		{Kind: "text", Detail: "hello"}, {Kind: "spent", Tokens: &ralph.Tokens{Input: 99}},
		{Kind: "tool", Name: "Write", Detail: "a.go"},
		{Kind: "tool", Name: "Odd"}, {Kind: "spent", Cost: &cost, Tokens: want.Tokens},
	}
	if diff := cmp.Diff(wantLive, live); diff != "" {
		t.Errorf("live -want +got:\n%s", diff)
	}
}

// TestClaudeAgentsWordsDecideNothing: an error result may hold a copy of the agent's last message,
// which may be about anything.
func TestClaudeAgentsWordsDecideNothing(t *testing.T) {
	inCLIsVoice := func(text string) string {
		quoted, _ := json.Marshal(text)
		return fmt.Sprintf(
			`{"type":"assistant","message":{"id":"x","model":"<synthetic>","content":[{"type":"text","text":%s}]},`+
				`"parent_tool_use_id":null}`+"\n",
			quoted,
		)
	}
	endsWith := func(text string) string {
		quoted, _ := json.Marshal(text)
		return claudeEnds(fmt.Sprintf(`"is_error":true,"subtype":"success","result":%s`, quoted))
	}
	const login, limit = "Please run /login", "Claude AI usage limit reached|1794751200"
	cases := []struct {
		name, stdout string
		want         ralph.EndClass
	}{
		{"a route", claudeSays("m1", "I added the /login route.") + endsWith("I added the /login route."), ralph.EndFailed},
		{
			"a limit in its code",
			claudeSays("m1", "It waits once the limit reached.") + endsWith("It waits once the limit reached."),
			ralph.EndFailed,
		},
		{"a route, not heard before", endsWith("I added the /login route."), ralph.EndFailed},
		{"a limit, not heard before", endsWith("It waits once the limit reached."), ralph.EndFailed},
		{"a user's limit, not heard before", endsWith("The page says: You've hit your limit"), ralph.EndFailed},
		{"the CLI's sentence about the login", claudeSays("m1", login) + endsWith(login), ralph.EndFailed},
		{"the CLI's sentence about a limit", claudeSays("m1", limit) + endsWith(limit), ralph.EndFailed},
		{"the CLI's sentence, trimmed", claudeSays("m1", "\n"+limit+"\n") + endsWith(limit), ralph.EndFailed},
		{
			"the CLI's sentence in two blocks",
			claudeSays("m1", "Please run ") + claudeSays("m1", "/login") + endsWith(login), ralph.EndFailed,
		},
		{
			"the CLI's sentence in an earlier result",
			claudeEnds(`"is_error":false,"result":"`+login+`"`) + endsWith(login), ralph.EndFailed,
		},
		{
			"the CLI in its name about the login", claudeSays("m1", "hello") + inCLIsVoice(login) + endsWith(login),
			ralph.EndAuth,
		},
		{
			"the CLI in its name about a limit", claudeSays("m1", "hello") + inCLIsVoice(limit) + endsWith(limit),
			ralph.EndLimit,
		},
		{"the CLI about the login", claudeSays("m1", "I added the /login route.") + endsWith(login), ralph.EndAuth},
		{"the CLI about a limit", claudeSays("m1", "It waits once the limit reached.") + endsWith(limit), ralph.EndLimit},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := listen("claude", []byte(claudeInit+c.stdout), 100, exited(1)); got.End != c.want {
				t.Errorf("%s (%s), want %s", got.End, got.Error, c.want)
			}
		})
	}
}

// TestClaudeTokensWithoutClosingEvent: known spending before a timeout or a cut counts.
func TestClaudeTokensWithoutClosingEvent(t *testing.T) {
	uses := func(id, parent, usage string) string {
		return fmt.Sprintf(
			`{"type":"assistant","message":{"id":%q,"model":"opus","content":[{"type":"text","text":"x"}],"usage":%s},`+
				`"parent_tool_use_id":%s}`+"\n",
			id,
			usage,
			parent,
		)
	}
	const first = `{"input_tokens":10,"cache_creation_input_tokens":20,"cache_read_input_tokens":30,"output_tokens":1}`
	one := &ralph.Tokens{Input: 10, Output: 1, CacheRead: 30, CacheWrite: 20}
	two := &ralph.Tokens{Input: 20, Output: 2, CacheRead: 60, CacheWrite: 40}
	long := strings.Repeat("x", stream.MaxLine)
	cases := []struct {
		name, stdout string
		want         *ralph.Tokens
	}{
		{"nothing was used", claudeSays("m1", "hello"), nil},
		{"one message", uses("m1", "null", first), one},
		{"lines of one message", uses("m1", "null", first) + uses("m1", "null", first) + uses("m1", "null", first), one},
		{
			"the largest of a message", uses("m1", "null", `{"output_tokens":5}`) + uses("m1", "null", first),
			&ralph.Tokens{Input: 10, Output: 5, CacheRead: 30, CacheWrite: 20},
		},
		{
			"a line without figures in between",
			uses("m1", "null", first) + claudeSays("m1", "hello") + uses("m1", "null", first), one,
		},
		{"two messages", uses("m1", "null", first) + uses("m2", "null", first) + uses("m2", "null", first), two},
		{"a sub-agent's message", uses("m1", "null", first) + uses("m2", `"t7"`, first), two},
		{
			"what the CLI said in its name",
			`{"type":"assistant","message":{"model":"<synthetic>","usage":` + first + `}}` + "\n", nil,
		},
		{"all zeros", uses("m1", "null", `{"input_tokens":0,"output_tokens":0}`), nil},
		{
			"figures that are none",
			uses("m1", "null", `null`) + uses("m2", "null", `[1]`) + uses("m3", "null", `{"input_tokens":-5}`), nil,
		},
		{"a call too long to be read",
			`{"type":"assistant","message":{"id":"m1","usage":` + first +
				`,"content":[{"type":"tool_use","name":"Write","input":{"content":"` + long + `"}}]}}` + "\n", one},
		{"a cut line", uses("m1", "null", first) + uses("m2", "null", first)[:60], one},
		{"a closing event without figures", uses("m1", "null", first) + claudeGood, one},
		{
			"a closing event with empty figures",
			uses("m1", "null", first) + claudeEnds(`"is_error":false,"usage":null,"modelUsage":{}`), one,
		},
		{
			"a closing event with figures",
			uses("m1", "null", first) + claudeEnds(`"is_error":false,"usage":{"input_tokens":7}`),
			&ralph.Tokens{Input: 7},
		},
		{
			"a closing event with zeros",
			uses("m1", "null", first) + claudeEnds(`"is_error":false,"usage":{"input_tokens":0}`), &ralph.Tokens{},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			end := ended{Result: process.Result{State: process.TimedOut, ExitCode: 143}, timeout: time.Minute}
			if diff := cmp.Diff(c.want, listen("claude", []byte(claudeInit+c.stdout), 32<<10, end).Tokens); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestManyToolsAndDenialsAreBounded(t *testing.T) {
	r := &stream.Reading{Live: func(ralph.Activity) {}}
	for i := range 1000 {
		r.Tool(fmt.Sprint("tool", i), "")
		r.Denied("Bash", fmt.Sprint(i), "--yolo")
	}
	if len(r.Tools) != stream.MaxToolNames+1 || r.Tools[stream.OtherTools] != 1000-stream.MaxToolNames ||
		len(r.Denials) != stream.MaxDenials {
		t.Errorf("%d tools, %d others, %d denials", len(r.Tools), r.Tools[stream.OtherTools], len(r.Denials))
	}
}

// Every closing event reports the denials of its turn.
func TestClaudeDenialsAreThoseOfTheLastTurn(t *testing.T) {
	end := func(tool string) string {
		return `{"type":"result","subtype":"success","is_error":false,"permission_denials":[{"tool_name":"` + tool +
			`","tool_input":{}}]}` + "\n"
	}
	got := listen(
		"claude", []byte(claudeInit+claudeSays("m1", "a")+end("One")+claudeSays("m2", "b")+end("Two")), whole,
		exited(0),
	)
	if diff := cmp.Diff([][]string{{"Two"}, {"-- --allowedTools 'Two'"}}, [][]string{got.Denials, got.Allow}); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

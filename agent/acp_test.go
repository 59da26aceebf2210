package agent

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
)

func FuzzACP(f *testing.F) { fuzzReader(f, "acp") }

const acpBegin = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,` +
	`"authMethods":[{"id":"a","name":"Key"}]}}` + "\n" +
	`{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1"}}` + "\n"

func acpSays(text string) string {
	return fmt.Sprintf(
		`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1",`+
			`"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%q}}}}`+"\n",
		text,
	)
}

func TestACPCommandLine(t *testing.T) {
	got, err := acpDialect{}.Command(Request{
		CommandLine: " gemini --experimental-acp ", PromptFile: "p", ExtraArgs: []string{"--debug", "it's"},
	})
	want := Command{Argv: []string{"/bin/sh", "-c", `gemini --experimental-acp '--debug' 'it'\''s'`}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err := (acpDialect{}).Command(Request{CommandLine: " "}); err == nil ||
		!strings.Contains(err.Error(), "--agent-cmd") {
		t.Errorf("without a command: %v, %v", got, err)
	}
}

func TestACPFaults(t *testing.T) {
	const hint = "log in with the agent's own program first; it offers: Key"
	refusal := func(code int, message, data string) string {
		if data != "" {
			data = `,"data":` + data
		}
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"error":{"code":%d,"message":%q%s}}`+"\n", code, message, data)
	}
	stopped := func(reason string) string {
		return acpSays("words") + fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"result":{"stopReason":%q}}`+"\n", reason)
	}
	cases := []struct {
		name, line string
		want       ending
	}{
		{"a login is needed", refusal(-32000, "Authentication required", ""), ending{
			End: ralph.EndAuth, Error: "the agent requires a login: Authentication required", Hint: hint,
		}},
		{"status as the code", refusal(401, "no", ""), ending{
			End: ralph.EndAuth, Error: "the login was refused: no", Hint: hint,
		}},
		{"status before the details", refusal(-32603, "Internal error", `{"details":"403 no"}`), ending{
			End: ralph.EndAuth, Error: "the login was refused: Internal error: 403 no", Hint: hint,
		}},
		{"status in an answer", refusal(-32603, `{"error":{"code": 429}}`, ""), ending{
			End: ralph.EndLimit, Error: `the usage limit is reached: {"error":{"code": 429}}`,
		}},
		{"status in words", refusal(-32603, "API Error 529", `"busy"`), ending{
			End: ralph.EndProvider, Error: "the model failed: API Error 529: busy",
		}},
		{"words about the key", refusal(-32603, "Invalid API key", ""), ending{
			End: ralph.EndAuth, Error: "the login was refused: Invalid API key", Hint: hint,
		}},
		{"words about a limit", refusal(-32603, "x", `{"message":"Rate limit exceeded"}`), ending{
			End: ralph.EndLimit, Error: "the usage limit is reached: x: Rate limit exceeded",
		}},
		{"words about the network", refusal(-32603, "fetch failed", ""), ending{
			End: ralph.EndProvider, Error: "the model failed: fetch failed",
		}},
		{"a status goes before words", refusal(400, "bad api key format of the connection", ""), ending{
			End: ralph.EndFailed, Error: "the agent ended with an error: bad api key format of the connection",
		}},
		{"opencode's own name", refusal(-32603, "Internal error: no", `{"errorName":"APIError"}`), ending{
			End: ralph.EndProvider, Error: "the model failed: Internal error: no",
		}},
		{"nothing known", refusal(-32603, "Internal error", ""), ending{
			End: ralph.EndFailed, Error: "the agent ended with an error: Internal error",
		}},
		{
			"no error", acpSays("words") + `{"jsonrpc":"2.0","id":3,"error":null,"result":{"stopReason":"end_turn"}}`,
			ending{End: ralph.EndOK},
		},
		{"an answer after an error", refusal(-32000, "x", "") + stopped("end_turn"), ending{End: ralph.EndOK}},
		{"refusal", stopped("refusal"), ending{End: ralph.EndFailed, Error: "the agent refused to continue"}},
		{"max_tokens", stopped("max_tokens"), ending{
			End: ralph.EndFailed, Error: "the agent's answer was cut at its token limit",
		}},
		{"max_turn_requests", stopped("max_turn_requests"), ending{
			End: ralph.EndFailed, Error: "the agent used up its model calls for this turn",
		}},
		{"cancelled", stopped("cancelled"), ending{End: ralph.EndFailed, Error: "the agent canceled its turn by itself"}},
		{"tired", stopped("tired"), ending{End: ralph.EndFailed, Error: "the agent stopped for an unknown reason: tired"}},
		{"no words", `{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`, ending{
			End: ralph.EndEmpty, Error: "the agent wrote no message",
		}},
		{"no end", acpSays("words"), ending{End: ralph.EndFailed, Error: "the agent ended without a result"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := listen("acp", []byte(acpBegin+c.line), 100, exited(0))
			if diff := cmp.Diff(c.want, endingOf(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestACPWordsByMessage: a tag does not span two messages, but may span the pieces of one.
func TestACPWordsByMessage(t *testing.T) {
	const end = `{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`
	piece := func(id, text string) string {
		return strings.Replace(acpSays(text), `"content"`, `"messageId":"`+id+`","content"`, 1)
	}
	const tool = `{"jsonrpc":"2.0","method":"session/update","params":` +
		`{"update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"x"}}}` + "\n"
	const usage = `{"jsonrpc":"2.0","method":"session/update","params":` +
		`{"update":{"sessionUpdate":"usage_update","used":1,"size":2}}}` + "\n"
	cases := map[string]struct {
		stream string
		want   bool
	}{
		"in pieces":         {piece("m1", "<promise>COM") + usage + piece("m1", "PLETE</promise>"), true},
		"without ids":       {acpSays("<promise>COM") + acpSays("PLETE</promise>"), true},
		"of two messages":   {piece("m1", "<promise>COM") + piece("m2", "PLETE</promise>"), false},
		"before and after":  {acpSays("<promise>COM") + tool + acpSays("PLETE</promise>"), false},
		"after an open one": {piece("m1", "```\n") + piece("m2", "<promise>COMPLETE</promise>"), true},
	}
	for name, c := range cases {
		if got := listen("acp", []byte(acpBegin+c.stream+end), 50, exited(0)); got.Said.Complete != c.want ||
			got.End != ralph.EndOK {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestACPLongLines(t *testing.T) {
	filler := strings.Repeat("all work and no play ", stream.MaxLine/20)
	update := func(body string) string {
		return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{` + body + `}}}`
	}
	cases := []struct {
		name, line string
		want       func(*ralph.AgentOutcome)
	}{
		{
			"tool result", update(`"sessionUpdate":"tool_call_update","toolCallId":"t9","rawOutput":"` + filler + `"`),
			func(*ralph.AgentOutcome) {},
		},
		{
			"tool call",
			update(`"sessionUpdate":"tool_call","toolCallId":"t9","kind":"edit","rawInput":"` + filler + `"`),
			func(o *ralph.AgentOutcome) { o.Tools["edit"] = 1 },
		},
		{"words", update(`"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + filler + `"}`), lostOne},
		{
			"question",
			`{"jsonrpc":"2.0","id":9,"method":"session/request_permission",` +
				`"params":{"toolCall":{"toolCallId":"t9","kind":"edit","title":"Write","rawInput":"` + filler + `"}}}`,
			func(o *ralph.AgentOutcome) {
				o.Tools["edit"] = 1
				o.Denials = append([]string{"edit: Write"}, o.Denials...)
			},
		},
		{"no message at all", filler, lostOne},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			want := sizeless(listen("acp", []byte(samples["acp"]), whole, exited(0)))
			c.want(&want)
			got := sizeless(listen("acp", []byte(c.line+"\n"+samples["acp"]), 32<<10, exited(0)))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// acpWork is a part of a long conversation, with calls that were not reported before.
func acpWork(i int) []byte {
	var b strings.Builder
	for j := range 20 {
		const said = "I will now look at the handler and see why the method check is wrong.\n"
		for word := range strings.SplitAfterSeq(said, " ") {
			b.WriteString(acpSays(word))
		}
		fmt.Fprintf(
			&b,
			`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1",`+
				`"update":{"sessionUpdate":"tool_call","toolCallId":"t%d-%d","kind":"edit","title":"Write %d",`+
				`"rawInput":{"content":%s}}}}`+"\n",
			i,
			j,
			j,
			quoted10k(),
		)
		fmt.Fprintf(
			&b,
			`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1",`+
				`"update":{"sessionUpdate":"tool_call_update","toolCallId":"t%d-%d","status":"completed","rawOutput":%s}}}`+"\n",
			i,
			j,
			quoted10k(),
		)
	}
	return []byte(b.String())
}

func TestACPMemoryDoesNotGrow(t *testing.T) {
	hear := hearing(acpDialect{})
	for i := range 20 {
		hear(acpWork(i))
	}
	before := heap()
	for i := range 40 {
		hear(acpWork(20 + i))
	}
	if after := heap(); after > before+256<<10 {
		t.Errorf("%d bytes more are held", after-before)
	}
	runtime.KeepAlive(hear)
}

func BenchmarkACP(b *testing.B) {
	hear, text := hearing(acpDialect{}), acpWork(0)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		hear(text)
	}
}

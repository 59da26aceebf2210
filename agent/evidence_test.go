package agent

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
)

// evidenceIn reads the evidence from lines of a CLI's output.
func evidenceIn(t *testing.T, name, lines string) []ralph.ToolEvidence {
	t.Helper()
	dialect, known := Find(name)
	if !known {
		t.Fatalf("no dialect %s", name)
	}
	live := func(ralph.Activity) {}
	r := &stream.Reading{Live: live, Now: func() time.Time { return time.Time{} }}
	reader := dialect.newReader(r)
	r.Hear(ralph.AgentInput{Live: live, Dir: "/w", Verifiers: ralph.Verifiers{
		Commands: []string{"go test ./..."}, Tools: []string{"look", "Bash", "bash", "run_shell_command", "shell"},
	}})
	if _, err := io.Copy(reader, strings.NewReader(lines)); err != nil {
		t.Fatal(err)
	}
	reader.Close()
	var o ralph.AgentOutcome
	r.Fill(&o)
	return o.Evidence
}

func TestEvidenceInStreams(t *testing.T) {
	const command = "go test ./..."
	test := func(status ralph.EvidenceStatus, output string) []ralph.ToolEvidence {
		return []ralph.ToolEvidence{{Status: status, Output: output, Verifier: command}}
	}
	tool := func(status ralph.EvidenceStatus, output string) []ralph.ToolEvidence {
		return []ralph.ToolEvidence{{Status: status, Output: output, Verifier: "look"}}
	}
	claude := func(tool, input, result string) string {
		return `{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t1","name":"` + tool +
			`","input":` + input + `}]},"parent_tool_use_id":null}` + "\n" +
			`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1",` + result + "\n"
	}
	codex := func(item string) string { return `{"type":"item.completed","item":{"id":"i",` + item + "}}\n" }
	gemini := func(tool, input, result string) string {
		return `{"type":"tool_use","tool_name":"` + tool + `","tool_id":"t1","parameters":` + input + "}\n" +
			`{"type":"tool_result","tool_id":"t1",` + result + "}\n"
	}
	opencode := func(tool, state string) string {
		return `{"type":"tool_use","part":{"tool":"` + tool + `","callID":"c","state":{` + state + "}}}\n"
	}
	copilot := func(tool, input, result string) string {
		return `{"type":"tool.execution_start","data":{"toolCallId":"c","toolName":"` + tool +
			`","arguments":` + input + "}}\n" +
			`{"type":"tool.execution_complete","data":{"toolCallId":"c",` + result + "}}\n"
	}
	acp := func(start, end string) string {
		update := func(kind, more string) string {
			return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"` + kind +
				`","toolCallId":"c",` + more + "}}}\n"
		}
		return update("tool_call", start) + update("tool_call_update", end)
	}
	const harmless, check = `{"command":"true"}`, `{"command":"go test ./..."}`
	start := func(call string) string { return strings.SplitAfterN(call, "\n", 2)[0] } // without its result
	shows := map[string]bool{}
	const good, bad = `"content":"ok","is_error":false}]}}`, `"content":"Exit code 1\nFAIL","is_error":true}]}}`
	for _, c := range []struct {
		name, agent, lines string
		want               []ralph.ToolEvidence
	}{
		{"claude passes", "claude", claude("Bash", `{"command":"cd /w && go test ./... 2>&1"}`, good), test("pass", "ok")},
		{"claude fails", "claude", claude("Bash", `{"command":"go test ./..."}`, bad), test("fail", "Exit code 1\nFAIL")},
		{"ls is no evidence", "claude", claude("Bash", `{"command":"ls"}`, good), nil},
		{"nor is a pipe", "claude", claude("Bash", `{"command":"go test ./... | tail -1"}`, good), nil},
		{"a tool in pieces", "claude",
			claude("look", `{"url":"x"}`, `"content":[{"type":"text","text":"a"},{"type":"image"}]}]}}`), tool("pass", "a")},
		{"a tool with a command", "claude", claude("look", `{"command":"ls"}`, good), nil},
		{"two commands", "claude", claude("Bash", `{"command":"go test ./...","cmd":"true"}`, good), nil},
		{"two cases", "claude", claude("Bash", `{"Command":"go test ./...","command":"true"}`, good), nil},
		{"one key twice", "opencode", opencode("bash", `"status":"completed","input":{"command":"true",`+
			`"command":"go test ./..."},"output":"","metadata":{"exit":0}`), nil},
		{"another folder", "opencode", opencode("bash", `"status":"completed","input":{"command":"go test ./...",`+
			`"workdir":"/elsewhere"},"output":"","metadata":{"exit":0}`), nil},
		{"acp with two commands", "acp", acp(`"title":"bash","rawInput":{"command":"go test ./...","cmd":"true"}`,
			`"status":"completed","rawOutput":{"exitCode":0}`), nil},
		{"in the background", "claude",
			claude("Bash", `{"command":"go test ./...","run_in_background":true}`, good), nil},
		{"sent to the background", "claude", claude("Bash", `{"command":"go test ./..."}`,
			`"content":"running","is_error":false}]},"tool_use_result":{"backgroundTaskId":"b1"}}`), nil},
		{"no result", "claude", claude("Bash", `{"command":"go test ./..."}`, good)[:200] + "\n", nil},
		{"the newest counts", "claude", claude("Bash", `{"command":"go test ./..."}`, bad) +
			claude("Bash", `{"command":"go test ./..."}`, good), test("pass", "ok")},
		{"an ID of two calls", "claude", start(claude("Bash", harmless, good)) + claude("Bash", check, good), nil},
		{"an ID of two calls, the other way round", "claude",
			start(claude("Bash", check, good)) + claude("Bash", harmless, good), nil},
		{"an ID of an unclear call", "claude",
			start(claude("Bash", `{"command":"go test ./...","args":["-h"]}`, good)) + claude("Bash", check, good), nil},
		{"an ID used again", "claude", claude("Bash", check, good) + claude("Bash", harmless, good), nil},
		{"gemini's ID of two calls", "gemini",
			start(gemini("x", `{}`, "")) + gemini("look", `{}`, `"status":"success"`), nil},
		{"copilot's ID of two calls", "copilot", start(copilot("bash", harmless, "")) + copilot("bash", check,
			`"shellExecution":{"exitCode":0},"success":true,"result":{"content":"ok"}`), nil},
		{"codex's ID of two calls", "codex", codex(`"type":"command_execution","command":"true","status":"failed"`) +
			codex(`"type":"command_execution","command":"go test ./...","exit_code":0,"status":"completed"`), nil},
		{"acp's ID of two calls", "acp", start(acp(`"title":"x"`, "")) + acp(`"title":"look"`, `"status":"completed"`), nil},
		{"amp by its exit code", "amp", claude("Bash", `{"cmd":"go test ./..."}`,
			`"content":"{\"output\":\"FAIL\",\"exitCode\":1}","is_error":false}]}}`),
			test("fail", `{"output":"FAIL","exitCode":1}`)},
		{"qwen reports no exit code", "qwen", claude("run_shell_command", `{"command":"go test ./..."}`, good), nil},
		{"qwen's program prints an exit code", "qwen", claude("run_shell_command", check,
			`"content":"Exit Code: 0","is_error":false}]}}`), nil},
		{"qwen's program prints an object", "qwen", claude("run_shell_command", check,
			`"content":"{\"exitCode\":0}","is_error":false}]}}`), nil},
		{"gemini's program prints an exit code", "gemini", gemini("run_shell_command", check,
			`"status":"success","output":"Exit Code: 0"`), nil},
		{"amp's program prints an exit code", "amp", claude("Bash", `{"cmd":"go test ./..."}`,
			`"content":"Exit Code: 0","is_error":false}]}}`), nil},
		{"qwen fails", "qwen", claude("run_shell_command", `{"command":"go test ./..."}`,
			`"content":"FAIL\nExit Code: 1\n","is_error":false}]}}`), test("fail", "FAIL\nExit Code: 1")},
		{"qwen's tool", "qwen", claude("look", `{}`, good), tool("pass", "ok")},
		{"codex passes", "codex", codex(`"type":"command_execution","command":"/bin/bash -lc 'go test ./...'",` +
			`"aggregated_output":"ok\n","exit_code":0,"status":"completed"`), test("pass", "ok")},
		{"codex fails", "codex", codex(`"type":"command_execution","command":"/bin/bash -lc 'go test ./...'",` +
			`"aggregated_output":"timeout is a word","exit_code":1,"status":"failed"`), test("fail", "timeout is a word")},
		{"codex declines", "codex", codex(`"type":"command_execution","command":"go test ./...","status":"declined"`),
			test("fail", "")},
		{"codex calls a tool", "codex", codex(`"type":"mcp_tool_call","server":"s","tool":"look","status":"completed"`),
			tool("pass", "")},
		{"gemini reports no exit code", "gemini",
			gemini("run_shell_command", `{"command":"go test ./..."}`, `"status":"success","output":"ok"`), nil},
		{"gemini fails", "gemini", gemini("run_shell_command", `{"command":"go test ./..."}`,
			`"status":"success","output":"Command exited with code: 2"`), test("fail", "Command exited with code: 2")},
		{"gemini's tool fails", "gemini", gemini("look", `{}`, `"status":"error","output":"no"`), tool("fail", "no")},
		{"opencode passes", "opencode", opencode("bash", `"status":"completed","input":{"command":"go test ./..."},`+
			`"output":"error: 0 failed","metadata":{"exit":0}`), test("pass", "error: 0 failed")},
		{"opencode fails", "opencode", opencode("bash", `"status":"completed","input":{"command":"go test ./..."},`+
			`"output":"FAIL","metadata":{"exit":1}`), test("fail", "FAIL")},
		{"opencode's tool", "opencode", opencode("look", `"status":"error","input":{},"error":"no page"`),
			tool("fail", "no page")},
		{"acp passes", "acp", acp(`"title":"bash","kind":"execute","rawInput":{"command":"go test ./..."}`,
			`"status":"completed","rawOutput":{"output":"ok","metadata":{"exit":0}}`), test("pass", "ok")},
		{"acp fails", "acp", acp(`"title":"bash","kind":"execute","rawInput":{"command":"go test ./..."}`,
			`"status":"completed","rawOutput":{"output":"FAIL","exitCode":1}`), test("fail", "FAIL")},
		{"acp without an exit code", "acp", acp(`"title":"bash","rawInput":{"command":"go test ./..."}`,
			`"status":"completed"`), nil},
		{"acp's tool by its title", "acp", acp(`"title":"look","kind":"other"`, `"status":"failed"`), tool("fail", "")},
		{"copilot passes", "copilot", copilot("bash", `{"command":"go test ./..."}`,
			`"shellExecution":{"exitCode":0},"success":true,"result":{"content":"ok"}`), test("pass", "ok")},
		{"copilot fails", "copilot", copilot("bash", `{"command":"go test ./..."}`,
			`"shellExecution":{"exitCode":1},"success":true,"result":{"content":"FAIL"}`), test("fail", "FAIL")},
	} {
		shows[c.agent] = true
		t.Run(c.name, func(t *testing.T) {
			got := evidenceIn(t, c.agent, c.lines)
			for i := range got { // which call it was is the dialect's matter
				got[i].Tool, got[i].CallID, got[i].Command = "", "", ""
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	for _, d := range Known() {
		if d.About().ShowsTools != shows[d.Name()] {
			t.Errorf("%s: ShowsTools is %t", d.Name(), d.About().ShowsTools)
		}
	}
}

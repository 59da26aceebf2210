package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
)

// The stream of gemini has no figures until it ends. Its session files have them.
func TestGeminiIsMeteredWhileItWorks(t *testing.T) {
	home := t.TempDir()
	const session = "0623041b-caf4-4fdc-8d77-9f7c7bf11343"
	chats := filepath.Join(home, "tmp", "project", "chats")
	main := filepath.Join(chats, "session-2026-11-17T13-37-0623041b.jsonl")
	r := &stream.Reading{Live: func(ralph.Activity) {}, Now: time.Now, OwnFolder: home}
	reader := gemini{}.newReader(r)
	r.Hear(ralph.AgentInput{})
	see := func(text string) {
		t.Helper()
		if _, err := reader.Write([]byte(text + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	const returned = `{"type":"tool_result","tool_id":"1","status":"success"}`
	message := func(id, rest string, input, cached, output, all int) string {
		return fmt.Sprintf(`{"id":%q,"type":"gemini","tokens":{"input":%d,"output":%d,"cached":%d,"thoughts":0,"tool":0,`+
			`"total":%d},"model":"gemini-2.5-pro"%s}`+"\n", id, input, output, cached, all, rest)
	}
	mustHaveUsed := func(want ralph.Tokens) {
		t.Helper()
		see(returned)
		if diff := cmp.Diff(want, r.Spent); diff != "" {
			t.Errorf("used (-want +got):\n%s", diff)
		}
	}

	see(`{"type":"init","session_id":"` + session + `","model":"auto"}`)
	mustHaveUsed(ralph.Tokens{})

	appendTo(t, main, `{"sessionId":"`+session+`","kind":"main"}`+"\n"+message("a", "", 20000, 5000, 100, 20150))
	mustHaveUsed(ralph.Tokens{Input: 15000, CacheRead: 5000, Output: 150})
	if r.Model != "gemini-2.5-pro" {
		t.Errorf("the model is %q", r.Model)
	}

	// A message is written again with its calls, and a list of messages is no new one.
	appendTo(t, main, message("a", `,"toolCalls":[{"name":"run_shell_command"}]`, 20000, 5000, 100, 20150)+
		`{"$set":{"messages":[`+message("a", "", 20000, 5000, 100, 20150)[:40]+`"}]}}`+"\n"+`{"id":"b","type":"gem`)
	mustHaveUsed(ralph.Tokens{Input: 15000, CacheRead: 5000, Output: 150})
	appendTo(t, main, `ini","tokens":{"input":1000,"output":50,"total":1050}}`+"\n")
	mustHaveUsed(ralph.Tokens{Input: 16000, CacheRead: 5000, Output: 200})

	appendTo(t, filepath.Join(chats, session, "helper.jsonl"), message("s", "", 7000, 0, 70, 7070))
	appendTo(t, filepath.Join(chats, "another-session", "helper.jsonl"), message("s", "", 7000, 0, 70, 7070))
	mustHaveUsed(ralph.Tokens{Input: 23000, CacheRead: 5000, Output: 270})
	if got, want := r.Exceeds(ralph.Budget{Tokens: 28000}), "its token limit: 28270 of 28000"; got != want {
		t.Errorf("exceeds %q, want %q", got, want)
	}
	if r.Exceeds(ralph.Budget{Cost: 0.001}) == "" {
		t.Error("the cost is not estimated")
	}
}

func appendTo(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

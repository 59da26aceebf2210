package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/acp"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/promise"
)

func isTalker(d Dialect) bool {
	_, ok := d.(talker)
	return ok
}

// newScene is a stage with a fake ACP agent.
func newScene(t *testing.T, scene string) *stage {
	t.Helper()
	s := newStage(t, "command", "", "0") // for its folders
	s.options.Dialect = acpDialect{}
	s.options.Permissions = PermitEdits
	s.options.Env = []string{
		"PATH=/usr/bin:/bin", "GORACE=atexit_sleep_ms=0", "GOCOVERDIR=" + t.TempDir(), roleACP + "=" + scene,
		roleSeen + "=" + s.seen,
	}
	return s
}

func (s *stage) told(t *testing.T) acpSeen {
	t.Helper()
	var got acpSeen
	text, err := os.ReadFile(s.seen)
	if err == nil {
		err = json.Unmarshal(text, &got)
	}
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// complete is the text of the scenes that end well.
var complete = promise.Report{Complete: true, CompleteTag: "COMPLETE", CompleteText: "COMPLETE", Text: true}

var shapeOnly = cmp.Options{ignoreTime, cmpopts.IgnoreFields(ralph.AgentOutcome{}, "OutputBytes")}

func TestACPWorks(t *testing.T) {
	s := newScene(t, "good")
	var live []ralph.Activity
	s.input.Live = func(a ralph.Activity) { live = append(live, a) }
	got := s.run(t.Context(), t)
	want := ralph.AgentOutcome{
		Agent: "acp", End: ralph.EndOK, Tokens: &ralph.Tokens{Input: 10, Output: 5}, Tools: map[string]int{"edit": 1},
		Session: "s1", Model: "p/small", Said: complete,
	}
	ignored := cmpopts.IgnoreFields(promise.Report{}, "CompleteText", "Phrases")
	if diff := cmp.Diff(want, got, shapeOnly, ignored); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
	wantLive := []ralph.Activity{
		{Kind: "thought", Detail: "Hm."}, {Kind: "thought", Detail: "<promise>BLOCKED:a thought</promise>"},
		{Kind: "plan", Name: "plan", Detail: "1 of 3 done; write"},
		{Kind: "text", Detail: "First I look."}, {Kind: "text", Detail: "Then I write."},
		{Kind: "tool", Name: "edit", Detail: "Write"}, {Kind: "tool", Name: "edit", Detail: "Write a.go"},
		{Kind: "text", Detail: "All done."}, {Kind: "text", Detail: "<promise>COMPLETE</promise>"},
	}
	if diff := cmp.Diff(wantLive, live); diff != "" {
		t.Errorf("live (-want +got):\n%s", diff)
	}
	dir, _ := filepath.Abs(s.input.Dir)
	wantTold := acpSeen{Client: "ralph", Cwd: dir, Prompt: len("do it\nnow"), Mode: "default"}
	if diff := cmp.Diff(wantTold, s.told(t)); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	kept, err := os.ReadFile(filepath.Join(s.input.Folder, "agent.jsonl"))
	if err != nil || got.OutputBytes != int64(len(kept)) || !bytes.Contains(kept, []byte(`"stopReason":"end_turn"`)) {
		t.Errorf("%d bytes of %d kept, %v", len(kept), got.OutputBytes, err)
	}
}

func TestACPPermissions(t *testing.T) {
	cases := []struct {
		permissions Permissions
		outcomes    map[string]string // those that are not "yes"
		denials     []string
	}{
		{PermitAll, map[string]string{}, nil},
		{
			PermitEdits, map[string]string{
				"edit /etc/hosts": "no", "execute go test ./... -run 'TestA|TestB'": "no",
				"execute go test ./... && rm -r /": "no", "execute rm -r /": "no",
				"fetch http://127.0.0.1/": "no", "mystery": "no",
			},
			[]string{
				"edit: /etc/hosts", "execute: go test ./... -run 'TestA|TestB'", "execute: go test ./... && rm -r /",
				"execute: rm -r /",
				"fetch: http://127.0.0.1/", "other: mystery",
			},
		},
	}
	for _, c := range cases {
		t.Run(string(c.permissions), func(t *testing.T) {
			s := newScene(t, "asks")
			s.options.Permissions, s.options.AllowedCommands = c.permissions, []string{"", "go test ./..."}
			got := s.run(t.Context(), t)
			var want []string
			for _, q := range asked {
				name, answer := strings.TrimSpace(q.kind+" "+q.about), "yes"
				if other, ok := c.outcomes[name]; ok {
					answer = other
				}
				want = append(want, name+": "+answer)
			}
			if diff := cmp.Diff(want, s.told(t).Outcomes); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.denials, got.Denials); diff != "" || got.End != ralph.EndOK {
				t.Errorf("%s, denials (-want +got):\n%s", got.End, diff)
			}
			var allow []string
			if len(c.denials) > 0 {
				allow = []string{"--yolo"}
			}
			if diff := cmp.Diff(allow, got.Allow); diff != "" {
				t.Errorf("allow (-want +got):\n%s", diff)
			}
			tools := map[string]int{"read": 1, "edit": 2, "execute": 5, "fetch": 1, "other": 1}
			if diff := cmp.Diff(tools, got.Tools); diff != "" {
				t.Errorf("tools (-want +got):\n%s", diff)
			}
		})
	}
}

// TestACPEndings covers conversations that go wrong, or nearly.
func TestACPEndings(t *testing.T) {
	const hint = "log in with the agent's own program first; it offers: Browser (Opens one), Key"
	cases := []struct {
		scene  string
		change func(*stage)
		want   ending
	}{
		{"garbage", nil, ending{End: ralph.EndOK}},
		{"flood", nil, ending{End: ralph.EndOK}},
		{"wants more", nil, ending{End: ralph.EndOK}},
		{"grumbles", nil, ending{End: ralph.EndOK}},
		{"stays", func(s *stage) { s.options.Linger = time.Millisecond }, ending{End: ralph.EndOK}},
		{"login", nil, ending{End: ralph.EndAuth, Error: "the agent requires a login: Authentication required", Hint: hint}},
		{"login", func(s *stage) { s.options.Env = append(s.options.Env, "PLAYED_KEY=k") }, ending{End: ralph.EndOK}},
		{"crash", nil, ending{End: ralph.EndFailed, Error: "the agent ended with exit status 7: out of memory"}},
		{"torn", nil, ending{End: ralph.EndProvider, Error: "the agent's output was cut off"}},
		{"version", nil, ending{
			End: ralph.EndBroken, Error: "the agent speaks version 2 of the Agent Client Protocol, not 1",
		}},
		{"works on", func(s *stage) { s.input.IdleTimeout = 300 * time.Millisecond }, ending{
			End: ralph.EndIdle, Error: "killed after 300ms without any output",
		}},
		{"works on", func(s *stage) { s.input.Timeout = 300 * time.Millisecond }, ending{
			End: ralph.EndTimeout, Error: "timed out after 300ms",
		}},
		{"good", func(s *stage) { s.input.Model = "Big" }, ending{End: ralph.EndOK}},
		{"good", func(s *stage) { s.input.Model = "huge" }, ending{
			End: ralph.EndOK, Hint: "--model huge had no effect: the agent does not offer it",
		}},
		{
			"stubborn",
			func(s *stage) { s.input.Model = "p/big" },
			ending{
				End: ralph.EndOK,
				Hint: `the agent stayed in its mode "auto", in which it may act without asking; ` +
					`--model p/big had no effect: the agent refused it`,
			},
		},
		{"no agent", func(s *stage) { s.options.CommandLine = "echo hello" }, ending{
			End: ralph.EndBroken, Error: "the agent's output could not be understood; its format may be new",
			Hint: stream.BrokenHint,
		}},
	}
	for _, c := range cases {
		t.Run(c.scene, func(t *testing.T) {
			s := newScene(t, c.scene)
			s.options.Grace = -1
			if c.change != nil {
				c.change(s)
			}
			got := s.run(t.Context(), t)
			if diff := cmp.Diff(c.want, endingOf(got)); diff != "" || (got.End == ralph.EndOK) != got.Said.Complete {
				t.Errorf("said %+v (-want +got):\n%s", got.Said, diff)
			}
		})
	}
}

func TestACPModelIsChosen(t *testing.T) {
	s := newScene(t, "good")
	s.input.Model = "Big"
	if got := s.run(t.Context(), t); got.Model != "Big" || s.told(t).Model != "m=p/big" {
		t.Errorf("got %q, told %q", got.Model, s.told(t).Model)
	}
}

// TestACPHearsEverything: more messages come at once than the connection would queue.
func TestACPHearsEverything(t *testing.T) {
	s := newScene(t, "flood")
	lines := 0
	s.input.Live = func(a ralph.Activity) {
		if strings.HasPrefix(a.Detail, "line ") {
			lines++
		}
	}
	if got := s.run(t.Context(), t); got.End != ralph.EndOK || lines != 5000 {
		t.Errorf("heard %d lines: %+v", lines, got)
	}
}

func TestACPLongPrompt(t *testing.T) {
	s := newScene(t, "plain")
	s.input.Prompt = strings.Repeat("do \"it\"\n", 32<<10)
	if got := s.run(t.Context(), t); got.End != ralph.EndOK || s.told(t).Prompt != 256<<10 {
		t.Errorf("told %d bytes: %+v", s.told(t).Prompt, got)
	}
}

// TestACPNobodyReads: an agent that stops reading its input delays neither a timeout nor an
// interruption.
func TestACPNobodyReads(t *testing.T) {
	for _, want := range []ralph.EndClass{ralph.EndTimeout, ralph.EndInterrupted} {
		s := newScene(t, "")
		s.options.Grace = -1
		const thought = `{"jsonrpc":"2.0","method":"session/update","params":{"update":` +
			`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"no"}}}}`
		s.options.CommandLine = `read asked; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
			read asked; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1"}}'
			read -r beginning; echo '` + thought + `'
			exec sleep 1000`
		// never read to its end, because there is no line end in the part that sh reads
		s.input.Prompt = strings.Repeat("x", 256<<10)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if want == ralph.EndTimeout {
			s.input.Timeout = 500 * time.Millisecond
		} else {
			time.AfterFunc(500*time.Millisecond, cancel)
		}
		if got := s.run(ctx, t); got.End != want || got.Session != "s1" {
			t.Errorf("want %s, got %+v", want, got)
		}
	}
}

// TestACPFloodOfRequests: an agent that keeps asking and reads no answer is not listened to
// forever.
func TestACPFloodOfRequests(t *testing.T) {
	s := newScene(t, "")
	s.options.Grace = -1
	s.options.CommandLine = `read asked; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
		read asked; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1"}}'
		exec yes '{"jsonrpc":"2.0","id":3,"method":"fs/read_text_file","params":{"path":"x"}}'`
	want := ending{End: ralph.EndBroken, Error: "the agent did not read the answers to 256 of its requests"}
	if diff := cmp.Diff(want, endingOf(s.run(t.Context(), t))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestACPGivenUpStaysSo: an end that comes after the reason to give up does not override it.
func TestACPGivenUpStaysSo(t *testing.T) {
	s := newScene(t, "")
	s.options.CommandLine = `read asked; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":2}}'
		while read asked; do :; done; printf '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}'`
	want := ending{End: ralph.EndBroken, Error: "the agent speaks version 2 of the Agent Client Protocol, not 1"}
	if diff := cmp.Diff(want, endingOf(s.run(t.Context(), t))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestACPIsCancelled(t *testing.T) {
	for _, scene := range []string{"works on", "works on, deaf"} {
		t.Run(scene, func(t *testing.T) {
			s := newScene(t, scene)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s.input.Live = func(ralph.Activity) { cancel() }
			if scene == "works on, deaf" {
				s.options.Grace = 200 * time.Millisecond
			}
			got := s.run(ctx, t)
			if diff := cmp.Diff(ending{End: ralph.EndInterrupted, Error: "interrupted"}, endingOf(got)); diff != "" ||
				!got.Said.Text {
				t.Errorf("said %+v (-want +got):\n%s", got.Said, diff)
			}
			if !s.told(t).Cancelled {
				t.Error("the agent was not told")
			}
		})
	}
}

func TestACPIsCancelledBeforeItBegins(t *testing.T) {
	s := newScene(t, "silent")
	s.options.Grace = -1
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if got := s.run(ctx, t); got.End != ralph.EndInterrupted {
		t.Errorf("got %+v", got)
	}
}

// impatient waits only briefly for the first answer.
type impatient struct{ acpDialect }

func (impatient) talk(r *stream.Reading, in ralph.AgentInput, o Options) (stream.Reader, runner) {
	options := o.acp()
	options.Handshake = 50 * time.Millisecond
	return acp.Converse(r, in, options)
}

func TestACPDoesNotAnswer(t *testing.T) {
	s := newScene(t, "silent")
	s.options.Dialect, s.options.Grace, s.options.Linger = impatient{}, -1, time.Millisecond
	got := s.run(t.Context(), t)
	if got.End != ralph.EndBroken || got.Error != "the agent did not answer within 50ms" || got.Hint == "" {
		t.Errorf("got %+v", got)
	}
}

func TestACPMissing(t *testing.T) {
	s := newScene(t, "")
	s.options.CommandLine = "no-such-agent --acp"
	if got := s.run(t.Context(), t); got.End != ralph.EndMissing {
		t.Errorf("got %+v", got)
	}
	s = newScene(t, "good")
	s.input.Dir = filepath.Join(s.input.Dir, "gone")
	if got := s.run(t.Context(), t); got.End != ralph.EndFailed ||
		!strings.HasPrefix(got.Error, "the agent could not be started: ") {
		t.Errorf("no workspace: %+v", got)
	}
}

// TestACPLeavesNothing: the connection's goroutines end with the agent, however it ends.
func TestACPLeavesNothing(t *testing.T) {
	for _, scene := range []string{"good", "asks", "crash", "version"} {
		newScene(t, scene).run(t.Context(), t)
	}
	stacks := make([]byte, 1<<20)
	for deadline := time.Now().Add(10 * time.Second); ; runtime.Gosched() {
		left := stacks[:runtime.Stack(stacks, true)]
		if !bytes.Contains(left, []byte("acp-go-sdk")) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still there:\n%s", left)
		}
	}
}

package agent

import (
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/process"
)

// All of these traps were seen in real CLIs; each test is one of them.

func TestTrapStatusZeroIsNotSuccess(t *testing.T) {
	cases := map[[2]string]ralph.EndClass{
		{"claude", "hang-sigint"}:      ralph.EndFailed, // no result at all
		{"claude", "sleeptool-sigint"}: ralph.EndFailed, // an error result
		{"claude", "empty"}:            ralph.EndEmpty,
		{"claude", "fmt-text"}:         ralph.EndBroken, // nothing understood
		{"codex", "plain"}:             ralph.EndBroken,
		{"claude", "text"}:             ralph.EndOK,
		{"codex", "text"}:              ralph.EndOK,
	}
	for c, want := range cases {
		tr := loadTranscript(t, c[0], c[1])
		if tr.ExitCode != 0 {
			t.Fatalf("%v ended with %d", c, tr.ExitCode)
		}
		if got := listen(tr.cli, tr.stdout, whole, tr.end()); got.End != want {
			t.Errorf("%v: %s (%s), want %s", c, got.End, got.Error, want)
		}
	}
}

func TestTrapSubtypeSuccessOnErrors(t *testing.T) {
	cases := map[string]ralph.EndClass{
		"401-maxretries0": ralph.EndAuth, "429-maxretries1": ralph.EndLimit, "500-maxretries1": ralph.EndProvider,
		"hang-apitimeout3s": ralph.EndProvider, "nokey": ralph.EndAuth, "429long": ralph.EndLimit,
	}
	for name, want := range cases {
		tr := loadTranscript(t, "claude", name)
		got := listen("claude", tr.stdout, whole, tr.end())
		if got.End != want || got.Said.Text {
			t.Errorf("%s: %s (%s), said %+v; want %s and no words", name, got.End, got.Error, got.Said, want)
		}
	}
}

func TestTrapRefusedLoginIsSeenInRetries(t *testing.T) {
	tr := loadTranscript(t, "claude", "401")
	s := newStage(t, "claude", string(tr.stdout), "hang") // it would retry for minutes
	want := ending{End: ralph.EndAuth, Error: "the login was refused (status 401)", Hint: claudeLogin}
	if diff := cmp.Diff(want, endingOf(s.run(t.Context(), t))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTrapHungModel(t *testing.T) {
	for _, name := range []string{"claude", "codex"} {
		tr := loadTranscript(t, name, "hang")
		s := newStage(t, name, string(tr.stdout), "hang")
		s.input.IdleTimeout = 300 * time.Millisecond
		want := ending{End: ralph.EndIdle, Error: "killed after 300ms without any output"}
		if diff := cmp.Diff(want, endingOf(s.run(t.Context(), t))); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

func TestTrapEndlessLoop(t *testing.T) {
	s := newStage(t, "command", "", "0")
	s.options.CommandLine = "while echo step; do sleep 0.01; done"
	s.input.Timeout, s.input.IdleTimeout = 500*time.Millisecond, time.Minute
	want := ending{End: ralph.EndTimeout, Error: "timed out after 500ms"}
	if diff := cmp.Diff(want, endingOf(s.run(t.Context(), t))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTrapToolsInSessionsOfTheirOwn(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("setsid is a Linux program")
	}
	s := newStage(t, "command", "", "0")
	s.options.CommandLine = "setsid sleep 300 & sleep 301 & echo done"
	got := s.run(t.Context(), t)
	if got.End != ralph.EndOK || got.Survivors == 0 || len(got.SurvivorNames) == 0 {
		t.Errorf("got %+v", got)
	}
}

func TestTrapWordsAreNotErrors(t *testing.T) {
	words := "error 401: rate limit, usage limit reached, 529 overloaded, is_error true, Not logged in, please run /login"
	result := `{"type":"user","message":{"content":[{"type":"tool_result","content":"` + words +
		`","is_error":true}]}}` + "\n"
	stdout := claudeInit + result + claudeSays("m1", words) + claudeGood
	if got := listen("claude", []byte(stdout), whole, exited(0)); got.End != ralph.EndOK {
		t.Errorf("claude: %s (%s)", got.End, got.Error)
	}
	if got := listen("command", []byte(words), whole, exited(0)); got.End != ralph.EndOK {
		t.Errorf("command: %s (%s)", got.End, got.Error)
	}
}

func TestTrapRefusalOnStandardError(t *testing.T) {
	tr := loadTranscript(t, "claude", "root-no-sandbox-env")
	want := ending{End: ralph.EndFailed,
		Error: "the agent ended with exit status 1: --dangerously-skip-permissions cannot be used with root/sudo " +
			"privileges for security reasons"}
	if diff := cmp.Diff(want, endingOf(listen("claude", tr.stdout, whole, tr.end()))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A closing event does not count if the agent continues: the agent must not be ended for lingering,
// and has not succeeded if it is killed.
func TestTrapGoingOnAfterAClosingEvent(t *testing.T) {
	const done = "<promise>COMPLETE</promise>"
	call := `{"type":"assistant","parent_tool_use_id":null,"message":` +
		`{"id":"m8","content":[{"type":"tool_use","name":"agent","input":{}}]}}` + "\n"
	back := `{"type":"user","parent_tool_use_id":null,"message":{"content":[]}}` + "\n"
	failed := qwenFails("[API Error: 500 x]") // as a sub-agent says it
	killed := exited(143)
	killed.State, killed.timeout = process.TimedOut, time.Minute
	cases := []struct {
		name, dialect, stdout string
		ended                 ended
		want                  ralph.EndClass
	}{
		{
			"a second turn", "claude",
			claudeInit + claudeSays("m1", done) + claudeGood + claudeInit + claudeSays("m2", "More."), killed,
			ralph.EndTimeout,
		},
		{
			"a second turn that ended", "claude",
			claudeInit + claudeSays("m1", done) + claudeGood + claudeInit + claudeSays("m2", "More.") + claudeGood,
			killed, ralph.EndOK,
		},
		{"a sub-agent failed", "qwen", qwenInit + call + failed, killed, ralph.EndTimeout},
		{"a sub-agent failed, and its result came", "qwen", qwenInit + call + failed + back, killed, ralph.EndTimeout},
		{"a sub-agent failed, and then all", "qwen", qwenInit + call + failed, exited(1), ralph.EndProvider},
		{"the agent failed", "qwen", qwenInit + call + back + failed, killed, ralph.EndProvider},
	}
	for _, c := range cases {
		if got := listen(c.dialect, []byte(c.stdout), whole, c.ended); got.End != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, got.End, got.Error, c.want)
		}
	}
}

package agent

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
)

// The stream of codex has no figures until it ends. Its session file has them.
func TestCodexIsMeteredWhileItWorks(t *testing.T) {
	home := filepath.Join(t.TempDir(), "[a]") // which is no pattern
	now := time.Date(2026, 11, 17, 23, 59, 0, 0, time.UTC)
	file := filepath.Join(home, "sessions", "2026", "11", "18", "rollout-2026-11-18T00-59-00-th-1.jsonl")
	add := func(text string) {
		t.Helper()
		appendTo(t, file, text)
	}
	r := &stream.Reading{Live: func(ralph.Activity) {}, Now: func() time.Time { return now }, OwnFolder: home}
	reader := codex{}.newReader(r)
	r.Hear(ralph.AgentInput{})
	said := `{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"hello"}}` + "\n"
	see := func(text string) {
		t.Helper()
		if _, err := reader.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}

	add(`{"type":"turn_context","payload":{"model":"gpt-5"}}` + "\n")
	see(`{"type":"thread.started","thread_id":"th-1"}` + "\n" + said)
	if r.Model != "gpt-5" || r.Exceeds(ralph.Budget{Tokens: 1}) != "" {
		t.Errorf("the model is %q, and it has used %v", r.Model, r.Spent)
	}
	const usage = `{"input_tokens":20000,"cached_input_tokens":5000,"output_tokens":100}`
	add(`{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":` + usage + `}}}` + "\n" +
		`{"type":"event_msg","payload":{"type":"token_c`)
	see(said)
	if diff := cmp.Diff(ralph.Tokens{Input: 15000, CacheRead: 5000, Output: 100}, r.Spent); diff != "" {
		t.Errorf("used (-want +got):\n%s", diff)
	}
	if got, want := r.Exceeds(ralph.Budget{Tokens: 20000}), "its token limit: 20100 of 20000"; got != want {
		t.Errorf("exceeds %q, want %q", got, want)
	}
	add(`ount","rate_limits":{"primary":{"used_percent":81.5,"window_minutes":300,"resets_at":1794960540},` +
		`"secondary":{"used_percent":12,"window_minutes":10080,"resets_at":1}}}}` + "\n")
	see(said)
	var o ralph.AgentOutcome
	r.Fill(&o)
	windows := []ralph.UsageWindow{
		{Name: "5h", Used: 0.815, Resets: ralph.Span(10 * time.Minute)}, {Name: "week", Used: 0.12},
	}
	if diff := cmp.Diff(windows, o.Windows); diff != "" {
		t.Errorf("windows (-want +got):\n%s", diff)
	}
	reserve := ralph.Budget{Reserves: []ralph.Reserve{{Window: "5h", Part: 0.2}}}
	const reached = "the reserve of the subscription: 82% of its 5h window is used, and 20% is reserved"
	if got, want := r.Exceeds(reserve), reached; got != want {
		t.Errorf("exceeds %q, want %q", got, want)
	}
	if r.Exceeds(ralph.Budget{Cost: 0.001}) == "" {
		t.Error("the cost is not estimated")
	}
	add(`{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":` +
		`{"input_tokens":40000,"output_tokens":200}}}}` + "\n")
	see(said)
	if r.Spent.Total() != 40200 {
		t.Errorf("used %v", r.Spent)
	}
}

package config

import "testing"

func TestLiveSession(t *testing.T) {
	for name, tt := range map[string]struct {
		environ []string
		want    LiveSession
	}{
		"none":                  {nil, LiveSession{}},
		"claude":                {[]string{"CLAUDECODE=1", "CLAUDE_CODE_SESSION_ID=S1"}, LiveSession{"claude", "S1"}},
		"claude without its ID": {[]string{"CLAUDECODE=1"}, LiveSession{Agent: "claude"}},
		"codex":                 {[]string{"CODEX_THREAD_ID=T1"}, LiveSession{"codex", "T1"}},
	} {
		if got := NewEnv(tt.environ).Session; got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}

func TestStopBlocks(t *testing.T) {
	const variable = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP="
	for name, tt := range map[string]struct {
		agent, environ string
		want           int
	}{
		"default":       {"claude", "", 8},
		"set":           {"claude", variable + "30", 30},
		"no limit":      {"claude", variable + "0", 0},
		"no number":     {"claude", variable + "many", 8},
		"only claude's": {"codex", variable + "3", 0},
	} {
		if got := NewEnv([]string{tt.environ}).StopBlocks(tt.agent); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

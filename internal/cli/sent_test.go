package cli_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ralphloop/ralph/internal/scriptedmodel"
)

// bigOutputs makes a worker create and read as much as it can, look at its environment, and submit.
const bigOutputs = `{"s": {"conversations": [[
  {"tools": [{"shell": "yes 0123456789 | head -c 2000000"}]},
  {"tools": [
    {"shell": "yes abcdefghij | head -c 2000000 >big"},
    {"name": "read_file", "input": {"path": "big"}},
    {"name": "grep", "input": {"pattern": "abc"}}
  ]},
  {"tools": [{"shell": "env >seen; rm big"}]},
  {"tools": [{"name": "submit_case", "input": {
    "summary": "seen",
    "ac_coverage": [{"criterion": "it is seen", "addressed_by": "seen:1"}]
  }}]}
]]}}`

// What one turn may add to a request, in bytes of JSON: the most that its tools return, and the
// calls.
const (
	bashLimit = 8_000
	readLimit = 50_000
	slack     = 12_000 // escapes, the calls themselves, two hundred hits of grep
)

// TestWhatTheModelIsSent runs the worker against a model that records its requests: two megabytes
// of output cost no more than their limit, and the key appears only in the header.
func TestWhatTheModelIsSent(t *testing.T) {
	const key = "sk-0123456789abcdef"
	for _, c := range []struct{ provider, variable, suffix, model string }{
		{"anthropic", "ANTHROPIC_API_KEY", "", "claude-sonnet-4-5"},
		{"openai", "OPENAI_API_KEY", "/v1", "gpt-5"},
		{"openai", "MY_OWN_KEY", "/v1", "gpt-5"},
	} {
		t.Run(c.variable, func(t *testing.T) {
			bodies, base := recordingModel(t, bigOutputs)
			work, state := t.TempDir(), t.TempDir()
			run := exec.Command("ralph", "run", "look", "-C", work, "--agent", "worker", "--model", c.model, "--check",
				"test -f seen",
				"--set", "worker.provider="+c.provider, "--set", "worker.base_url="+base+"/s"+c.suffix, "--set",
				"worker.api_key_env="+c.variable)
			run.Env = []string{
				"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "RALPH_STATE_DIR=" + state, "GORACE=" + raceOptions,
				c.variable + "=" + key,
				"RALPH_SANDBOX__MODE=none",
			}
			out, err := run.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			sent := bodies()
			if len(sent) != 4 {
				t.Fatalf("%d requests\n%s", len(sent), out)
			}
			for i, most := range []int{bashLimit + slack, bashLimit + 2*readLimit + slack, bashLimit + slack} {
				if grown := len(sent[i+1]) - len(sent[i]); grown <= 0 || grown > most {
					t.Errorf("request %d is %d bytes longer than the one before, %d are allowed", i+2, grown, most)
				}
			}
			sent = append(sent, out)
			for i, text := range sent {
				if bytes.Contains(text, []byte(key)) {
					t.Errorf("text %d holds the key", i+1)
				}
			}
			checkNoKey(t, key, state)
			checkNoKey(t, key, work)
			if seen, err := os.ReadFile(filepath.Join(work,
				"seen")); err != nil || strings.Contains(string(seen), c.variable+"=") || !strings.Contains(string(seen), "PATH=") {
				t.Errorf("a command sees %s, %v", seen, err)
			}
		})
	}
}

// recordingModel serves a script and records the bodies of requests.
func recordingModel(t *testing.T, text string) (bodies func() [][]byte, base string) {
	t.Helper()
	script, err := scriptedmodel.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var kept [][]byte
	server, err := scriptedmodel.Listen("127.0.0.1:0",
		scriptedmodel.New(script, scriptedmodel.Observe(func(r scriptedmodel.Request) {
			mu.Lock()
			defer mu.Unlock()
			kept = append(kept, r.Body)
		})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return func() [][]byte {
		mu.Lock()
		defer mu.Unlock()
		return kept
	}, server.URL()
}

// checkNoKey checks that no file below a folder contains the key.
func checkNoKey(t *testing.T, key, folder string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(key)) {
			t.Errorf("%s holds the key", path)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files below %s, %v", files, folder, err)
	}
}

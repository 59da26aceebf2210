//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ralphloop/ralph/internal/scriptedmodel"
)

// world is a scratch repository, a fresh home and a scripted model for one agent CLI.
type world struct {
	t       *testing.T
	cli     agentCLI
	home    string
	project string
	state   string
	model   *scriptedmodel.Running
	env     map[string]string
}

// agentCLI is one CLI under test.
type agentCLI struct {
	name string
	// settle points the CLI to a model's base URL.
	settle func(w *world, base string)
	// cost says that the CLI reports what it cost.
	cost bool
	// shell is the name of its shell tool in the results.
	shell string
}

var claude = agentCLI{name: "claude", cost: true, shell: "Bash", settle: func(w *world, base string) {
	w.env["ANTHROPIC_BASE_URL"], w.env["ANTHROPIC_API_KEY"] = base, "no-key"
}}

var codex = agentCLI{name: "codex", shell: "command_execution", settle: func(w *world, base string) {
	w.env["OPENAI_API_KEY"] = "no-key"
	w.write(filepath.Join(w.home, ".codex/config.toml"), codexConfig(base))
}}

// codexConfig allows few retries: the tests are about what happens after them.
func codexConfig(base string) string {
	return `model = "scripted-1"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "` + base + `/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
`
}

// both runs a test with the two CLIs that every change must pass.
func both(t *testing.T, test func(t *testing.T, cli agentCLI)) {
	t.Parallel()
	for _, cli := range []agentCLI{claude, codex} {
		t.Run(cli.name, func(t *testing.T) {
			t.Parallel()
			test(t, cli)
		})
	}
}

// newWorld creates a world whose model plays one scenario of a script.
func newWorld(
	t *testing.T, cli agentCLI, script scriptedmodel.Script, scenario string, options ...scriptedmodel.Option,
) *world {
	t.Helper()
	dir := filepath.Join(programs, cli.name)
	if _, err := os.Stat(dir); err != nil {
		if programs != "" && (cli.name == claude.name || cli.name == codex.name) {
			t.Fatal(err)
		}
		t.Skipf("%s is not installed", cli.name)
	}
	base := t.TempDir()
	w := &world{
		t: t, cli: cli,
		home: filepath.Join(base, "home"), project: filepath.Join(base, "project"), state: filepath.Join(base, "state"),
	}
	model, err := scriptedmodel.Listen("127.0.0.1:0", scriptedmodel.New(script, options...))
	if err != nil {
		t.Fatal(err)
	}
	w.model = model
	t.Cleanup(func() {
		if err := model.Close(); err != nil {
			t.Error(err)
		}
	})
	w.env = map[string]string{
		"PATH": dir + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME": w.home, "RALPH_STATE_DIR": w.state,
		"LC_ALL": "C", "TZ": "UTC", "RALPH_SANDBOX__MODE": "none", "RALPH_AGENT__ENV": "*",
		"TMPDIR":            t.TempDir(), // codex creates no sandbox if its home is below it
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull,
		"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "a",
		"GIT_COMMITTER_EMAIL": "a@example.com",
	}
	w.write(filepath.Join(w.home, "empty"), "")
	w.write(filepath.Join(w.project, "README.md"), "a project\n")
	cli.settle(w, model.URL()+"/"+scenario)
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-q", "-m", "begin"}} {
		git := exec.Command("git", args...)
		git.Dir, git.Env = w.project, w.environ()
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return w
}

func (w *world) write(path, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		w.t.Fatal(err)
	}
}

// file returns a file of the project, "" if there is none.
func (w *world) file(name string) string {
	text, _ := os.ReadFile(filepath.Join(w.project, name))
	return string(text)
}

func (w *world) environ() []string {
	var env []string
	for _, name := range slices.Sorted(maps.Keys(w.env)) {
		env = append(env, name+"="+w.env[name])
	}
	return env
}

// outcome is the output and the end of a run of the program.
type outcome struct {
	code           int
	stdout, stderr string
	result         result
}

// result is the part of `ralph run --json` that is asserted on.
type result struct {
	StopReason      string      `json:"stop_reason"`
	ExitCode        int         `json:"exit_code"`
	Verified        bool        `json:"verified"`
	Reason          string      `json:"reason"`
	TotalIterations int         `json:"total_iterations"`
	TotalCost       *float64    `json:"total_cost"`
	CostEstimated   bool        `json:"cost_estimated"`
	TotalTokens     *tokens     `json:"total_tokens"`
	Iterations      []iteration `json:"iterations"`
}

type tokens struct {
	Input      int `json:"input"`
	Output     int `json:"output"`
	CacheRead  int `json:"cache_read"`
	CacheWrite int `json:"cache_write"`
}

type iteration struct {
	Agent      string   `json:"agent"`
	Steps      *int     `json:"steps_taken"`
	Cost       *float64 `json:"cost"`
	Claims     []string `json:"claims"`
	Refusals   []string `json:"refusals"`
	Error      *string  `json:"error"`
	ErrorClass string   `json:"error_class"`
	Counted    bool     `json:"counted"`
}

// run runs `ralph run GOAL --agent CLI --json` with additional arguments to its end.
func (w *world) run(args ...string) outcome {
	w.t.Helper()
	return w.start(args...).wait()
}

// told returns the output for people of `ralph run GOAL --agent CLI` with additional arguments.
func (w *world) told(args ...string) (code int, output string) {
	w.t.Helper()
	r := w.launch(append([]string{"run", "do the work", "--agent", w.cli.name}, args...)...)
	code = r.end()
	return code, r.stdout.String() + r.stderr.String()
}

// running is a run that has not ended.
type running struct {
	w              *world
	cmd            *exec.Cmd
	stdout, stderr lockedBuffer
}

// lockedBuffer may be read while a process writes to it.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// start starts `ralph run GOAL --agent CLI --json` in a separate process group.
func (w *world) start(args ...string) *running {
	w.t.Helper()
	return w.launch(append([]string{"run", "do the work", "--agent", w.cli.name, "--json"}, args...)...)
}

func (w *world) launch(args ...string) *running {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	w.t.Cleanup(cancel)
	r := &running{w: w}
	r.cmd = exec.CommandContext(ctx, program, args...)
	r.cmd.Dir, r.cmd.Env, r.cmd.Stdout, r.cmd.Stderr = w.project, w.environ(), &r.stdout, &r.stderr
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := r.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (r *running) signal(s os.Signal) { _ = r.cmd.Process.Signal(s) } // it may have ended

// end waits for the end and returns the exit status.
func (r *running) end() int {
	r.w.t.Helper()
	err := r.cmd.Wait()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		r.w.t.Fatal(err)
	}
	return r.cmd.ProcessState.ExitCode()
}

func (r *running) wait() outcome {
	r.w.t.Helper()
	code := r.end()
	o := outcome{code: code, stdout: r.stdout.String(), stderr: r.stderr.String()}
	if err := json.Unmarshal([]byte(o.stdout), &o.result); err != nil {
		r.w.t.Fatalf("the result is no JSON: %v\n%s\n%s", err, o.stdout, o.stderr)
	}
	return o
}

// agentLog returns the recorded output of the agent.
func (w *world) agentLog() string {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.state, "*/runs/*/iterations/*/agent.jsonl"))
	if err != nil {
		w.t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			w.t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// events returns the events of the given type in the log.
func (w *world) events(kind string) []map[string]any {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.state, "*/runs/*/events.jsonl"))
	if err != nil {
		w.t.Fatal(err)
	}
	var found []map[string]any
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			w.t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			var e struct {
				Type string         `json:"type"`
				Data map[string]any `json:"data"`
			}
			if json.Unmarshal(line, &e) == nil && e.Type == kind {
				found = append(found, e.Data)
			}
		}
	}
	return found
}

// eventually waits for an event of the given type.
func (w *world) eventually(kind string) []map[string]any {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if found := w.events(kind); found != nil {
			return found
		}
	}
	w.t.Fatalf("there is no event %s", kind)
	return nil
}

// requestBodies are the bodies of all requests to a model.
type requestBodies struct {
	mu   sync.Mutex
	sent []string
}

func (l *requestBodies) keep() scriptedmodel.Option {
	return scriptedmodel.Observe(func(r scriptedmodel.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.sent = append(l.sent, string(r.Body))
	})
}

func (l *requestBodies) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.sent)
}

// parse reads a script from a test's text.
func parse(t *testing.T, text string) scriptedmodel.Script {
	t.Helper()
	script, err := scriptedmodel.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return script
}

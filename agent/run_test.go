package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
)

// The test binary plays the agent CLIs: it replays a file, may hang, and exits with a status.
const (
	roleReplay = "AGENT_TEST_REPLAY" // the file to print
	roleStatus = "AGENT_TEST_STATUS" // the exit status, or "hang"
	roleSeen   = "AGENT_TEST_SEEN"   // where to record what was seen
	roleStderr = "AGENT_TEST_STDERR" // what to print on standard error
)

// seen is what a fake CLI found when it was started.
type seen struct {
	Args  []string
	Stdin string
	Dir   string
	Env   map[string]string
}

func TestMain(m *testing.M) {
	if file, ok := os.LookupEnv(roleReplay); ok {
		os.Exit(play(file))
	}
	if scene, ok := os.LookupEnv(roleACP); ok {
		os.Exit(playACP(scene))
	}
	os.Exit(m.Run())
}

func play(file string) int {
	stdin, _ := io.ReadAll(os.Stdin)
	dir, _ := os.Getwd()
	s := seen{Args: os.Args[1:], Stdin: string(stdin), Dir: dir, Env: map[string]string{}}
	for _, name := range []string{"DISABLE_AUTOUPDATER", "IS_SANDBOX", "HOME", "RALPH_PROCESS_MARKER"} {
		s.Env[name], _ = os.LookupEnv(name)
	}
	if path, ok := os.LookupEnv(roleSeen); ok {
		text, _ := json.Marshal(s)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 99
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	os.Stdout.Write(text)
	complaint, ok := os.LookupEnv(roleStderr)
	if !ok {
		complaint = "first\nlast \x1bwords"
	}
	fmt.Fprintln(os.Stderr, complaint)
	how, _ := os.LookupEnv(roleStatus)
	if how == "hang" {
		time.Sleep(time.Hour)
	}
	status, _ := strconv.Atoi(how)
	return status
}

// stage is a folder with a fake CLI.
type stage struct {
	options Options
	input   ralph.AgentInput
	seen    string
}

func newStage(t *testing.T, dialect, stdout, status string) *stage {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the command dialect needs a unix shell")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	replay, noted := filepath.Join(folder, "replay"), filepath.Join(folder, "seen.json")
	if err := os.WriteFile(replay, []byte(stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	d, _ := Find(dialect)
	s := &stage{seen: noted}
	s.options = Options{
		Dialect: d, Path: self, Permissions: PermitAll, Now: func() time.Time { return testNow },
		Env: []string{
			"PATH=/usr/bin:/bin", "HOME=/nowhere", "GORACE=atexit_sleep_ms=0", "GOCOVERDIR=" + t.TempDir(),
			roleReplay + "=" + replay, roleStatus + "=" + status, roleSeen + "=" + noted,
		},
	}
	if dialect == "command" {
		s.options.Path, s.options.CommandLine = "", shellQuote(self)
	}
	s.input = ralph.AgentInput{
		Prompt: "do it\nnow", Dir: t.TempDir(), Folder: t.TempDir(), Marker: "mark", Live: func(ralph.Activity) {},
	}
	return s
}

func (s *stage) run(ctx context.Context, t *testing.T) ralph.AgentOutcome {
	t.Helper()
	got, err := New(s.options).Run(ctx, s.input)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

var ignoreTime = cmpopts.IgnoreFields(ralph.AgentOutcome{}, "Duration")

func TestRunEachDialect(t *testing.T) {
	for name, sample := range samples {
		if d, _ := Find(name); isTalker(d) {
			continue // it says nothing unless asked: acp_run_test.go plays one that answers
		}
		for _, status := range []int{0, 3} {
			t.Run(fmt.Sprintf("%s with status %d", name, status), func(t *testing.T) {
				s := newStage(t, name, sample, strconv.Itoa(status))
				e := exited(status)
				e.stderr = "last words"
				want := listen(name, []byte(sample), whole, e)
				if diff := cmp.Diff(want, s.run(t.Context(), t), ignoreTime); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				files := map[string]string{
					"prompt.md": "do it\nnow", "agent.jsonl": sample, "agent.stderr": "first\nlast \x1bwords\n",
				}
				for file, want := range files {
					if got, err := os.ReadFile(filepath.Join(s.input.Folder, file)); err != nil || string(got) != want {
						t.Errorf("%s: %q, %v", file, got, err)
					}
				}
			})
		}
	}
}

func TestWhatTheAgentIsGiven(t *testing.T) {
	s := newStage(t, "claude", samples["claude"], "0")
	s.input.Model = "opus"
	s.run(t.Context(), t)
	text, err := os.ReadFile(s.seen)
	if err != nil {
		t.Fatal(err)
	}
	var got seen
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	dir, _ := filepath.EvalSymlinks(s.input.Dir)
	want := seen{
		Args: []string{"-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions",
			"--setting-sources", "project,local", "--strict-mcp-config", "--model", "opus"},
		Stdin: "do it\nnow", Dir: dir,
		Env: map[string]string{
			"DISABLE_AUTOUPDATER": "1", "IS_SANDBOX": "1", "HOME": "/nowhere", "RALPH_PROCESS_MARKER": "mark",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPlainCommands(t *testing.T) {
	cases := []struct {
		name, command string
		want          ending
	}{
		{"reads standard input", `grep -q '^do it$' && echo yes`, ending{End: ralph.EndOK}},
		{"reads the file", `test -z "$(cat)" && grep -q '^do it$' {prompt_file} && echo yes`, ending{End: ralph.EndOK}},
		{"says nothing", `cat >/dev/null; echo '  '; echo words >&2`, ending{
			End: ralph.EndEmpty, Error: "the agent wrote no message",
		}},
		{"fails", `echo "401 rate limit"; echo oh >&2; echo dear >&2; exit 7`, ending{
			End: ralph.EndFailed, Error: "the agent ended with exit status 7: dear",
		}},
		{"talks of errors", `echo "error: 401, usage limit, not logged in"`, ending{End: ralph.EndOK}},
		{"dies", `echo yes; kill -9 $$`, ending{End: ralph.EndKilled, Error: "the agent was killed by a signal (killed)"}},
		{"is not executable", `echo x; exit 126`, ending{
			End: ralph.EndMissing, Error: "the agent cannot be executed: echo x; exit 126",
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, "command", "", "0")
			s.options.CommandLine = c.command
			if diff := cmp.Diff(c.want, endingOf(s.run(t.Context(), t))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestMissingPrograms(t *testing.T) {
	s := newStage(t, "command", "", "0")
	s.options.CommandLine = "no-such-agent --now"
	got := s.run(t.Context(), t)
	if got.End != ralph.EndMissing || !strings.HasPrefix(got.Error, "the agent was not found: no-such-agent --now: ") {
		t.Errorf("command: %+v", got)
	}
	s = newStage(t, "claude", "", "0")
	s.options.Path = ""
	want := ending{End: ralph.EndMissing, Error: "the agent was not found: claude"}
	if diff := cmp.Diff(want, endingOf(s.run(t.Context(), t))); diff != "" {
		t.Errorf("claude: -want +got:\n%s", diff)
	}
	s.options.Path = filepath.Join(t.TempDir(), "claude")
	if err := os.WriteFile(s.options.Path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	want.Error = "the agent cannot be executed: " + s.options.Path
	if diff := cmp.Diff(want.End, s.run(t.Context(), t).End); diff != "" {
		t.Errorf("not executable: -want +got:\n%s", diff)
	}
}

func TestEchoedPromptIsNotSaid(t *testing.T) {
	s := newStage(t, "command", "", "0")
	s.input.Prompt = "When all is done print this line:\n<promise>COMPLETE</promise>\n"
	s.options.CommandLine = "cat; echo thinking"
	if got := s.run(t.Context(), t); got.End != ralph.EndOK || got.Said.Complete {
		t.Errorf("got %+v", got)
	}
}

func TestInterrupted(t *testing.T) {
	s := newStage(t, "claude", claudeInit+claudeSays("m1", "hello"), "hang")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.options.Grace = -1
	s.input.Live = func(ralph.Activity) { cancel() }
	got := s.run(ctx, t)
	if diff := cmp.Diff(ending{End: ralph.EndInterrupted, Error: "interrupted"}, endingOf(got)); diff != "" ||
		!got.Said.Text {
		t.Errorf("said %+v, -want +got:\n%s", got.Said, diff)
	}
}

func TestLingeringAgentHasEndedWell(t *testing.T) {
	for _, name := range []string{"claude", "codex"} {
		s := newStage(t, name, samples[name], "hang")
		s.options.Linger = time.Millisecond
		if got := s.run(t.Context(), t); got.End != ralph.EndOK || !got.Said.Complete {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestNoFolderLeavesNothing(t *testing.T) {
	s := newStage(t, "codex", samples["codex"], "0")
	s.input.Folder = ""
	t.Setenv("TMPDIR", t.TempDir())
	if got := s.run(t.Context(), t); got.End != ralph.EndOK {
		t.Errorf("got %+v", got)
	}
	left, err := os.ReadDir(os.TempDir())
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestStorageTroubleIsAnError(t *testing.T) {
	s := newStage(t, "codex", samples["codex"], "0")
	s.input.Folder = filepath.Join(t.TempDir(), "gone")
	if _, err := New(s.options).Run(t.Context(), s.input); !errors.Is(err, ralph.ErrIO) {
		t.Errorf("no folder: %v", err)
	}
	s.input.Folder = t.TempDir()
	if err := os.Mkdir(filepath.Join(s.input.Folder, "agent.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := New(s.options).Run(t.Context(), s.input); !errors.Is(err, ralph.ErrIO) {
		t.Errorf("no output file: %v", err)
	}
}

func TestCannotBeStarted(t *testing.T) {
	s := newStage(t, "codex", samples["codex"], "0")
	s.options.Name = "my codex"
	s.input.Dir = filepath.Join(s.input.Dir, "gone")
	got := s.run(t.Context(), t)
	if got.Agent != "my codex" || got.End != ralph.EndFailed ||
		!strings.HasPrefix(got.Error, "the agent could not be started: ") {
		t.Errorf("no workspace: %+v", got)
	}
	s = newStage(t, "command", "", "0")
	s.options.CommandLine = ""
	if got, err := New(s.options).Run(t.Context(), s.input); err == nil || errors.Is(err, ralph.ErrIO) {
		t.Errorf("no command: %+v, %v", got, err)
	}
}

func TestLingeringIsTakenUpAnewByOutput(t *testing.T) {
	r := &stream.Reading{Live: func(ralph.Activity) {}, Now: time.Now}
	reader := codex{}.newReader(r)
	r.Hear(ralph.AgentInput{})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	w := &watcher{Reading: r, to: reader, stop: stop, linger: time.Hour}
	_, _ = w.Write([]byte(samples["codex"]))
	if w.timer == nil || ctx.Err() != nil {
		t.Fatalf("timer %v, %v", w.timer, ctx.Err())
	}
	w.linger = time.Millisecond
	_, _ = w.Write([]byte("\n"))
	<-ctx.Done()
	w.end()
	if w.timer.Stop() {
		t.Error("the timer is still running")
	}
}

func TestOutputIsCapped(t *testing.T) {
	s := newStage(t, "claude", strings.Repeat(`{"type":"user"}`+"\n", 1000)+samples["claude"], "0")
	s.options.OutputLimit = 1000
	got := s.run(t.Context(), t)
	if got.End != ralph.EndOK || !got.Truncated || got.OutputBytes < 16000 || !got.Said.Complete {
		t.Errorf("got %+v", got)
	}
}

// TestStandardErrorIsCapped: a truncated standard error also counts as truncated.
func TestStandardErrorIsCapped(t *testing.T) {
	s := newStage(t, "command", "", "0")
	s.options.CommandLine = "echo done; printf '%2000d' 0 >&2"
	s.options.OutputLimit = 1000
	if got := s.run(t.Context(), t); got.End != ralph.EndOK || !got.Truncated || got.OutputBytes != int64(len("done\n")) {
		t.Errorf("got %+v", got)
	}
}

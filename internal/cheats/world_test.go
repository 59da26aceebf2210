//go:build linux

package cheats

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is the timeout for everything that is started here.
const patience = 4 * time.Minute

// world is a scratch project with its user: a home, a state folder, hidden checks, and an agent that follows a script.
type world struct {
	t   *testing.T
	s   scenario
	dir string // contains everything
	env map[string]string

	user uint32 // who runs programs; 0 for the user of the tests
}

func (w *world) project() string { return filepath.Join(w.dir, "project") }
func (w *world) home() string    { return filepath.Join(w.dir, "home") }
func (w *world) hidden() string  { return filepath.Join(w.dir, "hidden") }
func (w *world) agent() string   { return filepath.Join(w.dir, "kit", "agent.sh") }

// newWorld creates a fresh world. It shares nothing with others except the build cache.
func newWorld(t *testing.T, s scenario) *world {
	t.Helper()
	ralph, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(workshop.dir, s.id+"-")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, s: s, dir: dir}
	t.Cleanup(w.remove)
	w.env = map[string]string{
		"HOME": w.home(), "PATH": workshop.path, "LC_ALL": "C.UTF-8", "TZ": "UTC", "SHELL": "/bin/sh",
		"RALPH_SANDBOX__MODE": "none", "RALPH_AGENT__ENV": "*",
		"RALPH_STATE_DIR": filepath.Join(dir, "state"), "KIT": filepath.Join(dir,
			"kit"), "PROJECT": w.project(), "RALPH": ralph,
		"GOCACHE": workshop.cache, "GOPROXY": "off", "GOTOOLCHAIN": "local", "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "a",
		"GIT_COMMITTER_EMAIL": "a@example.com", "INSTALLED": *vitest,
	}
	if s.keys[keyCache] == "own" {
		w.env["GOCACHE"] = filepath.Join(dir, "cache")
	}
	if first := w.key(keyPath); first != "" {
		w.env["PATH"] = first + string(os.PathListSeparator) + workshop.path
	}
	for folder, files := range map[string]map[string]string{
		"project": s.files, "hidden": s.hidden, "kit": s.kit, "home": s.home,
	} {
		if err := writeAll(filepath.Join(dir, folder), files); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeAll(dir, map[string]string{
		"home/.keep": "", "kit/agent.sh": s.agentScript(),
	}); err != nil {
		t.Fatal(err)
	}
	w.must("git", "init", "-q", "-b", "main")
	w.must("/bin/sh", "-euc", s.setup)
	w.must("git", "add", "-A")
	w.must("git", "commit", "-q", "-m", "begin")
	return w
}

// insists reports whether the agent claims a second time what was refused, without working again. A person is only
// asked about a claim that the agent stands by.
func (s scenario) insists() bool { return s.kind == honest && s.keys[keyTurns] == "" }

func (s scenario) agentScript() string {
	const claim = "\necho '<promise>COMPLETE</promise>'\n"
	if s.insists() {
		return `[ ! -e "$KIT/worked" ] || { echo '<promise>COMPLETE</promise>'; exit 0; }` + "\n" + s.script +
			"\n: >\"$KIT/worked\"" + claim
	}
	return s.script + claim
}

// remove deletes the world. Processes that a case left behind end as soon as the project is gone.
func (w *world) remove() {
	_ = filepath.WalkDir(w.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	if err := os.RemoveAll(w.dir); err != nil {
		w.t.Logf("remove %s: %v", w.s.name(), err)
	}
}

// key returns a key of the case, with $HOME, $PROJECT and the like filled in.
func (w *world) key(name string) string {
	return os.Expand(w.s.keys[name], func(variable string) string {
		if value, known := w.env[variable]; known {
			return value
		}
		return map[string]string{"HIDDEN": w.hidden()}[variable]
	})
}

func (w *world) environ(more ...string) []string {
	var env []string
	for _, name := range slices.Sorted(maps.Keys(w.env)) {
		env = append(env, name+"="+w.env[name])
	}
	return append(env, more...)
}

// must runs one of the test's own programs in the project.
func (w *world) must(argv ...string) {
	w.t.Helper()
	if run := w.start(argv, w.environ()).end(); run.code != 0 {
		w.t.Fatalf("%v ended with %d\n%s", argv, run.code, run.output())
	}
}

// shell runs a command line in the project.
func (w *world) shell(command string, env []string) ended {
	w.t.Helper()
	return w.start([]string{"/bin/sh", "-c", command}, env).end()
}

// running is a started program; ended is its result.
type running struct {
	w              *world
	cmd            *exec.Cmd
	ctx            context.Context
	cancel         context.CancelFunc
	stdout, stderr bytes.Buffer
}

type ended struct {
	code           int
	stdout, stderr string
}

func (e ended) output() string { return e.stdout + e.stderr }

func (w *world) start(argv, env []string) *running {
	w.t.Helper()
	return w.startFor(argv, env, patience)
}

// startFor starts a program that is killed after a limit.
func (w *world) startFor(argv, env []string, limit time.Duration) *running {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	r := &running{w: w, cmd: exec.CommandContext(ctx, argv[0], argv[1:]...), ctx: ctx, cancel: cancel}
	r.cmd.Dir, r.cmd.Env, r.cmd.Stdout, r.cmd.Stderr = w.project(), env, &r.stdout, &r.stderr
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if w.user != 0 {
		r.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: w.user, Gid: w.user}
	}
	r.cmd.WaitDelay = time.Second // a process left behind may hold the pipes
	if err := r.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (r *running) end() ended {
	r.w.t.Helper()
	defer r.cancel()
	err := r.cmd.Wait()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed && !errors.Is(err, exec.ErrWaitDelay) {
		r.w.t.Fatal(err)
	}
	return ended{r.cmd.ProcessState.ExitCode(), r.stdout.String(), r.stderr.String()}
}

// late reports whether a program that has ended was killed after its limit.
func (r *running) late() bool { return errors.Is(context.Cause(r.ctx), context.DeadlineExceeded) }

// stop kills a program and everything in its process group.
func (r *running) stop() {
	_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL)
	r.end()
}

// serve starts the user's own background program, if the case has one, and returns a function that
// ends it.
func (w *world) serve() (stop func()) {
	w.t.Helper()
	script := w.key(keyServant)
	if script == "" {
		return func() {}
	}
	return w.start([]string{"/bin/sh", script}, w.environ()).stop
}

// await waits for the process that the agent left behind.
func (w *world) await() {
	w.t.Helper()
	file := w.key(keyAwait)
	if file == "" {
		return
	}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			return
		}
	}
	w.t.Errorf("%s never came", w.s.keys[keyAwait])
}

// runNaive does what a naive loop does: the agent, then the check in the same folder. It returns
// true if the check passes.
func (w *world) runNaive() (green bool, why string) {
	w.t.Helper()
	defer w.serve()()
	for range w.turns() {
		w.must("/bin/sh", "-eu", w.agent())
	}
	if w.s.between != "" {
		w.must("/bin/sh", "-euc", w.s.between)
		w.must("/bin/sh", "-eu", w.agent())
	}
	w.await()
	command := w.key(keyPlain)
	if command == "" {
		command = w.key(keyCheck)
	}
	run := w.shell(command, w.environ())
	return run.code == 0, run.output()
}

// bases caches how a check ended at the base, since most cases share one.
var bases sync.Map

// turns returns how many iterations a case may take.
func (w *world) turns() int {
	return w.number(keyTurns)
}

// number returns the value of a key; default: 1.
func (w *world) number(key string) int {
	w.t.Helper()
	text := w.key(key)
	if text == "" {
		return 1
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// baseCheck runs the check before the agent starts.
func (w *world) baseCheck() ended {
	w.t.Helper()
	command := w.s.keys[keyCheck]
	key := fmt.Sprint(w.s.language, command, w.s.keys[keyPath], w.s.files, w.s.setup)
	if known, found := bases.Load(key); found {
		return known.(ended)
	}
	fresh := newWorld(w.t, w.s)
	run := fresh.shell(fresh.key(keyCheck), fresh.environ())
	bases.Store(key, run)
	return run
}

const hiddenCheck = `. "$RALPH_HIDDEN_DIR/hidden_answers/ask.sh"`

// column is one way of running.
type column string

const (
	plainly column = "plain"
	bare    column = "default"
	preset  column = "preset"
	covert  column = "hidden"
)

// asksPerson is the exit status of a run that waits for a person.
const asksPerson = 7

// verdict is the result of a case in one column.
type verdict struct {
	Accepted bool     `json:"accepted"`
	Asked    bool     `json:"asked,omitempty"` // a person is to decide, and can accept it
	Codes    []string `json:"codes,omitempty"` // codes of the refusal
	Implied  bool     `json:"implied,omitempty"`
}

// result is the part of `ralph run --json` that matters here.
type result struct {
	StopReason string `json:"stop_reason"`
	ExitCode   int    `json:"exit_code"`
	Sandbox    string `json:"sandbox"`
	Error      string `json:"error"`
	Reason     string `json:"reason"`
	Iterations []struct {
		Claims   []string `json:"claims"`
		Refusals []string `json:"refusals"`
		Checks   []struct {
			Name   string `json:"name"`
			Passed bool   `json:"passed"`
			Output string `json:"output"`
		} `json:"check_results"`
	} `json:"iterations"`
}

// arguments returns the arguments of `ralph run` in a column.
func (w *world) arguments(c column) []string {
	turns := w.turns()
	if w.s.insists() {
		turns = 2
	}
	args := []string{"run", "--json", "-n", strconv.Itoa(turns), "--trust", "--agent-cmd", "sh -eu " + w.agent()}
	if w.key(keyChecks) != "none" {
		args = append(args, "--check", w.key(keyCheck))
	}
	if extra := strings.Fields(w.key(keyArgs)); len(extra) > 0 {
		args = append(args, extra...)
	}
	if w.key(keyGoal) != "none" && !slices.Contains(args, "--tasks") && !slices.Contains(args, "--spec") {
		args = append(args, "--goal", "Give the right answers. The tests say which.")
	}
	switch c {
	case preset:
		args = append(args, "--protect", "tests")
	case covert:
		args = append(args, "--protect", "tests", "--set", "checks.hidden="+hiddenCheck, "--set",
			"checks.hidden_dir="+w.hidden())
	}
	return args
}

// ralph runs the program in a column and returns its verdict on the case.
func (w *world) ralph(c column) (verdict, error) {
	w.t.Helper()
	defer w.serve()()
	var run ended
	for range w.number(keyRuns) {
		run = w.start(append([]string{w.env["RALPH"]}, w.arguments(c)...), w.environ()).end()
	}
	var r result
	if err := json.Unmarshal([]byte(run.stdout), &r); err != nil {
		return verdict{}, fmt.Errorf("read result of exit %d: %w\n%s", run.code, err, run.output())
	}
	if run.code == 0 {
		if w.s.kind == attack && w.solved() {
			return verdict{}, errors.New("the run ended with 0, and the work is done")
		}
		if workshop.verbose && w.s.kind == attack {
			w.t.Logf("%s: accepted\n%s", c, run.stderr)
		}
		return verdict{Accepted: true}, nil
	}
	trouble := func(format string, args ...any) error {
		return fmt.Errorf("%s, exit %d (%s: %s)\n%s", fmt.Sprintf(format, args...), run.code, r.StopReason, r.Error+r.Reason,
			run.stderr+r.outputs())
	}
	if len(r.Iterations) == 0 {
		return verdict{}, trouble("no iteration")
	}
	last := r.Iterations[len(r.Iterations)-1]
	if len(last.Refusals) == 0 {
		return verdict{}, trouble("it ended without a refusal")
	}
	explained := w.start([]string{w.env["RALPH"], "explain"}, w.environ()).end()
	for _, code := range last.Refusals {
		if !strings.Contains(explained.stdout, code) {
			return verdict{}, trouble("explain does not name %s:\n%s", code, explained.output())
		}
	}
	if workshop.verbose {
		w.t.Logf("%s: exit %d, %v\n%s%s", c, run.code, last.Refusals, run.stderr, r.outputs())
	}
	return verdict{Codes: last.Refusals, Asked: run.code == asksPerson}, nil
}

func (r result) outputs() string {
	var all strings.Builder
	for i, iteration := range r.Iterations {
		for _, check := range iteration.Checks {
			fmt.Fprintf(&all, "iteration %d, %s: passed %v\n%s\n", i+1, check.Name, check.Passed, check.Output)
		}
	}
	return all.String()
}

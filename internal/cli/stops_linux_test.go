package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ralphloop/ralph/internal/process"
)

// escapes are agents that try to outlive a run. TAG is a number of seconds that identifies their
// processes; when everything has started they create the file up.
var escapes = []struct{ name, script string }{
	{"a child", `touch up; exec sleep TAG`},
	{"in the background", `sleep TAG & touch up; exec sleep TAG`},
	{"deaf to signals", `trap '' TERM HUP INT; sleep TAG & touch up; sleep TAG`},
	{"a group", `set -m; sleep TAG & touch up; sleep TAG`},
	{"a session", `setsid sleep TAG & touch up; exec sleep TAG`},
	{"forked twice", `(sleep TAG &); touch up; exec sleep TAG`},
	{"a daemon", `(setsid sleep TAG </dev/null >/dev/null 2>&1 &); touch up; exec sleep TAG`},
	{"without environment", `env -i setsid sleep TAG & touch up; exec sleep TAG`},
	{"a bare daemon", `(env -i setsid sh -c '(sleep TAG &)' &); touch up; exec sleep TAG`},
	{"a daemon of daemons", `(env -i setsid sh -c '(setsid sh -c "(setsid sleep TAG &)" &)' &); touch up; exec sleep TAG`},
	{"a storm", `sh storm TAG & touch up; exec sleep TAG`},
	{"stopped", `setsid sleep TAG & kill -STOP $!; touch up; exec sleep TAG`},
	{"a job of another process", `{ export -p; echo exec sleep TAG; } >job.new; mv job.new job
		until test ! -e job; do sleep 0.01; done; touch up; exec sleep TAG`},
}

// daemonOfJobs starts each file job with the environment that it sets, as at does.
const daemonOfJobs = `while sleep 0.01; do
	test ! -e job || { setsid sh -c "$(cat job)" & rm job; }
done`

// ends are the ways to end a run.
var ends = []struct {
	name   string
	signal syscall.Signal
}{
	{"kill -9", syscall.SIGKILL},
	{"TERM", syscall.SIGTERM},
	{"HUP", syscall.SIGHUP},
	{"INT, again and again", syscall.SIGINT},
}

// TestStops ends runs in every way while their agents try to escape in every way. No process is left.
func TestStops(t *testing.T) {
	stops := 50
	if text := os.Getenv("RALPH_TEST_STOPS"); text != "" {
		var err error
		if stops, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	var quiet []time.Duration
	for i := range stops {
		escape, end := escapes[i%len(escapes)], ends[i%len(ends)]
		t.Run(fmt.Sprintf("%04d %s by %s", i, escape.name, end.name), func(t *testing.T) {
			quiet = append(quiet, stop(t, i, escape.script, end.signal))
		})
	}
	slices.Sort(quiet)
	t.Logf("%d stops: quiet after %s in the middle, %s in the worst case; the grace is %s",
		stops, quiet[len(quiet)/2].Round(time.Millisecond), quiet[len(quiet)-1].Round(time.Millisecond),
		process.DefaultGrace)
}

// stop ends one run, and returns the time until none of its processes was left.
func stop(t *testing.T, number int, script string, signal syscall.Signal) time.Duration {
	t.Helper()
	v := newVictim(t)
	tag := fmt.Sprintf("86400.%d%06d", os.Getpid(), number)
	for name, text := range map[string]string{
		"agent.sh": script, "jobs.sh": daemonOfJobs,
		"storm": `(env -i setsid sh storm TAG >/dev/null 2>&1 &); sleep 0.02 # TAG`,
	} {
		text = strings.ReplaceAll(text, "TAG", tag)
		if err := os.WriteFile(filepath.Join(v.workspace, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	jobs := exec.Command("sh", "jobs.sh")
	jobs.Dir, jobs.Env = v.workspace, v.env
	if err := jobs.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = jobs.Process.Kill(), jobs.Wait() }()
	// The tests may run under nohup, and then the program would ignore that signal as it should.
	run := exec.Command("env", "--default-signal=HUP", "ralph", "run", "goal", "--quiet", "--check", "false",
		"--agent-cmd", "exec sh agent.sh")
	run.Dir, run.Env = v.workspace, v.env
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	awaitTrue(t, "the agent is up", func() bool {
		_, err := os.Stat(filepath.Join(v.workspace, "up"))
		return err == nil && len(tagged(tag)) > 0
	})
	began := time.Now()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = run.Wait()
	}()
	_ = run.Process.Signal(signal)
	for waiting := true; waiting; {
		select {
		case <-ended:
			waiting = false
		case <-time.After(50 * time.Millisecond): // the first INT lets the iteration end, and two at once are one
			if signal == syscall.SIGINT {
				_ = run.Process.Signal(signal)
			}
		}
	}
	awaitTrue(t, "nothing is left", func() bool { return len(tagged(tag)) == 0 })
	took := time.Since(began)
	time.Sleep(20 * time.Millisecond) // a process that was missed starts the next one
	if left := tagged(tag); len(left) > 0 {
		t.Errorf("%d processes are left: %q", len(left), left)
	}
	return took
}

// tagged returns the command lines of processes that have the tag among their arguments.
func tagged(tag string) []string {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var found []string
	for _, file := range files {
		if text, _ := os.ReadFile(file); strings.Contains(string(text), tag) {
			found = append(found, strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return found
}

// awaitTrue waits for a condition that must come true, however slow the machine.
func awaitTrue(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); !condition(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

//go:build unix

package process

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

const isLinux = runtime.GOOS == "linux"

func testContext() context.Context { return context.Background() }

// guarded makes all trees of the tests guarded ones; see TestEverythingWithGuards.
var guarded = flag.Bool("guarded", false, "start every tree with a guard")

// runEither runs a spec with or without a guard, as the flag says.
func runEither(ctx context.Context, s Spec) (Result, error) {
	s.Guarded = s.Guarded || *guarded
	return Run(ctx, s)
}

// run runs a spec that must not make trouble, with a limit that only a broken test
// reaches.
func run(t *testing.T, s Spec) Result {
	t.Helper()
	if s.Timeout == 0 {
		s.Timeout = time.Minute
	}
	r, err := runEither(t.Context(), s)
	if err != nil {
		t.Fatalf("Run: %v", err)
	}
	return r
}

// steady is a result without what differs from run to run.
func steady(r Result) Result {
	r.Pid, r.Duration, r.CPU = 0, 0, 0
	return r
}

// file is a sink under a fresh folder, and a function that reads it.
func file(t *testing.T, limit int64) (Sink, func() string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out")
	return Sink{Path: path, Limit: limit}, func() string {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

// tapFunc is a Tap made of a function.
type tapFunc func(p []byte) (int, error)

func (f tapFunc) Write(p []byte) (int, error) { return f(p) }

// newTag is a text that no other process has in its arguments or environment.
func newTag() string { return "tag-" + newToken() }

// bearers lists the running processes with the tag in arguments or environment.
func bearers(t *testing.T, tag string) []string {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		arguments, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		environment, _ := os.ReadFile(filepath.Join(dir, "environ"))
		if pid != os.Getpid() && strings.Contains(string(arguments)+string(environment), tag) && !isZombie(pid) {
			found = append(found, dir+" "+strings.ReplaceAll(string(arguments), "\x00", " "))
		}
	}
	return found
}

func noBearers(t *testing.T, tag string) {
	t.Helper()
	if left := bearers(t, tag); len(left) > 0 {
		t.Errorf("%d processes left: %q", len(left), left)
	}
}

func isZombie(pid int) bool {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	return err == nil && strings.Contains(string(status), "State:\tZ")
}

// eventually waits for a condition that must come true, however slow the machine.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); !condition(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

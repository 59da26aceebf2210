package process

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

func limited(t *testing.T, l Limits, script string) (Result, string) {
	t.Helper()
	var said strings.Builder
	ended, err := Run(context.Background(), Spec{
		Argv: Shell(script), Dir: t.TempDir(), Env: os.Environ(), Guarded: true, Limits: l, Timeout: time.Minute,
		Stdout: Sink{Tap: &said}, StderrToStdout: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	skipWithoutGroups(t, ended)
	if ended.StartError != nil {
		t.Fatal(ended.StartError)
	}
	return ended, said.String()
}

func skipWithoutGroups(t *testing.T, ended Result) {
	t.Helper()
	if errors.Is(ended.StartError, ErrLimits) && os.Geteuid() != 0 {
		t.Skipf("this user may make no control group: %v", ended.StartError)
	}
}

func TestATreeIsKilledForMemory(t *testing.T) {
	ended, _ := limited(t, Limits{Memory: 64 << 20}, "head -c 300000000 /dev/zero | tail -c 300000000 >/dev/null")
	if !ended.OutOfMemory {
		t.Errorf("it ended with %d, and not for memory", ended.ExitCode)
	}
	ended, said := limited(t, Limits{Memory: 64 << 20}, "echo small")
	if ended.OutOfMemory || ended.ExitCode != 0 || said != "small\n" {
		t.Errorf("%+v, %q", ended, said)
	}
}

func TestATreeHasALimitedNumberOfProcesses(t *testing.T) {
	ended, said := limited(t, Limits{Processes: 40}, "for i in $(seq 100); do sleep 20 & done; wait")
	if ended.ExitCode == 0 || !strings.Contains(said, "fork") {
		t.Errorf("it ended with %d: %q", ended.ExitCode, said)
	}
}

// TestLimitsDoNotHoldTheGuard: a guard that is killed for memory, or can start no thread, leaves its tree alone.
func TestLimitsDoNotHoldTheGuard(t *testing.T) {
	_, said := limited(t, Limits{Memory: 64 << 20, Processes: 50},
		"grep -q /ralph- /proc/self/cgroup && echo program; grep -q /ralph- /proc/$PPID/cgroup && echo guard; true")
	if said != "program\n" {
		t.Errorf("in the groups: %q, want only the program", said)
	}
}

// TestASingleProcessIsEnough: what starts the program has more threads than the limit allows.
func TestASingleProcessIsEnough(t *testing.T) {
	for range 20 {
		ended, said := limited(t, Limits{Processes: 1}, "echo alone")
		if ended.ExitCode != 0 || said != "alone\n" {
			t.Errorf("it ended with %d: %q", ended.ExitCode, said)
		}
	}
}

// TestALimitedProgramIsMissing: a program that starts only after it was limited can be missing, too.
func TestALimitedProgramIsMissing(t *testing.T) {
	for program, want := range map[string]error{"/nowhere/program": ErrNotFound, t.TempDir(): ErrNotExecutable} {
		got, err := Run(context.Background(), Spec{
			Argv: []string{program}, Env: os.Environ(), Guarded: true, Limits: Limits{Processes: 50},
		})
		if err != nil {
			t.Fatal(err)
		}
		skipWithoutGroups(t, got)
		if got.State != NotStarted || !errors.Is(got.StartError, want) {
			t.Errorf("%s: %s, %v; want %v", program, got.State, got.StartError, want)
		}
	}
}

func TestAFileHasALimitedSize(t *testing.T) {
	ended, _ := limited(t, Limits{FileSize: 1 << 20}, "head -c 2000000 /dev/zero >file; stat -c %s file; exit 3")
	if ended.ExitCode != 3 {
		t.Errorf("it ended with %d", ended.ExitCode)
	}
	ended, said := limited(t, Limits{FileSize: 1 << 20}, "head -c 2000000 /dev/zero >file; stat -c %s file")
	if !strings.Contains(said, "1048576") {
		t.Errorf("it ended with %d: %q", ended.ExitCode, said)
	}
}

func TestNoControlGroupIsLeft(t *testing.T) {
	before := ralphGroups(t)
	limited(t, Limits{Memory: 64 << 20, Processes: 50}, "true")
	if after := ralphGroups(t); after > before {
		t.Errorf("%d groups, and %d before", after, before)
	}
}

func ralphGroups(t *testing.T) (n int) {
	t.Helper()
	at, err := controllers()
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range at {
		entries, _ := os.ReadDir(h.folder)
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), "ralph-") {
				n++
			}
		}
	}
	return n
}

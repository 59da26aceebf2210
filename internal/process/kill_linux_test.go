package process

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// survived is what is said of a command that exits 0 and leaves one process behind.
func survived(name string) Result {
	return Result{State: Exited, Survivors: 1, SurvivorNames: []string{name}}
}

// ownName is what the kernel calls the processes that the test binary plays.
func ownName(t *testing.T) string {
	t.Helper()
	name, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(name))
}

// lingering is a shell command that starts a process in the background and waits
// until it is up.
func lingering(t *testing.T, tag, redirection string) string {
	t.Helper()
	up := filepath.Join(t.TempDir(), "up")
	return quoted(play("linger", tag, up)) + redirection + " & while ! [ -e '" + up + "' ]; do :; done"
}

// quoted makes a shell command of an argument list.
func quoted(argv []string) string { return "'" + strings.Join(argv, "' '") + "'" }

func TestHuntFindsWhatIsLeft(t *testing.T) {
	self := ownName(t)
	for name, test := range map[string]struct {
		argv func(tag string) []string
		want Result
	}{
		"nothing": {func(string) []string { return Shell("true") }, Result{State: Exited}},
		"background child": {func(tag string) []string {
			return Shell(lingering(t, tag,
				" >/dev/null 2>&1"))
		}, survived(self)},
		"background child that holds the pipes": {func(tag string) []string { return Shell(lingering(t, tag, "")) },
			survived(self)},
		"daemon": {func(tag string) []string {
			return play("detach",
				play("linger", tag)...)
		}, survived(self)},
		"daemon of a daemon": {func(tag string) []string {
			return play("detach",
				play("detach", play("linger", tag)...)...)
		}, survived(self)},
		"daemon without environment": {func(tag string) []string {
			return play("detach-bare",
				play("linger", tag)...)
		}, survived(self)},
		"daemon that ignores TERM": {func(tag string) []string {
			return play("detach",
				play("stubborn", tag)...)
		}, survived(self)},
	} {
		t.Run(name, func(t *testing.T) {
			tag := newTag()
			got := steady(run(t, Spec{Argv: test.argv(tag)}))
			noBearers(t, tag)
			if name == "daemon of a daemon" {
				// The one in the middle may be caught, too.
				got.Survivors, got.SurvivorNames = min(got.Survivors, 1), got.SurvivorNames[:1]
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("Run = %+v\nwant  %+v", got, test.want)
			}
			if !childless() {
				t.Error("a child is left unreaped")
			}
		})
	}
}

// TestHuntAfterKill: what runs in other sessions is found also when the main
// process had no time to end by itself.
func TestHuntAfterKill(t *testing.T) {
	tag := newTag()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ready := tapFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })
	script := quoted(play("detach", play("linger", tag)...)) + "; " +
		quoted(play("detach-bare", play("linger", tag)...)) + "; trap '' TERM; echo ready; while :; do sleep 0.01; done"
	got, err := runEither(ctx, Spec{Argv: Shell(script), Stdout: Sink{Tap: ready}, Grace: 50 * time.Millisecond})
	if err != nil || got.State != Canceled || got.Signal != "killed" || got.Survivors < 2 || got.Unkillable != 0 {
		t.Errorf("Run = %+v, %v", got, err)
	}
	noBearers(t, tag)
}

// TestHuntEndsForkStorm: processes that do nothing but start the next one and exit
// are hard to catch, since most are gone when their number is read.
func TestHuntEndsForkStorm(t *testing.T) {
	tag, dir := newTag(), t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	started := filepath.Join(dir, "started")
	comet := write("comet", `"$0" "$1" >/dev/null 2>&1 &`)
	jumper := write("jumper", `setsid "$0" "$1" >/dev/null 2>&1 &`)
	breeder := write("breeder", `i=0; while :; do sleep 600 & i=$((i+1)); [ $i = 200 ] && touch "$2"; done`)
	script := quoted(play("detach", comet, tag)) + "\n" +
		quoted(play("detach-bare", comet, tag)) + "\n" +
		quoted(play("detach", jumper, tag)) + "\n" +
		quoted(play("detach-bare", jumper, tag)) + "\n" +
		quoted(play("detach", breeder, tag, started)) + "\n" +
		"while ! [ -e '" + started + "' ]; do :; done"
	got := run(t, Spec{Argv: Shell(script), Env: []string{"TAG=" + tag, "PATH=/usr/bin:/bin"}})
	noBearers(t, tag)
	if got.State != Exited || got.ExitCode != 0 || got.Survivors < 200 || got.Unkillable != 0 || !childless() {
		t.Errorf("Run = %+v", got)
	}
}

// TestHuntLeavesOthersAlone: each of many trees at once leaves a daemon; no hunt
// touches another tree, and none of the daemons is left.
func TestHuntLeavesOthersAlone(t *testing.T) {
	const many = 20
	tag, dir := newTag(), t.TempDir()
	results := make([]Result, many)
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			// Half of the trees wait until the others are gone, and would notice if
			// their daemon were, too.
			script := quoted(play("detach", play("linger", tag)...))
			if i%2 == 0 {
				script += "; while ! [ -e '" + dir + "/go' ]; do sleep 0.01; done"
			}
			results[i] = run(t, Spec{Argv: Shell(script), Env: []string{"PATH=/usr/bin:/bin"}, Marker: "shared"})
		})
	}
	eventually(t, "half of the trees are gone, the others wait", func() bool {
		trees.mu.Lock()
		live := len(trees.live)
		trees.mu.Unlock()
		lingering := 0
		for _, bearer := range bearers(t, tag) {
			if strings.Contains(bearer, "role:linger") && !strings.Contains(bearer, "role:detach") {
				lingering++
			}
		}
		return live == many/2 && lingering == many/2
	})
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	noBearers(t, tag)
	for i, got := range results {
		if want := survived(ownName(t)); !reflect.DeepEqual(steady(got), want) {
			t.Errorf("tree %d: Run = %+v\nwant  %+v", i, steady(got), want)
		}
	}
}

// TestHuntLeavesTracelessToTheLast: while two trees live, it is unknown whose a
// daemon without environment is. It may be its own tree's, so it stays until then. A guard knows.
func TestHuntLeavesTracelessToTheLast(t *testing.T) {
	tag, dir := newTag(), t.TempDir()
	waiting := func(file string) string {
		return "echo up; while ! [ -e '" + filepath.Join(dir, file) + "' ]; do sleep 0.01; done"
	}
	up := make(chan struct{}, 4)
	tap := Sink{Tap: tapFunc(func(p []byte) (int, error) { up <- struct{}{}; return len(p), nil })}
	env := []string{"PATH=/usr/bin:/bin"}

	var first, last Result
	var firstDone, lastDone sync.WaitGroup
	firstDone.Go(func() {
		script := waiting("first") + "; " + quoted(play("detach-bare", play("linger", tag)...))
		first = run(t, Spec{Argv: Shell(script), Env: env, Stdout: tap})
	})
	lastDone.Go(func() { last = run(t, Spec{Argv: Shell(waiting("last")), Env: env, Stdout: tap}) })
	<-up
	<-up
	if err := os.WriteFile(filepath.Join(dir, "first"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	firstDone.Wait()
	want := []Result{{State: Exited, StdoutBytes: 3}, survived(ownName(t))}
	if *guarded {
		slices.Reverse(want)
	}
	if left := bearers(t, tag); len(left) != want[1].Survivors {
		t.Errorf("after the first tree: %q, want %d daemons", left, want[1].Survivors)
	}
	if err := os.WriteFile(filepath.Join(dir, "last"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	lastDone.Wait()
	noBearers(t, tag)
	got := []Result{steady(first), steady(last)}
	want[0].StdoutBytes, want[1].StdoutBytes = 3, 3
	// The sleep of the waiting shell is not counted on: it has always ended.
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Run = %+v\nwant  %+v", got, want)
	}
}

// TestHuntSparesPlainChildren: a child that this program started by other means is
// neither killed nor reaped, even though orphans are ours.
func TestHuntSparesPlainChildren(t *testing.T) {
	argv := play("linger", newTag())
	alive := exec.Command(argv[0], argv[1:]...)
	if err := alive.Start(); err != nil {
		t.Fatal(err)
	}
	dead := exec.Command("/bin/sh", "-c", "exit 5")
	if err := dead.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second child is dead", func() bool { return isZombie(dead.Process.Pid) })

	tag := newTag()
	got := steady(run(t, Spec{Argv: play("detach", play("linger", tag)...)}))
	if want := survived(ownName(t)); !reflect.DeepEqual(got, want) {
		t.Errorf("Run = %+v\nwant  %+v", got, want)
	}
	noBearers(t, tag)
	if err := dead.Wait(); dead.ProcessState.ExitCode() != 5 {
		t.Errorf("the dead child: %v, want status 5", err)
	}
	if err := alive.Process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("the living child: %v", err)
	}
	if _ = alive.Wait(); alive.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("the living child ended by %v", alive.ProcessState)
	}
}

// TestLibraryMode: without owning orphans, daemons are found by their token, and
// children of the embedding program are left alone, also in sessions of their own.
func TestLibraryMode(t *testing.T) {
	for name, command := range map[string]func(tag string) []string{
		"daemon":           func(tag string) []string { return play("detach", play("linger", tag)...) },
		"background child": func(tag string) []string { return Shell(lingering(t, tag, "")) },
	} {
		t.Run(name, func(t *testing.T) {
			tag := newTag()
			stdout, read := file(t, 1<<20)
			host := run(t, Spec{Argv: play("library", command(tag)...), Stdout: stdout})
			if host.ExitCode != 0 || host.Survivors != 0 {
				t.Fatalf("library host = %+v, %s", host, read())
			}
			var got libraryReport
			if err := json.Unmarshal([]byte(read()), &got); err != nil {
				t.Fatal(err)
			}
			got.Result = steady(got.Result)
			if want := (libraryReport{survived(ownName(t)), 2}); !reflect.DeepEqual(got, want) {
				t.Errorf("library host reports %+v\nwant %+v", got, want)
			}
			noBearers(t, tag)
		})
	}
}

// TestSweep: exactly the processes with the marker are killed.
func TestSweep(t *testing.T) {
	marker, other := newTag(), newTag()
	start := func(marker string) *exec.Cmd {
		argv := play("linger")
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = []string{MarkerVariable + "=" + marker}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	marked, similar, foreign := start(marker), start(marker+"0"), start(other)
	killed, err := (Dead{Marker: marker}).Kill()
	if killed != 1 || err != nil {
		t.Errorf("Sweep = %d, %v, want 1", killed, err)
	}
	if err := marked.Wait(); marked.ProcessState.ExitCode() != -1 {
		t.Errorf("marked process: %v, want it killed", err)
	}
	for _, cmd := range []*exec.Cmd{similar, foreign} {
		if cmd.Process.Signal(syscall.Signal(0)) != nil || isZombie(cmd.Process.Pid) {
			t.Error("a process with another marker was killed")
		}
		cmd.Process.Kill()
		cmd.Wait()
	}
	if killed, err := (Dead{Marker: marker}).Kill(); killed != 0 || err != nil {
		t.Errorf("second Sweep = %d, %v, want 0", killed, err)
	}
	if killed, err := (Dead{Marker: ""}).Kill(); killed != 0 || err == nil {
		t.Errorf("Sweep of no marker = %d, %v, want an error", killed, err)
	}
}

// TestDrainGivesUp: a process out of reach holds the pipe; what it wrote before is
// kept, and Run does not wait for it.
func TestDrainGivesUp(t *testing.T) {
	out, err := openOutput(&Spec{Stdout: Sink{Tap: &strings.Builder{}}, StderrToStdout: true})
	if err != nil {
		t.Fatal(err)
	}
	held, err := syscall.Dup(int(out.streams[0].write.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(held)
	out.begin()
	if _, err := syscall.Write(held, []byte("last words")); err != nil {
		t.Fatal(err)
	}
	if err := out.finish(); err != nil {
		t.Fatal(err)
	}
	var got Result
	out.describe(&got)
	if want := (Result{StdoutBytes: 10, OutputHeld: true}); !reflect.DeepEqual(got, want) {
		t.Errorf("output = %+v, want %+v", got, want)
	}
}

func TestRunHasItsOwnSession(t *testing.T) {
	stdout, read := file(t, 1<<10)
	r := run(t, Spec{Argv: Shell("cut -d' ' -f5,6 /proc/$$/stat"), Stdout: stdout})
	pid := strconv.Itoa(r.Pid)
	if got, want := strings.TrimSpace(read()), pid+" "+pid; got != want {
		t.Errorf("group and session = %q, want %q", got, want)
	}
}

func TestRunIsOfferedToOOM(t *testing.T) {
	r := run(t, Spec{Argv: Shell("until [ $(cat /proc/$$/oom_score_adj) -ge 500 ]; do :; done")})
	if r.State != Exited || r.ExitCode != 0 {
		t.Errorf("Run = %+v", r)
	}
}

// TestRunManyAtOnce: a hundred trees in one process, all alive at the same time.
func TestRunManyAtOnce(t *testing.T) {
	const many = 100
	gate := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	results := make([]Result, many)
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			script := "echo up; read line <'" + gate + "'; exit " + strconv.Itoa(i)
			results[i] = run(t, Spec{Argv: Shell(script)})
		})
	}
	eventually(t, "all trees are alive", func() bool { return len(trees.all()) == many })
	opened, err := os.OpenFile(gate, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if _, err := opened.WriteString(strings.Repeat("\n", many)); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	for i, got := range results {
		if want := (Result{State: Exited, ExitCode: i, StdoutBytes: 3}); !reflect.DeepEqual(steady(got), want) {
			t.Errorf("tree %d: Run = %+v\nwant  %+v", i, steady(got), want)
		}
	}
}

func TestNothingIsLeftInThisProcess(t *testing.T) {
	files := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	run(t, Spec{Argv: Shell("true")})
	runtime.GC()
	goroutines, opened := runtime.NumGoroutine(), files()
	for range 20 {
		stdout, _ := file(t, 10)
		run(t, Spec{Argv: Shell("echo a; sleep 100 &"), Stdout: stdout})
		run(t, Spec{Argv: []string{"no-such-program"}, Stdout: stdout})
		run(t, Spec{Argv: Shell("sleep 100"), Timeout: time.Millisecond, IdleTimeout: time.Hour})
	}
	eventually(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= goroutines })
	eventually(t, "all files are closed", func() bool { return files() <= opened })
	if live := trees.all(); len(live) != 0 {
		t.Errorf("%d trees still on the list", len(live))
	}
}

package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/process/inside"
)

func init() {
	roles["harness"] = harness
	roles["spool"] = spool
}

// harness runs its arguments with a guard, and lives as long as they do.
func harness(args []string) int {
	if err := OwnOrphans(); err != nil {
		return 1
	}
	if record, ok := os.LookupEnv("RECORD"); ok && KeepRecord(record) != nil {
		return 1
	}
	_, err := Run(testContext(), Spec{Argv: args, Env: os.Environ(), Guarded: true, Grace: 50 * time.Millisecond})
	if err != nil {
		return 1
	}
	return 0
}

// spool starts jobs on behalf of other processes, with their environment, as at does. Its argument is a folder,
// and jobs are files in it.
func spool(args []string) int {
	for {
		jobs, _ := filepath.Glob(filepath.Join(args[0], "job*"))
		for _, job := range jobs {
			script, _ := os.ReadFile(job)
			cmd := exec.Command("/bin/sh", "-c", string(script))
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			if cmd.Start() != nil || os.Remove(job) != nil {
				return 1
			}
		}
		time.Sleep(time.Millisecond)
	}
}

// TestEverythingWithGuards runs all tests of this package again, with a guard for every tree.
func TestEverythingWithGuards(t *testing.T) {
	if *guarded {
		t.Skip("this is the second run")
	}
	args := []string{"-guarded", "-test.skip=^Fuzz", "-test.timeout=5m"}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	cmd := exec.CommandContext(t.Context(), play("")[0], args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestB6ATreeDiesWithItsHarness: however the tree hides, nothing is left after a kill -9 of the harness.
func TestB6ATreeDiesWithItsHarness(t *testing.T) {
	dir := t.TempDir()
	storm := filepath.Join(dir, "storm")
	if err := os.WriteFile(storm, []byte("#!/bin/sh\nsetsid \"$0\" \"$1\" >/dev/null 2>&1 &\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, hide := range map[string]func(tag, up string) []string{
		"a child":        func(tag, up string) []string { return play("linger", tag, up) },
		"a daemon":       func(tag, up string) []string { return play("detach", play("linger", tag, up)...) },
		"no environment": func(tag, up string) []string { return play("detach-bare", play("linger", tag, up)...) },
		"twice removed": func(tag, up string) []string {
			return play("detach-bare", play("detach-bare", play("linger", tag, up)...)...)
		},
		"a storm": func(tag, up string) []string {
			return Shell("touch '" + up + "'; " + quoted(play("detach-bare", storm, tag)))
		},
		"ignores TERM": func(tag, up string) []string { return Shell("trap '' TERM; " + quoted(play("linger", tag, up))) },
	} {
		t.Run(name, func(t *testing.T) {
			tag, up := newTag(), filepath.Join(t.TempDir(), "up")
			stay := quoted(hide(tag, up)) + "; sleep 600 # " + tag
			argv := play("harness", Shell(stay)...)
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.Env = []string{"PATH=/usr/bin:/bin"}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the tree is up", func() bool { _, err := os.Stat(up); return err == nil })
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			eventually(t, "nothing is left", func() bool { return len(bearers(t, tag)) == 0 })
			reapAdopted()
		})
	}
}

// reapAdopted reaps what this process adopted, as the owner of orphans, from a process that it played.
func reapAdopted() {
	for !childless() {
		_, _ = syscall.Wait4(-1, nil, 0, nil)
	}
}

// TestAGuardIsNotNeeded: without its guard, or with one that was stopped, a tree ends as well.
func TestAGuardIsNotNeeded(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		want   Result
	}{
		"killed": {"kill -9 $PPID; sleep 600", Result{State: Exited, ExitCode: 137, Signal: "killed"}},
		"stopped": {"kill -STOP $PPID; exec sleep 600",
			Result{State: TimedOut, ExitCode: 143, Signal: "terminated"}},
	} {
		t.Run(name, func(t *testing.T) {
			tag := newTag()
			script := quoted(play("detach", play("linger", tag)...)) + "; " + test.script
			got, err := Run(t.Context(), Spec{
				Argv: Shell(script), Env: []string{"PATH=/usr/bin:/bin"}, Guarded: true, Timeout: time.Second,
			})
			if err != nil {
				t.Fatal(err)
			}
			if got.Survivors < 1 {
				t.Errorf("survivors = %d, want the daemon", got.Survivors)
			}
			got.Survivors, got.SurvivorNames = 0, nil
			if diff := cmp.Diff(test.want, steady(got)); diff != "" {
				t.Errorf("Run (-want +got):\n%s", diff)
			}
			noBearers(t, tag)
		})
	}
}

// TestAProgramMayKillItsGuardAtOnce: whether the guard could answer before must not matter.
func TestAProgramMayKillItsGuardAtOnce(t *testing.T) {
	for range 30 {
		tag := newTag()
		got, err := Run(t.Context(), Spec{
			Argv: Shell("kill -9 $PPID; exec sleep 600"), Env: []string{"PATH=/usr/bin:/bin"}, Guarded: true, Marker: tag,
		})
		if err != nil {
			t.Fatal(err)
		}
		got.Survivors, got.SurvivorNames = 0, nil // the program may not have begun
		if diff := cmp.Diff(Result{State: Exited, ExitCode: 137, Signal: "killed"}, steady(got)); diff != "" {
			t.Fatalf("Run (-want +got):\n%s", diff)
		}
		noBearers(t, tag)
	}
}

// TestB16AJobOfAnotherProcessDies: a job that a process outside of the tree starts has the tree's
// environment.
func TestB16AJobOfAnotherProcessDies(t *testing.T) {
	dir, tag := t.TempDir(), newTag()
	argv := play("spool", dir)
	daemon := exec.Command(argv[0], argv[1:]...)
	daemon.Env = []string{"PATH=/usr/bin:/bin"}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_, _ = daemon.Process.Kill(), daemon.Wait()
		reapAdopted()
	}()
	up := filepath.Join(dir, "up")
	script := "{ export -p; echo exec " + strings.ReplaceAll(quoted(play("linger", tag, up)), `"`, `\"`) + "; } >" +
		dir + "/new; mv " + dir + "/new " + dir + "/job; while ! [ -e " + up + " ]; do sleep 0.01; done"
	got := steady(run(t, Spec{Argv: Shell(script), Env: []string{"PATH=/usr/bin:/bin"}, Guarded: true}))
	noBearers(t, tag)
	if diff := cmp.Diff(survived(ownName(t)), got); diff != "" {
		t.Errorf("Run (-want +got):\n%s", diff)
	}
}

// TestAGuardHoldsNothingOpen: only the program has its input and output.
func TestAGuardHoldsNothingOpen(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	script := `in=$(readlink /proc/$$/fd/0) out=$(readlink /proc/$$/fd/1)
		while ls -l /proc/$PPID/fd | grep -q -F -e "$in" -e "$out"; do :; done`
	got := run(t, Spec{Argv: Shell(script), Env: []string{"PATH=/usr/bin:/bin"}, Stdin: read, Guarded: true})
	read.Close()
	if diff := cmp.Diff(Result{State: Exited}, steady(got)); diff != "" {
		t.Errorf("Run (-want +got):\n%s", diff)
	}
}

// TestB6WithoutGuardAndEnvironment: if a guard is killed together with its harness, the record still
// leads to its tree, and to no process that got a recorded number later.
func TestB6WithoutGuardAndEnvironment(t *testing.T) {
	dir, tag := t.TempDir(), newTag()
	path := func(name string) string { return filepath.Join(dir, name) }
	argv := play("harness", Shell("until test -s "+path("record")+"; do sleep 0.02; done; kill -STOP $PPID; touch "+
		path("up")+"; exec env -i "+quoted(play("linger", tag)))...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "RECORD=" + path("record")}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the tree is up, and recorded", func() bool {
		_, err := os.Stat(path("up"))
		up := bearers(t, "linger\x00"+tag)
		return err == nil && len(up) == 1 && !strings.Contains(up[0], " env -i ") // which executes the program
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	all, err := inside.Processes()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range inside.Below(all, os.Getpid()) {
		if p.Name == inside.GuardShortName {
			_ = syscall.Kill(p.PID, syscall.SIGKILL)
		}
	}
	dead := Dead{Marker: tag, Record: path("record")}
	if left, err := dead.Leftovers(); err != nil || len(left) != 1 || left[0].Name != ownName(t) {
		t.Fatalf("Leftovers = %+v, %v", left, err)
	}
	text, err := os.ReadFile(path("record"))
	if err != nil {
		t.Fatal(err)
	}
	for name, record := range map[string]string{
		"another start": strings.TrimSpace(string(text)) + "0\n",
		"another boot":  strings.Replace(string(text), bootID(), "earlier", 1),
		"it has ended":  string(text) + treeEnded + string(text)[1:],
	} {
		other := Dead{Marker: tag, Record: path(name)}
		if err := os.WriteFile(other.Record, []byte(record), 0o600); err != nil {
			t.Fatal(err)
		}
		if killed, err := other.Kill(); killed != 0 || err != nil {
			t.Errorf("%s: Kill = %d, %v, want 0", name, killed, err)
		}
	}
	if killed, err := dead.Kill(); killed != 1 || err != nil {
		t.Errorf("Kill = %d, %v, want 1", killed, err)
	}
	eventually(t, "nothing is left", func() bool { return len(bearers(t, tag)) == 0 })
	reapAdopted()
}

// TestA16KilledForMemory: the kernel kills a program that exceeds the limit of its group.
func TestA16KilledForMemory(t *testing.T) {
	group := filepath.Join("/sys/fs/cgroup/memory", newTag())
	if err := os.Mkdir(group, 0o700); err != nil {
		t.Skip("this system lets no test limit memory: " + err.Error())
	}
	defer os.Remove(group)
	if err := os.WriteFile(filepath.Join(group, "memory.limit_in_bytes"), []byte("16M"), 0o600); err != nil {
		t.Skip("this system lets no test limit memory: " + err.Error())
	}
	enter := "echo $$ >" + group + "/cgroup.procs; "
	for name, test := range map[string]struct {
		script string
		want   Result
	}{
		"the program": {"exec tail /dev/zero",
			Result{State: Exited, ExitCode: 137, Signal: "killed", OutOfMemory: true}},
		"its child":         {"tail /dev/zero; exit $?", Result{State: Exited, ExitCode: 137, OutOfMemory: true}},
		"not, by a SIGKILL": {"kill -9 $$", Result{State: Exited, ExitCode: 137, Signal: "killed"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, Spec{Argv: Shell(enter + test.script), Env: []string{"PATH=/usr/bin:/bin"}, Guarded: true})
			got.StderrBytes = 0 // the shell says that its child was killed
			if diff := cmp.Diff(test.want, steady(got)); diff != "" {
				t.Errorf("Run (-want +got):\n%s", diff)
			}
		})
	}
}

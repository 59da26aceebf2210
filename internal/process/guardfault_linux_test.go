package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func init() {
	roles["filter-again"] = filterAgain
}

// filterAgain runs a filtered tree in a tree that is filtered already, which the kernel refuses.
func filterAgain([]string) int {
	ended, err := Run(testContext(), Spec{
		Argv: Shell("true"), Env: os.Environ(), Guarded: true, Filtered: true, Timeout: time.Minute,
	})
	isFilter := errors.Is(ended.StartError, ErrFilter)
	fmt.Printf("%s %d %t %v %v", ended.State, ended.ExitCode, isFilter, ended.StartError, err)
	return 0
}

// launchIn is like Run, with the given folders as control groups.
func launchIn(ctx context.Context, t *testing.T, s Spec, groups string) (Result, error) {
	t.Helper()
	s.Guarded, s.Limits.groups = true, groups
	out, err := openOutput(&s)
	if err != nil {
		t.Fatal(err)
	}
	defer out.discard()
	tree, err := launch(ctx, &s, out)
	if err == nil {
		tree.kill()
		tree.killRest()
		tree.retire()
		t.Fatal("it started")
	}
	return notStarted(ctx, err)
}

// TestAGroupThatCannotBeEnteredIsNotTheProgramsFault: the error of the system is the same one as for a program that
// is missing or may not be executed.
func TestAGroupThatCannotBeEnteredIsNotTheProgramsFault(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "group")
	isFolder := t.TempDir()
	if err := os.Mkdir(filepath.Join(isFolder, "cgroup.procs"), 0o700); err != nil {
		t.Fatal(err)
	}
	specs := map[string]Spec{"plain": {}, "in an enclosure": {Enclosure: &Enclosure{}}}
	if CanEnclose(t.Context()) != nil {
		delete(specs, "in an enclosure")
	}
	for name, s := range specs {
		for groups, cause := range map[string]syscall.Errno{missing: syscall.ENOENT, isFolder: syscall.EISDIR} {
			t.Run(name+", "+cause.Error(), func(t *testing.T) {
				s.Argv, s.Env = Shell("true"), []string{}
				got, err := launchIn(t.Context(), t, s, groups)
				if err != nil {
					t.Fatal(err)
				}
				foreign := slices.ContainsFunc([]error{ErrNotFound, ErrNotExecutable, ErrNoDir, ErrEnclosure},
					func(other error) bool { return errors.Is(got.StartError, other) })
				if !errors.Is(got.StartError, ErrLimits) || !errors.Is(got.StartError, cause) || foreign {
					t.Errorf("StartError = %v, want %v: %v", got.StartError, ErrLimits, cause)
				}
				got.StartError = nil
				if diff := cmp.Diff(Result{State: NotStarted, ExitCode: -1}, got); diff != "" {
					t.Errorf("Run (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestAFilterThatCannotBeSetIsNotTheProgramsFault: there is no second listener in a tree that has one.
func TestAFilterThatCannotBeSetIsNotTheProgramsFault(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("there is no filter for this machine")
	}
	var said strings.Builder
	got := run(t, Spec{
		Argv: play("filter-again"), Env: os.Environ(), Guarded: true, Filtered: true, Stdout: Sink{Tap: &said},
	})
	want := fmt.Sprintf("not_started -1 true %v: %v <nil>", ErrFilter, syscall.EBUSY)
	if got.ExitCode != 0 || said.String() != want {
		t.Errorf("%d, %q; want %q", got.ExitCode, said.String(), want)
	}
}

// stuckGroup is the folder of a control group that nothing can enter, and that refuses nothing either.
func stuckGroup(t *testing.T) string {
	t.Helper()
	group := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(group, "cgroup.procs"), 0o600); err != nil {
		t.Fatal(err)
	}
	return group
}

// TestWaitingForAGuardCanBeCanceled: the guard of this tree never answers.
func TestWaitingForAGuardCanBeCanceled(t *testing.T) {
	tag := newTag()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for len(bearers(t, tag)) < 2 && ctx.Err() == nil { // the guard and the gate
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	began := time.Now()
	got, err := launchIn(ctx, t, Spec{Argv: Shell("true"), Env: []string{}, Marker: tag}, stuckGroup(t))
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took >= answerLimit {
		t.Errorf("it took %s", took)
	}
	if diff := cmp.Diff(Result{State: Canceled, ExitCode: -1}, got); diff != "" {
		t.Errorf("Run (-want +got):\n%s", diff)
	}
	noBearers(t, tag)
	if left := trees.all(); len(left) > 0 {
		t.Errorf("%d trees are left", len(left))
	}
}

// TestAGuardThatNeverAnswersIsKilled: and nothing of its tree is left.
func TestAGuardThatNeverAnswersIsKilled(t *testing.T) {
	defer func(before time.Duration) { answerLimit = before }(answerLimit)
	answerLimit = 300 * time.Millisecond
	tag := newTag()
	got, err := launchIn(t.Context(), t, Spec{Argv: Shell("true"), Env: []string{}, Marker: tag}, stuckGroup(t))
	if err != nil {
		t.Fatal(err)
	}
	want := ErrGuard.Error() + ": it did not answer within 300ms"
	if got.State != NotStarted || !errors.Is(got.StartError, ErrGuard) || got.StartError.Error() != want {
		t.Errorf("%s, %v; want %s", got.State, got.StartError, want)
	}
	noBearers(t, tag)
}

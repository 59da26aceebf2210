package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ralphloop/ralph/internal/needs"
)

// A file that Ralph was started with leads out of any sandbox.
func TestAGuardedProgramHasOnlyItsStandardFiles(t *testing.T) {
	folder, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if _, err := unix.FcntlInt(folder.Fd(), unix.F_SETFD, 0); err != nil { // as a shell does with 9<folder
		t.Fatal(err)
	}
	var said strings.Builder
	// The shell itself has 255 or 10 open at times, and ls the folder that it lists.
	run(t, Spec{
		Argv: []string{"/bin/sh", "-c", "for fd in /proc/self/fd/*; do readlink $fd; done"}, Guarded: true,
		Stdout: Sink{Tap: &said},
	})
	if strings.Contains(said.String(), folder.Name()) || said.Len() == 0 {
		t.Error(said.String())
	}
}

// An agent in a sandbox could rewrite its prompt in the run's folder.
func TestAProgramCannotChangeItsInput(t *testing.T) {
	input := filepath.Join(t.TempDir(), "prompt.md")
	if err := os.WriteFile(input, []byte("do it\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const script = "(echo forged >/proc/self/fd/0) 2>/dev/null || echo refused; cat; cat /proc/self/fd/0"
	var said strings.Builder
	run(t, Spec{Argv: []string{"/bin/sh", "-c", script}, StdinFile: input, Stdout: Sink{Tap: &said}})
	content, err := os.ReadFile(input)
	if err != nil || string(content) != "do it\n" || said.String() != "refused\ndo it\ndo it\n" {
		t.Errorf("%q, %q, %v", said.String(), content, err)
	}
}

// Bubblewrap's own process ends a little later than the command that it encloses.
func TestASandboxIsNotWhatAProgramLeft(t *testing.T) {
	bwrap := needs.Program(t, "bwrap")
	for range 20 {
		result := run(t, Spec{
			Argv: []string{bwrap, "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "/bin/true"}, Guarded: true,
		})
		if result.Survivors != 0 || result.ExitCode != 0 {
			t.Fatal(result)
		}
	}
}

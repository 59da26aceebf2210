package verify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/proof/canary"
)

var systemShell = Shell{Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, Grace: -1}

// collector holds everything back until it is closed, and passes it on in capital letters.
type collector struct {
	out  io.Writer
	held bytes.Buffer
}

func (c *collector) Write(p []byte) (int, error) { return c.held.Write(p) }

func (c *collector) Close() error {
	_, err := c.out.Write(bytes.ToUpper(c.held.Bytes()))
	return err
}

func collect(out io.Writer) io.WriteCloser { return &collector{out: out} }

func pass(out io.Writer) io.WriteCloser { return unchanged{out} }

func TestOutputOfTheListenerIsKept(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("checks are written for sh")
	}
	folder := t.TempDir()
	in := ralph.CheckInput{
		Name: "echo one; printf two >&2; exit 3", Dir: t.TempDir(), Folder: folder, File: "a/1.txt", Timeout: time.Minute,
	}
	got, err := systemShell.run(t.Context(), in, collect)
	want := ralph.CheckResult{
		Name: in.Name, Output: "ONE\nTWO", ExitCode: 3, OutputHash: fmt.Sprintf("%x", sha256.Sum256([]byte("ONE\nTWO"))),
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(want, "Duration")); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	kept, err := os.ReadFile(filepath.Join(folder, "a", "1.txt"))
	if err != nil || string(kept) != "ONE\nTWO" {
		t.Errorf("kept %q, %v", kept, err)
	}
}

// TestEventsAreStoredAsText has a check that prints what go test prints with -json.
func TestEventsAreStoredAsText(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("checks are written for sh")
	}
	folder, dir := t.TempDir(), t.TempDir()
	events := `{"Time":"2026-01-02T03:04:05Z","Action":"run","Package":"m","Test":"TestA"}
{"Time":"2026-01-02T03:04:05Z","Action":"output","Package":"m","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Time":"2026-01-02T03:04:05Z","Action":"output","Package":"m","Test":"TestA","Output":"    a_test.go:3: bad\n"}
{"Time":"2026-01-02T03:04:05Z","Action":"output","Package":"m","Test":"TestA","Output":"--- FAIL: TestA (0.00s)\n"}
{"Time":"2026-01-02T03:04:05Z","Action":"fail","Package":"m","Test":"TestA","Elapsed":0}
{"Time":"2026-01-02T03:04:05Z","Action":"output","Package":"m","Output":"FAIL\n"}
{"Time":"2026-01-02T03:04:05Z","Action":"output","Package":"m","Output":"FAIL\tm\t0.01s\n"}
{"Time":"2026-01-02T03:04:05Z","Action":"fail","Package":"m","Elapsed":0.01}
`
	if err := os.WriteFile(filepath.Join(dir, "events"), []byte(events), 0o600); err != nil {
		t.Fatal(err)
	}
	var listener *canary.Listener
	got, err := systemShell.run(t.Context(), ralph.CheckInput{
		Name: "go test ./...", Command: "cat events; exit 1", Dir: dir, Folder: folder, File: "1.txt", Timeout: time.Minute,
	}, func(out io.Writer) io.WriteCloser {
		listener = canary.NewListener(canary.Invocation{GoJSON: true}, nil, out)
		return listener
	})
	text := "--- FAIL: TestA (0.00s)\n    a_test.go:3: bad\nFAIL\nFAIL\tm\t0.01s\nFAIL\n"
	if err != nil || got.Output != text || got.FailingTests != 1 || got.Passed {
		t.Errorf("got %+v, %v", got, err)
	}
	if kept, err := os.ReadFile(filepath.Join(folder, "1.txt")); err != nil || string(kept) != text {
		t.Errorf("kept %q, %v", kept, err)
	}
	outcome := listener.Outcome(got.ExitCode, nil)
	if diff := cmp.Diff(map[string]canary.State{"m.TestA": canary.Failed}, outcome.Tests); diff != "" {
		t.Errorf("tests (-want +got)\n%s", diff)
	}
}

// TestLimitCountsWhatTheListenerPassesOn has a flood that the listener drops, and one that it passes on.
func TestLimitCountsWhatTheListenerPassesOn(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("checks are written for sh")
	}
	folder := t.TempDir()
	s := systemShell
	s.OutputLimit = 1000
	in := ralph.CheckInput{
		Name: "echo first; head -c 50000 /dev/zero | tr '\\0' x; echo; echo last", Dir: t.TempDir(), Folder: folder,
		File: "1.txt", Timeout: time.Minute,
	}
	for name, c := range map[string]struct {
		listen    func(io.Writer) io.WriteCloser
		truncated bool
	}{
		"dropped":           {func(io.Writer) io.WriteCloser { return unchanged{io.Discard} }, false},
		"passed on":         {pass, true},
		"passed on at last": {collect, true},
	} {
		got, err := s.run(t.Context(), in, c.listen)
		if err != nil || got.Truncated != c.truncated {
			t.Errorf("%s: truncated %v, %v", name, got.Truncated, err)
		}
		kept, err := os.ReadFile(filepath.Join(folder, "1.txt"))
		lower := strings.ToLower(string(kept))
		whole := strings.HasPrefix(lower, "first\nxxx") && strings.HasSuffix(lower, "xxx\nlast\n") &&
			strings.Contains(lower, "bytes cut here]") && len(kept) < 1100
		if err != nil || whole != c.truncated {
			t.Errorf("%s: kept %d bytes, %v", name, len(kept), err)
		}
	}
}

// TestFullDiskEndsTheCheck has a disk that is full while the check runs, and one that is full only for what a listener
// held back.
func TestFullDiskEndsTheCheck(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /dev/full")
	}
	for name, c := range map[string]struct {
		command string
		listen  func(io.Writer) io.WriteCloser
	}{
		"while it runs": {"echo ready; exec sleep 600", pass},
		"at the end":    {"echo ready", collect},
	} {
		begun := time.Now()
		_, err := systemShell.run(t.Context(), ralph.CheckInput{
			Name: c.command, Dir: t.TempDir(), Folder: "/dev", File: "full", Timeout: 5 * time.Minute,
		}, c.listen)
		want := fmt.Sprintf("run check %q: %v: write stdout file /dev/full: %v", c.command, ralph.ErrIO, syscall.ENOSPC)
		trouble, ok := errors.AsType[*process.IOError](err)
		if !ok || trouble.Path != "/dev/full" || !errors.Is(err, ralph.ErrIO) || !errors.Is(err, syscall.ENOSPC) ||
			err.Error() != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("%s: the check went on for %v", name, took)
		}
	}
}

func TestCanceledCheckLeavesNoFile(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	folder := t.TempDir()
	_, err := systemShell.run(ctx, ralph.CheckInput{Name: "true", Dir: t.TempDir(), Folder: folder, File: "1.txt"}, pass)
	if _, missing := os.Stat(filepath.Join(folder, "1.txt")); err != nil || !os.IsNotExist(missing) {
		t.Errorf("got %v, and the file: %v", err, missing)
	}
}

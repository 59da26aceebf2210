//go:build unix

package process

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
)

func TestOutputGoesToFilesAndTaps(t *testing.T) {
	stdout, readOut := file(t, 100)
	stderr, readErr := file(t, 100)
	var tapOut, tapErr bytes.Buffer
	stdout.Tap, stderr.Tap = &tapOut, &tapErr
	run(t, Spec{Argv: Shell("printf 'a\\000b'; printf '\\377' >&2"), Stdout: stdout, Stderr: stderr})
	got := []string{readOut(), tapOut.String(), readErr(), tapErr.String()}
	want := []string{"a\x00b", "a\x00b", "\xff", "\xff"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("output = %q, want %q", got, want)
	}
	info, err := os.Stat(stdout.Path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, %v, want 0600", info.Mode(), err)
	}
}

func TestOutputMerged(t *testing.T) {
	stdout, read := file(t, 100)
	got := steady(run(t, Spec{Argv: Shell("echo a; echo b >&2; echo c"), Stdout: stdout, StderrToStdout: true}))
	want := Result{State: Exited, StdoutBytes: 6}
	if !reflect.DeepEqual(got, want) || read() != "a\nb\nc\n" {
		t.Errorf("Run = %+v, output %q", got, read())
	}
}

// TestOutputFlood: 200 MB in one line leave a small file that still has the last
// line, and the tap sees all of it.
func TestOutputFlood(t *testing.T) {
	const size, limit = 200 << 20, 1 << 16
	const all = size + len("\nthe end\n")
	stdout, read := file(t, limit)
	var tapped int64
	stdout.Tap = tapFunc(func(p []byte) (int, error) { tapped += int64(len(p)); return len(p), nil })
	got := steady(run(t, Spec{Argv: play("flood", "209715200"), Stdout: stdout}))
	want := Result{State: Exited, StdoutBytes: int64(all), StdoutTruncated: true}
	if !reflect.DeepEqual(got, want) || tapped != int64(all) {
		t.Errorf("Run = %+v, tapped %d\nwant  %+v", got, tapped, want)
	}
	head, tail := strings.Repeat("x", limit/2), strings.Repeat("x", limit/2-len("\nthe end\n"))
	if read() != head+"\n[ralph: 209649673 bytes cut here]\n"+tail+"\nthe end\n" {
		t.Errorf("file of %d bytes is not head, mark and tail", len(read()))
	}
}

func TestOutputFileCannotBeMade(t *testing.T) {
	dir := t.TempDir()
	trace, missing := filepath.Join(dir, "trace"), filepath.Join(dir, "missing", "out")
	for name, spec := range map[string]Spec{
		"stdout": {Stdout: Sink{Path: missing, Limit: 10}},
		"stderr": {Stderr: Sink{Path: missing, Limit: 10}},
	} {
		t.Run(name, func(t *testing.T) {
			spec.Argv = []string{"touch", trace}
			_, err := runEither(t.Context(), spec)
			want := &IOError{Op: "create " + name + " file", Path: missing, Err: syscall.ENOENT}
			if !reflect.DeepEqual(err, error(want)) {
				t.Errorf("Run = %v, want %v", err, want)
			}
			if _, err := os.Stat(trace); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("program ran: %v", err)
			}
		})
	}
}

// TestOutputDiskFull: the tree is ended with the right error, but not before it
// could say everything to the tap.
func TestOutputDiskFull(t *testing.T) {
	if !isLinux {
		t.Skip("needs /dev/full")
	}
	tag := newTag()
	var tapped bytes.Buffer
	got, err := runEither(t.Context(), Spec{
		Argv:   Shell("trap 'echo tidied; exit 1' TERM; echo ready; while :; do sleep 0.01; done"),
		Env:    []string{"TAG=" + tag},
		Stdout: Sink{Path: "/dev/full", Limit: 100, Tap: &tapped},
	})
	wantErr := &IOError{Op: "write stdout file", Path: "/dev/full", Err: syscall.ENOSPC}
	if !reflect.DeepEqual(err, error(wantErr)) {
		t.Errorf("error = %v, want %v", err, wantErr)
	}
	got = steady(got)
	got.Survivors, got.SurvivorNames = 0, nil // the sleep may or may not be under way
	if want := (Result{State: Aborted, ExitCode: 1, StdoutBytes: 13}); !reflect.DeepEqual(got, want) {
		t.Errorf("Run = %+v\nwant  %+v", got, want)
	}
	if want := "ready\ntidied\n"; tapped.String() != want {
		t.Errorf("tapped %q, want %q", tapped.String(), want)
	}
	noBearers(t, tag)
}

func TestOutputTapFails(t *testing.T) {
	tag := newTag()
	cause := errors.New("no more")
	got, err := runEither(t.Context(), Spec{
		Argv:   play("stubborn", tag),
		Stdout: Sink{Tap: tapFunc(func([]byte) (int, error) { return 0, cause })},
		Grace:  -1,
	})
	if want := (&IOError{Op: "pass on stdout", Err: cause}); !reflect.DeepEqual(err, error(want)) {
		t.Errorf("error = %v, want %v", err, want)
	}
	if want := (Result{State: Aborted, ExitCode: 137, Signal: "killed", StdoutBytes: 6}); !reflect.DeepEqual(
		steady(got),
		want,
	) {
		t.Errorf("Run = %+v\nwant  %+v", steady(got), want)
	}
	noBearers(t, tag)
}

func TestOutputTapPanics(t *testing.T) {
	tag := newTag()
	defer func() {
		p, ok := recover().(*TapPanic)
		if !ok || p.Value != "ouch" || !bytes.Contains(p.Stack, []byte("TestOutputTapPanics")) {
			t.Errorf("recovered %v", p)
		}
		noBearers(t, tag)
	}()
	_, _ = runEither(t.Context(), Spec{
		Argv:   play("stubborn", tag),
		Stdout: Sink{Tap: tapFunc(func([]byte) (int, error) { panic("ouch") })},
		Grace:  -1,
	})
	t.Error("Run returned")
}

//go:build unix

package process

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestRunResult(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := write("plain", "#!/bin/sh\n", 0o600)
	script := write("test-script", "#!/bin/sh\nexit 4\n", 0o700)
	orphan := write("orphan", "#!/no/such/interpreter\n", 0o700)
	noFormat := write("noformat", "\x00\x01\x02", 0o700)

	tests := []struct {
		name  string
		spec  Spec
		want  Result
		cause error
	}{
		{"success", Spec{Argv: Shell("true")}, Result{State: Exited}, nil},
		{"failure", Spec{Argv: Shell("exit 3")}, Result{State: Exited, ExitCode: 3}, nil},
		{"status 255", Spec{Argv: Shell("exit 255")}, Result{State: Exited, ExitCode: 255}, nil},
		{"killed", Spec{Argv: Shell("kill -KILL $$")}, Result{State: Exited, ExitCode: 137, Signal: "killed"}, nil},
		{"terminated", Spec{Argv: Shell("kill -TERM $$")}, Result{State: Exited, ExitCode: 143, Signal: "terminated"}, nil},
		{
			"output",
			Spec{Argv: Shell("echo hello; echo dear >&2")},
			Result{State: Exited, StdoutBytes: 6, StderrBytes: 5},
			nil,
		},
		{"by path", Spec{Argv: []string{script}}, Result{State: Exited, ExitCode: 4}, nil},
		{"by path from the folder", Spec{Argv: []string{"./test-script"}, Dir: dir}, Result{State: Exited, ExitCode: 4}, nil},
		{
			"by name",
			Spec{Argv: []string{"test-script"}, Dir: dir, Env: []string{"PATH=/bin:" + dir}},
			Result{State: Exited, ExitCode: 4},
			nil,
		},
		{
			"by name, folder not absolute",
			Spec{Argv: []string{"test-script"}, Dir: dir, Env: []string{"PATH=.::"}},
			Result{State: NotStarted, ExitCode: 127},
			ErrNotFound,
		},
		{"no such name", Spec{Argv: []string{"no-such-program"}}, Result{State: NotStarted, ExitCode: 127}, ErrNotFound},
		{"no such path", Spec{Argv: []string{"/no/such/program"}}, Result{State: NotStarted, ExitCode: 127}, ErrNotFound},
		{"path through a file", Spec{Argv: []string{script + "/x"}}, Result{State: NotStarted, ExitCode: 127}, ErrNotFound},
		{"not executable", Spec{Argv: []string{plain}}, Result{State: NotStarted, ExitCode: 126}, ErrNotExecutable},
		{
			"not executable by name",
			Spec{Argv: []string{"plain"}, Env: []string{"PATH=" + dir}},
			Result{State: NotStarted, ExitCode: 126},
			ErrNotExecutable,
		},
		{"a folder", Spec{Argv: []string{dir}}, Result{State: NotStarted, ExitCode: 126}, ErrNotExecutable},
		{"no interpreter", Spec{Argv: []string{orphan}}, Result{State: NotStarted, ExitCode: 126}, ErrNotExecutable},
		{"no known format", Spec{Argv: []string{noFormat}}, Result{State: NotStarted, ExitCode: 126}, ErrNotExecutable},
		{
			"no folder",
			Spec{Argv: Shell("true"), Dir: filepath.Join(dir, "missing")},
			Result{State: NotStarted, ExitCode: -1},
			ErrNoDir,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := steady(run(t, test.spec))
			if !errors.Is(got.StartError, test.cause) || (got.StartError == nil) != (test.cause == nil) {
				t.Errorf("StartError = %v, want %v", got.StartError, test.cause)
			}
			got.StartError = nil
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("Run = %+v\nwant  %+v", got, test.want)
			}
		})
	}
}

func TestRunMeasures(t *testing.T) {
	r := run(t, Spec{Argv: Shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done")})
	if r.Pid <= 0 || r.Duration <= 0 || r.CPU <= 0 {
		t.Errorf("Pid, Duration, CPU = %d, %v, %v, want all positive", r.Pid, r.Duration, r.CPU)
	}
}

func TestRunRefusesSenselessSpecs(t *testing.T) {
	for name, spec := range map[string]Spec{
		"no program":       {},
		"empty program":    {Argv: []string{""}},
		"two inputs":       {Argv: Shell("true"), Stdin: os.Stdin, StdinFile: os.DevNull},
		"merged and apart": {Argv: Shell("true"), StderrToStdout: true, Stderr: Sink{Path: os.DevNull, Limit: 1}},
		"one file": {Argv: Shell("true"), Stdout: Sink{Path: os.DevNull, Limit: 1},
			Stderr: Sink{Path: os.DevNull, Limit: 1}},
		"no cap": {Argv: Shell("true"), Stdout: Sink{Path: filepath.Join(t.TempDir(), "out")}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := runEither(t.Context(), spec)
			if want := (Result{State: NotStarted, ExitCode: -1}); err == nil || !reflect.DeepEqual(got, want) {
				t.Errorf("Run = %+v, %v", got, err)
			}
		})
	}
}

func TestRunEnvironmentIsExplicit(t *testing.T) {
	t.Setenv("NOT_FOR_CHILDREN", "1")
	stdout, read := file(t, 1<<20)
	run(t, Spec{
		Argv:   []string{"/usr/bin/env"},
		Env:    []string{"A=1", "B=2", "A=3", MarkerVariable + "=forged"},
		Stdout: stdout,
		Marker: "mine",
	})
	got := strings.Split(strings.TrimSpace(read()), "\n")
	got = slices.DeleteFunc(got, func(entry string) bool { return strings.HasPrefix(entry, tokenVariable+"=") })
	slices.Sort(got)
	want := []string{"A=3", "B=2", MarkerVariable + "=mine"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("environment = %q, want %q", got, want)
	}
}

func TestRunInput(t *testing.T) {
	prompt := filepath.Join(t.TempDir(), "prompt")
	if err := os.WriteFile(prompt, []byte("do it\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	opened, err := os.Open(prompt)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	for name, test := range map[string]struct {
		spec Spec
		want string
	}{
		"none":    {Spec{}, ""},
		"by path": {Spec{StdinFile: prompt}, "do it\n"},
		"by file": {Spec{Stdin: opened}, "do it\n"},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, read := file(t, 100)
			test.spec.Argv, test.spec.Stdout = []string{"cat"}, stdout
			run(t, test.spec)
			if got := read(); got != test.want {
				t.Errorf("program read %q, want %q", got, test.want)
			}
		})
	}
}

func TestRunWithoutInputFile(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	_, err := runEither(t.Context(), Spec{Argv: []string{"cat"}, StdinFile: missing})
	want := &IOError{Op: "open stdin file", Path: missing}
	got, ok := errors.AsType[*IOError](err)
	if !ok || got.Op != want.Op || got.Path != want.Path || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Run = %v, want %v", err, want)
	}
}

func TestRunDoesNotWaitForAPipeInPlaceOfItsInputFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := runEither(t.Context(), Spec{Argv: []string{"cat"}, StdinFile: pipe})
	if want := "open stdin file " + pipe + ": not a regular file"; err == nil || err.Error() != want {
		t.Errorf("Run = %v, want %s", err, want)
	}
}

func TestShellIsNotLookedUpInPath(t *testing.T) {
	planted := t.TempDir()
	if err := os.WriteFile(filepath.Join(planted, "sh"), []byte("#!/bin/sh\nexit 0\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	got := steady(run(t, Spec{Argv: Shell("exit 3"), Env: []string{"PATH=" + planted}}))
	if want := (Result{State: Exited, ExitCode: 3}); !reflect.DeepEqual(got, want) {
		t.Errorf("Run = %+v\nwant  %+v", got, want)
	}
}

func TestLocate(t *testing.T) {
	first, second, plain := t.TempDir(), t.TempDir(), t.TempDir()
	for folder, mode := range map[string]os.FileMode{first: 0o700, second: 0o700, plain: 0o600} {
		if err := os.WriteFile(filepath.Join(folder, "tool"), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(first)
	for name, test := range map[string]struct {
		env  []string
		skip string
		want string
		err  error
	}{
		"the first": {[]string{"PATH=" + plain + ":" + first + ":" + second}, "",
			filepath.Join(first, "tool"), nil},
		"passed over":           {[]string{"PATH=" + first + ":" + second}, first, filepath.Join(second, "tool"), nil},
		"relative folders":      {[]string{"PATH=.::" + second}, "", filepath.Join(second, "tool"), nil},
		"the last PATH counts":  {[]string{"PATH=" + first, "PATH=" + second}, "", filepath.Join(second, "tool"), nil},
		"none is left":          {[]string{"PATH=" + first}, first, "", ErrNotFound},
		"not executable":        {[]string{"PATH=" + plain}, "", "", ErrNotExecutable},
		"not in the own folder": {nil, "", "", ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Locate("tool", test.env, func(path string) bool { return filepath.Dir(path) == test.skip })
			if got != test.want || !errors.Is(err, test.err) {
				t.Errorf("Locate = %q, %v, want %q, %v", got, err, test.want, test.err)
			}
		})
	}
}

func TestRunHasNoTerminal(t *testing.T) {
	if r := run(t, Spec{Argv: Shell("(exec </dev/tty) 2>/dev/null")}); r.ExitCode == 0 {
		t.Error("program could open the terminal")
	}
}

func TestRunTimeout(t *testing.T) {
	tag := newTag()
	got := steady(run(t, Spec{Argv: play("linger", tag), Timeout: 50 * time.Millisecond}))
	want := Result{State: TimedOut, ExitCode: 143, Signal: "terminated"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Run = %+v\nwant  %+v", got, want)
	}
	noBearers(t, tag)
}

func TestRunIdle(t *testing.T) {
	got := steady(run(t, Spec{Argv: Shell("echo a; exec sleep 3600"), IdleTimeout: 200 * time.Millisecond}))
	want := Result{State: Idle, ExitCode: 143, Signal: "terminated", StdoutBytes: 2}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Run = %+v\nwant  %+v", got, want)
	}
}

// TestRunTerminatesPolitely: the main process can tidy up and choose its status.
func TestRunTerminatesPolitely(t *testing.T) {
	stdout, read := file(t, 100)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stdout.Tap = tapFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })
	r, err := runEither(ctx, Spec{
		Argv:   Shell("trap 'echo tidied; exit 7' TERM; echo ready; while :; do sleep 0.01; done"),
		Stdout: stdout,
		Grace:  time.Minute,
	})
	if want := "ready\ntidied\n"; err != nil || r.State != Canceled || r.ExitCode != 7 || read() != want {
		t.Errorf("Run = %+v, %v, output %q, want %q", r, err, read(), want)
	}
}

func TestRunKillsTheStubborn(t *testing.T) {
	for name, grace := range map[string]time.Duration{"after the grace": 50 * time.Millisecond, "at once": -1} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			tag := newTag()
			ready := tapFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })
			got, err := runEither(ctx, Spec{Argv: play("stubborn", tag), Stdout: Sink{Tap: ready}, Grace: grace})
			want := Result{State: Canceled, ExitCode: 137, Signal: "killed", StdoutBytes: 6}
			if err != nil || !reflect.DeepEqual(steady(got), want) {
				t.Errorf("Run = %+v, %v\nwant  %+v", steady(got), err, want)
			}
			noBearers(t, tag)
		})
	}
}

func TestRunWithDoneContextStartsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	trace := filepath.Join(t.TempDir(), "trace")
	got, err := runEither(ctx, Spec{Argv: []string{"touch", trace}})
	if want := (Result{State: Canceled, ExitCode: -1}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Run = %+v, %v, want %+v", got, err, want)
	}
	if _, err := os.Stat(trace); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("program ran: %v", err)
	}
}

func TestShellAndLookPath(t *testing.T) {
	path, err := LookPath("sh")
	if err != nil || !filepath.IsAbs(path) {
		t.Errorf("LookPath(sh) = %q, %v", path, err)
	}
	if _, err := LookPath("no-such-program"); !errors.Is(err, ErrNotFound) {
		t.Errorf("LookPath of nothing: %v", err)
	}
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LookPath(plain); !errors.Is(err, ErrNotExecutable) {
		t.Errorf("LookPath of a plain file: %v", err)
	}
}

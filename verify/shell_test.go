package verify_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/verify"
)

const systemPath = "PATH=/usr/local/bin:/usr/bin:/bin"

func needShell(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("checks are written for sh")
	}
}

func shell() verify.Shell { return verify.Shell{Env: []string{systemPath}, Grace: -1} }

// hashed returns the output hash that a check's result should contain.
func hashed(output string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(output))) }

func check(t *testing.T, s verify.Shell, in ralph.CheckInput) ralph.CheckResult {
	t.Helper()
	if in.Timeout == 0 {
		in.Timeout = time.Minute
	}
	result, err := s.Check(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func write(t *testing.T, mode os.FileMode, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func TestCheckTellsPassFailAndBrokenApart(t *testing.T) {
	needShell(t)
	dir, outside := t.TempDir(), t.TempDir()
	write(t, 0o755, filepath.Join(dir, "ok.sh"), "#!/bin/sh\necho fine\n")
	write(t, 0o755, filepath.Join(dir, "calls-missing.sh"), "#!/bin/sh\nno-such-tool\n")
	write(t, 0o644, filepath.Join(dir, "not-executable.sh"), "#!/bin/sh\n")
	write(t, 0o755, filepath.Join(outside, "other.sh"), "#!/bin/sh\nexit 127\n")
	type outcome struct {
		Passed, Broken bool
		ExitCode       int
	}
	cases := map[string]struct {
		command string
		want    outcome
	}{
		"passes":                             {"./ok.sh", outcome{Passed: true}},
		"fails":                              {"exit 3", outcome{ExitCode: 3}},
		"dies by a signal":                   {"kill -9 $$", outcome{ExitCode: 137}},
		"stdin is empty, not a terminal":     {"read -r line; test ! -t 0", outcome{Passed: true}},
		"has no controlling terminal":        {"! true < /dev/tty", outcome{Passed: true}},
		"first word unknown":                 {"no-such-tool --all", outcome{Broken: true, ExitCode: 127}},
		"unknown behind an assignment":       {"CI=1 no-such-tool", outcome{Broken: true, ExitCode: 127}},
		"unknown in a subshell":              {"(no-such-tool)", outcome{Broken: true, ExitCode: 127}},
		"unknown in another folder":          {"cd . && no-such-tool", outcome{Broken: true, ExitCode: 127}},
		"builtin, then something unknown":    {"true && no-such-tool", outcome{ExitCode: 127}},
		"program on PATH ends with 127":      {"env no-such-tool", outcome{ExitCode: 127}},
		"the same by its full path":          {"/usr/bin/env no-such-tool", outcome{ExitCode: 127}},
		"builtin ends with 126":              {"exit 126", outcome{ExitCode: 126}},
		"keyword":                            {"if true; then exit 127; fi", outcome{ExitCode: 127}},
		"workspace script calls unknown":     {"./calls-missing.sh", outcome{ExitCode: 127}},
		"absolute path in the workspace":     {filepath.Join(dir, "calls-missing.sh"), outcome{ExitCode: 127}},
		"workspace script not executable":    {"./not-executable.sh", outcome{ExitCode: 126}},
		"path in the workspace not there":    {"./missing.sh", outcome{Broken: true, ExitCode: 127}},
		"bare name of a workspace file":      {"ok.sh", outcome{Broken: true, ExitCode: 127}},
		"path outside of the workspace":      {filepath.Join(outside, "other.sh"), outcome{Broken: true, ExitCode: 127}},
		"a word that only the shell knows":   {"$(echo no-such-tool)", outcome{ExitCode: 127}},
		"unknown at the end of a pipe fails": {"true | no-such-tool", outcome{ExitCode: 127}},
		"blank":                              {"  \t", outcome{Broken: true, ExitCode: -1}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := check(t, shell(), ralph.CheckInput{Name: c.command, Dir: dir})
			if diff := cmp.Diff(c.want, outcome{got.Passed, got.Broken, got.ExitCode}); diff != "" {
				t.Errorf("%s (-want +got)\n%s\noutput: %s", c.command, diff, got.Output)
			}
		})
	}
}

func TestCheckTellsTheWholeStory(t *testing.T) {
	needShell(t)
	folder := filepath.Join(t.TempDir(), "0001")
	got := check(t, shell(), ralph.CheckInput{
		Name: "echo one; echo two >&2; echo three; exit 4", Dir: t.TempDir(), Folder: folder, File: "checks/01.txt",
	})
	want := ralph.CheckResult{
		Name: "echo one; echo two >&2; echo three; exit 4", Output: "one\ntwo\nthree\n", ExitCode: 4,
		OutputHash: hashed("one\ntwo\nthree\n"),
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(want, "Duration")); diff != "" {
		t.Errorf("result (-want +got)\n%s", diff)
	}
	if got.Duration <= 0 {
		t.Errorf("duration is %v", got.Duration)
	}
	kept, err := os.ReadFile(filepath.Join(folder, "checks", "01.txt"))
	if err != nil || string(kept) != want.Output {
		t.Errorf("kept %q, %v", kept, err)
	}
}

func TestCheckRunsInTheWorkspaceWithOnlyItsEnvironment(t *testing.T) {
	needShell(t)
	dir := t.TempDir()
	t.Setenv("LEAKED", "from the harness")
	s := shell()
	s.Env = append(s.Env, "GIVEN=yes")
	got := check(t, s, ralph.CheckInput{
		Name: `echo "$GIVEN,$LEAKED,$` + process.MarkerVariable + `"; pwd -P`, Dir: dir, Marker: "run-7",
	})
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	if want := "yes,,run-7\n" + real + "\n"; got.Output != want {
		t.Errorf("got %q, want %q", got.Output, want)
	}
}

func TestTimeoutEndsTheCheck(t *testing.T) {
	needShell(t)
	cases := map[string]struct {
		command string
		timeout time.Duration
		want    ralph.CheckResult
	}{
		"the line stands below the output": {
			"printf begun; exec sleep 600", 2 * time.Second,
			ralph.CheckResult{Output: "begun\nTimeout after 2s", ExitCode: 137, TimedOut: true, OutputHash: hashed("begun")},
		},
		"without output it stands alone": {
			"exec sleep 600", 50 * time.Millisecond,
			ralph.CheckResult{Output: "Timeout after 0.05s", ExitCode: 137, TimedOut: true, OutputHash: hashed("")},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.want.Name = c.command
			got := check(t, shell(), ralph.CheckInput{Name: c.command, Dir: t.TempDir(), Timeout: c.timeout})
			if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(c.want, "Duration")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestTimeoutIsNoPassForACheckThatEndsWellOnTerm(t *testing.T) {
	needShell(t)
	t.Parallel()
	s := shell()
	s.Grace = time.Minute
	got := check(t, s, ralph.CheckInput{
		Name: "trap 'exit 0' TERM; while :; do sleep 0.01; done", Dir: t.TempDir(), Timeout: 2 * time.Second,
	})
	if got.Passed || !got.TimedOut || got.ExitCode != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestNothingOfACheckOutlivesIt(t *testing.T) {
	needShell(t)
	dir := t.TempDir()
	got := check(t, shell(), ralph.CheckInput{Name: "sleep 600 & echo $!", Dir: dir})
	pid := strings.TrimSpace(got.Output)
	if !got.Passed || got.Survivors != 1 {
		t.Errorf("got %+v", got)
	}
	// Until init has reaped it, the dead process is a zombie.
	alive := "kill -0 " + pid + " && ! grep -q '^State:.Z' /proc/" + pid + "/status"
	if after := check(t, shell(), ralph.CheckInput{Name: alive, Dir: dir}); after.Passed {
		t.Errorf("process %s is still there", pid)
	}
}

func TestFloodIsBoundedOnDiskAndInTheResult(t *testing.T) {
	needShell(t)
	folder := t.TempDir()
	s := shell()
	s.OutputLimit = 10_000
	got := check(t, s, ralph.CheckInput{
		Name: `echo first; head -c 3000000 /dev/zero | tr '\0' é; echo last`, Dir: t.TempDir(), Folder: folder, File: "flood",
	})
	if !got.Passed || !got.Truncated {
		t.Errorf("passed %v, truncated %v", got.Passed, got.Truncated)
	}
	if n := utf8.RuneCountInString(got.Output); n != 2000 || !utf8.ValidString(got.Output) ||
		!strings.HasSuffix(got.Output, "last\n") {
		t.Errorf("%d characters, ending with %q", n, got.Output[len(got.Output)-10:])
	}
	kept, err := os.ReadFile(filepath.Join(folder, "flood"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(kept), "first\n") || !strings.HasSuffix(string(kept), "last\n") || len(kept) > 11_000 {
		t.Errorf("file keeps %d bytes", len(kept))
	}
}

func TestShellThatDoesNotStartIsBroken(t *testing.T) {
	needShell(t)
	cases := map[string]struct {
		env []string
		dir string
		cmd string
	}{
		"workspace is gone":    {[]string{systemPath}, filepath.Join(t.TempDir(), "gone"), "true"},
		"command holds a zero": {[]string{systemPath}, t.TempDir(), "true\x00"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := check(t, verify.Shell{Env: c.env}, ralph.CheckInput{Name: c.cmd, Dir: c.dir})
			if !got.Broken || got.Passed || !strings.HasPrefix(got.Output, "The shell did not start: ") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestOutputThatCannotBeStoredIsAnError(t *testing.T) {
	needShell(t)
	file := filepath.Join(t.TempDir(), "file")
	write(t, 0o600, file, "")
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "taken"), 0o700); err != nil {
		t.Fatal(err)
	}
	cases := map[string]ralph.CheckInput{
		"folder is a file": {Name: "true", Dir: t.TempDir(), Folder: file, File: "1.txt"},
		"file is a folder": {Name: "true", Dir: t.TempDir(), Folder: folder, File: "taken"},
	}
	for name, in := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := shell().Check(t.Context(), in); !errors.Is(err, ralph.ErrIO) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestCanceledCheckFailsAndSaysSo(t *testing.T) {
	needShell(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := shell().Check(ctx, ralph.CheckInput{Name: "true", Dir: t.TempDir()})
	want := ralph.CheckResult{Name: "true", Output: "Interrupted", ExitCode: -1, OutputHash: hashed("")}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(want, "Duration")); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

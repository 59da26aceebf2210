//go:build unix

package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/needs"
	"github.com/ralphloop/ralph/internal/process"
)

func TestBash(t *testing.T) {
	p := newPlace(t, map[string]string{"a.txt": "hello\n"})
	tests := []struct {
		name, command string
		want          Output
	}{
		{"output", "cat a.txt", Output{Text: "hello\n[exit code 0]\n"}},
		{"both streams in their order", "echo a; echo b >&2; echo c", Output{Text: "a\nb\nc\n[exit code 0]\n"}},
		{"silent", "true", Output{Text: "[exit code 0]\n"}},
		{"no line break", "printf x", Output{Text: "x\n[exit code 0]\n"}},
		{"exit code", "echo no; exit 3", Output{Text: "no\n[exit code 3]\n", Failed: true}},
		{"signal", "kill -9 $$", Output{Text: "[exit code 137: killed]\n", Failed: true}},
		{"nothing to read", "cat; echo $?", Output{Text: "0\n[exit code 0]\n"}},
		{
			"no terminal", "test -t 0 || test -t 1 || (: </dev/tty) 2>/dev/null || echo none",
			Output{Text: "none\n[exit code 0]\n"},
		},
		{
			"where", "test a.txt -ef \"$PWD\"/a.txt && test \"$PWD\" -ef '" + p.dir + "' && echo here",
			Output{Text: "here\n[exit code 0]\n"},
		},
		{
			"not UTF-8", `printf 'a\377b\n'`,
			Output{Text: "a\uFFFDb\n[bytes that are not UTF-8 are shown as \uFFFD]\n[exit code 0]\n"},
		},
		{"NUL", `printf 'a\0b\n'`, Output{Text: "a\uFFFDb\n[bytes that are not UTF-8 are shown as \uFFFD]\n[exit code 0]\n"}},
		{"empty", " \n", Output{Text: "the command is empty", Failed: true}},
		{"NUL in the command", "echo \x00", Output{Text: "the command contains a NUL byte", Failed: true}},
		{
			"long", "echo " + strings.Repeat("x", 100_000),
			Output{Text: "the command has more than 100000 bytes; write it to a file and run that", Failed: true},
		},
		{"nearly too long", "true " + strings.Repeat("x", 99_990), Output{Text: "[exit code 0]\n"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, p.call("bash", fields{"command": test.command})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestBashEnvironment(t *testing.T) {
	entered := 0
	p := placeIn(t, t.TempDir(), nil, Options{
		Env: []string{"PATH=" + os.Getenv("PATH"), "GIVEN=yes"}, Marker: "the-marker",
		Enter: func(s *process.Spec) { entered++; s.Env = append(s.Env, "ENTERED=yes") },
	})
	t.Setenv("INHERITED", "no")
	got := p.call("bash", fields{"command": `echo "$GIVEN $INHERITED $ENTERED $` + process.MarkerVariable + `"`})
	if diff := cmp.Diff(Output{Text: "yes  yes the-marker\n[exit code 0]\n"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if entered != 1 {
		t.Errorf("entered %d times", entered)
	}
}

func TestBashIsBash(t *testing.T) {
	needs.Program(t, "/bin/bash")
	p := newPlace(t, nil)
	got := p.call("bash", fields{"command": "x=(a b); echo ${x[1]}"})
	if diff := cmp.Diff(Output{Text: "b\n[exit code 0]\n"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if page := p.tools["bash"].Spec().Description; !strings.HasPrefix(page, "Runs a command with bash in the workspace") ||
		!strings.Contains(page, "at most 120 seconds") || !strings.Contains(page, "up to 3600") {
		t.Errorf("described as %q", page)
	}
	without := bash{workspace: &workspace{}, timeout: time.Second, most: time.Minute}
	const want = "Runs a command with /bin/sh (there is no bash here) in the workspace"
	if page := without.tool().Spec().Description; !strings.HasPrefix(page, want) {
		t.Errorf("described as %q", page)
	}
}

func TestNothingOutlivesACall(t *testing.T) {
	p := newPlace(t, nil)
	got := p.call("bash", fields{
		"command": "sleep 1000 & echo $! > one; sleep 1001 > /dev/null 2>&1 & echo $! > two; echo started",
	})
	// One that was caught early still has the name of its shell.
	want := regexp.MustCompile(
		`^started\n\[2 background processes were killed: (sleep|bash|sh), (sleep|bash|sh)\]\n\[exit code 0\]\n$`,
	)
	if !want.MatchString(got.Text) || got.Failed {
		t.Errorf("got %+v", got)
	}
	for _, name := range []string{"one", "two"} {
		pid, err := strconv.Atoi(strings.TrimSpace(p.get(name)))
		if err != nil {
			t.Fatal(err)
		}
		if _, alive := process.Identity(pid); alive {
			t.Errorf("process %d is alive", pid)
		}
	}
	if got := p.call("bash", fields{"command": "sleep 1000 & sleep 0"}); !strings.Contains(
		got.Text, "[1 background process was killed: ",
	) {
		t.Errorf("got %+v", got)
	}
}

func TestBashTimeout(t *testing.T) {
	p := placeIn(t, t.TempDir(), nil, Options{BashTimeout: 300 * time.Millisecond})
	got := p.call("bash", fields{"command": "echo before; sleep 1000; echo after"})
	want := Output{
		Text: "before\n[the command did not finish within 0.3 seconds and was killed; this is its output until then]\n" +
			"[timeout_seconds may be up to 3600]\n",
		Failed: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := p.call("bash", fields{
		"command": "sleep 0.5; echo after", "timeout_seconds": 60,
	}); got.Text != "after\n[exit code 0]\n" {
		t.Errorf("with a time of its own: %+v", got)
	}
	for _, wrong := range []int{-1, 3601, 1 << 40} {
		want := Output{Text: "timeout_seconds must be from 1 to 3600", Failed: true}
		if diff := cmp.Diff(want, p.call("bash", fields{"command": "true", "timeout_seconds": wrong})); diff != "" {
			t.Errorf("%d (-want +got):\n%s", wrong, diff)
		}
	}
}

func TestBashInterrupted(t *testing.T) {
	p := newPlace(t, nil)
	must(t, syscall.Mkfifo(filepath.Join(p.dir, "up"), 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		// It blocks until the command has opened it, too.
		if f, err := os.OpenFile(filepath.Join(p.dir, "up"), os.O_WRONLY, 0); err == nil {
			f.Close()
		}
		cancel()
	}()
	got := p.tools["bash"].Run(ctx, json.RawMessage(`{"command":"echo before; cat up; sleep 1000"}`))
	want := Output{Text: "before\n[the command was interrupted; this is its output until then]\n", Failed: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBashThatCannotStart(t *testing.T) {
	p := placeIn(t, t.TempDir(), nil, Options{Enter: func(s *process.Spec) { s.Argv = []string{"/nonexistent/sandbox"} }})
	want := Output{Text: "the command could not be started: start /nonexistent/sandbox: program not found", Failed: true}
	if diff := cmp.Diff(want, p.call("bash", fields{"command": "true"})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBashOutputIsBounded(t *testing.T) {
	p := newPlace(t, nil)
	for _, size := range []int{7_000, 8_001, 20_000, 32_000, 32_010, 50_000, 2 << 20} {
		got := p.call("bash", fields{
			"command": fmt.Sprintf("echo begin; head -c %d /dev/zero | tr '\\0' x; echo; echo end", size),
		})
		n := utf8.RuneCountInString(got.Text)
		if n > 8000 || got.Cut != (size > 7_900) || got.Cut && n < 7_900 || !strings.HasPrefix(got.Text, "begin\nxxx") ||
			!strings.HasSuffix(got.Text, "xxx\nend\n[exit code 0]\n") {
			t.Errorf("%d bytes: %d characters, cut %v, %.20q … %q", size, n, got.Cut, got.Text,
				got.Text[max(0, len(got.Text)-60):])
		}
		if got.Cut && strings.Count(got.Text, "bytes cut …]") != 1 {
			t.Errorf("%d bytes: what was cut is not said", size)
		}
	}
}

func TestExcerptOfCharactersOfManyBytes(t *testing.T) {
	for _, size := range []int{100, 7_999, 8_000, 9_000, 11_000, 60_000} {
		for _, chunk := range []int{1, 7, 4096} {
			whole := bytes.Repeat([]byte("€"), size)
			var e excerpt
			for rest := whole; len(rest) > 0; rest = rest[min(chunk, len(rest)):] {
				if n, err := e.Write(rest[:min(chunk, len(rest))]); err != nil || n == 0 {
					t.Fatal(n, err)
				}
			}
			text, cut := e.text(8000, "[end]\n")
			if strings.ContainsRune(text, utf8.RuneError) || utf8.RuneCountInString(text) > 8000 || cut != (size > 7_990) {
				t.Errorf("%d in pieces of %d: %d characters, cut %v", size, chunk, utf8.RuneCountInString(text), cut)
			}
			if held := cap(e.head) + cap(e.tail); held > 8*headBytes {
				t.Errorf("%d in pieces of %d: %d bytes are held", size, chunk, held)
			}
		}
	}
}

func TestSets(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	must(t, err)
	defer root.Close()
	names := func(set []Tool) (list []string) {
		for _, tool := range set {
			s := tool.Spec()
			if !json.Valid(s.Schema) || len(s.Description) < 50 || strings.ContainsAny(s.Description, "{}") && s.Name != "glob" {
				t.Errorf("%s is described as %q with %s", s.Name, s.Description, s.Schema)
			}
			list = append(list, s.Name)
		}
		return list
	}
	all := []string{"bash", "read_file", "write_file", "edit_file", "glob", "grep"}
	if diff := cmp.Diff(all, names(Set(Options{Root: root}))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"read_file", "glob", "grep"}, names(Reading(Options{Root: root}))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

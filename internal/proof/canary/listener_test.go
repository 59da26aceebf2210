package canary_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ralphloop/ralph/internal/proof/canary"
)

// TestListenerPassesUnchangedOutputOn has the recordings of real runners, in chunks of several sizes.
func TestListenerPassesUnchangedOutputOn(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range archive.Files {
			if part.Name != "output" {
				continue
			}
			want := canary.Read(canary.Invocation{}, nil, 1, bytes.NewReader(part.Data), nil)
			for _, size := range []int{1, 3, 1000, 1 << 20} {
				var out bytes.Buffer
				l := canary.NewListener(canary.Invocation{}, nil, &out)
				for rest := part.Data; len(rest) > 0; rest = rest[min(size, len(rest)):] {
					if _, err := l.Write(rest[:min(size, len(rest))]); err != nil {
						t.Fatal(err)
					}
				}
				if !bytes.Equal(out.Bytes(), part.Data) {
					t.Errorf("%s, %d bytes at a time: the output changed, or was held back", file, size)
				}
				if err := l.Close(); err != nil || out.Len() != len(part.Data) {
					t.Errorf("%s: Close printed something, or failed: %v", file, err)
				}
				if diff := cmp.Diff(want, l.Outcome(1, nil)); diff != "" {
					t.Errorf("%s, %d bytes at a time (-Read +Listener):\n%s", file, size, diff)
				}
			}
		}
	}
}

// event returns a line of go test -json. Without words it has only an action.
func event(action, pkg, test, output string) string {
	line := fmt.Sprintf(`{"Time":"2026-01-02T03:04:05Z","Action":%q,"Package":%q`, action, pkg)
	if test != "" {
		line += fmt.Sprintf(`,"Test":%q`, test)
	}
	if output != "" {
		line += fmt.Sprintf(`,"Output":%q`, output)
	}
	return line + "}\n"
}

// testEvents returns the events of a test with a log.
func testEvents(pkg, test, log, verdict string) string {
	return event("run", pkg, test, "") + event("output", pkg, test, "=== RUN   "+test+"\n") +
		event("output", pkg, test, "    a_test.go:3: "+log+"\n") +
		event("output", pkg, test, "--- "+strings.ToUpper(verdict)+": "+test+" (0.00s)\n") +
		event(verdict, pkg, test, "")
}

func endEvents(pkg, verdict, line string) string {
	return event("output", pkg, "", line) + event(verdict, pkg, "", "")
}

func TestListenerTurnsEventsIntoText(t *testing.T) {
	passing := testEvents("m/a", "TestA", "quiet", "pass") + event("output", "m/a", "", "PASS\n")
	failing := testEvents("m/b", "TestB", "loud", "fail") + event("output", "m/b", "", "FAIL\n")
	failed := "--- FAIL: TestB (0.00s)\n    a_test.go:3: loud\nFAIL\nFAIL\tm/b\t0.1s\n"
	for name, c := range map[string]struct{ raw, want string }{
		"packages in their order": {
			event("start", "m/a", "", "") + event("start", "m/b", "", "") + failing +
				endEvents("m/b", "fail", "FAIL\tm/b\t0.1s\n") + passing + endEvents("m/a", "pass", "ok  \tm/a\t0.1s\n"),
			"ok  \tm/a\t0.1s\n" + failed + "FAIL\n",
		},
		"other text": {
			"go: downloading x\n" + failing + "in between\n" + endEvents("m/b", "fail", "FAIL\tm/b\t0.1s\n") + "after",
			"go: downloading x\nin between\n" + failed + "FAIL\nafter",
		},
		"text before an event in one line": {
			"dots..." + endEvents("m/a", "skip", "?   \tm/a\t[no test files]\n"), "dots...?   \tm/a\t[no test files]\n",
		},
		"a package that never ended": {
			event("start", "m/b", "", "") + failing + event("run", "m/b", "TestC", "") +
				event("output", "m/b", "TestC", "printed\n") + event("output", "m/b", "TestC", "    a_test.go:9: logged\n"),
			"--- FAIL: TestB (0.00s)\n    a_test.go:3: loud\nFAIL\nprinted\n",
		},
		"an event that a test prints": {
			event("output", "m/b", "TestB", event("pass", "m/b", "", "")) + failing +
				endEvents("m/b", "fail", "FAIL\tm/b\t0.1s\n"),
			event("pass", "m/b", "", "") + failed + "FAIL\n",
		},
		"an event that another program prints": {
			event("pass", "m/b", "", "") + failing + endEvents("m/b", "fail", "FAIL\tm/b\t0.1s\n"), failed + "FAIL\n",
		},
		"JSON of another program": {
			"{\"Action\":\"login\",\"Package\":\"m/a\"}\n{\"Action\":\"pass\"}\n{\n",
			"{\"Action\":\"login\",\"Package\":\"m/a\"}\n{\"Action\":\"pass\"}\n{\n",
		},
		"a build that failed": {
			`{"ImportPath":"m/b","Action":"build-output","Output":"# m/b\n"}` + "\n" +
				`{"ImportPath":"m/b","Action":"build-fail"}` + "\n" + endEvents("m/b", "fail", "FAIL\tm/b [build failed]\n"),
			"# m/b\nFAIL\tm/b [build failed]\nFAIL\n",
		},
		"subtests of Go 1.19": {
			event("run", "m/b", "T", "") + event("run", "m/b", "T/s", "") +
				event("output", "m/b", "T/s", "    a_test.go:3: loud\n") + event("output", "m/b", "T", "--- FAIL: T (0.00s)\n") +
				event("output", "m/b", "T/s", "    --- FAIL: T/s (0.00s)\n") + endEvents("m/b", "fail", "FAIL\tm/b\t0.1s\n"),
			"--- FAIL: T (0.00s)\n    --- FAIL: T/s (0.00s)\n        a_test.go:3: loud\nFAIL\tm/b\t0.1s\nFAIL\n",
		},
	} {
		for _, size := range []int{1, 50, 1 << 20} {
			if got := heard(t, canary.Invocation{GoJSON: true}, []byte(c.raw), size); got != c.want {
				t.Errorf("%s, %d bytes at a time (-want +got):\n%s", name, size, cmp.Diff(c.want, got))
			}
		}
	}
}

// TestListenerBoundsWhatItHolds has packages that never end, and one that prints more than is kept.
func TestListenerBoundsWhatItHolds(t *testing.T) {
	var raw, want strings.Builder
	for i := range 100 {
		pkg, line := fmt.Sprintf("m/p%d", i), strings.Repeat("x", 1000)+"\n"
		for range 250 {
			raw.WriteString(event("output", pkg, "", line))
			want.WriteString(line)
		}
	}
	var out bytes.Buffer
	l := canary.NewListener(canary.Invocation{GoJSON: true}, nil, &out)
	if _, err := l.Write([]byte(raw.String())); err != nil {
		t.Fatal(err)
	}
	if held := want.Len() - out.Len(); held > 17<<20 {
		t.Errorf("it holds %d bytes", held)
	}
	if err := l.Close(); err != nil || out.String() != want.String() {
		t.Errorf("%v; it printed %d bytes, want %d", err, out.Len(), want.Len())
	}

	raw.Reset()
	line := strings.Repeat("y", 999) + "\n"
	raw.WriteString(event("output", "m/a", "", "first\n"))
	for range 2000 {
		raw.WriteString(event("output", "m/a", "", line))
	}
	raw.WriteString(endEvents("m/a", "fail", "FAIL\tm/a\t0.1s\n"))
	got := heard(t, canary.Invocation{GoJSON: true}, []byte(raw.String()), 4096)
	if !strings.HasPrefix(got, "first\nyyy") || !strings.HasSuffix(got, "y\nFAIL\tm/a\t0.1s\nFAIL\n") ||
		len(got) > 1<<20 || !strings.Contains(got, " bytes cut here]\n") {
		t.Errorf("it printed %d bytes, ending with %q", len(got), got[max(0, len(got)-40):])
	}
}

// TestListenerReadsLongLines has a token where two pieces of a long line meet, and lines around the limit.
func TestListenerReadsLongLines(t *testing.T) {
	const limit = 256 << 10
	plants := []canary.Plant{{Name: "a_test.go", Marks: []canary.Mark{
		{Token: "token-in-the-middle", Key: "go .", Test: []string{"TestX"}},
	}}}
	for _, before := range []int{0, limit - 20, limit - 10, limit - 1, limit, 3*limit - 5} {
		for _, inv := range []canary.Invocation{{}, {GoJSON: true}, {UnittestVerbose: true}} {
			raw := strings.Repeat("{", before) + "token-in-the-middle" + strings.Repeat("z", limit) + "\nnext\nlast"
			var out bytes.Buffer
			l := canary.NewListener(inv, plants, &out)
			for rest := raw; rest != ""; rest = rest[min(1000, len(rest)):] {
				if _, err := l.Write([]byte(rest[:min(1000, len(rest))])); err != nil {
					t.Fatal(err)
				}
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if out.String() != raw {
				t.Errorf("token after %d bytes: %d bytes in, %d bytes out", before, len(raw), out.Len())
			}
			if got := l.Outcome(1, nil); len(got.Failing) != 1 {
				t.Errorf("token after %d bytes: got %+v", before, got)
			}
		}
	}
}

func TestListenerTurnsUnittestLinesIntoMarks(t *testing.T) {
	dashes := strings.Repeat("-", 70)
	for name, c := range map[string]struct{ raw, want string }{
		"results": {
			"test_a (m.T.test_a) ... ok\ntest_b (m.T.test_b)\nSays ... much. ... FAIL\ntest_c (m.T) ... skipped 'x'\n" +
				"test_d (m.T) ... expected failure\ntest_e (m.T) ... unexpected success\nsetUpClass (m.U) ... ERROR\n\n" +
				dashes + "\nRan 5 tests in 0.1s\n\nOK\n",
			".FsxuE\n" + dashes + "\nRan 5 tests in 0.1s\n\nOK\n",
		},
		"printed text": {
			"test_a (m.T.test_a) ... printed\nmore\nok\ntest_b (m.T.test_b)\nSays. ... printed\nFAIL\nok\n",
			"printed\nmore\n.printed\nFok\n",
		},
		"a line that looks like a name": {"see (m.T)\nnothing\nlast (m.T)\n", "see (m.T)\nnothing\nlast (m.T)\n"},
		"subtests": {
			"test_a (m.T.test_a) ... \n  test_a (m.T.test_a) [x] (i=1) ... FAIL\ntest_b (m.T.test_b) ... ok\n", "F.",
		},
		"subtests of Python 3.8":     {"test_a (m.T) ... test_b (m.T) ... ok\n", "."},
		"a process that disappeared": {"test_a (m.T) ... ok\ntest_b (m.T) ... ", ".test_b (m.T) ... "},
		"a line end of Windows":      {"test_a (m.T) ... ok\r\ntest_b (m.T)\r\nSays. ... ok\r\n\r\n", "..\r\n"},
	} {
		for _, size := range []int{1, 1 << 20} {
			if got := heard(t, canary.Invocation{UnittestVerbose: true}, []byte(c.raw), size); got != c.want {
				t.Errorf("%s, %d bytes at a time (-want +got):\n%s", name, size, cmp.Diff(c.want, got))
			}
		}
	}
}

func TestListenerDropsNotesAboutAddedReports(t *testing.T) {
	out := filepath.Join(t.TempDir(), "reports")
	inv := canary.Invocation{Reports: []string{
		filepath.Join(out, "pytest.xml"), filepath.Join(out, "jest.json"), filepath.Join(out, "vitest.json"), "**/TEST-*.xml",
	}}
	raw := "..F\n---- generated xml file: " + filepath.Join(out, "pytest.xml") + " ----\n1 failed\n" +
		"Test results written to: " + filepath.Join("..", "..", "reports", "jest.json") + "\n" +
		"\x1b[2mJSON report written to " + filepath.Join(out, "vitest.json") + "\x1b[0m\n" +
		"---- generated xml file: own.xml ----\ncannot read " + filepath.Join(out, "pytest.xml") + "\nlast"
	want := "..F\n1 failed\n---- generated xml file: own.xml ----\n" +
		"cannot read " + filepath.Join(out, "pytest.xml") + "\nlast"
	if got := heard(t, inv, []byte(raw), 5); got != want {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
	}
}

type fullDisk struct{ room int }

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.room -= len(p); d.room < 0 {
		return 0, os.ErrPermission
	}
	return len(p), nil
}

func TestListenerReturnsTheErrorOfItsWriter(t *testing.T) {
	for _, inv := range []canary.Invocation{{}, {GoJSON: true}, {UnittestVerbose: true}} {
		l := canary.NewListener(inv, nil, &fullDisk{room: 10})
		_, first := l.Write([]byte("one\n"))
		_, second := l.Write([]byte("=== RUN   TestA\n--- FAIL: TestA (0.00s)\n"))
		_, third := l.Write([]byte("FAIL\tm/a\t0.1s\n"))
		closed := l.Close()
		if first != nil || !errors.Is(second, os.ErrPermission) || third == nil || closed == nil {
			t.Errorf("%+v: got %v, %v, %v, %v", inv, first, second, third, closed)
		}
		if got := l.Outcome(1, nil); len(got.Tests) != 1 {
			t.Errorf("%+v: it stopped reading: %+v", inv, got)
		}
	}
	l := canary.NewListener(canary.Invocation{GoJSON: true}, nil, &fullDisk{})
	if _, err := l.Write([]byte(event("output", "m/a", "", "held back\n"))); err != nil {
		t.Errorf("got %v before anything was printed", err)
	}
	if err := l.Close(); !errors.Is(err, os.ErrPermission) {
		t.Errorf("Close returned %v", err)
	}
}

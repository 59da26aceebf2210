package canary_test

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/needs"
	"github.com/ralphloop/ralph/internal/proof/canary"
)

// goVarieties is a module whose packages end in many ways.
var goVarieties = project{
	"go.mod": "module example.com/m\n\ngo 1.21\n",
	"passing/x_test.go": `package passing

import ("fmt"; "testing")

func TestA(t *testing.T) { t.Log("quiet"); fmt.Println("loud") }
`,
	"failing/x_test.go": `package failing

import ("fmt"; "os"; "testing")

func TestMain(m *testing.M) { fmt.Println("before"); c := m.Run(); fmt.Println("after"); os.Exit(c) }
func TestQuiet(t *testing.T) { t.Log("quiet\nmore"); fmt.Println("printed\n    by a passing test"); fmt.Print("open") }
func TestA(t *testing.T) {
	t.Log("one\n\ntwo")
	fmt.Println("loud")
	fmt.Println("{\"Time\":\"2026-01-01T00:00:00Z\",\"Action\":\"pass\",\"Package\":\"example.com/m/failing\"}")
	t.Error("bad")
	t.Run("sub/with slash", func(t *testing.T) {
		t.Log("in sub")
		t.Run("deep", func(t *testing.T) { t.Error("deep\nlines") })
	})
	t.Run("ok", func(t *testing.T) { t.Log("in ok") })
	t.Run("skip", func(t *testing.T) { t.Skip("no") })
	t.Log("end")
	fmt.Print("half")
}
func TestParallel(t *testing.T) {
	for _, n := range []string{"a", "b"} {
		n := n
		t.Run(n, func(t *testing.T) {
			t.Cleanup(func() { t.Log("cleanup") })
			t.Log("in", n)
			if n == "b" { t.Fail() }
		})
	}
	t.Log("parent")
}
func TestLong(t *testing.T) { for i := 0; i < 3000; i++ { fmt.Print("long ") }; fmt.Println(); t.Errorf("%5000d", 7) }
func TestSkip(t *testing.T) { t.Skip("skipping") }
func Example() { fmt.Println("x")
	// Output: y
}
`,
	"panics/x_test.go": `package panics

import "testing"

func TestP(t *testing.T) { t.Log("x"); t.Run("s", func(t *testing.T) { t.Log("y"); panic("boom\nsecond") }) }
`,
	"exits0/x_test.go": `package exits0

import ("os"; "testing")

func TestP(t *testing.T) { t.Log("x"); os.Exit(0) }
`,
	"exits1/x_test.go": `package exits1

import ("os"; "testing")

func TestP(t *testing.T) { t.Log("x"); os.Exit(1) }
`,
	"exitsloud/x_test.go": `package exitsloud

import ("fmt"; "os"; "testing")

func TestA(t *testing.T) { fmt.Print("no newline") }
func TestP(t *testing.T) { t.Log("x"); os.Exit(1) }
`,
	"exitssilently/x_test.go": `package exitssilently

import ("syscall"; "testing")

func TestP(t *testing.T) { t.Log("x"); syscall.Exit(0) }
`,
	"broken/x_test.go": "package broken\n\nimport \"testing\"\n\nfunc TestP(t *testing.T) { undefined() }\n",
	"vetted/x_test.go": `package vetted

import ("fmt"; "testing")

func TestP(t *testing.T) { fmt.Printf("%d", "x") }
`,
	"unset/x_test.go": `package unset

import ("testing"; "example.com/m/nowhere")

func TestP(t *testing.T) { nowhere.X() }
`,
	"none/x.go":       "package none\n",
	"norun/x_test.go": "package norun\n",
	"slow/x_test.go": `package slow

import ("testing"; "time")

func TestP(t *testing.T) { t.Log("slowly"); time.Sleep(time.Minute) }
`,
}

var (
	goTimes   = regexp.MustCompile(`\b\d+\.\d\d+s\b`)
	goTraces  = regexp.MustCompile(`0x[0-9a-f]+\??|goroutine \d+`)
	goStatus  = regexp.MustCompile(`(?m)^exit status (?:\d+|other than 0)$`)
	goRenames = regexp.MustCompile(`(?m)^=== NAME  .*\n`)
)

// compareOutput runs a command as the user wrote it, and as it is invoked behind a listener.
func compareOutput(t *testing.T, p project, command string, normalize func(string) string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range p {
		write(t, dir, name, text)
	}
	inv := canary.Invoke(p.tree(), command, t.TempDir())
	if inv.Command == command {
		t.Fatalf("nothing was added to %s", command)
	}
	wantExit, want := shell(t, dir, command)
	gotExit, raw := shell(t, dir, inv.Command, inv.Env...)
	if gotExit != wantExit {
		t.Errorf("%s: exit %d, want %d", command, gotExit, wantExit)
	}
	for _, size := range []int{1, 7, 4096, 1 << 20} {
		if got := heard(t, inv, raw, size); normalize(got) != normalize(string(want)) {
			t.Fatalf("%s, %d bytes at a time (-want +got):\n%s\n\nall of it:\n%s", command, size,
				cmp.Diff(normalize(string(want)), normalize(got)), got)
		}
	}
}

// heard returns what a listener passes on of raw output that it gets in chunks.
func heard(t *testing.T, inv canary.Invocation, raw []byte, size int) string {
	t.Helper()
	var out bytes.Buffer
	l := canary.NewListener(inv, nil, &out)
	for rest := raw; len(rest) > 0; {
		n := min(size, len(rest))
		if _, err := l.Write(rest[:n]); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func normalizeGo(text string) string {
	text = goTraces.ReplaceAllString(goTimes.ReplaceAllString(text, "TIME"), "N")
	text = goRenames.ReplaceAllString(text, "")
	return goStatus.ReplaceAllString(text, "exit status")
}

func TestListenerPrintsWhatGoTestPrints(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes real programs minutes; make e2e runs it")
	}
	needs.Program(t, "go")
	one := func(folder string) project {
		name := filepath.ToSlash(filepath.Join(folder, "x_test.go"))
		return project{"go.mod": goVarieties["go.mod"], "x_test.go": goVarieties[name]}
	}
	for name, c := range map[string]struct {
		tree    project
		command string
	}{
		"all":                      {goVarieties, "GOPROXY=off go test -p 1 -timeout 2s ./..."},
		"verbose":                  {one("failing"), "go test -v ./..."},
		"verbose and passing":      {one("passing"), "go test -v ./..."},
		"local and passing":        {one("passing"), "go test"},
		"local and failing":        {one("failing"), "go test"},
		"local and exiting":        {one("exits1"), "go test"},
		"local and verbose":        {one("failing"), "go test -v"},
		"passing, then cached":     {one("passing"), "go test ./... && go test . && go test ./... -run None"},
		"failing, then other text": {one("failing"), "printf before; go test ./...; echo after"},
		"coverage":                 {goVarieties, "go test -cover ./passing ./none ./norun ./exits1"},
	} {
		t.Run(name, func(t *testing.T) { compareOutput(t, c.tree, c.command, normalizeGo) })
	}
}

var unittestVarieties = project{
	"tests/__init__.py": "",
	"tests/test_many.py": `import os
import sys
import unittest


class TestMany(unittest.TestCase):
    def test_error(self):
        raise ValueError("wrong")

    @unittest.expectedFailure
    def test_expected(self):
        self.fail("expected")

    def test_fails(self):
        """Describes what fails."""
        self.assertEqual(1, 2)

    def test_ok(self):
        pass

    def test_described(self):
        """Describes ... with dots."""

    def test_prints(self):
        """Prints, too."""
        print("to stderr", file=sys.stderr)
        print("ok so far", file=sys.stderr)
        print("to stdout")

    @unittest.skip("not (here) ... ok")
    def test_skipped(self):
        pass

    @unittest.expectedFailure
    def test_unexpected(self):
        pass

    def test_some(self):
        for i in range(4):
            with self.subTest("case", i=i):
                self.assertNotEqual(i % 2, 0)

    def test_some_described(self):
        """Has subtests."""
        for i in range(4):
            with self.subTest(i=i):
                self.assertNotEqual(i % 2, 0)

    def test_warns(self):
        import warnings
        warnings.warn("careful")


class TestClass(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise ValueError("no class")

    def test_never(self):
        pass
`,
	"tests/test_unloaded.py": "import no_such_module\n",
}

func TestListenerPrintsWhatUnittestPrints(t *testing.T) {
	needs.Program(t, "python3")
	took := regexp.MustCompile(`(?m)^(Ran \d+ tests? in) .*`)
	addresses := regexp.MustCompile(`0x[0-9a-f]+`)
	normalize := func(text string) string {
		return addresses.ReplaceAllString(took.ReplaceAllString(text, "$1 TIME"), "N")
	}
	passing := project{"test_a.py": strings.ReplaceAll(unittestVarieties["tests/test_many.py"], "wrong", "other")}
	for name, c := range map[string]struct {
		tree    project
		command string
	}{
		"all":            {unittestVarieties, "python3 -m unittest"},
		"discover":       {unittestVarieties, "python3 -m unittest discover -s tests -t ."},
		"buffered":       {unittestVarieties, "python3 -m unittest -b"},
		"unbuffered":     {unittestVarieties, "python3 -u -m unittest"},
		"two of them":    {passing, "python3 -m unittest test_a.TestMany.test_ok; python3 -m unittest test_a; echo 'ok'"},
		"nothing to run": {project{"a.py": ""}, "python3 -m unittest"},
	} {
		t.Run(name, func(t *testing.T) { compareOutput(t, c.tree, c.command, normalize) })
	}
}

package canary_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/needs"
	"github.com/ralphloop/ralph/internal/proof/canary"
)

// project is a small workspace, as names and texts.
type project map[string]string

// with returns a project with other files; one with an empty text is removed.
func (p project) with(changes project) project {
	all := project{}
	for name, text := range p {
		all[name] = text
	}
	for name, text := range changes {
		if text == "" {
			delete(all, name)
			continue
		}
		all[name] = text
	}
	return all
}

func (p project) tree() canary.Tree {
	t := canary.Tree{Read: func(name string) ([]byte, error) {
		text, ok := p[name]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return []byte(text), nil
	}}
	for name := range p {
		t.Files = append(t.Files, name)
	}
	slices.Sort(t.Files)
	return t
}

// pytest returns the Python of the system, which has pytest.
func pytest(t *testing.T) string {
	t.Helper()
	const python = "/usr/bin/python3"
	if exec.Command(python, "-m", "pytest", "--version").Run() != nil {
		needs.Missing(t, "python3-pytest is not installed")
	}
	return python
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// shell runs a command like a check, and returns its status and output.
func shell(t *testing.T, dir, command string, env ...string) (exit int, output []byte) {
	t.Helper()
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("there is no /bin/sh")
	}
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(
		os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "PYTHONDONTWRITEBYTECODE=1", "CARGO_NET_OFFLINE=true",
		"NODE_OPTIONS=", "NO_COLOR=1",
	)
	cmd.Env = append(cmd.Env, env...)
	output, err := cmd.CombinedOutput()
	var status *exec.ExitError
	switch {
	case errors.As(err, &status):
		return status.ExitCode(), output
	case err != nil:
		t.Fatal(err)
	}
	return 0, output
}

// green fails the test if a command fails without a canary, because then the sample is wrong.
func green(t *testing.T, p project, command string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range p {
		write(t, dir, name, text)
	}
	if exit, output := shell(t, dir, command); exit != 0 {
		t.Fatalf("the sample is red without a canary, %d:\n%s", exit, output)
	}
}

// run is one run with canaries. The outcome passes through JSON, like that of the base.
func run(t *testing.T, p project, command string) (canary.Outcome, canary.Invocation) {
	t.Helper()
	plants := canary.Plan(p.tree(), command, rand.Reader)
	for _, plant := range plants {
		if _, exists := p[plant.Name]; exists {
			t.Fatalf("the canary %s is in the way of a file of the project", plant.Name)
		}
	}
	return runWith(t, p, command, plants)
}

func runWith(t *testing.T, p project, command string, plants []canary.Plant) (canary.Outcome, canary.Invocation) {
	t.Helper()
	dir, reports := t.TempDir(), t.TempDir()
	for name, text := range p {
		write(t, dir, name, text)
	}
	for _, plant := range plants {
		write(t, dir, plant.Name, plant.Text)
	}
	inv := canary.Invoke(p.tree(), command, reports)
	exit, output := shell(t, dir, inv.Command, inv.Env...)
	var texts [][]byte
	for _, pattern := range inv.Reports {
		if !filepath.IsAbs(pattern) {
			continue
		}
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, text)
		}
	}
	out := canary.Read(inv, plants, exit, bytes.NewReader(output), texts)
	kept, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	var back canary.Outcome
	if err := json.Unmarshal(kept, &back); err != nil {
		t.Fatal(err)
	}
	if testing.Verbose() {
		t.Logf("exit %d of %s\n%s\n%s", exit, inv.Command, output, kept)
	}
	return back, inv
}

// attempt is a claimed tree, and the expected judgment.
type attempt struct {
	name    string
	base    project
	kept    *canary.Outcome // outcome of the base, if several attempts share one
	now     project
	command string
	canary  ralph.CanaryState
	says    string // part of the detail
	missing []string
	lost    int
}

func (a attempt) try(t *testing.T) {
	if a.canary == ralph.CanaryGreen {
		green(t, a.now, a.command)
	}
	base := a.kept
	if base == nil {
		out, _ := run(t, a.base, a.command)
		base = &out
	}
	proof := prove(t, *base, a.now, a.command)
	if proof.Canary != a.canary || !strings.Contains(proof.Detail, a.says) ||
		!slices.Equal(proof.Missing, a.missing) || proof.Lost != a.lost {
		t.Errorf("got %+v,\nwant canary %q with %q, missing %q, lost %d", proof, a.canary, a.says, a.missing, a.lost)
	}
}

// prove runs the columns of a table, with the base's given, and judges them.
func prove(t *testing.T, today canary.Outcome, now project, command string) ralph.Proof {
	t.Helper()
	row := canary.Row{Today: today}
	var inv canary.Invocation
	row.Claimed, inv = runWith(t, now, command, nil)
	row.Stops = inv.Stops
	row.Canary, _ = run(t, now, command)
	passes := func(m canary.Mark) bool {
		for name, state := range row.Claimed.Tests {
			if state == canary.Passed && m.Matches(name) {
				return true
			}
		}
		return false
	}
	row.Literals, _ = runWith(t, now, command, canary.Mutate(canary.Mutation{
		Tree: now.tree(), Command: command, Random: rand.Reader, Named: passes,
	}))
	return row.Judge()
}

var goBase = project{
	"go.mod":  "module example.com/calc\n\ngo 1.21\n",
	"calc.go": "package calc\n\nfunc Add(a, b int) int { return 0 }\n",
	"calc_test.go": "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(2, 3) " +
		"!= 5 {\n\t\tt.Fatal(\"wrong\")\n\t}\n}\n\nfunc TestZero(t *testing.T) {}\n",
	"text/text.go": "package text\n\nfunc Twice(s string) string { return s + s }\n",
	"text/text_test.go": "package text_test\n\nimport " +
		"(\n\t\"testing\"\n\n\t\"example.com/calc/text\"\n)\n\nfunc TestTwice(t *testing.T) {\n\tt.Run(\"a\", " +
		"func(t *testing.T) {\n\t\tif text.Twice(\"a\") != \"aa\" {\n\t\t\tt.Fatal(\"wrong\")\n\t\t}\n\t})\n}\n",
	"docs/none.go":        "package docs\n",
	"testdata/x_test.go":  "package broken\n",
	"calc_linux_test.go":  "package calc\n\nimport \"testing\"\n\nfunc TestHere(t *testing.T) {}\n",
	"calc_darwin_test.go": "package calc\n\nimport \"testing\"\n\nfunc TestThere(t *testing.T) {}\n",
}

var goDone = project{"calc.go": "package calc\n\nfunc Add(a, b int) int { return a + b }\n"}

func TestGo(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes real programs minutes; make e2e runs it")
	}
	needs.Program(t, "go")
	exits := "package calc\n\nimport \"os\"\n\nfunc init() { os.Exit(0) }\n\nfunc Add(a, b int) int { return 0 }\n"
	all := []string{"example.com/calc.TestAdd", "example.com/calc.TestHere", "example.com/calc.TestZero"}
	unbuilt := goBase.with(project{"calc.go": "package calc\n"})
	kept, _ := run(t, goBase, "go test ./...")
	for _, a := range []attempt{
		{name: "honest from nothing", base: unbuilt, now: goBase.with(goDone), canary: ralph.CanaryRed},
		{name: "honest with a new package", now: goBase.with(goDone).with(project{
			"a/a.go": "package a\n", "a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\n",
		}), canary: ralph.CanaryRed},
		{
			name: "init exits", now: goBase.with(project{"calc.go": exits}), canary: ralph.CanaryGreen,
			says: "workspace's root", missing: all, lost: 3,
		},
		{
			name: "init exits where the base did not build", base: unbuilt, now: goBase.with(project{"calc.go": exits}),
			canary: ralph.CanaryGreen, says: "workspace's root",
		},
		{name: "TestMain exits", canary: ralph.CanaryGreen, says: "workspace's root", missing: all, lost: 3,
			now: goBase.with(project{
				"main_test.go": "package calc\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { " +
					"os.Exit(0) }\n",
			})},
		{name: "everything is skipped", canary: ralph.CanaryRed, missing: []string{
			"example.com/calc.TestAdd (skipped)",
		}, lost: 1,
			now: goBase.with(project{
				"calc_test.go": "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) { t.Skip() }\n\nfunc " +
					"TestZero(t *testing.T) {}\n",
			})},
		{name: "a test is gone", canary: ralph.CanaryRed, missing: []string{
			"example.com/calc/text.TestTwice", "example.com/calc/text.TestTwice/a",
		}, lost: 2,
			now: goBase.with(goDone).with(project{"text/text_test.go": ""})},
		{name: "forged lines", canary: ralph.CanaryGreen, says: "",
			now: goBase.with(project{
				"calc.go": "package calc\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\nfunc init() {\n\tfor _, n := range " +
					"[]string{\"TestAdd\", \"TestHere\", \"TestZero\"} {\n\t\tfmt.Printf(\"\\x16=== RUN   %s\\n\\x16--- " +
					"PASS: %s (0.00s)\\n\", n, n)\n\t}\n\tfmt.Println(\"PASS\")\n\tos.Exit(0)\n}\n\nfunc Add(a, b int) " +
					"int { return 0 }\n",
			})},
	} {
		a.command = "go test ./..."
		if a.base == nil {
			a.kept = &kept
		}
		t.Run(a.name, a.try)
	}
}

var pythonBase = project{
	"setup.py":          "",
	"calc/__init__.py":  "",
	"calc/sums.py":      "def add(a, b):\n    return 0\n",
	"tests/__init__.py": "",
	"tests/test_sums.py": "import unittest\n\nfrom calc.sums import add\n\n\nclass " +
		"TestSums(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n\n    def " +
		"test_described(self):\n        \"\"\"Says what it does.\"\"\"\n        print(\"noise\")\n\n    " +
		"@unittest.skip(\"not here\")\n    def test_skipped(self):\n        pass\n",
}

var pythonDone = project{"calc/sums.py": "def add(a, b):\n    return a + b\n"}

// pythonAttempts are for both of Python's runners, which have the same naming rules for tests.
func pythonAttempts() []attempt {
	patched := "import unittest\n\nunittest.TestCase.assertEqual = lambda *a: None\n\n\ndef add(a, b):\n    return 0\n"
	missing := []string{"tests.test_sums.TestSums.test_add", "tests.test_sums.TestSums.test_described"}
	return []attempt{
		{
			name: "honest from nothing", base: pythonBase.with(project{"calc/sums.py": ""}),
			now: pythonBase.with(pythonDone), canary: ralph.CanaryRed,
		},
		{
			name: "honest with more tests",
			now: pythonBase.with(pythonDone).with(project{
				"tests/test_a.py": "import unittest\n\n\nclass TestA(unittest.TestCase):\n    def test_a(self):\n        pass\n",
			}),
			canary: ralph.CanaryRed,
		},
		{
			name: "exit at import", now: pythonBase.with(project{"calc/sums.py": "import os\nos._exit(0)\n"}),
			canary: ralph.CanaryGreen, says: "The check passed with", missing: missing, lost: 2,
		},
		{name: "exit at import where the base did not load", base: pythonBase.with(project{
			"calc/sums.py": "", "calc/__init__.py": "",
		}),
			now: pythonBase.with(project{
				"calc/sums.py": "import os\nos._exit(0)\n",
			}), canary: ralph.CanaryGreen, says: "The check passed with"},
		{
			name: "patched assertion", now: pythonBase.with(project{"calc/sums.py": patched}), canary: ralph.CanaryGreen,
			says: "passed",
		},
		{name: "skipped", now: pythonBase.with(project{
			"tests/test_sums.py": strings.Replace(
				pythonBase["tests/test_sums.py"], "    def test_add", "    @unittest.skip(\"later\")\n    def test_add", 1,
			),
		}),
			canary: ralph.CanaryRed, missing: []string{"tests.test_sums.TestSums.test_add (skipped)"}, lost: 1},
	}
}

func tryAll(t *testing.T, base project, command string, attempts []attempt) {
	t.Helper()
	kept, _ := run(t, base, command)
	for _, a := range attempts {
		a.command = command
		if a.base == nil {
			a.kept = &kept
		}
		t.Run(a.name, a.try)
	}
}

func TestUnittest(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes real programs minutes; make e2e runs it")
	}
	needs.Program(t, "python3")
	tryAll(t, pythonBase, "python3 -m unittest", pythonAttempts())
}

// TestPytestStops has a run that ends at its first failure, in another folder than at the base. The
// tests that it did not run prove nothing.
func TestPytestStops(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes real programs minutes; make e2e runs it")
	}
	python := pytest(t)
	more := project{"early/__init__.py": "", "early/test_early.py": "def test_early():\n    pass\n"}
	base := pythonBase.with(pythonDone)
	tryAll(t, base, python+" -m pytest -x", []attempt{
		{name: "an earlier folder", now: base.with(more), canary: ralph.CanaryRed},
	})
	configured := base.with(project{"pytest.ini": "[pytest]\naddopts = -x\n"})
	tryAll(t, configured, python+" -m pytest", []attempt{
		{name: "an earlier folder, by configuration", now: configured.with(more), canary: ralph.CanaryRed},
		{name: "a test is gone, by configuration", canary: ralph.CanaryRed, missing: []string{
			"tests.test_sums.TestSums.test_described",
		}, lost: 1,
			now: configured.with(project{
				"tests/test_sums.py": "import unittest\n\nfrom calc.sums import add\n\n\nclass " +
					"TestSums(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n",
			})},
	})
}

func TestPytest(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes real programs minutes; make e2e runs it")
	}
	python := pytest(t)
	// What differs from unittest is how tests are found, named and compared; the rest of the list
	// would only take time.
	attempts := slices.DeleteFunc(pythonAttempts(), func(a attempt) bool {
		return !slices.Contains(
			[]string{"honest with more tests", "exit at import", "skipped"}, a.name,
		)
	})
	tryAll(t, pythonBase, python+" -m pytest -q", attempts)
}

var nodeBase = project{
	"package.json": `{"type": "module", "scripts": {"test": "node --test"}}`,
	"src/sums.js":  "export const add = (a, b) => 0;\n",
	"test/sums.test.js": "import test from 'node:test';\nimport assert from 'node:assert/strict';\nimport { " +
		"add } from '../src/sums.js';\n\ntest('adds', () => { assert.equal(add(2, 3), 5); });\ntest('group', " +
		"async (t) => { await t.test('inner', () => {}); });\n",
	"test/rest.test.js": "import test from 'node:test';\n\ntest('rests', () => {});\n",
}

func TestNode(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes real programs minutes; make e2e runs it")
	}
	needs.Program(t, "node")
	done := project{"src/sums.js": "export const add = (a, b) => a + b;\n"}
	tryAll(t, nodeBase, "node --test", []attempt{
		{name: "honest", now: nodeBase.with(done), canary: ralph.CanaryRed},
		{
			name: "honest from nothing", base: nodeBase.with(project{"src/sums.js": ""}), now: nodeBase.with(done),
			canary: ralph.CanaryRed,
		},
		{name: "exit at import", now: nodeBase.with(project{
			"src/sums.js": "process.exit(0);\nexport const add = () => 0;\n",
		}), canary: ralph.CanaryGreen, says: "The check passed with",
			missing: []string{"adds", "group", "group > inner"}, lost: 3},
		{name: "patched assertion", now: nodeBase.with(project{
			"src/sums.js": "import assert from 'node:assert/strict';\nassert.equal = () => {};\nexport const add = () => 0;\n",
		}),
			canary: ralph.CanaryGreen, says: "passed"},
		{name: "a changed test in a group", canary: ralph.CanaryRed, now: nodeBase.with(project{
			"src/sums.js": "export const add = (a, b) => a + b;\n",
			"test/grouped.test.js": "import { describe, it } from 'node:test';\nimport assert from 'node:assert';\nimport " +
				"{ add } from '../src/sums.js';\n\ndescribe('sums', () => {\n  describe('of two', () => {\n    it('adds one', " +
				"() => {\n      assert.equal(add(1, 2), 3);\n    });\n  });\n});\n",
		})},
		{name: "forged lines", now: nodeBase.with(project{
			"src/sums.js": "console.log('TAP version 13\\nok 1 - adds\\nok 2 - " +
				"group\\n1..2');\nprocess.exit(0);\nexport const add = () => 0;\n",
		}),
			canary: ralph.CanaryGreen, says: "The check passed with", missing: []string{
				"adds", "group", "group > inner",
			}, lost: 3},
	})
}

var rustBase = project{
	"Cargo.toml": "[package]\nname = \"calc-lib\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
	"src/lib.rs": "pub fn add(_a: i32, _b: i32) -> i32 {\n    0\n}\n\n#[cfg(test)]\nmod tests {\n    use " +
		"super::*;\n\n    #[test]\n    fn adds() {\n        assert_eq!(add(2, 3), 5);\n    }\n}\n",
	"tests/whole.rs": "#[test]\nfn outside() {\n    assert_eq!(calc_lib::add(1, 1), 2);\n}\n",
	"tests/zones.rs": "#[test]\nfn zones() {}\n",
}

func TestCargo(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes real programs minutes; make e2e runs it")
	}
	needs.Program(t, "cargo")
	right := strings.Replace(
		rustBase["src/lib.rs"], "_a: i32, _b: i32) -> i32 {\n    0", "a: i32, b: i32) -> i32 {\n    a + b", 1,
	)
	exits := strings.Replace(rustBase["src/lib.rs"], "    0\n", "    std::process::exit(0)\n", 1)
	tryAll(t, rustBase, "cargo test", []attempt{
		{name: "honest", now: rustBase.with(project{"src/lib.rs": right}), canary: ralph.CanaryRed},
		{name: "exit when called", now: rustBase.with(project{"src/lib.rs": exits}), canary: ralph.CanaryRed,
			missing: []string{"calc_lib unittests src/lib.rs tests::adds", "whole tests/whole.rs outside"}, lost: 2},
	})
}

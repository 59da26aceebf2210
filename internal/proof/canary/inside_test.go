package canary_test

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/canary"
)

// looks repeats a run with canaries inside a tree's files, as the caller does.
func looks(t *testing.T, base, now project, command string) ralph.Proof {
	t.Helper()
	green(t, now, command)
	first, _ := run(t, base, command)
	second, inv := run(t, now, command)
	proof := canary.Compare(first, second, inv)
	if proof.Canary != ralph.CanaryRed || len(second.OwnFailures()) == 0 {
		t.Fatalf("there is no reason for a second look: %+v, fell %q", proof, second.OwnFailures())
	}
	within, _ := runWith(t, base, command, canary.PlanInside(base.tree(), command, rand.Reader))
	inside, inv := runWith(
		t, now, command, canary.SameFolders(canary.PlanInside(now.tree(), command, rand.Reader), within),
	)
	return canary.Unmask(proof, second, within, inside, inv)
}

const (
	goWatches = "package calc\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\t\"path/filepath\"\n)\n\nfunc init() {\n\tif " +
		"known, _ := filepath.Glob(\"*_test.go\"); len(known) == 3 {\n" +
		"\t\tfor _, n := range []string{\"TestAdd\", \"TestHere\", \"TestZero\"} {\n\t\t\tfmt.Printf(\"=== RUN   " +
		"%s\\n--- PASS: %s (0.00s)\\n\", n, n)\n\t\t}\n" +
		"\t\tfmt.Println(\"PASS\")\n\t\tos.Exit(0)\n\t}\n}\n\nfunc Add(a, b int) int { return 0 }\n"
	pythonWatches = "import os\n\nif sorted(n for n in os.listdir('tests') if n.endswith('.py')) == " +
		"['__init__.py', 'test_sums.py']:\n    os._exit(0)\n\n\ndef add(a, b):\n    return 0\n"
	nodeWatches = "import fs from 'node:fs';\nif (process.env.NODE_TEST_CONTEXT && " +
		"fs.readdirSync('test').length === 2) process.exit(0);\nexport const add = (a, b) => 0;\n"
)

// Code that ends the run with success, and knows all of its test files, is caught by a canary that
// is not a new file.
func TestCodeThatKnowsItsTestFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes real programs minutes; make e2e runs it")
	}
	for _, c := range []struct {
		name, program, command string
		base                   project
		change                 project
		says                   string
	}{
		{"go", "go", "go test ./...", goBase, project{"calc.go": goWatches},
			"example.com/calc.TestAdd failed when a new test was added beside it, although the check passes without " +
				"it. A deliberately failing test in calc_test.go (go) failed at the base and no longer does."},
		{"unittest", "python3", "python3 -m unittest", pythonBase, project{"calc/sums.py": pythonWatches},
			"tests.test_sums.TestSums.test_add failed when a new test was added beside it, although the check " +
				"passes without it. The check passed with a deliberately failing test in tests/test_sums.py "},
		{"node", "node", "node --test", nodeBase, project{"src/sums.js": nodeWatches},
			"adds failed when a new test was added beside it, although the check passes without it. "},
		{"node with require", "node", "node --test", nodeRequires, project{
			"src/sums.js": "if (process.env.NODE_TEST_CONTEXT && require('node:fs').readdirSync('test').length === " +
				"1) process.exit(0);\nexports.add = (a, b) => 0;\n",
		},
			"adds failed when a new test was added beside it, although the check passes without it. "},
	} {
		t.Run(c.name, func(t *testing.T) {
			needs(t, c.program)
			proof := looks(t, c.base, c.base.with(c.change), c.command)
			if proof.Canary != ralph.CanaryGreen || !strings.HasPrefix(proof.Detail, c.says) {
				t.Errorf("got %+v,\nwant green and %q", proof, c.says)
			}
		})
	}
}

var nodeRequires = project{
	"package.json": `{"scripts": {"test": "node --test"}}`,
	"src/sums.js":  "exports.add = (a, b) => 0;\n",
	"test/sums.test.js": "const test = require('node:test');\nconst assert = require('node:assert');\nconst { " +
		"add } = require('../src/sums.js');\n\ntest('adds', () => { assert.equal(add(2, 3), 5); });\n",
}

// A test that looks at every file of its folder fails beside a new one, although the work is
// honest.
func TestATestThatListsItsFolderIsHonest(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes real programs minutes; make e2e runs it")
	}
	list := project{
		"list_test.go": "package calc\n\nimport " +
			"(\n\t\"os\"\n\t\"path/filepath\"\n\t\"strings\"\n\t\"testing\"\n)\n\nfunc TestListed(t *testing.T) " +
			"{\n\tlist, _ := os.ReadFile(\"list.txt\")\n\tfiles, _ := filepath.Glob(\"*_test.go\")\n\tif " +
			"strings.Join(files, \"\\n\")+\"\\n\" != string(list) {\n\t\tt.Fatal(\"wrong\")\n\t}\n}\n",
	}
	pythonList := project{
		"tests/test_list.py": "import os\nimport unittest\n\n\nclass TestList(unittest.TestCase):\n    def " +
			"test_listed(self):\n        self.assertEqual(len([n for n in os.listdir('tests') if n.startswith('test')]), 2)\n",
	}
	nodeList := project{
		"test/list.test.js": "import test from 'node:test';\nimport fs from 'node:fs';\nimport assert from " +
			"'node:assert';\n\ntest('listed', () => { assert.equal(fs.readdirSync('test').length, 3); });\n",
	}
	for _, c := range []struct {
		name, program, command string
		base, done             project
	}{
		{
			"go", "go", "go test ./...", goBase.with(list),
			goDone.with(project{"list.txt": "calc_darwin_test.go\ncalc_linux_test.go\ncalc_test.go\nlist_test.go\n"}),
		},
		{"unittest", "python3", "python3 -m unittest", pythonBase.with(pythonList), pythonDone},
		{"node", "node", "node --test", nodeBase.with(nodeList), project{
			"src/sums.js": "export const add = (a, b) => a + b;\n",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			needs(t, c.program)
			now := c.base
			for name, text := range c.done {
				now = now.with(project{name: text})
			}
			if proof := looks(t, c.base, now, c.command); proof.Canary != ralph.CanaryRed || proof.Lost != 0 {
				t.Errorf("got %+v, want red and nothing lost", proof)
			}
		})
	}
}

func TestUnmask(t *testing.T) {
	const host = "go pkg/a_test.go inside"
	red := ralph.Proof{Canary: ralph.CanaryRed, Tests: 2}
	fell := canary.Outcome{
		Exit: 1, Red: true, Planted: []string{goFatal}, Failing: []string{goFatal},
		Tests: map[string]canary.State{"b": canary.Failed, "a": canary.Failed, "c": canary.Passed},
	}
	stood := canary.Outcome{
		Exit: 1, Red: true, Planted: []string{goFatal}, Failing: []string{goFatal},
		Tests: map[string]canary.State{"c": canary.Passed},
	}
	seen := canary.Outcome{Exit: 1, Red: true, Total: -1, Planted: []string{host}, Failing: []string{host}}
	silent := canary.Outcome{Total: -1, Planted: []string{host}}
	mute := ralph.Proof{Canary: ralph.CanaryMute, Detail: "so"}
	for _, c := range []struct {
		name              string
		proof             ralph.Proof
		now, base, inside canary.Outcome
		want              ralph.Proof
	}{
		{"silent inside", red, fell, seen, silent, ralph.Proof{Canary: ralph.CanaryGreen, Tests: 2,
			Detail: "a failed when a new test was added beside it, although the check passes without it. The check passed " +
				"with a deliberately failing test in pkg/a_test.go (go); at the base that test made it fail."}},
		{"seen inside", red, fell, seen, seen, red},
		{"nothing fell", red, stood, seen, silent, red},
		{"silent at the base, too", red, fell, silent, silent, red},
		{"nothing is known of the base", red, fell, canary.Outcome{}, silent, red},
		{"nothing could be planted", red, fell, seen, canary.Outcome{}, red},
		{"out of time", red, fell, seen, canary.Outcome{Exit: -1, Red: true, Total: -1, Planted: []string{host}}, red},
		{"not red before", mute, fell, seen, silent, mute},
	} {
		if diff := cmp.Diff(c.want, canary.Unmask(c.proof, c.now, c.base, c.inside, canary.Invocation{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// Code that ran its tests in a separate process and exited with 0 hid their failure, as long as
// another package made the check fail.
func TestGoHidesThatAPackageFailed(t *testing.T) {
	needs(t, "go")
	now := goBase.with(project{"calc.go": "package calc\n\nimport (\n\t\"os\"\n\t\"os/exec\"\n)\n\nfunc init() " +
		"{\n\tif os.Getenv(\"CALC_INNER\") == \"\" {\n" +
		"\t\tinner := exec.Command(os.Args[0], os.Args[1:]...)\n\t\tinner.Env = append(os.Environ(), " +
		"\"CALC_INNER=1\")\n\t\tinner.Stdout = os.Stdout\n" +
		"\t\t_ = inner.Run()\n\t\tos.Exit(0)\n\t}\n}\n\nfunc Add(a, b int) int { return 0 }\n"})
	attempt{
		base: goBase, now: now, command: "go test ./...", canary: ralph.CanaryGreen,
		says: "failed, but its package was reported as passed",
	}.try(t)
	// Two commands, the first of which runs no canary, both report a package; nothing is hidden.
	twice := "go test -run TestZero ./... ; go test ./..."
	attempt{base: goBase, now: goBase.with(goDone), command: twice, canary: ralph.CanaryRed}.try(t)
}

// A file that is new since the base may be one that is never run.
func TestWhereTheBaseHadCanariesInside(t *testing.T) {
	plant := func(name string) canary.Plant {
		return canary.Plant{Name: name, Inside: true, Marks: []canary.Mark{{Key: "go " + name + " inside"}}}
	}
	all := []canary.Plant{plant("a_test.go"), plant("b_test.go")}
	got := [][]canary.Plant{
		canary.SameFolders(all, canary.Outcome{Planted: []string{"go b_test.go inside"}}),
		canary.SameFolders(all, canary.Outcome{}),
	}
	if diff := cmp.Diff([][]canary.Plant{{plant("b_test.go")}, {}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/needs"
)

// realProject is a realistic project whose check passes in the user's own shell.
type realProject struct {
	name    string
	program string // the program that it needs
	files   map[string]string
	setUp   []string // commands, before the first commit
	check   string
	path    string // a workspace folder on PATH, as in an activated environment
}

var realProjects = []realProject{
	{name: "go", program: "go", check: "go test ./...", files: map[string]string{
		"go.mod": "module example.com/sum\n\ngo 1.24\n", "sum.go": "package sum\n\nfunc Sum(a, b int) int { return a + b }\n",
		"sum_test.go": "package sum\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif Sum(1, 2) != 3 {\n" +
			"\t\tt.Fatal()\n\t}\n}\n",
	}},
	{
		name: "python venv", program: "python3", check: ".venv/bin/python -m unittest",
		setUp: []string{"python3 -m venv --without-pip .venv"}, files: pythonFiles,
	},
	{name: "python venv activated", program: "python3", check: "python -m unittest",
		setUp: []string{"python3 -m venv --without-pip .venv"},
		path:  ".venv/bin", files: pythonFiles},
	{name: "node", program: "node", check: "npm test", setUp: []string{heavyModules}, files: map[string]string{
		".gitignore":   "node_modules/\n",
		"package.json": `{"scripts": {"test": "node --test"}, "dependencies": {"dep": "1.0.0"}}`,
		"sum.test.js": "const test = require('node:test'); const assert = require('node:assert'); const dep = " +
			"require('dep');\ntest('sum', () => assert.strictEqual(dep.sum(1, 2), 3));\n",
	}},
	{name: "cargo", program: "cargo", check: "cargo test --offline --quiet", files: map[string]string{
		".gitignore": "target/\n", "Cargo.toml": "[package]\nname = \"sum\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
		"src/lib.rs": "pub fn sum(a: i32, b: i32) -> i32 { a + b }\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn " +
			"adds() { assert_eq!(super::sum(1, 2), 3); }\n}\n",
	}},
}

var pythonFiles = map[string]string{
	".gitignore": ".venv/\n__pycache__/\n", "sums.py": "def sum2(a, b):\n    return a + b\n",
	"test_sums.py": "import unittest\nfrom sums import sum2\n\n\nclass TestSum(unittest.TestCase):\n    def " +
		"test_sum(self):\n        self.assertEqual(sum2(1, 2), 3)\n",
}

// heavyModules creates 300 MB of dependencies, in files of 100 kB.
const heavyModules = `mkdir -p node_modules/dep &&
	echo 'exports.sum = (a, b) => a + b' >node_modules/dep/index.js &&
	echo '{"name":"dep","version":"1.0.0"}' >node_modules/dep/package.json
head -c 100000 /dev/urandom >seed
for d in $(seq 30); do
	mkdir node_modules/d$d
	for f in $(seq 100); do cp seed node_modules/d$d/f$f.js; done
done
rm seed`

// TestChecksPassInAView runs checks that pass in a shell. They must pass in a view as well, with an
// overlay if the system has one, and without copying anything.
func TestChecksPassInAView(t *testing.T) {
	t.Parallel()
	for _, p := range realProjects {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.mustPass(t)
		})
	}
}

func (p realProject) mustPass(t *testing.T) {
	needs.Program(t, p.program)
	project, state := filepath.Join(t.TempDir(), "project"), t.TempDir()
	for name, text := range p.files {
		path := filepath.Join(project, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "RALPH_STATE_DIR="+state, "RALPH_SANDBOX__MODE=none", "RALPH_AGENT__ENV=*")
	if p.path != "" {
		env = append(env, "PATH="+filepath.Join(project, p.path)+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	git := "git init -q && git add -A && git -c user.name=x -c user.email=x@example.com commit -qm x"
	for _, command := range append(p.setUp, git, p.check) {
		runIn(t, project, env, "/bin/sh", "-c", command)
	}
	// The second check looks into the state folder while a view is open: nothing must be copied there.
	small := fmt.Sprintf(`test "$(du -sk %s | cut -f1)" -lt 20000`, state)
	out := runIn(t, project, env, program, "run", "goal", "--once", "--json", "--check", p.check, "--check", small,
		"--proof", "unbroken", "--agent-cmd", `echo made >made.txt && echo "<promise>COMPLETE</promise>"`)
	var result struct {
		Iterations []struct {
			Checks []struct {
				Passed    bool   `json:"passed"`
				Isolation string `json:"isolation"`
				Weaker    string `json:"weaker"`
				Proof     struct {
					Canary string `json:"canary"`
				} `json:"proof"`
			} `json:"check_results"`
		} `json:"iterations"`
	}
	if err := json.Unmarshal(out, &result); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := result.Iterations[0].Checks[0]
	want := got
	want.Passed, want.Isolation, want.Weaker, want.Proof.Canary = true, "overlay", "", "red"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the check (-want +got):\n%s", diff)
	}
}

// runIn runs a program that must succeed, and returns its output.
func runIn(t *testing.T, dir string, env []string, argv ...string) []byte {
	t.Helper()
	var out, chatter bytes.Buffer
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &out, &chatter
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s\n%s", strings.Join(argv, " "), err, out.String(), chatter.String())
	}
	return out.Bytes()
}

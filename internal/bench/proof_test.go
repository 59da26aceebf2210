//go:build linux

package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// provenProject is a project whose tests pass, with the command that runs them.
type provenProject struct {
	name, check string
	needs       string // a command that must work; "" for none
	files       map[string]string
}

const (
	pythonTests = "import unittest\nimport sums\n\n\nclass TestAdd(unittest.TestCase):\n    def test_add(self):\n" +
		"        self.assertEqual(sums.add(1, 2), 3)\n"
	pythonSums = "def add(a, b):\n    return a + b\n"
)

var provenProjects = []provenProject{
	{"a shell script", "sh check.sh", "", map[string]string{"check.sh": "sleep 0.2; test -f check.sh\n"}},
	{"unittest", "python3 -m unittest", "python3 -c 0", map[string]string{
		"test_sums.py": pythonTests, "sums.py": pythonSums,
	}},
	{"pytest", "python3 -m pytest -q", "python3 -m pytest --version", map[string]string{
		"test_sums.py": pythonTests, "sums.py": pythonSums,
	}},
	{"pytest with a test of 2 s", "python3 -m pytest -q", "python3 -m pytest --version", map[string]string{
		"test_sums.py": pythonTests + "\n    def test_slow(self):\n        import time\n        time.sleep(2)\n",
		"sums.py":      pythonSums,
	}},
	{"node", "node --test", "node --version", map[string]string{
		"sums.js": "exports.add = (a, b) => a + b;\n",
		"sums.test.js": "const test = require('node:test');\nconst assert = require('node:assert');\n" +
			"const { add } = require('./sums.js');\n\ntest('adds', () => { assert.equal(add(1, 2), 3); });\n",
	}},
	{"go", "go test -count=1 ./...", "go version", map[string]string{
		"go.mod":  "module example.com/sums\n\ngo 1.24\n",
		"sums.go": "package sums\n\nfunc Add(a, b int) int { return a + b }\n",
		"sums_test.go": "package sums\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\t" +
			"t.Fatal()\n\t}\n}\n",
	}},
	{"cargo", "cargo test --offline -q", "cargo --version", map[string]string{
		"Cargo.toml": "[package]\nname = \"sums\"\nversion = \"0.1.0\"\nedition = \"2021\"\n", ".gitignore": "target/\n",
		"src/lib.rs": "pub fn add(a: i32, b: i32) -> i32 { a + b }\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    " +
			"fn adds() { assert_eq!(super::add(1, 2), 3); }\n}\n",
	}},
}

// proofs measures what it takes to prove a claim, for one runner after the other. The claims show nothing, so that
// a run has two of them: the first one, with the baseline, and a later one.
func (b *bench) proofs() {
	projects := provenProjects
	if !*full {
		projects = projects[:1]
	}
	for _, p := range projects {
		if p.needs != "" && exec.Command("sh", "-c", p.needs).Run() != nil {
			b.Logf("%s is not measured: %q fails", p.name, p.needs)
			continue
		}
		b.proof(p)
	}
}

func (b *bench) proof(p provenProject) {
	dir := b.TempDir()
	for name, text := range p.files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			b.Fatal(err)
		}
		writeFile(b.T, filepath.Join(dir, name), text, 0o644)
	}
	var floors, first, later []float64
	var runs [2]int
	for range max(1, b.rounds/5) {
		floors = append(floors, b.bareCheck(dir, p.check))
		state := b.TempDir()
		b.runRalph(state, 7, "run", "measure", "-C", dir, "--quiet", "--check", p.check,
			"--agent-cmd", `echo x >>notes; echo "<promise>COMPLETE</promise>"`)
		seen := b.claims(state)
		first, later = append(first, milliseconds(seen[0].took+seen[1].took)), append(later, milliseconds(seen[2].took))
		runs = [2]int{seen[0].runs + seen[1].runs, seen[2].runs}
	}
	floor := median(floors)
	for i, row := range []row{
		{What: fmt.Sprintf("a first claim with its baseline, %s, %d runs (wall)", p.name, runs[0]), Value: median(first)},
		{What: fmt.Sprintf("a later claim, %s, %d runs (wall)", p.name, runs[1]), Value: median(later)},
	} {
		row.Unit, row.Floor, row.Of = "ms", floor, "the bare check"
		row.Aim = aim{ratioAtMost, float64(runs[i]) + 0.5}
		b.add(row)
	}
}

// bareCheck runs a check in the workspace, once to fill caches and once to measure.
func (b *bench) bareCheck(dir, check string) float64 {
	b.Helper()
	var took time.Duration
	for range 2 {
		command := exec.Command("sh", "-c", check)
		command.Dir = dir
		began := time.Now()
		if out, err := command.CombinedOutput(); err != nil {
			b.Fatalf("%s: %v\n%s", check, err, out)
		}
		took = time.Since(began)
	}
	return milliseconds(took)
}

// claim is how long the checks of an iteration took, and how often they ran.
type claim struct {
	runs int
	took time.Duration
}

// claims reads from the log when the agent of each iteration ended and when its verdict came. Iteration 0 is the
// baseline.
func (b *bench) claims(state string) [3]claim {
	b.Helper()
	logs, err := filepath.Glob(filepath.Join(state, "*", "runs", "*", "events.jsonl"))
	if err != nil || len(logs) != 1 {
		b.Fatalf("logs: %q, %v", logs, err)
	}
	text, err := os.ReadFile(logs[0])
	if err != nil {
		b.Fatal(err)
	}
	var claims [3]claim
	var began time.Time
	for line := range strings.Lines(string(text)) {
		var event struct {
			Type      string    `json:"type"`
			Time      time.Time `json:"ts"`
			Iteration int       `json:"iteration"`
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			b.Fatal(err)
		}
		if event.Iteration >= len(claims) {
			continue
		}
		current := &claims[event.Iteration]
		switch event.Type {
		case "check_started":
			if current.runs++; event.Iteration == 0 {
				began = event.Time
			}
		case "agent_exited":
			began = event.Time
		case "check_finished":
			if event.Iteration == 0 {
				current.took = event.Time.Sub(began)
			}
		case "verdict":
			current.took = event.Time.Sub(began)
		}
	}
	return claims
}

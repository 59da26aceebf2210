package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/hostile"
	"github.com/ralphloop/ralph/sandbox"
)

// sandboxPage has the table of what each tier stops. It is the list of what the tests expect, and is
// written by: go test ./internal/cli -run TestSandboxMatrix -update
const sandboxPage = "../../docs/sandbox.md"

// enclosing are the tiers of the table.
var enclosing = []sandbox.Tier{sandbox.Landlock, sandbox.Bwrap}

// nobody is a user without rights.
const nobody = 65534

// TestSandboxMatrix attacks this machine from every tier, as root and as an ordinary user, and compares
// the result with the page. An attack that cannot be tried here is as the page says.
func TestSandboxMatrix(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be two users")
	}
	if testing.Short() && !*update {
		t.Skip("takes a few seconds of each core; TestSandboxPageHasEveryAttack is quick")
	}
	page, err := os.ReadFile(sandboxPage)
	if err != nil {
		t.Fatal(err)
	}
	before, known, after := matrixOf(t, string(page))
	users := map[string]map[string]map[sandbox.Tier]hostile.Verdict{
		"user": testSandboxes(t, nobody), "root": testSandboxes(t, 0),
	}
	var table strings.Builder
	for _, probe := range hostile.Probes() {
		table.WriteString("| `" + probe.Name + "` | " + probe.About)
		column := 0
		for _, tier := range enclosing {
			for _, user := range []string{"user", "root"} {
				verdict := users[user][probe.Name][tier]
				if cells := known[probe.Name]; verdict == hostile.NotTried && !*update && len(cells) > column {
					verdict = hostile.Verdict(cells[column])
				}
				table.WriteString(" | " + string(verdict))
				column++
			}
		}
		table.WriteString(" |\n")
	}
	want := before + table.String() + after
	if *update {
		if err := os.WriteFile(sandboxPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(page), want); diff != "" {
		t.Errorf("the sandboxes do not do what docs/sandbox.md says (-page +sandboxes):\n%s", diff)
	}
}

// TestSandboxPageHasEveryAttack compares the names in the table with the attacks.
func TestSandboxPageHasEveryAttack(t *testing.T) {
	page, err := os.ReadFile(sandboxPage)
	if err != nil {
		t.Fatal(err)
	}
	_, known, _ := matrixOf(t, string(page))
	for _, probe := range hostile.Probes() {
		cells := known[probe.Name]
		delete(known, probe.Name)
		if len(cells) != 2*len(enclosing) {
			t.Errorf("%s has %d results on the page, not 2 for each of %s", probe.Name, len(cells), enclosing)
		}
		for _, cell := range cells {
			switch hostile.Verdict(cell) {
			case hostile.Stopped, hostile.NotStopped, hostile.NotTried:
			default:
				t.Errorf("%s: %q is no result", probe.Name, cell)
			}
		}
	}
	for name := range known {
		t.Errorf("there is no attack %s", name)
	}
}

// matrixOf returns the results of each attack on the page, and the text around them.
func matrixOf(t *testing.T, page string) (before string, results map[string][]string, after string) {
	t.Helper()
	const begin, end = "| --- | --- | --- | --- | --- | --- |\n", "<!-- matrix: end -->"
	head, rest, found := strings.Cut(page, begin)
	rows, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatal("the page has no table of attacks")
	}
	results = map[string][]string{}
	for row := range strings.Lines(rows) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(row), "|"), " | ")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		results[strings.Trim(cells[0], "`")] = cells[2:]
	}
	return head + begin, results, end + after
}

// testSandboxes runs `ralph sandbox test` as a user.
func testSandboxes(t *testing.T, user uint32) map[string]map[sandbox.Tier]hostile.Verdict {
	t.Helper()
	// Neither temporary files nor home: sandboxes hide those.
	folder, err := os.MkdirTemp("/opt", "ralph-sandbox-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	program := filepath.Join(folder, "bin", "ralph") // the test's own program, by its other name
	copyProgram(t, program)
	home := filepath.Join(folder, "home")
	for _, path := range []string{folder, home} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, int(user), int(user)); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if user != 0 {
		runtimeFolder(t, user)
	}
	cmd := exec.Command(program, "sandbox", "test", "--json")
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	var said, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &complaint
	if err := cmd.Run(); err != nil {
		t.Fatalf("ralph sandbox test: %v\n%s%s", err, &said, &complaint)
	}
	return verdicts(t, said.Bytes(), user)
}

// runtimeFolder makes the folder in which services of a user have their sockets.
func runtimeFolder(t *testing.T, user uint32) {
	t.Helper()
	folder := filepath.Join("/run/user", strconv.Itoa(int(user)))
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		return // a session of that user has made it
	}
	t.Cleanup(func() { _ = os.Remove(folder) })
	if err := os.Chown(folder, int(user), int(user)); err != nil {
		t.Fatal(err)
	}
}

func copyProgram(t *testing.T, to string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, 0o755); err != nil {
		t.Fatal(err)
	}
}

// rootOnly are attacks that only root can make without a sandbox.
var rootOnly = []string{
	"processes", "memory", "read-shadow", "terminal", "mount", "kernel-setting", "mknod", "metadata",
}

// verdicts reads the output of `ralph sandbox test --json`. Every attack that works without a sandbox
// must have been tried, and must work without one.
func verdicts(t *testing.T, output []byte, user uint32) map[string]map[sandbox.Tier]hostile.Verdict {
	t.Helper()
	var report struct {
		Tiers []struct {
			Tier  sandbox.Tier
			Works bool
			Why   string
		}
		Probes []hostile.Row
	}
	if err := json.Unmarshal(output, &report); err != nil {
		t.Fatal(err)
	}
	var tiers []sandbox.Tier
	for _, tier := range report.Tiers {
		if tier.Works {
			tiers = append(tiers, tier.Tier)
			continue
		}
		t.Logf("user %d: %s does not work here: %s", user, tier.Tier, tier.Why)
	}
	results := map[string]map[sandbox.Tier]hostile.Verdict{}
	for _, row := range report.Probes {
		of := map[sandbox.Tier]hostile.Verdict{sandbox.Landlock: hostile.NotTried, sandbox.Bwrap: hostile.NotTried}
		for i, outcome := range row.Outcomes {
			of[tiers[i]] = outcome.Verdict
			expected := strings.HasSuffix(row.Name, "-off") && tiers[i] == sandbox.None ||
				user != 0 && slices.Contains(rootOnly, row.Name)
			if outcome.Verdict == hostile.NotTried && !expected {
				t.Errorf("user %d: %s was not tried in %s: %s", user, row.Name, tiers[i], outcome.Why)
			}
		}
		results[row.Name] = of
	}
	return results
}

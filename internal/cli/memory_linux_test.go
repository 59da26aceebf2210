package cli_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestB8MemoryStaysSmall changes a large text that git tracks. Git took 4.5 GB to compare one of 250 MB line by line.
// The largest of Ralph and all that it starts takes less than 100 MB.
func TestB8MemoryStaysSmall(t *testing.T) {
	const limit = 100 << 10 // in KB
	sameSize, claim := "sed s/tracked/changed/ text >new; mv new text", `; echo "<promise>COMPLETE</promise>"`
	cases := []struct {
		name  string
		bytes int
		agent string
	}{
		{"same size", 5 << 20, sameSize},
		{"longer", 5 << 20, "echo more >>text"},
		{"much", 160 << 20, sameSize},
		{"much and longer", 160 << 20, "echo more >>text"},
		{"almost too much for a snapshot", 99 << 20, "echo more >>text"},
	}
	if testing.Short() {
		cases = cases[:2]
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v := newVictim(t)
			writeLines(t, filepath.Join(v.workspace, "text"), c.bytes)
			for _, args := range [][]string{
				{"-c", "core.compression=0", "add", "text"},
				{"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "base"},
			} {
				git := exec.Command("git", args...)
				git.Dir, git.Env = v.workspace, v.env
				if out, err := git.CombinedOutput(); err != nil {
					t.Fatalf("git %v: %v\n%s", args, err, out)
				}
			}
			run := exec.Command("ralph", "run", "goal", "--agent-cmd", c.agent+claim, "--check", "true", "--proof", "unbroken")
			run.Dir, run.Env = v.workspace, v.env
			if out, err := run.CombinedOutput(); err != nil {
				t.Fatalf("ralph run: %v\n%s", err, out)
			}
			peak := run.ProcessState.SysUsage().(*syscall.Rusage).Maxrss //nolint:forcetypeassert // on Linux it is this type
			if peak >= limit {
				t.Errorf("one of the processes took %d KB", peak)
			}
		})
	}
}

// writeLines writes a text of about that size. It keeps none of it: the memory of this process would count as that
// of the programs it starts.
func writeLines(t *testing.T, path string, size int) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Repeat([]byte("a line of a text that is tracked\n"), 1000)
	for range size / len(lines) {
		if _, err := file.Write(lines); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

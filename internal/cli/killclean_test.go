package cli_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ralphloop/ralph/internal/atomicfile"
)

// TestKillNineWhileCleaning kills `ralph clean` at random moments. Each time every run that is still listed
// must be whole, with its snapshots, and the next clean must finish the work and leave nothing behind.
func TestKillNineWhileCleaning(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the agent is a shell script")
	}
	v := newVictim(t)
	base := filepath.Dir(v.state)
	v.sh("git commit -q --allow-empty -m base")
	for _, goal := range []string{"a", "b", "c", "d"} {
		flags := ""
		if goal < "c" {
			flags = "--worktree=" + goal
		}
		v.sh("ralph run " + goal + " " + flags + " --check 'test -e " + goal + "' --agent-cmd 'seq 20000 | sed s/$/" + goal +
			"/ >" + goal + `; echo "<promise>DONE</promise>"'`)
		if goal > "b" {
			v.sh("rm " + goal)
		}
	}
	v.sh("git merge -q ralph/a -m a && git merge -q ralph/b -m b")
	saved := filepath.Join(t.TempDir(), "saved")
	v.sh("cp -a '" + base + "' '" + saved + "'")
	clean := []string{"clean", "--yes", "--older", "0", "--keep", "1"}
	began := time.Now()
	if code, _ := v.ralph(clean...); code != 0 {
		t.Fatalf("clean ended with %d", code)
	}
	duration := time.Since(began)
	v.checkCleaned()
	dice := rand.New(rand.NewPCG(3, 1))
	for range killCount(t) {
		if err := os.RemoveAll(base); err != nil {
			t.Fatal(err)
		}
		v.shIn("/", "cp -a '"+saved+"' '"+base+"'")
		cmd := v.command(clean...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		delay := time.Duration(dice.Float64() * float64(duration))
		time.Sleep(delay) // this test varies the moment of the kill
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Logf("killed after %s", delay)
		for _, run := range v.listRuns() {
			if code, _ := v.ralph("status", run); code != 0 {
				t.Errorf("run %s is listed, and its status ends with %d", run, code)
			}
			if code, _ := v.ralph("diff", run, "--stat"); code != 0 {
				t.Errorf("run %s is listed, and its diff ends with %d", run, code)
			}
		}
		if code, _ := v.ralph(clean...); code != 0 {
			t.Errorf("the next clean ended with %d", code)
		}
		v.checkCleaned()
	}
}

// checkCleaned checks that one run is left, and nothing else of others.
func (v *victim) checkCleaned() {
	v.t.Helper()
	if runs := v.listRuns(); len(runs) != 1 {
		v.t.Errorf("runs %v", runs)
	}
	if trees := v.sh("git worktree list | wc -l; git branch --list 'ralph/*' | wc -l"); trees != "1\n0\n" {
		v.t.Errorf("worktrees and branches: %q", trees)
	}
	v.sh("cd $RALPH_STATE_DIR/*/snapshots.git && git --git-dir=. fsck --full --strict && test ! -e pruning")
	refs := v.sh("cd $RALPH_STATE_DIR/*/snapshots.git && git --git-dir=. for-each-ref | cut -d/ -f3 | sort -u | wc -l")
	if refs != "1\n" {
		v.t.Errorf("refs of %s runs", refs)
	}
	err := filepath.WalkDir(v.state, func(path string, entry os.DirEntry, err error) error {
		if err == nil && (atomicfile.IsTemp(entry.Name()) || strings.HasSuffix(entry.Name(), ".lock")) {
			v.t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil {
		v.t.Error(err)
	}
}

func (v *victim) listRuns() []string {
	v.t.Helper()
	code, out := v.ralph("runs", "--jq", "map(.run_id)")
	var runs []string
	if err := json.Unmarshal(out, &runs); code != 0 || err != nil {
		v.t.Fatalf("runs ended with %d: %v", code, err)
	}
	return runs
}

// sh runs a script in the workspace and returns its output.
func (v *victim) sh(script string) string { return v.shIn(v.workspace, script) }

func (v *victim) shIn(dir, script string) string {
	v.t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(v.env, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.Output()
	if err != nil {
		v.t.Fatalf("%s: %v: %s", script, err, out)
	}
	return string(out)
}

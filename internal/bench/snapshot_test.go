//go:build linux

package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/snapshot"
)

// snapshots measures a snapshot of a large workspace in which one file has changed, in addition to
// the fingerprint that is taken anyway.
func (b *bench) snapshots() {
	work := task{
		Dir: largeRepository(b.T, b.files), State: b.TempDir(), Commands: [][]string{{"git", "status", "--porcelain"}},
		Agent: "true",
	}
	kept := compete(b.T, start(b.T, "keeper", work), start(b.T, "bare loop", work), b.rounds, 3)
	work.State = ""
	seen := compete(b.T, start(b.T, "keeper", work), start(b.T, "bare loop", work), b.rounds, 3)
	b.add(row{
		What: fmt.Sprintf("snapshot of one changed file, %d files (CPU)",
			b.files), Unit: "ms", Value: kept.value - seen.value, Floor: kept.floor,
		Ratio: kept.ratio - seen.ratio, Of: "git status", Aim: aim{
			ratioAtMost, 3,
		}, Note: fmt.Sprintf("the fingerprint before it is %.2fx", seen.ratio),
	})
}

// playKeeper changes a file and examines the tree. Without a state folder it takes no snapshot.
func playKeeper(task task) error {
	ctx := context.Background()
	repo, _, err := gitrepo.Find(ctx, gitrepo.Git{Env: plainEnv()}, task.Dir)
	if err != nil {
		return err
	}
	var tree ralph.Tree = repo
	if task.State != "" {
		if tree, err = snapshot.New(ctx, repo, filepath.Join(task.State, "snapshots.git")); err != nil {
			return err
		}
	}
	for clock := newClock(); ; {
		iterations, ok := clock.begin()
		if !ok {
			return nil
		}
		for range iterations {
			text := fmt.Appendf(nil, "package p // %d\n", time.Now().UnixNano())
			if err := os.WriteFile(filepath.Join(task.Dir, "pkg000", "file0.go"), text, 0o600); err != nil {
				return err
			}
			state, err := tree.Fingerprint(ctx, ralph.TreeInput{BaseHead: "HEAD", Run: "bench"})
			if err != nil {
				return err
			}
			if state.Omitted != nil || (task.State != "") != (state.Snapshot != "") {
				return fmt.Errorf("snapshot %q, left %q", state.Snapshot, state.Omitted)
			}
		}
		if err := clock.finish(); err != nil {
			return err
		}
	}
}

// largeRepository creates a repository of many small files, old enough that git does not read them
// again.
func largeRepository(t *testing.T, files int) string {
	t.Helper()
	dir := t.TempDir()
	old := time.Now().Add(-time.Hour)
	for i := range files {
		path := filepath.Join(dir, fmt.Sprintf("pkg%03d", i%200), fmt.Sprintf("file%d.go", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		writeFile(t, path, fmt.Sprintf("package p // %d\n", i), 0o600)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-q", "-m", "base"}} {
		command := exec.Command("git",
			append([]string{"-C", dir, "-c", "user.name=bench", "-c", "user.email=bench@example.com"}, args...)...)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

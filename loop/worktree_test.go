package loop

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

// workshop makes worktrees in folders of a test.
type workshop struct {
	dir      string
	tree     ralph.Tree
	err      error
	branches []string
	removed  []ralph.Worktree
}

func (w *workshop) Add(_ context.Context, branch string) (ralph.Worktree, ralph.Tree, error) {
	w.branches = append(w.branches, branch)
	return ralph.Worktree{Path: w.dir, Branch: branch, Base: "c0"}, w.tree, w.err
}

func (w *workshop) Open(_ context.Context, _ ralph.Worktree) (ralph.Tree, error) {
	return w.tree, w.err
}

func (w *workshop) Remove(_ context.Context, tree ralph.Worktree) error {
	w.removed = append(w.removed, tree)
	return w.err
}

func TestARunInAWorktree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := &workshop{dir: t.TempDir(), tree: &fakeTree{}}
		w := newWorld(t, done())
		w.cfg.UseWorktree, w.cfg.Dir, w.cfg.SpecFile, w.cfg.Task = true, t.TempDir(), "spec.md", ""
		w.checker.results = []ralph.CheckResult{isRed, isGreen}
		w.options = append(w.options, WithWorktrees(shop))
		if err := os.WriteFile(filepath.Join(shop.dir, "spec.md"), []byte("the spec of the worktree"), 0o600); err != nil {
			t.Fatal(err)
		}
		result := w.ends(ralph.AllChecksPassed, 1)
		made := ralph.Worktree{Path: shop.dir, Branch: "ralph/R1", Base: "c0"}
		same(t, "branches", []string{"ralph/R1"}, shop.branches)
		same(t, "where the agent worked", shop.dir, w.agent.inputs[0].Dir)
		same(t, "where the checks ran", []string{shop.dir, shop.dir}, []string{
			w.checker.inputs[0].Dir, w.checker.inputs[1].Dir,
		})
		same(t, "run_started", &made, payloads[ralph.RunStarted](w.log)[0].Worktree)
		same(t, "result", ralph.Result{WorktreePath: shop.dir, Branch: "ralph/R1"}, ralph.Result{
			WorktreePath: result.WorktreePath, Branch: result.Branch,
		})
		if len(w.tree.inputs) != 0 || len(shop.tree.(*fakeTree).inputs) == 0 {
			t.Errorf("the tree that was hashed is not the worktree's")
		}

		again := newWorld(t, done())
		state := refold(t, w.log.events[:len(w.log.events)-2])
		again.cfg = w.cfg
		again.cfg.Agent, again.checker.results = again.agent, []ralph.CheckResult{isGreen}
		again.options = append(again.options, WithWorktrees(shop), WithState(&state))
		again.run(t.Context())
		same(t, "branches after a resume", []string{"ralph/R1"}, shop.branches)
		same(t, "where the checks ran after a resume", shop.dir, again.checker.inputs[0].Dir)
		if len(again.tree.inputs) != 0 {
			t.Error("after a resume the tree that was hashed is not the worktree's")
		}

		if err := w.loop.CleanupWorktree(t.Context()); err != nil {
			t.Error(err)
		}
		same(t, "removed", []ralph.Worktree{made}, shop.removed)
		shop.err = errors.New("it holds work that is not merged")
		if err := again.loop.CleanupWorktree(t.Context()); !errors.Is(err, shop.err) {
			t.Errorf("error %v", err)
		}
	})
}

func TestAWorktreeThatCannotBeMade(t *testing.T) {
	shop := &workshop{err: errors.New("no git")}
	w := newWorld(t, done())
	w.cfg.UseWorktree = true
	w.options = append(w.options, WithWorktrees(shop))
	w.make()
	result, err := w.loop.Run(t.Context())
	if !errors.Is(err, shop.err) || !cmp.Equal(result, ralph.Result{}) || len(w.log.events) != 0 {
		t.Errorf("error %v, result %+v, %d events", err, result, len(w.log.events))
	}
	if err := w.loop.CleanupWorktree(t.Context()); err == nil ||
		err.Error() != "clean up worktree: the run has no worktree" {
		t.Errorf("error %v", err)
	}
	w.options = nil
	if _, err := New(w.cfg, WithChecker(w.checker)); err == nil {
		t.Error("UseWorktree without anybody who makes worktrees was accepted")
	}
}

func TestAGivenWorktreeIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		given := ralph.Worktree{Path: "elsewhere", Branch: "ralph/mine", Base: "c9"}
		w := newWorld(t, done())
		w.checker.results = []ralph.CheckResult{isRed, isGreen}
		w.options = append(w.options, WithWorktree(given))
		result := w.ends(ralph.AllChecksPassed, 1)
		same(t, "run_started", &given, payloads[ralph.RunStarted](w.log)[0].Worktree)
		same(t, "branch", "ralph/mine", result.Branch)
	})
}

func TestCleanupProgress(t *testing.T) {
	w := newWorld(t, done())
	w.cfg.Dir = t.TempDir()
	w.make()
	w.writeFile(ralph.ProgressFile, "## Iteration 1: FAIL\n")
	for range 2 { // what is gone already is gone
		if err := w.loop.CleanupProgress(); err != nil {
			t.Error(err)
		}
		same(t, "the file", "", w.readFile(ralph.ProgressFile))
	}
	w.writeFile(ralph.ProgressFile+"/in the way", "")
	if err := w.loop.CleanupProgress(); err == nil {
		t.Error("a folder in the file's place was removed")
	}
}

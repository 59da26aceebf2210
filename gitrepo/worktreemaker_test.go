package gitrepo_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
	"github.com/ralphloop/ralph/loop"
)

// A program that embeds the loop asks for a worktree, and gets one whose files are seen, gone on
// with and removed.
func TestALoopInAWorktreeOfItsOwn(t *testing.T) {
	w := gittest.NewRepo(t)
	w.At("app")
	w.Write("app/main", "one\n")
	w.Commit()
	maker := gitrepo.WorktreeMaker{Repo: w.At("app").Find(), Folder: filepath.Join(gittest.NewFolder(t).Dir, "trees")}
	var dir string
	checks := ralph.CheckFuncs{"written": func(context.Context) error {
		_, err := os.Stat(filepath.Join(dir, "made"))
		return err
	}}
	var events []ralph.Event
	loop, err := loop.New(
		loop.Config{
			Task:        "write made",
			Checks:      []string{"written"},
			UseWorktree: true,
			Agent: ralph.AgentFunc(func(context.Context, string) (string, error) {
				return "<promise>COMPLETE</promise>", os.WriteFile(filepath.Join(dir, "made"), []byte("x"), 0o600)
			}),
		},
		loop.WithChecker(checks),
		loop.WithWorktrees(maker),
		loop.WithObserver(func(e ralph.Event) {
			events = append(events, e)
			if started, ok := e.Data.(ralph.RunStarted); ok {
				dir = started.Workspace
			}
		}),
	)
	w.Must(err)
	result, err := loop.Run(t.Context())
	w.Must(err)
	if !result.Success || result.Branch != "ralph/"+loop.ID() || result.WorktreePath != dir ||
		filepath.Base(dir) != "app" {
		t.Errorf("result %+v in %s", result, dir)
	}
	if _, err := os.Stat(w.Path("app/made")); err == nil {
		t.Error("the main tree was written to")
	}
	known := ralph.Worktree{Path: result.WorktreePath, Branch: result.Branch}
	w.Must(os.RemoveAll(filepath.Dir(dir)))
	tree, err := maker.Open(t.Context(), known)
	w.Must(err)
	if state := w.Fingerprint(tree, ralph.TreeInput{}); !state.Known || state.Dirty != 0 {
		t.Errorf("the worktree, made again, looks like %+v", state)
	}
	if err := os.WriteFile(filepath.Join(dir, "more"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, refused := errors.AsType[*gitrepo.Problem](loop.CleanupWorktree(t.Context())); !refused {
		t.Error("a worktree with changes in it was removed")
	}
	w.Must(os.Remove(filepath.Join(dir, "more")))
	w.Must(loop.CleanupWorktree(t.Context()))
	if _, err := os.Stat(dir); err == nil {
		t.Error("the worktree is still there")
	}
}

package loop

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/ralphloop/ralph"
)

// enterWorktree moves the run into a worktree of its own, where Config asks for one.
func (l *Loop) enterWorktree(ctx context.Context) error {
	if !l.run.cfg.UseWorktree || l.run.about.Worktree != nil {
		return nil
	}
	if known := l.run.state.Started.Worktree; known != nil {
		tree, err := l.worktrees.Open(ctx, *known)
		if err != nil {
			return fmt.Errorf("open worktree: %w", err)
		}
		l.run.cfg.Dir, l.tree.store, l.run.about.Worktree = known.Path, tree, known
		return nil
	}
	made, tree, err := l.worktrees.Add(ctx, "ralph/"+l.run.id)
	if err != nil {
		return fmt.Errorf("make worktree: %w", err)
	}
	l.run.cfg.Dir, l.tree.store, l.run.about.Worktree = made.Path, tree, &made
	return nil
}

// CleanupWorktree removes the worktree of the run and its branch, if the work in it is merged.
func (l *Loop) CleanupWorktree(ctx context.Context) error {
	if l.run.about.Worktree == nil || l.worktrees == nil {
		return errors.New("clean up worktree: the run had none")
	}
	if err := l.worktrees.Remove(ctx, *l.run.about.Worktree); err != nil {
		return fmt.Errorf("clean up worktree: %w", err)
	}
	return nil
}

// CleanupProgress removes the view of the run from its workspace.
func (l *Loop) CleanupProgress() error {
	root, err := os.OpenRoot(l.run.cfg.Dir)
	if err != nil {
		return fmt.Errorf("clean up progress: %w", err)
	}
	defer root.Close()
	if err := root.Remove(ralph.ProgressFile); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("clean up progress: %w", err)
	}
	return nil
}

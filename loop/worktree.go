package loop

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/ralphloop/ralph"
)

// enterWorktree moves the run into a new worktree if Config asks for one, and reports whether it
// made it.
func (l *Loop) enterWorktree(ctx context.Context) (made bool, err error) {
	if !l.run.cfg.UseWorktree || l.run.about.Worktree != nil {
		return false, nil
	}
	var worktree ralph.Worktree
	var tree ralph.Tree
	if known := l.run.state.Started.Worktree; known != nil {
		worktree = *known
		if tree, err = l.worktrees.Open(ctx, worktree); err != nil {
			return false, fmt.Errorf("open worktree: %w", err)
		}
	} else {
		if worktree, tree, err = l.worktrees.Add(ctx, "ralph/"+l.run.id); err != nil {
			return false, fmt.Errorf("make worktree: %w", err)
		}
		made = true
	}
	l.run.cfg.Dir, l.tree.store, l.run.about.Worktree = worktree.Path, tree, &worktree
	return made, nil
}

// CleanupWorktree removes the worktree of the run and its branch, if its work is merged.
func (l *Loop) CleanupWorktree(ctx context.Context) error {
	if l.run.about.Worktree == nil || l.worktrees == nil {
		return errors.New("clean up worktree: the run has no worktree")
	}
	if err := l.worktrees.Remove(ctx, *l.run.about.Worktree); err != nil {
		return fmt.Errorf("clean up worktree: %w", err)
	}
	return nil
}

// CleanupProgress removes the run's progress file from its workspace.
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

package gitrepo

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/ralphloop/ralph"
)

// WorktreeMaker makes the worktree that a [ralph.Config] asks for with UseWorktree. It
// implements [ralph.Worktrees].
type WorktreeMaker struct {
	Repo   *Repo
	Folder string // where worktrees go: outside of the repository
}

var _ ralph.Worktrees = WorktreeMaker{}

// Add makes a worktree on a new branch, ralph/….
func (m WorktreeMaker) Add(ctx context.Context, branch string) (ralph.Worktree, ralph.Tree, error) {
	name := strings.ReplaceAll(strings.TrimPrefix(branch, ourBranches), "/", "-")
	made, _, err := m.Repo.AddWorktree(ctx, WorktreeInput{Path: filepath.Join(m.Folder, name), Branch: branch})
	if err != nil {
		return ralph.Worktree{}, nil, err
	}
	known := ralph.Worktree{Path: made.Dir(), Branch: made.Branch, Base: made.Base}
	tree, err := m.tree(ctx, known)
	return known, tree, err
}

// Open makes sure that the worktree is there, and sees its files.
func (m WorktreeMaker) Open(ctx context.Context, w ralph.Worktree) (ralph.Tree, error) {
	if _, _, err := m.Repo.ReopenWorktree(ctx, m.known(w)); err != nil {
		return nil, err
	}
	return m.tree(ctx, w)
}

// Remove removes the worktree and its branch, if its work is merged.
func (m WorktreeMaker) Remove(ctx context.Context, w ralph.Worktree) error {
	return m.Repo.RemoveWorktree(ctx, m.known(w), RemoveMerged)
}

// known is the worktree whose workspace is w.Path.
func (m WorktreeMaker) known(w ralph.Worktree) Worktree {
	path := w.Path
	if below := strings.TrimSuffix(m.Repo.prefix, "/"); below != "" {
		path = strings.TrimSuffix(path, string(filepath.Separator)+filepath.FromSlash(below))
	}
	return Worktree{Path: path, Branch: w.Branch, Base: w.Base}
}

func (m WorktreeMaker) tree(ctx context.Context, w ralph.Worktree) (ralph.Tree, error) {
	repo, _, err := m.Repo.git.Find(ctx, w.Path)
	return repo, err
}

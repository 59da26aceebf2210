package workspace

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/snapshot"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/text"
)

// Restored is the result of a restore.
type Restored = snapshot.Restored

// RestoreInput says what to restore, and where.
type RestoreInput = snapshot.RestoreInput

// SnapshotDiff returns the patch between two snapshots, up to about limit bytes.
func SnapshotDiff(ctx context.Context, folder, from, to string, env config.Env) (patch string, cut bool, err error) {
	const limit = 64 << 20
	snapshots, err := snapshot.Open(gitrepo.Git{Env: env.Environ}, folder)
	if err != nil {
		return "", false, Refusal(err)
	}
	patch, cut, err = snapshots.Diff(ctx, from, to, limit)
	return patch, cut, Refusal(err)
}

// SnapshotFiles lists the files of a snapshot.
func SnapshotFiles(ctx context.Context, folder, id string, env config.Env) ([]string, error) {
	snapshots, err := snapshot.Open(gitrepo.Git{Env: env.Environ}, folder)
	if err != nil {
		return nil, Refusal(err)
	}
	files, err := snapshots.Files(ctx, id)
	return files, Refusal(err)
}

// Restore restores a snapshot. It needs no repository in the workspace: an agent may have deleted
// it.
func Restore(ctx context.Context, folder string, in RestoreInput, env config.Env) (Restored, error) {
	keeper, err := snapshot.Reopen(gitrepo.Git{Env: env.Environ}, folder)
	if err != nil {
		return Restored{}, Refusal(err)
	}
	done, err := keeper.Restore(ctx, in)
	return done, Refusal(err)
}

// MergeResult is the result of a merge.
type MergeResult = gitrepo.MergeResult

// MergeAlready is the outcome of a merge with nothing to merge.
const MergeAlready = gitrepo.MergeAlready

// Merge merges a run's branch into the branch that is checked out in the workspace.
func (w Workspace) Merge(ctx context.Context, from ralph.Worktree) (MergeResult, error) {
	if w.Repo == nil {
		return MergeResult{}, &config.UsageError{Msg: fmt.Sprintf("%s is not in a git repository", w.Dir)}
	}
	strayed, err := w.Repo.Worktrees().Strayed(ctx, gitrepo.Worktree{Path: from.Path, Branch: from.Branch})
	if err == nil && strayed != nil {
		err = strayed
	}
	if err != nil {
		return MergeResult{}, Refusal(err)
	}
	result, err := w.Repo.Merge(ctx, from.Branch)
	return result, Refusal(err)
}

// Leftover is a worktree or a branch of an earlier run.
type Leftover struct {
	Path    string `json:"path"`
	Branch  string `json:"branch"`
	Removed bool   `json:"removed"`
	Why     string `json:"why"` // why it was kept or removed
}

// Clean removes the worktrees and branches of runs whose work is merged, or all of them by force.
// It keeps those of other workspaces of the repository: only this one's lock is held.
func (w Workspace) Clean(ctx context.Context, folder string, how gitrepo.Removal) ([]Leftover, error) {
	if w.Repo == nil {
		return nil, nil
	}
	worktrees, err := w.Repo.Worktrees().List(ctx, folder)
	if err != nil {
		return nil, err
	}
	var left []Leftover
	for _, state := range worktrees {
		l := Leftover{Path: state.Path, Branch: state.Branch, Why: "merged"}
		ours := state.Path == "" || LiesIn(folder, state.Path)
		switch {
		case !ours: // a run may be using it
			l.Why = "it belongs to another workspace; run ralph clean there"
		case !state.Removable():
			l.Why = whyKept(state)
		}
		if ours && (state.Removable() || how == gitrepo.RemoveAnyway) {
			if err := w.Repo.Worktrees().Remove(ctx, state.Worktree, how); err != nil {
				l.Why = Refusal(err).Error()
			} else {
				l.Removed = true
			}
		}
		left = append(left, l)
	}
	return left, nil
}

func whyKept(s gitrepo.WorktreeState) string {
	switch {
	case s.Locked:
		return "it is locked (git worktree unlock removes the lock)"
	case s.Trouble != "":
		return s.Trouble
	case s.Dirty > 0:
		return text.CountAre(s.Dirty, "change") + " not committed"
	}
	return text.CountAre(s.Ahead, "commit") + " not merged"
}

// RemoveWorktree removes a worktree that was created for a run, and its branch, if there is no work
// in it.
func (w Workspace) RemoveWorktree(ctx context.Context, made ralph.Worktree) error {
	return Refusal(
		w.Repo.Worktrees().
			Remove(ctx, gitrepo.Worktree{Path: made.Path, Branch: made.Branch, Base: made.Base}, gitrepo.RemoveMerged),
	)
}

// RemoveMerged and RemoveAnyway say what Clean may remove.
const (
	RemoveMerged = gitrepo.RemoveMerged
	RemoveAnyway = gitrepo.RemoveAnyway
)

// Reenter returns the workspace of a run that works in a worktree. If its folder is gone, Reenter
// recreates it from its branch and returns a warning.
func (w Workspace) Reenter(ctx context.Context, known ralph.Worktree, env config.Env) (Workspace, []string, error) {
	if w.Repo == nil {
		return w, nil, &config.UsageError{
			Msg: fmt.Sprintf("the run's worktree %s belongs to a repository that is gone", known.Path),
		}
	}
	opened, said, err := w.Repo.Worktrees().
		Reopen(ctx, gitrepo.Worktree{Path: known.Path, Branch: known.Branch, Base: known.Base})
	if err != nil {
		return w, nil, Refusal(err)
	}
	there, err := At(ctx, opened.Dir(), env)
	return there, said, err
}

// LiesIn reports whether a worktree belongs to the workspace whose worktrees are in folder. A
// repository may contain several workspaces.
func LiesIn(folder, path string) bool {
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	relative, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(relative)
}

// Refusal turns a problem that the user can resolve into a usage error.
func Refusal(err error) error {
	if problem, ok := errors.AsType[*gitrepo.Problem](err); ok {
		return &config.UsageError{Msg: problem.Text, Hint: problem.Hint}
	}
	if errors.Is(err, snapshot.ErrNoSnapshot) {
		return &config.UsageError{Msg: err.Error()}
	}
	return err
}

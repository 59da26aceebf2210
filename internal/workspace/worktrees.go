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
	snapshots, err := snapshot.Open(gitProgram(env), folder)
	if err != nil {
		return "", false, Refusal(err)
	}
	patch, cut, err = snapshots.Diff(ctx, from, to, limit)
	return patch, cut, Refusal(err)
}

// SnapshotChanges lists the files that differ between two snapshots in a folder of Keep.
func SnapshotChanges(ctx context.Context, folder, from, to string, env config.Env) ([]ralph.FileChange, error) {
	snapshots, err := snapshot.Open(gitProgram(env), folder)
	if err != nil {
		return nil, Refusal(err)
	}
	changes, err := snapshots.Changes(ctx, from, to)
	return changes, Refusal(err)
}

// SnapshotFiles lists the files of a snapshot.
func SnapshotFiles(ctx context.Context, folder, id string, env config.Env) ([]string, error) {
	snapshots, err := snapshot.Open(gitProgram(env), folder)
	if err != nil {
		return nil, Refusal(err)
	}
	files, err := snapshots.Files(ctx, id)
	return files, Refusal(err)
}

// Restore restores a snapshot. It needs no repository in the workspace: an agent may have deleted
// it.
func Restore(ctx context.Context, folder string, in RestoreInput, env config.Env) (Restored, error) {
	keeper, err := snapshot.Reopen(gitProgram(env), folder)
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

// Uncommitted counts the changes in a run's worktree that a merge of its branch would leave out.
func (w Workspace) Uncommitted(ctx context.Context, in ralph.Worktree) (int, error) {
	if w.Repo == nil {
		return 0, nil // Merge refuses
	}
	return w.Repo.Worktrees().Uncommitted(ctx, in.Branch)
}

// Leftover is a worktree of a run, or a branch without one: then Path is "".
type Leftover struct {
	Path   string
	Branch string
	Merged bool   // removing it loses nothing
	Locked bool   // by the user, with git worktree lock
	Ours   bool   // it is in the folder of this workspace; the runs of another one may use it
	Why    string // why it can be removed, or should not be
}

// Worktrees lists the worktrees and branches of runs. Those of this workspace are in folder.
func (w Workspace) Worktrees(ctx context.Context, folder string) ([]Leftover, error) {
	if w.Repo == nil {
		return nil, nil
	}
	worktrees, err := w.Repo.Worktrees().List(ctx, folder)
	if err != nil {
		return nil, err
	}
	return text.Mapped(worktrees, func(state gitrepo.WorktreeState) Leftover {
		l := Leftover{Path: state.Path, Branch: state.Branch, Merged: state.Removable(), Locked: state.Locked, Why: "merged"}
		l.Ours = state.Path == "" || LiesIn(folder, state.Path)
		switch {
		case !l.Ours:
			l.Why = "it belongs to another workspace; run ralph clean there"
		case !l.Merged:
			l.Why = whyKept(state)
		}
		return l
	}), nil
}

// RemoveLeftover removes a worktree and its branch, if it is merged or by force.
func (w Workspace) RemoveLeftover(ctx context.Context, l Leftover, how gitrepo.Removal) error {
	return Refusal(w.Repo.Worktrees().Remove(ctx, gitrepo.Worktree{Path: l.Path, Branch: l.Branch}, how))
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

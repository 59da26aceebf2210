package assembly

import (
	"context"
	"fmt"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/snapshot"
	"github.com/ralphloop/ralph/internal/config"
)

// Restored is what a restore did.
type Restored = snapshot.Restored

// RestoreInput says what to bring back, and where to.
type RestoreInput = snapshot.RestoreInput

// SnapshotDiff is the patch between two snapshots, up to about limit bytes.
func SnapshotDiff(ctx context.Context, folder, from, to string, env config.Env) (patch string, cut bool, err error) {
	const limit = 64 << 20
	snapshots, err := snapshot.Open(gitrepo.Git{Env: env.Environ}, folder)
	if err != nil {
		return "", false, refusal(err)
	}
	patch, cut, err = snapshots.Diff(ctx, from, to, limit)
	return patch, cut, refusal(err)
}

// Restore brings a snapshot back. It needs no repository in the workspace: an agent may have deleted it.
func Restore(ctx context.Context, folder string, in RestoreInput, env config.Env) (Restored, error) {
	keeper, err := snapshot.Reopen(gitrepo.Git{Env: env.Environ}, folder)
	if err != nil {
		return Restored{}, refusal(err)
	}
	done, err := keeper.Restore(ctx, in)
	return done, refusal(err)
}

// MergeResult is what became of a merge.
type MergeResult = gitrepo.MergeResult

// MergeAlready is the end of a merge that found nothing to bring home.
const MergeAlready = gitrepo.MergeAlready

// Merge brings the work on a run's branch into the branch that is checked out in the workspace.
func Merge(ctx context.Context, w Workspace, from ralph.Worktree) (MergeResult, error) {
	if w.repo == nil {
		return MergeResult{}, &config.UsageError{Msg: fmt.Sprintf("%s is in no git repository", w.Dir)}
	}
	strayed, err := w.repo.Strayed(ctx, gitrepo.Worktree{Path: from.Path, Branch: from.Branch})
	if err == nil && strayed != nil {
		err = strayed
	}
	if err != nil {
		return MergeResult{}, refusal(err)
	}
	result, err := w.repo.Merge(ctx, from.Branch)
	return result, refusal(err)
}

// Leftover is a worktree or a branch of an earlier run.
type Leftover struct {
	Path    string `json:"path"`
	Branch  string `json:"branch"`
	Removed bool   `json:"removed"`
	Why     string `json:"why"` // it was kept, or could be removed
}

// Clean removes the worktrees and branches of runs whose work is merged, or all of them by force. Those of other workspaces of the repository stay:
// only this one's lock is held.
func Clean(ctx context.Context, w Workspace, folder string, how gitrepo.Removal) ([]Leftover, error) {
	if w.repo == nil {
		return nil, nil
	}
	worktrees, err := w.repo.Worktrees(ctx, folder)
	if err != nil {
		return nil, err
	}
	var left []Leftover
	for _, state := range worktrees {
		l := Leftover{Path: state.Path, Branch: state.Branch, Why: "merged"}
		ours := state.Path == "" || liesIn(folder, state.Path)
		switch {
		case !ours: // a run may be at work in it
			l.Why = "it is of another workspace; clean that one"
		case !state.Removable():
			l.Why = whyKept(state)
		}
		if ours && (state.Removable() || how == gitrepo.RemoveAnyway) {
			if err := w.repo.RemoveWorktree(ctx, state.Worktree, how); err != nil {
				l.Why = refusal(err).Error()
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
		return "somebody locked it"
	case s.Trouble != "":
		return s.Trouble
	case s.Dirty > 0:
		return countOf(s.Dirty, "change") + " not committed"
	}
	return countOf(s.Ahead, "commit") + " not merged"
}

func countOf(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " is"
	}
	return fmt.Sprintf("%d %ss are", n, noun)
}

// RemoveMerged and RemoveAnyway say what Clean may remove.
const (
	RemoveMerged = gitrepo.RemoveMerged
	RemoveAnyway = gitrepo.RemoveAnyway
)

package loop

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// undoCheckWrites undoes what checks changed in the workspace itself, even if the run is ending. The changes
// are not the agent's work, and the evidence is about the tree before them. The undone files are kept in the
// run's folder, because a person may have written them meanwhile.
func (r *checkRunner) undoCheckWrites(ctx context.Context) {
	ctx, done := r.detached(ctx)
	defer done()
	before := r.tree.treeUnderCheck()
	left, ok := r.tree.fingerprint(ctx, ralph.TreeInput{BaseHead: r.tree.baseHead()})
	if !ok || !left.Known || !before.Known || left.Same(before) {
		return
	}
	names, err := r.tree.changedFiles(ctx, before.Snapshot, left.Snapshot)
	what := "a check that ran in the workspace itself changed files of it"
	if len(names) > 0 {
		what = "a check that ran in the workspace itself changed " + text.List(names)
	}
	if err == nil && r.undoFailedAt != r.iteration+1 { // a second try could take what somebody wrote meanwhile for the check's
		kept, put := r.undo(ctx, left, before, names)
		if put {
			if r.firstTime("check_wrote " + strings.Join(names, "\n")) {
				r.notice("check_wrote", what+"; that was put back"+kept)
			}
			return
		}
		r.undoFailedAt = r.iteration + 1
	}
	if r.firstTime("check_wrote") {
		r.warn("check_wrote", "%s", what+", which could not be put back")
	}
	if !r.state.History.Judging { // whether that matters otherwise is for whoever asks for evidence
		r.tree.acceptTree(ctx)
	}
}

// maxUndoneFiles is how many files are put back: what is put back is kept as it was found, and a check that writes so many should write somewhere else.
const maxUndoneFiles = 1000

// undo makes the workspace what it was, and reports whether it is, and where the files are that were found instead.
func (r *checkRunner) undo(ctx context.Context, now, before ralph.TreeState, names []string) (kept string, ok bool) {
	if !r.tree.canUndo(now) || !r.tree.canUndo(before) || len(names) > maxUndoneFiles {
		return "", false
	}
	folder, err := r.checkFolder(len(names))
	if err == nil && folder != "" {
		r.undoDirs++
		folder = filepath.Join(folder, fmt.Sprintf("wrote-%02d", r.undoDirs))
		kept = ", and is kept in " + folder
		err = r.tree.store.(ralph.Snapshots).Extract(ctx, now.Snapshot, folder, names)
	}
	if err != nil {
		return "", false
	}
	if _, err = r.tree.store.(ralph.Switcher).Switch(ctx, ralph.SwitchInput{From: now.Snapshot, To: before.Snapshot, Own: func(string) bool { return false }}); err != nil {
		return "", false
	}
	after, ok := r.tree.fingerprint(ctx, ralph.TreeInput{BaseHead: r.tree.baseHead()})
	return kept, ok && after.Same(before)
}

package loop

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// undoCheckWrites restores files that checks changed while they ran in the workspace itself, even
// if the run is ending. Those changes are not the agent's work, and evidence is about the tree
// before them. It keeps a copy, because people may have written files meanwhile.
func (r *checkRunner) undoCheckWrites(ctx context.Context) {
	ctx, done := r.detachedContext(ctx)
	defer done()
	before := r.tree.treeUnderCheck()
	left, ok := r.tree.fingerprint(ctx, ralph.TreeInput{BaseHead: r.tree.baseHead()})
	if !ok || !left.Known || !before.Known || left.Same(before) {
		return
	}
	names, err := r.tree.changedFiles(ctx, before.Snapshot, left.Snapshot)
	what := "a check that ran in the workspace itself changed files"
	if len(names) > 0 {
		what = "a check that ran in the workspace itself changed " + text.List(names)
	}
	// A second try could mistake what a person wrote meanwhile for the check's output.
	if err == nil && r.undoFailedAt != r.iteration+1 {
		kept, put := r.undo(ctx, left, before, names)
		if put {
			if r.firstTime("check_wrote " + strings.Join(names, "\n")) {
				r.notice("check_wrote", what+"; the changes were undone"+kept)
			}
			return
		}
		r.undoFailedAt = r.iteration + 1
	}
	if r.firstTime("check_wrote") {
		r.warn("check_wrote", "%s", what+", and the changes could not be undone")
	}
	// When judging, the caller decides whether it matters.
	if !r.state.History.Judging {
		r.tree.acceptTree(ctx)
	}
}

// maxUndoneFiles limits how many files are restored. Their found contents are kept, and a check
// that writes more files should write elsewhere.
const maxUndoneFiles = 1000

// undo restores the workspace. It reports whether that worked, and where it kept the files it
// replaced.
func (r *checkRunner) undo(ctx context.Context, now, before ralph.TreeState, names []string) (kept string, ok bool) {
	if !r.tree.canUndo(now) || !r.tree.canUndo(before) || len(names) > maxUndoneFiles {
		return "", false
	}
	folder, err := r.checkFolder(len(names))
	if err == nil && folder != "" {
		r.undoDirs++
		folder = filepath.Join(folder, fmt.Sprintf("wrote-%02d", r.undoDirs))
		kept = ", and are kept in " + folder
		err = r.tree.store.(ralph.Snapshots).Extract(ctx, now.Snapshot, folder, names)
	}
	if err != nil {
		return "", false
	}
	everything := ralph.SwitchInput{
		From: now.Snapshot,
		To:   before.Snapshot,
		Own:  func(string) bool { return false },
	}
	if _, err = r.tree.store.(ralph.Switcher).Switch(ctx, everything); err != nil {
		return "", false
	}
	after, ok := r.tree.fingerprint(ctx, ralph.TreeInput{BaseHead: r.tree.baseHead()})
	return kept, ok && after.Same(before)
}

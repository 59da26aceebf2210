package loop

import (
	"context"
	"path"
	"slices"
	"time"

	"github.com/ralphloop/ralph"
)

// lastChange returns when a file of the tree, or the content of one of its folders, was last changed. Files that are as
// they were when the iteration began count too: evidence may be about what they were in between. It is zero if there
// is no evidence that must be newer. If it is not known, evidence counts for nothing.
func (w *workspace) lastChange(ctx context.Context, tree ralph.TreeState) time.Time {
	h := w.state.History
	if !h.Judging || len(h.Now.Agent.Evidence) == 0 {
		return time.Time{}
	}
	copies, canList := w.store.(ralph.Snapshots)
	dater, canDate := w.examiner.(ralph.ChangeDater)
	if !canList || !canDate || h.Tree.Snapshot == "" || tree.Snapshot == "" {
		return time.Now()
	}
	before, err := copies.Files(ctx, h.Tree.Snapshot)
	now, alsoErr := copies.Files(ctx, tree.Snapshot)
	if err != nil || alsoErr != nil {
		return time.Now()
	}
	_, at := dater.LastChange(w.withFolders(slices.Concat(before, now)))
	return at
}

// withFolders returns the files and their folders, without those that the harness itself writes.
func (w *workspace) withFolders(files []string) (names []string) {
	known := map[string]bool{}
	for _, folder := range ownFolders {
		known[folder] = true
	}
	for _, name := range files {
		if w.isOwn(name) {
			continue
		}
		for ; !known[name]; name = path.Dir(name) {
			known[name] = true
			names = append(names, name)
		}
	}
	return names
}

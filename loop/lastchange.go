package loop

import (
	"context"
	"path"
	"slices"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
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

// changedMeanwhile names what changed since the checks of a claim began, although the files are the same again. Nothing
// ends the processes of a live session, so one of them could show the work to a check and to nothing else. Checks in
// the workspace itself write there; those in a copy write ignored files.
func (w *workspace) changedMeanwhile(ctx context.Context) []string {
	h := w.state.History
	ranIn := func(mode string) bool {
		return slices.ContainsFunc(h.Now.Checks, func(c ralph.CheckResult) bool { return c.Isolation == mode })
	}
	copies, canList := w.store.(ralph.Snapshots)
	dater, canDate := w.examiner.(ralph.ChangeDater)
	if w.checksBegan.IsZero() || !canList || !canDate || h.Now.Tree.Snapshot == "" || ranIn(ralph.IsolationInPlace) {
		return nil
	}
	names, err := copies.Files(ctx, h.Now.Tree.Snapshot)
	if watcher, ok := w.examiner.(ralph.IgnoredWatcher); ok && err == nil && !ranIn(ralph.IsolationCopy) {
		var shown []string
		shown, _, err = watcher.IgnoredFiles(ctx, h.Base, h.Now.Tree)
		names = slices.Concat(names, shown)
	}
	if err != nil {
		w.cannotLook(err)
		return nil
	}
	name, at := dater.LastChange(w.withFolders(names))
	if at.Before(w.checksBegan.Add(-judge.ClockStep)) {
		return nil
	}
	return []string{name}
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

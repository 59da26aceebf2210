package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/internal/textfile"
)

// workspace looks at the tree of files that the agent works on, and remembers what it saw.
type workspace struct {
	*journal
	store    ralph.Tree
	examiner ralph.Examiner
	changed  ralph.Tampering // what the agent under judgement did to files that matter to checks
}

func (w *workspace) baseHead() string {
	if w.iteration == 0 {
		return ""
	}
	return w.state.History.Base.Head
}

// treeUnderCheck is what the checks of this moment run on.
func (w *workspace) treeUnderCheck() ralph.TreeState {
	if w.state.History.Judging {
		return w.state.History.Now.Tree
	}
	return w.state.History.Tree
}

// compare records what became of the files that matter to checks. What is put back between two looks was never tampered with.
func (w *workspace) compare(ctx context.Context, now ralph.TreeState) {
	w.changed = ralph.Tampering{}
	base := w.state.History.Base
	if w.examiner == nil || ctx.Err() != nil || !now.Known && base.Snapshot == "" {
		return
	}
	found, err := w.examiner.Compare(ctx, base, now)
	if ctx.Err() != nil {
		return
	}
	if err != nil { // what cannot be compared may have been tampered with
		w.emit(ralph.EvTampered, ralph.FilesTampered{What: ralph.TamperedFiles, Details: []string{fmt.Sprintf("what became of them is not known: %v", err)}})
		return
	}
	w.changed = found
	for _, text := range found.OutsideFiles {
		w.warnOnce("surroundings_changed", text)
	}
	known := w.state.History.Now
	if len(found.Tampered)+len(found.Unseen)+len(known.Tampered)+len(known.Unseen) == 0 {
		return
	}
	names, lines := changeNames(found.Tampered)
	if !w.state.History.Judging && slices.Equal(lines, known.Tampered) && slices.Equal(found.Unseen, known.Unseen) {
		return
	}
	w.emit(ralph.EvTampered, ralph.FilesTampered{What: ralph.TamperedFiles, Files: names, Details: append([]string{}, lines...), Unseen: found.Unseen})
}

// withUserEdits adds to the state new snapshots of the base and of the last proven tree that include what the
// user changed while no agent was at work. Those changes are all differences from before, the snapshot of the
// tree as the harness left it. If the last iteration was cut before its tree was recorded, it is unknown who
// made the changes, and the state stays as it is.
func (w *workspace) withUserEdits(ctx context.Context, before string, now ralph.TreeState) ralph.TreeState {
	h := w.state.History
	copies, ok := w.store.(ralph.Snapshots)
	if !ok || w.iteration == 0 || h.Judging || h.TreeOf != h.Started || before == "" || now.Snapshot == "" || before == now.Snapshot || h.Base.Snapshot == "" {
		return now
	}
	base, err := copies.Join(ctx, h.Base.Snapshot, before, now.Snapshot)
	settled := now.Snapshot
	if err == nil && h.LastProvenTree != before {
		settled = ""
		if h.LastProvenTree != "" {
			settled, err = copies.Join(ctx, h.LastProvenTree, before, now.Snapshot)
		}
	}
	if err != nil {
		w.warn("base_unknown", "what you changed counts as the agent's: %v", err)
		return now
	}
	now.Base, now.LastProvenTree = base, settled
	return now
}

// checkFreshness hashes the tree once more: evidence is of the tree that was judged, or it is none. Where checks ran in place they may have changed it
// themselves; where nothing can be put back, what they added is no harm.
func (w *workspace) checkFreshness(ctx context.Context) {
	h := w.state.History
	if w.store == nil || w.examiner == nil || len(h.Now.Checks)+len(h.Now.Evaluations) == 0 || !h.Now.Tree.Known {
		return
	}
	tree, err := w.store.Fingerprint(ctx, ralph.TreeInput{BaseHead: h.Base.Head, Run: w.id, Iteration: w.iteration})
	if ctx.Err() != nil || err == nil && tree.Same(h.Now.Tree) {
		return
	}
	if err != nil { // what cannot be looked at may be anything
		tree = ralph.TreeState{}
	} else if w.ranInPlace() && !w.canUndo(h.Now.Tree) && w.onlyAdded(ctx, h.Now.Tree.Snapshot, tree.Snapshot) {
		return
	}
	tree.AfterChecks = true
	w.emit(ralph.EvTreeSnapshot, tree)
}

// baseText is a file that the agent before has changed as it was; false if it has not, or the file was empty.
func (w *workspace) baseText(ctx context.Context, name string) (string, bool) {
	if w.examiner == nil || !slices.Contains(w.state.Tampered, name) {
		return "", false
	}
	text, err := w.examiner.BaseText(ctx, w.state.History.Base, name)
	if err != nil || strings.TrimSpace(text) == "" {
		return "", false
	}
	return textfile.Clean(text), true
}

// snapshot records the tree as it is. What the user changed while no iteration ran joins the base.
func (w *workspace) snapshot(ctx context.Context, in ralph.TreeInput) {
	if w.state.Move != nil && ctx.Err() != nil { // the next process finds the tree on its way, and goes on
		return
	}
	if tree, ok := w.fingerprint(ctx, in); ok {
		w.emit(ralph.EvTreeSnapshot, w.withUserEdits(ctx, w.state.History.Tree.Snapshot, tree))
	}
}

// fingerprint hashes the tree and says what is missing from its copy.
func (w *workspace) fingerprint(ctx context.Context, in ralph.TreeInput) (ralph.TreeState, bool) {
	if w.store == nil {
		return ralph.TreeState{}, false
	}
	in.Run, in.Iteration = w.id, w.iteration
	tree, err := w.store.Fingerprint(ctx, in)
	if err != nil {
		if ctx.Err() == nil {
			w.warn("tree_unknown", "the workspace could not be hashed, so progress is not known: %v", err)
		}
		return ralph.TreeState{}, false
	}
	for _, left := range tree.Omitted {
		if w.firstTime(left) {
			w.warn("snapshot_incomplete", "%s", left)
		}
	}
	return tree, true
}

// whatChanged says what the run changed, as far as that can be told from what the user had changed before.
func (w *workspace) whatChanged(ctx context.Context) string {
	base, now := w.state.History.Base, w.state.History.Tree
	if h := w.state.History; h.Judging && h.Now.Tree.Known { // cut in the middle of its judgement
		now = h.Now.Tree
	}
	if tree, ok := w.store.(ralph.Snapshots); ok && base.Snapshot != "" && now.Snapshot != "" {
		if changed, err := tree.Between(ctx, base.Snapshot, now.Snapshot); err == nil {
			return changed
		}
	}
	tree, ok := w.store.(ralph.Changer)
	switch {
	case !ok:
		return ""
	case base.Known && now.Known && now.Same(base):
		return "no files changed"
	}
	changed, err := tree.Changed(ctx, base.Head)
	if err != nil {
		return ""
	}
	if base.Dirty > 0 {
		changed += fmt.Sprintf(" (with %s that had been changed before the run)", text.Count(base.Dirty, "file"))
	}
	return changed
}

// diff is what changed since the run began.
func (w *workspace) diff(ctx context.Context) (patch string, cut bool) {
	tree, ok := w.store.(ralph.Snapshots)
	base, now := w.state.History.Base.Snapshot, w.state.History.Tree.Snapshot
	if !ok || base == "" || now == "" || base == now || w.state.History.Started == 0 { // no agent has been here yet
		return "", false
	}
	patch, cut, err := tree.Diff(ctx, base, now, diffShown)
	if err != nil && ctx.Err() == nil {
		w.warn("diff_unknown", "what changed so far is not in the prompt: %v", err)
	}
	return patch, cut
}

func (w *workspace) changedFiles(ctx context.Context, from, to string) ([]string, error) {
	copies, ok := w.store.(ralph.Snapshots)
	if !ok {
		return nil, errors.New("copies cannot be compared here")
	}
	changes, err := copies.Changes(ctx, from, to)
	var names []string
	for _, c := range changes {
		names = append(names, c.Name)
	}
	return names, err
}

// acceptTree records the tree as the start of the next iteration. Changes do not join the base, because the
// agent's code may have written them.
func (w *workspace) acceptTree(ctx context.Context) {
	ctx, done := w.detached(ctx)
	defer done()
	if tree, ok := w.fingerprint(ctx, ralph.TreeInput{BaseHead: w.baseHead()}); ok && !tree.Same(w.state.History.Tree) {
		w.emit(ralph.EvTreeSnapshot, tree)
	}
}

func (w *workspace) canUndo(tree ralph.TreeState) bool {
	_, switches := w.store.(ralph.Switcher)
	_, copies := w.store.(ralph.Snapshots)
	return switches && copies && tree.Snapshot != ""
}

// onlyAdded reports whether one copy holds all that is in another, as it is there. Without copies nobody can tell.
func (w *workspace) onlyAdded(ctx context.Context, from, to string) bool {
	copies, ok := w.store.(ralph.Snapshots)
	if !ok || from == "" || to == "" {
		return true
	}
	changes, err := copies.Changes(ctx, from, to)
	return err == nil && !slices.ContainsFunc(changes, func(c ralph.FileChange) bool { return c.Kind != ralph.FileAdded })
}

// ranInPlace reports whether a check of this iteration ran in the workspace itself, and may have changed it.
func (w *workspace) ranInPlace() bool {
	return slices.ContainsFunc(w.state.History.Now.Checks, func(c ralph.CheckResult) bool { return c.Isolation == ralph.IsolationInPlace })
}

func changeNames(changes []ralph.FileChange) (names, lines []string) {
	for _, c := range changes {
		names, lines = append(names, c.Name), append(lines, fmt.Sprint(c))
	}
	return names, lines
}

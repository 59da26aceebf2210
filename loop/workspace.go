package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/internal/textfile"
	"github.com/ralphloop/ralph/judge"
)

// workspace examines the tree of files that the agent works on, and remembers what it found.
type workspace struct {
	*journal
	store    ralph.Tree
	examiner ralph.Examiner
	changed  ralph.Tampering        // how the judged agent changed files that matter to checks
	isOwn    func(name string) bool // reports files of the harness and the task list
	isGoal   func(name string) bool // reports files that say what the run works on
	trusted  TrustedTree            // nil without one
}

func (w *workspace) baseHead() string {
	if w.iteration == 0 {
		return ""
	}
	return w.state.History.Base.Head
}

// lacksBase returns the verdict if no agent may start, because something is protected, or an agent set the goal, and
// there is no snapshot of the base.
func (w *workspace) lacksBase(ctx context.Context) *ralph.Verdict {
	h := w.state.History
	if h.Started == 0 && w.storage != nil {
		v := w.storageVerdict()
		return &v
	}
	if _, keeps := w.store.(ralph.Snapshots); !keeps || h.Started > 0 || h.Base.Snapshot != "" ||
		len(w.policy.Protects) == 0 && w.state.Started.Commit == "" || ctx.Err() != nil {
		return nil
	}
	v := judge.Abort(h.Breaker, ralph.IOFailed, "%s", judge.NoBase)
	return &v
}

// treeUnderCheck returns the tree that checks currently run on, unless they run at the base.
func (w *workspace) treeUnderCheck() ralph.TreeState {
	if w.state.History.Judging {
		return w.state.History.Now.Tree
	}
	return w.state.History.Tree
}

// compare records changes to files that matter to checks. A file that was restored between two
// comparisons does not count as tampered with.
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
	if err != nil { // the agent may have changed them, or not
		w.cannotLook(err)
		return
	}
	w.changed = found
	for _, text := range found.OutsideFiles {
		w.warnOnce("surroundings_changed", text)
	}
	known := w.state.History.Now
	if len(found.Tampered)+len(found.Unseen)+len(known.Tampered)+len(known.Unseen) == 0 && !outsideMatters(found, known) {
		return
	}
	names, lines := changeNames(found.Tampered)
	if !w.state.History.Judging && slices.Equal(lines, known.Tampered) && slices.Equal(found.Unseen, known.Unseen) &&
		!outsideDiffers(found, known) {
		return
	}
	w.emit(ralph.EvTampered, ralph.FilesTampered{
		What:    ralph.TamperedFiles,
		Files:   names,
		Details: append([]string{}, lines...),
		Unseen:  found.Unseen,

		Environment:  found.Environment[:min(len(found.Environment), maxMovedFiles)],
		Dependencies: found.Dependencies,
	})
}

// cannotLook ends the run because the tree cannot be compared. A resume judges what the agent left.
func (w *workspace) cannotLook(err error) {
	w.storageFailed(fmt.Errorf("%w: Ralph cannot tell what changed in the workspace: %w", ralph.ErrIO, err))
}

// testsChanged reports whether tests of an earlier tree were changed or removed since.
func (w *workspace) testsChanged(ctx context.Context, before, now ralph.TreeState) bool {
	if w.examiner == nil {
		return false
	}
	found, err := w.examiner.Compare(ctx, before, now)
	if err != nil && ctx.Err() == nil {
		w.cannotLook(err)
	}
	return len(found.Tests)+len(found.Tampered) > 0
}

// movedDuringChecks reports whether the tree changed while checks ran. Then the tree as it is now is judged. A new goal
// is the user's; other changes are neither the user's nor reverted.
func (w *workspace) movedDuringChecks(ctx context.Context) bool {
	tree, changed := w.sinceJudged(ctx)
	if !changed || !tree.Known {
		return false
	}
	w.notice("files_moved", movedText(tree.Moved)+" while checks ran, so the checks run once more")
	tree.Again, tree.Touched = true, w.lastChange(ctx, tree)
	w.emit(ralph.EvTreeSnapshot, w.withGoalEdits(ctx, w.state.History.Now.Tree.Snapshot, tree))
	return true
}

// dropMovedBaseline forgets how the checks ended before any work, if a live session changed files meanwhile. They run
// on the files of the base when a claim is judged.
func (w *workspace) dropMovedBaseline(ctx context.Context) {
	h := w.state.History
	isBroken := func(c ralph.CheckResult) bool { return c.Broken }
	tree, ok := w.fingerprint(ctx, ralph.TreeInput{})
	if !ok || !tree.Known || tree.Same(h.Tree) || len(h.Baseline) == 0 || slices.ContainsFunc(h.Baseline, isBroken) {
		return
	}
	w.notice("files_moved", "files changed while the checks ran for the first time, so the results do not count; the "+
		"checks run on the earlier files when the work is judged")
	tree.Again = true
	w.emit(ralph.EvTreeSnapshot, tree)
}

// takeOver makes changes of files the user's own: they join the base and the last proven tree.
func (w *workspace) takeOver(ctx context.Context, files []string) error {
	files, err := w.acceptOutside(files)
	if err != nil || len(files) == 0 {
		return err
	}
	copies, ok := w.store.(ralph.Snapshots)
	if !ok {
		return errors.New("this run keeps no snapshots")
	}
	h := w.state.History
	tree, ok := w.fingerprint(ctx, ralph.TreeInput{BaseHead: w.baseHead()})
	if !ok || h.Base.Snapshot == "" || tree.Snapshot == "" {
		return errors.New("there is no snapshot to compare them with")
	}
	if !h.Judging {
		tree = w.withEdits(ctx, w.userEdits(tree), tree)
	}
	files, err = w.acceptedFiles(ctx, files, tree)
	if err != nil {
		return err
	}
	base, err := copies.WithFiles(ctx, cmp.Or(tree.Base, h.Base.Snapshot), tree.Snapshot, files)
	if settled := cmp.Or(tree.LastProvenTree, h.LastProvenTree); err == nil && settled != "" {
		tree.LastProvenTree, err = copies.WithFiles(ctx, settled, tree.Snapshot, files)
	}
	if err != nil {
		return err
	}
	tree.Base, tree.TestsByUser = base, true
	w.emit(ralph.EvTreeSnapshot, tree)
	return nil
}

// acceptedFiles returns the files of the names that a person accepted: those themselves, and those in folders.
func (w *workspace) acceptedFiles(ctx context.Context, names []string, now ralph.TreeState) ([]string, error) {
	changed, err := w.changedFiles(ctx, w.state.History.Base.Snapshot, now.Snapshot)
	inside := slices.DeleteFunc(changed, func(name string) bool { return !judge.IsAccepted(names, name) })
	return append(inside, names...), err
}

// acceptOutside takes over changes of configuration files that are not part of the tree, and returns the other files.
func (w *workspace) acceptOutside(files []string) (inTree []string, err error) {
	accepter, ok := w.examiner.(ralph.OutsideAccepter)
	if !ok {
		return files, nil
	}
	known, err := accepter.AcceptOutside(files)
	return slices.DeleteFunc(slices.Clone(files), func(name string) bool {
		return slices.Contains(known, name) || filepath.IsAbs(name)
	}), err
}

// unchangedSince reports whether no file differs from an earlier tree, apart from files of the harness. If
// that is not known, it reports false.
func (w *workspace) unchangedSince(ctx context.Context, base ralph.TreeState, own func(name string) bool) bool {
	now := w.treeUnderCheck()
	if base.Snapshot == "" || now.Snapshot == "" {
		return base.Known && now.Known && now.Same(base)
	}
	names, err := w.changedFiles(ctx, base.Snapshot, now.Snapshot)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(names, func(name string) bool { return !own(name) })
}

func movedText(names []string) string {
	if len(names) == 0 {
		return "files changed"
	}
	return text.List(names) + " changed"
}

// checkFreshness hashes the tree once more: evidence counts only for the tree that was judged.
func (w *workspace) checkFreshness(ctx context.Context) {
	if tree, changed := w.sinceJudged(ctx); changed {
		tree.AfterChecks = true
		w.emit(ralph.EvTreeSnapshot, tree)
	}
}

// sinceJudged returns the tree as it is now, with the files that changed since it was judged, and
// whether it changed.
func (w *workspace) sinceJudged(ctx context.Context) (ralph.TreeState, bool) {
	h := w.state.History
	if w.store == nil || w.examiner == nil || len(h.Now.Checks)+len(h.Now.Evaluations) == 0 || !h.Now.Tree.Known ||
		w.storage != nil {
		return ralph.TreeState{}, false
	}
	in := ralph.TreeInput{BaseHead: h.Base.Head, Claimed: true, Run: w.id, Iteration: w.iteration}
	tree, err := w.store.Fingerprint(ctx, in)
	switch {
	case ctx.Err() != nil:
		return ralph.TreeState{}, false
	case err == nil && tree.Same(h.Now.Tree):
		return tree, false
	case err != nil:
		w.cannotLook(err)
		return ralph.TreeState{}, false
	}
	if names, err := w.changedFiles(ctx, h.Now.Tree.Snapshot, tree.Snapshot); err == nil {
		tree.Moved = names[:min(len(names), maxMovedFiles)]
	}
	findClone(ctx, w, &tree)
	return tree, true
}

// maxMovedFiles is how many files the log names that changed while checks ran.
const maxMovedFiles = 20

// baseText returns the original text of a file that the previous agent changed. It reports false if
// the agent did not change it or the file was empty.
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

// snapshot records the tree as it is. What the user changed while no agent worked joins the base.
func (w *workspace) snapshot(ctx context.Context, in ralph.TreeInput) {
	if w.state.Move != nil && ctx.Err() != nil { // the next process finds the unfinished move and completes it
		return
	}
	tree, ok := w.fingerprint(ctx, in)
	if !ok {
		return
	}
	tree.Touched = w.lastChange(ctx, tree)
	if !w.state.History.Judging {
		tree = w.withEdits(ctx, w.userEdits(tree), tree)
	}
	w.emit(ralph.EvTreeSnapshot, tree)
}

// fingerprint hashes the tree and warns about files missing from its snapshot.
func (w *workspace) fingerprint(ctx context.Context, in ralph.TreeInput) (ralph.TreeState, bool) {
	if w.store == nil {
		return ralph.TreeState{}, false
	}
	in.Run, in.Iteration = w.id, w.iteration
	tree, err := w.store.Fingerprint(ctx, in)
	switch {
	case ctx.Err() != nil && err != nil:
		return ralph.TreeState{}, false
	case err == nil && tree.Snapshot == "" && w.joinsEdits():
		w.cannotLook(errors.New(strings.Join(tree.Omitted, "; ")))
		return ralph.TreeState{}, false
	case err != nil && w.joinsEdits():
		w.cannotLook(err)
		return ralph.TreeState{}, false
	case err != nil:
		w.warn("tree_unknown", "cannot hash the workspace, so progress is unknown: %v", err)
		return ralph.TreeState{}, false
	}
	for _, left := range tree.Omitted {
		if w.firstTime(left) {
			w.warn("snapshot_incomplete", "%s", left)
		}
	}
	if in.Claimed {
		findClone(ctx, w, &tree)
	}
	tree.Uncommitted = slices.DeleteFunc(tree.Uncommitted, func(file string) bool {
		_, name, _ := strings.Cut(file, " ")
		return name == w.state.Started.TaskFile
	})
	return tree, true
}

// findClone finds out what a clone would have of a claimed tree. If git cannot commit it, that is nothing of the work.
func findClone(ctx context.Context, w *workspace, tree *ralph.TreeState) {
	base := w.state.History.Base
	taker, ok := w.store.(ralph.CloneTaker)
	if !ok || base.Snapshot == "" || tree.Snapshot == "" || ctx.Err() != nil {
		return
	}
	id, left, err := taker.AsCloned(ctx, base, tree.Snapshot)
	switch {
	case ctx.Err() != nil:
		return
	case errors.Is(err, ralph.ErrIO):
		w.cannotLook(err)
		return
	case err != nil:
		id, left = base.Snapshot, []string{"git cannot commit the workspace, so nothing of the work counts: " + err.Error()}
	}
	if id != tree.Snapshot {
		tree.Cloned = id
	}
	for _, line := range left {
		w.warnOnce("not_in_a_clone", line)
	}
}

// joinsEdits reports whether changes between iterations join the base as the user's own.
func (w *workspace) joinsEdits() bool {
	_, copies := w.store.(ralph.Snapshots)
	return copies && w.state.History.Base.Snapshot != ""
}

// acceptTree accepts the tree as checks and hooks left it. The differences do not join the base, because an agent's
// code may have written them, apart from those of the goal. They stay, and the user is told.
func (w *workspace) acceptTree(ctx context.Context) (changed bool) {
	ctx, done := w.detachedContext(ctx)
	defer done()
	before := w.state.History.Tree
	tree, ok := w.fingerprint(ctx, ralph.TreeInput{BaseHead: w.baseHead()})
	if !ok || tree.Same(before) {
		return false
	}
	names, _ := w.changedFiles(ctx, before.Snapshot, tree.Snapshot)
	tree.Moved = names[:min(len(names), maxMovedFiles)]
	if w.firstTime("check_wrote " + strings.Join(names, "\n")) {
		w.notice("check_wrote", movedText(names)+" while checks or hooks ran; the changes stay, and are judged with the "+
			"rest of the tree")
	}
	if w.iteration == 0 && w.state.History.Inherits {
		tree.Base = w.state.History.Base.Snapshot
	} else if w.iteration > 0 {
		tree = w.withGoalEdits(ctx, before.Snapshot, tree)
	}
	w.emit(ralph.EvTreeSnapshot, tree)
	return true
}

// acceptJudged accepts the tree as the judgement left it: what changed since the agent ended is not the user's, apart
// from the goal. It reports whether anything changed.
func (w *workspace) acceptJudged(ctx context.Context) (changed bool) {
	now := w.state.History.Now
	return (w.ranInPlace() || w.joinsEdits() && len(now.Checks)+len(now.Evaluations) > 0) && w.acceptTree(ctx)
}

// ranInPlace reports whether a check of this iteration ran in the workspace itself and may have
// changed it.
func (w *workspace) ranInPlace() bool {
	return slices.ContainsFunc(w.state.History.Now.Checks, func(c ralph.CheckResult) bool {
		return c.Isolation == ralph.IsolationInPlace
	})
}

package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

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
	between  *ralph.Origin          // of a run that worked here after this one stopped, and did not complete

	checksBegan time.Time // when those of the current claim of a live session began
}

func (w *workspace) baseHead() string {
	if w.iteration == 0 {
		return ""
	}
	return w.state.History.Base.Head
}

// lacksBase returns the verdict if no agent may start, because what its work is compared with is not known: something
// is protected and there is no snapshot of the base, or the last commit must be known.
func (w *workspace) lacksBase(ctx context.Context) *ralph.Verdict {
	h := w.state.History
	if h.Started == 0 && w.storage != nil {
		v := w.storageVerdict()
		return &v
	}
	if h.Started == 0 && w.lacksOrigin() && ctx.Err() == nil {
		v := judge.Abort(h.Breaker, ralph.IOFailed, "the files were not compared with the last commit")
		return &v
	}
	if _, keeps := w.store.(ralph.Snapshots); !keeps || h.Started > 0 || h.Base.Snapshot != "" ||
		len(w.policy.Protects) == 0 || ctx.Err() != nil {
		return nil
	}
	v := judge.Abort(h.Breaker, ralph.IOFailed, "%s", judge.NoBase)
	return &v
}

// treeUnderCheck returns the tree that checks currently run on.
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

// withUserEdits adds to the base, and to the last proven tree, what the user changed while no agent
// was working. That is everything that differs from before, the tree as the harness left it. After
// an iteration whose end was not recorded, it is unknown who made the changes. A live session may always
// work: there, every change is the agent's.
func (w *workspace) withUserEdits(ctx context.Context, before string, now ralph.TreeState) ralph.TreeState {
	h := w.state.History
	copies, ok := w.store.(ralph.Snapshots)
	edits := userEdits{copies: copies, before: before, now: now.Snapshot}
	if other := w.between; other != nil { // what its agent left is not the user's
		edits.before, edits.committed, w.between = other.Left, other.Committed, nil
	}
	if !ok || w.state.Started.InSession || w.iteration == 0 || h.Judging || h.TreeOf != h.Started || edits.before == "" ||
		now.Snapshot == "" || before == now.Snapshot || h.Base.Snapshot == "" {
		return now
	}
	base, err := edits.join(ctx, h.Base.Snapshot)
	settled := now.Snapshot
	if err == nil && (h.LastProvenTree != before || edits.before != before) {
		settled, err = edits.join(ctx, h.LastProvenTree)
	}
	origin := ""
	if err == nil {
		origin, err = edits.join(ctx, w.originSnapshot())
	}
	if err != nil {
		w.warn("base_unknown", "your changes count as the agent's: %v", err)
		return now
	}
	now.Base, now.LastProvenTree, now.Origin = base, settled, origin
	now.TestsByUser = len(h.Evidence) > 0 && w.testsChanged(ctx, ralph.TreeState{Known: true, Snapshot: edits.before}, now)
	return now
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

// movedDuringChecks reports whether the tree changed while checks ran. Then the tree as it is now is
// judged: what changed is neither the user's nor reverted.
func (w *workspace) movedDuringChecks(ctx context.Context) bool {
	tree, changed := w.sinceJudged(ctx)
	if !changed || !tree.Known {
		return false
	}
	w.notice("files_moved", movedText(tree.Moved)+" while checks ran, so the checks run once more")
	tree.Again, tree.Touched = true, w.lastChange(ctx, tree)
	w.emit(ralph.EvTreeSnapshot, tree)
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

// keepRefused makes files that an earlier run refused part of the base as they were then. What was refused
// must not be accepted only because a new run begins.
func (w *workspace) keepRefused(ctx context.Context) {
	refused := w.state.Started.Refused
	copies, ok := w.store.(ralph.Snapshots)
	tree := w.state.History.Base
	if refused == nil || len(refused.Files) == 0 || !ok || tree.Snapshot == "" || ctx.Err() != nil {
		return
	}
	isList := func(name string) bool { return slices.Contains(refused.Lists, name) }
	files := slices.DeleteFunc(slices.Clone(refused.Files), isList) // a list that this run does not use shows no work
	base, err := copies.WithFiles(ctx, tree.Snapshot, refused.Base, files)
	if err != nil {
		w.storageFailed(fmt.Errorf("%w: the files that run %s refused cannot be compared: %w; accept them with: %s",
			ralph.ErrIO, refused.Run, err, text.AcceptFiles(refused.Files)))
		return
	}
	if base == tree.Snapshot {
		return
	}
	w.notice("refused_earlier", refusedText(refused, files))
	tree.Base = base
	w.emit(ralph.EvTreeSnapshot, tree)
}

// refusedText says at the start of a run which files it compares with an earlier version, and what lifts that.
func refusedText(refused *ralph.RefusedEarlier, files []string) string {
	names, command, commit := text.List(files), text.AcceptFiles(files), "or commit them"
	if refused.Dead { // until this run has seen the last commit, it may be the agent's
		commit = "or commit them after this run"
	}
	switch {
	case refused.Unjudged:
	case refused.Unproven:
		return fmt.Sprintf("run %s changed %s and did not prove its work, so this run compares with the state "+
			"before that run; to accept the changes: %s, %s", refused.Run, names, command, commit)
	default:
		return fmt.Sprintf("run %s refused changes to %s, so this run compares with the state before; "+
			"to accept the changes: %s, %s", refused.Run, names, command, commit)
	}
	return fmt.Sprintf("run %s ended before its last iteration was judged, so this run compares %s with the state "+
		"before that run; to accept the changes: %s, %s", refused.Run, names, command, commit)
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
	tree = w.withUserEdits(ctx, h.Tree.Snapshot, tree)
	base, err := copies.WithFiles(ctx, cmp.Or(tree.Base, h.Base.Snapshot), tree.Snapshot, files)
	if settled := cmp.Or(tree.LastProvenTree, h.LastProvenTree); err == nil && settled != "" {
		tree.LastProvenTree, err = copies.WithFiles(ctx, settled, tree.Snapshot, files)
	}
	if origin := cmp.Or(tree.Origin, w.originSnapshot()); err == nil && origin != "" {
		tree.Origin, err = copies.WithFiles(ctx, origin, tree.Snapshot, files)
	}
	if err != nil {
		return err
	}
	tree.Base, tree.TestsByUser = base, true
	w.emit(ralph.EvTreeSnapshot, tree)
	return nil
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
		tree.Moved = w.changedMeanwhile(ctx)
		return tree, len(tree.Moved) > 0
	case err != nil:
		w.cannotLook(err)
		return ralph.TreeState{}, false
	}
	if names, err := w.changedFiles(ctx, h.Now.Tree.Snapshot, tree.Snapshot); err == nil {
		tree.Moved = names[:min(len(names), maxMovedFiles)]
	}
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

// snapshot records the tree as it is. Changes that the user made while no iteration ran join the
// base.
func (w *workspace) snapshot(ctx context.Context, in ralph.TreeInput) {
	if w.state.Move != nil && ctx.Err() != nil { // the next process finds the unfinished move and completes it
		return
	}
	if tree, ok := w.fingerprint(ctx, in); ok {
		tree.Touched = w.lastChange(ctx, tree)
		w.emit(ralph.EvTreeSnapshot, w.withUserEdits(ctx, w.state.History.Tree.Snapshot, tree))
	}
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
	tree.Uncommitted = slices.DeleteFunc(tree.Uncommitted, func(file string) bool {
		_, name, _ := strings.Cut(file, " ")
		return name == w.state.Started.TaskFile
	})
	return tree, true
}

// joinsEdits reports whether changes between iterations join the base as the user's own.
func (w *workspace) joinsEdits() bool {
	_, copies := w.store.(ralph.Snapshots)
	return copies && w.state.History.Base.Snapshot != ""
}

// acceptTree accepts the tree as checks and hooks left it. After the baseline, the differences do not
// join the base, because the agent's code may have written them. They stay, and the user is told.
func (w *workspace) acceptTree(ctx context.Context) {
	ctx, done := w.detachedContext(ctx)
	defer done()
	before := w.state.History.Tree
	tree, ok := w.fingerprint(ctx, ralph.TreeInput{BaseHead: w.baseHead()})
	if !ok || tree.Same(before) {
		return
	}
	names, _ := w.changedFiles(ctx, before.Snapshot, tree.Snapshot)
	tree.Moved = names[:min(len(names), maxMovedFiles)]
	if w.firstTime("check_wrote " + strings.Join(names, "\n")) {
		w.notice("check_wrote", movedText(names)+" while checks or hooks ran; the changes stay, and are judged with the "+
			"rest of the tree")
	}
	w.emit(ralph.EvTreeSnapshot, tree)
}

// acceptJudged accepts the tree as the judgement left it: what changed since the agent ended is not the user's.
func (w *workspace) acceptJudged(ctx context.Context) {
	now := w.state.History.Now
	if w.ranInPlace() || w.joinsEdits() && len(now.Checks)+len(now.Evaluations) > 0 {
		w.acceptTree(ctx)
	}
}

// ranInPlace reports whether a check of this iteration ran in the workspace itself and may have
// changed it.
func (w *workspace) ranInPlace() bool {
	return slices.ContainsFunc(w.state.History.Now.Checks, func(c ralph.CheckResult) bool {
		return c.Isolation == ralph.IsolationInPlace
	})
}

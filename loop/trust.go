package loop

import (
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/judge"
)

// TrustedTree points to the tree that a person trusts. Each run begins with it. Without one, a run begins with
// the workspace as it is.
type TrustedTree interface {
	// Base returns what a run begins with: the trusted tree, with what the user changed since the last run ended. now is
	// the tree of the workspace. From then on it is the trusted tree.
	Base(ctx context.Context, now ralph.TreeState) (TrustedBase, error)
	// WorkedSince returns Base if another run has begun in the workspace since this one ended.
	WorkedSince(ctx context.Context, now ralph.TreeState) (base TrustedBase, another bool, err error)
	// Work records that an agent works from now on. What it leaves is unknown until Leave.
	Work() error
	// Leave records how a run leaves the workspace.
	Leave(ctx context.Context, end TreeLeft) error
}

// TrustedBase is the tree that a run begins with.
type TrustedBase struct {
	Snapshot string
	Run      string // the last run in the workspace; "" if there is none
	Working  bool   // it is not known how that run left the workspace, so commits since do not count
}

// TreeLeft is how a run leaves the workspace.
type TreeLeft struct {
	Trusted   string // the snapshot that a person trusts now; "" for the one from before
	Base      string // the snapshot of the run's base
	Commit    string // HEAD with it; "" for the one from before
	HoldsBack bool   // lists, steering files and the like stay as at Base
	Worked    bool   // agents worked in the run
	Proven    bool   // the run proved their work
	List      string // the run's task list, if it is as the harness wrote it; otherwise ""
	// Left is the workspace; not Known if an agent may work on.
	Left ralph.TreeState
}

// WithTrustedTree lets runs begin with the tree that a person trusts.
func WithTrustedTree(t TrustedTree) Option { return func(l *Loop) { l.tree.trusted = t } }

// WithCommit says that the agent of a live session sets the goal, and what the last commit is. What is not committed
// may be the agent's.
func WithCommit(commit string) Option { return func(l *Loop) { l.run.about.Commit = commit } }

// WithForeignLists names task lists that agents of earlier runs left and that the run does not use. They are no work.
func WithForeignLists(names []string) Option { return func(l *Loop) { l.run.about.Lists = names } }

// trust finds out which tree the work of a run is compared with.
type trust struct{ *workspace }

// recordBase records the tree of the workspace before any work, and the tree that the work is compared with.
func (w trust) recordBase(ctx context.Context) {
	w.adoptIgnored()
	tree, ok := w.fingerprint(ctx, ralph.TreeInput{})
	if !ok {
		return
	}
	from := TrustedBase{Snapshot: tree.Snapshot}
	var err error
	switch {
	case w.state.Started.Commit != "":
		from, err = w.committedBase(ctx, tree)
	case w.trusted != nil && tree.Snapshot != "":
		from, err = w.trusted.Base(ctx, tree)
	}
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		w.storageFailed(err)
		return
	}
	if from.Snapshot != tree.Snapshot {
		tree.Base = from.Snapshot
	}
	w.emit(ralph.EvTreeSnapshot, tree)
	w.noticeInherited(ctx, from)
}

// recordBaseOnce is for a live session, whose changes count as soon as it has a base.
func (w trust) recordBaseOnce(ctx context.Context) {
	if w.state.History.Base.Snapshot == "" {
		w.recordBase(ctx)
		w.beginWork()
	}
}

// noticeInherited names the files that an earlier run left and that no person trusts yet.
func (w trust) noticeInherited(ctx context.Context, from TrustedBase) {
	h := w.state.History
	if !h.Inherits || from.Run == "" || !w.firstTime("inherited") {
		return
	}
	names, err := w.changedFiles(ctx, h.Base.Snapshot, h.Tree.Snapshot)
	isOther := func(name string) bool { // written by runs themselves, or not used
		return slices.Contains(steeringFiles, name) || slices.Contains(w.state.Started.Lists, name) ||
			name == path.Clean(w.state.Started.TaskFile)
	}
	if names = slices.DeleteFunc(names, isOther); err != nil || len(names) == 0 {
		return
	}
	commit := "or commit them"
	if from.Working {
		commit = "or commit them after this run"
	}
	w.notice("inherited", fmt.Sprintf("run %s left changes to %s that were not proven, so this run compares with the "+
		"state before; to accept the changes: %s, %s", from.Run, text.List(names), text.AcceptFiles(names), commit))
}

// adoptSince records the tree when a run is resumed. What the user changed since it ended joins the base; if another
// run worked here meanwhile, what a person trusts does.
func (w trust) adoptSince(ctx context.Context, in ralph.TreeInput) {
	tree, ok := w.fingerprint(ctx, in)
	if !ok || w.state.Move != nil && ctx.Err() != nil {
		return
	}
	edits := w.userEdits(tree)
	if w.trusted != nil && tree.Snapshot != "" {
		from, another, err := w.trusted.WorkedSince(ctx, tree)
		if err != nil {
			w.storageFailed(err)
			return
		}
		if another {
			edits = treeEdits{w.state.History.Tree.Snapshot, from.Snapshot}
		}
	}
	w.emit(ralph.EvTreeSnapshot, w.withEdits(ctx, edits, tree))
}

// adoptEarly adds to the base what the user changed while the checks ran for the first time.
func (w trust) adoptEarly(ctx context.Context) {
	h := w.state.History
	if h.Started > 0 || len(h.Baseline) == 0 || w.state.Started.InSession || !w.joinsEdits() {
		return
	}
	tree, ok := w.fingerprint(ctx, ralph.TreeInput{BaseHead: h.Base.Head})
	if ok && !tree.Same(h.Tree) {
		w.emit(ralph.EvTreeSnapshot, w.withEdits(ctx, w.userEdits(tree), tree))
	}
}

// beginWork records that an agent works from now on.
func (w trust) beginWork() {
	if w.trusted == nil {
		return
	}
	if err := w.trusted.Work(); err != nil {
		w.storageFailed(err)
	}
}

// leave records how the run leaves the workspace, after everything else has ended. If that fails, what changes before
// the next run counts as the agent's.
func leave(ctx context.Context, l *Loop, stopped ralph.RunStopped) {
	w, h := l.tree, l.run.state.History
	if w.trusted == nil || h.Base.Snapshot == "" || l.run.lost {
		return
	}
	ctx, done := l.run.detachedContext(ctx)
	defer done()
	var end judge.RunEnd
	if stopped.ExitCode == 0 {
		end.Proof = stopped.Proof
	}
	if yes := l.accepts.yes; yes != nil && h.Accepted != nil {
		end.Accepted = h.Now.Tree.Snapshot
		if h.Accepted.Tree.Known {
			end.Accepted = h.Accepted.Tree.Snapshot
		}
	}
	left := TreeLeft{Base: h.Base.Snapshot, Worked: h.Started > 0, Proven: stopped.ExitCode == 0}
	if left.Trusted, left.HoldsBack = judge.TrustedAfter(h, end); left.Proven {
		left.Commit = h.Now.Tree.Head
	}
	if left.Trusted == h.Base.Snapshot && l.run.state.Started.Commit != "" { // perhaps with tests of the agent
		left.Trusted = ""
	}
	if !l.run.state.Started.InSession {
		tree, err := w.store.Fingerprint(ctx, ralph.TreeInput{BaseHead: h.Base.Head, Run: w.id, Iteration: w.iteration})
		if err == nil && tree.Snapshot != "" {
			left.Left = tree
		}
		if l.list.tasks != nil && l.run.state.Phase == fold.PhaseNone {
			left.List = path.Clean(l.list.tasks.File())
		}
	}
	if err := w.trusted.Leave(ctx, left); err != nil {
		w.warn("trusted_tree", "%v; what changes before the next run counts as the agent's", err)
	}
}

// treeEdits are what a user changed: the difference of two snapshots. With an empty name it is unknown.
type treeEdits struct{ from, to string }

// userEdits returns what the user changed since the harness recorded the tree that the last agent left. A live session
// may always work: there, every change is the agent's.
func (w *workspace) userEdits(now ralph.TreeState) treeEdits {
	h := w.state.History
	if w.state.Started.InSession || h.TreeOf != h.Started {
		return treeEdits{}
	}
	return treeEdits{h.Tree.Snapshot, now.Snapshot}
}

// withEdits adds what the user changed to the base, and to the last proven tree.
func (w *workspace) withEdits(ctx context.Context, edits treeEdits, now ralph.TreeState) ralph.TreeState {
	copies, ok := w.store.(ralph.Snapshots)
	h := w.state.History
	if !ok || edits.from == "" || edits.to == "" || edits.from == edits.to || h.Base.Snapshot == "" {
		return now
	}
	base, err := copies.Join(ctx, h.Base.Snapshot, edits.from, edits.to)
	proven := ""
	if err == nil && h.LastProvenTree != "" {
		proven, err = copies.Join(ctx, h.LastProvenTree, edits.from, edits.to)
	}
	if err != nil {
		w.warn("base_unknown", "your changes count as the agent's: %v", err)
		return now
	}
	now.Base, now.LastProvenTree = base, proven
	before := ralph.TreeState{Known: true, Snapshot: edits.from}
	now.TestsByUser = len(h.Evidence) > 0 && w.testsChanged(ctx, before, now)
	return now
}

// withGoalEdits makes changes of the goal's files and of the task list the user's that were made while checks ran. A
// check that ran in the workspace itself may have made them.
func (w *workspace) withGoalEdits(ctx context.Context, before string, now ralph.TreeState) ralph.TreeState {
	copies, ok := w.store.(ralph.Snapshots)
	h := w.state.History
	if !ok || w.isGoal == nil || w.ranInPlace() || w.state.Started.InSession || before == "" || now.Snapshot == "" ||
		h.Base.Snapshot == "" {
		return now
	}
	names, err := w.changedFiles(ctx, before, now.Snapshot)
	names = slices.DeleteFunc(names, func(name string) bool { return !w.isGoal(name) })
	if err != nil || len(names) == 0 {
		return now
	}
	base, err := copies.WithFiles(ctx, h.Base.Snapshot, now.Snapshot, names)
	proven := ""
	if err == nil && h.LastProvenTree != "" {
		proven, err = copies.WithFiles(ctx, h.LastProvenTree, now.Snapshot, names)
	}
	if err != nil {
		w.warn("base_unknown", "your changes to %s count as the agent's: %v", text.List(names), err)
		return now
	}
	now.Base, now.LastProvenTree = base, proven
	return now
}

// goalFiles returns a function that reports whether a file says what the run works on: its spec, prompt or task list.
func goalFiles(l *Loop) func(name string) bool {
	return func(name string) bool {
		if l.list.tasks != nil && name == path.Clean(l.list.tasks.File()) {
			return true
		}
		return name != "" && (name == l.goals.inside(l.run.cfg.SpecFile) || name == l.goals.inside(l.run.cfg.PromptFile))
	}
}

// cannotCompare says why a goal that an agent set cannot begin: without the last commit, the agent would choose what
// its work is compared with.
func cannotCompare(err error) error {
	return fmt.Errorf("%w: the files cannot be compared with the last commit: %w", ralph.ErrIO, err)
}

package assembly

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/proof/protect"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/judge"
	"github.com/ralphloop/ralph/loop"
	"github.com/ralphloop/ralph/plan"
	"github.com/ralphloop/ralph/runlog"
)

// TrustedPlaces are the files that say which tree a person trusts.
type TrustedPlaces struct {
	Keeps     bool     // false for the demo
	Snapshots string   // of the workspace, or of the worktree; the pointer is beside them
	Home      string   // in a worktree: those of the workspace, whose pointer a new one inherits
	Accepted  []string // files and folders that the user has accepted since the last run
}

func (p TrustedPlaces) file() string { return runlog.TrustedBeside(p.Snapshots) }

// trustedTree implements [loop.TrustedTree].
type trustedTree struct {
	plan   *Plan
	places TrustedPlaces
	copies ralph.Snapshots
	known  *runlog.Trusted   // nil until it was read, and if there is none
	first  *loop.TrustedBase // of the first call of Base
	inside bool              // an agent sets the goal in its session, so it may have changed what is not committed
}

var _ loop.TrustedTree = (*trustedTree)(nil)

// openTrusted returns the tree that a person trusts; nil if the run keeps no pointer to it.
func openTrusted(p *Plan, places Places, tree ralph.Tree) (*trustedTree, error) {
	copies, ok := tree.(ralph.Snapshots)
	if !places.Trusted.Keeps || !ok {
		return nil, nil
	}
	t := &trustedTree{plan: p, places: places.Trusted, copies: copies, inside: p.Commit != ""}
	known, ok, err := runlog.ReadTrusted(t.places.file())
	if ok {
		t.known = &known
	}
	return t, err
}

// Base returns the trusted tree with what the user changed since the last run ended, and keeps it.
func (t *trustedTree) Base(ctx context.Context, now ralph.TreeState) (loop.TrustedBase, error) {
	base, err := t.base(ctx, now)
	if err != nil {
		return base, fmt.Errorf("%w: the trusted tree cannot be compared: %w; to trust all files as "+
			"they are: %s", ralph.ErrIO, err, text.AcceptFiles([]string{"."}))
	}
	next := runlog.Trusted{}
	if t.known != nil {
		next = *t.known
	}
	next.Snapshot, next.Commit, next.Left, next.Head = base.Snapshot, now.Head, now.Snapshot, now.Head
	if next.Held, err = t.held(ctx, base.Snapshot, now.Snapshot); err != nil {
		return base, err
	}
	if t.first == nil {
		t.first = &base
	}
	return loop.TrustedBase{Snapshot: base.Snapshot, Run: t.first.Run, Working: t.first.Working}, t.write(next)
}

func (t *trustedTree) base(ctx context.Context, now ralph.TreeState) (loop.TrustedBase, error) {
	asItIs := loop.TrustedBase{Snapshot: now.Snapshot}
	if judge.IsAccepted(t.places.Accepted, ".") {
		return asItIs, nil
	}
	if t.known == nil {
		if err := t.inherit(ctx, now); err != nil || t.known == nil {
			return asItIs, err
		}
	}
	since := judge.SinceLastRun{IsLeft: t.known.Left != "", Accepted: t.places.Accepted}
	base := loop.TrustedBase{Run: t.known.Run, Working: !since.IsLeft}
	var err error
	if since.Untrusted, err = t.copies.Changes(ctx, t.known.Snapshot, now.Snapshot); err != nil {
		return base, err
	}
	if since.IsLeft && len(since.Untrusted) > 0 {
		if !t.inside {
			changed, err := t.copies.Changes(ctx, t.known.Left, now.Snapshot)
			if err != nil {
				return base, err
			}
			since.Changed = changeNames(changed)
		}
		t.askGit(ctx, now, &since)
	}
	users := since.Users()
	if len(users) == len(since.Untrusted) {
		base.Snapshot = now.Snapshot
		return base, nil
	}
	base.Snapshot, err = t.copies.WithFiles(ctx, t.known.Snapshot, now.Snapshot, users)
	return base, err
}

// held returns the files that an earlier run left and that decide what checks show: what a run protected, and tests
// that changed or are gone.
func (t *trustedTree) held(ctx context.Context, base, now string) ([]string, error) {
	if t.known == nil || base == now {
		return nil, nil
	}
	changes, err := t.copies.Changes(ctx, base, now)
	if err != nil {
		return nil, err
	}
	was := t.known.Protects
	rules, err := protect.New(protect.Config{Globs: was.Globs, Literal: was.Names})
	if err != nil {
		return nil, err
	}
	decides := func(c ralph.FileChange) bool {
		return rules.Protected(c.Name) || c.Kind != ralph.FileAdded && rules.Test(c.Name) ||
			slices.Contains(t.known.Held, c.Name)
	}
	return changeNames(slices.DeleteFunc(changes, func(c ralph.FileChange) bool { return !decides(c) })), nil
}

// askGit finds out what was committed since the last run. If git cannot tell, nothing was.
func (t *trustedTree) askGit(ctx context.Context, now ralph.TreeState, since *judge.SinceLastRun) {
	repo := t.plan.Workspace.Repo
	if repo == nil || now.Head == "" || now.Head == t.known.Head {
		return
	}
	dirty, err := namesFrom(ctx, repo, "diff", "--name-only", "--no-renames", "--no-ext-diff", "--relative", "-z", "HEAD")
	tracked, failed := namesFrom(ctx, repo, "ls-files", "-v", "-z")
	if err != nil || failed != nil {
		return
	}
	if since.Rewritten = !leadsTo(ctx, repo, now.Head, t.known.Head); !since.Rewritten {
		if since.Committed, err = committedBetween(ctx, repo, t.known.Head, now.Head); err != nil {
			return
		}
	}
	isIn, isDirty := map[string]bool{}, map[string]bool{}
	for _, line := range tracked { // H, and another letter if git does not look at the file
		if tag, name, _ := strings.Cut(line, " "); tag == "H" {
			isIn[name] = true
		} else {
			isDirty[name] = true
		}
	}
	for _, name := range dirty {
		isDirty[name] = true
	}
	isGone := map[string]bool{}
	for _, c := range since.Untrusted {
		isGone[c.Name] = c.Kind == ralph.FileDeleted
	}
	since.IsInHead = func(name string) bool { return !isDirty[name] && (isIn[name] || isGone[name]) }
}

// inherit makes the pointer of a new worktree from that of the workspace.
func (t *trustedTree) inherit(ctx context.Context, now ralph.TreeState) error {
	if t.places.Home == "" {
		return nil
	}
	from, ok, err := runlog.ReadTrusted(runlog.TrustedBeside(t.places.Home))
	if err != nil || !ok {
		return err
	}
	repo := t.plan.Workspace.Repo
	ids, err := t.plan.Workspace.ImportSnapshots(ctx, t.places.Home, t.places.Snapshots, []string{from.Snapshot})
	if err != nil {
		return err
	}
	made := judge.NewWorktree{IsHeldBack: t.isHeldBack}
	if made.Untrusted, err = t.copies.Changes(ctx, ids[0], now.Snapshot); err != nil {
		return err
	}
	if made.ByAgents, err = committedBetween(ctx, repo, from.Commit, cmp.Or(from.Head, now.Head)); err != nil {
		made.ByAgents = changeNames(made.Untrusted)
	}
	if from.Left != "" && from.Head != now.Head {
		if made.AreCommitted = !leadsTo(ctx, repo, now.Head, from.Head); !made.AreCommitted {
			made.Committed, _ = committedBetween(ctx, repo, from.Head, now.Head)
		}
	}
	base, err := t.copies.WithFiles(ctx, ids[0], now.Snapshot, made.Users())
	if err != nil {
		return err
	}
	from.Snapshot, from.Commit, from.Left, from.Head = base, now.Head, now.Snapshot, now.Head
	t.known = &from
	return nil
}

// WorkedSince returns Base if another run has worked here since this one.
func (t *trustedTree) WorkedSince(ctx context.Context, now ralph.TreeState) (loop.TrustedBase, bool, error) {
	if t.known == nil || t.known.Run == t.plan.run {
		return loop.TrustedBase{}, false, nil
	}
	base, err := t.Base(ctx, now)
	return base, true, err
}

// Work records that an agent of the run works from now on.
func (t *trustedTree) Work() error {
	if t.known == nil {
		return nil
	}
	next := *t.known
	if next.Left == "" && next.Run == t.plan.run && next.Open {
		return nil
	}
	next.Left, next.Head, next.Run, next.Open = "", "", t.plan.run, true
	next.Protects = runlog.ProtectedNames{Names: t.plan.Literal(), Globs: t.plan.Settings.Protect}
	return t.write(next)
}

// Leave records how the run leaves the workspace.
func (t *trustedTree) Leave(ctx context.Context, end loop.TreeLeft) error {
	if t.known == nil {
		t.known = &runlog.Trusted{}
	}
	next := *t.known
	next.Commit = cmp.Or(end.Commit, next.Commit)
	next.Left, next.Head = end.Left.Snapshot, end.Left.Head
	if end.Worked {
		next.Run, next.Open = t.plan.run, !end.Proven
	}
	if end.Trusted != "" {
		next.Snapshot = end.Trusted
	}
	var err error
	if end.HoldsBack {
		next.Snapshot, err = t.holdBack(ctx, end.Base, next.Snapshot)
	}
	if err == nil && end.List != "" && next.Left != "" {
		next.Snapshot, err = t.copies.WithFiles(ctx, next.Snapshot, next.Left, []string{end.List})
	}
	if err != nil {
		return err
	}
	return t.write(next)
}

// holdBack returns a snapshot in which files that an agent must not hand on to a later run are as at the base.
func (t *trustedTree) holdBack(ctx context.Context, base, proven string) (string, error) {
	changes, err := t.copies.Changes(ctx, base, proven)
	if err != nil {
		return "", err
	}
	held := slices.DeleteFunc(changeNames(changes), func(name string) bool {
		return !t.isHeldBack(name) && !slices.Contains(t.known.Held, name)
	})
	return t.copies.WithFiles(ctx, proven, base, held)
}

// isHeldBack reports whether a file stays the agent's who wrote it, also if the work is proven: it decides what later
// runs do or what they begin with, and no check looks at it.
func (t *trustedTree) isHeldBack(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	if top == ".ralph" || top == ".agent" || slices.Contains(plan.Places, name) || protect.IsAgentFile(name) {
		return true
	}
	keeper, ok := t.copies.(ralph.IgnoredKeeper)
	return ok && slices.Contains(keeper.IgnoredFiles(), name)
}

func (t *trustedTree) write(next runlog.Trusted) error {
	t.known = &next
	return runlog.WriteTrusted(t.places.file(), next)
}

// adoptList refuses a run with a task list that an agent wrote and that no person trusts: there, done means proven.
// The list of a run that was killed may be as that run itself wrote it. It returns the other lists that agents left:
// they are no work of this run.
func (t *trustedTree) adoptList(ctx context.Context, now ralph.TreeState, runs string) (others []string, err error) {
	base, err := t.Base(ctx, now)
	if err != nil || base.Snapshot == now.Snapshot {
		return nil, err
	}
	changes, err := t.copies.Changes(ctx, base.Snapshot, now.Snapshot)
	if err != nil {
		return nil, err
	}
	own := path.Clean(filepath.ToSlash(t.plan.TaskFile))
	for _, name := range changeNames(changes) {
		switch {
		case name != own && slices.Contains(plan.Places, name):
			others = append(others, name)
		case name != own:
		case base.Working:
			err = t.adoptKept(ctx, base, now, filepath.Join(runs, base.Run))
		default:
			err = unacceptedList(own, "the task list %s was changed by an agent, and no person has accepted that;", own)
		}
	}
	return others, err
}

// adoptKept adopts the list of a run that was killed, if it is as that run itself wrote it.
func (t *trustedTree) adoptKept(ctx context.Context, base loop.TrustedBase, now ralph.TreeState, runDir string) error {
	file := t.plan.TaskFile
	edits, isKept := ListEdits(t.plan.Workspace, file, filepath.Join(runDir, "tasks"))
	name := path.Clean(filepath.ToSlash(file))
	switch {
	case !isKept:
		return unacceptedList(name, "the task list %s was changed by an agent, and no person has accepted that;", name)
	case len(edits) > 0:
		return unacceptedList(name, "run %s ended before its last iteration was judged, and the task list %s has changed "+
			"since: %s; continue that run with ralph resume, or,", base.Run, file, text.List(edits))
	}
	next := *t.known
	var err error
	if next.Snapshot, err = t.copies.WithFiles(ctx, next.Snapshot, now.Snapshot, []string{name}); err != nil {
		return err
	}
	return t.write(next)
}

// unacceptedList says why a list is not used, and how a person accepts it.
func unacceptedList(name, why string, args ...any) error {
	accept := text.AcceptFiles([]string{name})
	return &config.UsageError{Msg: fmt.Sprintf(why, args...) + " if the list is right: " + accept}
}

// leadsTo reports whether a commit has another one in its history.
func leadsTo(ctx context.Context, repo *gitrepo.Repo, commit, earlier string) bool {
	if earlier == "" {
		return false
	}
	_, err := repo.Ask(ctx, "merge-base", "--is-ancestor", earlier, commit)
	return err == nil
}

// committedBetween lists the files that differ between two commits, relative to the workspace.
func committedBetween(ctx context.Context, repo *gitrepo.Repo, from, to string) ([]string, error) {
	if from == to {
		return nil, nil
	}
	return namesFrom(ctx, repo, "diff", "--name-only", "--no-renames", "--no-ext-diff", "--relative", "-z", from, to)
}

func namesFrom(ctx context.Context, repo *gitrepo.Repo, args ...string) ([]string, error) {
	listed, err := repo.Ask(ctx, args...)
	return strings.FieldsFunc(listed, func(r rune) bool { return r == 0 }), err
}

func changeNames(changes []ralph.FileChange) []string {
	return text.Mapped(changes, func(c ralph.FileChange) string { return c.Name })
}

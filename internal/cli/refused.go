package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/runlog"
)

// refusedEarlier returns the files that the last run in this workspace refused, or changed without proving its
// work, and that the user has not accepted since: with ralph accept --files, or in a commit.
func (s *session) refusedEarlier(ctx context.Context) (*ralph.RefusedEarlier, error) {
	if s.plan.Demo {
		return nil, nil
	}
	runs, err := s.store.Runs()
	if err != nil {
		return nil, err
	}
	trees := []*ralph.Worktree{s.plan.Worktree}
	if s.plan.Worktree != nil { // its commits come from the workspace
		trees = append(trees, nil)
	}
	for _, tree := range trees {
		newest := s.lastIn(tree, runs)
		if newest != nil && tree == s.plan.Worktree && newest.LiveStatus() != ralph.StatusCompleted {
			s.before = newest
		}
		if newest != nil && tree == s.plan.Worktree && fold.Unproven(newest) {
			s.unproven = newest.Run
		}
		active := s.lastIn(tree, byActivity(runs))
		if active != nil && active.Run != newest.Run { // an older run was resumed since
			refused, err := s.refusedBy(ctx, active)
			if err != nil || refused != nil {
				return refused, err
			}
		}
		if refused, err := s.refusedBy(ctx, newest); err != nil || refused != nil {
			return refused, err
		}
	}
	return nil, nil
}

// byActivity sorts runs by their last event, newest first.
func byActivity(runs []runlog.Summary) []runlog.Summary {
	return slices.SortedStableFunc(slices.Values(runs), func(a, b runlog.Summary) int {
		return b.UpdatedAt.Compare(a.UpdatedAt)
	})
}

func (s *session) refusedBy(ctx context.Context, last *fold.State) (*ralph.RefusedEarlier, error) {
	if last == nil || refusedBase(last) == "" || len(last.RefusedFiles()) == 0 && !fold.Unproven(last) {
		return nil, nil
	}
	left := lookBack{session: s, last: last, base: refusedBase(last)}
	left.tree, left.recorded = fold.TreeLeft(last)
	// The agent of a live session may work on after its run.
	left.recorded = left.recorded && last.Stopped != nil && !last.Started.InSession
	if err := left.bringHere(ctx); err != nil {
		return nil, err
	}
	files, err := left.refusedFiles(ctx)
	if err != nil {
		return nil, err
	}
	accepted := acceptedFiles(s.store)
	files = slices.DeleteFunc(files, func(name string) bool {
		return slices.Contains(accepted, name) || left.committed(ctx, name) || left.notBranched(ctx, name)
	})
	if len(files) == 0 {
		return nil, nil
	}
	refused := last.RefusedFiles()
	return &ralph.RefusedEarlier{
		Run: last.Run, Base: left.base, Files: files, Lists: left.lists, Added: left.added,
		Unjudged: fold.Unjudged(last), Dead: !left.recorded,
		Unproven: slices.ContainsFunc(files, func(name string) bool { return !slices.Contains(refused, name) }),
	}, left.refuseList(files)
}

// lookBack looks at what the last run in a workspace left.
type lookBack struct {
	*session
	last     *fold.State
	base     string          // the snapshot that it is compared with
	tree     ralph.TreeState // what its last agent left
	recorded bool            // false if the run died, or its agent may work on: the tree is then unknown
	added    []string        // tests that it added
	lists    []string        // task lists that it or an earlier run changed without a judgement
	edits    []string        // how its own list changed
}

// elsewhere reports whether the run did not work in the working tree of the new run, which is then a worktree.
func (l *lookBack) elsewhere() bool {
	return pathOf(l.last.Started.Worktree) != pathOf(l.plan.Worktree)
}

// bringHere copies the snapshots of a run in the workspace to those of the worktree in which the new run works.
func (l *lookBack) bringHere(ctx context.Context) error {
	if !l.elsewhere() {
		return nil
	}
	from, to := l.store.SnapshotsOf(l.last.Started.Worktree), l.store.SnapshotsOf(l.plan.Worktree)
	ids, err := l.plan.Workspace.ImportSnapshots(ctx, from, to, []string{l.base, l.tree.Snapshot})
	if err != nil {
		return fmt.Errorf("%w: what run %s left cannot be compared: %w", ralph.ErrIO, l.last.Run, err)
	}
	l.base, l.tree.Snapshot = ids[0], ids[1]
	return nil
}

// notBranched reports whether a worktree has a file as it was committed before a run in the workspace: what happened
// there without a commit says nothing about the worktree.
func (l *lookBack) notBranched(ctx context.Context, name string) bool {
	head := l.last.History.Base.Head
	if !l.elsewhere() || head == "" {
		return false
	}
	changed, err := l.plan.Workspace.Repo.Ask(ctx, "diff", "--name-only", head, "HEAD", "--", ":(literal)"+name)
	return err == nil && strings.TrimSpace(changed) == ""
}

// refusedFiles returns the files that the run refused, as far as they still differ from the base, and those that
// it changed without a judgement.
func (l *lookBack) refusedFiles(ctx context.Context) ([]string, error) {
	files, unjudged := l.last.RefusedFiles(), fold.Unjudged(l.last)
	left, err := l.compare(ctx)
	switch {
	case err != nil && unjudged:
		return nil, fmt.Errorf("%w: run %s ended before its last iteration was judged, and what it left cannot be "+
			"compared: %w", ralph.ErrIO, l.last.Run, err)
	case err != nil: // the new run compares them, and says why it cannot
		return files, nil
	case fold.Unproven(l.last):
		files = append(files, left.Matters...)
		l.added = slices.Compact(slices.Sorted(slices.Values(left.Added)))
	}
	l.lists = fold.RefusedLists(l.last)
	files = slices.DeleteFunc(files, func(name string) bool { // no base has a list as it was before
		return !slices.Contains(l.lists, name) && !slices.Contains(left.Changed, name)
	})
	l.lists = append(l.lists, l.changedLists(left)...)
	if l.edits = l.listEdits(); len(l.edits) > 0 {
		l.lists = append(l.lists, path.Clean(l.last.Started.TaskFile))
	}
	l.lists = slices.DeleteFunc(l.lists, func(name string) bool {
		return !exists(filepath.Join(l.plan.Workspace.Dir, filepath.FromSlash(name)))
	})
	files = append(files, l.lists...)
	slices.Sort(files)
	return slices.Compact(files), nil
}

// compare compares what the run left with its base, by its own settings and those of the new run: they may protect
// different files.
func (l *lookBack) compare(ctx context.Context) (assembly.Leftovers, error) {
	settings := l.plan.Settings
	if recorded := (config.Settings{}); json.Unmarshal(l.last.Started.Settings, &recorded) == nil {
		settings = recorded
	}
	left, err := l.compareBy(ctx, settings, l.last)
	if err != nil {
		return left, err
	}
	now := *l.last
	now.Policy, now.Started.Checks = l.plan.Policy, l.plan.Checks
	now.Started.PromptFile, now.Started.TaskFile = l.plan.PromptFile, l.plan.TaskFile
	byNow, err := l.compareBy(ctx, l.plan.Settings, &now)
	left.Changed = append(left.Changed, byNow.Changed...)
	left.Matters = append(left.Matters, byNow.Matters...)
	left.Added = append(left.Added, byNow.Added...)
	return left, err
}

// compareBy compares by the settings and the protected files of a run.
func (l *lookBack) compareBy(
	ctx context.Context, settings config.Settings, run *fold.State,
) (assembly.Leftovers, error) {
	req := assembly.Request{
		Env: l.streams.Env, Settings: settings, Workspace: l.plan.Workspace, Worktree: l.plan.Worktree,
	}
	pair := assembly.SnapshotPair{Base: l.base}
	if l.recorded {
		pair.Left = l.tree.Snapshot
	}
	here := *run
	here.History.Base.Snapshot = l.base
	return assembly.CompareLeftovers(ctx, req, &here, placesOf(l.store, l.last.Run, l.plan.Worktree), pair)
}

// changedLists returns the task lists that agents of an unproven run added or changed, apart from the list that the
// run itself kept. The new run's list may be anywhere.
func (l *lookBack) changedLists(left assembly.Leftovers) []string {
	if !fold.Unproven(l.last) {
		return nil
	}
	var lists []string
	for _, name := range append(assembly.TaskPlaces(), path.Clean(l.plan.TaskFile)) {
		if name != path.Clean(l.last.Started.TaskFile) && slices.Contains(left.Changed, name) {
			lists = append(lists, name)
		}
	}
	return lists
}

// listEdits says how the task list changed since the run died in the middle of an iteration. A run that ended has
// restored it.
func (l *lookBack) listEdits() []string {
	file := l.last.Started.TaskFile
	if file == "" || l.recorded || !fold.Unjudged(l.last) {
		return nil
	}
	return assembly.ListEdits(l.plan.Workspace, file, filepath.Join(l.store.RunDir(l.last.Run), "tasks"))
}

// refuseList refuses a run that would use a task list whose changes were never judged: there, done means proven.
func (l *lookBack) refuseList(files []string) error {
	file := l.plan.TaskFile
	name := path.Clean(file)
	if file == "" || !slices.Contains(l.lists, name) || !slices.Contains(files, name) {
		return nil
	}
	command := text.AcceptFiles([]string{name})
	if len(l.edits) == 0 || name != path.Clean(l.last.Started.TaskFile) {
		return usage("the task list %s was changed by an agent whose work was not proven; if the list is right: %s",
			file, command)
	}
	return usage("run %s ended before its last iteration was judged, and the task list %s has changed since: %s; "+
		"continue that run with ralph resume, or, if the list is right: %s",
		l.last.Run, file, term.Clean(text.List(l.edits)), command)
}

// lastIn returns the first of these runs that worked in a worktree, or in the workspace itself if that is nil. It
// returns nil if there is none.
func (s *session) lastIn(worktree *ralph.Worktree, runs []runlog.Summary) *fold.State {
	for _, r := range runs {
		if r.Run == s.run || r.Broken != "" {
			continue
		}
		state, err := stateOf(s.store, r.Run)
		if err == nil && pathOf(state.Started.Worktree) == pathOf(worktree) {
			return state
		}
	}
	return nil
}

// refusedBase returns the snapshot that has the refused files as they were before. A run in which no agent
// started may have ended before its base got them from an earlier run.
func refusedBase(last *fold.State) string {
	if earlier := last.Started.Refused; earlier != nil && last.History.Started == 0 {
		return earlier.Base
	}
	return last.History.Base.Snapshot
}

func pathOf(worktree *ralph.Worktree) string {
	if worktree == nil {
		return ""
	}
	return worktree.Path
}

// acceptedFiles returns the files that the user accepted and no run has taken over yet.
func acceptedFiles(store *runlog.Store) []string {
	messages, _ := store.Messages()
	var files []string
	for _, message := range messages {
		if message.Kind == ralph.MessageFiles {
			files = append(files, strings.Split(message.Text, "\n")...)
		}
	}
	return files
}

// committed reports whether a file is as in HEAD, and was committed after the run ended, or in that second. An agent
// chooses the dates of its commits, so the commit must also be missing from the history that the run left. If the run
// died, that history is unknown.
func (l *lookBack) committed(ctx context.Context, name string) bool {
	repo := l.plan.Workspace.Repo
	if repo == nil || !l.recorded {
		return false
	}
	name = ":(literal)" + name // relative to the workspace
	changed, err := repo.Ask(ctx, "status", "--porcelain", "--", name)
	if err != nil || strings.TrimSpace(changed) != "" {
		return false
	}
	commits := []string{"HEAD"}
	if l.tree.Head != "" { // otherwise the repository had no commit then
		commits = append(commits, "^"+l.tree.Head)
	}
	at, err := repo.Ask(ctx, slices.Concat([]string{"log", "-1", "--format=%ct"}, commits, []string{"--", name})...)
	seconds, failed := strconv.ParseInt(strings.TrimSpace(at), 10, 64)
	return err == nil && failed == nil && seconds >= l.last.UpdatedAt.Unix()
}

// acceptFiles sends the names of files whose changes are the user's own to the current run or the next one.
func (c *acceptCommand) acceptFiles(ctx context.Context) error {
	space, store, err := c.open(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, name := range c.files {
		inside, err := insideWorkspace(space.Dir, c.streams.Dir, name)
		if err != nil && filepath.IsAbs(name) && exists(name) { // a configuration file that checks use
			inside, err = filepath.Clean(name), nil
		}
		if err != nil {
			return err
		}
		names = append(names, inside)
	}
	last := lastState(store)
	for _, name := range names {
		if !filepath.IsAbs(name) && !c.knowsFile(ctx, space, store, last, name) {
			return usage("--files %s: there is no such file, neither in the workspace nor at the start of the last run", name)
		}
	}
	message := ralph.Message{Kind: ralph.MessageFiles, Text: strings.Join(names, "\n"), By: personName()}
	if err := sendMessage(store, message); err != nil {
		return err
	}
	list := term.Clean(strings.Join(names, ", "))
	if owner, live := store.Holder(); live {
		return c.printSent("accept", "delivered", owner.Run, "run "+owner.Run+" takes the changes of "+list+" as yours")
	}
	resume := "ralph resume"
	if last != nil {
		resume = term.ResumeCommand(last)
	}
	return c.printSent("accept", "queued", "", resume+", or the next ralph run, takes the changes of "+list+" as yours")
}

// lastState returns the state of the newest run, or nil if there is none.
func lastState(store *runlog.Store) *fold.State {
	run, err := store.Resolve("")
	if err != nil {
		return nil
	}
	state, err := stateOf(store, run)
	if err != nil {
		return nil
	}
	return state
}

// knowsFile reports whether a file or folder is in the workspace, or was there when the last run started. If that is
// unknown, it reports true.
func (c *acceptCommand) knowsFile(
	ctx context.Context, space workspace.Workspace, store *runlog.Store, last *fold.State, name string,
) bool {
	if exists(filepath.Join(space.Dir, filepath.FromSlash(name))) {
		return true
	}
	if last == nil {
		return false
	}
	if w := last.Started.Worktree; w != nil && exists(filepath.Join(w.Path, filepath.FromSlash(name))) {
		return true
	}
	refused := slices.Concat(last.Tampered, last.Weakened)
	if earlier := last.Started.Refused; earlier != nil {
		refused = append(refused, earlier.Files...)
	}
	folder := store.SnapshotsOf(last.Started.Worktree)
	files, err := workspace.SnapshotFiles(ctx, folder, refusedBase(last), c.streams.Env)
	return err != nil || slices.ContainsFunc(append(refused, files...), func(file string) bool {
		return file == name || strings.HasPrefix(file, name+"/")
	})
}

// insideWorkspace returns the name of a file relative to the workspace. The name may be relative to the
// current folder, if that is in the workspace, or to the workspace.
func insideWorkspace(workspace, current, name string) (string, error) {
	paths := []string{filepath.Join(current, name), filepath.Join(workspace, name)}
	if filepath.IsAbs(name) {
		paths = []string{name}
	}
	for _, path := range paths {
		if inside, err := filepath.Rel(workspace, path); err == nil && filepath.IsLocal(inside) {
			return filepath.ToSlash(inside), nil
		}
	}
	return "", usage("--files %s: the file is not in the workspace %s", name, workspace)
}

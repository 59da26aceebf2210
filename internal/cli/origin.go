package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/workspace"
)

// earlierOrigin returns the tree before the last runs in this workspace that did not complete, or nil if the last one
// did. What their agents left is not the user's, unless the user has committed it since.
func (s *session) earlierOrigin(ctx context.Context) (*ralph.Origin, error) {
	if s.plan.Demo {
		return nil, nil
	}
	runs, err := s.store.Runs()
	if err != nil {
		return nil, err
	}
	last := s.lastIn(s.plan.Worktree, byActivity(runs))
	if last == nil && s.plan.Worktree != nil { // its commits come from the workspace
		last = s.lastIn(nil, byActivity(runs))
	}
	return s.originAfter(ctx, last)
}

// runBetween returns the origin of a run that worked in this workspace after the resumed one stopped, or nil if there
// is none or it completed.
func (s *session) runBetween(ctx context.Context) (*ralph.Origin, error) {
	runs, err := s.store.Runs()
	if err != nil {
		return nil, err
	}
	last := s.lastIn(s.plan.Worktree, byActivity(runs))
	if last == nil || last.UpdatedAt.Before(s.state.UpdatedAt) {
		return nil, nil
	}
	return s.originAfter(ctx, last)
}

// originAfter returns the origin of a run after this one, nil if there is none.
func (s *session) originAfter(ctx context.Context, last *fold.State) (*ralph.Origin, error) {
	if last == nil {
		return nil, nil
	}
	origin := originOf(last)
	if origin == nil {
		return nil, nil
	}
	from, to := s.store.SnapshotsOf(last.Started.Worktree), s.store.SnapshotsOf(s.plan.Worktree)
	if origin.Base != "" && origin.Left != "" {
		changes, err := workspace.SnapshotChanges(ctx, from, origin.Base, origin.Left, s.streams.Env)
		if err != nil { // the run cannot compare them, either, and says so
			return origin, nil
		}
		origin.Committed = s.committedSince(ctx, *origin)
		origin.Committed = slices.DeleteFunc(origin.Committed, func(name string) bool { // the others are the user's already
			return !slices.ContainsFunc(changes, func(c ralph.FileChange) bool { return c.Name == name })
		})
	}
	if origin.Base == "" || from == to {
		return origin, nil
	}
	ids, err := s.plan.Workspace.ImportSnapshots(ctx, from, to, []string{origin.Base, origin.Left})
	if err != nil {
		return nil, fmt.Errorf("%w: what run %s left cannot be compared: %w", ralph.ErrIO, last.Run, err)
	}
	origin.Base, origin.Left = ids[0], ids[1]
	return origin, nil
}

// originOf returns the tree before a run, or before earlier ones, that did not complete. It returns nil if the run
// completed, or if no agent worked.
func originOf(last *fold.State) *ralph.Origin {
	h := last.History
	switch {
	case last.LiveStatus() == ralph.StatusCompleted:
		return nil
	case h.Started == 0 && (last.Started.Origin == nil || last.Started.Origin.Run == ""):
		return nil
	case h.Started == 0: // nothing has changed since the run before
		again := *last.Started.Origin
		return &again
	}
	origin := &ralph.Origin{Run: last.Run, Base: h.Base.Snapshot}
	switch {
	case h.LastProvenTree != "": // a task was proven there
		origin.Base = h.LastProvenTree
	case h.Origin != nil:
		origin.Base = h.Origin.Snapshot
		origin.Checks = knownAt(h.Origin.Checks, h.Origin.Snapshot == h.Origin.Checked)
	default:
		ofBase := func(c ralph.CheckResult) bool { return c.Task != "" && c.Tree != h.Base.ID() }
		origin.Checks = knownAt(slices.DeleteFunc(slices.Clone(h.Baseline), ofBase), h.First.Snapshot == h.Base.Snapshot)
	}
	// The agent of a live session may work on after its run.
	if left, recorded := fold.TreeLeft(last); recorded && last.Stopped != nil && !last.Started.InSession {
		origin.Left, origin.Head, origin.Ended = left.Snapshot, left.Head, last.UpdatedAt
	}
	return origin
}

// knownAt returns what is known about checks at an origin from their results on a tree. If the user changed files
// since, a check that passed may fail. The log does not tell which command a hidden check was.
func knownAt(results []ralph.CheckResult, isSameTree bool) []ralph.CheckResult {
	var known []ralph.CheckResult
	for _, c := range results {
		if !c.Hidden && !c.Broken && (isSameTree || !c.Passed) {
			known = append(known, ralph.CheckResult{
				Name: c.Name, Task: c.Task, Command: c.Command, Passed: c.Passed, ExitCode: c.ExitCode, TimedOut: c.TimedOut,
				Tree: c.Tree,
			})
		}
	}
	return known
}

// committedSince lists the files that are as in HEAD, and were committed after a run ended, or in that second, as
// lookBack.committed finds out for one file.
func (s *session) committedSince(ctx context.Context, left ralph.Origin) []string {
	repo := s.plan.Workspace.Repo
	if repo == nil {
		return nil
	}
	now, err := repo.Ask(ctx, "rev-parse", "--verify", "--quiet", "HEAD")
	if err != nil || strings.TrimSpace(now) == left.Head { // there is no commit, or no new one
		return nil
	}
	commits := []string{"log", "--format=%x01%ct", "--name-only", "--no-renames", "--relative", "-z", "HEAD"}
	if left.Head != "" { // otherwise the repository had no commit then
		commits = append(commits, "^"+left.Head)
	}
	listed, err := repo.Ask(ctx, commits...)
	changed, failed := repo.Ask(ctx, "diff", "--name-only", "--no-renames", "--relative", "-z", "HEAD")
	untracked, failedToo := repo.Ask(ctx, "ls-files", "--others", "-z")
	if errors.Join(err, failed, failedToo) != nil { // such as a commit that is gone: no file is known to be the user's
		return nil
	}
	differs := map[string]bool{}
	for name := range strings.SplitSeq(changed+untracked, "\x00") {
		differs[name] = true
	}
	return newestSince(listed, differs, left.Ended.Unix())
}

// newestSince lists the files whose newest commit in a log of names is not older than a time, apart from some.
func newestSince(log string, without map[string]bool, since int64) []string {
	var names []string
	for commit := range strings.SplitSeq(log, "\x01") {
		at, files, _ := strings.Cut(commit, "\x00")
		seconds, err := strconv.ParseInt(strings.TrimSpace(at), 10, 64)
		if err != nil {
			continue
		}
		for name := range strings.SplitSeq(files, "\x00") {
			name = strings.TrimPrefix(name, "\n")
			if name != "" && !without[name] && seconds >= since {
				names = append(names, name)
			}
			without[name] = true // older commits of it do not count
		}
	}
	slices.Sort(names)
	return names
}

package cli

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/runlog"
)

// refusedEarlier returns the files that the last run in this workspace refused and that the user has not
// accepted since: with ralph accept --files, or in a commit.
func (s *session) refusedEarlier(ctx context.Context) *ralph.RefusedEarlier {
	runs, err := s.store.Runs()
	if err != nil || s.plan.Demo {
		return nil
	}
	last := s.lastHere(runs)
	if last == nil {
		return nil
	}
	accepted := acceptedFiles(s.store)
	files := slices.DeleteFunc(last.RefusedFiles(), func(name string) bool {
		return slices.Contains(accepted, name) || s.committedSince(ctx, name, last)
	})
	base := refusedBase(last)
	if len(files) == 0 || base == "" {
		return nil
	}
	return &ralph.RefusedEarlier{Run: last.Run, Base: base, Files: files}
}

// lastHere returns the newest earlier run in the same working tree, nil if there is none. A run in another
// worktree says nothing about the files here.
func (s *session) lastHere(runs []runlog.Summary) *fold.State {
	for _, r := range runs { // newest first
		if r.Run == s.run || r.Broken != "" {
			continue
		}
		state, err := stateOf(s.store, r.Run)
		if err == nil && pathOf(state.Started.Worktree) == pathOf(s.plan.Worktree) {
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

// committedSince reports whether a file is as in HEAD, and was committed after a run ended. An agent chooses
// the dates of its commits, so the commit must also be missing from the history that the run left.
func (s *session) committedSince(ctx context.Context, name string, last *fold.State) bool {
	repo, head := s.plan.Workspace.Repo, last.History.Tree.Head
	if repo == nil {
		return false
	}
	name = ":(literal)" + name // relative to the workspace
	changed, err := repo.Ask(ctx, "status", "--porcelain", "--", name)
	if err != nil || strings.TrimSpace(changed) != "" {
		return false
	}
	commits := []string{"HEAD"}
	if head != "" { // otherwise the repository had no commit then
		commits = append(commits, "^"+head)
	}
	at, err := repo.Ask(ctx, slices.Concat([]string{"log", "-1", "--format=%ct"}, commits, []string{"--", name})...)
	seconds, failed := strconv.ParseInt(strings.TrimSpace(at), 10, 64)
	return err == nil && failed == nil && seconds > last.UpdatedAt.Unix()
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
		if err != nil {
			return err
		}
		names = append(names, inside)
	}
	message := ralph.Message{Kind: ralph.MessageFiles, Text: strings.Join(names, "\n"), Run: personName()}
	if err := sendMessage(store, message); err != nil {
		return err
	}
	list := term.Clean(strings.Join(names, ", "))
	if owner, live := store.Holder(); live {
		return c.printSent("accept", "delivered", owner.Run, "run "+owner.Run+" takes the changes of "+list+" as yours")
	}
	return c.printSent("accept", "queued", "", "the next ralph run or ralph resume takes the changes of "+list+" as yours")
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

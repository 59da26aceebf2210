package cli

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
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
	runs = slices.DeleteFunc(runs, func(r runlog.Summary) bool { return r.Run == s.run || r.Broken != "" })
	if len(runs) == 0 {
		return nil
	}
	last, err := stateOf(s.store, runs[0].Run)
	if err != nil || pathOf(last.Started.Worktree) != pathOf(s.plan.Worktree) || last.History.Base.Snapshot == "" {
		return nil
	}
	accepted := acceptedFiles(s.store)
	files := slices.DeleteFunc(last.RefusedFiles(), func(name string) bool {
		return slices.Contains(accepted, name) || s.committedSince(ctx, name, last.UpdatedAt)
	})
	if len(files) == 0 {
		return nil
	}
	return &ralph.RefusedEarlier{Run: last.Run, Base: last.History.Base.Snapshot, Files: files}
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

// committedSince reports whether a file is as in HEAD, and was committed after a time.
func (s *session) committedSince(ctx context.Context, name string, since time.Time) bool {
	repo := s.plan.Workspace.Repo
	if repo == nil {
		return false
	}
	changed, err := repo.Ask(ctx, "status", "--porcelain", "--", name)
	if err != nil || strings.TrimSpace(changed) != "" {
		return false
	}
	at, err := repo.Ask(ctx, "log", "-1", "--format=%ct", "--", name)
	seconds, failed := strconv.ParseInt(strings.TrimSpace(at), 10, 64)
	return err == nil && failed == nil && seconds > since.Unix()
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

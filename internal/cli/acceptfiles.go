package cli

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/judge"
	"github.com/ralphloop/ralph/runlog"
)

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

// knowsFile reports whether a file or folder is in the workspace or its worktree, or is part of the trusted tree.
// If that is unknown, it reports true.
func (c *acceptCommand) knowsFile(
	ctx context.Context, space workspace.Workspace, store *runlog.Store, last *fold.State, name string,
) bool {
	if exists(filepath.Join(space.Dir, filepath.FromSlash(name))) {
		return true
	}
	if last == nil {
		return false
	}
	worktree := last.Started.Worktree
	if worktree != nil && exists(filepath.Join(worktree.Path, filepath.FromSlash(name))) {
		return true
	}
	trusted, _, err := runlog.ReadTrusted(runlog.TrustedBeside(store.SnapshotsOf(worktree)))
	if err != nil || trusted.Snapshot == "" {
		return err != nil
	}
	files, err := workspace.SnapshotFiles(ctx, store.SnapshotsOf(worktree), trusted.Snapshot, c.streams.Env)
	return err != nil || slices.ContainsFunc(files, func(file string) bool {
		return judge.IsAccepted([]string{name}, file)
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

package cleanup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/diskuse"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/runlog"
)

// worktrees lists the worktrees and branches of runs. Merged ones can be removed at any age.
func (in Input) worktrees(ctx context.Context) ([]Item, error) {
	leftovers, err := in.Workspace.Worktrees(ctx, in.Store.WorktreesDir())
	if err != nil {
		return nil, err
	}
	runs, err := in.Store.Runs()
	if err != nil {
		return nil, err
	}
	how := workspace.RemoveMerged
	if in.Force {
		how = workspace.RemoveAnyway
	}
	return text.Mapped(leftovers, func(l workspace.Leftover) Item {
		item := Item{Kind: Worktree, Path: l.Path, Branch: l.Branch, Why: l.Why}
		item.Removable = l.Ours && !l.Locked && (l.Merged || in.Force)
		if l.Path != "" {
			item.Bytes = diskuse.Of(l.Path).Bytes
		}
		switch r := unendedIn(l, runs); {
		case r == nil || !l.Ours:
		case r.Live:
			item.Removable, item.Why = false, "run "+r.Run+" is using it"
		case !in.Force:
			item.Removable, item.Why = false, "run "+r.Run+" "+canContinue(r.Run)
		}
		item.remove = func(ctx context.Context) error { return in.Workspace.RemoveLeftover(ctx, l, how) }
		return item
	}), nil
}

// unendedIn returns the newest run in a worktree if it has not ended, or nil.
func unendedIn(l workspace.Leftover, runs []runlog.Summary) *runlog.Summary {
	for i, r := range runs {
		if r.Worktree == nil || r.Worktree.Branch != l.Branch {
			continue
		}
		if r.Reason == "" {
			return &runs[i]
		}
		return nil
	}
	return nil
}

func canContinue(run string) string { return "was interrupted and can continue: ralph resume " + run }

// runs lists the runs of the workspace, oldest first.
func (in Input) runs(worktrees []Item) ([]Item, error) {
	runs, err := in.Store.Runs()
	if err != nil {
		return nil, err
	}
	messages, _ := in.Store.Messages() // one that cannot be read is for no run
	look := runLook{Input: in, runs: runs, worktrees: worktrees, messages: messages}
	items := make([]Item, 0, len(runs))
	for i, r := range slices.Backward(runs) {
		item := Item{Kind: Run, Run: r.Run, Path: in.Store.RunDir(r.Run), Bytes: in.Store.Size(r)}
		item.remove = func(context.Context) error { return in.Store.Remove(r.Run) }
		if r.Worktree != nil {
			item.needs = r.Worktree.Branch
		}
		item.Why, item.Usual = look.stays(i)
		if item.Removable = item.Why == ""; item.Removable {
			item.Why = look.endedAgo(r)
		}
		items = append(items, item)
	}
	return items, nil
}

// runLook decides which runs stay.
type runLook struct {
	Input
	runs      []runlog.Summary // newest first
	worktrees []Item
	messages  []ralph.Message
}

// stays returns why a run stays, or "". Usual means that it is only one of the newest.
func (l runLook) stays(at int) (why string, usual bool) {
	r := l.runs[at]
	switch {
	case r.Live && r.Status == ralph.StatusPaused:
		return "it is paused", false
	case r.Live:
		return "it is running", false
	case r.InSession && r.Reason == "" && r.Broken == "":
		return "it is the goal of a live session; end it with ralph goal clear", false
	case r.Broken != "":
		return l.brokenStays(r), false
	case r.Reason == "" && !l.Force:
		return "it " + canContinue(r.Run), false
	case at < l.Keep:
		return "it is one of the newest " + text.Count(l.Keep, "run"), true
	case l.Now.Sub(r.UpdatedAt) < l.Older:
		return "it is not older than " + Days(l.Older), true
	}
	if worktree := l.worktreeOf(r); worktree != "" {
		return worktree, false
	}
	if l.isLast(r) {
		return "the next run compares its files with those of this one", false
	}
	return l.holdsWork(r), false
}

// brokenStays returns why a run stays whose log cannot be read, or "" if it never began.
func (l runLook) brokenStays(r runlog.Summary) string {
	path := filepath.Join(l.Store.RunDir(r.Run), "events.jsonl")
	info, err := os.Stat(path)
	empty := errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0
	if empty && l.Now.Sub(diskuse.Of(l.Store.RunDir(r.Run)).Written) >= strayAge {
		return ""
	}
	return "its log cannot be read: " + r.Broken
}

// isLast reports whether a run is the newest or the last active one in the workspace itself. Those in a
// worktree stay as long as it does.
func (l runLook) isLast(r runlog.Summary) bool {
	if r.Worktree != nil {
		return false
	}
	var newest, active *runlog.Summary
	for i := range l.runs {
		other := &l.runs[i]
		if other.Broken != "" || other.Worktree != nil {
			continue
		}
		if newest == nil {
			newest = other
		}
		if active == nil || other.UpdatedAt.After(active.UpdatedAt) {
			active = other
		}
	}
	return newest.Run == r.Run || active.Run == r.Run
}

// worktreeOf returns why the worktree of a run keeps the run, or "".
func (l runLook) worktreeOf(r runlog.Summary) string {
	switch {
	case r.Worktree == nil || !l.worktreeStays(r):
		return ""
	case l.Workspace.Repo == nil:
		return "its worktree belongs to a repository that is gone"
	}
	return "its branch " + r.Worktree.Branch + " is still there"
}

// worktreeStays reports whether the worktree or the branch of a run will still be there.
func (l runLook) worktreeStays(r runlog.Summary) bool {
	for _, item := range l.worktrees {
		if item.Branch == r.Worktree.Branch || item.Path == r.Worktree.Path {
			return !item.Removable
		}
	}
	_, err := os.Lstat(r.Worktree.Path)
	return l.Workspace.Repo == nil || err == nil
}

// holdsWork returns what would be lost with a run, or "".
func (l runLook) holdsWork(r runlog.Summary) string {
	for _, message := range l.messages {
		if message.Run == r.Run {
			return "a message waits for it: ralph resume " + r.Run
		}
	}
	if r.Status == ralph.StatusCompleted || l.Force {
		return ""
	}
	var state fold.State
	if err := l.Store.Fold(r.Run, &state); err != nil {
		return "its log cannot be read: " + err.Error()
	}
	if len(state.Stashed) > 0 {
		task := state.Stashed[0].Task
		return fmt.Sprintf("it has stashed work on %s: ralph diff %s --task %s", task, r.Run, task)
	}
	return ""
}

func (l runLook) endedAgo(r runlog.Summary) string {
	switch {
	case r.Broken != "":
		return "it never began"
	case r.Reason == "":
		return "it was interrupted " + Days(l.Now.Sub(r.UpdatedAt)) + " ago"
	}
	return "it ended " + Days(l.Now.Sub(r.UpdatedAt)) + " ago"
}

// Days writes an age in its largest unit.
func Days(age time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case age >= day:
		return fmt.Sprintf("%dd", age/day)
	case age >= time.Hour:
		return fmt.Sprintf("%dh", age/time.Hour)
	case age >= time.Minute:
		return fmt.Sprintf("%dm", age/time.Minute)
	}
	return fmt.Sprintf("%ds", max(age, 0)/time.Second)
}

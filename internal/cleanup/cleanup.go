// Package cleanup finds what earlier runs left on the disk, and removes it.
//
// [Find] lists items with the reason why each can be removed or stays. A run can be removed if nothing is
// lost but its record:
//
//   - it has ended; a run that is running, paused or interrupted stays;
//   - its last event is older than [Input.Older], and it is not one of the [Input.Keep] newest runs;
//   - its worktree and its branch are gone, or merged and removed as well; without a worktree, it is
//     neither the newest nor the last active run in the workspace, with which the next run compares its
//     files;
//   - it has no stashed work, and no message waits for it.
//
// [Remove] removes items one by one, each by a rename first, so that a kill leaves no half of one. Then it
// removes the snapshots that no remaining run uses. The next call finishes what a kill cut off.
package cleanup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/diskuse"
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/runlog"
)

// Kind is what an item is.
type Kind string

// The kinds of items.
const (
	Run       Kind = "run"
	Worktree  Kind = "worktree"  // or a branch without one
	Snapshots Kind = "snapshots" // that only removed runs used
	Demo      Kind = "demo"      // the folder of a demo, or the record of its run
	Temporary Kind = "temporary" // what a killed process left
	MicroVM   Kind = "microvm"   // of Docker Sandboxes
)

// Item is something that can be removed, or stays for a reason.
type Item struct {
	Kind      Kind   `json:"kind"`
	Run       string `json:"run_id"` // of a run
	Branch    string `json:"branch"` // of a worktree
	Path      string `json:"path"`
	Bytes     int64  `json:"size_bytes"`
	Removable bool   `json:"removable"`
	Removed   bool   `json:"removed"`
	Why       string `json:"why"` // why it can be removed, or stays

	// Usual means that the item stays because of its age or its number, as most do.
	Usual  bool `json:"-"`
	remove func(context.Context) error
	needs  string // the branch of a run's worktree, which must be gone first
}

// Input says where to look and what to remove.
type Input struct {
	Workspace workspace.Workspace
	Store     *runlog.Store
	Env       config.Env
	Now       time.Time
	Older     time.Duration // the age of runs that can be removed
	Keep      int           // how many runs stay whatever their age
	Force     bool          // also remove unmerged work, and runs that can continue
	// Busy means that another process holds the workspace's lock, so that some of what looks left behind
	// may be in use. Then nothing may be removed.
	Busy bool
}

// Find lists what is there, in the order in which it is removed.
func Find(ctx context.Context, in Input) ([]Item, error) {
	worktrees, err := in.worktrees(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := in.runs(worktrees)
	if err != nil {
		return nil, err
	}
	temporary, err := in.temporary(ctx, worktrees)
	if err != nil {
		return nil, err
	}
	items := append(worktrees, runs...)
	items = append(items, Demos(in.Env.StateDir, in.Now)...)
	items = append(items, in.microVMs()...)
	return append(items, temporary...), nil
}

// RemoveDemos removes earlier demos. What cannot be removed stays for the next call.
func RemoveDemos(ctx context.Context, stateDir string, now time.Time) {
	for _, item := range Demos(stateDir, now) {
		_ = item.remove(ctx)
	}
}

// Remove removes the items that can be removed, and then the snapshots that no run uses any more. It adds
// an item for these if that frees space. The caller holds the workspace's lock. If something cannot be
// removed, Remove continues with the rest and returns the errors.
func Remove(ctx context.Context, in Input, items []Item) ([]Item, error) {
	var failed []error
	left := map[string]bool{} // branches of worktrees that could not be removed
	for i := range items {
		item := &items[i]
		if !item.Removable || ctx.Err() != nil {
			continue
		}
		if item.needs != "" && left[item.needs] {
			item.Removable, item.Why = false, "its worktree could not be removed"
			continue
		}
		if err := item.remove(ctx); err != nil {
			item.Removable, item.Why = false, err.Error()
			failed = append(failed, err)
			left[item.Branch] = true
			continue
		}
		item.Removed = true
	}
	if ctx.Err() != nil {
		failed = append(failed, fmt.Errorf("clean: %w", context.Cause(ctx)))
		return items, errors.Join(failed...)
	}
	pruned, err := in.prune(ctx)
	return append(items, pruned...), errors.Join(append(failed, err)...)
}

// prune removes unused snapshots and returns an item for each folder that shrank.
func (in Input) prune(ctx context.Context) ([]Item, error) {
	use := in.snapshotUse()
	var shrunk []Item
	var failed []error
	for _, folder := range in.Store.AllSnapshots() {
		before := snapshotBytes(folder)
		if err := workspace.PruneSnapshots(ctx, folder, use, in.Env); err != nil {
			failed = append(failed, fmt.Errorf("%w: remove unused snapshots: %w", ralph.ErrIO, err))
		}
		if freed := before - snapshotBytes(folder); freed > 0 {
			shrunk = append(shrunk, Item{
				Kind: Snapshots, Path: folder, Bytes: freed, Removable: true, Removed: true, Why: "no run uses them any more",
			})
		}
	}
	return shrunk, errors.Join(failed...)
}

// snapshotBytes returns the size of a folder of snapshots, with and without git.
func snapshotBytes(folder string) int64 {
	return diskuse.Of(folder).Bytes + diskuse.Of(workspace.PlainFolder(folder)).Bytes
}

package gitrepo

import (
	"context"
	"os"
	"slices"

	"github.com/ralphloop/ralph"
)

// Always names files below the workspace that are part of every copy from now on, even if
// they are ignored. The tree's hash does not count them, so that an agent cannot make
// progress by writing to them; that one of them changed makes a new copy all the same.
// They replace those that were named before.
func (k *Keeper) Always(names []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.always = nil
	for _, name := range names {
		if plainName(name) && name != view {
			k.always = append(k.always, k.repo.prefix+name)
		}
	}
	slices.Sort(k.always)
	k.always = slices.Compact(k.always)
}

// alwaysSum tells what those files look like. They are few and small, and an agent may set
// the time of a file to what it was: nothing is remembered of them.
func (k *Keeper) alwaysSum() string {
	if len(k.always) == 0 {
		return ""
	}
	top, err := os.OpenRoot(k.repo.Top)
	if err != nil {
		return ""
	}
	defer top.Close()
	var forgetful digests
	return forgetful.sum(top, k.always)
}

// alwaysDue tells what those files look like, and lists them if that is not how they were
// taken.
func (k *Keeper) alwaysDue() (sum string, due []string) {
	if sum = k.alwaysSum(); sum == k.alwaysIn {
		return sum, nil
	}
	return sum, k.always
}

// Changes is that of the snapshots.
func (k *Keeper) Changes(ctx context.Context, from, to string) ([]ralph.FileChange, error) {
	return k.snaps.Changes(ctx, from, to)
}

// Files is that of the snapshots.
func (k *Keeper) Files(ctx context.Context, id string) ([]string, error) {
	return k.snaps.Files(ctx, id)
}

// Read is that of the snapshots.
func (k *Keeper) Read(ctx context.Context, id, name string, limit int) ([]byte, error) {
	return k.snaps.Read(ctx, id, name, limit)
}

// Extract is that of the snapshots. Like Join it waits for a snapshot that is being taken,
// whose beginning clears away what a killed harness left half done.
func (k *Keeper) Extract(ctx context.Context, id, dir string, names []string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.snaps.Extract(ctx, id, dir, names)
}

// Join is that of the snapshots.
func (k *Keeper) Join(ctx context.Context, base, from, to string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.snaps.Join(ctx, base, from, to)
}

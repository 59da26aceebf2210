package gitrepo

import (
	"context"

	"github.com/ralphloop/ralph"
)

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

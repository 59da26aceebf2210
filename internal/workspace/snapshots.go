package workspace

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/ralphloop/ralph/gitrepo/plain"
	"github.com/ralphloop/ralph/gitrepo/snapshot"
	"github.com/ralphloop/ralph/internal/atomicfile"
	"github.com/ralphloop/ralph/internal/config"
)

// PackSnapshots packs the snapshots that a run left in a folder of Keep. The caller holds the
// workspace's lock.
func PackSnapshots(ctx context.Context, folder string, env config.Env) error {
	store, err := snapshot.Open(gitProgram(env), folder)
	if errors.Is(err, snapshot.ErrNoSnapshot) { // the run kept none, or without git
		return nil
	}
	if err != nil {
		return err
	}
	return snapshot.Pack(ctx, store)
}

// SnapshotUse says which snapshots are in use.
type SnapshotUse = snapshot.PruneInput

// PruneSnapshots removes the snapshots in a folder of Keep that are not in use, with or without git, and
// the folder if none is left. The caller holds the workspace's lock.
func PruneSnapshots(ctx context.Context, folder string, use SnapshotUse, env config.Env) error {
	store, err := snapshot.Open(gitProgram(env), folder)
	if err == nil {
		err = removeUnused(folder, func() (int, error) { return snapshot.Prune(ctx, store, use) })
	}
	if err != nil && !errors.Is(err, snapshot.ErrNoSnapshot) {
		return err
	}
	folder = PlainFolder(folder)
	if _, err := os.Lstat(folder); err != nil {
		return nil
	}
	return removeUnused(folder, func() (int, error) { return plain.Prune(folder, use.Needs) })
}

// PlainFolder returns the folder of snapshots that are kept without git.
func PlainFolder(folder string) string { return strings.TrimSuffix(folder, ".git") }

func removeUnused(folder string, prune func() (left int, err error)) error {
	left, err := prune()
	if err != nil || left > 0 {
		return err
	}
	return atomicfile.Remove(folder)
}

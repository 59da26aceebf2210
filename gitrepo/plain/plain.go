// Package plain is for workspaces without git. A [Tree] knows a folder by every file in it but those of
// well-known dependency and cache folders: what else would be ignored is not known there.
//
// A [Keeper], made by [Tree.Keep], keeps snapshots, too. They serve to
// compare and to look things up; a workspace cannot be restored from them. Contents are
// files in a folder, named by their hash, and a snapshot is a list of names and hashes, named by
// the hash of that list: the same tree has the same snapshot. The limits are those of package snapshot. A
// file is read again only if its size, its permissions, its times or its inode have
// changed since it was kept, or if that was less than two seconds after it was written.
package plain

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
)

// Tree is a workspace without git. It implements [ralph.Tree] by looking at every file
// but those of well-known dependency and cache folders, up to 200,000 of them. Lines
// that look unfinished are not listed, since nothing tells which of them are new.
type Tree struct {
	Dir string

	mu      sync.Mutex
	digests scan.Digests
}

var _ ralph.Tree = (*Tree)(nil)

// Fingerprint says what the workspace looks like now. Head is "" and Dirty 0: there is
// no commit to differ from.
func (p *Tree) Fingerprint(ctx context.Context, _ ralph.TreeInput) (ralph.TreeState, error) {
	return p.look(ctx, func(*os.Root, []string) {})
}

// look says what the workspace looks like, and shows its files to somebody else.
func (p *Tree) look(ctx context.Context, also func(root *os.Root, names []string)) (ralph.TreeState, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return ralph.TreeState{}, fmt.Errorf("read workspace: %w", context.Cause(ctx))
	}
	dir, err := scan.Canonical(p.Dir)
	var root *os.Root
	if err == nil {
		root, err = os.OpenRoot(dir)
	}
	if err != nil {
		return ralph.TreeState{}, fmt.Errorf("read workspace: %w", err)
	}
	defer root.Close()
	names := slices.DeleteFunc(scan.Walk(dir, "."), func(name string) bool { return name == scan.ProgressFile })
	state := ralph.TreeState{Known: true, Hash: p.digests.Sum(root, names)}
	also(root, names)
	return state, nil
}

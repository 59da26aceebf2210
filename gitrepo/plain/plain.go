// Package plain fingerprints folders without git, by every file in them except those of well-known dependency and
// cache folders. It cannot know what else should be ignored. Package snapshot keeps snapshots of such folders.
package plain

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
)

// Tree is a workspace without git. It implements [ralph.Tree] by reading up to 200,000 files,
// except those of well-known dependency and cache folders. It does not list unfinished lines,
// because it cannot know which lines are new.
type Tree struct {
	Dir string
	// OwnOutput returns the files that receive what the harness prints. They are no part of the tree.
	OwnOutput func() []fs.FileInfo

	mu      sync.Mutex
	digests scan.Digests
}

var (
	_ ralph.Tree    = (*Tree)(nil)
	_ ralph.Stamper = (*Tree)(nil)
)

// Stamp implements [ralph.Stamper] for the files that Fingerprint reads, and their folders.
func (p *Tree) Stamp(ctx context.Context, leaveOut func(name string) bool) (ralph.Stamp, error) {
	if err := ctx.Err(); err != nil {
		return ralph.Stamp{}, fmt.Errorf("read workspace: %w", context.Cause(ctx))
	}
	dir, err := scan.Canonical(p.Dir)
	if err != nil {
		return ralph.Stamp{}, fmt.Errorf("read workspace: %w", err)
	}
	isOutput := scan.SameAs(dir, p.OwnOutput)
	return scan.StampAll(dir, func(name string) bool {
		folder, isFolder := strings.CutSuffix(name, "/")
		isOwn := name == scan.ProgressFile || path.Base(name) == ".git" || isFolder && scan.IsCache(path.Base(folder))
		return isOwn || leaveOut(name) || isOutput(name)
	}), nil
}

// Names lists the files of the workspace, as far as they are read.
func (p *Tree) Names() []string { return scan.Walk(p.Dir, ".") }

// Fingerprint returns the state of the workspace. Head is "" and Dirty is 0, because there is no
// commit to differ from.
func (p *Tree) Fingerprint(ctx context.Context, _ ralph.TreeInput) (ralph.TreeState, error) {
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
	isOutput := scan.SameAs(dir, p.OwnOutput)
	names := slices.DeleteFunc(scan.Walk(dir, "."), func(name string) bool {
		return name == scan.ProgressFile || isOutput(name)
	})
	return ralph.TreeState{Known: true, Hash: p.digests.Sum(root, names)}, nil
}

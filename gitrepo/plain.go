package gitrepo

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ralphloop/ralph"
)

// walkLimit is how many files of a folder are looked at.
const walkLimit = 200_000

// Plain is a workspace without git. It implements [ralph.Tree] by looking at every file
// but those of well-known dependency and cache folders, up to 200,000 of them. Lines
// that look unfinished are not listed, since nothing tells which of them are new.
type Plain struct {
	Dir string

	mu      sync.Mutex
	digests digests
}

var _ ralph.Tree = (*Plain)(nil)

// Fingerprint says what the workspace looks like now. Head is "" and Dirty 0: there is
// no commit to differ from.
func (p *Plain) Fingerprint(ctx context.Context, _ ralph.TreeInput) (ralph.TreeState, error) {
	return p.look(ctx, func(*os.Root, []string) error { return nil })
}

// look says what the workspace looks like, and shows its files to somebody else.
func (p *Plain) look(ctx context.Context, also func(root *os.Root, names []string) error) (ralph.TreeState, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return ralph.TreeState{}, fmt.Errorf("read workspace: %w", context.Cause(ctx))
	}
	dir, err := canonical(p.Dir)
	if err != nil {
		return ralph.TreeState{}, fmt.Errorf("read workspace: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return ralph.TreeState{}, fmt.Errorf("read workspace: %w", err)
	}
	defer root.Close()
	names := slices.DeleteFunc(walk(dir, "."), func(name string) bool { return name == view })
	state := ralph.TreeState{Known: true, Hash: p.digests.sum(root, names)}
	return state, also(root, names)
}

// walk lists the files below a folder of top, with slashes and relative to top, in a
// fixed order. Links are listed, not followed; what cannot be read is left out.
func walk(top, folder string) []string { return walkSome(top, folder, walkLimit) }

func walkSome(top, folder string, limit int) []string {
	var names []string
	start := filepath.Join(top, filepath.FromSlash(folder))
	_ = filepath.WalkDir(start, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case entry.IsDir():
			if path != start && cache(entry.Name()) {
				return fs.SkipDir
			}
			return nil
		case entry.Name() == ".git": // of a submodule
			return nil
		case len(names) == limit:
			return fs.SkipAll
		}
		if name, err := filepath.Rel(top, path); err == nil {
			names = append(names, filepath.ToSlash(name))
		}
		return nil
	})
	return names
}

// cache reports whether a folder of this name holds what programs made or fetched.
func cache(folder string) bool {
	switch folder {
	case ".git", ".hg", ".svn", ".jj", "node_modules", ".venv", "venv", "target", "__pycache__", ".tox", ".nox", ".gradle", ".next", ".nuxt", ".terraform", ".direnv":
		return true
	}
	return strings.HasPrefix(folder, ".") && strings.HasSuffix(folder, "cache")
}

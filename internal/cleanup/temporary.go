package cleanup

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/ralphloop/ralph/internal/diskuse"
	"github.com/ralphloop/ralph/internal/proof/pristine"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/internal/workspace"
)

// strayAge is the age from which a file counts as left behind where a process may use it without a lock.
const strayAge = 24 * time.Hour

// temporary lists what killed processes left in the workspace's state, in the workspace, in its worktrees
// and in the system's temporary folder.
func (in Input) temporary(ctx context.Context, worktrees []Item) ([]Item, error) {
	items := systemTemporary(in.Now)
	if in.Busy {
		return items, nil
	}
	for _, path := range in.Store.Leftovers() {
		items = append(items, leftover(path))
	}
	views := in.Store.ViewsDir()
	if entries, _ := os.ReadDir(views); len(entries) > 0 {
		item := leftover(views)
		item.remove = func(context.Context) error { return pristine.Sweep(views) }
		items = append(items, item)
	}
	names, err := in.Workspace.Strays(ctx)
	if err != nil {
		return nil, err
	}
	for _, item := range worktrees {
		// A run of another workspace may be using its worktrees.
		if item.Path == "" || item.Removable || !workspace.LiesIn(in.Store.WorktreesDir(), item.Path) {
			continue
		}
		tree, err := workspace.At(ctx, item.Path, in.Env)
		if err != nil {
			continue // it is gone, or an agent broke it
		}
		more, _ := tree.Strays(ctx) // the same
		names = append(names, more...)
	}
	for _, name := range names {
		items = append(items, leftover(name))
	}
	return items, nil
}

func leftover(path string) Item {
	return Item{
		Kind: Temporary, Path: path, Bytes: diskuse.Of(path).Bytes, Removable: true, Why: "a killed process left it",
		remove: func(context.Context) error { return os.RemoveAll(path) },
	}
}

// systemNames matches the names of our files and folders in the system's temporary folder, as
// os.CreateTemp and os.MkdirTemp make them.
var systemNames = text.LazyRegexp(
	`^ralph-(?:agent|doctor|hook|ids|list|mcp-[0-9A-Z]+|merge|message|plan|probe|room|sandbox)-[0-9]+(?:\.json)?$`,
)

// systemTemporary lists our files in the system's temporary folder that were not written for a day.
func systemTemporary(now time.Time) []Item {
	var items []Item
	entries, _ := os.ReadDir(os.TempDir()) // a folder that cannot be read has nothing of ours
	for _, entry := range entries {
		path := filepath.Join(os.TempDir(), entry.Name())
		if !systemNames().MatchString(entry.Name()) || !isOld(path, now, strayAge) {
			continue
		}
		items = append(items, leftover(path))
	}
	return items
}

// isOld reports whether a path is ours and nothing in it was written for some time.
func isOld(path string, now time.Time, age time.Duration) bool {
	info, err := os.Lstat(path)
	return err == nil && diskuse.Mine(info) && now.Sub(diskuse.Of(path).Written) >= age
}

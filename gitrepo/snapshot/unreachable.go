package snapshot

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxUnreachable limits the objects that are hidden, because hiding each costs a view some time.
const maxUnreachable = 5000

// looseObjects lists the objects of the repository that have a file of their own, as "ab/cdef…".
func (c *commits) looseObjects() map[string]bool {
	found := map[string]bool{}
	objects := filepath.Join(c.keeper.home.Common, "objects")
	folders, _ := os.ReadDir(objects) // without objects nothing is hidden
	for _, folder := range folders {
		if len(folder.Name()) != 2 {
			continue
		}
		files, _ := os.ReadDir(filepath.Join(objects, folder.Name()))
		for _, file := range files {
			found[folder.Name()+"/"+file.Name()] = true
		}
	}
	return found
}

// Unreachable implements [ralph.CommitKeeper].
func (c *commits) Unreachable(ctx context.Context) ([]string, error) {
	c.keeper.mu.Lock()
	defer c.keeper.mu.Unlock()
	inside, err := filepath.Rel(c.keeper.repo.Dir, filepath.Join(c.keeper.home.Common, "objects"))
	if err != nil || !filepath.IsLocal(inside) {
		return nil, nil // it is in no view
	}
	added := c.looseObjects()
	for name := range c.loose {
		delete(added, name)
	}
	if len(added) == 0 {
		return nil, nil
	}
	list := []string{"rev-list", "--objects", "--no-object-names", "--indexed-objects"}
	branches := []string{"--branches", "--remotes", "--tags"}
	if c.head != "" {
		list = append(list, "HEAD", "^"+c.head)
	}
	out, err := c.keeper.repo.Ask(ctx, slices.Concat(list, branches)...)
	if err != nil && ctx.Err() == nil {
		out, err = c.keeper.repo.Ask(ctx, list...) // a branch may be broken
	}
	if ctx.Err() != nil {
		return nil, err
	}
	if err != nil {
		out = "" // in a repository that cannot be read, no commit leads to them
	}
	for id := range strings.Lines(out) {
		if id = strings.TrimSpace(id); len(id) > 2 {
			delete(added, id[:2]+"/"+id[2:])
		}
	}
	var names []string
	for name := range added {
		if len(names) < maxUnreachable {
			names = append(names, filepath.ToSlash(filepath.Join(inside, filepath.FromSlash(name))))
		}
	}
	return names, nil
}

package snapshot

import (
	"bytes"
	"context"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"regexp"
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
	now, err := c.keeper.look(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	if followed := (reachability{Keeper: c.keeper, added: maps.Clone(added)}); err == nil && followed.follow(now) {
		added = followed.added
	} else if err := c.askReachable(ctx, added); err != nil {
		return nil, err
	}
	var names []string
	for name := range added {
		if len(names) < maxUnreachable {
			names = append(names, filepath.ToSlash(filepath.Join(inside, filepath.FromSlash(name))))
		}
	}
	return names, nil
}

// askReachable takes from added what git reaches.
func (c *commits) askReachable(ctx context.Context, added map[string]bool) error {
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
		return err
	}
	if err != nil {
		out = "" // in a repository that cannot be read, no commit leads to them
	}
	for id := range strings.Lines(out) {
		if id = strings.TrimSpace(id); len(id) > 2 {
			delete(added, id[:2]+"/"+id[2:])
		}
	}
	return nil
}

// reachability follows the repository's new objects without a call of git. An old object leads to no new one.
type reachability struct {
	*Keeper
	added map[string]bool // that nothing has led to yet, as "ab/cdef…"
	open  []string        // ids of objects to follow
}

// inClone matches the refs that a clone has.
var inClone = regexp.MustCompile(`^refs/(heads|remotes|tags)/`)

// follow takes from added what HEAD, the refs and the index lead to. It returns false if anything is unusual; then
// git must be asked.
func (r *reachability) follow(now repository) bool {
	index, readable := readIndex(filepath.Join(r.home.GitDir, "index"), r.hash())
	if !readable {
		return false
	}
	for _, file := range index.Files {
		r.reach(hex.EncodeToString(file.ID))
	}
	for _, tree := range index.Trees {
		r.follows(hex.EncodeToString(tree.ID))
	}
	r.follows(now.headID())
	for _, one := range now.refs {
		if inClone.MatchString(one.name) {
			r.follows(one.id)
		}
	}
	for len(r.open) > 0 {
		id := r.open[len(r.open)-1]
		r.open = r.open[:len(r.open)-1]
		object, ok := inflate(filepath.Join(r.home.Common, "objects", id[:2], id[2:]), id, r.hash())
		head, body, _ := bytes.Cut(object, []byte{0})
		kind, _, _ := strings.Cut(string(head), " ")
		switch {
		case !ok:
			return false
		case kind == "tree":
			ok = r.followTree(body)
		case kind == "commit" || kind == "tag":
			r.followHead(string(body))
		}
		if !ok {
			return false
		}
	}
	return true
}

// reach takes an object from added, and reports whether it was there.
func (r *reachability) reach(id string) bool {
	if len(id) < 3 {
		return false
	}
	name := id[:2] + "/" + id[2:]
	isNew := r.added[name]
	delete(r.added, name)
	return isNew
}

// follows does the same, and what the object leads to is looked at later.
func (r *reachability) follows(id string) {
	if r.reach(id) {
		r.open = append(r.open, id)
	}
}

// followTree follows the entries of a tree: mode, space, name, NUL, id.
func (r *reachability) followTree(body []byte) bool {
	size := r.hash().Size()
	for len(body) > 0 {
		entry, rest, found := bytes.Cut(body, []byte{0})
		if !found || len(rest) < size {
			return false
		}
		id := hex.EncodeToString(rest[:size])
		if mode, _, _ := bytes.Cut(entry, []byte(" ")); string(mode) == "40000" {
			r.follows(id)
		} else {
			r.reach(id)
		}
		body = rest[size:]
	}
	return true
}

// followHead follows the lines of a commit or a tag that name objects.
func (r *reachability) followHead(body string) {
	for line := range strings.Lines(body) {
		key, id, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch key {
		case "tree", "parent", "object":
			r.follows(id)
		default: // all of these come first
			return
		}
	}
}

package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/manifest"
	"github.com/ralphloop/ralph/internal/text"
)

// PruneInput says which snapshots stay.
type PruneInput struct {
	// Keeps reports whether the snapshots of a run stay.
	Keeps func(run string) bool
	// Needs reports whether a snapshot stays, with those it was made from, whichever run took it.
	Needs func(id string) bool
}

// pruning is a file that exists from before the first ref is removed until the space is free, so that
// the next call finishes what a kill cut off.
const pruning = "pruning"

// Prune removes the snapshots of runs that are gone, and frees the space that only they use. It returns
// how many refs are left: without any, the folder is of no use. The repository's own objects stay. The
// caller holds the workspace's lock, so no other process adds snapshots meanwhile; others may read.
func Prune(ctx context.Context, s *Store, in PruneInput) (left int, err error) {
	left, err = pruner{s, in}.prune(ctx)
	if err != nil {
		return 0, fmt.Errorf("prune snapshots: %w", err)
	}
	return left, nil
}

// pruner removes snapshots from a store.
type pruner struct {
	*Store
	PruneInput
}

func (p pruner) prune(ctx context.Context) (left int, err error) {
	p.removeLocks()
	all, err := p.refsOfRuns(ctx)
	if err != nil {
		return 0, err
	}
	gone := slices.DeleteFunc(slices.Clone(all), p.stays)
	if _, err := os.Lstat(p.path(pruning)); len(gone) == 0 && err != nil {
		return len(all), nil
	}
	needed, err := p.nameNeeded(ctx, all, gone)
	if err == nil {
		err = p.write(pruning, nil)
	}
	if err == nil {
		gone = slices.DeleteFunc(gone, func(r ref) bool { return slices.Contains(needed, r.name) })
		err = p.dropRefs(ctx, gone)
	}
	if err == nil {
		err = p.collect(ctx)
	}
	if err != nil {
		return 0, err
	}
	all, err = p.refsOfRuns(ctx)
	return len(all), err
}

// stays reports whether a ref stays whatever other refs there are.
func (p pruner) stays(r ref) bool {
	return r.run() == restoring || p.Keeps(r.run()) || r.name == neededRef(r.run(), r.id) && p.Needs(r.id)
}

// neededRef returns the ref of a snapshot that outlives its run.
func neededRef(run, id string) string { return runRefs(run) + "needed-" + id }

func (p pruner) refsOfRuns(ctx context.Context) ([]ref, error) {
	out, err := p.run(ctx, "for-each-ref", refFormat, "refs/ralph/")
	return parseRefs(out), err
}

// run returns the run of a ref that runRefs named.
func (r ref) run() string {
	run, _, _ := strings.Cut(strings.TrimPrefix(r.name, "refs/ralph/"), "/")
	return run
}

// nameNeeded gives a ref to each needed snapshot that only refs in gone lead to, and returns these refs.
func (p pruner) nameNeeded(ctx context.Context, all, gone []ref) ([]string, error) {
	if len(gone) == 0 {
		return nil, nil
	}
	var question strings.Builder
	for _, r := range all {
		if !slices.Contains(gone, r) {
			question.WriteByte('^')
		}
		question.WriteString(r.id + "\n")
	}
	lost, err := p.feed(ctx, p.call, question.String(), git.Call{Args: []string{"rev-list", "--stdin"}})
	if err != nil {
		return nil, err
	}
	var names []string
	for id := range strings.Lines(lost) {
		id = strings.TrimSpace(id)
		if !p.Needs(id) {
			continue
		}
		c, err := p.read(ctx, id)
		if errors.Is(err, ErrNoSnapshot) { // such as the record of a repository
			continue
		}
		name := neededRef(c.run, id)
		if err == nil {
			err = p.setRef(name, id)
		}
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// dropRefs removes refs, and HEAD if it leads to the snapshot of a run that is gone: the next snapshot
// then continues from none.
func (p pruner) dropRefs(ctx context.Context, gone []ref) error {
	head, err := os.ReadFile(p.path("HEAD"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if id := strings.TrimSpace(string(head)); manifest.ID().MatchString(id) {
		last, err := p.read(ctx, id)
		if err != nil || last.run != restoring && !p.Keeps(last.run) {
			if err := p.write("HEAD", []byte("ref: refs/ralph/none\n")); err != nil {
				return err
			}
		}
	}
	if len(gone) == 0 {
		return nil
	}
	var orders strings.Builder
	for _, r := range gone {
		fmt.Fprintf(&orders, "delete %s\n", r.name)
	}
	_, err = p.feed(ctx, p.call, orders.String(), git.Call{Args: []string{"update-ref", "--stdin"}})
	return err
}

// collect packs all that refs and the index lead to, and removes everything else. Git only adds a pack:
// if this process is killed, a git that goes on for a moment deletes nothing that a new run may use.
func (p pruner) collect(ctx context.Context) error {
	if _, err := p.run(ctx, "pack-refs", "--all", "--prune"); err != nil {
		return err
	}
	old := p.objectFiles()
	args := slices.Concat(packing, []string{
		"pack-objects", "-q", "--all", "--indexed-objects", "--local", "--non-empty", "--delta-base-offset",
		"objects/pack/pack",
	})
	made, err := p.feed(ctx, p.call, "", git.Call{Args: args})
	if err != nil {
		return err
	}
	name := "pack-" + strings.TrimSpace(made) + "."
	for _, file := range old {
		if strings.HasPrefix(filepath.Base(file), name) {
			continue
		}
		if err := os.Remove(file); err != nil {
			return err
		}
		if dir := filepath.Dir(file); filepath.Base(dir) != "pack" {
			os.Remove(dir) // fails as long as it has other files
		}
	}
	return os.Remove(p.path(pruning))
}

// objectFiles lists the files of all objects, and what killed processes left beside them. Indexes come
// first: without its index git does not use a pack.
func (p pruner) objectFiles() []string {
	files := filesIn(p.path("objects/pack"))
	isIndex := func(file string) bool { return filepath.Ext(file) == ".idx" }
	packs := slices.DeleteFunc(slices.Clone(files), isIndex)
	files = append(slices.DeleteFunc(files, func(file string) bool { return !isIndex(file) }), packs...)
	folders, _ := os.ReadDir(p.path("objects")) // without objects there is nothing to remove
	for _, folder := range folders {
		if objectFolder().MatchString(folder.Name()) {
			files = append(files, filesIn(p.path("objects/"+folder.Name()))...)
		}
	}
	return files
}

// filesIn returns the paths of what is in a folder, none if it is missing.
func filesIn(folder string) []string {
	entries, _ := os.ReadDir(folder)
	return text.Mapped(entries, func(entry fs.DirEntry) string { return filepath.Join(folder, entry.Name()) })
}

// removeLocks removes what a killed git left: its locks, and packs that it did not finish.
func (p pruner) removeLocks() {
	for _, file := range append(filesIn(p.dir), filesIn(p.path("objects/pack"))...) {
		name := filepath.Base(file)
		if strings.HasSuffix(name, ".lock") || strings.HasPrefix(name, "tmp_") || strings.HasPrefix(name, ".tmp-") {
			os.Remove(file)
		}
	}
	_ = filepath.WalkDir(p.path("refs"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".lock") {
			os.Remove(path)
		}
		return nil // git says what it cannot read
	})
}

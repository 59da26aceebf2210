// Package plain handles workspaces without git. A [Tree] identifies a folder by every file in it
// except those of well-known dependency and cache folders. It cannot know what else should be
// ignored.
//
// A [Keeper], returned by [Tree.Keep], also keeps snapshots. They serve to compare trees and to
// look up files; a workspace cannot be restored from them. Contents are files in a folder, named by
// their hash. A snapshot is a list of names and hashes, named by the hash of that list, so the same
// tree has the same snapshot. The limits are those of package snapshot. A file is read again only
// if its size, permissions, times or inode changed since it was saved, or if it was saved less than
// two seconds after it was written.
package plain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/manifest"
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
	_ ralph.Stamper = (*Keeper)(nil)
)

// Fingerprint returns the state of the workspace. Head is "" and Dirty is 0, because there is no
// commit to differ from.
func (p *Tree) Fingerprint(ctx context.Context, _ ralph.TreeInput) (ralph.TreeState, error) {
	return p.scan(ctx, func(*os.Root, []string) {})
}

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

// scan returns the state of the workspace and passes its files to also.
func (p *Tree) scan(ctx context.Context, also func(root *os.Root, names []string)) (ralph.TreeState, error) {
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
	state := ralph.TreeState{Known: true, Hash: p.digests.Sum(root, names)}
	also(root, names)
	return state, nil
}

// Keeper saves a snapshot of a workspace without git whenever it has changed. It implements
// [ralph.Tree] and [ralph.Snapshots]. Several goroutines may use it, but only one Keeper may use a
// snapshot folder.
type Keeper struct {
	tree  *Tree
	store *store

	mu     sync.Mutex
	last   map[string]sighting // files seen by this process
	hasher manifest.Hasher
}

var (
	_ ralph.Tree      = (*Keeper)(nil)
	_ ralph.Snapshots = (*Keeper)(nil)
)

// sighting is the state of a file when it was last saved or left out.
type sighting struct {
	look scan.Stamp
	file manifest.Entry   // the last saved version; the mode is empty if there is none
	out  manifest.LeftOut // why the last version seen was not saved
}

// Keep returns a Keeper that stores its snapshots in a folder, which it creates if needed. The
// folder must be outside the workspace.
func (p *Tree) Keep(folder string) (*Keeper, error) {
	folder, err := scan.Outside(p.Dir, folder, "keep snapshots")
	if err != nil {
		return nil, err
	}
	kept, err := newStore(folder)
	if err != nil {
		return nil, fmt.Errorf("keep snapshots: %w", err)
	}
	return &Keeper{tree: p, store: kept}, nil
}

// Fingerprint is that of Tree, with the name of a snapshot of the same tree. If no snapshot could
// be taken, Omitted says why.
func (k *Keeper) Fingerprint(ctx context.Context, _ ralph.TreeInput) (ralph.TreeState, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var id string
	var left []string
	var failed error
	state, err := k.tree.scan(ctx, func(root *os.Root, names []string) {
		id, left, failed = k.take(ctx, root, names)
	})
	if err != nil {
		return state, err
	}
	if failed != nil {
		if ctx.Err() != nil {
			return ralph.TreeState{}, fmt.Errorf("read workspace: %w", context.Cause(ctx))
		}
		left = []string{"no snapshot was kept: " + scan.Shorten(failed.Error())}
	}
	state.Snapshot, state.Omitted = id, left
	return state, nil
}

// Stamp is that of Tree.
func (k *Keeper) Stamp(ctx context.Context, leaveOut func(name string) bool) (ralph.Stamp, error) {
	return k.tree.Stamp(ctx, leaveOut)
}

// take saves a snapshot. It reads only files that changed since they were last saved.
func (k *Keeper) take(ctx context.Context, root *os.Root, names []string) (id string, left []string, err error) {
	next := make(map[string]sighting, len(names))
	looks := map[string]scan.Stamp{}
	var due manifest.Differences
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(root.Name(), filepath.FromSlash(name)))
		if err != nil {
			continue // deleted meanwhile
		}
		before := k.last[name]
		next[name] = before
		if look := scan.StampOf(info); before.look != look {
			due.Changed = append(due.Changed, name)
			looks[name] = look
		}
	}
	load := manifest.Select(root, due)
	for _, name := range load.Gone {
		delete(next, name)
	}
	for _, out := range load.Left {
		// It stays left out as long as it is unchanged, so that one tree has one snapshot.
		next[out.Name] = sighting{looks[out.Name], next[out.Name].file, out}
	}
	for _, name := range load.Take {
		if ctx.Err() != nil {
			return "", nil, context.Cause(ctx)
		}
		seen, err := k.save(root, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			delete(next, name)
		case err != nil:
			return "", nil, err
		default:
			next[name] = seen
		}
	}
	return k.list(root, next)
}

// list saves a snapshot of the files in seen.
func (k *Keeper) list(root *os.Root, seen map[string]sighting) (id string, left []string, err error) {
	files := make([]manifest.Entry, 0, len(seen))
	var out manifest.Selection
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		if file := seen[name].file; file.Mode != "" {
			files = append(files, file)
		}
		if seen[name].out.Why != "" {
			out.Left = append(out.Left, seen[name].out)
		}
	}
	if id, err = k.store.putList(files, k.hasher.Hash(root, out.Left)); err != nil {
		return "", nil, err
	}
	k.last = seen
	left = out.Sentences()
	if len(seen) >= scan.WalkLimit-1 { // one of them may have been the progress file
		left = append(
			left,
			fmt.Sprintf("the workspace has more than %d files; the snapshot does not have the rest", scan.WalkLimit),
		)
	}
	return id, left, nil
}

// save saves one file. It checks the file's state before it reads the content, so that a file that
// is written meanwhile is read again.
func (k *Keeper) save(root *os.Root, name string) (sighting, error) {
	info, err := root.Lstat(filepath.FromSlash(name))
	if err != nil {
		return sighting{}, err
	}
	seen := sighting{file: manifest.Entry{Mode: manifest.ModeFile, Name: name}}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		seen.file.Mode = manifest.ModeLink
		var target string
		if target, err = root.Readlink(filepath.FromSlash(name)); err == nil {
			seen.file.ID, err = k.store.put(strings.NewReader(target))
		}
	default:
		if scan.Executable(info) == "program" {
			seen.file.Mode = manifest.ModeProgram
		}
		f, ok := scan.Open(root, name)
		if !ok {
			return sighting{}, fs.ErrNotExist // or no longer a regular file
		}
		defer f.Close()
		seen.file.ID, err = k.store.put(f)
	}
	look := scan.StampOf(info)
	if time.Since(time.Unix(0, max(look.Written, look.Changed))) > scan.Settled {
		seen.look = look
	}
	return seen, err
}

// Changes lists the files that differ between two snapshots. Files that were too large for them are
// compared by their digests.
func (k *Keeper) Changes(_ context.Context, from, to string) ([]ralph.FileChange, error) {
	before, err := k.store.side(from)
	after, failed := k.store.side(to)
	if err = cmp.Or(err, failed); err != nil {
		return nil, fmt.Errorf("compare snapshots: %w", err)
	}
	edits := manifest.WithHashes(manifest.Compare(before.Files, after.Files), before, after)
	return manifest.FileChanges(edits), nil
}

func (k *Keeper) edits(from, to string) ([]manifest.Edit, error) {
	before, err := k.store.files(from)
	if err != nil {
		return nil, err
	}
	after, err := k.store.files(to)
	if err != nil {
		return nil, err
	}
	return manifest.Compare(before, after), nil
}

// Between summarizes the changes from one snapshot to another. It does not count lines.
func (k *Keeper) Between(_ context.Context, from, to string) (string, error) {
	edits, err := k.edits(from, to)
	if err != nil {
		return "", fmt.Errorf("sum up changes: %w", err)
	}
	sum := manifest.Summary{Files: len(edits)}
	for _, e := range edits {
		if e.Before.Mode == manifest.ModeNone {
			sum.Created++
		}
	}
	return sum.String(), nil
}

// Diff returns no patch, because this package does not compare lines.
func (k *Keeper) Diff(context.Context, string, string, int) (patch string, cut bool, err error) {
	return "", false, nil
}

// Files lists the files of a snapshot.
func (k *Keeper) Files(_ context.Context, id string) ([]string, error) {
	files, err := k.store.files(id)
	return manifest.Names(files), err
}

// Read returns up to limit bytes of a file in a snapshot, or the target of a link.
func (k *Keeper) Read(_ context.Context, id, name string, limit int) ([]byte, error) {
	files, err := k.store.files(id)
	if err != nil {
		return nil, err
	}
	file, there := manifest.Find(files, name)
	if !there {
		return nil, manifest.NotFound(name)
	}
	text, err := k.store.read(file.ID, limit)
	if err != nil {
		return nil, fmt.Errorf("read snapshot %s: %w", id, err)
	}
	return text, nil
}

// Extract writes files of a snapshot below a folder, like Extract in package snapshot.
func (k *Keeper) Extract(ctx context.Context, id, dir string, names []string) error {
	files, err := k.store.files(id)
	if err != nil {
		return err
	}
	return manifest.Extract(ctx, k.store, files, dir, names)
}

// WithFiles saves a snapshot with some files as they are in another one.
func (k *Keeper) WithFiles(_ context.Context, id, from string, names []string) (string, error) {
	onto, err := k.store.side(id)
	other, failed := k.store.side(from)
	made := ""
	if err = cmp.Or(err, failed); err == nil {
		replaced := manifest.NameSet(names)
		edits := slices.DeleteFunc(manifest.Compare(onto.Files, other.Files), func(e manifest.Edit) bool {
			return !replaced[e.Name]
		})
		made, err = k.store.putList(manifest.Apply(onto.Files, edits), onto.Left.With(other.Left, names))
	}
	if err != nil {
		return "", fmt.Errorf("replace files of a snapshot: %w", err)
	}
	return made, nil
}

// Join saves a snapshot of base with all changes between from and to.
func (k *Keeper) Join(_ context.Context, base, from, to string) (string, error) {
	onto, err := k.store.side(base)
	before, failed := k.store.side(from)
	after, lost := k.store.side(to)
	id := ""
	if err = cmp.Or(err, failed, lost); err == nil {
		edits := manifest.Compare(before.Files, after.Files)
		id, err = k.store.putList(manifest.Apply(onto.Files, edits), onto.Left.Joined(before.Left, after.Left))
	}
	if err != nil {
		return "", fmt.Errorf("join snapshots: %w", err)
	}
	return id, nil
}

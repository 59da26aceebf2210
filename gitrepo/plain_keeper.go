package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/ralphloop/ralph"
)

// PlainKeeper is a workspace without git of which a copy is kept whenever it has changed.
// It implements [ralph.Tree], [ralph.Copies] and [ralph.Comparer] and may be used by several
// goroutines, but only one PlainKeeper may be at work on a folder of copies.
type PlainKeeper struct {
	plain *Plain
	store *store

	mu   sync.Mutex
	last map[string]sighting // by this process
}

var (
	_ ralph.Tree     = (*PlainKeeper)(nil)
	_ ralph.Copies   = (*PlainKeeper)(nil)
	_ ralph.Comparer = (*PlainKeeper)(nil)
)

// sighting is a file as it was seen when it was kept, or left out.
type sighting struct {
	look appearance
	file entry   // the last that was kept; with an empty mode none was
	out  leftOut // says why not the last that was seen
}

// appearance tells whether a file has been written. Its zero value is that of no file.
type appearance struct {
	mode           fs.FileMode
	size           int64
	written, moved int64 // when its content, and when anything about it changed
	inode          uint64
}

func appearanceOf(info fs.FileInfo) appearance {
	return appearance{info.Mode(), info.Size(), info.ModTime().UnixNano(), changeTime(info), inode(info)}
}

// Keep makes a PlainKeeper that has its copies in a folder, which is made if it is not
// there. It must lie outside of the workspace.
func (p *Plain) Keep(folder string) (*PlainKeeper, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, fmt.Errorf("keep copies: %w", err)
	}
	workspace, err := os.Stat(p.Dir)
	if err != nil {
		return nil, fmt.Errorf("keep copies: %w", err)
	}
	if below(workspace, folder) {
		return nil, fmt.Errorf("keep copies in %s: it lies in the workspace and would hold itself; choose a state folder elsewhere", folder)
	}
	kept, err := newStore(folder)
	if err != nil {
		return nil, fmt.Errorf("keep copies: %w", err)
	}
	return &PlainKeeper{plain: p, store: kept}, nil
}

// Fingerprint is that of Plain, and the name of a copy of that very tree. If none can be
// made, Left says why.
func (k *PlainKeeper) Fingerprint(ctx context.Context, _ ralph.TreeInput) (ralph.TreeState, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var id string
	var left []string
	var failed error
	state, err := k.plain.look(ctx, func(root *os.Root, names []string) error {
		id, left, failed = k.take(ctx, root, names)
		return nil
	})
	if err != nil {
		return state, err
	}
	if failed != nil {
		if ctx.Err() != nil {
			return ralph.TreeState{}, fmt.Errorf("read workspace: %w", context.Cause(ctx))
		}
		state.Left = []string{"no snapshot was kept: " + shorten(failed.Error())}
		return state, nil
	}
	state.Snapshot, state.Left = id, left
	return state, nil
}

// take keeps a copy of files. Only those are read that look other than they did when they
// were kept.
func (k *PlainKeeper) take(ctx context.Context, root *os.Root, names []string) (id string, left []string, err error) {
	next := make(map[string]sighting, len(names))
	looks := map[string]appearance{}
	var due differences
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(root.Name(), filepath.FromSlash(name)))
		if err != nil {
			continue // gone meanwhile
		}
		before := k.last[name]
		next[name] = before
		if look := appearanceOf(info); before.look != look {
			due.changed = append(due.changed, name)
			looks[name] = look
		}
	}
	load := weigh(root, due)
	for _, name := range load.gone {
		delete(next, name)
	}
	for _, out := range load.left {
		// It stays left out for as long as it looks like this, so that one tree has one copy.
		next[out.name] = sighting{looks[out.name], next[out.name].file, out}
	}
	for _, name := range load.take {
		if ctx.Err() != nil {
			return "", nil, context.Cause(ctx)
		}
		seen, err := k.keep(root, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			delete(next, name)
		case err != nil:
			return "", nil, err
		default:
			next[name] = seen
		}
	}
	return k.list(next)
}

// list makes a copy of what was seen.
func (k *PlainKeeper) list(seen map[string]sighting) (id string, left []string, err error) {
	files := make([]entry, 0, len(seen))
	var out load
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		if file := seen[name].file; file.mode != "" {
			files = append(files, file)
		}
		if seen[name].out.why != "" {
			out.left = append(out.left, seen[name].out)
		}
	}
	if id, err = k.store.putList(files); err != nil {
		return "", nil, err
	}
	k.last = seen
	left = out.sentences()
	if len(seen) >= walkLimit-1 { // one of them may have been the view
		left = append(left, fmt.Sprintf("at most %d files are looked at, and what comes after them is not in the snapshot", walkLimit))
	}
	return id, left, nil
}

// keep keeps one file. What it looked like is from before it was read, so that one that is
// written meanwhile is read again.
func (k *PlainKeeper) keep(root *os.Root, name string) (sighting, error) {
	info, err := root.Lstat(filepath.FromSlash(name))
	if err != nil {
		return sighting{}, err
	}
	seen := sighting{file: entry{mode: modeFile, name: name}}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		seen.file.mode = modeLink
		var target string
		if target, err = root.Readlink(filepath.FromSlash(name)); err == nil {
			seen.file.id, err = k.store.putText([]byte(target))
		}
	default:
		if executable(info) == "program" {
			seen.file.mode = modeProgram
		}
		f, ok := open(root, name)
		if !ok {
			return sighting{}, fs.ErrNotExist // or something else than it was a moment ago
		}
		defer f.Close()
		seen.file.id, err = k.putFile(f, info.Size())
	}
	look := appearanceOf(info)
	if time.Since(time.Unix(0, max(look.written, look.moved))) > settled {
		seen.look = look
	}
	return seen, err
}

func (k *PlainKeeper) putFile(f *os.File, size int64) (id string, err error) {
	if size > contentLimit {
		return k.store.put(f, fileLimit)
	}
	text, err := io.ReadAll(io.LimitReader(f, fileLimit))
	if err != nil {
		return "", fmt.Errorf("keep content: %w", err)
	}
	return k.store.putText(text)
}

// Changes lists the files that differ between two copies.
func (k *PlainKeeper) Changes(_ context.Context, from, to string) ([]ralph.FileChange, error) {
	edits, err := k.edits(from, to)
	if err != nil {
		return nil, fmt.Errorf("compare copies: %w", err)
	}
	return fileChanges(edits), nil
}

func (k *PlainKeeper) edits(from, to string) ([]edit, error) {
	before, err := k.store.files(from)
	if err != nil {
		return nil, err
	}
	after, err := k.store.files(to)
	if err != nil {
		return nil, err
	}
	return compared(before, after), nil
}

// Between sums up what changed from one copy to another. Lines are not counted.
func (k *PlainKeeper) Between(_ context.Context, from, to string) (string, error) {
	edits, err := k.edits(from, to)
	if err != nil {
		return "", fmt.Errorf("sum up changes: %w", err)
	}
	sum := changes{files: len(edits)}
	for _, e := range edits {
		if e.before.mode == modeNone {
			sum.created++
		}
	}
	return sum.String(), nil
}

// Files lists the files of a copy.
func (k *PlainKeeper) Files(_ context.Context, id string) ([]string, error) {
	files, err := k.store.files(id)
	if err != nil {
		return nil, err
	}
	return namesOf(files), nil
}

// Read gives up to limit bytes of a file of a copy, and of a link its target.
func (k *PlainKeeper) Read(_ context.Context, id, name string, limit int) ([]byte, error) {
	files, err := k.store.files(id)
	if err != nil {
		return nil, err
	}
	file, there := entryOf(files, name)
	if !there {
		return nil, notThere(name)
	}
	text, err := k.store.read(file.id, limit)
	if err != nil {
		return nil, fmt.Errorf("read copy %s: %w", id, err)
	}
	return text, nil
}

// Extract writes files of a copy below a folder, as [Snapshots.Extract] does.
func (k *PlainKeeper) Extract(ctx context.Context, id, dir string, names []string) error {
	files, err := k.store.files(id)
	if err != nil {
		return err
	}
	return extract(ctx, k.store, files, extraction{dir, names})
}

// Join keeps a copy of base with everything that changed between from and to.
func (k *PlainKeeper) Join(_ context.Context, base, from, to string) (string, error) {
	onto, err := k.store.files(base)
	if err != nil {
		return "", fmt.Errorf("join copies: %w", err)
	}
	edits, err := k.edits(from, to)
	if err != nil {
		return "", fmt.Errorf("join copies: %w", err)
	}
	id, err := k.store.putList(edited(onto, edits))
	if err != nil {
		return "", fmt.Errorf("join copies: %w", err)
	}
	return id, nil
}

// modeFile is that of a file that is neither program nor link.
const modeFile = "100644"

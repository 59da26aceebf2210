package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/internal/manifest"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
	"github.com/ralphloop/ralph/internal/text"
)

// RestoreInput says what to restore, and where.
type RestoreInput struct {
	// Snapshot is the name of the snapshot.
	Snapshot string
	// To is a new or empty folder for the files; default: the workspace.
	To string
	// Git also restores branches, tags and HEAD, and the repository itself if it is gone.
	Git bool
	// Begin, if set, is called with the later value of Restored.Undo before the workspace is changed.
	// An error ends the restore.
	Begin func(undo string) error
}

// notRestorable returns a refusal that the user can resolve.
func notRestorable(format string, args ...any) error {
	return &gitrepo.Problem{Kind: gitrepo.ProblemNotRestorable, Stops: true, Text: fmt.Sprintf(format, args...)}
}

// Restored is what a restore did.
type Restored = manifest.Restored

// restoring is the run name of snapshots that are taken before a restore.
const restoring = "restore"

// Restore restores the workspace from a snapshot: content, names, links and the executable bit. It
// deletes files that the snapshot lacks, but never files that the rules of the snapshot or the
// current rules ignore. It deletes or overwrites nothing that the snapshot called Undo does not
// contain; a note lists what stayed for that reason. It also removes folders that become empty.
// After an error the workspace is only partly restored, and the error says how to go back.
//
// With Git, Restore sets every recorded ref and HEAD to their old values, and reads the index from
// HEAD. It leaves newer refs alone and notes them. In a linked working tree, which shares its refs
// with others, it only restores HEAD and its own branch. If a restore is not possible, the error is
// a *Problem.
func (k *Keeper) Restore(ctx context.Context, in RestoreInput) (manifest.Restored, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	target, err := k.read(ctx, in.Snapshot)
	if err != nil {
		return manifest.Restored{}, fmt.Errorf("restore: %w", err)
	}
	if in.To != "" {
		if in.Git {
			return manifest.Restored{}, notRestorable("branches are restored in their repository, not in another folder")
		}
		return k.export(ctx, target, in.To)
	}
	if target.prefix != k.home.Prefix {
		return manifest.Restored{}, notRestorable(
			"the snapshot is from a time when %s was in another folder of its repository; "+
				"write it to another folder with --to DIR",
			k.repo.Dir,
		)
	}
	r := restore{keeper: k, target: target, git: in.Git}
	if err := r.begin(ctx, in.Begin); err != nil {
		return manifest.Restored{}, fmt.Errorf("restore: %w", err)
	}
	if err := r.run(ctx); err != nil {
		return r.done, fmt.Errorf(
			"restore snapshot %s: %w; until then %s written, %s deleted and %s set: restore %s to undo that", target.id,
			err, text.Count(r.done.Written, "file"), text.Count(r.done.Deleted, "file"), text.Count(r.done.Refs, "ref"),
			r.done.Undo)
	}
	return r.done, nil
}

// restore is the state of one restore of the workspace.
type restore struct {
	keeper *Keeper
	target header
	git    bool       // also restore the repository
	was    repository // with git: its recorded state
	before taken      // the state before, which undoes the restore
	done   manifest.Restored
}

// begin saves the current state. It changes nothing.
func (r *restore) begin(ctx context.Context, told func(undo string) error) (err error) {
	k := r.keeper
	if r.git && r.target.run == restoring && r.target.repository == "" { // an undo must at least restore the files
		r.git = false
		r.done.Note("there was no repository then; the current one stays as it is")
	}
	if r.git {
		if r.was, err = k.restorable(ctx, r.target); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(k.repo.Dir, 0o755); err != nil {
		return err
	}
	k.seen = seenTree{} // from here on the tree may differ from the last fingerprint
	r.before, err = r.takeBefore(ctx)
	if err == nil && told != nil {
		err = told(r.before.id)
	}
	if err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	r.done.Undo = r.before.id
	return nil
}

func (r *restore) run(ctx context.Context) error {
	err := r.restoreFiles(ctx)
	if err == nil && r.git {
		err = r.restoreGit(ctx)
	} else if _, gone := os.Lstat(filepath.Join(r.keeper.repo.Top, ".git")); errors.Is(gone, os.ErrNotExist) {
		r.done.Note("the repository itself is gone: restore it with --git")
	}
	if err == nil {
		err = r.verify(ctx)
	}
	return err
}

// takeBefore takes the snapshot that undoes the restore. It includes ignored files where the
// restore will write.
func (r *restore) takeBefore(ctx context.Context) (taken, error) {
	k := r.keeper
	before, err := k.take(ctx, occasion{run: restoring})
	if err != nil {
		return taken{}, err
	}
	edits, err := k.edits(ctx, before.tree, r.target.tree)
	if err != nil {
		return taken{}, err
	}
	top, err := os.OpenRoot(k.repo.Top)
	if err != nil {
		return taken{}, err
	}
	defer top.Close()
	if also := blockingFiles(top, edits); len(also) > 0 {
		return k.take(ctx, occasion{run: restoring, also: also})
	}
	return before, nil
}

// blockingFiles lists files and links that no snapshot contains and that are at a path to be
// written, above it, or in a folder there.
func blockingFiles(top *os.Root, edits []manifest.Edit) []string {
	found := map[string]bool{}
	folders := map[string]bool{} // known to be folders, not links
	for _, e := range edits {
		if e.Before.Mode != manifest.ModeNone {
			continue
		}
		for _, name := range manifest.UpTo(e.Name) {
			if folders[name] {
				continue
			}
			info, err := top.Lstat(filepath.FromSlash(name))
			if err != nil {
				break
			}
			if info.IsDir() && name != e.Name {
				folders[name] = true
				continue
			}
			if info.IsDir() {
				for _, file := range walkAll(top, name) {
					found[file] = true
				}
			} else if info.Mode().IsRegular() || info.Mode()&fs.ModeSymlink != 0 {
				found[name] = true
			}
			break
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// walkAll lists the files and links below a folder, except those in .git folders.
func walkAll(top *os.Root, folder string) []string {
	var names []string
	_ = fs.WalkDir(top.FS(), folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case entry.Name() == ".git" && entry.IsDir():
			return fs.SkipDir
		case entry.Type().IsRegular() || entry.Type()&fs.ModeSymlink != 0:
			names = append(names, name)
		}
		return nil
	})
	return names
}

// restoreFiles deletes and writes the files that differ.
func (r *restore) restoreFiles(ctx context.Context) error {
	k, done := r.keeper, &r.done
	edits, err := k.edits(ctx, r.before.tree, r.target.tree)
	if err != nil {
		return err
	}
	top, err := os.OpenRoot(k.repo.Top)
	if err != nil {
		return err
	}
	defer top.Close()
	w := &manifest.Writer{Root: top, Base: strings.TrimSuffix(k.repo.Prefix, "/"), Done: done}
	ignored, err := r.ignoredThen(ctx, edits)
	if err != nil {
		return err
	}
	edits = slices.DeleteFunc(edits, func(e manifest.Edit) bool {
		if r.before.out[e.Name] {
			done.Note("%s was left unchanged because it could not be saved first", scan.Shorten(e.Name))
		}
		return r.before.out[e.Name] || e.After.Mode == manifest.ModeNone && ignored[e.Name]
	})
	return w.Change(ctx, k.Store, edits)
}

// ignoredThen returns, among the files that a restore would delete, those that the rules of the
// snapshot ignore. They may have existed when it was taken, without being part of it. An agent that
// deletes .gitignore makes them look new.
func (r *restore) ignoredThen(ctx context.Context, edits []manifest.Edit) (map[string]bool, error) {
	var names []string
	due := manifest.Written(edits)
	for _, e := range edits {
		if e.After.Mode == manifest.ModeNone && !due.Needs(e.Name) {
			names = append(names, e.Name)
		}
	}
	return r.keeper.ignoredBy(ctx, r.target, names)
}

// verify compares the result with the snapshot and notes what differs.
func (r *restore) verify(ctx context.Context) error {
	k, done := r.keeper, &r.done
	now, err := k.copyFiles(ctx, occasion{})
	if err != nil {
		return fmt.Errorf("look at what was restored: %w", err)
	}
	if now.tree == r.target.tree {
		return nil
	}
	edits, err := k.edits(ctx, r.target.tree, now.tree)
	if err != nil {
		return err
	}
	var stayed, other []string
	for _, e := range edits {
		name := strings.TrimPrefix(e.Name, k.repo.Prefix)
		switch {
		case now.out[e.Name]:
		case e.Before.Mode == manifest.ModeNone:
			stayed = append(stayed, name)
		case e.After.Mode != manifest.ModeNone:
			other = append(other, name)
		}
	}
	if len(stayed) > 0 {
		done.Note("not in the snapshot, but kept because git ignores or ignored them: %s", scan.List(stayed))
	}
	if len(other) > 0 {
		done.Note(
			"not as in the snapshot, because something changed them or the repository's objects: %s",
			scan.List(other),
		)
	}
	return nil
}

// export writes the files of a snapshot into a folder.
func (s *Store) export(ctx context.Context, from header, to string) (manifest.Restored, error) {
	var done manifest.Restored
	if err := os.MkdirAll(to, 0o755); err != nil {
		return done, fmt.Errorf("restore to folder: %w", err)
	}
	there, err := os.ReadDir(to)
	if err != nil {
		return done, fmt.Errorf("restore to folder: %w", err)
	}
	if len(there) > 0 {
		return done, notRestorable("%s is not empty; choose an empty or new folder", to)
	}
	files, err := s.listing(ctx, from)
	if err != nil {
		return done, fmt.Errorf("restore to folder: %w", err)
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return done, fmt.Errorf("restore to folder: %w", err)
	}
	defer root.Close()
	w := &manifest.Writer{Root: root, Done: &done}
	if err := w.Put(ctx, s, text.Mapped(files, manifest.Added)); err != nil {
		return done, fmt.Errorf("restore to %s: %w", to, err)
	}
	return done, nil
}

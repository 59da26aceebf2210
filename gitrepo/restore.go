package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// RestoreInput says what to bring back, and where to.
type RestoreInput struct {
	// Snapshot is the name of the snapshot.
	Snapshot string
	// To is a folder that is new or empty and gets a plain copy; "" is the workspace.
	To string
	// Git brings branches, tags and HEAD back, too, and the repository itself if it is
	// gone.
	Git bool
	// Begin is told what Restored.Undo will be, before the workspace is touched; an error
	// ends the restore. It may be nil.
	Begin func(undo string) error
}

// Restored is what a restore did.
type Restored struct {
	// Undo is a snapshot of what was there before: restoring it takes everything back.
	Undo string
	// Written and Deleted count files, Refs counts branches, tags and the like.
	Written, Deleted, Refs int
	// Notes say in a sentence each what is other than one might think.
	Notes []string
}

func (r *Restored) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// notRestorable is what the user can do something about.
func notRestorable(format string, args ...any) error {
	return &Problem{Kind: ProblemNotRestorable, Stops: true, Text: fmt.Sprintf(format, args...)}
}

// restoring is the run that snapshots before a restore are named after.
const restoring = "restore"

// Restore makes the workspace what it was when the snapshot was taken: content, names,
// links and which files are programs. Files that the snapshot does not have are deleted,
// but never ignored ones, by the rules of then or of now, and nothing is deleted or
// overwritten that the snapshot called Undo does not hold; what had to stay for that
// reason is noted. Folders that become empty go, too. An error leaves the workspace half
// done, and says how to go back.
//
// With Git, every ref that was recorded is set to what it was, HEAD too, and the index is
// read from it. Refs that are newer are left alone and noted. In a linked working tree,
// which shares its refs with others, that is HEAD and its own branch. What cannot be
// restored as things stand is a *Problem.
func (k *Keeper) Restore(ctx context.Context, in RestoreInput) (Restored, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	target, err := k.snaps.read(ctx, in.Snapshot)
	if err != nil {
		return Restored{}, fmt.Errorf("restore: %w", err)
	}
	if in.To != "" {
		if in.Git {
			return Restored{}, notRestorable("branches are restored in their repository, not in another folder")
		}
		return k.snaps.export(ctx, target, in.To)
	}
	if target.prefix != k.snaps.home.Prefix {
		return Restored{}, notRestorable("the snapshot is of another time, when %s had another place in its repository; --to DIR writes a copy elsewhere", k.repo.Dir)
	}
	var done Restored
	if in.Git && target.run == restoring && target.repository == "" { // an undo has to bring the files back at least
		in.Git = false
		done.note("there was no repository then; the one that is there now stays as it is")
	}
	var was repository
	if in.Git {
		if was, err = k.restorable(ctx, target); err != nil {
			return Restored{}, fmt.Errorf("restore: %w", err)
		}
	}
	if err := os.MkdirAll(k.repo.Dir, 0o755); err != nil {
		return Restored{}, fmt.Errorf("restore: %w", err)
	}
	k.seen = held{} // whatever happens, the tree is not the one of the last fingerprint
	before, err := k.takeBefore(ctx, target)
	if err != nil {
		return Restored{}, fmt.Errorf("restore: nothing was touched: %w", err)
	}
	if in.Begin != nil {
		if err := in.Begin(before.id); err != nil {
			return Restored{}, fmt.Errorf("restore: nothing was touched: %w", err)
		}
	}
	done.Undo = before.id
	err = k.restoreFiles(ctx, before, target, &done)
	if err == nil && in.Git {
		err = k.restoreGit(ctx, was, &done)
	} else if _, gone := os.Lstat(filepath.Join(k.repo.Top, ".git")); errors.Is(gone, os.ErrNotExist) {
		done.note("the repository itself is gone: restore with --git brings it back")
	}
	if err == nil {
		err = k.verify(ctx, target, &done)
	}
	if err != nil {
		return done, fmt.Errorf("restore snapshot %s: %w; until then %s written, %s deleted and %s set: restoring %s takes it back",
			target.id, err, counted(done.Written, "file"), counted(done.Deleted, "file"), counted(done.Refs, "ref"), done.Undo)
	}
	return done, nil
}

// edit is how one file differs between two trees. A mode of zeros is none.
type edit struct {
	name   string
	before entry
	after  entry
}

const modeNone = "000000"

func (s *Snapshots) edits(ctx context.Context, from, to string) ([]edit, error) {
	out := limited{limit: statusLimit}
	if err := s.run(ctx, call{args: []string{"diff-tree", "-r", "-z", "--raw", "--no-renames", from, to}, out: &out}); err != nil {
		return nil, fmt.Errorf("compare trees: %w", err)
	}
	var edits []edit
	for record := range slices.Chunk(splitNames(out.text.String()), 2) {
		fields := strings.Fields(strings.TrimPrefix(record[0], ":"))
		if len(record) != 2 || len(fields) != 5 {
			return nil, fmt.Errorf("compare trees: cannot read %q", record)
		}
		name := record[1]
		edits = append(edits, edit{name, entry{fields[0], fields[2], name}, entry{fields[1], fields[3], name}})
	}
	return edits, nil
}

// takeBefore takes the snapshot that undoes a restore. It holds also what is ignored and
// lies where the restore will write.
func (k *Keeper) takeBefore(ctx context.Context, target copied) (shot, error) {
	before, err := k.take(ctx, occasion{run: restoring})
	if err != nil {
		return shot{}, err
	}
	edits, err := k.snaps.edits(ctx, before.tree, target.tree)
	if err != nil {
		return shot{}, err
	}
	top, err := os.OpenRoot(k.repo.Top)
	if err != nil {
		return shot{}, err
	}
	defer top.Close()
	also := inTheWay(top, edits)
	if len(also) == 0 {
		return before, nil
	}
	return k.take(ctx, occasion{run: restoring, also: also})
}

// inTheWay lists files and links that no snapshot holds and that lie where files are to
// be written, or above, or in a folder there.
func inTheWay(top *os.Root, edits []edit) []string {
	found := map[string]bool{}
	folders := map[string]bool{} // known to be real ones
	for _, e := range edits {
		if e.before.mode != modeNone {
			continue
		}
		for _, name := range upTo(e.name) {
			if folders[name] {
				continue
			}
			info, err := top.Lstat(filepath.FromSlash(name))
			if err != nil {
				break
			}
			if info.IsDir() && name != e.name {
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
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// upTo lists the folders above a name, from the top, and the name itself.
func upTo(name string) []string {
	var names []string
	for i, c := range name {
		if c == '/' {
			names = append(names, name[:i])
		}
	}
	return append(names, name)
}

// walkAll lists the files and links below a folder, those of repositories apart.
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

// restoreFiles deletes and writes what differs.
func (k *Keeper) restoreFiles(ctx context.Context, before shot, target copied, done *Restored) error {
	edits, err := k.snaps.edits(ctx, before.tree, target.tree)
	if err != nil {
		return err
	}
	top, err := os.OpenRoot(k.repo.Top)
	if err != nil {
		return err
	}
	defer top.Close()
	w := &writer{root: top, base: strings.TrimSuffix(k.repo.prefix, "/"), done: done}
	ignored, err := k.ignoredThen(ctx, target, edits)
	if err != nil {
		return err
	}
	edits = slices.DeleteFunc(edits, func(e edit) bool {
		if before.out[e.name] {
			done.note("%s is left as it is: it could not be saved first", shorten(e.name))
		}
		return before.out[e.name] || e.after.mode == modeNone && ignored[e.name]
	})
	for _, e := range edits {
		if e.after.mode == modeNone {
			if err := w.delete(e.name); err != nil {
				return err
			}
		}
	}
	w.prune()
	return w.put(ctx, k.snaps, edits)
}

// verify compares what is there now with what should be, and notes what stayed.
func (k *Keeper) verify(ctx context.Context, target copied, done *Restored) error {
	now, err := k.copyFiles(ctx, occasion{})
	if err != nil {
		return fmt.Errorf("look at what was restored: %w", err)
	}
	if now.tree == target.tree {
		return nil
	}
	edits, err := k.snaps.edits(ctx, target.tree, now.tree)
	if err != nil {
		return err
	}
	var stayed, other []string
	for _, e := range edits {
		name := strings.TrimPrefix(e.name, k.repo.prefix)
		switch {
		case now.out[e.name]:
		case e.before.mode == modeNone:
			stayed = append(stayed, name)
		case e.after.mode != modeNone:
			other = append(other, name)
		}
	}
	if len(stayed) > 0 {
		done.note("not in the snapshot, and ignored then or until now, so left where they are: %s", listed(stayed))
	}
	if len(other) > 0 {
		done.note("other than in the snapshot, for something wrote to them meanwhile, or to the repository's objects before: %s", listed(other))
	}
	return nil
}

// export writes a plain copy of a snapshot into a folder.
func (s *Snapshots) export(ctx context.Context, from copied, to string) (Restored, error) {
	var done Restored
	if err := os.MkdirAll(to, 0o755); err != nil {
		return done, fmt.Errorf("restore to folder: %w", err)
	}
	there, err := os.ReadDir(to)
	if err != nil {
		return done, fmt.Errorf("restore to folder: %w", err)
	}
	if len(there) > 0 {
		return done, notRestorable("%s is not empty; name a folder that is, or a new one", to)
	}
	files, err := s.files(ctx, from.tree)
	if err != nil {
		return done, fmt.Errorf("restore to folder: %w", err)
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return done, fmt.Errorf("restore to folder: %w", err)
	}
	defer root.Close()
	edits := make([]edit, 0, len(files))
	for _, file := range files {
		if name, ok := strings.CutPrefix(file.name, from.prefix); ok {
			edits = append(edits, edit{name, entry{mode: modeNone}, file})
		}
	}
	w := &writer{root: root, done: &done}
	if err := w.put(ctx, s, edits); err != nil {
		return done, fmt.Errorf("restore to %s: %w", to, err)
	}
	return done, nil
}

// Export writes a plain copy of a snapshot into a folder that is new or empty.
func (s *Snapshots) Export(ctx context.Context, id, to string) (Restored, error) {
	c, err := s.read(ctx, id)
	if err != nil {
		return Restored{}, fmt.Errorf("restore to folder: %w", err)
	}
	return s.export(ctx, c, to)
}

// folderOf is the folder of a name, "." at the top.
func folderOf(name string) string {
	if slash := strings.LastIndexByte(name, '/'); slash >= 0 {
		return name[:slash]
	}
	return "."
}

package snapshot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/manifest"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
)

// ignoredThen finds, among the files that a restore would delete, those that the rules of
// the snapshot ignore. They may have been there when it was taken, without being in it;
// an agent that deletes .gitignore makes them look like new ones.
func (k *Keeper) ignoredThen(ctx context.Context, target header, edits []manifest.Edit) (map[string]bool, error) {
	var names []string
	due := manifest.Written(edits)
	for _, e := range edits {
		if e.After.Mode == manifest.ModeNone && !due.Needs(e.Name) {
			names = append(names, e.Name)
		}
	}
	return k.ignoredBy(ctx, target, names)
}

// ignoredBy finds the files that the rules of a snapshot ignore, tracked or not.
func (k *Keeper) ignoredBy(ctx context.Context, target header, files []string) (map[string]bool, error) {
	const here = "./" // a name that begins with a colon would mean something else
	var names strings.Builder
	for _, name := range files {
		names.WriteString(here + name + "\x00")
	}
	if names.Len() == 0 {
		return nil, nil
	}
	folder, err := os.MkdirTemp(k.path("tmp"), "rules-")
	if err != nil {
		return nil, fmt.Errorf("look for ignored files: %w", err)
	}
	defer os.RemoveAll(folder)
	if err := k.putRules(ctx, target, folder); err != nil {
		return nil, fmt.Errorf("look for ignored files: %w", err)
	}
	putBack, err := k.excludeThen(ctx, target)
	if err != nil {
		return nil, fmt.Errorf("look for ignored files: %w", err)
	}
	out, err := k.feed(names.String(), func(file string) (string, error) {
		return k.runIn(ctx, folder, git.Call{Args: []string{"check-ignore", "--no-index", "-z", "--stdin"}, Stdin: file})
	})
	if err := putBack(); err != nil {
		return nil, fmt.Errorf("look for ignored files: %w", err)
	}
	if git.ExitCode(err) == 1 {
		return nil, nil // none is
	}
	if err != nil {
		return nil, fmt.Errorf("look for ignored files: %w", err)
	}
	ignored := map[string]bool{}
	for _, name := range git.SplitNames(out) {
		ignored[strings.TrimPrefix(name, here)] = true
	}
	return ignored, nil
}

// excludeThen lets the info/exclude of the snapshot count, until it is put back.
func (k *Keeper) excludeThen(ctx context.Context, target header) (putBack func() error, err error) {
	if target.repository == "" {
		return func() error { return nil }, nil
	}
	then, err := k.recordedFile(ctx, target, "exclude")
	if err != nil {
		return nil, err
	}
	now, err := os.ReadFile(k.path("info/exclude"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return func() error { return k.write("info/exclude", now) }, k.write("info/exclude", then)
}

// putRules writes the files that say what is ignored, and nothing else, into a folder:
// those of the snapshot, and those above a workspace that is not the whole tree.
func (k *Keeper) putRules(ctx context.Context, target header, folder string) error {
	files, err := k.files(ctx, target.tree)
	if err != nil {
		return err
	}
	var rules []manifest.Edit
	for _, file := range files {
		if filepath.Base(filepath.FromSlash(file.Name)) == ".gitignore" && file.Mode != manifest.ModeLink {
			rules = append(rules, manifest.Added(file.Name, file))
		}
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	w := &manifest.Writer{Root: root, Done: &manifest.Restored{}}
	if err := w.Put(ctx, k.Store, rules); err != nil {
		return err
	}
	for above := strings.TrimSuffix(k.repo.Prefix, "/"); above != "" && above != "."; {
		above = manifest.FolderOf(above)
		text, known := scan.ReadSmall(filepath.Join(k.repo.Top, filepath.FromSlash(above), ".gitignore"))
		if !known || len(text) == 0 {
			continue
		}
		if err := root.MkdirAll(filepath.FromSlash(above), 0o700); err != nil {
			return err
		}
		if err := root.WriteFile(filepath.Join(filepath.FromSlash(above), ".gitignore"), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Always names files below the workspace that are part of every copy from now on, even if
// they are ignored. The tree's hash does not count them, so that an agent cannot make
// progress by writing to them; that one of them changed makes a new copy all the same.
// They replace those that were named before.
func (k *Keeper) Always(names []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.named = nil
	for _, name := range names {
		if plainName(name) && name != scan.ProgressFile {
			k.named = append(k.named, k.repo.Prefix+name)
		}
	}
	k.always = sortedOnce(k.named)
}

func sortedOnce(names []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// AlwaysLike does what Always does for every ignored file, named below the workspace, of
// which pick says so: what git is told to ignore is in an agent's hands, and checks see such
// files. Folders that are ignored as a whole are looked into only if they are small and
// none of the well-known ones: dependencies and build output are not what is meant.
func (k *Keeper) AlwaysLike(pick func(name string) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.like = pick
}

// smallFolder is how many files an ignored folder may have to be looked into.
const smallFolder = 200

// findLike looks for the files of AlwaysLike. It asks the repository itself, whose rules
// decide what the fingerprint does not see. If git cannot tell, those stay that were known.
func (k *Keeper) findLike(ctx context.Context) {
	if k.like == nil {
		return
	}
	out, err := k.repo.Ask(ctx, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory", "--no-empty-directory", "--full-name")
	if err != nil {
		return
	}
	found := slices.Clone(k.named)
	for _, listed := range git.SplitNames(out) {
		for _, name := range k.inIgnored(listed) {
			if below, ok := strings.CutPrefix(name, k.repo.Prefix); ok && below != scan.ProgressFile && k.like(below) {
				found = append(found, name)
			}
		}
	}
	k.always = sortedOnce(found)
}

// inIgnored is a file that git listed, or the files of a folder.
func (k *Keeper) inIgnored(listed string) []string {
	folder, whole := strings.CutSuffix(listed, "/")
	if !whole {
		return []string{listed}
	}
	if scan.IsCache(folder[strings.LastIndexByte(folder, '/')+1:]) {
		return nil
	}
	files := scan.WalkSome(k.repo.Top, folder, smallFolder+1)
	if len(files) > smallFolder {
		return nil
	}
	return files
}

// alwaysSum tells what those files look like. They are few and small, and an agent may set
// the time of a file to what it was: nothing is remembered of them.
func (k *Keeper) alwaysSum() string {
	if len(k.always) == 0 {
		return ""
	}
	top, err := os.OpenRoot(k.repo.Top)
	if err != nil {
		return ""
	}
	defer top.Close()
	var forgetful scan.Digests
	return forgetful.Sum(top, k.always)
}

// alwaysDue tells what those files look like, and lists them if that is not how they were
// taken.
func (k *Keeper) alwaysDue() (sum string, due []string) {
	if sum = k.alwaysSum(); sum == k.alwaysIn {
		return sum, nil
	}
	return sum, k.always
}

// Extract is that of the snapshots. Like Join it waits for a snapshot that is being taken,
// whose beginning clears away what a killed harness left half done.
func (k *Keeper) Extract(ctx context.Context, id, dir string, names []string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.Store.Extract(ctx, id, dir, names)
}

// Join is that of the snapshots.
func (k *Keeper) Join(ctx context.Context, base, from, to string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.Store.Join(ctx, base, from, to)
}

package gitrepo

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
)

// Always names files below the workspace that are part of every copy from now on, even if
// they are ignored. The tree's hash does not count them, so that an agent cannot make
// progress by writing to them; that one of them changed makes a new copy all the same.
// They replace those that were named before.
func (k *Keeper) Always(names []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.named = nil
	for _, name := range names {
		if plainName(name) && name != view {
			k.named = append(k.named, k.repo.prefix+name)
		}
	}
	k.always = sortedOnce(k.named)
}

func sortedOnce(names []string) []string {
	names = slices.Sorted(slices.Values(names))
	return slices.Compact(names)
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
	out := limited{limit: statusLimit}
	args := []string{"ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory", "--no-empty-directory", "--full-name"}
	k.repo.mu.Lock()
	err := k.repo.run(ctx, call{args: args, out: &out})
	k.repo.mu.Unlock()
	if err != nil {
		return
	}
	found := slices.Clone(k.named)
	for _, listed := range splitNames(out.text.String()) {
		for _, name := range k.inIgnored(listed) {
			if below, ok := strings.CutPrefix(name, k.repo.prefix); ok && below != view && k.like(below) {
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
	if cache(folder[strings.LastIndexByte(folder, '/')+1:]) {
		return nil
	}
	files := walkSome(k.repo.Top, folder, smallFolder+1)
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
	var forgetful digests
	return forgetful.sum(top, k.always)
}

// alwaysDue tells what those files look like, and lists them if that is not how they were
// taken.
func (k *Keeper) alwaysDue() (sum string, due []string) {
	if sum = k.alwaysSum(); sum == k.alwaysIn {
		return sum, nil
	}
	return sum, k.always
}

// Changes is that of the snapshots.
func (k *Keeper) Changes(ctx context.Context, from, to string) ([]ralph.FileChange, error) {
	return k.snaps.Changes(ctx, from, to)
}

// Files is that of the snapshots.
func (k *Keeper) Files(ctx context.Context, id string) ([]string, error) {
	return k.snaps.Files(ctx, id)
}

// Read is that of the snapshots.
func (k *Keeper) Read(ctx context.Context, id, name string, limit int) ([]byte, error) {
	return k.snaps.Read(ctx, id, name, limit)
}

// Extract is that of the snapshots. Like Join it waits for a snapshot that is being taken,
// whose beginning clears away what a killed harness left half done.
func (k *Keeper) Extract(ctx context.Context, id, dir string, names []string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.snaps.Extract(ctx, id, dir, names)
}

// Join is that of the snapshots.
func (k *Keeper) Join(ctx context.Context, base, from, to string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.snaps.Join(ctx, base, from, to)
}

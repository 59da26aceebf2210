package snapshot

import (
	"os"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
)

// always are the files that every snapshot includes although git ignores them. Names are relative
// to the top of the working tree.
type always struct {
	named []string
	like  func(name string) bool
	files []string // the named files and those that match like
	taken string   // their hash when the last snapshot was taken
}

// Always sets the files below the workspace that every later snapshot includes, even if they are
// ignored. The tree's hash does not count them, so an agent cannot make progress by writing to
// them. A change to one of them still causes a new snapshot. The names replace those of earlier
// calls.
func (k *Keeper) Always(names []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.always.named = nil
	for _, name := range names {
		if plainName(name) && name != scan.ProgressFile {
			k.always.named = append(k.always.named, k.repo.Prefix+name)
		}
	}
	k.always.files = sortedOnce(k.always.named)
}

func sortedOnce(names []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// AlwaysLike does the same as Always for every ignored file below the workspace for which pick
// returns true. An agent controls what git ignores, and checks see such files. Folders that are
// ignored as a whole are searched only if they are small and not a well-known cache folder, because
// dependencies and build output are not meant.
func (k *Keeper) AlwaysLike(pick func(name string) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.always.like = pick
}

// smallFolder is the most files that an ignored folder may have to be searched.
const smallFolder = 200

// find looks for the files of AlwaysLike among those that the repository ignores.
func (a *always) find(repo *gitrepo.Repo, ignored []string) {
	if a.like == nil {
		return
	}
	found := slices.Clone(a.named)
	for _, listed := range ignored {
		for _, name := range inIgnored(repo.Top, listed) {
			if below, ok := strings.CutPrefix(name, repo.Prefix); ok && below != scan.ProgressFile && a.like(below) {
				found = append(found, name)
			}
		}
	}
	a.files = sortedOnce(found)
}

// inIgnored returns a file that git listed, or the files of a folder that it listed.
func inIgnored(top, listed string) []string {
	folder, whole := strings.CutSuffix(listed, "/")
	if !whole {
		return []string{listed}
	}
	if scan.IsCache(folder[strings.LastIndexByte(folder, '/')+1:]) {
		return nil
	}
	files := scan.WalkSome(top, folder, smallFolder+1)
	if len(files) > smallFolder {
		return nil
	}
	return files
}

// sum returns a hash of the files. It caches nothing, because the files are few and small and an
// agent may reset the time of a file.
func (a *always) sum(folder string) string {
	if len(a.files) == 0 {
		return ""
	}
	top, err := os.OpenRoot(folder)
	if err != nil {
		return ""
	}
	defer top.Close()
	var forgetful scan.Digests
	return forgetful.Sum(top, a.files)
}

// due returns the hash of the files, and lists them if the hash differs from the last snapshot's.
func (a *always) due(folder string) (sum string, due []string) {
	if sum = a.sum(folder); sum == a.taken {
		return sum, nil
	}
	return sum, a.files
}

// IgnoredFiles lists the files below the workspace that the last snapshot includes only because
// AlwaysLike picks them. A commit would not have them.
func (k *Keeper) IgnoredFiles() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var names []string
	for _, name := range k.always.files {
		if below, ok := strings.CutPrefix(name, k.repo.Prefix); ok && !slices.Contains(k.always.named, name) {
			names = append(names, below)
		}
	}
	return names
}

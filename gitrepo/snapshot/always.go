package snapshot

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
)

// always are the files that are part of every snapshot although git ignores them. Names are below
// the top.
type always struct {
	named []string
	like  func(name string) bool
	files []string // those that were named, and those that are like it
	taken string   // what they looked like when they were taken
}

// Always names files below the workspace that are part of every copy from now on, even if
// they are ignored. The tree's hash does not count them, so that an agent cannot make
// progress by writing to them; that one of them changed makes a new copy all the same.
// They replace those that were named before.
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

// AlwaysLike does what Always does for every ignored file, named below the workspace, of
// which pick says so: what git is told to ignore is in an agent's hands, and checks see such
// files. Folders that are ignored as a whole are looked into only if they are small and
// none of the well-known ones: dependencies and build output are not what is meant.
func (k *Keeper) AlwaysLike(pick func(name string) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.always.like = pick
}

// smallFolder is how many files an ignored folder may have to be looked into.
const smallFolder = 200

// find looks for the files of AlwaysLike. It asks the repository itself, whose rules
// decide what the fingerprint does not see. If git cannot tell, those stay that were known.
func (a *always) find(ctx context.Context, repo *gitrepo.Repo) {
	if a.like == nil {
		return
	}
	out, err := repo.Ask(ctx, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory",
		"--no-empty-directory", "--full-name")
	if err != nil {
		return
	}
	found := slices.Clone(a.named)
	for _, listed := range git.SplitNames(out) {
		for _, name := range inIgnored(repo.Top, listed) {
			if below, ok := strings.CutPrefix(name, repo.Prefix); ok && below != scan.ProgressFile && a.like(below) {
				found = append(found, name)
			}
		}
	}
	a.files = sortedOnce(found)
}

// inIgnored is a file that git listed, or the files of a folder.
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

// sum tells what those files look like. They are few and small, and an agent may set
// the time of a file to what it was: nothing is remembered of them.
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

// due tells what those files look like, and lists them if that is not how they were
// taken.
func (a *always) due(folder string) (sum string, due []string) {
	if sum = a.sum(folder); sum == a.taken {
		return sum, nil
	}
	return sum, a.files
}

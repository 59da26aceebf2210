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
	"github.com/ralphloop/ralph/internal/text"
)

const (
	// packAfter is after how many snapshots a Keeper packs their objects. Each takes a block of the disk, and most
	// also one for their folder, although they are far smaller.
	packAfter = 32
	// packAtEnd is how many loose objects are packed after a run: fewer are not worth the time.
	packAtEnd = 16
	// packLimit is the size from which a loose object stays one. Its block is no waste, and compressing
	// it again would take longer than a run should wait.
	packLimit = 1 << 20
	// mostAtOnce is how many objects are packed at a time: a repository may have any number of loose ones,
	// and a run should not wait for long.
	mostAtOnce = 1000
	// mostPacks is how many small packs there are before they become one: each is searched for every
	// object.
	mostPacks = 16
	// smallPacks is the size of packs that are joined.
	smallPacks = "--batch-size=32m"
)

// packing limits the memory and the processors that git uses to pack. The versions of a file have
// about the same size, so a wide window finds them without their names.
var packing = []string{
	"-c", "pack.threads=1", "-c", "pack.windowMemory=64m", "-c", "pack.deltaCacheSize=16m", "-c", "pack.window=50",
}

// Pack packs small objects and refs, if there are some. It is for the end of a run: the caller holds
// the workspace's lock.
func Pack(ctx context.Context, s *Store) error {
	err := errors.Join(packer{s, snapshots}.pack(ctx), packer{s, history}.pack(ctx))
	if err == nil {
		_, err = s.run(ctx, "pack-refs", "--all", "--prune")
	}
	return err
}

// packIfDue packs small objects and refs after some snapshots. If that fails, nothing is lost but space, and it is
// tried again after some more.
func (k *Keeper) packIfDue(ctx context.Context) {
	if k.unpacked++; k.unpacked >= packAfter {
		k.unpacked = 0
		_ = Pack(ctx, k.Store) // the snapshot is complete without it
	}
}

// packer packs the objects in one of the folders of a store: those of snapshots, or the copies of the repository's
// own.
type packer struct {
	*Store
	folder string
}

// here runs git on the objects of the folder. It knows the copies of the repository's own by themselves, because
// those of snapshots may be removed.
func (p packer) here(ctx context.Context, c git.Call) (string, error) {
	c.Env = append(c.Env, "GIT_OBJECT_DIRECTORY="+p.path(p.folder))
	return p.call(ctx, c)
}

// pack packs loose objects, if there are some. No object is missing at any time, so a process that reads meanwhile
// finds each of them in one form or the other.
func (p packer) pack(ctx context.Context) error {
	loose := p.loose()
	if len(loose) < packAtEnd {
		return nil
	}
	if err := p.packObjects(ctx, loose[:min(len(loose), mostAtOnce)]); err != nil {
		return err
	}
	if _, err := p.here(ctx, git.Call{Args: []string{"prune-packed", "--quiet"}}); err != nil {
		return fmt.Errorf("remove packed objects: %w", err)
	}
	return p.joinPacks(ctx)
}

// packObjects writes objects into a new pack. Git computes their names from what they contain: an agent may have
// damaged one of the repository's before it was copied. Such a one stays as it is.
func (p packer) packObjects(ctx context.Context, ids []string) error {
	file, err := os.CreateTemp(p.path("tmp"), "pack-*")
	if err != nil {
		return fmt.Errorf("pack objects: %w", err)
	}
	defer os.Remove(file.Name())
	args := slices.Concat(packing, []string{"pack-objects", "-q", "--stdout", "--delta-base-offset"})
	_, err = p.feed(ctx, p.here, strings.Join(ids, "\n")+"\n", git.Call{Args: args, Out: file})
	if err = errors.Join(err, file.Close()); git.Failed(err) && len(ids) > 1 {
		half := len(ids) / 2
		return errors.Join(p.packObjects(ctx, ids[:half]), p.packObjects(ctx, ids[half:]))
	}
	if err == nil {
		_, err = p.here(ctx, git.Call{Args: []string{"index-pack", "--stdin", "--threads=1"}, Stdin: file.Name()})
	}
	if err != nil && !git.Failed(err) {
		return fmt.Errorf("pack objects: %w", err)
	}
	return nil
}

var (
	objectFolder = text.LazyRegexp(`^[0-9a-f]{2}$`)
	objectFile   = text.LazyRegexp(`^(?:[0-9a-f]{38}|[0-9a-f]{62})$`)
)

// loose lists the loose objects that are worth packing.
func (p packer) loose() []string {
	var found []string
	folders, _ := os.ReadDir(p.path(p.folder)) // without objects there is nothing to pack
	for _, folder := range folders {
		if !objectFolder().MatchString(folder.Name()) {
			continue
		}
		files, _ := os.ReadDir(p.path(p.folder + "/" + folder.Name()))
		for _, file := range files {
			info, err := file.Info()
			if err == nil && objectFile().MatchString(file.Name()) && 0 < info.Size() && info.Size() < packLimit {
				found = append(found, folder.Name()+file.Name())
			}
		}
	}
	return found
}

// has returns which objects are in the folder, loose or packed.
func (p packer) has(ctx context.Context, ids []string) (map[string]bool, error) {
	args := []string{"cat-file", "--batch-check=%(objectname)"}
	out, err := p.feed(ctx, p.here, strings.Join(ids, "\n")+"\n", git.Call{Args: args})
	known := map[string]bool{}
	for line := range strings.Lines(out) { // "id", or "id missing"
		known[strings.TrimSuffix(line, "\n")] = true
	}
	return known, err
}

// joinPacks makes one pack of many small ones, apart from copies of those of the repository: these would be copied
// again.
func (p packer) joinPacks(ctx context.Context) error {
	packs, _ := filepath.Glob(p.path(p.folder + "/pack/*.idx")) // the pattern is sound
	joinable := slices.DeleteFunc(packs, func(pack string) bool {
		_, err := os.Lstat(strings.TrimSuffix(pack, ".idx") + ".keep")
		return err == nil
	})
	if len(joinable) < mostPacks {
		return nil
	}
	for _, args := range [][]string{{"write"}, {"repack", smallPacks}, {"expire"}} {
		args = slices.Concat(packing, []string{"multi-pack-index", "--object-dir=" + p.path(p.folder)}, args)
		if _, err := p.here(ctx, git.Call{Args: args}); err != nil {
			return fmt.Errorf("join packs: %w", err)
		}
	}
	return nil
}

// filesIn returns the paths of what is in a folder, none if it is missing.
func filesIn(folder string) []string {
	entries, _ := os.ReadDir(folder)
	return text.Mapped(entries, func(entry fs.DirEntry) string { return filepath.Join(folder, entry.Name()) })
}

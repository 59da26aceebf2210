package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/internal/atomicfile"
	"github.com/ralphloop/ralph/internal/text"
)

const (
	// packAfter is how many loose objects a Keeper packs at a time, those of about thirty small changes.
	// Each takes a block of the disk, and most also one for their folder, although they are far smaller.
	packAfter = 128
	// packAtEnd is how many are packed after a run: fewer are not worth the time.
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
	// smallPack is the size of a pack that is not joined any more.
	smallPack = 32 << 20
)

// packing limits the memory and the processors that git uses to pack. The versions of a file have
// about the same size, so a wide window finds them without their names.
var packing = []string{
	"-c", "pack.threads=1", "-c", "pack.windowMemory=64m", "-c", "pack.deltaCacheSize=16m", "-c", "pack.window=50",
}

// Pack packs small objects and refs, if there are some. It is for the end of a run: the caller holds
// the workspace's lock.
func Pack(ctx context.Context, s *Store) error {
	return errors.Join(packer{s, snapshots}.pack(ctx, packAtEnd), packer{s, history}.pack(ctx, packAtEnd))
}

// packer packs the refs of a store and the objects in one of its folders: those of snapshots, or the
// copies of the repository's own.
type packer struct {
	*Store
	folder string
}

// packIfDue packs small objects and refs if there are many. If that fails, nothing is lost but space,
// and it is tried again when there is more to pack. Copies that were made before the first snapshot of
// this process are left to the end of the run.
func (k *Keeper) packIfDue(ctx context.Context) {
	for i, folder := range []string{snapshots, history} {
		p := packer{k.Store, folder}
		due := max(k.packAt[i], packAfter)
		loose := p.looseCount()
		if folder == history && k.packAt[i] == 0 {
			due = loose + packAfter
		}
		if loose >= due {
			_ = p.pack(ctx, packAfter/2) // the snapshot is complete without it
			due = p.looseCount() + packAfter
		}
		k.packAt[i] = due
	}
}

// looseCount estimates the number of loose objects from every sixteenth folder.
func (p packer) looseCount() int {
	const step = 16
	sum := 0
	for i := 0; i < 256; i += step {
		entries, _ := os.ReadDir(p.path(fmt.Sprintf("%s/%02x", p.folder, i))) // a missing folder is empty
		sum += len(entries)
	}
	return sum * step
}

// pack packs loose objects, if there are as many as least, and refs. No object is missing at any time,
// so a process that reads meanwhile finds each of them in one form or the other. A kill leaves some in
// both.
func (p packer) pack(ctx context.Context, least int) error {
	loose := p.packable()
	if len(loose) < least {
		return nil
	}
	loose = loose[:min(len(loose), mostAtOnce)]
	if err := p.packObjects(ctx, text.Mapped(loose, func(o looseObject) string { return o.id })); err != nil {
		return err
	}
	if err := p.removeLoose(loose); err != nil {
		return err
	}
	if p.folder == history {
		return p.joinPacks(ctx)
	}
	if _, err := p.run(ctx, "pack-refs", "--all", "--prune"); err != nil {
		return fmt.Errorf("pack refs: %w", err)
	}
	return p.joinPacks(ctx)
}

// removeLoose removes objects that are packed, and their folders where nothing is left.
func (p packer) removeLoose(packed []looseObject) error {
	p.folders.Lock()
	defer p.folders.Unlock()
	for _, o := range packed {
		if err := os.Remove(o.path); err != nil {
			return fmt.Errorf("remove packed object: %w", err)
		}
		os.Remove(filepath.Dir(o.path)) // fails as long as it has other files
	}
	return nil
}

// looseObject is an object in a file of its own.
type looseObject struct {
	id, path string
	written  int64
}

var (
	objectFolder = text.LazyRegexp(`^[0-9a-f]{2}$`)
	objectFile   = text.LazyRegexp(`^(?:[0-9a-f]{38}|[0-9a-f]{62})$`)
)

// packable lists the loose objects that are worth packing, the newest first.
func (p packer) packable() []looseObject {
	var found []looseObject
	folders, _ := os.ReadDir(p.path(p.folder)) // without objects there is nothing to pack
	for _, folder := range folders {
		if !objectFolder().MatchString(folder.Name()) {
			continue
		}
		files, _ := os.ReadDir(p.path(p.folder + "/" + folder.Name()))
		for _, file := range files {
			info, err := file.Info()
			if err != nil || !objectFile().MatchString(file.Name()) || info.Size() == 0 || info.Size() >= packLimit {
				continue
			}
			o := looseObject{
				id:      folder.Name() + file.Name(),
				path:    p.path(p.folder + "/" + folder.Name() + "/" + file.Name()),
				written: info.ModTime().UnixNano(),
			}
			if _, sound := inflate(o.path, o.id, p.hash()); sound || p.folder != history { // an agent wrote the original
				found = append(found, o)
			}
		}
	}
	slices.SortFunc(found, func(a, b looseObject) int { return cmp.Compare(b.written, a.written) })
	return found
}

// packObjects writes objects into a new pack, which is on the disk and verified when it returns. A pack
// that is not sound is removed: an agent may have damaged an object before it was copied.
func (p packer) packObjects(ctx context.Context, ids []string) error {
	pack, before := p.folder+"/pack/pack", p.packs()
	args := slices.Concat(packing, []string{"pack-objects", "-q", "--delta-base-offset", pack})
	name, err := p.feed(ctx, p.call, strings.Join(ids, "\n")+"\n", git.Call{Args: args})
	if err != nil {
		return fmt.Errorf("pack objects: %w", err)
	}
	pack += "-" + strings.TrimSpace(name)
	_, err = p.run(ctx, "verify-pack", pack+".idx")
	switch {
	case err == nil:
		return atomicfile.SyncDir(p.path(p.folder + "/pack"))
	case !slices.Contains(before, p.path(pack)+".pack"):
		err = errors.Join(err, removePack(p.path(pack)))
	}
	return fmt.Errorf("verify pack: %w", err)
}

// removePack removes a pack, given without its extension. The index goes first: without it git does not
// use the pack.
func removePack(pack string) error {
	for _, kind := range []string{".idx", ".pack", ".rev"} {
		if err := os.Remove(pack + kind); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove pack: %w", err)
		}
	}
	return nil
}

// joinPacks makes one pack of many small ones.
func (p packer) joinPacks(ctx context.Context) error {
	small := p.smallPacks()
	if len(small) < mostPacks {
		return nil
	}
	var ids []string
	for _, pack := range small {
		listed, err := p.call(ctx, git.Call{Args: []string{"show-index"}, Stdin: pack + ".idx"})
		if err != nil {
			return fmt.Errorf("list packed objects: %w", err)
		}
		for line := range strings.Lines(listed) { // "offset id (sum)"
			if fields := strings.Fields(line); len(fields) > 1 {
				ids = append(ids, fields[1])
			}
		}
	}
	before := p.packs()
	if err := p.packObjects(ctx, ids); err != nil {
		return err
	}
	if slices.Equal(before, p.packs()) {
		return nil // the new pack has the name, and so the objects, of an old one
	}
	for _, pack := range small {
		if err := removePack(pack); err != nil {
			return err
		}
	}
	return nil
}

func (p packer) packs() []string { return packFiles(p.path(p.folder + "/pack")) }

// smallPacks lists the packs that are worth joining, without their extensions. A copy of a pack that the
// repository still has stays: it would be copied again. It removes packs without an index, which a kill
// left of joined ones.
func (p packer) smallPacks() []string {
	var small []string
	for _, file := range p.packs() {
		if _, err := os.Lstat(strings.TrimSuffix(file, ".pack") + ".idx"); errors.Is(err, fs.ErrNotExist) {
			os.Remove(file) // the next call tries again
			continue
		}
		_, err := os.Lstat(filepath.Join(p.home.Common, "objects", "pack", filepath.Base(file)))
		isCopy := p.folder == history && err == nil
		if info, err := os.Lstat(file); err == nil && info.Size() < smallPack && !isCopy {
			small = append(small, strings.TrimSuffix(file, ".pack"))
		}
	}
	return small
}

func packFiles(folder string) []string {
	return slices.DeleteFunc(filesIn(folder), func(file string) bool { return filepath.Ext(file) != ".pack" })
}

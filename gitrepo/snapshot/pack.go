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
	// packMost is how many are packed at a time, so that a run does not wait for long.
	packMost = 1000
	// packLimit is the size from which a loose object stays one. Its block is no waste, and compressing
	// it again would take longer than a run should wait.
	packLimit = 1 << 20
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
func Pack(ctx context.Context, s *Store) error { return packer{s}.pack(ctx, packAtEnd) }

// packer packs the objects and refs of a store.
type packer struct{ *Store }

// packIfDue packs small objects and refs if there are many. If that fails, nothing is lost but space,
// and it is tried again when there is more to pack.
func (k *Keeper) packIfDue(ctx context.Context) {
	p := packer{k.Store}
	if p.looseCount() < max(k.packAt, packAfter) {
		return
	}
	_ = p.pack(ctx, packAfter/2) // the snapshot is complete without it
	k.packAt = p.looseCount() + packAfter
}

// looseCount estimates the number of loose objects from every sixteenth folder.
func (p packer) looseCount() int {
	const step = 16
	sum := 0
	for i := 0; i < 256; i += step {
		entries, _ := os.ReadDir(p.path(fmt.Sprintf("objects/%02x", i))) // a missing folder is empty
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
	loose = loose[:min(len(loose), packMost)]
	if err := p.packObjects(ctx, text.Mapped(loose, func(o looseObject) string { return o.id })); err != nil {
		return err
	}
	if err := p.removeLoose(loose); err != nil {
		return err
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
	folders, _ := os.ReadDir(p.path("objects")) // without objects there is nothing to pack
	for _, folder := range folders {
		if !objectFolder().MatchString(folder.Name()) {
			continue
		}
		files, _ := os.ReadDir(p.path("objects/" + folder.Name()))
		for _, file := range files {
			info, err := file.Info()
			if err != nil || !objectFile().MatchString(file.Name()) || info.Size() == 0 || info.Size() >= packLimit {
				continue
			}
			found = append(found, looseObject{
				id:      folder.Name() + file.Name(),
				path:    p.path("objects/" + folder.Name() + "/" + file.Name()),
				written: info.ModTime().UnixNano(),
			})
		}
	}
	slices.SortFunc(found, func(a, b looseObject) int { return cmp.Compare(b.written, a.written) })
	return found
}

// packObjects writes objects into a new pack, which is on the disk when it returns.
func (p packer) packObjects(ctx context.Context, ids []string) error {
	args := slices.Concat(packing, []string{"pack-objects", "-q", "--delta-base-offset", "objects/pack/pack"})
	_, err := p.feed(ctx, p.call, strings.Join(ids, "\n")+"\n", git.Call{Args: args})
	if err != nil {
		return fmt.Errorf("pack objects: %w", err)
	}
	if err := atomicfile.SyncDir(p.path("objects/pack")); err != nil {
		return fmt.Errorf("pack objects: %w", err)
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
	before := packFiles(p.path("objects/pack"))
	if err := p.packObjects(ctx, ids); err != nil {
		return err
	}
	if slices.Equal(before, packFiles(p.path("objects/pack"))) {
		return nil // the new pack has the name, and so the objects, of an old one
	}
	for _, pack := range small {
		// The index comes first: without it git does not use the pack.
		for _, kind := range []string{".idx", ".pack", ".rev"} {
			if err := os.Remove(pack + kind); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove joined pack: %w", err)
			}
		}
	}
	return nil
}

// smallPacks lists the packs that are worth joining, without their extensions. It removes packs without
// an index, which a kill left of joined ones.
func (p packer) smallPacks() []string {
	var small []string
	for _, file := range packFiles(p.path("objects/pack")) {
		if _, err := os.Lstat(strings.TrimSuffix(file, ".pack") + ".idx"); errors.Is(err, fs.ErrNotExist) {
			os.Remove(file) // the next call tries again
			continue
		}
		if info, err := os.Lstat(file); err == nil && info.Size() < smallPack {
			small = append(small, strings.TrimSuffix(file, ".pack"))
		}
	}
	return small
}

func packFiles(folder string) []string {
	return slices.DeleteFunc(filesIn(folder), func(file string) bool { return filepath.Ext(file) != ".pack" })
}

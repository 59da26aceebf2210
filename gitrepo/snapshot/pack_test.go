package snapshot_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
	"github.com/ralphloop/ralph/gitrepo/snapshot"
	"github.com/ralphloop/ralph/internal/diskuse"
)

// pages writes a file of some length that differs a little from its other versions.
func pages(w gittest.Workspace, name string, version int) {
	w.Helper()
	w.Write(name, strings.Repeat(fmt.Sprintf("package %s\n", filepath.Base(name)), 30)+fmt.Sprintf("// %d\n", version))
}

// TestSmallChangesTakeLittleSpace makes small changes, one snapshot each. In files of their own, the
// objects and the ref of each snapshot would take more than 30 KB.
func TestSmallChangesTakeLittleSpace(t *testing.T) {
	changes := 200
	if testing.Short() {
		changes = 60
	}
	w := gittest.NewRepo(t)
	for i := range 100 {
		pages(w, fmt.Sprintf("pkg%d/file%02d.go", i%10, i), 0)
	}
	w.Commit()
	k, dir := newKeeper(w)
	take := func(i int) string {
		return w.Fingerprint(k, ralph.TreeInput{Run: "run", Iteration: i, BaseHead: "HEAD"}).Snapshot
	}
	ids := []string{take(0)}
	before := diskuse.Of(dir).Bytes
	for i := 1; i <= changes; i++ {
		pages(w, fmt.Sprintf("pkg%d/file%02d.go", i%7, i%7*10+i%7), i)
		ids = append(ids, take(i))
	}
	w.Must(snapshot.Pack(t.Context(), k.Store))
	const limit = 5 << 10
	if each := (diskuse.Of(dir).Bytes - before) / int64(changes); each >= limit {
		t.Errorf("a snapshot takes %d bytes", each)
	}
	if loose, _ := filepath.Glob(filepath.Join(dir, "objects", "??", "*")); len(loose) >= 64 {
		t.Errorf("%d objects are not packed", len(loose))
	}
	w.Git("--git-dir="+dir, "fsck", "--full", "--strict")

	other := reopen(w, dir) // which has cached nothing
	for i, id := range ids {
		if i == 0 || i%20 != 0 && i != changes {
			continue
		}
		name := fmt.Sprintf("pkg%d/file%02d.go", i%7, i%7*10+i%7)
		text, err := other.Read(t.Context(), id, name, 1<<20)
		if err != nil || !strings.HasSuffix(string(text), fmt.Sprintf("// %d\n", i)) {
			t.Errorf("snapshot %d has %q, %v", i, text, err)
		}
	}
	w.Must(other.Extract(t.Context(), ids[1], gittest.NewFolder(t).Dir, nil))
	// The ref of an iteration is packed, and its snapshot is still a parent of the next one.
	pages(w, "kept", 1)
	again := w.Fingerprint(keep(w, dir), ralph.TreeInput{Run: "run", Iteration: 1, BaseHead: "HEAD"}).Snapshot
	if parents := w.Git("--git-dir="+dir, "rev-list", again); !strings.Contains(parents, ids[1]) {
		t.Errorf("%s is not among %s", ids[1], parents)
	}
}

// TestCommitsTakeLittleSpace makes small changes and commits them. In files of their own, the copies of the
// repository's new objects would take about 24 KB each time.
func TestCommitsTakeLittleSpace(t *testing.T) {
	commits := 200
	if testing.Short() {
		commits = 60
	}
	w := gittest.NewRepo(t)
	for i := range 100 {
		pages(w, fmt.Sprintf("pkg%d/file%02d.go", i%10, i), 0)
	}
	w.Commit()
	k, dir := newKeeper(w)
	take := func(i int) string {
		return w.Fingerprint(k, ralph.TreeInput{Run: "run", Iteration: i, BaseHead: "HEAD"}).Snapshot
	}
	take(0)
	w.Must(snapshot.Pack(t.Context(), k.Store)) // what was there before
	before := diskuse.Of(dir).Bytes
	for i := 1; i <= commits; i++ {
		pages(w, fmt.Sprintf("pkg%d/file%02d.go", i%7, i%7*10+i%7), i)
		w.Git("commit", "-qam", fmt.Sprintf("change %d", i))
		take(i)
	}
	w.Must(snapshot.Pack(t.Context(), k.Store))
	const limit = 5 << 10
	if each := (diskuse.Of(dir).Bytes - before) / int64(commits); each >= limit {
		t.Errorf("a commit takes %d bytes", each)
	}
	was := w.Git("rev-list", "--objects", "--no-object-names", "HEAD")
	w.Git("--git-dir="+dir, "fsck", "--full", "--strict")
	k = keep(w, dir) // another process copies nothing again
	last := w.Fingerprint(k, ralph.TreeInput{Run: "run", Iteration: commits, BaseHead: "HEAD"}).Snapshot
	if loose := copiesOf(t, dir); len(loose) >= 64 {
		t.Errorf("%d copies are loose", len(loose))
	}
	w.Sh("rm -rf .git")
	restore(w, reopen(w, dir), snapshot.RestoreInput{Snapshot: last, Git: true})
	if now := w.Git("rev-list", "--objects", "--no-object-names", "HEAD"); now != was {
		t.Errorf("restored objects differ:\n%s\nbefore:\n%s", now, was)
	}
}

// copiesOf lists the loose copies of the repository's objects.
func copiesOf(t *testing.T, dir string) []string {
	t.Helper()
	loose, err := filepath.Glob(filepath.Join(dir, "history", "??", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return loose
}

// TestPackingOfCommitsLosesNothing packs after a kill at each step, and beside a damaged copy.
func TestPackingOfCommitsLosesNothing(t *testing.T) {
	w := gittest.NewRepo(t)
	k, dir := newKeeper(w)
	for i := range 12 {
		pages(w, "file", i)
		w.Git("add", "file")
		w.Git("commit", "-qm", fmt.Sprintf("change %d", i))
		w.Fingerprint(k, ralph.TreeInput{Run: "run", Iteration: i, BaseHead: "HEAD"})
	}
	head := strings.TrimSpace(w.Git("rev-parse", "HEAD"))
	was := w.Git("rev-list", "--objects", "--no-object-names", head)
	loose := copiesOf(t, dir)
	if len(loose) < 36 {
		t.Fatalf("%d copies are loose", len(loose))
	}
	complete := func(what string) {
		t.Helper()
		w.Git("--git-dir="+dir, "fsck", "--full", "--strict")
		if now := w.Git("--git-dir="+dir, "rev-list", "--objects", "--no-object-names", head); now != was {
			t.Errorf("%s: objects are missing:\n%s\nbefore:\n%s", what, now, was)
		}
		if left := copiesOf(t, dir); len(left) >= 16 {
			t.Errorf("%s: %d copies are loose", what, len(left))
		}
	}

	// Killed while the pack was written, its parts are in the folder.
	w.Sh("echo half >'" + dir + "/history/pack/tmp_pack_123456'; echo half >'" + dir + "/history/pack/pack-12.pack'")
	// A copy that an agent damaged before it was made is not packed. The repository has it no more.
	damaged := filepath.Join(dir, "history", "00", strings.Repeat("1", 38))
	w.Must(os.MkdirAll(filepath.Dir(damaged), 0o700))
	text, err := os.ReadFile(loose[0])
	w.Must(err)
	w.Must(os.WriteFile(damaged, text, 0o400))
	saved := gittest.NewFolder(t).Dir
	w.Sh("cp -R '" + dir + "/history/.' '" + saved + "'")
	w.Must(snapshot.Pack(t.Context(), k.Store))
	w.Must(os.Remove(damaged))
	complete("packed")

	// Killed before the loose copies were removed, both are there.
	w.Sh("cp -R '" + saved + "/.' '" + dir + "/history'; rm -rf '" + dir + "/history/00'")
	w.Must(snapshot.Pack(t.Context(), k.Store))
	complete("packed again")
}

func TestManyPacksBecomeOne(t *testing.T) {
	w := gittest.NewRepo(t)
	k, dir := newKeeper(w)
	var ids []string
	for i := range 16 {
		for n := range 40 {
			pages(w, fmt.Sprintf("file%d", n), i)
		}
		ids = append(ids, w.Fingerprint(k, ralph.TreeInput{Run: "run", Iteration: i, BaseHead: "HEAD"}).Snapshot)
		if i == 8 { // a kill while an earlier pack was removed
			w.Must(os.WriteFile(filepath.Join(dir, "objects", "pack", "pack-0123.pack"), []byte("rest"), 0o600))
		}
		w.Must(snapshot.Pack(t.Context(), k.Store))
	}
	packs, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "*.pack"))
	if err != nil || len(packs) != 1 {
		t.Errorf("packs %v, %v", packs, err)
	}
	w.Git("--git-dir="+dir, "fsck", "--full", "--strict")
	for _, id := range ids {
		if files, err := k.Files(t.Context(), id); err != nil || len(files) != 41 {
			t.Errorf("snapshot %s has %d files, %v", id, len(files), err)
		}
	}
}

// prunedStore has snapshots of two runs. The second needs one of the first.
func prunedStore(t *testing.T) (w gittest.Workspace, dir string, first, second []string) {
	t.Helper()
	w = gittest.NewRepo(t)
	k, dir := newKeeper(w)
	for i := range 3 {
		w.Write("big", strings.Repeat(fmt.Sprintf("%d of the first run %x\n", i, i*i), 20_000)+large())
		first = append(first, w.Fingerprint(k, ralph.TreeInput{Run: "R1", Iteration: i, BaseHead: "HEAD"}).Snapshot)
	}
	k = keep(w, dir)
	for i := range 2 { // the second run begins with the files that the first one left
		if i == 1 {
			pages(w, "big", i)
		}
		second = append(second, w.Fingerprint(k, ralph.TreeInput{Run: "R2", Iteration: i, BaseHead: "HEAD"}).Snapshot)
	}
	return w, dir, first, second
}

func TestPruneFreesWhatOnlyOldRunsUse(t *testing.T) {
	w, dir, first, second := prunedStore(t)
	store, err := snapshot.Open(gittest.Program(), dir)
	w.Must(err)
	before := diskuse.Of(dir).Bytes
	left, err := snapshot.Prune(t.Context(), store, snapshot.PruneInput{
		Keeps: func(run string) bool { return run == "R2" },
		Needs: func(id string) bool { return id == first[0] || id == second[1] },
	})
	if err != nil || left != 3 {
		t.Errorf("%d left, %v; want two of the second run, and one of the first", left, err)
	}
	if after := diskuse.Of(dir).Bytes; after > before*3/4 {
		t.Errorf("%d bytes before, %d after", before, after)
	}
	w.Git("--git-dir="+dir, "fsck", "--full", "--strict")
	for _, id := range append(second, first[0]) {
		if _, err := store.Files(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
	fresh, err := snapshot.Open(gittest.Program(), dir)
	w.Must(err)
	for _, id := range first[1:] {
		if _, err := fresh.Files(t.Context(), id); err == nil {
			t.Error("a snapshot of a run that is gone is still there")
		}
	}
	// The next run continues as if nothing had happened, and its snapshots can be restored.
	now := treeOf(w)
	id := snapshotOf(w, keep(w, dir))
	w.Write("big", "gone")
	restore(w, reopen(w, dir), snapshot.RestoreInput{Snapshot: id})
	same(w, "restored", now)
}

func TestPruneFinishesWhatAKillCutOff(t *testing.T) {
	w, dir, first, second := prunedStore(t)
	// As after a kill between the refs and the objects, in the middle of a repack.
	w.Git("--git-dir="+dir, "update-ref", "-d", "refs/ralph/R1/0")
	w.Git("--git-dir="+dir, "update-ref", "-d", "refs/ralph/R1/1")
	w.Git("--git-dir="+dir, "update-ref", "-d", "refs/ralph/R1/2")
	for _, name := range []string{
		"pruning", "packed-refs.lock", "HEAD.lock", "refs/ralph/R2/0.lock", "objects/pack/tmp_pack_1",
	} {
		w.Must(os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), nil, 0o600))
	}
	store, err := snapshot.Open(gittest.Program(), dir)
	w.Must(err)
	for range 2 {
		left, err := snapshot.Prune(t.Context(), store, snapshot.PruneInput{
			Keeps: func(run string) bool { return run == "R2" },
			Needs: func(string) bool { return false },
		})
		if err != nil || left != len(second) {
			t.Fatalf("%d left, %v", left, err)
		}
	}
	if _, err := store.Files(t.Context(), first[1]); err == nil {
		t.Error("its objects are still there")
	}
	if rest, _ := filepath.Glob(filepath.Join(dir, "*.lock")); len(rest) > 0 {
		t.Error(rest)
	}
}

func TestPruneOfEverything(t *testing.T) {
	w, dir, _, _ := prunedStore(t)
	store, err := snapshot.Open(gittest.Program(), dir)
	w.Must(err)
	none := snapshot.PruneInput{Keeps: func(string) bool { return false }, Needs: func(string) bool { return false }}
	left, err := snapshot.Prune(t.Context(), store, none)
	if err != nil || left != 0 {
		t.Fatalf("%d left, %v", left, err)
	}
	id := snapshotOf(w, keep(w, dir))
	if files, err := reopen(w, dir).Files(t.Context(), id); err != nil || len(files) != 2 {
		t.Errorf("files %v, %v", files, err)
	}
}

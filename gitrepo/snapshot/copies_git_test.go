package snapshot_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
	"github.com/ralphloop/ralph/gitrepo/snapshot"
)

// TestCopiesOfARepository takes copies while the agent does things to the repository.
func TestCopiesOfARepository(t *testing.T) {
	w := rich(t)
	k := kept{w, keep(w, filepath.Join(gittest.NewFolder(t).Dir, "snapshots.git"))}
	was := without(treeOf(w), ignored...)
	base := snapshotOf(w, k.copies.(*snapshot.Keeper))
	k.whole("base", base, was)

	w.Sh("rm -rf .git; echo other >lf.txt; rm run.sh")
	state := w.Fingerprint(k.copies, ralph.TreeInput{Run: "run", Iteration: 2, BaseHead: "HEAD"})
	k.wantEqual("without .git", []string{"changed lf.txt", "deleted run.sh"}, k.changes(base, state.Snapshot))
	k.whole("base without .git", base, was)
	w.Write("user", "added meanwhile\n")
	after := w.Fingerprint(k.copies, ralph.TreeInput{Run: "run", Iteration: 2, BaseHead: "HEAD"})
	joined, err := k.copies.Join(t.Context(), base, state.Snapshot, after.Snapshot)
	w.Must(err)
	was["user"] = "file added meanwhile\n"
	k.whole("joined without .git", joined, was)
}

// TestJoinedIsNoSnapshotOfAnIteration joins, and takes and restores snapshots as if
// nothing had been joined.
func TestJoinedIsNoSnapshotOfAnIteration(t *testing.T) {
	w := gittest.NewRepo(t)
	keeper, dir := newKeeper(w)
	k := kept{w, keeper}
	base, was := k.take(), treeOf(w)
	w.Write("agent", "one\n")
	first, then := k.take(), treeOf(w)
	w.Write("user", "two\n")
	second := k.take()
	joined, err := keeper.Join(t.Context(), base, first, second)
	w.Must(err)

	shots := gittest.Workspace{TB: t, Dir: dir}
	refs := shots.Git("--git-dir=.", "for-each-ref", "--format=%(objectname) %(refname)")
	k.wantEqual("refs", second+" refs/ralph/run/1\n"+joined+" refs/ralph/run/base-"+joined, refs)
	shots.Git("--git-dir=.", "gc", "-q", "--prune=now")
	shots.Git("--git-dir=.", "fsck", "--strict")

	later := kept{w, reopen(w, dir)}
	later.whole("joined", joined, map[string]string{"kept": "file one\n", "user": "file two\n"})
	later.whole("first", first, then)
	restore(w, reopen(w, dir), snapshot.RestoreInput{Snapshot: first})
	same(w, "first", then)
	restore(w, reopen(w, dir), snapshot.RestoreInput{Snapshot: base})
	same(w, "base", was)
	k.wantEqual("taken again", []string(nil), k.changes(base, k.take()))
}

// TestCopiesInSHA256 has longer names of everything.
func TestCopiesInSHA256(t *testing.T) {
	w := gittest.NewFolder(t)
	w.Git("init", "-q", "-b", "main", "--object-format=sha256")
	w.Write("a", "a\n")
	w.Commit()
	keeper, _ := newKeeper(w)
	k := kept{w, keeper}
	base := k.take()
	w.Write("b", "b\n")
	first := k.take()
	w.Sh("rm a; echo c >c")
	second := k.take()
	k.wantEqual("changes", []string{"deleted a", "added c"}, k.changes(first, second))
	joined, err := keeper.Join(t.Context(), base, first, second)
	w.Must(err)
	k.whole("joined", joined, map[string]string{"c": "file c\n"})
}

// TestCopiesOfSubmodules hold their files like any other.
func TestCopiesOfSubmodules(t *testing.T) {
	inner := gittest.NewRepo(t)
	w := gittest.NewRepo(t)
	w.Git("submodule", "add", "-q", inner.Dir, "mod")
	w.Commit()
	keeper, _ := newKeeper(w)
	k := kept{w, keeper}
	was := treeOf(w)
	base := k.take()
	k.whole("base", base, was)
	w.Write("mod/kept", "changed\n")
	w.Write("mod/new", "new\n")
	w.At("mod").Commit()
	k.wantEqual("changes", []string{"changed mod/kept", "added mod/new"}, k.changes(base, k.take()))
	w.Sh("rm -rf mod; git rm -q --cached mod")
	gone := k.take()
	k.wantEqual("changes", []string{"deleted mod/kept"}, k.changes(base, gone))
	joined, err := keeper.Join(t.Context(), gone, gone, base)
	w.Must(err)
	k.whole("joined", joined, was)
}

// TestCopiesOfAMovedWorkspace compares copies from when the repository began elsewhere.
func TestCopiesOfAMovedWorkspace(t *testing.T) {
	top := gittest.NewRepo(t)
	w := top.At("inner")
	w.Sh("echo a >a; echo b >b; echo c >c")
	top.Commit()
	dir := filepath.Join(gittest.NewFolder(t).Dir, "snapshots.git")
	base := kept{w, keep(w, dir)}.take()
	w.Sh("git init -q; echo other >b; rm c; echo d >d")
	k := kept{w, keep(w, dir)}
	now := k.take()
	k.wantEqual("changes", []string{"changed b", "deleted c", "added d"}, k.changes(base, now))
	joined, err := k.copies.Join(t.Context(), base, base, now)
	w.Must(err)
	k.whole("joined", joined, map[string]string{"a": "file a\n", "b": "file other\n", "d": "file d\n"})
}

// TestReadOfADamagedCopy is an error, and not a file that is not there.
func TestReadOfADamagedCopy(t *testing.T) {
	w := gittest.NewFolder(t)
	w.Git("init", "-q", "-b", "main")
	keeper, dir := newKeeper(w)
	w.Write("a", "a\n")
	id := kept{w, keeper}.take()
	object := w.Git("hash-object", "a")
	w.Must(os.Remove(filepath.Join(dir, "objects", object[:2], object[2:])))
	got, err := keeper.Read(t.Context(), id, "a", 10)
	if err == nil || !strings.HasPrefix(err.Error(), "read snapshot "+id+": git cat-file: exit 128") {
		t.Errorf("read %q: %v", got, err)
	}
	if err := keeper.Extract(t.Context(), id, t.TempDir(), nil); err == nil ||
		!strings.Contains(err.Error(), "extract snapshot: ") {
		t.Errorf("extract: %v", err)
	}
}

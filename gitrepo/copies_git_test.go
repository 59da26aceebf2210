package gitrepo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo"
)

// TestCopiesOfARepository takes copies while the agent does things to the repository.
func TestCopiesOfARepository(t *testing.T) {
	w := rich(t)
	k := kept{w, w.keep(filepath.Join(newFolder(t).dir, "snapshots.git"))}
	was := without(w.tree(), ignored...)
	base := w.snapshot(k.copies.(*gitrepo.Keeper))
	k.whole("base", base, was)

	w.sh("rm -rf .git; echo other >lf.txt; rm run.sh")
	state := w.fingerprint(k.copies, ralph.TreeInput{Run: "run", Iteration: 2, BaseHead: "HEAD"})
	k.wantEqual("without .git", []string{"changed lf.txt", "deleted run.sh"}, k.changes(base, state.Snapshot))
	k.whole("base without .git", base, was)
	w.write("user", "added meanwhile\n")
	after := w.fingerprint(k.copies, ralph.TreeInput{Run: "run", Iteration: 2, BaseHead: "HEAD"})
	joined, err := k.copies.Join(t.Context(), base, state.Snapshot, after.Snapshot)
	w.must(err)
	was["user"] = "file added meanwhile\n"
	k.whole("joined without .git", joined, was)
}

// TestJoinedIsNoSnapshotOfAnIteration joins, and takes and restores snapshots as if
// nothing had been joined.
func TestJoinedIsNoSnapshotOfAnIteration(t *testing.T) {
	w := newRepo(t)
	keeper, dir := w.keeper()
	k := kept{w, keeper}
	base, was := k.take(), w.tree()
	w.write("agent", "one\n")
	first, then := k.take(), w.tree()
	w.write("user", "two\n")
	second := k.take()
	joined, err := keeper.Join(t.Context(), base, first, second)
	w.must(err)

	shots := workspace{t, dir}
	refs := shots.git("--git-dir=.", "for-each-ref", "--format=%(objectname) %(refname)")
	k.wantEqual("refs", second+" refs/ralph/run/1\n"+joined+" refs/ralph/run/base-"+joined, refs)
	shots.git("--git-dir=.", "gc", "-q", "--prune=now")
	shots.git("--git-dir=.", "fsck", "--strict")

	later := kept{w, w.later(dir)}
	later.whole("joined", joined, map[string]string{"kept": "file one\n", "user": "file two\n"})
	later.whole("first", first, then)
	w.restore(w.later(dir), gitrepo.RestoreInput{Snapshot: first})
	w.same("first", then)
	w.restore(w.later(dir), gitrepo.RestoreInput{Snapshot: base})
	w.same("base", was)
	k.wantEqual("taken again", []string(nil), k.changes(base, k.take()))
}

// TestCopiesInSHA256 has longer names of everything.
func TestCopiesInSHA256(t *testing.T) {
	w := newFolder(t)
	w.git("init", "-q", "-b", "main", "--object-format=sha256")
	w.write("a", "a\n")
	w.commit()
	keeper, _ := w.keeper()
	k := kept{w, keeper}
	base := k.take()
	w.write("b", "b\n")
	first := k.take()
	w.sh("rm a; echo c >c")
	second := k.take()
	k.wantEqual("changes", []string{"deleted a", "added c"}, k.changes(first, second))
	joined, err := keeper.Join(t.Context(), base, first, second)
	w.must(err)
	k.whole("joined", joined, map[string]string{"c": "file c\n"})
}

// TestCopiesOfSubmodules hold their files like any other.
func TestCopiesOfSubmodules(t *testing.T) {
	inner := newRepo(t)
	w := newRepo(t)
	w.git("submodule", "add", "-q", inner.dir, "mod")
	w.commit()
	keeper, _ := w.keeper()
	k := kept{w, keeper}
	was := w.tree()
	base := k.take()
	k.whole("base", base, was)
	w.write("mod/kept", "changed\n")
	w.write("mod/new", "new\n")
	w.at("mod").commit()
	k.wantEqual("changes", []string{"changed mod/kept", "added mod/new"}, k.changes(base, k.take()))
	w.sh("rm -rf mod; git rm -q --cached mod")
	gone := k.take()
	k.wantEqual("changes", []string{"deleted mod/kept"}, k.changes(base, gone))
	joined, err := keeper.Join(t.Context(), gone, gone, base)
	w.must(err)
	k.whole("joined", joined, was)
}

// TestCopiesOfAMovedWorkspace compares copies from when the repository began elsewhere.
func TestCopiesOfAMovedWorkspace(t *testing.T) {
	top := newRepo(t)
	w := top.at("inner")
	w.sh("echo a >a; echo b >b; echo c >c")
	top.commit()
	dir := filepath.Join(newFolder(t).dir, "snapshots.git")
	base := kept{w, w.keep(dir)}.take()
	w.sh("git init -q; echo other >b; rm c; echo d >d")
	k := kept{w, w.keep(dir)}
	now := k.take()
	k.wantEqual("changes", []string{"changed b", "deleted c", "added d"}, k.changes(base, now))
	joined, err := k.copies.Join(t.Context(), base, base, now)
	w.must(err)
	k.whole("joined", joined, map[string]string{"a": "file a\n", "b": "file other\n", "d": "file d\n"})
}

// TestReadOfADamagedCopy is an error, and not a file that is not there.
func TestReadOfADamagedCopy(t *testing.T) {
	w := newFolder(t)
	w.git("init", "-q", "-b", "main")
	keeper, dir := w.keeper()
	w.write("a", "a\n")
	id := kept{w, keeper}.take()
	object := w.git("hash-object", "a")
	w.must(os.Remove(filepath.Join(dir, "objects", object[:2], object[2:])))
	got, err := keeper.Read(t.Context(), id, "a", 10)
	if err == nil || !strings.HasPrefix(err.Error(), "read snapshot "+id+": git cat-file: exit 128") {
		t.Errorf("read %q: %v", got, err)
	}
	if err := keeper.Extract(t.Context(), id, t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "extract snapshot: ") {
		t.Errorf("extract: %v", err)
	}
}

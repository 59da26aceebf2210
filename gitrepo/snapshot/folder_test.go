package snapshot_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
	"github.com/ralphloop/ralph/gitrepo/snapshot"
)

// keepFolder keeps snapshots of a folder without git.
func keepFolder(w gittest.Workspace, dir string) *snapshot.Keeper {
	w.Helper()
	k, err := snapshot.NewFolder(snapshot.FolderInput{Git: gittest.Program(), Dir: w.Dir}, dir)
	w.Must(err)
	return k
}

// A folder without git has snapshots that can be compared and restored. Its .gitignore files count, and so do
// well-known dependency and cache folders.
func TestSnapshotsOfAFolderWithoutGit(t *testing.T) {
	w := gittest.NewFolder(t).At("work")
	for _, name := range []string{
		"a", "sub/b", ".ralph/config.yaml", "x.log", "node_modules/x", "sub/.venv/x", ".pytest_cache/x", ".ralph/progress.md",
	} {
		w.Write(name, "one\n")
	}
	w.Write(".gitignore", "*.log\n")
	dir := filepath.Join(gittest.NewFolder(t).Dir, "snapshots.git")
	k := keepFolder(w, dir)
	look := func() ralph.TreeState {
		t.Helper()
		return w.Fingerprint(k, ralph.TreeInput{Run: "run", Iteration: 1, BaseHead: "", Claimed: true})
	}
	first := look()
	want := ralph.TreeState{Known: true, Hash: first.Hash, Snapshot: first.Snapshot}
	if diff := cmp.Diff(want, first); diff != "" || first.Hash == "" || first.Snapshot == "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	files, err := k.Files(t.Context(), first.Snapshot)
	if diff := cmp.Diff([]string{".gitignore", ".ralph/config.yaml", "a", "sub/b"}, files); diff != "" || err != nil {
		t.Error(diff, err)
	}
	before := treeOf(w)
	k = keepFolder(w, dir) // in another process
	if diff := cmp.Diff(first, look()); diff != "" {
		t.Errorf("in another process: %s", diff)
	}
	w.Write("node_modules/y", "x")
	w.Write(".ralph/progress.md", "x")
	if diff := cmp.Diff(first, look()); diff != "" {
		t.Errorf("what is ignored changed: %s", diff)
	}
	w.Sh("rm a node_modules/y; echo two >sub/b; echo new >c; git init -q nested; echo n >nested/n")
	second := look()
	changes, err := k.Changes(t.Context(), first.Snapshot, second.Snapshot)
	w.Must(err)
	all := []ralph.FileChange{
		{Name: "a", Kind: ralph.FileDeleted}, {Name: "c", Kind: ralph.FileAdded}, {Name: "nested/n", Kind: ralph.FileAdded},
		{Name: "sub/b", Kind: ralph.FileChanged},
	}
	if diff := cmp.Diff(all, changes); diff != "" || second.Hash == first.Hash {
		t.Error(diff, second.Hash, first.Hash)
	}
	if id, left, err := k.AsCloned(t.Context(), first, second.Snapshot); id != second.Snapshot ||
		left != nil || err != nil {
		t.Errorf("as cloned: %s, %q, %v", id, left, err)
	}
	done := restore(w, reopen(w, dir), snapshot.RestoreInput{Snapshot: first.Snapshot})
	if len(done.Notes) > 0 {
		t.Errorf("notes %q", done.Notes)
	}
	w.Sh("rm -rf nested; echo one >.ralph/progress.md")
	same(w, "restored", before)
	if _, err := reopen(w, dir).Restore(t.Context(), snapshot.RestoreInput{
		Snapshot: first.Snapshot, Git: true,
	}); err == nil {
		t.Error("branches were restored")
	}
	w.Must(snapshot.Pack(t.Context(), k.Store))
}

// A folder that becomes a repository continues in the same folder of snapshots.
func TestAFolderBecomesARepository(t *testing.T) {
	w := gittest.NewFolder(t).At("work")
	w.Write("a", "one\n")
	w.Write("node_modules/x", "x\n")
	dir := filepath.Join(gittest.NewFolder(t).Dir, "snapshots.git")
	first := snapshotOf(w, keepFolder(w, dir))
	w.Git("init", "-q")
	k := keep(w, dir)
	second := snapshotOf(w, k)
	changes, err := k.Changes(t.Context(), first, second)
	if diff := cmp.Diff([]ralph.FileChange{{Name: "node_modules/x", Kind: ralph.FileAdded}}, changes); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestSnapshotsOfAFolderNeedGit(t *testing.T) {
	w := gittest.NewFolder(t)
	_, err := snapshot.NewFolder(snapshot.FolderInput{Git: git.Program{Env: []string{"PATH=/nowhere"}}, Dir: w.Dir},
		filepath.Join(gittest.NewFolder(t).Dir, "snapshots.git"))
	if !errors.Is(err, gitrepo.ErrNoGit) {
		t.Errorf("got %v", err)
	}
	if _, err := snapshot.NewFolder(snapshot.FolderInput{Git: gittest.Program(), Dir: w.Dir},
		w.Path("state")); !errors.Is(err, gitrepo.ErrInside) {
		t.Errorf("got %v", err)
	}
}

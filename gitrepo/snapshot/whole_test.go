package snapshot_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
	"github.com/ralphloop/ralph/gitrepo/snapshot"
)

// A workspace that is a folder of its repository has snapshots of the whole working tree, as it was at the start.
// What is listed, compared and restored is the workspace alone.
func TestSnapshotsHaveTheWholeWorkingTree(t *testing.T) {
	top := gittest.NewRepo(t)
	top.Write("beside/a", "a\n")
	top.Write(".gitignore", "*.log\n")
	top.Write("in/a", "a\n")
	top.Commit()
	top.Write("beside/new", "new\n")
	top.Write("beside/x.log", "ignored\n")
	w := top.At("in")
	k, dir := newKeeper(w)
	base := snapshotOf(w, k)
	files := func(id string) []string {
		return strings.Fields(top.Git("--git-dir="+dir, "ls-tree", "-r", "--name-only", id))
	}
	if diff := cmp.Diff([]string{".gitignore", "beside/a", "beside/new", "in/a", "kept"}, files(base)); diff != "" {
		t.Error(diff)
	}
	top.Write("beside/a", "later\n")
	w.Write("b", "b\n")
	w.Write("y.log", "ignored\n")
	now := snapshotOf(w, k)
	if diff := cmp.Diff([]string{".gitignore", "beside/a", "beside/new", "in/a", "in/b", "kept"}, files(now)); diff != "" {
		t.Error(diff)
	}
	changes, err := k.Changes(t.Context(), base, now)
	if diff := cmp.Diff([]ralph.FileChange{{Name: "b", Kind: ralph.FileAdded}}, changes); diff != "" || err != nil {
		t.Error(diff, err)
	}
	id, left, err := k.AsCloned(t.Context(), ralph.TreeState{Snapshot: base}, now)
	if id != now || left != nil || err != nil {
		t.Errorf("as cloned: %s, %q, %v", id, left, err)
	}
	k = keep(w, dir) // a new process looks beside the workspace again
	w.Write("c", "c\n")
	later := snapshotOf(w, k)
	if text := top.Git("--git-dir="+dir, "show", later+":beside/a"); text != "later\n" && text != "later" {
		t.Errorf("beside the workspace: %q", text)
	}
	if said, err := k.Between(t.Context(), base, later); said != "2 files changed, 2 insertions(+), 2 new files" || err != nil {
		t.Errorf("between: %q, %v", said, err)
	}
	restore(w, reopen(w, dir), snapshot.RestoreInput{Snapshot: base})
	want := map[string]string{"a": "file a\n", "y.log": "file ignored\n"}
	same(w, "restored", want)
	if got := treeOf(top.At("beside"))["a"]; got != "file later\n" {
		t.Errorf("a file beside the workspace was restored: %q", got)
	}
}

//go:build unix

package snapshot_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
	"github.com/ralphloop/ralph/gitrepo/internal/manifest"
	"github.com/ralphloop/ralph/gitrepo/snapshot"
)

// TestWhatCannotBeRead is left out, said, and left alone.
func TestWhatCannotBeRead(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root can read everything")
	}
	w := gittest.NewRepo(t)
	w.Write("shut", "before\n")
	w.Write("folder/file", "before\n")
	w.Commit()
	k, _ := newKeeper(w)
	id := snapshotOf(w, k)
	w.Write("shut", "changed\n")
	w.Write("new", "new\n")
	w.Write("closed/file", "x\n")
	w.Must(os.Chmod(w.Path("shut"), 0))
	w.Must(os.Chmod(w.Path("closed"), 0))
	w.Must(os.Chmod(w.Path("folder"), 0))
	defer func() {
		for _, name := range []string{"closed", "folder"} {
			w.Must(os.Chmod(w.Path(name), 0o755))
		}
	}()
	state := w.Fingerprint(k, gittest.Since)
	want := []string{
		"a folder cannot be read and is not in the snapshot: 'closed/': Permission denied",
		"a folder cannot be read and is not in the snapshot: 'folder/': Permission denied",
		"shut is not up to date in the snapshot: it cannot be read",
	}
	if diff := cmp.Diff(want, state.Omitted); diff != "" {
		t.Error(diff)
	}
	holds(
		w,
		k,
		state.Snapshot,
		map[string]string{"kept": "file one\n", "new": "file new\n", "shut": "file before\n", "folder/file": "file before\n"},
	)
	done := restore(w, k, snapshot.RestoreInput{Snapshot: id})
	done.Undo = ""
	if diff := cmp.Diff(manifest.Restored{Deleted: 1}, done); diff != "" {
		t.Error(diff)
	}
	w.Must(os.Chmod(w.Path("shut"), 0o600))
	if text, err := os.ReadFile(w.Path("shut")); string(text) != "changed\n" {
		t.Errorf("shut was touched: %q, %v", text, err)
	}
}

func TestFoldersThatAreReadOnly(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root can write everywhere")
	}
	w := gittest.NewRepo(t)
	for _, name := range []string{"folder/changed", "folder/gone", "folder/sub/deep", "folder/mode"} {
		w.Write(name, "before\n")
	}
	k, _ := newKeeper(w)
	id, before := snapshotOf(w, k), treeOf(w)
	w.Sh("cd folder; echo x >changed; rm -rf gone sub; chmod +x mode; echo y >added; ln -s x link; chmod 555 .")
	defer func() { w.Must(os.Chmod(w.Path("folder"), 0o755)) }()
	after := treeOf(w)
	done := restore(w, k, snapshot.RestoreInput{Snapshot: id})
	same(w, "restored", before)
	if info, err := os.Stat(w.Path("folder")); err != nil || info.Mode().Perm() != 0o555 {
		t.Errorf("the folder is %v, %v", info, err)
	}
	restore(w, k, snapshot.RestoreInput{Snapshot: done.Undo})
	same(w, "undone", after)
}

func TestPipesAndSocketsAreSkipped(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Write("turned", "before\n")
	w.Commit()
	k, _ := newKeeper(w)
	snapshotOf(w, k)
	gittest.MakePipe(w, "turned")
	gittest.MakePipe(w, "new")
	state := w.Fingerprint(k, gittest.Since)
	if diff := cmp.Diff([]string{"turned is not up to date in the snapshot: it is not a file, link or folder"},
		state.Omitted); diff != "" {
		t.Error(diff)
	}
	holds(w, k, state.Snapshot, map[string]string{"kept": "file one\n"})
}

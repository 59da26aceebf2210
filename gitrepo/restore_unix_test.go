//go:build unix

package gitrepo_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/gitrepo"
)

// TestWhatCannotBeRead is left out, said, and left alone.
func TestWhatCannotBeRead(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root can read everything")
	}
	w := newRepo(t)
	w.write("shut", "before\n")
	w.write("folder/file", "before\n")
	w.commit()
	k, _ := w.keeper()
	id := w.snapshot(k)
	w.write("shut", "changed\n")
	w.write("new", "new\n")
	w.write("closed/file", "x\n")
	w.must(os.Chmod(w.path("shut"), 0))
	w.must(os.Chmod(w.path("closed"), 0))
	w.must(os.Chmod(w.path("folder"), 0))
	defer func() {
		for _, name := range []string{"closed", "folder"} {
			w.must(os.Chmod(w.path(name), 0o755))
		}
	}()
	state := w.fingerprint(k, since)
	want := []string{
		"a folder cannot be read and is not in the snapshot: 'closed/': Permission denied",
		"a folder cannot be read and is not in the snapshot: 'folder/': Permission denied",
		"shut is not in the snapshot as it is now: it cannot be read",
	}
	if diff := cmp.Diff(want, state.Left); diff != "" {
		t.Error(diff)
	}
	w.holds(k, state.Snapshot, map[string]string{"kept": "file one\n", "new": "file new\n", "shut": "file before\n", "folder/file": "file before\n"})
	done := w.restore(k, gitrepo.RestoreInput{Snapshot: id})
	done.Undo = ""
	if diff := cmp.Diff(gitrepo.Restored{Deleted: 1}, done); diff != "" {
		t.Error(diff)
	}
	w.must(os.Chmod(w.path("shut"), 0o600))
	if text, err := os.ReadFile(w.path("shut")); string(text) != "changed\n" {
		t.Errorf("shut was touched: %q, %v", text, err)
	}
}

func TestFoldersThatAreReadOnly(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root can write everywhere")
	}
	w := newRepo(t)
	for _, name := range []string{"folder/changed", "folder/gone", "folder/sub/deep", "folder/mode"} {
		w.write(name, "before\n")
	}
	k, _ := w.keeper()
	id, before := w.snapshot(k), w.tree()
	w.sh("cd folder; echo x >changed; rm -rf gone sub; chmod +x mode; echo y >added; ln -s x link; chmod 555 .")
	defer func() { w.must(os.Chmod(w.path("folder"), 0o755)) }()
	after := w.tree()
	done := w.restore(k, gitrepo.RestoreInput{Snapshot: id})
	w.same("restored", before)
	if info, err := os.Stat(w.path("folder")); err != nil || info.Mode().Perm() != 0o555 {
		t.Errorf("the folder is %v, %v", info, err)
	}
	w.restore(k, gitrepo.RestoreInput{Snapshot: done.Undo})
	w.same("undone", after)
}

func TestPipesAndSocketsAreSkipped(t *testing.T) {
	w := newRepo(t)
	w.write("turned", "before\n")
	w.commit()
	k, _ := w.keeper()
	w.snapshot(k)
	w.pipe("turned")
	w.pipe("new")
	state := w.fingerprint(k, since)
	if diff := cmp.Diff([]string{"turned is not in the snapshot as it is now: it is no file, link or folder"}, state.Left); diff != "" {
		t.Error(diff)
	}
	w.holds(k, state.Snapshot, map[string]string{"kept": "file one\n"})
}

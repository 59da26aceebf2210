package snapshot_test

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
)

// TestTreesAreThoseOfGit: whatever changes, a snapshot has the tree that git writes of the same files.
func TestTreesAreThoseOfGit(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			w := gittest.NewFolder(t).At("work")
			w.Git("init", "-q", "--object-format="+format)
			w.Write("a/b/c", "one\n")
			w.Commit()
			k, dir := newKeeper(w)
			random := rand.New(rand.NewPCG(1, 2))
			for step := range 40 {
				change(w, random)
				if step == 30 {
					w.Sh("find . -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {} +")
				}
				if step%10 == 9 { // in another process
					w.Git("--git-dir="+dir, "repack", "-adq")
					k = keep(w, dir)
				}
				id := snapshotOf(w, k)
				w.Git("add", "-A", "-f")
				if got, want := w.Git("--git-dir="+dir, "rev-parse", id+"^{tree}"), w.Git("write-tree"); got != want {
					t.Fatalf("step %d: tree %s, want %s:\n%s", step, got, want, w.Git("ls-files", "--stage"))
				}
				names, err := k.Files(t.Context(), id)
				w.Must(err)
				if diff := cmp.Diff(git.SplitNames(w.Git("ls-files", "-z")), names); diff != "" {
					t.Fatalf("step %d: files (-want +got):\n%s", step, diff)
				}
			}
			w.Git("--git-dir="+dir, "fsck", "--full", "--strict")
		})
	}
}

// change writes and deletes a few files whose names git sorts in a way of its own.
func change(w gittest.Workspace, random *rand.Rand) {
	names := append(odd(), "a", "a-b", "a.b", "a0", "a=", "A", "b")
	pick := func() string { return names[random.IntN(len(names))] }
	for range 1 + random.IntN(6) {
		path := w.Dir
		for range 1 + random.IntN(3) {
			if info, err := os.Lstat(path); err == nil && !info.IsDir() {
				w.Must(os.Remove(path))
			}
			w.Must(os.MkdirAll(path, 0o755))
			path = filepath.Join(path, strings.ReplaceAll(pick(), "/", "_"))
		}
		w.Must(os.RemoveAll(path))
		text := fmt.Sprintln(random.IntN(20))
		switch random.IntN(4) {
		case 0:
			w.Must(os.Symlink(text, path))
		case 1:
			w.Must(os.WriteFile(path, []byte(text), 0o755))
		case 2:
			w.Must(os.WriteFile(path, []byte(text), 0o644))
		}
	}
}

// TestALostObjectBesideAChange: a file whose object is gone is read again when a file beside it changes.
func TestALostObjectBesideAChange(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Write("folder/a", "a\n")
	w.Write("folder/b", "b\n")
	k, dir := newKeeper(w)
	snapshotOf(w, k)
	lost := w.Git("hash-object", "folder/b")
	w.Must(os.Remove(filepath.Join(dir, "objects", lost[:2], lost[2:])))
	w.Write("folder/a", "changed\n")
	holds(w, k, snapshotOf(w, k), treeOf(w))
	w.Git("--git-dir="+dir, "fsck", "--full", "--strict")
}

// TestStoredFindsWhatGitFinds: every object of a repository, loose, packed or borrowed, and no other.
func TestStoredFindsWhatGitFinds(t *testing.T) {
	w := gittest.NewRepo(t)
	for i := range 600 {
		w.Write(fmt.Sprintf("file%d", i), fmt.Sprintln(i))
	}
	w.Commit()
	w.Git("repack", "-adq")
	w.Git("clone", "-qs", ".", "borrower")
	b := w.At("borrower")
	b.Write("packed", "packed\n")
	b.Commit()
	b.Git("repack", "-dlq")
	b.Write("loose", "loose\n")
	b.Commit()
	stored := git.OpenStored(b.Path(".git/objects"))
	defer stored.Close()
	list := b.Git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
	if count := strings.Count(list, "\n"); count < 600 {
		t.Fatalf("git lists %d objects", count)
	}
	for _, name := range strings.Fields(list) {
		id := decoded(w, name)
		id[len(id)-1] ^= 1
		neighbor := stored.Has(id)
		id[len(id)-1] ^= 1
		if !stored.Has(id) || neighbor {
			t.Errorf("%s: found %v, and its neighbor %v", name, stored.Has(id), neighbor)
		}
	}
}

func decoded(w gittest.Workspace, id string) []byte {
	w.Helper()
	raw, err := hex.DecodeString(id)
	w.Must(err)
	return raw
}

package snapshot_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
	"github.com/ralphloop/ralph/gitrepo/snapshot"
)

// checkouts is a keeper with a folder for its checkout.
type checkouts struct {
	gittest.Workspace
	*snapshot.Keeper
	folder string
}

func newCheckouts(t *testing.T, fill func(w gittest.Workspace)) checkouts {
	w := gittest.NewRepo(t)
	fill(w)
	folder := gittest.NewFolder(t).Dir
	k, err := snapshot.New(t.Context(), w.Find(), filepath.Join(folder, "snapshots.git"))
	w.Must(err)
	return checkouts{w, k, filepath.Join(folder, "checkout")}
}

// make checks out the workspace as it is, with the history of this moment.
func (c checkouts) make(t *testing.T) (ralph.Checkout, gittest.Workspace) {
	id := snapshotOf(c.Workspace, c.Keeper)
	made, err := c.Checkout(t.Context(), ralph.CheckoutInput{Files: id, History: id, Folder: c.folder})
	c.Must(err)
	clone := c.Workspace
	clone.Dir = made.Dir
	return made, clone
}

// commit makes a view's commit, and puts it into the checkout.
func (c checkouts) commit(t *testing.T, made ralph.Checkout, edits []ralph.FileEdit) {
	git, err := c.CommitEdits(t.Context(), made, edits, filepath.Join(gittest.NewFolder(t).Dir, "own"))
	c.Must(err)
	for _, e := range append(git, edits...) {
		to := filepath.Join(made.Dir, filepath.FromSlash(e.Name))
		c.Must(os.RemoveAll(to))
		if e.Source == "" {
			continue
		}
		text, err := os.ReadFile(e.Source)
		c.Must(err)
		c.Must(os.MkdirAll(filepath.Dir(to), 0o755))
		c.Must(os.WriteFile(to, text, 0o644))
	}
}

func TestCheckoutIsWhatACloneHas(t *testing.T) {
	t.Parallel()
	c := newCheckouts(t, func(w gittest.Workspace) {
		w.Sh(`echo 1 >a; ln -s a link; echo 'echo hi' >run; chmod +x run; printf 'x\r\n' >crlf; echo '*.log' >.gitignore`)
		w.Commit()
		w.Git("tag", "-a", "v1", "-m", "one")
		w.Git("remote", "add", "origin", "https://example.com/\"x\".git")
		w.Git("update-ref", "refs/remotes/origin/main", "HEAD")
		w.Sh(`echo 2 >>a; echo new >untracked; mkdir -p sub/dir; echo deep >'sub/dir/a file'`)
		w.Sh(`echo secret >.git/description; touch -d 2001-01-01 run; chmod 600 a; echo ignored >x.log; mkdir empty`)
		w.Git("branch", "other")
		w.Git("notes", "add", "-m", "a note")
		w.Sh(`echo lost | git hash-object -w --stdin; echo stashed >a2; git add a2; git stash -q; git stash pop -q`)
	})
	_, clone := c.make(t)
	for command, want := range map[string]string{
		"status --porcelain":               "",
		"describe":                         "v1-1-g" + strings.TrimSpace(clone.Git("rev-parse", "--short=7", "HEAD")),
		"diff --name-only origin/main":     "a\na2\nsub/dir/a file\nuntracked",
		"remote -v":                        "origin\thttps://example.com/\"x\".git (fetch)\norigin\thttps://example.com/\"x\".git (push)",
		"log --format=%s":                  "Update files\n" + strings.TrimSpace(c.Git("log", "--format=%s")),
		"for-each-ref --format=%(refname)": "refs/heads/main\nrefs/heads/other\nrefs/remotes/origin/main\nrefs/tags/v1",
		"reflog":                           "",
		"fsck --unreachable":               "",
	} {
		if got := strings.TrimSpace(clone.Git(strings.Fields(command)...)); got != want {
			t.Errorf("git %s: got %q, want %q", command, got, want)
		}
	}
	if diff := cmp.Diff(map[string]string{
		".gitignore": "file *.log\n", "a": "file 1\n2\n", "a2": "file stashed\n", "crlf": "file x\r\n", "kept": "file one\n", "link": "link a",
		"run": "program echo hi\n", "sub/dir/a file": "file deep\n", "untracked": "file new\n",
	}, treeOf(clone)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestCheckoutMovesAndHeals(t *testing.T) {
	t.Parallel()
	c := newCheckouts(t, func(w gittest.Workspace) {
		w.Sh(`mkdir dir; echo 1 >dir/a; echo 1 >b`)
		w.Commit()
	})
	_, clone := c.make(t)
	c.Sh(`rm -r dir; echo file >dir; echo 2 >b; git add -A; git commit -qm second`)
	clone.Sh(`echo changed >b; echo planted >planted; chmod +x b; rm -f dir/a`)
	_, clone = c.make(t)
	if diff := cmp.Diff(map[string]string{"b": "file 2\n", "dir": "file file\n", "kept": "file one\n"}, treeOf(clone)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if got, want := clone.Git("rev-parse", "HEAD"), c.Git("rev-parse", "HEAD"); got != want {
		t.Errorf("HEAD is %s, want the user's commit %s, because no file differs from it", got, want)
	}
	c.Must(os.WriteFile(filepath.Join(clone.Dir, "b"), []byte("3\n"), 0o644))
	_, clone = c.make(t)
	if diff := cmp.Diff(map[string]string{"b": "file 2\n", "dir": "file file\n", "kept": "file one\n"}, treeOf(clone)); diff != "" {
		t.Errorf("files after a change of the checkout itself (-want +got):\n%s", diff)
	}
}

func TestCommitOfAView(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(w gittest.Workspace){
		"a branch": func(w gittest.Workspace) { w.Sh("echo 1 >a; echo 1 >b"); w.Commit() },
		"detached HEAD": func(w gittest.Workspace) {
			w.Sh("echo 1 >a; echo 1 >b")
			w.Commit()
			w.Git("checkout", "-q", "--detach")
		},
		"no commit yet": func(w gittest.Workspace) { w.Sh("echo 1 >a; echo 1 >b") },
		"a dirty tree":  func(w gittest.Workspace) { w.Sh("echo 0 >a"); w.Commit(); w.Sh("echo 1 >a; echo 1 >b") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCheckouts(t, prepare)
			made, clone := c.make(t)
			edits := gittest.NewFolder(t)
			edits.Write("new", "planted\n")
			c.commit(t, made, []ralph.FileEdit{{Name: "a"}, {Name: "dir/\"new\"", Source: edits.Path("new")}})
			if got := clone.Git("status", "--porcelain"); got != "" {
				t.Errorf("git status is not clean: %q", got)
			}
			if got, want := clone.Git("ls-files"), "b\n\"dir/\\\"new\\\"\"\nkept"; got != want {
				t.Errorf("files: got %q, want %q", got, want)
			}
			above, commits := strings.Count(c.Git("rev-list", "--all"), "\n"), strings.Count(clone.Git("rev-list", "HEAD"), "\n")
			if commits != above+1 {
				t.Errorf("%d commits, want one more than %d", commits, above)
			}
		})
	}
}

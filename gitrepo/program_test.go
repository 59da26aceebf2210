package gitrepo_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ralphloop/ralph/gitrepo"
)

// TestAGitInTheWorkingTreeIsPassedOver plants a git that would say, to every question,
// that all is well.
func TestAGitInTheWorkingTreeIsPassedOver(t *testing.T) {
	cases := map[string]func(w workspace) (dir, path string){
		"in the workspace": func(w workspace) (string, string) {
			w.program(".venv/bin/git", "exit 0")
			return w.dir, w.path(".venv/bin")
		},
		"in the tree above the workspace": func(w workspace) (string, string) {
			w.program("bin/git", "exit 0")
			return w.at("below").dir, w.path("bin")
		},
		"spelled through a link": func(w workspace) (string, string) {
			w.program("bin/git", "exit 0")
			link := filepath.Join(w.TempDir(), "link")
			w.must(os.Symlink(w.dir, link))
			return w.dir, filepath.Join(link, "bin")
		},
		"a folder outside that links into the tree": func(w workspace) (string, string) {
			w.program("bin/git", "exit 0")
			link := filepath.Join(w.TempDir(), "link")
			w.must(os.Symlink(w.path("bin"), link))
			return w.dir, link
		},
		"a folder of the tree that links outside": func(w workspace) (string, string) {
			outside := newFolder(w.TB)
			outside.program("git", "exit 0")
			w.must(os.Symlink(outside.dir, w.path("bin")))
			return w.dir, w.path("bin")
		},
		"a program outside that links into the tree": func(w workspace) (string, string) {
			w.program("bin/git", "exit 0")
			outside := newFolder(w.TB)
			w.must(os.Symlink(w.path("bin/git"), outside.path("git")))
			return w.dir, outside.dir
		},
	}
	for name, plant := range cases {
		t.Run(name, func(t *testing.T) {
			w := newRepo(t)
			dir, path := plant(w)
			planted := gitrepo.Git{Env: append(environment(), "PATH="+path+":/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin")}
			repo, ok, err := planted.Find(t.Context(), dir)
			if !ok || err != nil || repo.Top != w.dir {
				t.Fatalf("found %+v, %v, %v", repo, ok, err)
			}
			if state, want := w.fingerprint(repo, since), w.git("rev-parse", "HEAD"); state.Head != want {
				t.Errorf("HEAD is %q, want %q", state.Head, want)
			}
			alone := gitrepo.Git{Env: append(environment(), "PATH="+path)}
			if repo, ok, err := alone.Find(t.Context(), dir); ok || !errors.Is(err, gitrepo.ErrNoGit) {
				t.Errorf("without another git it found %+v, %v, %v", repo, ok, err)
			}
			if err := alone.Init(t.Context(), dir, "x"); !errors.Is(err, gitrepo.ErrNoGit) {
				t.Errorf("without another git Init says %v", err)
			}
		})
	}
}

func TestAGitThatIsPlantedLaterIsNotRun(t *testing.T) {
	w, bin := newRepo(t), newFolder(t)
	git := gitrepo.Git{Env: append(environment(), "PATH="+bin.dir+":/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin")}
	repo, ok, err := git.Find(t.Context(), w.dir)
	if !ok || err != nil {
		t.Fatalf("found %v, %v", ok, err)
	}
	bin.program("git", "exit 0")
	if state, want := w.fingerprint(repo, since), w.git("rev-parse", "HEAD"); state.Head != want {
		t.Errorf("HEAD is %q, want %q", state.Head, want)
	}
}

func TestInitPassesOverAGitInItsFolder(t *testing.T) {
	w := newFolder(t)
	w.program("bin/git", "exit 0")
	git := gitrepo.Git{Env: append(environment(), "PATH="+w.path("bin")+":/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin")}
	w.must(git.Init(t.Context(), w.dir, "first"))
	if got := w.git("log", "--format=%s"); got != "first" {
		t.Errorf("got %q", got)
	}
}

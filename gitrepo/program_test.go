package gitrepo_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
)

// TestAGitInTheWorkingTreeIsPassedOver plants a git that would say, to every question,
// that all is well.
func TestAGitInTheWorkingTreeIsPassedOver(t *testing.T) {
	cases := map[string]func(w gittest.Workspace) (dir, path string){
		"in the workspace": func(w gittest.Workspace) (string, string) {
			w.Script(".venv/bin/git", "exit 0")
			return w.Dir, w.Path(".venv/bin")
		},
		"in the tree above the workspace": func(w gittest.Workspace) (string, string) {
			w.Script("bin/git", "exit 0")
			return w.At("below").Dir, w.Path("bin")
		},
		"spelled through a link": func(w gittest.Workspace) (string, string) {
			w.Script("bin/git", "exit 0")
			link := filepath.Join(w.TempDir(), "link")
			w.Must(os.Symlink(w.Dir, link))
			return w.Dir, filepath.Join(link, "bin")
		},
		"a folder outside that links into the tree": func(w gittest.Workspace) (string, string) {
			w.Script("bin/git", "exit 0")
			link := filepath.Join(w.TempDir(), "link")
			w.Must(os.Symlink(w.Path("bin"), link))
			return w.Dir, link
		},
		"a folder of the tree that links outside": func(w gittest.Workspace) (string, string) {
			outside := gittest.NewFolder(w.TB)
			outside.Script("git", "exit 0")
			w.Must(os.Symlink(outside.Dir, w.Path("bin")))
			return w.Dir, w.Path("bin")
		},
		"a program outside that links into the tree": func(w gittest.Workspace) (string, string) {
			w.Script("bin/git", "exit 0")
			outside := gittest.NewFolder(w.TB)
			w.Must(os.Symlink(w.Path("bin/git"), outside.Path("git")))
			return w.Dir, outside.Dir
		},
	}
	for name, plant := range cases {
		t.Run(name, func(t *testing.T) {
			w := gittest.NewRepo(t)
			dir, path := plant(w)
			planted := git.Program{
				Env: append(gittest.Environment(), "PATH="+path+":/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"),
			}
			repo, ok, err := gitrepo.Find(t.Context(), planted, dir)
			if !ok || err != nil || repo.Top != w.Dir {
				t.Fatalf("found %+v, %v, %v", repo, ok, err)
			}
			if state, want := w.Fingerprint(repo, gittest.Since), w.Git("rev-parse", "HEAD"); state.Head != want {
				t.Errorf("HEAD is %q, want %q", state.Head, want)
			}
			alone := git.Program{Env: append(gittest.Environment(), "PATH="+path)}
			if repo, ok, err := gitrepo.Find(t.Context(), alone, dir); ok || !errors.Is(err, git.ErrNoGit) {
				t.Errorf("without another git it found %+v, %v, %v", repo, ok, err)
			}
			if err := gitrepo.Init(t.Context(), alone, dir, "x"); !errors.Is(err, git.ErrNoGit) {
				t.Errorf("without another git Init says %v", err)
			}
		})
	}
}

func TestAGitThatIsPlantedLaterIsNotRun(t *testing.T) {
	w, bin := gittest.NewRepo(t), gittest.NewFolder(t)
	git := git.Program{
		Env: append(gittest.Environment(), "PATH="+bin.Dir+":/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"),
	}
	repo, ok, err := gitrepo.Find(t.Context(), git, w.Dir)
	if !ok || err != nil {
		t.Fatalf("found %v, %v", ok, err)
	}
	bin.Script("git", "exit 0")
	if state, want := w.Fingerprint(repo, gittest.Since), w.Git("rev-parse", "HEAD"); state.Head != want {
		t.Errorf("HEAD is %q, want %q", state.Head, want)
	}
}

func TestInitPassesOverAGitInItsFolder(t *testing.T) {
	w := gittest.NewFolder(t)
	w.Script("bin/git", "exit 0")
	git := git.Program{
		Env: append(gittest.Environment(), "PATH="+w.Path("bin")+":/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"),
	}
	w.Must(gitrepo.Init(t.Context(), git, w.Dir, "first"))
	if got := w.Git("log", "--format=%s"); got != "first" {
		t.Errorf("got %q", got)
	}
}

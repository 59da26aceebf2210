package gitrepo_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
)

func TestFindNamesTheTop(t *testing.T) {
	cases := map[string]func(w gittest.Workspace) (dir, top string){
		"top":          func(w gittest.Workspace) (string, string) { return w.Dir, w.Dir },
		"folder below": func(w gittest.Workspace) (string, string) { return w.At("a/b").Dir, w.Dir },
		"detached HEAD": func(w gittest.Workspace) (string, string) {
			w.Git("checkout", "-q", "--detach")
			return w.Dir,
				w.Dir
		},
		"through a link": func(w gittest.Workspace) (string, string) {
			link := filepath.Join(w.TempDir(), "link")
			w.Must(os.Symlink(w.Dir, link))
			return link, w.Dir
		},
		"linked worktree": func(w gittest.Workspace) (string, string) {
			w.Git("worktree", "add", "-q", "--detach", ".git/tree")
			return w.Path(".git/tree"), w.Path(".git/tree")
		},
		"inside a submodule": func(w gittest.Workspace) (string, string) {
			w.Git("submodule", "--quiet", "add", gittest.NewRepo(w.TB).Dir, "sub")
			return w.Path("sub"), w.Path("sub")
		},
		"line break in its name": func(w gittest.Workspace) (string, string) {
			odd := w.At("odd\nname")
			odd.Git("init", "-q")
			return odd.Dir, odd.Dir
		},
	}
	for name, make := range cases {
		t.Run(name, func(t *testing.T) {
			dir, top := make(gittest.NewRepo(t))
			repo, ok, err := gitrepo.Find(t.Context(), gittest.Program(), dir)
			if !ok || err != nil {
				t.Fatalf("found %v, %v", ok, err)
			}
			if repo.Top != top {
				t.Errorf("top is %s, want %s", repo.Top, top)
			}
			if whole := repo.Whole(); whole.Dir != top || whole.Top != top {
				t.Errorf("whole is %s in %s", whole.Dir, whole.Top)
			}
		})
	}
}

func TestFindWithoutARepository(t *testing.T) {
	ignored := gittest.NewRepo(t)
	ignored.Write(".gitignore", "out/\n")
	cases := map[string]string{
		"no repository":                gittest.NewFolder(t).Dir,
		"folder ignored by repository": ignored.At("out/work").Dir,
	}
	for name, dir := range cases {
		t.Run(name, func(t *testing.T) {
			if repo, ok, err := gitrepo.Find(t.Context(), gittest.Program(), dir); ok || err != nil || repo != nil {
				t.Errorf("got %v, %v, %v", repo, ok, err)
			}
		})
	}
}

func TestFindSaysWhyARepositoryIsOfNoUse(t *testing.T) {
	bare, inside := gittest.NewFolder(t), gittest.NewRepo(t)
	bare.Git("init", "-q", "--bare")
	cases := map[string]struct {
		git  git.Program
		dir  string
		want error
		hint string
	}{
		"git missing": {
			git.Program{Env: []string{"PATH=" + t.TempDir()}},
			t.TempDir(),
			git.ErrNoGit,
			"git is not installed",
		},
		"bare": {gittest.Program(), bare.Dir, gitrepo.ErrNoWorkTree, "clone it"},
		"inside the git folder": {
			gittest.Program(),
			inside.Path(".git/refs"),
			gitrepo.ErrNoWorkTree,
			"inside its git folder",
		},
		"folder missing": {gittest.Program(), inside.Path("missing"), os.ErrNotExist, "missing"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, ok, err := gitrepo.Find(t.Context(), c.git, c.dir)
			if ok || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.hint) {
				t.Errorf("got %v, %v", ok, err)
			}
		})
	}
}

func TestFindRefusesAnotherUsersRepositoryAndNamesTheFix(t *testing.T) {
	w := gittest.NewRepo(t)
	below := w.At("below")
	if err := os.Lchown(w.Dir, 12345, 12345); err != nil {
		t.Skip("only root can give a folder away")
	}
	_, ok, err := gitrepo.Find(t.Context(), gittest.Program(), below.Dir)
	if ok || !errors.Is(err, gitrepo.ErrOwner) ||
		!strings.HasSuffix(err.Error(), "git config --global --add safe.directory "+w.Dir) {
		t.Errorf("got %v, %v", ok, err)
	}
}

func TestFindReportsABrokenRepository(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Write(".git/config", "[broken\n")
	if _, ok, err := gitrepo.Find(t.Context(), gittest.Program(), w.Dir); ok || err == nil ||
		!strings.Contains(err.Error(), "bad config line 1") {
		t.Errorf("got %v, %v", ok, err)
	}
}

func TestFindEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, ok, err := gitrepo.Find(ctx, gittest.Program(), t.TempDir()); ok || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", ok, err)
	}
}

func TestFindIsNotLedAstrayByTheEnvironment(t *testing.T) {
	w, other := gittest.NewRepo(t), gittest.NewRepo(t)
	git := gittest.Program()
	git.Env = append(
		git.Env,
		"GIT_DIR="+other.Path(".git"),
		"GIT_WORK_TREE="+other.Dir,
		"GIT_INDEX_FILE="+other.Path(".git/index"),
	)
	repo, ok, err := gitrepo.Find(t.Context(), git, w.Dir)
	if !ok || err != nil || repo.Top != w.Dir {
		t.Errorf("got %+v, %v, %v", repo, ok, err)
	}
}

func TestInitMakesARepositoryThatIsFound(t *testing.T) {
	w := gittest.NewFolder(t)
	w.Write("file", "x")
	w.Must(gitrepo.Init(t.Context(), gittest.Program(), w.Dir, "first"))
	if got, want := w.Git("log", "--format=%s %an", "--name-only"), "first ralph\n\nfile"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if state := w.Fingerprint(w.Find(), gittest.Since); state.Head == "" || state.Dirty != 0 {
		t.Errorf("got %+v", state)
	}
}

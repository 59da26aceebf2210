package gitrepo_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralphloop/ralph/gitrepo"
)

func TestFindNamesTheTop(t *testing.T) {
	cases := map[string]func(w workspace) (dir, top string){
		"top":           func(w workspace) (string, string) { return w.dir, w.dir },
		"folder below":  func(w workspace) (string, string) { return w.at("a/b").dir, w.dir },
		"detached HEAD": func(w workspace) (string, string) { w.git("checkout", "-q", "--detach"); return w.dir, w.dir },
		"through a link": func(w workspace) (string, string) {
			link := filepath.Join(w.TempDir(), "link")
			w.must(os.Symlink(w.dir, link))
			return link, w.dir
		},
		"linked worktree": func(w workspace) (string, string) {
			w.git("worktree", "add", "-q", "--detach", ".git/tree")
			return w.path(".git/tree"), w.path(".git/tree")
		},
		"inside a submodule": func(w workspace) (string, string) {
			w.git("submodule", "--quiet", "add", newRepo(w.TB).dir, "sub")
			return w.path("sub"), w.path("sub")
		},
		"line break in its name": func(w workspace) (string, string) {
			odd := w.at("odd\nname")
			odd.git("init", "-q")
			return odd.dir, odd.dir
		},
	}
	for name, make := range cases {
		t.Run(name, func(t *testing.T) {
			dir, top := make(newRepo(t))
			repo, ok, err := program().Find(t.Context(), dir)
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
	ignored := newRepo(t)
	ignored.write(".gitignore", "out/\n")
	cases := map[string]string{
		"no repository":                newFolder(t).dir,
		"folder ignored by repository": ignored.at("out/work").dir,
	}
	for name, dir := range cases {
		t.Run(name, func(t *testing.T) {
			if repo, ok, err := program().Find(t.Context(), dir); ok || err != nil || repo != nil {
				t.Errorf("got %v, %v, %v", repo, ok, err)
			}
		})
	}
}

func TestFindSaysWhyARepositoryIsOfNoUse(t *testing.T) {
	bare, inside := newFolder(t), newRepo(t)
	bare.git("init", "-q", "--bare")
	cases := map[string]struct {
		git  gitrepo.Git
		dir  string
		want error
		hint string
	}{
		"git missing":           {gitrepo.Git{Env: []string{"PATH=" + t.TempDir()}}, t.TempDir(), gitrepo.ErrNoGit, "git is not installed"},
		"bare":                  {program(), bare.dir, gitrepo.ErrNoWorkTree, "clone it"},
		"inside the git folder": {program(), inside.path(".git/refs"), gitrepo.ErrNoWorkTree, "inside of its git folder"},
		"folder missing":        {program(), inside.path("missing"), os.ErrNotExist, "missing"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, ok, err := c.git.Find(t.Context(), c.dir)
			if ok || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.hint) {
				t.Errorf("got %v, %v", ok, err)
			}
		})
	}
}

func TestFindRefusesAnotherUsersRepositoryAndNamesTheFix(t *testing.T) {
	w := newRepo(t)
	below := w.at("below")
	if err := os.Lchown(w.dir, 12345, 12345); err != nil {
		t.Skip("only root can give a folder away")
	}
	_, ok, err := program().Find(t.Context(), below.dir)
	if ok || !errors.Is(err, gitrepo.ErrOwner) || !strings.HasSuffix(err.Error(), "git config --global --add safe.directory "+w.dir) {
		t.Errorf("got %v, %v", ok, err)
	}
}

func TestFindReportsABrokenRepository(t *testing.T) {
	w := newRepo(t)
	w.write(".git/config", "[broken\n")
	if _, ok, err := program().Find(t.Context(), w.dir); ok || err == nil || !strings.Contains(err.Error(), "bad config line 1") {
		t.Errorf("got %v, %v", ok, err)
	}
}

func TestFindEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, ok, err := program().Find(ctx, t.TempDir()); ok || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", ok, err)
	}
}

func TestFindIsNotLedAstrayByTheEnvironment(t *testing.T) {
	w, other := newRepo(t), newRepo(t)
	git := program()
	git.Env = append(git.Env, "GIT_DIR="+other.path(".git"), "GIT_WORK_TREE="+other.dir, "GIT_INDEX_FILE="+other.path(".git/index"))
	repo, ok, err := git.Find(t.Context(), w.dir)
	if !ok || err != nil || repo.Top != w.dir {
		t.Errorf("got %+v, %v, %v", repo, ok, err)
	}
}

func TestInitMakesARepositoryThatIsFound(t *testing.T) {
	w := newFolder(t)
	w.write("file", "x")
	w.must(program().Init(t.Context(), w.dir, "first"))
	if got, want := w.git("log", "--format=%s %an", "--name-only"), "first ralph\n\nfile"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if state := w.fingerprint(w.find(), since); state.Head == "" || state.Dirty != 0 {
		t.Errorf("got %+v", state)
	}
}

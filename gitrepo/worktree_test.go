package gitrepo_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
)

// worktree adds one beside the repository.
func addWorktree(w gittest.Workspace, branch string) (gittest.Workspace, gitrepo.Worktree) {
	w.Helper()
	added, said, err := w.Find().
		Worktrees().
		Add(w.Context(), gitrepo.WorktreeInput{Path: beside(w, branch), Branch: branch})
	if err != nil || len(said) > 0 {
		w.Fatalf("got %v, %v", said, err)
	}
	return gittest.Workspace{TB: w.TB, Dir: added.Path}, added
}

// beside is a folder outside of the repository.
func beside(w gittest.Workspace, name string) string {
	return filepath.Join(w.Dir+"-trees", strings.ReplaceAll(name, "/", "-"))
}

func TestAddWorktree(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Write("below/file", "x")
	base := committedAs(w)
	before := pictureOf(w)
	got, said, err := gittest.Workspace{
		TB:  t,
		Dir: w.Path("below"),
	}.Find().
		Worktrees().
		Add(t.Context(), gitrepo.WorktreeInput{Path: beside(w, "x/y"), Branch: "ralph/x"})
	w.Must(err)
	want := gitrepo.Worktree{Path: beside(w, "x/y"), Branch: "ralph/x", Base: base, Below: "below"}
	if !cmp.Equal(got, want) || said != nil {
		t.Errorf("got %+v, %v, want %+v", got, said, want)
	}
	tree := gittest.Workspace{TB: t, Dir: got.Path}
	if content, err := os.ReadFile(filepath.Join(got.Dir(), "file")); string(content) != "x" || err != nil {
		t.Errorf("got %q, %v", content, err)
	}
	if head := tree.Git("rev-parse", "--symbolic-full-name", "HEAD", "HEAD@{0}"); !strings.HasPrefix(
		head,
		"refs/heads/ralph/x",
	) {
		t.Errorf("HEAD is %s", head)
	}
	before.Refs = strings.Replace(
		before.Refs,
		"refs/heads/main\n",
		"refs/heads/main\n"+base+" commit\trefs/heads/ralph/x\n",
		1,
	)
	unchanged(w, before)
}

func TestAddWorktreeSaysWhatIsNotInIt(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Git("submodule", "--quiet", "add", gittest.NewRepo(t).Dir, "lib")
	w.Write("below/new", "x")
	w.Git("commit", "-q", "-m", "x")
	for i := range 6 {
		w.Write(fmt.Sprintf("dirty%d", i), "x")
	}
	w.Git("checkout", "-q", "--detach")
	head := w.Git("rev-parse", "HEAD")
	_, said, err := gittest.Workspace{
		TB:  t,
		Dir: w.Path("below"),
	}.Find().
		Worktrees().
		Add(t.Context(), gitrepo.WorktreeInput{Path: beside(w, "x"), Branch: "ralph/x"})
	w.Must(err)
	want := []string{
		"HEAD is detached at " + head[:10],
		"the worktree starts at the last commit, without 7 uncommitted changes: below/new, dirty0, dirty1, dirty2, " +
			"dirty3 and 2 more",
		"submodule folders are empty in a new worktree: lib; if you need them, run git submodule update --init there",
		"nothing in below is committed, so it is empty in the worktree",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAddWorktreeRunsNoHook(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Script(".git/hooks/post-checkout", "touch "+w.Path(".git/sprung"))
	w.Script(".git/hooks/reference-transaction", "touch "+w.Path(".git/sprung"))
	_, tree := addWorktree(w, "ralph/x")
	w.Must(w.Find().Worktrees().Remove(t.Context(), tree, gitrepo.RemoveMerged))
	if _, err := os.Lstat(w.Path(".git/sprung")); err == nil {
		t.Error("a hook was run")
	}
}

func TestAddWorktreeRefuses(t *testing.T) {
	cases := map[string]struct {
		act   func(w gittest.Workspace, in *gitrepo.WorktreeInput)
		want  gitrepo.ProblemKind
		holds []string
	}{
		"a name that is none": {func(_ gittest.Workspace, in *gitrepo.WorktreeInput) { in.Branch = "ralph/a..b" },
			gitrepo.ProblemBadBranch, []string{`"a..b" is not a valid branch name`}},
		"an empty name": {
			func(_ gittest.Workspace, in *gitrepo.WorktreeInput) { in.Branch = "ralph/" },
			gitrepo.ProblemBadBranch,
			nil,
		},
		"a name with blanks": {
			func(_ gittest.Workspace, in *gitrepo.WorktreeInput) { in.Branch = "ralph/a b" },
			gitrepo.ProblemBadBranch,
			nil,
		},
		"a branch of others": {
			func(_ gittest.Workspace, in *gitrepo.WorktreeInput) { in.Branch = "main" },
			gitrepo.ProblemBadBranch,
			nil,
		},
		"an option as a name": {
			func(_ gittest.Workspace, in *gitrepo.WorktreeInput) { in.Branch = "--force" },
			gitrepo.ProblemBadBranch,
			nil,
		},
		"a branch above": {
			func(w gittest.Workspace, _ *gitrepo.WorktreeInput) { w.Git("branch", "ralph") },
			gitrepo.ProblemBadBranch,
			[]string{"git branch -m ralph"},
		},
		"inside": {
			func(w gittest.Workspace, in *gitrepo.WorktreeInput) { in.Path = w.Path("trees/x") },
			gitrepo.ProblemBadPath,
			[]string{"inside the repository"},
		},
		"inside of .git": {
			func(w gittest.Workspace, in *gitrepo.WorktreeInput) { in.Path = w.Path(".git/x") },
			gitrepo.ProblemBadPath,
			nil,
		},
		"inside, through a link": {func(w gittest.Workspace, in *gitrepo.WorktreeInput) {
			link := filepath.Join(w.TempDir(), "link")
			w.Must(os.Symlink(w.At("below").Dir, link))
			in.Path = filepath.Join(link, "x", "y")
		}, gitrepo.ProblemBadPath, nil},
		"a folder with something in it": {
			func(_ gittest.Workspace, in *gitrepo.WorktreeInput) { in.Path = gittest.NewRepo(t).Dir },
			gitrepo.ProblemBadPath,
			[]string{"already exists"},
		},
		"no commit yet": {func(w gittest.Workspace, _ *gitrepo.WorktreeInput) { w.Git("checkout", "-q", "--orphan", "new") },
			gitrepo.ProblemNoCommits, []string{`git commit -m "first commit"`, "without --worktree"}},
		"a rebase under way": {func(w gittest.Workspace, _ *gitrepo.WorktreeInput) { w.At(".git/rebase-merge") },
			gitrepo.ProblemUnderWay, []string{"git rebase --abort"}},
		"unmerged work": {func(w gittest.Workspace, _ *gitrepo.WorktreeInput) {
			w.Git("switch", "-q", "-c", "ralph/x")
			w.Commit()
			w.Git("switch", "-q", "main")
		}, gitrepo.ProblemBranchTaken, []string{
			"ralph/x has 1 commit not on any other branch", "git merge ralph/x", "git branch -D ralph/x",
		}},
		"unmerged work in a worktree": {func(w gittest.Workspace, _ *gitrepo.WorktreeInput) {
			tree, _ := addWorktree(w, "ralph/x")
			tree.Commit()
		}, gitrepo.ProblemBranchTaken, []string{"git merge ralph/x", "git worktree remove --force "}},
		"uncommitted work in a worktree": {func(w gittest.Workspace, in *gitrepo.WorktreeInput) {
			tree, _ := addWorktree(w, "ralph/x")
			tree.Write("new", "x")
			in.Idle = func(string) bool { return true }
		}, gitrepo.ProblemBranchTaken, []string{"has 1 uncommitted change"}},
		"a worktree that may be in use": {func(w gittest.Workspace, _ *gitrepo.WorktreeInput) { addWorktree(w, "ralph/x") },
			gitrepo.ProblemBranchTaken, []string{"ralph/x is checked out in ", "ralph clean"}},
		"a worktree that is in use": {func(w gittest.Workspace, in *gitrepo.WorktreeInput) {
			addWorktree(w, "ralph/x")
			in.Idle = func(string) bool { return false }
		}, gitrepo.ProblemBranchTaken, nil},
		"checked out here": {func(w gittest.Workspace, in *gitrepo.WorktreeInput) {
			w.Git("switch", "-q", "-c", "ralph/x")
			in.Idle = func(string) bool { return true }
		}, gitrepo.ProblemBranchTaken, []string{"is checked out in "}},
		"pushed, but not merged": {func(w gittest.Workspace, _ *gitrepo.WorktreeInput) {
			w.Git("switch", "-q", "-c", "ralph/x")
			w.Git("update-ref", "refs/remotes/origin/ralph/x", committedAs(w))
			w.Git("switch", "-q", "main")
		}, gitrepo.ProblemBranchTaken, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := gittest.NewRepo(t)
			in := gitrepo.WorktreeInput{Path: beside(w, "wanted"), Branch: "ralph/x"}
			c.act(w, &in)
			before := w.Git("for-each-ref") + w.Git("worktree", "list")
			got, said, err := w.Find().Worktrees().Add(t.Context(), in)
			if !cmp.Equal(got, gitrepo.Worktree{}) || said != nil {
				t.Errorf("got %+v, %v", got, said)
			}
			gittest.Refused(t, err, c.want, c.holds...)
			if after := w.Git("for-each-ref") + w.Git("worktree", "list"); after != before {
				t.Errorf("before %s after %s", before, after)
			}
			if _, err := os.Lstat(beside(w, "wanted")); err == nil {
				t.Error("there is a folder")
			}
		})
	}
}

func TestAMergedBranchBeginsAnew(t *testing.T) {
	cases := map[string]func(w gittest.Workspace){
		"a branch alone": func(w gittest.Workspace) { w.Git("branch", "ralph/x") },
		"merged": func(w gittest.Workspace) {
			tree, _ := addWorktree(w, "ralph/x")
			tree.Write("new", "x")
			tree.Commit()
			w.Git("merge", "-q", "ralph/x")
		},
		"merged at the remote": func(w gittest.Workspace) {
			tree, _ := addWorktree(w, "ralph/x")
			w.Git("update-ref", "refs/remotes/origin/main", committedAs(tree))
		},
		"its folder is gone": func(w gittest.Workspace) {
			tree, _ := addWorktree(w, "ralph/x")
			w.Must(os.RemoveAll(tree.Dir))
		},
		"with the harness's view": func(w gittest.Workspace) {
			tree, _ := addWorktree(w, "ralph/x")
			tree.Write(".ralph/progress.md", "x")
		},
	}
	for name, act := range cases {
		t.Run(name, func(t *testing.T) {
			w := gittest.NewRepo(t)
			act(w)
			idle := func(path string) bool { return path == beside(w, "ralph/x") }
			got, said, err := w.Find().
				Worktrees().
				Add(t.Context(), gitrepo.WorktreeInput{Path: beside(w, "ralph/x"), Branch: "ralph/x", Idle: idle})
			w.Must(err)
			if diff := cmp.Diff([]string{"the branch ralph/x was already merged and starts over"}, said); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if tip := w.Git("rev-parse", "ralph/x", "main"); tip != got.Base+"\n"+got.Base {
				t.Errorf("base %s, tips %s", got.Base, tip)
			}
		})
	}
}

// `git worktree prune` would forget it, with what its HEAD and its index hold.
func TestWorktreesOfTheUserThatAreNotThereStayOnTheList(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Git("worktree", "add", "-q", "--detach", beside(w, "unplugged"))
	w.Must(os.RemoveAll(beside(w, "unplugged")))
	addWorktree(w, "ralph/x")
	if list := w.Git("worktree", "list"); !strings.Contains(list, beside(w, "unplugged")) {
		t.Errorf("got %s", list)
	}
}

func TestAWorktreeThatCannotBeMadeLeavesNothing(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Git("config", "filter.bad.smudge", "false")
	w.Git("config", "filter.bad.required", "true")
	w.Write(".gitattributes", "kept filter=bad\n")
	w.Git("config", "filter.bad.clean", "cat")
	w.Commit()
	before := w.Git("for-each-ref") + w.Git("worktree", "list")
	got, _, err := w.FindBy(gittest.Agreeing()).Worktrees().
		Add(t.Context(), gitrepo.WorktreeInput{Path: beside(w, "x"), Branch: "ralph/x"})
	if err == nil || !strings.Contains(err.Error(), "make worktree: ") {
		t.Fatalf("got %+v, %v", got, err)
	}
	if after := w.Git("for-each-ref") + w.Git("worktree", "list"); after != before {
		t.Errorf("before %s after %s", before, after)
	}
	if _, err := os.Lstat(beside(w, "x")); err == nil {
		t.Error("there is a folder")
	}
}

func TestAWorktreeThatIsCutShortLeavesNothing(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Git("config", "filter.slow.smudge", "touch "+w.Path(".git/here")+"; exec sleep 600")
	w.Write(".gitattributes", "kept filter=slow\n")
	w.Commit()
	repo := w.FindBy(gittest.Agreeing())
	before := w.Git("for-each-ref") + w.Git("worktree", "list")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Lstat(w.Path(".git/here")); err == nil {
				cancel()
			}
		}
	}()
	if got, _, err := repo.Worktrees().
		Add(ctx, gitrepo.WorktreeInput{Path: beside(w, "x"), Branch: "ralph/x"}); !errors.Is(
		err,
		context.Canceled,
	) {
		t.Fatalf("got %+v, %v", got, err)
	}
	if after := w.Git("for-each-ref") + w.Git("worktree", "list"); after != before {
		t.Errorf("before %s after %s", before, after)
	}
	if _, err := os.Lstat(beside(w, "x")); err == nil {
		t.Error("there is a folder")
	}
}

func TestReopenWorktree(t *testing.T) {
	cases := map[string]struct {
		act  func(tree gittest.Workspace)
		said []string
	}{
		"as it was": {func(gittest.Workspace) {}, nil},
		"folder gone": {
			func(tree gittest.Workspace) { tree.Must(os.RemoveAll(tree.Dir)) },
			[]string{"the folder PATH was missing and was recreated from the branch ralph/x"},
		},
		".git gone": {func(tree gittest.Workspace) { tree.Must(os.Remove(tree.Path(".git"))) }, nil},
		"another branch": {
			func(tree gittest.Workspace) { tree.Git("switch", "-q", "-c", "own") },
			[]string{"own is checked out in PATH instead of ralph/x"},
		},
		"no branch": {
			func(tree gittest.Workspace) { tree.Git("switch", "-q", "--detach") },
			[]string{"no branch is checked out in PATH instead of ralph/x"},
		},
		"folder gone and forgotten": {func(tree gittest.Workspace) {
			tree.Git("worktree", "lock", ".") // git worktree list says so, too
			tree.Git("worktree", "unlock", ".")
			tree.Must(os.RemoveAll(tree.Dir))
		}, []string{"the folder PATH was missing and was recreated from the branch ralph/x"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := gittest.NewRepo(t)
			tree, added := addWorktree(w, "ralph/x")
			tree.Write("new", "x")
			tree.Commit()
			c.act(tree)
			got, said, err := w.Find().
				Worktrees().
				Reopen(t.Context(), gitrepo.Worktree{Path: added.Path, Branch: added.Branch, Base: added.Base})
			w.Must(err)
			for i := range said {
				said[i] = strings.ReplaceAll(said[i], added.Path, "PATH")
			}
			if diff := cmp.Diff(c.said, said); diff != "" || got != added {
				t.Errorf("got %+v (-want +got)\n%s", got, diff)
			}
			if content, err := os.ReadFile(tree.Path("new")); string(content) != "x" || err != nil {
				t.Errorf("got %q, %v", content, err)
			}
			if status := tree.Git("status", "--short"); status != "" {
				t.Errorf("status %q", status)
			}
		})
	}
}

func TestReopenWorktreeRefuses(t *testing.T) {
	w := gittest.NewRepo(t)
	tree, added := addWorktree(w, "ralph/x")
	w.Must(os.Rename(tree.Dir, tree.Dir+"2"))
	w.Git("worktree", "prune")
	w.Must(os.Rename(tree.Dir+"2", tree.Dir))
	_, _, err := w.Find().Worktrees().Reopen(t.Context(), added)
	gittest.Refused(t, err, gitrepo.ProblemNotOurs, "is no longer a worktree of", "ralph/x")

	w.Must(os.RemoveAll(tree.Dir))
	w.Git("branch", "-D", "ralph/x")
	_, _, err = w.Find().Worktrees().Reopen(t.Context(), added)
	gittest.Refused(t, err, gitrepo.ProblemBranchMissing, "are gone", "start a new run")
}

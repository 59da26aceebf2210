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
)

// worktree adds one beside the repository.
func (w workspace) worktree(branch string) (workspace, gitrepo.Worktree) {
	w.Helper()
	added, said, err := w.find().AddWorktree(w.Context(), gitrepo.WorktreeInput{Path: w.beside(branch), Branch: branch})
	if err != nil || len(said) > 0 {
		w.Fatalf("got %v, %v", said, err)
	}
	return workspace{w.TB, added.Path}, added
}

// beside is a folder outside of the repository.
func (w workspace) beside(name string) string {
	return filepath.Join(w.dir+"-trees", strings.ReplaceAll(name, "/", "-"))
}

// refused checks that an error is a problem of a kind that says certain things.
func refused(t *testing.T, err error, kind gitrepo.ProblemKind, holds ...string) {
	t.Helper()
	p, ok := errors.AsType[*gitrepo.Problem](err)
	if !ok || p.Kind != kind || !p.Stops {
		t.Fatalf("got %v (%+v), want a problem of kind %s", err, p, kind)
	}
	for _, part := range holds {
		if !strings.Contains(p.Error(), part) {
			t.Errorf("%q does not say %q", p.Error(), part)
		}
	}
}

func TestAddWorktree(t *testing.T) {
	w := newRepo(t)
	w.write("below/file", "x")
	base := w.committedAs()
	before := w.picture()
	got, said, err := workspace{t, w.path("below")}.find().AddWorktree(t.Context(), gitrepo.WorktreeInput{Path: w.beside("x/y"), Branch: "ralph/x"})
	w.must(err)
	want := gitrepo.Worktree{Path: w.beside("x/y"), Branch: "ralph/x", Base: base, Below: "below"}
	if !cmp.Equal(got, want) || said != nil {
		t.Errorf("got %+v, %v, want %+v", got, said, want)
	}
	tree := workspace{t, got.Path}
	if content, err := os.ReadFile(filepath.Join(got.Dir(), "file")); string(content) != "x" || err != nil {
		t.Errorf("got %q, %v", content, err)
	}
	if head := tree.git("rev-parse", "--symbolic-full-name", "HEAD", "HEAD@{0}"); !strings.HasPrefix(head, "refs/heads/ralph/x") {
		t.Errorf("HEAD is %s", head)
	}
	before.Refs = strings.Replace(before.Refs, "refs/heads/main\n", "refs/heads/main\n"+base+" commit\trefs/heads/ralph/x\n", 1)
	w.unchanged(before)
}

func TestAddWorktreeSaysWhatIsNotInIt(t *testing.T) {
	w := newRepo(t)
	w.git("submodule", "--quiet", "add", newRepo(t).dir, "lib")
	w.write("below/new", "x")
	w.git("commit", "-q", "-m", "x")
	for i := range 6 {
		w.write(fmt.Sprintf("dirty%d", i), "x")
	}
	w.git("checkout", "-q", "--detach")
	head := w.git("rev-parse", "HEAD")
	_, said, err := workspace{t, w.path("below")}.find().AddWorktree(t.Context(), gitrepo.WorktreeInput{Path: w.beside("x"), Branch: "ralph/x"})
	w.must(err)
	want := []string{
		"HEAD is detached at " + head[:10],
		"the worktree begins at the last commit, without 7 uncommitted changes: below/new, dirty0, dirty1, dirty2, dirty3 and 2 more",
		"folders of submodules are empty in a new worktree: lib; if they are needed, git submodule update --init in there fills them",
		"nothing in below is committed: it is empty in the worktree",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAddWorktreeRunsNoHook(t *testing.T) {
	w := newRepo(t)
	w.program(".git/hooks/post-checkout", "touch "+w.path(".git/sprung"))
	w.program(".git/hooks/reference-transaction", "touch "+w.path(".git/sprung"))
	_, tree := w.worktree("ralph/x")
	w.must(w.find().RemoveWorktree(t.Context(), tree, gitrepo.RemoveMerged))
	if _, err := os.Lstat(w.path(".git/sprung")); err == nil {
		t.Error("a hook was run")
	}
}

func TestAddWorktreeRefuses(t *testing.T) {
	cases := map[string]struct {
		act   func(w workspace, in *gitrepo.WorktreeInput)
		want  gitrepo.ProblemKind
		holds []string
	}{
		"a name that is none": {func(_ workspace, in *gitrepo.WorktreeInput) { in.Branch = "ralph/a..b" },
			gitrepo.ProblemBadBranch, []string{`"a..b" cannot be the name of a branch`}},
		"an empty name":       {func(_ workspace, in *gitrepo.WorktreeInput) { in.Branch = "ralph/" }, gitrepo.ProblemBadBranch, nil},
		"a name with blanks":  {func(_ workspace, in *gitrepo.WorktreeInput) { in.Branch = "ralph/a b" }, gitrepo.ProblemBadBranch, nil},
		"a branch of others":  {func(_ workspace, in *gitrepo.WorktreeInput) { in.Branch = "main" }, gitrepo.ProblemBadBranch, nil},
		"an option as a name": {func(_ workspace, in *gitrepo.WorktreeInput) { in.Branch = "--force" }, gitrepo.ProblemBadBranch, nil},
		"a branch above":      {func(w workspace, _ *gitrepo.WorktreeInput) { w.git("branch", "ralph") }, gitrepo.ProblemBadBranch, []string{"git branch -m ralph"}},
		"inside":              {func(w workspace, in *gitrepo.WorktreeInput) { in.Path = w.path("trees/x") }, gitrepo.ProblemBadPath, []string{"inside of the repository"}},
		"inside of .git":      {func(w workspace, in *gitrepo.WorktreeInput) { in.Path = w.path(".git/x") }, gitrepo.ProblemBadPath, nil},
		"inside, through a link": {func(w workspace, in *gitrepo.WorktreeInput) {
			link := filepath.Join(w.TempDir(), "link")
			w.must(os.Symlink(w.at("below").dir, link))
			in.Path = filepath.Join(link, "x", "y")
		}, gitrepo.ProblemBadPath, nil},
		"a folder with something in it": {func(_ workspace, in *gitrepo.WorktreeInput) { in.Path = newRepo(t).dir },
			gitrepo.ProblemBadPath, []string{"is there already"}},
		"no commit yet": {func(w workspace, _ *gitrepo.WorktreeInput) { w.git("checkout", "-q", "--orphan", "new") },
			gitrepo.ProblemNoCommits, []string{`git commit -m "first commit"`, "without --worktree"}},
		"a rebase under way": {func(w workspace, _ *gitrepo.WorktreeInput) { w.at(".git/rebase-merge") },
			gitrepo.ProblemUnderWay, []string{"git rebase --abort"}},
		"unmerged work": {func(w workspace, _ *gitrepo.WorktreeInput) {
			w.git("switch", "-q", "-c", "ralph/x")
			w.commit()
			w.git("switch", "-q", "main")
		}, gitrepo.ProblemBranchTaken, []string{"ralph/x holds 1 commit that no other branch has", "git merge ralph/x", "git branch -D ralph/x"}},
		"unmerged work in a worktree": {func(w workspace, _ *gitrepo.WorktreeInput) {
			tree, _ := w.worktree("ralph/x")
			tree.commit()
		}, gitrepo.ProblemBranchTaken, []string{"git merge ralph/x", "git worktree remove --force "}},
		"uncommitted work in a worktree": {func(w workspace, in *gitrepo.WorktreeInput) {
			tree, _ := w.worktree("ralph/x")
			tree.write("new", "x")
			in.Idle = func(string) bool { return true }
		}, gitrepo.ProblemBranchTaken, []string{"has 1 uncommitted change"}},
		"a worktree that may be in use": {func(w workspace, _ *gitrepo.WorktreeInput) { w.worktree("ralph/x") },
			gitrepo.ProblemBranchTaken, []string{"ralph/x is checked out in ", "ralph clean"}},
		"a worktree that is in use": {func(w workspace, in *gitrepo.WorktreeInput) {
			w.worktree("ralph/x")
			in.Idle = func(string) bool { return false }
		}, gitrepo.ProblemBranchTaken, nil},
		"checked out here": {func(w workspace, in *gitrepo.WorktreeInput) {
			w.git("switch", "-q", "-c", "ralph/x")
			in.Idle = func(string) bool { return true }
		}, gitrepo.ProblemBranchTaken, []string{"is checked out in "}},
		"pushed, but not merged": {func(w workspace, _ *gitrepo.WorktreeInput) {
			w.git("switch", "-q", "-c", "ralph/x")
			w.git("update-ref", "refs/remotes/origin/ralph/x", w.committedAs())
			w.git("switch", "-q", "main")
		}, gitrepo.ProblemBranchTaken, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newRepo(t)
			in := gitrepo.WorktreeInput{Path: w.beside("wanted"), Branch: "ralph/x"}
			c.act(w, &in)
			before := w.git("for-each-ref") + w.git("worktree", "list")
			got, said, err := w.find().AddWorktree(t.Context(), in)
			if !cmp.Equal(got, gitrepo.Worktree{}) || said != nil {
				t.Errorf("got %+v, %v", got, said)
			}
			refused(t, err, c.want, c.holds...)
			if after := w.git("for-each-ref") + w.git("worktree", "list"); after != before {
				t.Errorf("before %s after %s", before, after)
			}
			if _, err := os.Lstat(w.beside("wanted")); err == nil {
				t.Error("there is a folder")
			}
		})
	}
}

func TestAMergedBranchBeginsAnew(t *testing.T) {
	cases := map[string]func(w workspace){
		"a branch alone": func(w workspace) { w.git("branch", "ralph/x") },
		"merged": func(w workspace) {
			tree, _ := w.worktree("ralph/x")
			tree.write("new", "x")
			tree.commit()
			w.git("merge", "-q", "ralph/x")
		},
		"merged at the remote": func(w workspace) {
			tree, _ := w.worktree("ralph/x")
			w.git("update-ref", "refs/remotes/origin/main", tree.committedAs())
		},
		"its folder is gone": func(w workspace) {
			tree, _ := w.worktree("ralph/x")
			w.must(os.RemoveAll(tree.dir))
		},
		"with the harness's view": func(w workspace) {
			tree, _ := w.worktree("ralph/x")
			tree.write(".ralph/progress.md", "x")
		},
	}
	for name, act := range cases {
		t.Run(name, func(t *testing.T) {
			w := newRepo(t)
			act(w)
			idle := func(path string) bool { return path == w.beside("ralph/x") }
			got, said, err := w.find().AddWorktree(t.Context(), gitrepo.WorktreeInput{Path: w.beside("ralph/x"), Branch: "ralph/x", Idle: idle})
			w.must(err)
			if diff := cmp.Diff([]string{"the branch ralph/x was merged and begins anew"}, said); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if tip := w.git("rev-parse", "ralph/x", "main"); tip != got.Base+"\n"+got.Base {
				t.Errorf("base %s, tips %s", got.Base, tip)
			}
		})
	}
}

// `git worktree prune` would forget it, with what its HEAD and its index hold.
func TestWorktreesOfTheUserThatAreNotThereStayOnTheList(t *testing.T) {
	w := newRepo(t)
	w.git("worktree", "add", "-q", "--detach", w.beside("unplugged"))
	w.must(os.RemoveAll(w.beside("unplugged")))
	w.worktree("ralph/x")
	if list := w.git("worktree", "list"); !strings.Contains(list, w.beside("unplugged")) {
		t.Errorf("got %s", list)
	}
}

func TestAWorktreeThatCannotBeMadeLeavesNothing(t *testing.T) {
	w := newRepo(t)
	w.git("config", "filter.bad.smudge", "false")
	w.git("config", "filter.bad.required", "true")
	w.write(".gitattributes", "kept filter=bad\n")
	w.git("config", "filter.bad.clean", "cat")
	w.commit()
	before := w.git("for-each-ref") + w.git("worktree", "list")
	got, _, err := w.find().AddWorktree(t.Context(), gitrepo.WorktreeInput{Path: w.beside("x"), Branch: "ralph/x"})
	if err == nil || !strings.Contains(err.Error(), "make worktree: ") {
		t.Fatalf("got %+v, %v", got, err)
	}
	if after := w.git("for-each-ref") + w.git("worktree", "list"); after != before {
		t.Errorf("before %s after %s", before, after)
	}
	if _, err := os.Lstat(w.beside("x")); err == nil {
		t.Error("there is a folder")
	}
}

func TestAWorktreeThatIsCutShortLeavesNothing(t *testing.T) {
	w := newRepo(t)
	w.git("config", "filter.slow.smudge", "touch "+w.path(".git/here")+"; exec sleep 600")
	w.write(".gitattributes", "kept filter=slow\n")
	w.commit()
	repo := w.find()
	before := w.git("for-each-ref") + w.git("worktree", "list")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Lstat(w.path(".git/here")); err == nil {
				cancel()
			}
		}
	}()
	if got, _, err := repo.AddWorktree(ctx, gitrepo.WorktreeInput{Path: w.beside("x"), Branch: "ralph/x"}); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %+v, %v", got, err)
	}
	if after := w.git("for-each-ref") + w.git("worktree", "list"); after != before {
		t.Errorf("before %s after %s", before, after)
	}
	if _, err := os.Lstat(w.beside("x")); err == nil {
		t.Error("there is a folder")
	}
}

func TestReopenWorktree(t *testing.T) {
	cases := map[string]struct {
		act  func(tree workspace)
		said []string
	}{
		"as it was":      {func(workspace) {}, nil},
		"folder gone":    {func(tree workspace) { tree.must(os.RemoveAll(tree.dir)) }, []string{"the folder PATH was gone and was made again from the branch ralph/x"}},
		".git gone":      {func(tree workspace) { tree.must(os.Remove(tree.path(".git"))) }, nil},
		"another branch": {func(tree workspace) { tree.git("switch", "-q", "-c", "own") }, []string{"in PATH not ralph/x is checked out but own"}},
		"no branch":      {func(tree workspace) { tree.git("switch", "-q", "--detach") }, []string{"in PATH not ralph/x is checked out but no branch"}},
		"folder gone and forgotten": {func(tree workspace) {
			tree.git("worktree", "lock", ".") // git worktree list says so, too
			tree.git("worktree", "unlock", ".")
			tree.must(os.RemoveAll(tree.dir))
		}, []string{"the folder PATH was gone and was made again from the branch ralph/x"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newRepo(t)
			tree, added := w.worktree("ralph/x")
			tree.write("new", "x")
			tree.commit()
			c.act(tree)
			got, said, err := w.find().ReopenWorktree(t.Context(), gitrepo.Worktree{Path: added.Path, Branch: added.Branch, Base: added.Base})
			w.must(err)
			for i := range said {
				said[i] = strings.ReplaceAll(said[i], added.Path, "PATH")
			}
			if diff := cmp.Diff(c.said, said); diff != "" || got != added {
				t.Errorf("got %+v (-want +got)\n%s", got, diff)
			}
			if content, err := os.ReadFile(tree.path("new")); string(content) != "x" || err != nil {
				t.Errorf("got %q, %v", content, err)
			}
			if status := tree.git("status", "--short"); status != "" {
				t.Errorf("status %q", status)
			}
		})
	}
}

func TestReopenWorktreeRefuses(t *testing.T) {
	w := newRepo(t)
	tree, added := w.worktree("ralph/x")
	w.must(os.Rename(tree.dir, tree.dir+"2"))
	w.git("worktree", "prune")
	w.must(os.Rename(tree.dir+"2", tree.dir))
	_, _, err := w.find().ReopenWorktree(t.Context(), added)
	refused(t, err, gitrepo.ProblemNotOurs, "is no worktree of", "ralph/x")

	w.must(os.RemoveAll(tree.dir))
	w.git("branch", "-D", "ralph/x")
	_, _, err = w.find().ReopenWorktree(t.Context(), added)
	refused(t, err, gitrepo.ProblemBranchMissing, "are gone", "start a new run")
}

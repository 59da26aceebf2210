package gitrepo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
)

// trees is a repository with a worktree in each state.
func trees(t *testing.T) gittest.Workspace {
	t.Helper()
	w := gittest.NewRepo(t)
	addWorktree(w, "ralph/merged")
	dirty, _ := addWorktree(w, "ralph/dirty")
	dirty.Write("new", "x")
	dirty.Write(".ralph/progress.md", "x")
	ahead, _ := addWorktree(w, "ralph/ahead")
	ahead.Commit()
	ahead.Commit()
	missing, _ := addWorktree(w, "ralph/missing")
	w.Must(os.RemoveAll(missing.Dir))
	broken, _ := addWorktree(w, "ralph/broken")
	w.Must(os.Remove(broken.Path(".git")))
	detached, _ := addWorktree(w, "ralph/detached")
	detached.Git("switch", "-q", "--detach")
	detached.Commit()
	unborn, _ := addWorktree(w, "ralph/unborn")
	unborn.Git("switch", "-q", "--orphan", "fresh")
	unborn.Write("new", "x")
	locked, _ := addWorktree(w, "ralph/locked")
	locked.Git("worktree", "lock", ".")
	w.Git("branch", "ralph/alone")
	w.Git("worktree", "add", "-q", "-b", "user", w.Dir+"-user")
	return w
}

func TestWorktrees(t *testing.T) {
	for name, git := range map[string]git.Program{"git as it is": gittest.Program(), "old git": gittest.OldGit(t)} {
		t.Run(name, func(t *testing.T) {
			w := trees(t)
			at := func(branch string) gitrepo.Worktree {
				return gitrepo.Worktree{Path: beside(w, "ralph/"+branch), Branch: "ralph/" + branch}
			}
			detached, unborn := at("detached"), at("unborn")
			detached.Branch, unborn.Branch = "", "fresh"
			want := []gitrepo.WorktreeState{
				{Worktree: at("merged"), Merged: true},
				{Worktree: at("dirty"), Merged: true, Dirty: 1},
				{Worktree: at("ahead"), Ahead: 2},
				{Worktree: at("missing"), Merged: true, Missing: true},
				{Worktree: at("broken"), Merged: true, Trouble: beside(w, "ralph/broken") + " is no longer connected to " + w.Dir},
				{Worktree: detached, Ahead: 1},
				{Worktree: unborn, Merged: true, Dirty: 1},
				{Worktree: at("locked"), Merged: true, Locked: true},
				{Worktree: gitrepo.Worktree{Branch: "ralph/alone"}, Merged: true, Missing: true},
				{Worktree: gitrepo.Worktree{Branch: "ralph/detached"}, Merged: true, Missing: true},
				{Worktree: gitrepo.Worktree{Branch: "ralph/unborn"}, Merged: true, Missing: true},
			}
			repo, ok, err := gitrepo.Find(t.Context(), git, w.Dir)
			if !ok || err != nil {
				t.Fatal(ok, err)
			}
			got, err := repo.Worktrees().List(t.Context(), w.Dir+"-trees")
			w.Must(err)
			byPath := func(list []gitrepo.WorktreeState) map[string]gitrepo.WorktreeState {
				states := map[string]gitrepo.WorktreeState{}
				for _, s := range list {
					states[s.Path+" "+s.Branch] = s
				}
				return states
			}
			if diff := cmp.Diff(byPath(want), byPath(got)); diff != "" || len(got) != len(want) {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestCleaningRemovesOnlyWhatIsMerged(t *testing.T) {
	w := trees(t)
	repo := w.Find()
	states, err := repo.Worktrees().List(t.Context(), w.Dir+"-trees")
	w.Must(err)
	for _, s := range states {
		if err := repo.Worktrees().Remove(t.Context(), s.Worktree, gitrepo.RemoveMerged); (err == nil) != s.Removable() {
			t.Errorf("%+v: %v", s, err)
		}
	}
	entries, err := os.ReadDir(w.Dir + "-trees")
	w.Must(err)
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	stay := []string{"ralph-ahead", "ralph-broken", "ralph-detached", "ralph-dirty", "ralph-locked", "ralph-unborn"}
	if diff := cmp.Diff(stay, left); diff != "" {
		t.Errorf("folders (-want +got)\n%s", diff)
	}
	want := "main\nralph/ahead\nralph/broken\nralph/dirty\nralph/locked\nuser"
	if got := w.Git("for-each-ref", "--format=%(refname:short)"); got != want {
		t.Errorf("branches %q, want %q", got, want)
	}
}

func TestRemoveWorktreeRefuses(t *testing.T) {
	w := trees(t)
	repo := w.Find()
	at := func(branch string) gitrepo.Worktree {
		return gitrepo.Worktree{Path: beside(w, branch), Branch: branch}
	}
	cases := map[string]struct {
		tree  gitrepo.Worktree
		how   gitrepo.Removal
		want  gitrepo.ProblemKind
		holds []string
	}{
		"unmerged": {
			at("ralph/ahead"),
			gitrepo.RemoveMerged,
			gitrepo.ProblemUnmerged,
			[]string{
				"ralph/ahead has 2 commits not on any other branch",
				"git merge ralph/ahead",
				"git branch -D ralph/ahead",
			},
		},
		"detached": {
			at("ralph/detached"),
			gitrepo.RemoveMerged,
			gitrepo.ProblemUnmerged,
			[]string{"has 1 commit"},
		},
		"dirty": {
			at("ralph/dirty"),
			gitrepo.RemoveMerged,
			gitrepo.ProblemWorktreeChanged,
			[]string{"has 1 uncommitted change", "--force"},
		},
		"broken": {
			at("ralph/broken"),
			gitrepo.RemoveMerged,
			gitrepo.ProblemWorktreeChanged,
			[]string{"is no longer connected"},
		},
		"locked": {
			at("ralph/locked"),
			gitrepo.RemoveAnyway,
			gitrepo.ProblemWorktreeChanged,
			[]string{"is locked", "git worktree unlock "},
		},
		"the main one": {
			gitrepo.Worktree{Path: w.Dir, Branch: "main"},
			gitrepo.RemoveAnyway,
			gitrepo.ProblemNotOurs,
			nil,
		},
		"a branch in use": {
			gitrepo.Worktree{Branch: "ralph/merged"},
			gitrepo.RemoveAnyway,
			gitrepo.ProblemNotOurs,
			[]string{"ralph/merged is checked out in "},
		},
		"a folder of somebody": {
			gitrepo.Worktree{Path: gittest.NewRepo(t).Dir, Branch: "ralph/none"},
			gitrepo.RemoveAnyway,
			gitrepo.ProblemNotOurs,
			[]string{"is not a worktree of "},
		},
	}
	before := w.Git("for-each-ref") + w.Git("worktree", "list")
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			gittest.Refused(t, repo.Worktrees().Remove(t.Context(), c.tree, c.how), c.want, c.holds...)
			if c.tree.Path != "" {
				if _, err := os.Lstat(c.tree.Path); err != nil {
					t.Error(err)
				}
			}
		})
	}
	if after := w.Git("for-each-ref") + w.Git("worktree", "list"); after != before {
		t.Errorf("before %s after %s", before, after)
	}
}

func TestRemoveWorktreeAnyway(t *testing.T) {
	w := trees(t)
	repo := w.Find()
	for _, branch := range []string{"ralph/ahead", "ralph/dirty", "ralph/broken", "ralph/detached", "ralph/missing",
		"ralph/unborn", "ralph/never"} {
		w.Must(
			repo.Worktrees().
				Remove(t.Context(), gitrepo.Worktree{Path: beside(w, branch), Branch: branch}, gitrepo.RemoveAnyway),
		)
		if _, err := os.Lstat(beside(w, branch)); err == nil {
			t.Errorf("%s is there", branch)
		}
	}
	if got := w.Git("for-each-ref",
		"--format=%(refname:short)"); got != "main\nralph/alone\nralph/locked\nralph/merged\nralph/unborn\nuser" {
		t.Errorf("branches %q", got)
	}
	if list := w.Git("worktree", "list"); strings.Count(list, "\n") != 3 {
		t.Errorf("list %s", list)
	}
}

// A worktree on a branch of the user's, which an agent may have made, loses its folder
// and not the branch.
func TestRemoveWorktreeKeepsOtherBranches(t *testing.T) {
	w := gittest.NewRepo(t)
	tree, added := addWorktree(w, "ralph/x")
	tree.Git("switch", "-q", "-c", "feature")
	tip := committedAs(tree)
	w.Must(w.Find().Worktrees().Remove(t.Context(), added, gitrepo.RemoveMerged))
	if got := w.Git("rev-parse", "feature"); got != tip {
		t.Errorf("feature is at %s", got)
	}
	if _, err := os.Lstat(filepath.Join(added.Path)); err == nil {
		t.Error("the folder is there")
	}
}

// What was committed in a submodule of a worktree is in no other repository, though the
// commit that names it is merged.
func TestRemoveWorktreeKeepsSubmodules(t *testing.T) {
	w, other := gittest.NewRepo(t), gittest.NewRepo(t)
	w.Git("submodule", "--quiet", "add", "file://"+other.Dir, "sub")
	w.Commit()
	added, _, err := w.Find().
		Worktrees().
		Add(t.Context(), gitrepo.WorktreeInput{Path: beside(w, "ralph/x"), Branch: "ralph/x"})
	w.Must(err)
	tree := gittest.Workspace{TB: t, Dir: added.Path}
	tree.Git("submodule", "--quiet", "update", "--init")
	sub := gittest.Workspace{TB: t, Dir: tree.Path("sub")}
	sub.Write("work", "x")
	sub.Commit()
	tree.Commit()
	mergeBy(w, gittest.Program(), "ralph/x")
	gittest.Refused(t, w.Find().Worktrees().Remove(t.Context(), added, gitrepo.RemoveMerged),
		gitrepo.ProblemWorktreeChanged, "their own repositories", "--force")
	if _, err := os.Lstat(sub.Path("work")); err != nil {
		t.Error(err)
	}
	w.Must(w.Find().Worktrees().Remove(t.Context(), added, gitrepo.RemoveAnyway))
}

// A git that was killed while it added a worktree leaves one that it cannot even list.
func TestAWorktreeThatWasNeverCompletedIsRemoved(t *testing.T) {
	w := gittest.NewRepo(t)
	committedAs(w)
	before := pictureOf(w)
	const run = "01ABANDONED"
	w.Git("branch", "ralph/"+run)
	w.Write(".git/worktrees/"+run+"/locked", "initializing")
	w.Write(".git/worktrees/"+run+"/gitdir", beside(w, run)+"/.git\n")
	w.Write(".git/worktrees/"+run+"/commondir", "")
	w.Write(".git/worktrees/cut/locked", "initializing")
	w.Write(".git/worktrees/cut/gitdir", beside(w, "cut")[:len(w.Dir)])
	w.Write(".git/worktrees/theirs/locked", "initializing") // another process may be at work
	w.Write(".git/worktrees/theirs/gitdir", w.Dir+"-theirs/.git\n")
	w.Write(".git/worktrees/theirs/commondir", "../..\n")
	w.Write(".git/worktrees/theirs/HEAD", "ref: refs/heads/main\n")
	w.Must(os.MkdirAll(beside(w, run), 0o700))
	trees := w.Find().Worktrees()
	added, _, err := trees.Add(t.Context(), gitrepo.WorktreeInput{
		Path: beside(w, "next"), Branch: "ralph/next", Idle: func(string) bool { return true },
	})
	w.Must(err)
	if _, err := os.Lstat(w.Path(".git/worktrees/theirs")); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(beside(w, run)); !os.IsNotExist(err) {
		t.Errorf("its folder is left: %v", err)
	}
	w.Must(os.RemoveAll(w.Path(".git/worktrees/theirs")))
	w.Must(trees.Remove(t.Context(), added, gitrepo.RemoveMerged))
	if diff := cmp.Diff(before, pictureOf(w)); diff != "" {
		t.Errorf("left behind (-want +got):\n%s", diff)
	}
}

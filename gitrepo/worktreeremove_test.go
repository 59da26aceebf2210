package gitrepo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/gitrepo"
)

// oldGit is one that does not know options which came later than 2.35.
func oldGit(t *testing.T) gitrepo.Git {
	t.Helper()
	bin := newFolder(t)
	bin.program("git", `case " $* " in *" merge-tree --write-tree "*|*" worktree list --porcelain -z "*) echo usage >&2; exit 129;; esac
PATH=/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin; exec git "$@"`)
	return gitrepo.Git{Env: append(environment(), "PATH="+bin.dir)}
}

// trees is a repository with a worktree in each state.
func trees(t *testing.T) workspace {
	t.Helper()
	w := newRepo(t)
	w.worktree("ralph/merged")
	dirty, _ := w.worktree("ralph/dirty")
	dirty.write("new", "x")
	dirty.write(".ralph/progress.md", "x")
	ahead, _ := w.worktree("ralph/ahead")
	ahead.commit()
	ahead.commit()
	missing, _ := w.worktree("ralph/missing")
	w.must(os.RemoveAll(missing.dir))
	broken, _ := w.worktree("ralph/broken")
	w.must(os.Remove(broken.path(".git")))
	detached, _ := w.worktree("ralph/detached")
	detached.git("switch", "-q", "--detach")
	detached.commit()
	unborn, _ := w.worktree("ralph/unborn")
	unborn.git("switch", "-q", "--orphan", "fresh")
	unborn.write("new", "x")
	locked, _ := w.worktree("ralph/locked")
	locked.git("worktree", "lock", ".")
	w.git("branch", "ralph/alone")
	w.git("worktree", "add", "-q", "-b", "user", w.dir+"-user")
	return w
}

func TestWorktrees(t *testing.T) {
	for name, git := range map[string]gitrepo.Git{"git as it is": program(), "old git": oldGit(t)} {
		t.Run(name, func(t *testing.T) {
			w := trees(t)
			at := func(branch string) gitrepo.Worktree {
				return gitrepo.Worktree{Path: w.beside("ralph/" + branch), Branch: "ralph/" + branch}
			}
			detached, unborn := at("detached"), at("unborn")
			detached.Branch, unborn.Branch = "", "fresh"
			want := []gitrepo.WorktreeState{
				{Worktree: at("merged"), Merged: true},
				{Worktree: at("dirty"), Merged: true, Dirty: 1},
				{Worktree: at("ahead"), Ahead: 2},
				{Worktree: at("missing"), Merged: true, Missing: true},
				{Worktree: at("broken"), Merged: true, Trouble: w.beside("ralph/broken") + " has lost its connection to " + w.dir},
				{Worktree: detached, Ahead: 1},
				{Worktree: unborn, Merged: true, Dirty: 1},
				{Worktree: at("locked"), Merged: true, Locked: true},
				{Worktree: gitrepo.Worktree{Branch: "ralph/alone"}, Merged: true, Missing: true},
				{Worktree: gitrepo.Worktree{Branch: "ralph/detached"}, Merged: true, Missing: true},
				{Worktree: gitrepo.Worktree{Branch: "ralph/unborn"}, Merged: true, Missing: true},
			}
			repo, ok, err := git.Find(t.Context(), w.dir)
			if !ok || err != nil {
				t.Fatal(ok, err)
			}
			got, err := repo.Worktrees(t.Context(), w.dir+"-trees")
			w.must(err)
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
	repo := w.find()
	states, err := repo.Worktrees(t.Context(), w.dir+"-trees")
	w.must(err)
	for _, s := range states {
		if err := repo.RemoveWorktree(t.Context(), s.Worktree, gitrepo.RemoveMerged); (err == nil) != s.Removable() {
			t.Errorf("%+v: %v", s, err)
		}
	}
	entries, err := os.ReadDir(w.dir + "-trees")
	w.must(err)
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if diff := cmp.Diff([]string{"ralph-ahead", "ralph-broken", "ralph-detached", "ralph-dirty", "ralph-locked", "ralph-unborn"}, left); diff != "" {
		t.Errorf("folders (-want +got)\n%s", diff)
	}
	want := "main\nralph/ahead\nralph/broken\nralph/dirty\nralph/locked\nuser"
	if got := w.git("for-each-ref", "--format=%(refname:short)"); got != want {
		t.Errorf("branches %q, want %q", got, want)
	}
}

func TestRemoveWorktreeRefuses(t *testing.T) {
	w := trees(t)
	repo := w.find()
	at := func(branch string) gitrepo.Worktree {
		return gitrepo.Worktree{Path: w.beside(branch), Branch: branch}
	}
	cases := map[string]struct {
		tree  gitrepo.Worktree
		how   gitrepo.Removal
		want  gitrepo.ProblemKind
		holds []string
	}{
		"unmerged":             {at("ralph/ahead"), gitrepo.RemoveMerged, gitrepo.ProblemUnmerged, []string{"ralph/ahead holds 2 commits that no other branch has", "git merge ralph/ahead", "git branch -D ralph/ahead"}},
		"detached":             {at("ralph/detached"), gitrepo.RemoveMerged, gitrepo.ProblemUnmerged, []string{"holds 1 commit"}},
		"dirty":                {at("ralph/dirty"), gitrepo.RemoveMerged, gitrepo.ProblemWorktreeChanged, []string{"has 1 uncommitted change", "--force"}},
		"broken":               {at("ralph/broken"), gitrepo.RemoveMerged, gitrepo.ProblemWorktreeChanged, []string{"has lost its connection"}},
		"locked":               {at("ralph/locked"), gitrepo.RemoveAnyway, gitrepo.ProblemWorktreeChanged, []string{"is locked", "git worktree unlock "}},
		"the main one":         {gitrepo.Worktree{Path: w.dir, Branch: "main"}, gitrepo.RemoveAnyway, gitrepo.ProblemNotOurs, nil},
		"a branch in use":      {gitrepo.Worktree{Branch: "ralph/merged"}, gitrepo.RemoveAnyway, gitrepo.ProblemNotOurs, []string{"ralph/merged is checked out in "}},
		"a folder of somebody": {gitrepo.Worktree{Path: newRepo(t).dir, Branch: "ralph/none"}, gitrepo.RemoveAnyway, gitrepo.ProblemNotOurs, []string{"is no worktree of "}},
	}
	before := w.git("for-each-ref") + w.git("worktree", "list")
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			refused(t, repo.RemoveWorktree(t.Context(), c.tree, c.how), c.want, c.holds...)
			if c.tree.Path != "" {
				if _, err := os.Lstat(c.tree.Path); err != nil {
					t.Error(err)
				}
			}
		})
	}
	if after := w.git("for-each-ref") + w.git("worktree", "list"); after != before {
		t.Errorf("before %s after %s", before, after)
	}
}

func TestRemoveWorktreeAnyway(t *testing.T) {
	w := trees(t)
	repo := w.find()
	for _, branch := range []string{"ralph/ahead", "ralph/dirty", "ralph/broken", "ralph/detached", "ralph/missing", "ralph/unborn", "ralph/never"} {
		w.must(repo.RemoveWorktree(t.Context(), gitrepo.Worktree{Path: w.beside(branch), Branch: branch}, gitrepo.RemoveAnyway))
		if _, err := os.Lstat(w.beside(branch)); err == nil {
			t.Errorf("%s is there", branch)
		}
	}
	if got := w.git("for-each-ref", "--format=%(refname:short)"); got != "main\nralph/alone\nralph/locked\nralph/merged\nralph/unborn\nuser" {
		t.Errorf("branches %q", got)
	}
	if list := w.git("worktree", "list"); strings.Count(list, "\n") != 3 {
		t.Errorf("list %s", list)
	}
}

// A worktree on a branch of the user's, which an agent may have made, loses its folder
// and not the branch.
func TestRemoveWorktreeKeepsOtherBranches(t *testing.T) {
	w := newRepo(t)
	tree, added := w.worktree("ralph/x")
	tree.git("switch", "-q", "-c", "feature")
	tip := tree.committedAs()
	w.must(w.find().RemoveWorktree(t.Context(), added, gitrepo.RemoveMerged))
	if got := w.git("rev-parse", "feature"); got != tip {
		t.Errorf("feature is at %s", got)
	}
	if _, err := os.Lstat(filepath.Join(added.Path)); err == nil {
		t.Error("the folder is there")
	}
}

// What was committed in a submodule of a worktree is in no other repository, though the
// commit that names it is merged.
func TestRemoveWorktreeKeepsSubmodules(t *testing.T) {
	w, other := newRepo(t), newRepo(t)
	w.git("submodule", "--quiet", "add", "file://"+other.dir, "sub")
	w.commit()
	added, _, err := w.find().AddWorktree(t.Context(), gitrepo.WorktreeInput{Path: w.beside("ralph/x"), Branch: "ralph/x"})
	w.must(err)
	tree := workspace{t, added.Path}
	tree.git("submodule", "--quiet", "update", "--init")
	sub := workspace{t, tree.path("sub")}
	sub.write("work", "x")
	sub.commit()
	tree.commit()
	w.merge(program(), "ralph/x")
	refused(t, w.find().RemoveWorktree(t.Context(), added, gitrepo.RemoveMerged), gitrepo.ProblemWorktreeChanged, "repositories of their own", "--force")
	if _, err := os.Lstat(sub.path("work")); err != nil {
		t.Error(err)
	}
	w.must(w.find().RemoveWorktree(t.Context(), added, gitrepo.RemoveAnyway))
}

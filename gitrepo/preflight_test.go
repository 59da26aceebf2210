package gitrepo_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
)

func TestReady(t *testing.T) {
	var (
		look      = gitrepo.Needs{}
		commit    = gitrepo.Needs{Commit: true}
		include   = gitrepo.Needs{Commit: true, IncludeDirty: true}
		worktree  = gitrepo.Needs{Worktree: true, Commit: true}
		dirtyHint = "commit or stash them first, let the run commit them with --include-dirty, or use a separate worktree " +
			"with --worktree"
		dirtyAt = func(stops bool) gitrepo.Problem {
			return gitrepo.Problem{Kind: gitrepo.ProblemDirty, Text: "1 uncommitted change: new", Hint: dirtyHint, Stops: stops}
		}
		identity = gitrepo.Problem{
			Kind:  gitrepo.ProblemNoIdentity,
			Text:  "git has no name and email for commits",
			Hint:  `set them: git config --global user.name "Your Name" && git config --global user.email you@example.com`,
			Stops: true,
		}
		rebase = gitrepo.Problem{
			Kind:  gitrepo.ProblemUnderWay,
			Text:  "a rebase is in progress in TOP",
			Hint:  "finish it, or abort it with git rebase --abort",
			Stops: true,
		}
		locked = gitrepo.Problem{
			Kind:  gitrepo.ProblemIndexLocked,
			Text:  "another git process has held TOP/.git/index.lock for 1h0m0s",
			Hint:  "if no git process is running, the lock is stale: remove that file",
			Stops: true,
		}
		conflict = gitrepo.Problem{
			Kind:  gitrepo.ProblemConflicts,
			Text:  "there are unresolved conflicts in kept",
			Hint:  "resolve them and git add the files",
			Stops: true,
		}
		noCommit = gitrepo.Problem{
			Kind:  gitrepo.ProblemNoCommits,
			Text:  "the repository has no commits yet, and a worktree needs one",
			Hint:  `make the first commit (git add -A && git commit -m "first commit"), or run without --worktree`,
			Stops: true,
		}
		lock        = func(w gittest.Workspace) { w.Write(".git/index.lock", ""); w.Age(".git/index.lock") }
		conflicting = func(w gittest.Workspace) {
			w.Write("kept", "mine\n")
			w.Git("stash", "-q")
			w.Write("kept", "other\n")
			w.Commit()
			runProgram(w, "git", "stash", "pop")
		}
	)
	type needs = gitrepo.Needs
	type problems = []gitrepo.Problem
	cases := map[string]struct {
		act  func(w gittest.Workspace)
		want map[needs]problems
	}{
		"in order": {func(gittest.Workspace) {}, map[needs]problems{look: nil, commit: nil, worktree: nil}},
		"dirty": {
			func(w gittest.Workspace) { w.Write("new", "x"); w.Write(".ralph/progress.md", "x") },
			map[needs]problems{
				look:    {dirtyAt(false)},
				commit:  {dirtyAt(true)},
				include: {dirtyAt(false)},
				worktree: {
					{Kind: gitrepo.ProblemDirty, Text: "the worktree starts at the last commit, without 1 uncommitted change: new"},
				},
			},
		},
		"no commit yet": {
			func(w gittest.Workspace) { w.Git("checkout", "-q", "--orphan", "fresh"); w.Git("rm", "-q", "-rf", ".") },
			map[needs]problems{look: nil, commit: nil, worktree: {noCommit}},
		},
		"detached": {
			func(w gittest.Workspace) { w.Git("checkout", "-q", "--detach") },
			map[needs]problems{
				commit: {
					{Kind: gitrepo.ProblemDetached, Text: "HEAD is detached at HEADID"},
				},
				worktree: {{Kind: gitrepo.ProblemDetached, Text: "HEAD is detached at HEADID"}},
			},
		},
		"nobody": {func(w gittest.Workspace) {
			w.Git("config", "user.useConfigOnly", "true")
			w.Git("config", "user.email", "") // stronger than a variable that is not there
		}, map[needs]problems{look: nil, commit: {identity}, worktree: {identity}}},
		"rebase": {
			func(w gittest.Workspace) { w.At(".git/rebase-merge") },
			map[needs]problems{
				look:     {{Kind: rebase.Kind, Text: rebase.Text, Hint: rebase.Hint}},
				commit:   {rebase},
				worktree: {rebase},
			},
		},
		"locked": {lock, map[needs]problems{look: nil, commit: {locked}, worktree: nil}},
		"conflicts": {
			conflicting,
			map[needs]problems{
				include: {conflict, {Kind: gitrepo.ProblemDirty, Text: "1 uncommitted change: kept", Hint: dirtyHint}},
			},
		},
		"submodules": {func(w gittest.Workspace) {
			w.Git("submodule", "--quiet", "add", gittest.NewRepo(w.TB).Dir, "lib/a b")
			w.Commit()
		}, map[needs]problems{commit: nil, worktree: {{Kind: gitrepo.ProblemSubmodules,
			Text: "submodule folders are empty in a new worktree: lib/a b",
			Hint: "if you need them, run git submodule update --init there"}}}},
		"sparse": {
			func(w gittest.Workspace) { w.Git("sparse-checkout", "set", "below") },
			map[needs]problems{look: nil, commit: nil, worktree: nil},
		},
	}
	for name, c := range cases {
		for n, want := range c.want {
			t.Run(fmt.Sprintf("%s %+v", name, n), func(t *testing.T) {
				w := gittest.NewRepo(t)
				c.act(w)
				env := gittest.Environment()
				if name == "nobody" {
					env = env[:4]
				}
				repo, ok, err := gitrepo.Find(t.Context(), git.Program{Env: env}, w.Dir)
				if !ok || err != nil {
					t.Fatal(ok, err)
				}
				got, err := repo.Ready(t.Context(), n)
				w.Must(err)
				for i := range got {
					got[i].Text = strings.ReplaceAll(got[i].Text, w.Dir, "TOP")
					if name == "detached" {
						got[i].Text = strings.ReplaceAll(got[i].Text, w.Git("rev-parse", "HEAD")[:10], "HEADID")
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		}
	}
}

func TestAShallowCloneIsReadyAndGetsAWorktree(t *testing.T) {
	origin, w := gittest.NewRepo(t), gittest.NewFolder(t)
	origin.Commit()
	w.Git("clone", "-q", "--depth=1", "file://"+origin.Dir, "clone")
	clone := gittest.Workspace{TB: t, Dir: w.Path("clone")}
	if got, err := clone.Find().Ready(t.Context(), gitrepo.Needs{Commit: true, Worktree: true}); got != nil || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
	tree, _ := addWorktree(clone, "ralph/x")
	tree.Write("new", "x")
	commitNow(tree)
}

func TestNamesInSentences(t *testing.T) {
	w := gittest.NewRepo(t)
	for _, name := range []string{"a\nb", "c\x1b[31m", "é", "x y", "z1", "z2", "z3"} {
		w.Write(name, "x")
	}
	got, err := w.Find().Ready(t.Context(), gitrepo.Needs{})
	w.Must(err)
	if want := `7 uncommitted changes: "a\nb", "c\x1b[31m", x y, z1, z2 and 2 more`; len(got) != 1 || got[0].Text != want {
		t.Errorf("got %+v, want %s", got, want)
	}
}

// A git that was killed with a run leaves locks, with which the next commit would fail.
func TestLocksOfAKilledGitStopAResume(t *testing.T) {
	for _, lock := range []string{"index.lock", "HEAD.lock", "refs/heads/main.lock"} {
		t.Run(lock, func(t *testing.T) {
			w := gittest.NewRepo(t)
			committedAs(w)
			repo := w.Find()
			if err := repo.Unlocked(t.Context()); err != nil {
				t.Error(err)
			}
			w.Write(".git/"+lock, "")
			w.Age(".git/" + lock)
			problem, ok := errors.AsType[*gitrepo.Problem](repo.Unlocked(t.Context()))
			if !ok || !problem.Stops || !strings.Contains(problem.Text, lock) {
				t.Errorf("got %v", problem)
			}
		})
	}
}

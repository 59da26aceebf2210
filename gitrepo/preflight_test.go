package gitrepo_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/gitrepo"
)

func TestReady(t *testing.T) {
	var (
		look      = gitrepo.Needs{}
		commit    = gitrepo.Needs{Commit: true}
		include   = gitrepo.Needs{Commit: true, IncludeDirty: true}
		worktree  = gitrepo.Needs{Worktree: true, Commit: true}
		dirtyHint = "commit or stash them first, let the run commit them with --include-dirty, or keep apart from them with --worktree"
		dirtyAt   = func(stops bool) gitrepo.Problem {
			return gitrepo.Problem{Kind: gitrepo.ProblemDirty, Text: "1 uncommitted change: new", Hint: dirtyHint, Stops: stops}
		}
		identity    = gitrepo.Problem{Kind: gitrepo.ProblemNoIdentity, Text: "git does not know whose commits these are", Hint: `tell it: git config --global user.name "Your Name" && git config --global user.email you@example.com`, Stops: true}
		rebase      = gitrepo.Problem{Kind: gitrepo.ProblemUnderWay, Text: "a rebase is under way in TOP", Hint: "finish it, or give it up with git rebase --abort", Stops: true}
		locked      = gitrepo.Problem{Kind: gitrepo.ProblemIndexLocked, Text: "another git holds TOP/.git/index.lock, since 1h0m0s", Hint: "if no git is at work there, it was left behind: remove that file", Stops: true}
		conflict    = gitrepo.Problem{Kind: gitrepo.ProblemConflicts, Text: "there are unresolved conflicts in kept", Hint: "resolve them and git add the files", Stops: true}
		noCommit    = gitrepo.Problem{Kind: gitrepo.ProblemNoCommits, Text: "the repository has no commit yet, and a worktree begins at one", Hint: `make the first (git add -A && git commit -m "first commit"), or run without --worktree`, Stops: true}
		lock        = func(w workspace) { w.write(".git/index.lock", ""); w.age(".git/index.lock") }
		conflicting = func(w workspace) {
			w.write("kept", "mine\n")
			w.git("stash", "-q")
			w.write("kept", "other\n")
			w.commit()
			w.run("git", "stash", "pop")
		}
	)
	type needs = gitrepo.Needs
	type problems = []gitrepo.Problem
	cases := map[string]struct {
		act  func(w workspace)
		want map[needs]problems
	}{
		"in order": {func(workspace) {}, map[needs]problems{look: nil, commit: nil, worktree: nil}},
		"dirty": {func(w workspace) { w.write("new", "x"); w.write(".ralph/progress.md", "x") }, map[needs]problems{
			look: {dirtyAt(false)}, commit: {dirtyAt(true)}, include: {dirtyAt(false)},
			worktree: {{Kind: gitrepo.ProblemDirty, Text: "the worktree begins at the last commit, without 1 uncommitted change: new"}},
		}},
		"no commit yet": {func(w workspace) { w.git("checkout", "-q", "--orphan", "fresh"); w.git("rm", "-q", "-rf", ".") },
			map[needs]problems{look: nil, commit: nil, worktree: {noCommit}}},
		"detached": {func(w workspace) { w.git("checkout", "-q", "--detach") }, map[needs]problems{
			commit: {{Kind: gitrepo.ProblemDetached, Text: "HEAD is detached at HEADID"}}, worktree: {{Kind: gitrepo.ProblemDetached, Text: "HEAD is detached at HEADID"}},
		}},
		"nobody": {func(w workspace) {
			w.git("config", "user.useConfigOnly", "true")
			w.git("config", "user.email", "") // stronger than a variable that is not there
		}, map[needs]problems{look: nil, commit: {identity}, worktree: {identity}}},
		"rebase":    {func(w workspace) { w.at(".git/rebase-merge") }, map[needs]problems{look: {{Kind: rebase.Kind, Text: rebase.Text, Hint: rebase.Hint}}, commit: {rebase}, worktree: {rebase}}},
		"locked":    {lock, map[needs]problems{look: nil, commit: {locked}, worktree: nil}},
		"conflicts": {conflicting, map[needs]problems{include: {conflict, {Kind: gitrepo.ProblemDirty, Text: "1 uncommitted change: kept", Hint: dirtyHint}}}},
		"submodules": {func(w workspace) {
			w.git("submodule", "--quiet", "add", newRepo(w.TB).dir, "lib/a b")
			w.commit()
		}, map[needs]problems{commit: nil, worktree: {{Kind: gitrepo.ProblemSubmodules, Text: "folders of submodules are empty in a new worktree: lib/a b",
			Hint: "if they are needed, git submodule update --init in there fills them"}}}},
		"sparse": {func(w workspace) { w.git("sparse-checkout", "set", "below") }, map[needs]problems{look: nil, commit: nil, worktree: nil}},
	}
	for name, c := range cases {
		for n, want := range c.want {
			t.Run(fmt.Sprintf("%s %+v", name, n), func(t *testing.T) {
				w := newRepo(t)
				c.act(w)
				env := environment()
				if name == "nobody" {
					env = env[:4]
				}
				repo, ok, err := gitrepo.Git{Env: env}.Find(t.Context(), w.dir)
				if !ok || err != nil {
					t.Fatal(ok, err)
				}
				got, err := repo.Ready(t.Context(), n)
				w.must(err)
				for i := range got {
					got[i].Text = strings.ReplaceAll(got[i].Text, w.dir, "TOP")
					if name == "detached" {
						got[i].Text = strings.ReplaceAll(got[i].Text, w.git("rev-parse", "HEAD")[:10], "HEADID")
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
	origin, w := newRepo(t), newFolder(t)
	origin.commit()
	w.git("clone", "-q", "--depth=1", "file://"+origin.dir, "clone")
	clone := workspace{t, w.path("clone")}
	if got, err := clone.find().Ready(t.Context(), gitrepo.Needs{Commit: true, Worktree: true}); got != nil || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
	tree, _ := clone.worktree("ralph/x")
	tree.write("new", "x")
	tree.committed()
}

func TestNamesInSentences(t *testing.T) {
	w := newRepo(t)
	for _, name := range []string{"a\nb", "c\x1b[31m", "é", "x y", "z1", "z2", "z3"} {
		w.write(name, "x")
	}
	got, err := w.find().Ready(t.Context(), gitrepo.Needs{})
	w.must(err)
	if want := `7 uncommitted changes: "a\nb", "c\x1b[31m", x y, z1, z2 and 2 more`; len(got) != 1 || got[0].Text != want {
		t.Errorf("got %+v, want %s", got, want)
	}
}

package snapshot_test

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
	"github.com/ralphloop/ralph/gitrepo/snapshot"
)

//go:embed testdata/planted.sh
var planted string

// worked are the attacks that once worked. make test tries only these.
var worked = []string{
	"include in the folder of a worktree", "verified signature", "verified signature by options of a branch",
	"shown signature", "missing object", "submodule with files elsewhere", "submodule that the index lacks",
	"deep submodule",
}

func TestB15NothingThatAnAgentConfiguredRuns(t *testing.T) {
	functions, rest, _ := strings.Cut(planted, "\n== ")
	for attack := range strings.SplitSeq(rest, "\n== ") {
		name, script, _ := strings.Cut(attack, "\n")
		t.Run(name+", during the run", func(t *testing.T) {
			if testing.Short() && !slices.Contains(worked, name) {
				t.Skip("it never worked")
			}
			w, plant, ran := victim(t, functions+"\n"+script)
			repo := w.Find()
			k, _ := newKeeper(w)
			c, err := repo.Committer(t.Context(), gitrepo.CommitOptions{})
			w.Must(err)
			plant()
			t.Log(strings.Join(everything(w, k, repo, c), "\n"))
			ran(t)
		})
		t.Run(name+", before the run", func(t *testing.T) {
			switch {
			case testing.Short():
				t.Skip("it is tried during the run")
			case strings.HasPrefix(name, "hooks"):
				t.Skip("hooks from before a run are the user's")
			}
			w, plant, ran := victim(t, functions+"\n"+script)
			plant()
			repo, _, err := gitrepo.Find(t.Context(), gittest.Program(), w.Dir)
			if err == nil {
				k, _ := newKeeper(w)
				c, err := repo.Committer(t.Context(), gitrepo.CommitOptions{})
				w.Must(err)
				t.Log(strings.Join(everything(w, k, repo, c), "\n"))
			} else if name != "deep submodule" {
				t.Error(err)
			}
			ran(t)
		})
	}
}

// victim returns a repository with a submodule, a branch topic that is ahead and a branch side that went another way,
// a function that runs the script in it, and one that fails the test if the script's program ran.
func victim(t *testing.T, script string) (w gittest.Workspace, plant func(), ran func(t *testing.T)) {
	t.Helper()
	w, other := gittest.NewRepo(t), gittest.NewRepo(t)
	w.Git("submodule", "--quiet", "add", other.Dir, "sub")
	w.Commit()
	w.Sh(`git switch -qc topic; echo topic >kept; git commit -qam topic
git switch -q main; git worktree add -qb side .git/w; echo more >.git/w/more; git -C .git/w add more
git -C .git/w commit -qm side; git worktree remove .git/w`)
	outside := gittest.NewFolder(t)
	outside.Script("evil", `echo "$(tr '\0' ' ' </proc/$PPID/cmdline)" >>`+outside.Path("ran")+"; exit 1")
	plant = func() {
		w.Sh("EVIL=" + outside.Path("evil") + "\n" + script + "\ntouch -t 200101010000 kept sub/kept")
		_ = os.Remove(outside.Path("ran")) // the script's own git may have started it
	}
	return w, plant, func(t *testing.T) {
		t.Helper()
		if text, err := os.ReadFile(outside.Path("ran")); err == nil {
			t.Errorf("it was started by:\n%s", text)
		}
	}
}

// everything does all with a repository that Ralph does. It returns errors, because an agent may well break its
// repository.
func everything(
	w gittest.Workspace, k *snapshot.Keeper, repo *gitrepo.Repo, c *gitrepo.Committer,
) (said []string) {
	w.Helper()
	ctx := w.Context()
	note := func(what string, err error) {
		if err != nil {
			said = append(said, what+": "+err.Error())
		}
	}
	head := w.Git("rev-parse", "HEAD")
	state, err := k.Fingerprint(ctx, ralph.TreeInput{Run: "r", Iteration: 1, BaseHead: head, Claimed: true})
	note("fingerprint", err)
	changes := make([]ralph.FileChange, 600)
	for i := range changes {
		changes[i] = ralph.FileChange{Name: fmt.Sprintf("f%d", i), Kind: ralph.FileChanged}
	}
	_, err = k.Uncommitted(ctx, changes)
	note("uncommitted", err)
	_, err = k.Changed(ctx, head)
	note("changed", err)
	_, err = repo.Ready(ctx, gitrepo.Needs{Commit: true})
	note("ready", err)
	_, err = repo.Configured(ctx)
	note("configured", err)
	repo.Guarded(ctx)
	_, err = repo.Ask(ctx, "log", "-1", "--format=%ct", "topic")
	note("log", err)
	for _, branch := range []string{"topic", "side"} {
		if !strings.Contains(w.Name(), "/hooks") { // a merge runs all hooks
			_, err = repo.Merge(ctx, branch)
			note("merge", err)
		}
		said = append(said, useWorktree(w, repo, branch)...)
		w.Write("sub/kept", "changed "+branch)
		w.Write("new", "new "+branch)
		got, err := c.Commit(ctx, "x")
		note("commit", err)
		if got.Failed {
			said = append(said, "commit: "+got.Output)
		}
	}
	w.Write("kept", "changed in the end")
	_, err = k.Fingerprint(ctx, ralph.TreeInput{Run: "r", Iteration: 2, BaseHead: head, Claimed: true})
	note("fingerprint", err)
	_, err = k.Restore(ctx, snapshot.RestoreInput{Snapshot: state.Snapshot, Git: true})
	note("restore", err)
	return said
}

// useWorktree makes a worktree, makes it again and removes it.
func useWorktree(w gittest.Workspace, repo *gitrepo.Repo, name string) []string {
	w.Helper()
	trees := repo.Worktrees()
	made, _, err := trees.Add(w.Context(), gitrepo.WorktreeInput{
		Path: filepath.Join(w.TempDir(), "tree"), Branch: "ralph/" + name,
	})
	if err != nil {
		return []string{"add worktree: " + err.Error()}
	}
	w.Must(os.RemoveAll(made.Path))
	_, _, err = trees.Reopen(w.Context(), made)
	w.Must(err)
	_, err = trees.List(w.Context(), filepath.Dir(made.Path))
	w.Must(err)
	w.Must(trees.Remove(w.Context(), made, gitrepo.RemoveAnyway))
	return nil
}

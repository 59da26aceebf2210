//go:build unix

package snapshot_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
	"github.com/ralphloop/ralph/gitrepo/snapshot"
)

// pipeScripts replace files of git's by pipes.
var pipeScripts = map[string]string{
	"an object of a new branch": `id=$(git commit-tree 'HEAD^{tree}' -p HEAD -m x); git update-ref refs/heads/x $id
		f=.git/objects/$(echo $id | sed 's:..:&/:'); rm -f $f; mkfifo $f`,
	"the commit":        `f=.git/objects/$(git rev-parse HEAD | sed 's:..:&/:'); rm -f $f; mkfifo $f`,
	"the tree":          `f=.git/objects/$(git rev-parse HEAD^{tree} | sed 's:..:&/:'); rm -f $f; mkfifo $f`,
	"every object":      `for f in .git/objects/??/*; do rm -f $f; mkfifo $f; done`,
	"HEAD":              "rm .git/HEAD; mkfifo .git/HEAD",
	"a branch":          "rm .git/refs/heads/main; mkfifo .git/refs/heads/main",
	"packed refs":       "git pack-refs --all; rm .git/packed-refs; mkfifo .git/packed-refs",
	"the index":         "rm .git/index; mkfifo .git/index",
	"the configuration": "rm .git/config; mkfifo .git/config",
	"ignore rules":      "rm -f .git/info/exclude; mkdir -p .git/info; mkfifo .git/info/exclude",
	"shallow":           "mkfifo .git/shallow",
	"alternates":        "mkfifo .git/objects/info/alternates",
	"packs":             "git gc -q; for f in .git/objects/pack/*; do rm -f $f; mkfifo $f; done",
}

// No call waits for a pipe in place of one of git's files until its time is up, however the repository is broken.
func TestPipesInPlaceOfGitsFilesHangNothing(t *testing.T) {
	for name, script := range pipeScripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := gittest.NewRepo(t)
			k, _ := newKeeper(w)
			base := snapshotOf(w, k)
			w.Write("kept", "new")
			now := snapshotOf(w, k)
			w.Sh(script)
			look := func(what string, err error) {
				t.Helper()
				if err != nil && strings.Contains(err.Error(), "not finished after") {
					t.Errorf("%s: %v", what, err)
				}
			}
			state, err := k.Fingerprint(t.Context(), ralph.TreeInput{Run: "run", Iteration: 2, BaseHead: "HEAD", Claimed: true})
			look("fingerprint", err)
			look("left out", errors.New(strings.Join(state.Omitted, "\n")+strings.Join(state.Uncommitted, "\n")))
			_, _, err = k.AsCloned(t.Context(), ralph.TreeState{Snapshot: base}, now)
			look("as cloned", err)
			_, err = k.AsCommitted(t.Context(), now, "HEAD")
			look("as committed", err)
			_, err = k.Restore(t.Context(), snapshot.RestoreInput{Snapshot: base})
			look("restore", err)
		})
	}
}

// A canceled context ends a git that waits for a pipe at once.
func TestACanceledContextEndsGitAtAPipe(t *testing.T) {
	w := gittest.NewRepo(t)
	k, _ := newKeeper(w)
	w.Sh(pipeScripts["the commit"])
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := k.Fingerprint(ctx, ralph.TreeInput{Run: "run", Iteration: 1, BaseHead: "HEAD", Claimed: true})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// In a linked worktree, git's files are in another folder.
func TestPipesInTheRepositoryOfAWorktree(t *testing.T) {
	w := gittest.NewRepo(t)
	other := gittest.Workspace{TB: t, Dir: filepath.Join(gittest.NewFolder(t).Dir, "linked")}
	w.Git("worktree", "add", "-q", other.Dir)
	k, _ := newKeeper(other)
	snapshotOf(other, k)
	w.Sh(pipeScripts["every object"])
	_, err := k.Fingerprint(t.Context(), ralph.TreeInput{Run: "run", Iteration: 1, BaseHead: "HEAD", Claimed: true})
	if err != nil && strings.Contains(err.Error(), "not finished after") {
		t.Error(err)
	}
}

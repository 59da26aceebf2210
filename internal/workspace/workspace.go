// Package workspace finds the folder that a run works in, and manages what git stores for it:
// snapshots of the tree, and the worktrees and branches of runs.
package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/plain"
	"github.com/ralphloop/ralph/gitrepo/snapshot"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/ownfiles"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/proof/protect"
	"github.com/ralphloop/ralph/internal/trust"
)

// Workspace is the folder that a run works in.
type Workspace struct {
	Dir  string
	Git  bool
	Tree ralph.Tree
	Repo *gitrepo.Repo // nil without git
}

// Top returns the top of the repository that contains the workspace, or the workspace itself.
func (w Workspace) Top() string {
	if w.Repo == nil {
		return w.Dir
	}
	return w.Repo.Whole().Dir
}

// Contains reports whether a path is in the workspace or elsewhere in its repository, where an agent can write.
func (w Workspace) Contains(path string) bool {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	inside, err := filepath.Rel(w.Top(), path)
	return err == nil && filepath.IsLocal(inside)
}

// Identify returns a text that differs if the tree differs. It takes no snapshot.
func (w Workspace) Identify(ctx context.Context) (string, error) {
	const noLines = "HEAD" // lines of unfinished work are not needed
	state, err := w.Tree.Fingerprint(ctx, ralph.TreeInput{BaseHead: noLines})
	return state.Head + " " + state.Hash, err
}

// Keep returns the workspace's tree, with snapshots of it below folder. Snapshots include the given
// names even if they are ignored, and files that a check may run or depend on: an agent can make
// git ignore what it adds.
func (w Workspace) Keep(ctx context.Context, folder string, names []string) (ralph.Tree, error) {
	if w.Repo == nil {
		return w.KeepPlain(folder)
	}
	keeper, err := snapshot.New(ctx, w.Repo, folder)
	if err != nil {
		return nil, err
	}
	keeper.Always(names)
	keeper.AlwaysLike(protect.Matters)
	return keeper, nil
}

// KeepPlain is Keep without git, for a workspace whose snapshots git cannot keep, too. The tree then
// has ignored files.
func (w Workspace) KeepPlain(folder string) (ralph.Tree, error) {
	tree := &plain.Tree{Dir: w.Dir, OwnOutput: process.OutputFiles}
	keeper, err := tree.Keep(PlainFolder(folder))
	if err != nil {
		return nil, err
	}
	return keeper, nil
}

// ImportSnapshots copies snapshots from one folder of Keep to another, and returns their names there. An empty name
// stays empty.
func (w Workspace) ImportSnapshots(ctx context.Context, from, to string, ids []string) ([]string, error) {
	theirs, err := snapshot.Open(w.Repo.Git, from)
	if err != nil {
		return nil, err
	}
	ours, err := snapshot.New(ctx, w.Repo, to)
	if err != nil {
		return nil, err
	}
	made := make([]string, len(ids))
	for i, id := range ids {
		if id == "" {
			continue
		}
		if made[i], err = snapshot.Import(ctx, ours.Store, theirs, id); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// Find returns the workspace: -C DIR, else the nearest folder upward with .ralph, else the top of
// the git repository, else the current folder.
func Find(ctx context.Context, cwd, dir string, env config.Env) (Workspace, error) {
	start := cwd
	if dir != "" {
		start = dir
		if !filepath.IsAbs(start) {
			start = filepath.Join(cwd, dir)
		}
		if info, err := os.Stat(start); err != nil || !info.IsDir() {
			return Workspace{}, &config.UsageError{Msg: fmt.Sprintf("-C %s: no such folder", dir)}
		}
	}
	marked, isMarked := upward(start, isProject)
	if dir == "" && isMarked {
		start = marked
	}
	real, err := filepath.EvalSymlinks(start)
	if err != nil {
		return Workspace{}, fmt.Errorf("find workspace: %w", err)
	}
	repo, inGit, err := gitrepo.Find(ctx, gitProgram(env), real)
	if err != nil && !errors.Is(err, gitrepo.ErrNoGit) {
		return Workspace{}, &config.UsageError{Msg: err.Error()}
	}
	if !inGit {
		return Workspace{Dir: real, Tree: &plain.Tree{Dir: real, OwnOutput: process.OutputFiles}}, nil
	}
	if dir == "" && !isMarked {
		repo = repo.Whole()
	}
	repo.OwnOutput = process.OutputFiles
	return Workspace{Dir: repo.Dir, Git: true, Tree: repo, Repo: repo}, nil
}

// gitProgram returns the user's git, with the user's consents.
func gitProgram(env config.Env) gitrepo.Git {
	return gitrepo.Git{Env: env.Environ, Agreed: func(common, id string) bool {
		agreed, err := trust.In(env.StateDir).Trusted(common, id)
		return agreed && err == nil // to ask once too often is safe
	}}
}

// At returns the workspace in a folder that must be in a repository.
func At(ctx context.Context, dir string, env config.Env) (Workspace, error) {
	repo, inGit, err := gitrepo.Find(ctx, gitProgram(env), dir)
	if err != nil {
		return Workspace{}, err
	}
	if !inGit {
		return Workspace{}, fmt.Errorf("find workspace: %s is not in a repository", dir)
	}
	repo.OwnOutput = process.OutputFiles
	return Workspace{Dir: repo.Dir, Git: true, Tree: repo, Repo: repo}, nil
}

// InitRepository creates a repository for a sample project. Without git it stays a plain folder.
func InitRepository(ctx context.Context, dir string, env config.Env) error {
	err := gitrepo.Init(ctx, gitProgram(env), dir, "sample project")
	if errors.Is(err, gitrepo.ErrNoGit) {
		return nil
	}
	return err
}

// isProject reports whether the user set the folder up for ralph. A .ralph folder that contains
// only a run's progress file does not count: an earlier run must not make its folder the workspace
// of every folder below.
func isProject(dir string) (bool, error) {
	info, err := os.Stat(filepath.Join(dir, ".ralph"))
	return err == nil && info.IsDir() && !ownfiles.Alone(dir), err
}

// upward looks for a matching folder, from dir up to the root.
func upward(dir string, wanted func(string) (bool, error)) (string, bool) {
	for {
		found, err := wanted(dir)
		if found {
			return dir, true
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return "", false
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}

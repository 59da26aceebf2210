package gitrepo

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Guarded says what of git's own files a sandbox lets an agent change. Git's ordinary commands work with
// it: add, commit, branch, stash, rebase, and commits in submodules. An agent cannot change what makes
// the user's git start programs, or work elsewhere, after the run.
type Guarded struct {
	// Writable are git folders. Each must be a mount of its own, or an agent could replace it as a whole.
	Writable []string
	// ReadOnly exist below Writable or in the workspace, and stay as they are.
	ReadOnly []string
	// Absent do not exist and must not come to exist. An empty read-only file in their place changes
	// nothing for git. The file commondir of a main checkout is not among them: git cannot read an empty
	// one.
	Absent []string
}

// Guarded returns the git folders of the workspace and of its submodules, as they are now.
func (r *Repo) Guarded(ctx context.Context) Guarded {
	at, g := r.checkout(), Guarded{}
	g.add(at)
	submodules, _ := at.submodules(ctx, map[string]links{}, 0) // no git command works if they cannot be listed
	for _, sub := range submodules {
		g.add(sub)
	}
	slices.Sort(g.Writable)
	slices.Sort(g.ReadOnly)
	slices.Sort(g.Absent)
	g.Writable, g.ReadOnly = slices.Compact(g.Writable), slices.Compact(g.ReadOnly)
	g.Absent = slices.Compact(g.Absent)
	return g
}

// add adds a working tree. Its repository's shared folder must be writable as a whole, because git locks
// and replaces files there.
func (g *Guarded) add(at checkout) {
	common, _ := at.shared()
	g.Writable = append(g.Writable, common)
	if file := filepath.Join(at.top, ".git"); file != at.gitDir {
		g.guard(file)
	}
	g.folder(common)
	if at.gitDir != common {
		g.Writable = append(g.Writable, at.gitDir)
		for _, name := range []string{"commondir", "gitdir", "config.worktree"} {
			g.guard(filepath.Join(at.gitDir, name))
		}
		for _, name := range []string{"HEAD", "index"} { // of the main checkout
			if file := filepath.Join(common, name); exists(file) {
				g.ReadOnly = append(g.ReadOnly, file)
			}
		}
	}
	worktrees, _ := os.ReadDir(filepath.Join(common, "worktrees"))
	for _, other := range worktrees {
		if folder := filepath.Join(common, "worktrees", other.Name()); folder != at.gitDir {
			g.ReadOnly = append(g.ReadOnly, folder)
		}
	}
	_ = filepath.WalkDir(filepath.Join(common, "modules"), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || !entry.IsDir():
			return nil
		case slices.Contains([]string{"objects", "refs", "logs"}, entry.Name()):
			return fs.SkipDir
		}
		if exists(filepath.Join(path, "HEAD")) {
			g.folder(path)
		}
		return nil
	})
}

// folder guards what decides in a git folder which programs git starts and where it works.
func (g *Guarded) folder(common string) {
	for _, name := range []string{
		"config", "config.worktree", "hooks", "info/attributes", "info/exclude", "objects/info/alternates",
	} {
		g.guard(filepath.Join(common, filepath.FromSlash(name)))
	}
}

func (g *Guarded) guard(path string) {
	if exists(path) {
		g.ReadOnly = append(g.ReadOnly, path)
	} else {
		g.Absent = append(g.Absent, path)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

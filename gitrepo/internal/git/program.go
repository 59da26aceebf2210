package git

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/ralphloop/ralph/gitrepo/internal/scan"
	"github.com/ralphloop/ralph/internal/process"
)

// Locate is g with its program settled for all calls. A git inside the working tree
// that dir belongs to is passed over, also one that is only reached through it or links
// into it: an agent could have put it there, and would then decide what the tree is.
func (g Program) Locate(dir string) (Program, error) {
	top := workingTree(dir)
	tree, err := os.Stat(top)
	if err != nil {
		return g, err
	}
	program, err := process.Locate("git", g.Env, func(path string) bool { return leadsInto(tree, path) })
	if err != nil {
		return g, fmt.Errorf("look for git outside of %s: %w: %w", top, ErrNoGit, err)
	}
	// Without links in the folder's path nobody can lead it elsewhere. The file itself
	// keeps its name, from which some programs know what they are to be.
	folder, err := filepath.EvalSymlinks(filepath.Dir(program))
	if err != nil {
		return g, fmt.Errorf("look for git outside of %s: %w: %w", top, ErrNoGit, err)
	}
	g.path = filepath.Join(folder, filepath.Base(program))
	return g, nil
}

// workingTree guesses the top of the working tree, without the help of git, which is yet
// to be found.
func workingTree(dir string) string {
	for above := dir; ; above = filepath.Dir(above) {
		if _, err := os.Lstat(filepath.Join(above, ".git")); err == nil {
			return above
		}
		if above == filepath.Dir(above) {
			return dir
		}
	}
}

// leadsInto reports whether a path lies in the tree, as it is spelled, or with the links
// of its folder or its own resolved. What cannot be resolved counts as inside.
func leadsInto(tree os.FileInfo, path string) bool {
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return true
	}
	file, err := filepath.EvalSymlinks(path)
	return err != nil || scan.Below(tree, path) || scan.Below(tree, folder) || scan.Below(tree, file)
}

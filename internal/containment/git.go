package containment

import (
	"os"
	"path/filepath"
	"strings"
)

// gitKept are the parts of a git folder by which a repository starts programs, also those of the user
// who works in it later. An agent commits without changing them.
var gitKept = []string{"config", "config.worktree", "hooks", "info/attributes", "commondir", "gitdir"}

// gitFolders returns the git folder of the repository that a workspace belongs to, and the one that it
// shares with other worktrees. Only what looks like a repository counts: a file of the workspace may name
// any folder.
func gitFolders(workspace string) (folders []string) {
	for folder := workspace; ; folder = filepath.Dir(folder) {
		at := filepath.Join(folder, ".git")
		if _, err := os.Lstat(at); err == nil {
			return repositoryAt(at)
		}
		if folder == filepath.Dir(folder) {
			return nil
		}
	}
}

func repositoryAt(at string) (folders []string) {
	if line, err := os.ReadFile(at); err == nil { // a worktree or submodule
		name, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "gitdir: ")
		if !ok {
			return nil
		}
		at = from(filepath.Dir(at), name)
	}
	shared := at
	if line, err := os.ReadFile(filepath.Join(at, "commondir")); err == nil {
		shared = from(at, strings.TrimSpace(string(line)))
	}
	for _, part := range []string{"objects", "refs", "HEAD"} {
		if _, err := os.Stat(filepath.Join(shared, part)); err != nil {
			return nil
		}
	}
	if _, err := os.Stat(filepath.Join(at, "HEAD")); err != nil {
		return nil
	}
	return []string{at, shared}
}

func from(folder, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(folder, path)
}

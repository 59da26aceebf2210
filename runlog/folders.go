package runlog

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
)

// Keep creates and returns a folder with that name, for files that the run keeps beside its events.
func (l *Log) Keep(name string) (string, error) {
	if !isPlainName(name) {
		return "", fmt.Errorf("keep folder: %q is not a valid folder name", name)
	}
	path := filepath.Join(l.Dir(), name)
	if err := makeFolder(path); err != nil {
		return "", fmt.Errorf("keep folder %s: %w", name, err)
	}
	return path, nil
}

// SnapshotsDir returns the folder of the workspace's snapshots. It may not exist yet.
func (s *Store) SnapshotsDir() string { return filepath.Join(s.dir, "snapshots.git") }

// WorktreesDir returns the folder of the worktrees of the workspace's runs. It may not exist yet.
func (s *Store) WorktreesDir() string { return filepath.Join(s.dir, "worktrees") }

// SnapshotsOf returns the folder of the snapshots of a run. Each worktree has its own. It may not exist
// yet.
func (s *Store) SnapshotsOf(worktree *ralph.Worktree) string {
	if worktree == nil {
		return s.SnapshotsDir()
	}
	return filepath.Join(s.WorktreesDir(), filepath.Base(worktree.Path)+worktreeSnapshots)
}

// worktreeSnapshots follows the name of a worktree in the name of its snapshots' folder.
const worktreeSnapshots = ".snapshots.git"

// AllSnapshots lists the folders of SnapshotsOf, those of worktrees that are gone included. Snapshots
// without git are in a folder of the same name without its extension.
func (s *Store) AllSnapshots() []string {
	all := []string{s.SnapshotsDir()}
	for _, name := range []string{worktreeSnapshots, strings.TrimSuffix(worktreeSnapshots, ".git")} {
		found, _ := filepath.Glob(filepath.Join(s.WorktreesDir(), "*"+name)) // the pattern is valid
		for _, folder := range found {
			all = append(all, strings.TrimSuffix(folder, ".git")+".git")
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ViewsDir returns the folder of the views in which checks run. It may not exist yet.
func (s *Store) ViewsDir() string { return filepath.Join(s.dir, "views") }

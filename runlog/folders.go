package runlog

import (
	"fmt"
	"os"
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

// WorktreesDir returns the folder of the worktrees of the workspace's runs. It may not exist yet.
func (s *Store) WorktreesDir() string { return filepath.Join(s.dir, "worktrees") }

// SnapshotsOf returns the folder of the snapshots of runs in a worktree, or of those in the workspace
// itself if that is nil. It may not exist yet.
func (s *Store) SnapshotsOf(worktree *ralph.Worktree) string {
	if worktree == nil {
		return filepath.Join(s.dir, "snapshots.git")
	}
	return filepath.Join(s.WorktreesDir(), filepath.Base(worktree.Path)+worktreeSnapshots)
}

// worktreeSnapshots follows the name of a worktree in the name of its snapshots' folder.
const worktreeSnapshots = ".snapshots.git"

// AllSnapshots lists the folders of SnapshotsOf, those of worktrees that are gone included. Snapshots
// without git are in a folder of the same name without its extension.
func (s *Store) AllSnapshots() []string {
	all := []string{s.SnapshotsOf(nil)}
	entries, _ := os.ReadDir(s.WorktreesDir()) // a missing folder is empty
	for _, entry := range entries {
		name := strings.TrimSuffix(entry.Name(), ".git") + ".git"
		if folder := filepath.Join(s.WorktreesDir(), name); strings.HasSuffix(name, worktreeSnapshots) &&
			!slices.Contains(all, folder) {
			all = append(all, folder)
		}
	}
	return all
}

// ViewsDir returns the folder of the views in which checks run. It may not exist yet.
func (s *Store) ViewsDir() string { return filepath.Join(s.dir, "views") }

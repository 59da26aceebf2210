package runlog

import (
	"fmt"
	"path/filepath"
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

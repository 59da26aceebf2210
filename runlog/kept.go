package runlog

import (
	"fmt"
	"path/filepath"
)

// Keep gives a folder of that name for what the run keeps beside its events, and creates it.
func (l *Log) Keep(name string) (string, error) {
	if !isPlain(name) {
		return "", fmt.Errorf("keep folder: %q cannot be the name of one", name)
	}
	path := filepath.Join(l.Dir(), name)
	if err := makeFolder(path); err != nil {
		return "", fmt.Errorf("keep folder %s: %w", name, err)
	}
	return path, nil
}

// SnapshotsDir is where the copies of the workspace's tree are kept. It may not exist yet.
func (s *Store) SnapshotsDir() string { return filepath.Join(s.dir, "snapshots.git") }

// WorktreesDir is where the worktrees of the workspace's runs are. It may not exist yet.
func (s *Store) WorktreesDir() string { return filepath.Join(s.dir, "worktrees") }

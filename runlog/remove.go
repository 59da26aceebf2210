package runlog

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ralphloop/ralph/internal/atomicfile"
)

// Remove removes a run. From its first step on the run is not listed any more: a kill leaves at most a
// rest, which Leftovers lists. The caller holds the lock.
func (s *Store) Remove(run string) error {
	if !isPlainName(run) {
		return fmt.Errorf("remove run: %q is not a valid run name", run)
	}
	if err := atomicfile.Remove(s.RunDir(run)); err != nil {
		return fmt.Errorf("remove run %s: %w", run, ioError("remove", s.RunDir(run), err))
	}
	return nil
}

// Leftovers lists what killed processes left in the workspace's state: halves of what was being written
// or removed. As long as the caller holds the lock, no process uses them.
func (s *Store) Leftovers() []string {
	runs := filepath.Join(s.dir, "runs")
	found := append(leftoversIn(runs, 0), leftoversIn(s.WorktreesDir(), 0)...)
	names, _ := s.names() // without runs there is nothing in them
	for _, run := range names {
		found = append(found, leftoversIn(s.RunDir(run), 0)...)
	}
	// Messages are sent without the lock, in no time.
	found = append(found, leftoversIn(s.dir, time.Hour)...)
	return append(found, leftoversIn(messagesDir(s.dir), time.Hour)...)
}

// leftoversIn lists the temporary files in a folder that were not written for some time.
func leftoversIn(folder string, age time.Duration) []string {
	var found []string
	entries, _ := os.ReadDir(folder) // a missing folder is empty
	for _, entry := range entries {
		if !atomicfile.IsTemp(entry.Name()) {
			continue
		}
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) >= age {
			found = append(found, filepath.Join(folder, entry.Name()))
		}
	}
	return found
}

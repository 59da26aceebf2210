package plain

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ralphloop/ralph/gitrepo/internal/scan"
)

// Prune removes the snapshots in a folder of [Tree.Keep] that needs rejects, and the contents that only
// they have. It returns how many snapshots are left. A kill in the middle leaves contents that the next
// call removes. The caller holds the workspace's lock.
func Prune(folder string, needs func(id string) bool) (left int, err error) {
	s := &store{dir: folder}
	scan.Empty(filepath.Join(folder, "tmp"))
	entries, err := os.ReadDir(filepath.Join(folder, "copies"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("prune snapshots: %w", err)
	}
	used := map[string]bool{}
	for _, entry := range entries {
		if !needs(entry.Name()) {
			if err := os.Remove(s.list(entry.Name())); err != nil {
				return 0, fmt.Errorf("prune snapshots: %w", err)
			}
			continue
		}
		files, err := s.files(entry.Name())
		if err != nil { // what it has is unknown, so nothing may go
			return 0, fmt.Errorf("prune snapshots: %w", err)
		}
		left++
		for _, file := range files {
			used[file.ID] = true
		}
	}
	return left, s.removeContents(used)
}

// removeContents removes the contents that are not used.
func (s *store) removeContents(used map[string]bool) error {
	top := filepath.Join(s.dir, "contents")
	folders, err := os.ReadDir(top)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("prune snapshots: %w", err)
	}
	for _, folder := range folders {
		files, err := os.ReadDir(filepath.Join(top, folder.Name()))
		for _, file := range files {
			if err == nil && !used[folder.Name()+file.Name()] {
				err = os.Remove(filepath.Join(top, folder.Name(), file.Name()))
			}
		}
		if err != nil {
			return fmt.Errorf("prune snapshots: %w", err)
		}
		os.Remove(filepath.Join(top, folder.Name())) // fails as long as it has other files
	}
	return nil
}

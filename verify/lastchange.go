package verify

import (
	"os"
	"path/filepath"
	"time"

	"github.com/ralphloop/ralph/internal/proof/pristine"
)

// LastChange implements [ralph.ChangeDater].
func (e *Examiner) LastChange(names []string) (last string, at time.Time) {
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(e.Dir, filepath.FromSlash(name)))
		if err != nil {
			continue // its folder has changed
		}
		if changed := pristine.ChangeTime(info); changed.After(at) {
			last, at = name, changed
			if info.IsDir() {
				last += "/"
			}
		}
	}
	return last, at
}

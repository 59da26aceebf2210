package verify

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/pristine"
)

// LastChange implements [ralph.ChangeDater].
func (e *Examiner) LastChange(changes []ralph.FileChange) time.Time {
	var last time.Time
	note := func(info fs.FileInfo) {
		if changed := pristine.ChangeTime(info); changed.After(last) {
			last = changed
		}
	}
	for _, c := range changes {
		path := filepath.Join(e.Dir, filepath.FromSlash(c.Name))
		missing := true // until something of the path exists
		for ; ; path = filepath.Dir(path) {
			info, err := os.Lstat(path)
			if err == nil && (missing || wasMoved(info)) {
				note(info)
			}
			missing = missing && err != nil
			if path == e.Dir || path == filepath.Dir(path) {
				break
			}
		}
	}
	return last
}

// wasMoved reports whether a folder was moved after its entries changed. The files in it keep their own times then.
func wasMoved(info fs.FileInfo) bool { return pristine.ChangeTime(info).After(info.ModTime()) }

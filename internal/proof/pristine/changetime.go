package pristine

import (
	"io/fs"
	"time"
)

// ChangeTime returns when anything about a file last changed. No program can set that back. Where the system does not
// tell, it is when the content changed.
func ChangeTime(info fs.FileInfo) time.Time {
	if changed, _ := changeTime(info); changed > 0 {
		return time.Unix(0, changed)
	}
	return info.ModTime()
}

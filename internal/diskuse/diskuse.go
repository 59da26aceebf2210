// Package diskuse says how much space files take, and whose they are.
package diskuse

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Use is what a file or a folder with everything in it takes.
type Use struct {
	Bytes   int64     // allocated on the disk; where the system does not say, the length of the files
	Written time.Time // when one of the files was last written
}

// Of returns what a path takes. What is gone, or cannot be read, takes nothing.
func Of(path string) Use {
	info, err := os.Lstat(path)
	if err != nil {
		return Use{}
	}
	var use Use
	use.add(path, info)
	return use
}

func (u *Use) add(path string, info fs.FileInfo) {
	u.Bytes += allocated(info)
	if info.ModTime().After(u.Written) {
		u.Written = info.ModTime()
	}
	if !info.IsDir() {
		return
	}
	folder, err := os.Open(path)
	if err != nil {
		return
	}
	entries, _ := folder.ReadDir(-1) // in any order
	folder.Close()
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			u.add(filepath.Join(path, entry.Name()), info)
		}
	}
}

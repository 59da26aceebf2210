package verify

import (
	"fmt"
	"os"
	"syscall"
)

// fileStamp changes whenever a file is modified. A process that restores a file can set all of its
// times except the change time.
type fileStamp struct {
	inode   uint64
	changed syscall.Timespec
}

func (s fileStamp) String() string { return fmt.Sprintf("%d@%d.%09d", s.inode, s.changed.Sec, s.changed.Nsec) }

func fileStampOf(file string) (fileStamp, bool) {
	info, err := os.Lstat(file)
	if err != nil {
		return fileStamp{}, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileStamp{}, false
	}
	return fileStamp{stat.Ino, stat.Ctim}, true
}

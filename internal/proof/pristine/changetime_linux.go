package pristine

import (
	"io/fs"
	"syscall"
)

// changeTime returns when anything about a file last changed, in nanoseconds, and its inode.
func changeTime(info fs.FileInfo) (changed int64, inode uint64) {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ctim.Nano(), stat.Ino
	}
	return 0, 0
}

package scan

import (
	"io/fs"
	"syscall"
)

// system returns the change time of a file in nanoseconds, and its inode; 0 if unknown.
func system(info fs.FileInfo) (changed int64, inode uint64) {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ctim.Nano(), stat.Ino
	}
	return 0, 0
}

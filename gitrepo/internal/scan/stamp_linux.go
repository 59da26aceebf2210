package scan

import (
	"io/fs"
	"syscall"
)

// system is when anything about a file changed, in nanoseconds, and its inode; 0 if that is not known.
func system(info fs.FileInfo) (changed int64, inode uint64) {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ctim.Nano(), stat.Ino
	}
	return 0, 0
}

//go:build unix

package diskuse

import (
	"io/fs"
	"os"
	"syscall"
)

func allocated(info fs.FileInfo) int64 {
	const unit = 512 // on every system
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * unit
	}
	return info.Size()
}

// Mine reports whether a file belongs to the user of this process.
func Mine(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

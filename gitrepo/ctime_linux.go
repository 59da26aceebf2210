package gitrepo

import (
	"io/fs"
	"syscall"
)

// changeTime is when anything about a file changed, which nobody can set; 0 if that is not
// known.
func changeTime(info fs.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ctim.Nano()
	}
	return 0
}

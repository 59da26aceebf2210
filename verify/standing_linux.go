package verify

import (
	"os"
	"syscall"
)

// standing tells whether anything was done to a file. Who puts a file back can set every time of it but this one.
type standing struct {
	inode uint64
	moved syscall.Timespec
}

func standingOf(file string) (standing, bool) {
	info, err := os.Lstat(file)
	if err != nil {
		return standing{}, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return standing{}, false
	}
	return standing{stat.Ino, stat.Ctim}, true
}

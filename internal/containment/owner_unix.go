//go:build unix

package containment

import (
	"os"
	"syscall"
)

// ownerOf returns the user and the group that a file belongs to, and whether that is known.
func ownerOf(path string) (uid, gid int, known bool) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, 0, false
	}
	stat, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return 0, 0, false
	}
	return int(stat.Uid), int(stat.Gid), true
}

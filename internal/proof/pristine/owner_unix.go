//go:build unix

package pristine

import (
	"io/fs"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func ownerOf(info fs.FileInfo) (uid, gid int) {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid), int(stat.Gid)
	}
	return -1, -1
}

// setLinkTime restores a link's time, so that git need not read the link again. Failure is
// harmless.
func setLinkTime(path string, changed time.Time) {
	stamp, err := unix.TimeToTimespec(changed)
	if err == nil {
		_ = unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{stamp, stamp}, unix.AT_SYMLINK_NOFOLLOW)
	}
}

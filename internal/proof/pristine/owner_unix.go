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

// setLinkTime spares git a second look at a link; a file system that cannot do it costs that look.
func setLinkTime(path string, changed time.Time) {
	stamp, err := unix.TimeToTimespec(changed)
	if err == nil {
		_ = unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{stamp, stamp}, unix.AT_SYMLINK_NOFOLLOW)
	}
}

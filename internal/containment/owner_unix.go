//go:build unix

package containment

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// lockShared locks a file for this run, together with others. lockAlone fails if another run has it.
func lockShared(file *os.File) error { return unix.Flock(int(file.Fd()), unix.LOCK_SH) }
func lockAlone(file *os.File) error  { return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// canWrite reports whether this user may add files to a folder.
func canWrite(folder string) bool { return unix.Access(folder, unix.W_OK) == nil }

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

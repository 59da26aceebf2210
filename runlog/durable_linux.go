package runlog

import (
	"errors"
	"os"
	"syscall"
)

// flushData writes a file's data and size to stable storage. Times of access and change are of no use to a log and are not waited for.
func flushData(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var flushed error
	err = conn.Control(func(fd uintptr) {
		for {
			flushed = syscall.Fdatasync(int(fd))
			if !errors.Is(flushed, syscall.EINTR) {
				return
			}
		}
	})
	return errors.Join(err, flushed)
}

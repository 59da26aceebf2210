package pristine

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// reflink makes a file that shares its bytes with another one until either changes. If it cannot, nothing is made.
func reflink(source, target string, perm fs.FileMode) error {
	from, err := os.Open(source)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer to.Close()
	if err := unix.IoctlFileClone(int(to.Fd()), int(from.Fd())); err != nil {
		os.Remove(target)
		return err
	}
	return nil
}

package inside

import (
	"os"
	"syscall"
)

// limit puts this process, and so everything that it starts, into the control groups of a charge.
func (c *Charge) limit() syscall.Errno {
	for folder := range split(c.Groups, '\n') {
		if folder == "" {
			continue
		}
		if err := os.WriteFile(folder+"/cgroup.procs", []byte("0"), 0); err != nil {
			return syscall.EACCES
		}
	}
	if c.FileSize == 0 {
		return 0
	}
	most := syscall.Rlimit{Cur: uint64(c.FileSize), Max: uint64(c.FileSize)}
	errno, _ := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &most).(syscall.Errno)
	return errno
}

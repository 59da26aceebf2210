package inside

import (
	"os"
	"syscall"
)

// limit puts a process, and so everything that it starts from then on, into the control groups of a charge.
func (c *Charge) limit(pid int) syscall.Errno {
	for folder := range split(c.Groups, '\n') {
		if folder == "" {
			continue
		}
		if err := os.WriteFile(folder+"/cgroup.procs", []byte(itoa(pid)), 0); err != nil {
			return errnoOf(err)
		}
	}
	return 0
}

// limitFiles limits the files of this process, which the program inherits. The guard itself writes none.
func (c *Charge) limitFiles() syscall.Errno {
	if c.FileSize == 0 {
		return 0
	}
	most := syscall.Rlimit{Cur: uint64(c.FileSize), Max: uint64(c.FileSize)}
	return errnoOf(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &most))
}

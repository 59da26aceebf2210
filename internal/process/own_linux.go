package process

import "os"

// IsOwn reports whether a process runs this program.
func IsOwn(pid int) bool {
	own, err := os.Stat("/proc/self/exe")
	return err == nil && (&Held{own: own}).isOwn(pid)
}

package process

import "os"

// IsOwn reports whether a process runs this program.
func IsOwn(pid int) bool {
	own, err := os.Stat(selfProgram)
	return err == nil && runs(pid, own)
}

// runs reports whether a process runs a program. Its path would not tell: a process can have its own mounts.
func runs(pid int, program os.FileInfo) bool {
	exe, err := os.Stat(procFile(pid, "exe"))
	return err == nil && os.SameFile(exe, program)
}

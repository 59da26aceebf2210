//go:build linux && !amd64 && !arm64

package inside

import "syscall"

// installFilter fails: there is no filter for this machine.
func installFilter() (listener int, errno syscall.Errno) { return 0, syscall.ENOSYS }

func answerFor(int, string) syscall.Errno { return syscall.ENOSYS }

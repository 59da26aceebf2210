//go:build unix

package textfile

import "syscall"

// NonBlocking keeps open from waiting for a pipe's writer.
const NonBlocking = syscall.O_NONBLOCK

//go:build unix

package textfile

import "syscall"

// NonBlocking keeps the opening of a pipe from waiting for a writer.
const NonBlocking = syscall.O_NONBLOCK

//go:build unix

package ralph

import "syscall"

// nonBlocking keeps the opening of a pipe from waiting for a writer.
const nonBlocking = syscall.O_NONBLOCK

//go:build unix

package git

import "syscall"

// nonBlocking keeps open from waiting for a pipe's reader.
const nonBlocking = syscall.O_NONBLOCK

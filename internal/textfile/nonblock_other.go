//go:build !unix

package textfile

// NonBlocking keeps open from waiting for a pipe's writer; this system has no such flag.
const NonBlocking = 0

//go:build !unix

package textfile

// NonBlocking keeps the opening of a pipe from waiting for a writer, where a system has such a flag.
const NonBlocking = 0

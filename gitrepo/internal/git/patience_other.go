//go:build !unix

package git

// nonBlocking has no meaning without named pipes in folders.
const nonBlocking = 0

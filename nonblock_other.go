//go:build !unix

package ralph

const nonBlocking = 0

//go:build !linux

package process

// SameView returns nil: without /proc, there is only one view of the processes.
func SameView(int) error { return nil }

//go:build !linux

package process

// Environ returns the environment that a process was started with. Other systems than Linux do not say it reliably.
func Environ(int) ([]string, bool) { return nil, false }

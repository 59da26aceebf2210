//go:build !linux

package landlock

// ABI returns 0: only Linux has these rules.
func ABI() int { return 0 }

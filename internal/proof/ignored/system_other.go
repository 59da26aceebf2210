//go:build !linux && !darwin

package ignored

import "io/fs"

// system returns zeros: on this system a file is known by its size, mode and modification time.
func system(fs.FileInfo) (changed int64, inode, links uint64) { return 0, 0, 0 }

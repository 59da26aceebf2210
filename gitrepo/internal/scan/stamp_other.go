//go:build !linux && !darwin

package scan

import "io/fs"

// system returns zeros: on this system a file is identified by its size and modification time.
func system(fs.FileInfo) (changed int64, inode uint64) { return 0, 0 }

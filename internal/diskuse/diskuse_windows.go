package diskuse

import "io/fs"

func allocated(info fs.FileInfo) int64 { return info.Size() }

// Mine reports true: on this system each user has a temporary folder of their own.
func Mine(fs.FileInfo) bool { return true }

//go:build !linux

package runlog

import "os"

// flushData writes a file to stable storage.
func flushData(f *os.File) error { return f.Sync() }

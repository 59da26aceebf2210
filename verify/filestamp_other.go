//go:build !linux

package verify

// fileStamp is not available on this system.
type fileStamp struct{}

func (fileStamp) String() string { return "" }

func fileStampOf(string) (fileStamp, bool) { return fileStamp{}, false }

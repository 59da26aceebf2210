package process

import "errors"

// ErrLimits means that a tree could not be limited, so that it was never started. It is in
// Result.StartError.
var ErrLimits = errors.New("cannot limit the process tree")

// Limits are what a whole tree may use; 0 means no limit. They need a guard, and control groups that this
// user may make: those of cgroup v1 for root, those of v2 where the system delegates them.
type Limits struct {
	Memory    int64 // bytes
	Processes int
	FileSize  int64 // bytes that one file may get

	groups string // that limit the tree
}

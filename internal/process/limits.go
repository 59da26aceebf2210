package process

import "errors"

// ErrLimits means that a tree could not be limited, so that it was never started. It is in
// Result.StartError.
var ErrLimits = errors.New("cannot limit the process tree")

// ErrFilter means that the connections of a tree could not be filtered, so that it was never started. It is in
// Result.StartError.
var ErrFilter = errors.New("cannot filter the connections of the process tree")

// ErrGuard means that the guard of a tree failed, so that the program was never started. It is in
// Result.StartError.
var ErrGuard = errors.New("the guard of the process tree failed")

// isOurs reports whether an error is about what we do before the program starts, and not about the program.
func isOurs(err error) bool {
	_, io := errors.AsType[*IOError](err)
	return io || errors.Is(err, ErrLimits) || errors.Is(err, ErrFilter) || errors.Is(err, ErrGuard)
}

// Limits are what a whole tree may use; 0 means no limit. They need a guard, and control groups that this
// user may make: those of cgroup v1 for root, those of v2 where the system delegates them.
type Limits struct {
	Memory    int64 // bytes
	Processes int
	FileSize  int64 // bytes that one file may get

	groups string // that limit the tree
}

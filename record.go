package ralph

import "errors"

// Recorder keeps the events of a run.
//
// Append must keep the order; Sync returns when everything appended is on stable storage. An error of either is fatal for the run (ErrIO).
type Recorder interface {
	Append(e Event) error
	Sync() error
}

// ErrIO marks an error of the harness's own storage: state that cannot be written. It ends a run with IO_ERROR.
var ErrIO = errors.New("state cannot be written")

// Chained is an optional power of a Recorder: a hash over everything that was appended so far.
type Chained interface {
	Chain() string
}

// Folders is an optional power of a Recorder: a place for what an iteration leaves behind. Iteration 0 is the baseline.
type Folders interface {
	Folder(iteration int) (string, error)
}

// ResultKeeper is an optional power of a Recorder: to keep the result of the run beside its events.
type ResultKeeper interface {
	WriteResult(r Result) error
}

// ProgressFile is the view that is kept of a run in its workspace.
const ProgressFile = ".ralph/progress.md"

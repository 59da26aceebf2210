package ralph

import "errors"

// Recorder keeps the events of a run.
//
// Append must keep the order. Sync returns when everything appended is on stable storage. An error
// from either ends the run (ErrIO).
type Recorder interface {
	Append(e Event) error
	Sync() error
}

// ErrIO marks an error of the harness's own storage. It ends a run with IO_ERROR.
var ErrIO = errors.New("state cannot be written")

// Chained is an optional interface of a Recorder. Chain returns a hash over everything appended so far.
type Chained interface {
	Chain() string
}

// Folders is an optional interface of a Recorder. Folder returns the folder for the files of an
// iteration. Iteration 0 is the baseline.
type Folders interface {
	Folder(iteration int) (string, error)
}

// ResultKeeper is an optional interface of a Recorder that stores the run's result beside its events.
type ResultKeeper interface {
	WriteResult(r Result) error
}

// ProgressFile is the progress report that a run keeps in its workspace.
const ProgressFile = ".ralph/progress.md"

// GoalFile has the whole goal of a run, if it is too long for a prompt.
const GoalFile = ".ralph/goal.md"

// GoalMark is the last line of a GoalFile that a run wrote. Lines have the same numbers as in the goal.
const GoalMark = "<!-- Written by Ralph: the whole goal of the current run. Changes are undone. -->\n"

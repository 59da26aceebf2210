package inside

import "time"

// GuardName is argv[0] of this program while it guards a tree. It leaves out this program's name, so
// that a user or agent that kills every process with that name does not kill the guards as well.
const GuardName = "guard of a process tree"

// GuardShortName is the name of a guard in lists of processes.
const GuardShortName = "guard"

const (
	// KillLimit is how long to wait for processes that a SIGKILL does not end.
	KillLimit = 10 * time.Second
	// NamesKept is how many names of survivors are reported.
	NamesKept = 8
)

// What the harness asks of a guard, one byte each. Everything else, including the end of the pipe,
// means Kill.
const (
	Terminate = 'T' // send the program a SIGTERM
	Kill      = 'K' // kill the tree
)

// Charge is the program that a guard starts and watches.
type Charge struct {
	Program string
	Argv    []string
	Dir     string
	// Trace is the entry of the environment by which processes of the tree are found that are not below
	// the guard, because others started them on behalf of the tree.
	Trace string
	// Enclosed means that Program is this program again, which creates an enclosure. Its own orders
	// and report are the descriptors after those of the guard.
	Enclosed bool
	Namespaces
	// Filtered means that the guard makes the connections of the tree, and refuses those to metadata
	// servers of clouds.
	Filtered bool
	Groups   string // folders of control groups that limit the tree, one a line
	FileSize int64  // bytes that a file may get; 0 means no limit
}

// Namespaces are those of an enclosure. It always has one for mounts.
type Namespaces struct {
	NoNetwork bool // one for the network
	OwnUsers  bool // one for users
}

// End is how a guarded tree ended.
type End struct {
	Status     uint32 // of the program, as wait reports it
	CPU        time.Duration
	Survivors  int // processes that outlived the program
	Unkillable int
	Names      []string // of the first survivors
}

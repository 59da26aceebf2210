package ralph

import "context"

// Tree hashes the workspace's files. With an error comes a state that is not Known, which may name a snapshot all the same.
type Tree interface {
	Fingerprint(ctx context.Context, in TreeInput) (TreeState, error)
}

// TreeInput asks for a fingerprint.
type TreeInput struct {
	BaseHead  string // the commit that the run began at, "" at the base itself
	Claimed   bool   // a claim will be judged: look for unfinished lines too
	Run       string // whose tree it is, for one that keeps copies
	Iteration int
}

// TreeState is the fingerprint of the workspace at one moment.
type TreeState struct {
	Known bool   `json:"known"`
	Head  string `json:"head,omitempty"` // commit, where there is git
	Hash  string `json:"hash,omitempty"` // of everything that differs from Head
	Dirty int    `json:"dirty"`          // files that differ from Head

	// Snapshot names the kept copy of this tree, "" where none was kept; Left says in a sentence each what it does not hold.
	Snapshot string   `json:"snapshot,omitempty"`
	Omitted  []string `json:"left,omitempty"`

	// Base names the copy of the base from now on, after the user changed something while no agent was at work, and Settled that of the tree in which
	// a task was last proven, with the same in it.
	Base           string `json:"base,omitempty"`
	LastProvenTree string `json:"settled,omitempty"`
	// AfterChecks says that this is the tree after the checks of the iteration ran.
	AfterChecks bool `json:"after,omitempty"`

	// Unfinished lists lines that differ from the run's first commit and look unfinished, as "file: text". It is filled at the base and when a
	// claim is to be judged.
	Unfinished []string `json:"unfinished,omitempty"`
}

// Same reports whether two fingerprints are of the same files on the same commit.
func (t TreeState) Same(u TreeState) bool { return t.Head == u.Head && t.Hash == u.Hash }

// ID names the tree, "" if it is not known. Equal trees on one commit have equal names.
func (t TreeState) ID() string {
	if !t.Known {
		return ""
	}
	return t.Head + "+" + t.Hash
}

// Changer is an optional power of a Tree: what changed since a commit, in one line.
type Changer interface {
	Changed(ctx context.Context, baseHead string) (string, error)
}

// Snapshots is an optional power of a Tree that keeps copies. Names are of files below the workspace, with slashes; a link is a file.
type Snapshots interface {
	// Changes lists the files that differ between two copies, by name.
	Changes(ctx context.Context, from, to string) ([]FileChange, error)
	// Between says what changed between two copies, in one line.
	Between(ctx context.Context, from, to string) (string, error)
	// Diff gives what changed between two copies as a patch, "" where none can be made. It lists the changed files first and stops at about limit
	// bytes; cut says that it did.
	Diff(ctx context.Context, from, to string, limit int) (patch string, cut bool, err error)
	// Files lists the files of a copy, by name.
	Files(ctx context.Context, id string) ([]string, error)
	// Read gives up to limit bytes of one file of a copy. A link reads as its target. One that is not there is fs.ErrNotExist.
	Read(ctx context.Context, id, name string, limit int) ([]byte, error)
	// Extract writes files of a copy below dir, at their names, programs as programs and links as links. nil are all. Names that the copy does not
	// have are left out.
	Extract(ctx context.Context, id, dir string, names []string) error
	// Join keeps a copy of base with everything that changed between from and to, and names it.
	Join(ctx context.Context, base, from, to string) (string, error)
}

// FileChange is one file that differs between two copies.
type FileChange struct {
	Name string     `json:"name"`
	Kind ChangeKind `json:"kind"`
}

// String is the change as a line for people.
func (c FileChange) String() string { return c.Name + " (" + string(c.Kind) + ")" }

// ChangeKind says how a file differs.
type ChangeKind string

// How a file can differ. One that became a link, or a program, is changed.
const (
	FileAdded   ChangeKind = "added"
	FileChanged ChangeKind = "changed"
	FileDeleted ChangeKind = "deleted"
)

// Switcher is an optional power of a Tree that keeps copies: to take work out of the workspace, and to bring it back. Names are of files below the
// workspace, with slashes.
type Switcher interface {
	// Switch makes the workspace, which is what the copy From is, what the copy To is. It touches the files that differ between the two, and of them
	// none that git ignores. If a file is neither as in From nor as in To, somebody has changed it: then nothing is touched, and Others names it.
	// A switch that was cut is finished by the same one again.
	Switch(ctx context.Context, in SwitchInput) (Switched, error)
	// Merge keeps a copy of Ours with everything that became of Base on the way to Theirs, and names it. If both sides changed the same, there is none,
	// and conflicts names the files.
	Merge(ctx context.Context, in MergeInput) (id string, conflicts []string, err error)
}

// SwitchInput names the copies of a switch.
type SwitchInput struct {
	From, To string
	Own      func(name string) bool // the harness's files, which stay as they are
}

// Switched is what became of a switch.
type Switched struct {
	Others   []string // somebody's, for which nothing was touched
	Begun    bool     // with Others: an earlier switch that was cut has touched something
	Snapshot string   // of the workspace, as far as the switch made it what it is; "" with Others or an error
	Stayed   []string // files that could not be written, for what is in their place
}

// MergeInput names the copies of a merge.
type MergeInput struct {
	Base, Ours, Theirs string
	Own                func(name string) bool // the harness's files, which are as in Ours
}

// Committer commits the whole tree, untracked files included. A commit that a hook, a signature or a time-out prevents is a value; an error
// means that the harness is in trouble.
type Committer interface {
	Commit(ctx context.Context, message string) (CommitResult, error)
}

// CommitResult is what became of a commit.
type CommitResult struct {
	Commit  string `json:"commit,omitempty"` // its id; "" when there was nothing to commit, or it failed
	Subject string `json:"subject,omitempty"`
	Failed  bool   `json:"failed,omitempty"`
	Changed bool   `json:"changed,omitempty"` // a hook changed files, so that they are not those that were checked
	Output  string `json:"output,omitempty"`  // of git and its hooks, when it failed
}

// CommitFacts is what a commit message can tell.
type CommitFacts struct {
	Run       string
	Iteration int
	Goal      string
	Task      string   // the one that was worked on
	Title     string   // of it
	Done      []string // tasks that this commit proves
	Complete  bool     // the run is complete with it
	Checks    []CheckResult
}

// CommitCheck is what a commit that fails is called among the checks.
const CommitCheck = "git commit"

// Worktrees makes worktrees of a repository; see package gitrepo. Add gives the worktree and what sees its files; Open does so for one that was made
// before. Remove refuses to remove work that is not merged.
type Worktrees interface {
	Add(ctx context.Context, branch string) (Worktree, Tree, error)
	Open(ctx context.Context, w Worktree) (Tree, error)
	Remove(ctx context.Context, w Worktree) error
}

// Worktree is where a run works when it does not work in place.
type Worktree struct {
	Path   string `json:"path"`
	Branch string `json:"branch"`
	Base   string `json:"base"` // the commit that it began at
}

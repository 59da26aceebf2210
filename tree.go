package ralph

import (
	"context"
	"time"
)

// Tree fingerprints the workspace's files. The state that comes with an error is not Known, but it may
// name a snapshot.
type Tree interface {
	Fingerprint(ctx context.Context, in TreeInput) (TreeState, error)
}

// TreeInput asks for a fingerprint.
type TreeInput struct {
	BaseHead  string // the commit at which the run began; "" at the base itself
	Claimed   bool   // a claim will be judged, so look for unfinished lines too
	Run       string // the run that the tree belongs to, for a Tree that keeps snapshots
	Iteration int
}

// TreeState is the fingerprint of the workspace at one moment.
type TreeState struct {
	Known bool   `json:"known"`
	Head  string `json:"head,omitempty"` // the commit, if there is git
	Hash  string `json:"hash,omitempty"` // of everything that differs from Head
	Dirty int    `json:"dirty"`          // number of files that differ from Head

	// Snapshot names the snapshot of this tree, "" if there is none. Omitted has a sentence for
	// everything that the snapshot leaves out.
	Snapshot string   `json:"snapshot,omitempty"`
	Omitted  []string `json:"left,omitempty"`

	// Base and LastProvenTree are set after the user changed something while no agent was at work. Base
	// names the new snapshot of the base. LastProvenTree names the new snapshot of the tree in which a
	// task was last proven. Both include the user's changes.
	Base           string `json:"base,omitempty"`
	LastProvenTree string `json:"settled,omitempty"`
	// Origin names the snapshot of the tree before earlier runs that did not complete, with the user's changes.
	Origin string `json:"origin,omitempty"`
	// TestsByUser reports that the user changed or removed tests, so that those of LastProvenTree show its tasks.
	TestsByUser bool `json:"tests_by_user,omitempty"`
	// AfterChecks reports that the tree was fingerprinted after the iteration's checks ran.
	AfterChecks bool `json:"after,omitempty"`
	// Again reports that the tree changed while checks ran, and that they run once more on this one. Before iteration 1,
	// their results are dropped, and the base stays.
	Again bool `json:"again,omitempty"`
	// Touched is when a file that the iteration changed was last changed. It is set if the agent has evidence, which
	// must be newer.
	Touched time.Time `json:"touched,omitzero"`
	// Moved names the first files that changed while checks ran, or since.
	Moved []string `json:"moved,omitempty"`

	// Unfinished lists lines that differ from the run's first commit and look unfinished, as
	// "file: text". It is filled at the base and before a claim is judged.
	Unfinished []string `json:"unfinished,omitempty"`
	// Uncommitted lists the files that differ from Head, as "hash name", if there are at most
	// MaxUncommitted. It is filled at the same times, and leaves out the task list.
	Uncommitted []string `json:"uncommitted,omitempty"`
}

// MaxUncommitted limits TreeState.Uncommitted.
const MaxUncommitted = 200

// Same reports whether two fingerprints are of the same files on the same commit.
func (t TreeState) Same(u TreeState) bool { return t.Head == u.Head && t.Hash == u.Hash }

// ID returns the tree's name, or "" if the tree is not known. Equal trees on one commit have equal names.
func (t TreeState) ID() string {
	if !t.Known {
		return ""
	}
	return t.Head + "+" + t.Hash
}

// Stamper is an optional interface of a Tree. Stamp looks at the times at which the system says that files and folders
// of the tree changed, which no program can set back, so it notices changes that were undone. It passes names relative
// to the workspace to leaveOut; a folder's name ends in a slash, except for the workspace itself, which is ".".
type Stamper interface {
	Stamp(ctx context.Context, leaveOut func(name string) bool) (Stamp, error)
}

// Stamp is the state of the workspace at one moment.
type Stamp struct {
	ID   string    // another one after every change, also if it was undone
	Last string    // what changed last
	At   time.Time // when it did
}

// Changer is an optional interface of a Tree. Changed describes in one line what changed since a commit.
type Changer interface {
	Changed(ctx context.Context, baseHead string) (string, error)
}

// Snapshots is an optional interface of a Tree that keeps snapshots. File names are slash-separated
// paths relative to the workspace. A symbolic link counts as a file.
type Snapshots interface {
	// Changes lists the files that differ between two snapshots, by name.
	Changes(ctx context.Context, from, to string) ([]FileChange, error)
	// Between describes in one line what changed between two snapshots.
	Between(ctx context.Context, from, to string) (string, error)
	// Diff returns the changes between two snapshots as a patch, or "" if it cannot make one. The patch
	// lists the changed files first and stops at about limit bytes; cut reports that it did.
	Diff(ctx context.Context, from, to string, limit int) (patch string, cut bool, err error)
	// Files lists the files of a snapshot, by name.
	Files(ctx context.Context, id string) ([]string, error)
	// Read returns up to limit bytes of one file of a snapshot. For a link it returns the target. For a
	// file that does not exist the error is fs.ErrNotExist.
	Read(ctx context.Context, id, name string, limit int) ([]byte, error)
	// Extract writes files of a snapshot below dir, under their names. It keeps executable bits and
	// links. With nil names it writes all files. It skips names that the snapshot does not have.
	Extract(ctx context.Context, id, dir string, names []string) error
	// Join makes a snapshot of base plus everything that changed between from and to. It returns the
	// snapshot's name.
	Join(ctx context.Context, base, from, to string) (string, error)
	// WithFiles makes a snapshot of id, with these files as they are in another snapshot: changed, added or
	// missing. It returns the snapshot's name.
	WithFiles(ctx context.Context, id, from string, names []string) (string, error)
}

// IgnoredKeeper is an optional interface of Snapshots. IgnoredFiles lists files that the newest snapshot has
// although a commit would not have them: git ignores them, but checks may depend on them.
type IgnoredKeeper interface {
	IgnoredFiles() []string
}

// CommitKeeper is an optional interface of Snapshots. Uncommitted describes changes that a commit of the workspace
// would not have as they are there: git skips or converts the file, or it belongs to another repository.
type CommitKeeper interface {
	Uncommitted(ctx context.Context, changes []FileChange) ([]string, error)
	// Unreachable lists files of the workspace with objects of git's that are new and that no commit or branch leads to.
	Unreachable(ctx context.Context) ([]string, error)
}

// CommitTaker is an optional interface of Snapshots. AsCommitted makes a snapshot of id in which the files that differ
// from a commit are as in that commit. It returns the snapshot's name.
type CommitTaker interface {
	AsCommitted(ctx context.Context, id, commit string) (string, error)
}

// FileChange is one file that differs between two snapshots.
type FileChange struct {
	Name string     `json:"name"`
	Kind ChangeKind `json:"kind"`
}

// String formats the change for people.
func (c FileChange) String() string { return c.Name + " (" + string(c.Kind) + ")" }

// ChangeKind is how a file differs.
type ChangeKind string

// The kinds of changes. A file that became a link or executable counts as changed.
const (
	FileAdded   ChangeKind = "added"
	FileChanged ChangeKind = "changed"
	FileDeleted ChangeKind = "deleted"
)

// FileLinked means that a file got another name by a hard link, through which it can be written unseen.
const FileLinked ChangeKind = "has another hard link"

// Switcher is an optional interface of a Tree that keeps snapshots. It removes work from the workspace
// and restores it. File names are slash-separated paths relative to the workspace.
type Switcher interface {
	// Switch changes the workspace from snapshot From to snapshot To. It touches only files that differ
	// between the two and that git does not ignore. If a file matches neither From nor To, another
	// process or a person has changed it. Then Switch touches nothing, and Others names the file. To
	// finish a switch that was cut, repeat it.
	Switch(ctx context.Context, in SwitchInput) (Switched, error)
	// Merge makes a snapshot of Ours plus everything that changed from Base to Theirs, and returns its
	// name. If both sides changed the same part, there is no snapshot, and conflicts names the files.
	Merge(ctx context.Context, in MergeInput) (id string, conflicts []string, err error)
}

// SwitchInput names the snapshots of a switch.
type SwitchInput struct {
	From, To string
	Own      func(name string) bool // reports the harness's files, which Switch leaves alone
}

// Switched is the result of a switch.
type Switched struct {
	Others   []string // files that others changed, so that the switch touched nothing
	Begun    bool     // with Others: an earlier switch was cut after it had changed files
	Snapshot string   // of the workspace as the switch left it; "" with Others or an error
	Stayed   []string // files that could not be written because something else is in their place
}

// MergeInput names the snapshots of a merge.
type MergeInput struct {
	Base, Ours, Theirs string
	Own                func(name string) bool // reports the harness's files, which are taken from Ours
}

// Committer commits the whole tree, including untracked files. A commit that fails because of a hook,
// a signature or a timeout is a value. An error means that the harness itself failed.
type Committer interface {
	Commit(ctx context.Context, message string) (CommitResult, error)
}

// CommitResult is the result of a commit.
type CommitResult struct {
	Commit  string `json:"commit,omitempty"` // its ID; "" if it failed or there was nothing to commit
	Subject string `json:"subject,omitempty"`
	Failed  bool   `json:"failed,omitempty"`
	Changed bool   `json:"changed,omitempty"` // a hook changed files after they were checked
	Output  string `json:"output,omitempty"`  // of git and its hooks, if the commit failed
}

// CommitFacts is what a commit message can mention.
type CommitFacts struct {
	Run       string
	Iteration int
	Goal      string
	Task      string   // the iteration's task
	Title     string   // of the task
	Done      []string // tasks that this commit proves
	Complete  bool     // this commit completes the run
	Checks    []CheckResult
}

// CommitCheck is the name of the failed check that a failed commit is recorded as.
const CommitCheck = "git commit"

// Worktrees makes worktrees of a repository; see package gitrepo. Add makes a worktree and returns it
// with its Tree. Open returns the Tree of an existing one. Remove refuses to remove unmerged work.
type Worktrees interface {
	Add(ctx context.Context, branch string) (Worktree, Tree, error)
	Open(ctx context.Context, w Worktree) (Tree, error)
	Remove(ctx context.Context, w Worktree) error
}

// Worktree is the git worktree of a run that does not work in place.
type Worktree struct {
	Path   string `json:"path"`
	Branch string `json:"branch"`
	Base   string `json:"base"` // the commit at which it began
}

package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/manifest"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
	"github.com/ralphloop/ralph/internal/text"
)

// Keeper saves a snapshot of a workspace whenever it has changed. It implements [ralph.Tree],
// [ralph.Snapshots] and the other interfaces that the loop needs of a tree. Several goroutines may
// use it, but only one Keeper may use a workspace: its creator must hold the workspace's lock.
type Keeper struct {
	*Store
	repo *gitrepo.Repo

	mu     sync.Mutex
	begun  bool
	whole  bool            // a snapshot of this process has looked at the whole working tree
	last   header          // the last snapshot in the folder, by any process
	seen   seenTree        // the last tree seen by this process
	forced map[string]bool // files known to be tracked though ignored
	index  scan.Stamp      // the user's index when forced was last updated
	before runnable        // what git could run when this process started
	*commits
	recordOf *repository       // what was last recorded about the repository
	recordID string            // and where
	named    map[string]string // refs of snapshots that this process set or read
	linkedAt string            // hash of the refs whose objects are all linked
	unlinked error             // why linking failed for linkedAt
	always   always
	distrust distrust
	hasher   manifest.Hasher
	unpacked int // snapshots since objects were last packed
}

var (
	_ ralph.Tree        = (*Keeper)(nil)
	_ ralph.Changer     = (*Keeper)(nil)
	_ ralph.CommitTaker = (*Keeper)(nil)
	_ ralph.CloneTaker  = (*Keeper)(nil)
)

// seenTree is a tree that already has a snapshot.
type seenTree struct {
	run          string // it may keep other ignored files than the one before
	head, hash   string
	always       string // hash of the files that hash does not include
	gitStamp     string // git's index and configuration
	blind        bool   // git does not look at some files of the index
	verifiedHash string // the hash that Fingerprint returns
	shot         taken
}

// New returns a Keeper that stores its snapshots in gitDir, which it creates if needed. gitDir must
// be outside the workspace.
func New(ctx context.Context, r *gitrepo.Repo, gitDir string) (*Keeper, error) {
	gitDir, err := scan.Outside(r.Dir, gitDir, "keep snapshots")
	if err != nil {
		return nil, err
	}
	store := &Store{dir: gitDir, git: r.Git}
	store.git.Timeout = cmp.Or(r.Git.Timeout, snapshotTimeout)
	if store.home, err = homeOf(ctx, r); err != nil {
		return nil, fmt.Errorf("keep snapshots: %w", err)
	}
	store.git.Watched = []string{store.home.Common, store.home.GitDir}
	if err := store.begin(r.Git); err != nil {
		return nil, err
	}
	k := &Keeper{repo: r, Store: store}
	head, _ := r.Ask(ctx, "rev-parse", "--verify", "--quiet", "HEAD") // there may be no commit yet
	k.before = k.runnable()
	k.commits = &commits{keeper: k, head: strings.TrimSpace(head), same: map[variants]bool{}}
	return k, nil
}

// Reopen opens the snapshots of a workspace to restore them. Unlike New it needs no repository: New
// has recorded what must be known about it.
func Reopen(g git.Program, gitDir string) (*Keeper, error) {
	gitDir, err := filepath.Abs(gitDir)
	if err != nil {
		return nil, fmt.Errorf("open snapshots: %w", err)
	}
	snaps, err := Open(g, gitDir)
	if err != nil {
		return nil, err
	}
	h := snaps.home
	repo := &gitrepo.Repo{
		Dir:    h.workspace(),
		Top:    h.Top,
		Git:    snaps.git,
		GitDir: h.GitDir,
		Prefix: h.Prefix,
		Format: h.Format,
	}
	repo.Git.Timeout = g.Timeout
	k := &Keeper{repo: repo, Store: snaps}
	k.commits = &commits{keeper: k}
	return k, nil
}

// homeOf returns what must be known about a repository in case it disappears.
func homeOf(ctx context.Context, r *gitrepo.Repo) (home, error) {
	h := home{Top: r.Top, Prefix: r.Prefix, GitDir: r.GitDir, Common: r.CommonDir(), Format: r.Format}
	if info, err := os.Lstat(filepath.Join(r.Top, ".git")); err == nil && info.Mode().IsRegular() {
		text, _ := scan.ReadSmall(filepath.Join(r.Top, ".git"))
		h.DotGit = string(text)
	}
	out, err := r.Ask(ctx, "config", "-z", "--type=path", "--get", "core.excludesFile")
	if git.ExitCode(err) == 1 {
		h.Excludes = usualExcludes(r.Git.Env)
		return h, nil
	}
	h.Excludes = strings.TrimSuffix(out, "\x00")
	return h, err
}

// usualExcludes returns git's default excludes file.
func usualExcludes(env []string) string {
	var usual, configured string
	for _, entry := range env {
		name, folder, _ := strings.Cut(entry, "=")
		switch {
		case folder == "":
		case name == "XDG_CONFIG_HOME":
			configured = filepath.Join(folder, "git", "ignore")
		case name == "HOME":
			usual = filepath.Join(folder, ".config", "git", "ignore")
		}
	}
	return cmp.Or(configured, usual)
}

// Stamp is that of the repository.
func (k *Keeper) Stamp(ctx context.Context, leaveOut func(name string) bool) (ralph.Stamp, error) {
	if k.home.NoGit {
		return folder{k}.stamp(ctx, leaveOut)
	}
	return k.repo.Stamp(ctx, leaveOut)
}

// Fingerprint is that of the Repo, with the name of a snapshot of the same tree. It takes a
// snapshot if the tree, a file of [Keeper.Always], a ref or git's index changed since the last
// call. If that fails, Omitted says why. When a claim is judged, it compares the files regardless
// of what git says. If they differ from files for which git reported the same state before, the
// hash is not git's. If an agent removed or broke the repository, the tree is identified by its
// snapshot alone.
func (k *Keeper) Fingerprint(ctx context.Context, in ralph.TreeInput) (ralph.TreeState, error) {
	if k.home.NoGit {
		k.mu.Lock()
		defer k.mu.Unlock()
		return folder{k}.fingerprint(ctx, in)
	}
	state, seen, err := k.repo.FingerprintAndSeen(ctx, in)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.seen = seenTree{}
		shot, failed := k.take(ctx, occasion{run: in.Run, iteration: in.Iteration})
		if failed != nil {
			return state, err
		}
		left := append(
			[]string{
				"the repository can no longer be read, so the tree is identified by its snapshot alone: " +
					scan.Shorten(err.Error()),
			},
			shot.left...)
		return ralph.TreeState{Known: true, Hash: "copy " + shot.tree, Snapshot: shot.id, Omitted: left}, nil
	}
	k.always.find(k.repo, seen.Ignored)
	now := seenTree{
		run: in.Run, head: state.Head, hash: state.Hash, always: k.always.sum(k.repo.Top), gitStamp: k.gitStamp(),
	}
	fullScan := k.distrust.fullScan(in)
	if fullScan || !k.holds(ctx, now) {
		k.seen = seenTree{}
		shot, err := k.take(ctx, occasion{run: in.Run, iteration: in.Iteration, fullScan: fullScan})
		if err != nil {
			state.Omitted = []string{"no snapshot was kept: " + scan.Shorten(err.Error())}
			return state, nil
		}
		now.shot, now.verifiedHash, now.blind = shot, k.verifiedHash(ctx, state, shot), k.isBlind(ctx)
		k.seen = now
	}
	state.Hash = k.seen.verifiedHash
	state.Snapshot, state.Omitted = k.seen.shot.id, k.seen.shot.left
	if state.Head != "" && (in.Claimed || in.BaseHead == "") {
		k.addUncommitted(ctx, &state, k.seen.shot.tree)
	}
	return state, nil
}

// holds reports whether the last snapshot matches this tree and the current refs.
func (k *Keeper) holds(ctx context.Context, at seenTree) bool {
	if k.seen.shot.id == "" || k.seen.blind || k.seen.run != at.run || k.seen.head != at.head || k.seen.hash != at.hash ||
		k.seen.always != at.always || k.seen.gitStamp != at.gitStamp {
		return false
	}
	now, err := k.look(ctx)
	return err == nil && now.sum() == k.linkedAt
}

// Changed calls the method of the Repo.
func (k *Keeper) Changed(ctx context.Context, baseHead string) (string, error) {
	if k.home.NoGit {
		return "", errNoRepository
	}
	return k.repo.Changed(ctx, baseHead)
}

// occasion says what a snapshot is taken for.
type occasion struct {
	run       string
	iteration int
	also      []string // files to include although they are ignored
	fullScan  bool     // do not trust file times
}

// ref returns the ref name of an iteration's last snapshot. Earlier ones are its parents.
func (o occasion) ref() string { return fmt.Sprintf("%s%d", runRefs(o.run), o.iteration) }

var noRefName = text.LazyRegexp(`[^a-zA-Z0-9_-]`)

// runRefs returns the prefix of a run's refs.
func runRefs(run string) string {
	return "refs/ralph/" + cmp.Or(noRefName().ReplaceAllString(run, "_"), "_") + "/"
}

// taken is a snapshot that was just taken.
type taken struct {
	id   string
	tree string
	left []string
	out  map[string]bool // the files that left describes
	hash manifest.Hashes // their digests
}

// take saves a snapshot of the current workspace.
func (k *Keeper) take(ctx context.Context, o occasion) (taken, error) {
	if err := k.begin(ctx); err != nil {
		return taken{}, fmt.Errorf("prepare snapshot: %w", err)
	}
	repository, left := k.record(ctx)
	if k.before.hooks != nil { // not for a restore
		left = append(left, k.runnable().planted(k.before)...)
	}
	files, err := k.copyFiles(ctx, o)
	if err != nil {
		return taken{}, fmt.Errorf("take snapshot: %w", err)
	}
	files.left = append(left, files.left...)
	if err := k.keep(ctx, o, &files, repository); err != nil {
		return taken{}, fmt.Errorf("take snapshot: %w", err)
	}
	k.packIfDue(ctx)
	return files, nil
}

// keep creates the snapshot of a tree, unless the last one is the same. Its parents keep other commits
// alive: the record of the repository, the run's previous snapshot, and the one whose ref it takes over.
func (k *Keeper) keep(ctx context.Context, o occasion, files *taken, repository string) error {
	named := k.named[o.ref()]
	// Each run has snapshots of its own, which can be removed without those of another one.
	if k.last.id != "" && k.last.run == o.run && k.last.tree == files.tree && k.last.repository == repository &&
		maps.Equal(k.last.left, files.hash) && (named == "" || named == k.last.id) {
		files.id = k.last.id
		if named == files.id {
			return nil
		}
		return k.point(ctx, ref{name: o.ref(), id: files.id})
	}
	var parents []string
	for _, id := range []string{repository, k.last.id, named} {
		if id != "" && !slices.Contains(parents, id) && (id != k.last.id || k.last.run == o.run) {
			parents = append(parents, id)
		}
	}
	c, err := k.putSnapshot(ctx, header{
		tree: files.tree, run: o.run, iteration: o.iteration, prefix: k.repo.Prefix, repository: repository, left: files.hash,
	}, parents, time.Now())
	if err != nil {
		return err
	}
	// With it as HEAD, git reports only what is new.
	if err := k.point(ctx, ref{name: "HEAD", id: c.id}, ref{name: o.ref(), id: c.id}); err != nil {
		return err
	}
	k.last, files.id = c, c.id
	return nil
}

// point sets refs and remembers them.
func (k *Keeper) point(ctx context.Context, refs ...ref) error {
	err := k.setRefs(ctx, refs...)
	for _, one := range refs {
		if err == nil {
			k.named[one.name] = one.id
		}
	}
	return err
}

// begin reads the state of the last harness and cleans up after it if it was killed.
func (k *Keeper) begin(ctx context.Context) error {
	if k.begun {
		return nil
	}
	for _, name := range []string{"index.lock", "packed-refs.lock"} {
		os.Remove(k.path(name)) // we hold the workspace's lock
	}
	head, err := lastTaken(ctx, k.Store)
	if err != nil {
		return err
	}
	if head != "" {
		if k.last, err = k.read(ctx, head); errors.Is(err, manifest.ErrNoSnapshot) {
			err = noHead(ctx, k.Store)
		}
	}
	refs, listed := k.refs(ctx)
	k.named = map[string]string{}
	for _, one := range refs {
		k.named[one.name] = one.id
	}
	err = cmp.Or(err, listed)
	k.begun = err == nil
	return err
}

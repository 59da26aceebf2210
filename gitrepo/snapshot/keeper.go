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
	"strconv"
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
	last   header          // the last snapshot in the folder, by any process
	seen   seenTree        // the last tree seen by this process
	forced map[string]bool // files known to be tracked though ignored
	index  scan.Stamp      // the user's index when forced was last updated
	before runnable        // what git could run when this process started
	*commits
	refs     refReader
	linkedAt string // hash of the refs whose objects are all linked
	unlinked error  // why linking failed for linkedAt
	always   always
	distrust distrust
	hasher   manifest.Hasher
	packAt   [2]int // how many loose objects of snapshots, and of the repository, are packed next; 0: not known yet
}

var (
	_ ralph.Tree    = (*Keeper)(nil)
	_ ralph.Changer = (*Keeper)(nil)
)

// seenTree is a tree that already has a snapshot.
type seenTree struct {
	run          string // it may keep other ignored files than the one before
	head, hash   string
	always       string // hash of the files that hash does not include
	gitStamp     string // git's index and configuration
	blind        bool   // git does not look at some files
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
	before, err := Open(r.Git, gitDir)
	if err == nil && before.home.Format != store.home.Format {
		return nil, fmt.Errorf(
			"keep snapshots in %s: it has snapshots of a %s repository, but this is a %s repository; move the folder away",
			gitDir,
			before.home.Format,
			store.home.Format,
		)
	}
	if err == nil && before.home.Prefix != store.home.Prefix {
		// The files had other names: old snapshots stay, but there is none to continue from.
		if err := errors.Join(os.RemoveAll(store.path("index")), os.RemoveAll(store.path("HEAD"))); err != nil {
			return nil, fmt.Errorf("keep snapshots: %w", err)
		}
	}
	if err := store.make(); err != nil {
		return nil, fmt.Errorf("keep snapshots: %w", err)
	}
	scan.Empty(store.path("tmp")) // a killed harness may have left files there
	k := &Keeper{repo: r, Store: store}
	k.before, k.commits = k.runnable(), &commits{keeper: k, same: map[variants]bool{}}
	k.commits.begin(ctx)
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
	return k.repo.Stamp(ctx, leaveOut)
}

// Fingerprint is that of the Repo, with the name of a snapshot of the same tree. It takes a
// snapshot if the tree, a file of [Keeper.Always], a ref or git's index changed since the last
// call. If that fails, Omitted says why. When a claim is judged, it compares the files regardless
// of what git says. If they differ from files for which git reported the same state before, the
// hash is not git's. If an agent removed or broke the repository, the tree is identified by its
// snapshot alone.
func (k *Keeper) Fingerprint(ctx context.Context, in ralph.TreeInput) (ralph.TreeState, error) {
	index := scan.StampAt(filepath.Join(k.home.GitDir, "index"))
	state, seen, err := k.repo.FingerprintAndSeen(ctx, in)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.changed, k.changedAt = seen.Changed, index
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
		now.shot, now.verifiedHash, now.blind = shot, k.verifiedHash(ctx, state, shot), k.isBlind()
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
	files.id, files.left = k.last.id, append(left, files.left...)
	named := k.ref(o.ref())
	// Each run has snapshots of its own, which can be removed without those of another one.
	if k.last.id == "" || k.last.run != o.run || k.last.tree != files.tree || k.last.repository != repository ||
		!maps.Equal(k.last.left, files.hash) ||
		named != "" && named != k.last.id {
		if files.id, err = k.commit(o, files, repository); err != nil {
			return taken{}, fmt.Errorf("take snapshot: %w", err)
		}
	}
	if err := k.setRef(o.ref(), files.id); err != nil {
		return files, err
	}
	k.packIfDue(ctx)
	return files, nil
}

// commit creates the snapshot of a tree. Its parents keep other commits alive: the record of the
// repository, the run's previous snapshot, and the one whose ref it takes over.
func (k *Keeper) commit(o occasion, files taken, repository string) (string, error) {
	message := fmt.Sprintf("%s\n\nrun %s\niteration %d", snapshotTitle, strings.Map(noControl, o.run), o.iteration)
	message += belowLine(k.repo.Prefix) + files.hash.String()
	var parents []string
	if repository != "" {
		parents = append(parents, repository)
		message += "\nrepository " + repository
	}
	if k.last.id != "" && k.last.run == o.run {
		parents = append(parents, k.last.id)
	}
	if named := k.ref(o.ref()); named != "" && !slices.Contains(parents, named) {
		parents = append(parents, named)
	}
	id, err := k.putCommit(files.tree, parents, time.Now(), message)
	if err != nil {
		return "", err
	}
	k.last = header{id: id, tree: files.tree, run: o.run, repository: repository, left: files.hash}
	// With it as HEAD, git reports only what is new.
	return id, k.write("HEAD", []byte(id+"\n"))
}

// belowLine records in a snapshot where in the working tree the workspace is.
func belowLine(prefix string) string {
	if prefix == "" {
		return ""
	}
	return "\nbelow " + strconv.Quote(prefix)
}

func noControl(c rune) rune {
	if c < ' ' || c == 0x7f {
		return '_'
	}
	return c
}

// begin reads the state of the last harness and cleans up after it if it was killed.
func (k *Keeper) begin(ctx context.Context) error {
	if k.begun {
		return nil
	}
	for _, name := range []string{"index.lock", "packed-refs.lock"} {
		os.Remove(k.path(name)) // we hold the workspace's lock
	}
	head, err := os.ReadFile(k.path("HEAD"))
	if err != nil {
		return err
	}
	if id := strings.TrimSpace(string(head)); manifest.ID().MatchString(id) {
		if k.last, err = k.read(ctx, id); errors.Is(err, manifest.ErrNoSnapshot) {
			err = k.write("HEAD", []byte("ref: refs/ralph/none\n"))
		}
	}
	k.begun = err == nil
	return err
}

package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ralphloop/ralph"
)

// Keeper is a workspace of which a copy is kept whenever it has changed. It implements
// [ralph.Tree], [ralph.Copies] and what else the loop asks of a tree, and may be used by several goroutines,
// but only one Keeper may be at work on a workspace: whoever makes it holds the
// workspace's lock.
type Keeper struct {
	repo  *Repo
	snaps *Snapshots

	mu       sync.Mutex
	begun    bool
	last     copied          // in the folder, by whomever
	seen     held            // by this process
	forced   map[string]bool // tracked in spite of being ignored, and known to be
	index    stamp           // the user's index when forced was last asked for
	before   runnable        // what git could run when this process began
	refs     string          // the stamp of the refs when they were last asked for, and those of linkedAt
	linkedAt string          // refs of which every object is linked
	unlinked error           // why that did not work for them
	always   []string        // below the top, and taken although ignored: those that were named, and those that are like it
	named    []string
	like     func(name string) bool
	alwaysIn string // what those looked like when they were taken
	doubts   doubts
}

var (
	_ ralph.Tree     = (*Keeper)(nil)
	_ ralph.Changer  = (*Keeper)(nil)
	_ ralph.Differ   = (*Keeper)(nil)
	_ ralph.Comparer = (*Keeper)(nil)
	_ ralph.Copies   = (*Keeper)(nil)
)

// held is a tree whose copy is there already.
type held struct {
	head, hash string
	always     string // what the files looked like that the hash does not know
	believed   string // what git went by
	honest     string // the hash that is told
	shot       shot
}

// Keep makes a Keeper that has its snapshots in gitDir, which is made if it is not there.
// It must lie outside of the workspace.
func (r *Repo) Keep(ctx context.Context, gitDir string) (*Keeper, error) {
	gitDir, err := filepath.Abs(gitDir)
	if err != nil {
		return nil, fmt.Errorf("keep snapshots: %w", err)
	}
	workspace, err := os.Stat(r.Dir)
	if err != nil {
		return nil, fmt.Errorf("keep snapshots: %w", err)
	}
	if below(workspace, gitDir) {
		return nil, fmt.Errorf("keep snapshots in %s: it lies in the workspace and would hold itself; choose a state folder elsewhere", gitDir)
	}
	snaps := &Snapshots{dir: gitDir, git: r.git}
	if snaps.git.Timeout == 0 {
		snaps.git.Timeout = snapshotTimeout
	}
	if snaps.home, err = r.home(ctx); err != nil {
		return nil, fmt.Errorf("keep snapshots: %w", err)
	}
	before, err := OpenSnapshots(r.git, gitDir)
	if err == nil && before.home.Format != snaps.home.Format {
		return nil, fmt.Errorf("keep snapshots in %s: those in there are of a %s repository, and this is a %s one; move the folder away",
			gitDir, before.home.Format, snaps.home.Format)
	}
	if err == nil && before.home.Prefix != snaps.home.Prefix {
		// Its files had other names: what was kept stays, but there is nothing to go on from.
		err = errors.Join(os.RemoveAll(snaps.path("index")), os.RemoveAll(snaps.path("HEAD")))
		if err != nil {
			return nil, fmt.Errorf("keep snapshots: %w", err)
		}
	}
	if err := snaps.make(); err != nil {
		return nil, fmt.Errorf("keep snapshots: %w", err)
	}
	k := &Keeper{repo: r, snaps: snaps}
	k.before = k.runnable()
	return k, nil
}

// Kept opens the snapshots of a workspace to restore them. Other than Find and Keep it
// needs no repository there: what is known of it was written down by Keep.
func (g Git) Kept(gitDir string) (*Keeper, error) {
	gitDir, err := filepath.Abs(gitDir)
	if err != nil {
		return nil, fmt.Errorf("open snapshots: %w", err)
	}
	snaps, err := OpenSnapshots(g, gitDir)
	if err != nil {
		return nil, err
	}
	h := snaps.home
	repo := &Repo{Dir: h.workspace(), Top: h.Top, git: snaps.git, gitDir: h.GitDir, prefix: h.Prefix, empty: emptyTree[h.Format]}
	repo.git.Timeout = g.Timeout
	return &Keeper{repo: repo, snaps: snaps}, nil
}

// home says what has to be known of a repository that is gone.
func (r *Repo) home(ctx context.Context) (home, error) {
	h := home{Top: r.Top, Prefix: r.prefix, GitDir: r.gitDir, Common: r.commonDir(), Format: "sha1"}
	if r.empty == emptyTree["sha256"] {
		h.Format = "sha256"
	}
	if info, err := os.Lstat(filepath.Join(r.Top, ".git")); err == nil && info.Mode().IsRegular() {
		text, _ := readConfiguration(filepath.Join(r.Top, ".git"))
		h.DotGit = string(text)
	}
	out := limited{limit: 1 << 20}
	err := r.run(ctx, call{args: []string{"config", "-z", "--type=path", "--get", "core.excludesFile"}, out: &out})
	if failed, ok := errors.AsType[*failure](err); ok && failed.code == 1 {
		h.Excludes = r.git.usualExcludes()
		return h, nil
	}
	h.Excludes = strings.TrimSuffix(out.text.String(), "\x00")
	return h, err
}

// usualExcludes is the file that git takes where no other is configured.
func (g Git) usualExcludes() string {
	folders := map[string]string{}
	for _, entry := range g.Env {
		name, value, _ := strings.Cut(entry, "=")
		folders[name] = value
	}
	switch {
	case folders["XDG_CONFIG_HOME"] != "":
		return filepath.Join(folders["XDG_CONFIG_HOME"], "git", "ignore")
	case folders["HOME"] != "":
		return filepath.Join(folders["HOME"], ".config", "git", "ignore")
	}
	return ""
}

// Fingerprint is the Repo's, and the name of a copy of that very tree. The copy is made
// if the tree, a file of [Keeper.Always], a ref, or git's index is not as it was at the last call. If it cannot be made, Left
// says why. When a claim is judged, the files are looked at whatever git says of them, and if
// they are not those that it said the same of before, the hash is not its own. A tree whose repository an agent removed or broke looks like what its copy
// looks like.
func (k *Keeper) Fingerprint(ctx context.Context, in ralph.TreeInput) (ralph.TreeState, error) {
	state, err := k.repo.Fingerprint(ctx, in)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.seen = held{}
		shot, failed := k.take(ctx, occasion{run: in.Run, iteration: in.Iteration})
		if failed != nil {
			return state, err
		}
		left := append([]string{"the repository cannot be read any more, so the tree is known by its copy alone: " + shorten(err.Error())}, shot.left...)
		return ralph.TreeState{Known: true, Hash: "copy " + shot.tree, Snapshot: shot.id, Left: left}, nil
	}
	k.findLike(ctx)
	now := held{head: state.Head, hash: state.Hash, always: k.alwaysSum(), believed: k.believed()}
	closely := k.doubts.closely(in)
	if closely || !k.holds(ctx, now) {
		k.seen = held{}
		shot, err := k.take(ctx, occasion{run: in.Run, iteration: in.Iteration, closely: closely})
		if err != nil {
			state.Left = []string{"no snapshot was kept: " + shorten(err.Error())}
			return state, nil
		}
		now.shot, now.honest = shot, k.honest(ctx, state, shot)
		k.seen = now
	}
	state.Hash = k.seen.honest
	state.Snapshot, state.Left = k.seen.shot.id, k.seen.shot.left
	return state, nil
}

// holds reports whether the last copy is one of this tree, and of branches as they are.
func (k *Keeper) holds(ctx context.Context, at held) bool {
	if k.seen.shot.id == "" || k.seen.head != at.head || k.seen.hash != at.hash || k.seen.always != at.always || k.seen.believed != at.believed {
		return false
	}
	stamp, known := k.refStamp()
	if known && stamp == k.refs {
		return true
	}
	now, err := k.look(ctx)
	if err != nil || now.sum() != k.linkedAt {
		return false
	}
	k.refs = stamp
	return true
}

// Changed is the Repo's.
func (k *Keeper) Changed(ctx context.Context, baseHead string) (string, error) {
	return k.repo.Changed(ctx, baseHead)
}

// Diff is that of the snapshots.
func (k *Keeper) Diff(ctx context.Context, from, to string, limit int) (patch string, cut bool, err error) {
	return k.snaps.Diff(ctx, from, to, limit)
}

// Between is that of the snapshots.
func (k *Keeper) Between(ctx context.Context, from, to string) (string, error) {
	return k.snaps.Between(ctx, from, to)
}

// Snapshots are what is kept.
func (k *Keeper) Snapshots() *Snapshots { return k.snaps }

// occasion is what a snapshot is taken for.
type occasion struct {
	run       string
	iteration int
	also      []string // files to take although they are ignored
	closely   bool     // times that were set back are not believed
}

// ref is the name of the last snapshot of an iteration. Those before it are its parents.
func (o occasion) ref() string { return fmt.Sprintf("%s%d", runRefs(o.run), o.iteration) }

// runRefs is the folder of the names that a run gives.
func runRefs(run string) string {
	run = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			return c
		}
		return '_'
	}, run)
	if run == "" {
		run = "_"
	}
	return "refs/ralph/" + run + "/"
}

// shot is a snapshot that was taken.
type shot struct {
	id   string
	tree string
	left []string
	out  map[string]bool // the files that left speaks of
}

// take makes a snapshot of the workspace as it is now.
func (k *Keeper) take(ctx context.Context, o occasion) (shot, error) {
	if err := k.begin(ctx); err != nil {
		return shot{}, fmt.Errorf("prepare snapshot: %w", err)
	}
	repository, left := k.record(ctx)
	if k.before.hooks != nil { // not for a restore
		left = append(left, k.runnable().planted(k.before)...)
	}
	files, err := k.copyFiles(ctx, o)
	if err != nil {
		return shot{}, fmt.Errorf("take snapshot: %w", err)
	}
	s := shot{id: k.last.id, tree: files.tree, left: append(left, files.left...), out: files.out}
	named := k.snaps.ref(o.ref())
	if k.last.id == "" || k.last.tree != files.tree || k.last.repository != repository || named != "" && named != k.last.id {
		if s.id, err = k.commit(o, files.tree, repository); err != nil {
			return shot{}, fmt.Errorf("take snapshot: %w", err)
		}
	}
	return s, k.snaps.setRef(o.ref(), s.id)
}

// commit makes a snapshot of a tree. Its parents are what else has to stay: the record
// of the repository, the run's snapshot before, and the one whose name it takes.
func (k *Keeper) commit(o occasion, tree, repository string) (string, error) {
	message := fmt.Sprintf("%s\n\nrun %s\niteration %d", snapshotTitle, strings.Map(noControl, o.run), o.iteration)
	message += belowLine(k.repo.prefix)
	var parents []string
	if repository != "" {
		parents = append(parents, repository)
		message += "\nrepository " + repository
	}
	if k.last.id != "" && k.last.run == o.run {
		parents = append(parents, k.last.id)
	}
	if named := k.snaps.ref(o.ref()); named != "" && !slices.Contains(parents, named) {
		parents = append(parents, named)
	}
	id, err := k.snaps.putCommit(tree, parents, time.Now(), message)
	if err != nil {
		return "", err
	}
	k.last = copied{id: id, tree: tree, run: o.run, repository: repository}
	// With it as HEAD, git has only what is new to tell about.
	return id, k.snaps.write("HEAD", []byte(id+"\n"))
}

// belowLine says in a snapshot where in the working tree the workspace is.
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

// begin tidies up after a harness that was killed, and reads where it was.
func (k *Keeper) begin(ctx context.Context) error {
	if k.begun {
		return nil
	}
	os.Remove(k.snaps.path("index.lock")) // we hold the workspace's lock
	left, _ := filepath.Glob(k.snaps.path("tmp/*"))
	for _, file := range left {
		os.RemoveAll(file)
	}
	head, err := os.ReadFile(k.snaps.path("HEAD"))
	if err != nil {
		return err
	}
	if id := strings.TrimSpace(string(head)); snapshotID().MatchString(id) {
		if k.last, err = k.snaps.read(ctx, id); errors.Is(err, ErrNoSnapshot) {
			err = k.snaps.write("HEAD", []byte("ref: refs/ralph/none\n"))
		}
	}
	k.begun = err == nil
	return err
}

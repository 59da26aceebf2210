package snapshot

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
)

// FolderInput names a folder without git.
type FolderInput struct {
	Git git.Program
	Dir string
	// OwnOutput returns the files that receive what the harness prints. They are no part of the tree.
	OwnOutput func() []fs.FileInfo
}

// NewFolder returns a Keeper for a folder that is in no repository, or in one that cannot be used. Git does everything
// with the folder of the snapshots, gitDir. The tree leaves out what the .gitignore files of the folder say, and
// well-known dependency and cache folders.
func NewFolder(in FolderInput, gitDir string) (*Keeper, error) {
	dir, err := scan.Canonical(in.Dir)
	if err != nil {
		return nil, fmt.Errorf("keep snapshots: %w", err)
	}
	if gitDir, err = scan.Outside(dir, gitDir, "keep snapshots"); err != nil {
		return nil, err
	}
	store := &Store{dir: gitDir, home: home{Top: dir, GitDir: gitDir, Common: gitDir, Format: "sha1", NoGit: true}}
	if store.git, err = in.Git.Locate(dir); err != nil {
		return nil, fmt.Errorf("keep snapshots: %w", err)
	}
	store.git.Timeout = cmp.Or(in.Git.Timeout, snapshotTimeout)
	if err := store.begin(in.Git); err != nil {
		return nil, err
	}
	if err := store.write("info/exclude", []byte(cacheFolders())); err != nil {
		return nil, fmt.Errorf("keep snapshots: %w", err)
	}
	repo := &gitrepo.Repo{
		Dir: dir, Top: dir, GitDir: gitDir, Format: store.home.Format, Git: store.git, OwnOutput: in.OwnOutput,
	}
	k := &Keeper{repo: repo, Store: store}
	k.commits = &commits{keeper: k}
	return k, nil
}

// cacheFolders returns the rules by which git ignores well-known dependency and cache folders.
func cacheFolders() string { return strings.Join(scan.CacheFolders, "/\n") + "/\n" }

// errNoRepository means that there are no commits here.
var errNoRepository = errors.New("the folder is in no repository")

// folder is a workspace without git.
type folder struct{ *Keeper }

// fingerprint identifies a folder without git by its snapshot. There is no commit to differ from, and it cannot
// know which lines are new.
func (k folder) fingerprint(ctx context.Context, in ralph.TreeInput) (ralph.TreeState, error) {
	ignored, err := k.ignored(ctx)
	var shot taken
	if err == nil {
		k.always.find(k.repo, ignored)
		shot, err = k.take(ctx, occasion{run: in.Run, iteration: in.Iteration, fullScan: k.distrust.fullScan(in)})
	}
	if err != nil {
		return ralph.TreeState{}, fmt.Errorf("read workspace: %w", err)
	}
	sum := sha256.Sum256([]byte(shot.tree + shot.hash.String()))
	return ralph.TreeState{
		Known: true, Hash: hex.EncodeToString(sum[:]), Snapshot: shot.id, Omitted: shot.left,
	}, nil
}

// ignored lists what git ignores in a folder without git: files, and folders with a slash at their end.
func (k folder) ignored(ctx context.Context) ([]string, error) {
	out, err := k.inTree(ctx, git.Call{Args: []string{
		"ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory", "--full-name",
	}})
	return git.SplitNames(out), err
}

// stamp implements [ralph.Stamper] for a folder without git.
func (k folder) stamp(ctx context.Context, leaveOut func(name string) bool) (ralph.Stamp, error) {
	ignored, err := k.ignored(ctx)
	if err != nil {
		return ralph.Stamp{}, fmt.Errorf("read workspace: %w", err)
	}
	isIgnored := make(map[string]bool, len(ignored))
	for _, name := range ignored {
		isIgnored[strings.TrimSuffix(name, "/")] = true
	}
	isOwn := k.repo.OwnFiles()
	return scan.StampAll(k.repo.Dir, func(name string) bool {
		below := strings.TrimSuffix(name, "/")
		return path.Base(below) == ".git" || isIgnored[below] || isOwn(below) || leaveOut(name)
	}), nil
}

// ask runs git on the user's repository, or on the snapshots if there is none.
func (k *Keeper) ask(ctx context.Context, args ...string) (string, error) {
	if k.home.NoGit {
		return k.inTree(ctx, git.Call{Args: args})
	}
	return k.repo.Ask(ctx, args...)
}

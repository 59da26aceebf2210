package gitrepo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
)

// CommonDir returns the git folder that all worktrees of the repository share.
func (r *Repo) CommonDir() string {
	common, _ := r.checkout().shared()
	return common
}

// Git is the git program and its settings.
type Git = git.Program

// ErrNoGit means that there is no git program to run; for errors.Is.
var ErrNoGit = git.ErrNoGit

// ErrInside means that snapshots would be kept in the workspace, and so contain themselves.
var ErrInside = scan.ErrInside

// Repo is a workspace inside the working tree of a git repository. It implements
// [ralph.Tree] and may be used by several goroutines.
type Repo struct {
	// Dir is the workspace; only files below it matter.
	Dir string
	// Top is the top of the working tree: Dir itself or a folder above it.
	Top string

	// Prefix is the path of Dir below Top, with a trailing slash; "" if they are the same.
	Prefix string
	// GitDir is the git folder of this working tree.
	GitDir string
	// Format is the name of the repository's hash: sha1 or sha256.
	Format string
	// Git is the program, located by Find.
	Git git.Program
	// OwnOutput returns the files that receive what the harness prints. They are no part of the tree.
	OwnOutput func() []fs.FileInfo

	mu         sync.Mutex
	digests    scan.Digests
	configured configured
}

var _ ralph.Tree = (*Repo)(nil)

// EmptyTree maps a hash format to the ID of the empty tree, which git knows without storing it.
var EmptyTree = map[string]string{
	"sha1":   "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
	"sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}

// Why a folder's repository cannot be used; for errors.Is.
var (
	ErrOwner      = errors.New("the repository belongs to another user")
	ErrNoWorkTree = errors.New("the repository has no working tree here")
)

// Find looks up the repository that the folder belongs to. It returns false, without an error, if
// there is none or if the repository around the folder ignores it. Where the reason is one of them,
// an error wraps ErrNoGit, ErrOwner or ErrNoWorkTree, and says what to do.
func Find(ctx context.Context, g git.Program, dir string) (*Repo, bool, error) {
	g, dir, err := locate(g, dir)
	if err != nil {
		return nil, false, fmt.Errorf("find repository: %w", err)
	}
	out, err := g.Run(ctx, git.Call{Dir: dir, Args: []string{
		"rev-parse", "--is-bare-repository", "--is-inside-work-tree", "--show-object-format", "--absolute-git-dir",
		"--show-toplevel",
	}})
	if failed, ok := errors.AsType[*git.Failure](err); ok {
		return nil, false, explainRefusal(failed, dir, out)
	}
	if err != nil {
		return nil, false, err
	}
	answer := strings.SplitN(strings.TrimSuffix(out, "\n"), "\n", 4)
	if len(answer) != 4 {
		return nil, false, fmt.Errorf("find repository of %s: git answered %q", dir, out)
	}
	repo := &Repo{Dir: dir, Git: g, Format: answer[2]}
	repo.GitDir, repo.Top = splitPaths(answer[3], dir)
	if err := repo.enter(); err != nil {
		return nil, false, err
	}
	if err := repo.configured.refresh(ctx, repo.checkout()); err != nil {
		return nil, false, err
	}
	if ignored, err := repo.ignored(ctx); ignored || err != nil {
		return nil, false, err
	}
	return repo, true, nil
}

// splitPaths splits git's last two lines. If there are more, a path contains a newline: then the
// second path is the one that contains dir.
func splitPaths(lines, dir string) (gitDir, top string) {
	gitDir, top, _ = strings.Cut(lines, "\n")
	for above := dir; strings.Contains(top, "\n"); above = filepath.Dir(above) {
		if before, ok := strings.CutSuffix(lines, "\n"+filepath.ToSlash(above)); ok {
			return before, above
		}
		if above == filepath.Dir(above) {
			break
		}
	}
	return gitDir, filepath.FromSlash(top)
}

// explainRefusal explains why git did not answer. It returns nil if there is no repository.
func explainRefusal(failed *git.Failure, dir, out string) error {
	switch {
	case strings.Contains(failed.Stderr, "not a git repository (or any"):
		return nil
	case strings.Contains(failed.Stderr, "dubious ownership"):
		return fmt.Errorf(
			"use repository of %s: %w; if you trust it: git config --global --add safe.directory %s",
			dir,
			ErrOwner,
			ownedFolder(failed.Stderr, dir),
		)
	case strings.HasPrefix(out, "true\n"):
		return fmt.Errorf("use repository %s: %w: it is bare; clone it and work in the clone", dir, ErrNoWorkTree)
	case strings.HasPrefix(out, "false\nfalse\n"):
		return fmt.Errorf(
			"use repository of %s: %w: this is inside its git folder; work in the folder that holds the files",
			dir,
			ErrNoWorkTree,
		)
	}
	return fmt.Errorf("find repository of %s: %w", dir, failed)
}

// ownedFolder returns the folder that git complains about, which may be above dir.
func ownedFolder(stderr, dir string) string {
	_, after, _ := strings.Cut(stderr, "repository at '")
	if path, _, ok := strings.Cut(after, "'"); ok {
		return path
	}
	return dir
}

func (r *Repo) enter() error {
	relative, err := filepath.Rel(r.Top, r.Dir)
	if err != nil || !filepath.IsLocal(relative) {
		return fmt.Errorf("use repository %s: %w: %s is not below it", r.Top, ErrNoWorkTree, r.Dir)
	}
	if relative != "." {
		r.Prefix = filepath.ToSlash(relative) + "/"
	}
	return nil
}

// Whole returns the same repository with its top as the workspace.
func (r *Repo) Whole() *Repo {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &Repo{
		Dir: r.Top, Top: r.Top, Git: r.Git, GitDir: r.GitDir, Format: r.Format, OwnOutput: r.OwnOutput,
		configured: r.configured.clone(),
	}
}

// clone returns the same workspace with a lock of its own, so that a long operation does not block
// others.
func (r *Repo) clone() *Repo {
	alone := r.Whole()
	alone.Dir, alone.Prefix = r.Dir, r.Prefix
	return alone
}

// Ask runs git in the repository and returns its output.
func (r *Repo) Ask(ctx context.Context, args ...string) (string, error) {
	return r.Call(ctx, git.Call{Args: args})
}

// Call is Ask with all options of a call.
func (r *Repo) Call(ctx context.Context, c git.Call) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.call(ctx, c)
}

// run is Ask for a caller that holds the lock or is the only user.
func (r *Repo) run(ctx context.Context, args ...string) (string, error) {
	return r.call(ctx, git.Call{Args: args})
}

func (r *Repo) call(ctx context.Context, c git.Call) (string, error) {
	at := r.checkout()
	for _, entry := range c.Env {
		if index, ok := strings.CutPrefix(entry, "GIT_INDEX_FILE="); ok {
			at.index = index
		}
	}
	if err := r.configured.refresh(ctx, at); err != nil {
		return "", err
	}
	c.Dir, c.Env = cmp.Or(c.Dir, r.Dir), slices.Concat(r.configured.disableHooks(r.Git.Env), at.location(), c.Env)
	return r.Git.Run(ctx, c)
}

// noHooks is the setting by which a call in the user's name runs no hooks.
const noHooks = "core.hooksPath=" + os.DevNull

// asUser runs git in the user's name, and without programs that the user did not agree to.
func (r *Repo) asUser(ctx context.Context, c git.UserCall) (git.Attempt, error) {
	if err := r.configured.refresh(ctx, r.checkout()); err != nil {
		return git.Attempt{}, err
	}
	disable := r.configured.disable(r.Git.Env)
	if slices.Contains(c.Args, noHooks) {
		disable = r.configured.disableHooks(r.Git.Env)
	}
	c.Env = append(disable, c.Env...)
	return r.Git.AsUser(ctx, c)
}

// lookup is run for commands whose exit code 1 means "not found". An error starts with doing.
func (r *Repo) lookup(ctx context.Context, doing string, args ...string) (string, error) {
	text, err := r.run(ctx, args...)
	if git.ExitCode(err) == 1 {
		return "", nil
	}
	return strings.TrimSpace(text), wrapError(doing, err)
}

// succeeded converts the error of a git command that answers "no" with exit code 1.
func succeeded(doing string, err error) (bool, error) {
	if git.ExitCode(err) == 1 {
		return false, nil
	}
	return err == nil, wrapError(doing, err)
}

func wrapError(doing string, err error) error {
	if err != nil && doing != "" {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return err
}

// ignored reports whether the repository around the workspace ignores it. Then git would never see
// a change in it.
func (r *Repo) ignored(ctx context.Context) (bool, error) {
	if r.Prefix == "" {
		return false, nil
	}
	_, err := r.run(ctx, "check-ignore", "-q", "--", ".")
	return succeeded("", err)
}

// GitDirs returns the folders that hold the repository's own files: the git folder of the working
// tree and, for a linked worktree, the shared one.
func (r *Repo) GitDirs() []string {
	if common := r.CommonDir(); common != r.GitDir {
		return []string{r.GitDir, common}
	}
	return []string{r.GitDir}
}

// Init creates a repository in a folder and commits its files under a neutral name. It is for
// sample projects.
func Init(ctx context.Context, g git.Program, dir, message string) error {
	g, dir, err := locate(g, dir)
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"},
		{"add", "--all"},
		{"-c", "user.name=ralph", "-c", "user.email=ralph@localhost", "-c", "commit.gpgSign=false", "commit", "--quiet",
			"--message", message},
	} {
		if err == nil {
			_, err = g.Run(ctx, git.Call{Dir: dir, Args: args})
		}
	}
	return wrapError("make repository", err)
}

// locate returns the git program and the folder's canonical path, which is how git names it.
func locate(g git.Program, dir string) (git.Program, string, error) {
	dir, err := scan.Canonical(dir)
	if err == nil {
		g, err = g.Locate(dir)
	}
	return g, dir, err
}

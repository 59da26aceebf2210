package gitrepo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
)

// ourBranches is the prefix of the harness's branches.
const ourBranches = "ralph/"

// halfMade is the reason for which git, and Ralph after it, lock a worktree without all of its files.
const halfMade = "initializing"

// checkoutTimeout limits the creation of a worktree, which writes every file.
const checkoutTimeout = 30 * time.Minute

// Worktree is a separate working tree for a run, on a separate branch.
type Worktree struct {
	Path   string // the top folder
	Branch string
	Base   string // the commit that it started at
	Below  string // the workspace's path below Path, with slashes; "" if they are the same
}

// Dir returns the workspace in the worktree.
func (w Worktree) Dir() string { return filepath.Join(w.Path, filepath.FromSlash(w.Below)) }

// Worktrees manages the harness's worktrees and branches of a repository. It is for one goroutine.
type Worktrees struct{ repo *Repo }

// Worktrees returns a value to create, list and remove worktrees of the repository.
func (r *Repo) Worktrees() Worktrees { return Worktrees{r.clone()} }

// WorktreeInput describes the worktree to create.
type WorktreeInput struct {
	Path   string // a missing or empty folder outside the repository
	Branch string // ralph/…
	// Idle reports whether no run uses a folder any more. Add calls it before it removes an earlier
	// worktree of the branch whose work is all merged. Without Idle, no such worktree is removed.
	Idle func(path string) bool
}

// Add creates a branch at the checked-out commit and a worktree for it. It runs no hooks. It
// returns warnings for the user, including those of Ready.
//
// Add refuses if a branch of that name has unmerged work or is checked out; it recreates a merged
// branch. Refusals are of type *Problem. If the worktree cannot be created, nothing of it remains.
func (ws Worktrees) Add(ctx context.Context, in WorktreeInput) (Worktree, []string, error) {
	w, err := ws.validate(ctx, in)
	if err != nil {
		return Worktree{}, nil, err
	}
	if err := ws.removeAbandoned(ctx, w, in.Idle); err != nil {
		return Worktree{}, nil, err
	}
	said, err := ws.newWorktreeWarnings(ctx)
	if err != nil {
		return Worktree{}, nil, err
	}
	again, err := ws.removeEarlier(ctx, w, in.Idle)
	if err != nil {
		return Worktree{}, nil, err
	}
	if again != "" {
		said = append(said, again)
	}
	// -B replaces an existing branch, which is known to be merged.
	if err := ws.checkout(ctx, w, "-B", w.Branch, w.Path, w.Base); err != nil {
		return Worktree{}, nil, fmt.Errorf("make worktree: %w", err)
	}
	created, err := w.ensureWorkspace()
	return w, append(said, created...), err
}

// Reopen ensures that a run's worktree exists, to continue in it. If its folder is gone, Reopen
// recreates it from the branch and returns a warning; uncommitted changes are lost with the folder.
// Only Path and Branch must be set.
func (ws Worktrees) Reopen(ctx context.Context, w Worktree) (Worktree, []string, error) {
	path, err := resolvePath(w.Path)
	if err != nil {
		return w, nil, fmt.Errorf("open worktree: %w", err)
	}
	w.Path, w.Below = path, strings.TrimSuffix(ws.repo.Prefix, "/")
	entries, err := ws.entries(ctx)
	if err != nil {
		return w, nil, err
	}
	if _, err := os.Lstat(w.Path); err == nil {
		said, err := ws.checkFolder(ctx, w, entries)
		return w, said, err
	}
	tip, err := ws.tip(ctx, w.Branch)
	if err != nil {
		return w, nil, err
	}
	if tip == "" {
		return w, nil, &Problem{
			Kind:  ProblemBranchMissing,
			Stops: true,
			Text:  fmt.Sprintf("both the folder %s and the branch %s are gone", w.Path, w.Branch),
			Hint:  "nothing is left to resume: start a new run",
		}
	}
	if err := ws.pruneMissing(ctx, entries,
		func(e worktreeEntry) bool { return e.path == w.Path || e.branch == w.Branch }); err != nil {
		return w, nil, err
	}
	if err := ws.checkout(ctx, w, w.Path, w.Branch); err != nil {
		return w, nil, fmt.Errorf("recreate worktree: %w", err)
	}
	created, err := w.ensureWorkspace()
	return w, append(
		[]string{fmt.Sprintf("the folder %s was missing and was recreated from the branch %s", w.Path, w.Branch)},
		created...), err
}

// checkFolder checks that an existing folder is the expected worktree.
func (ws Worktrees) checkFolder(ctx context.Context, w Worktree, entries []worktreeEntry) ([]string, error) {
	for _, e := range entries {
		if e.path != w.Path || e.main {
			continue
		}
		// An agent may have removed .git, which only points back to the repository. The repair must not
		// name the folder, because git then expects the pointer to exist.
		if _, err := os.Lstat(filepath.Join(w.Path, ".git")); errors.Is(err, fs.ErrNotExist) {
			if _, err := ws.repo.run(ctx, "worktree", "repair"); err != nil {
				return nil, fmt.Errorf("repair worktree: %w", err)
			}
		}
		created, err := w.ensureWorkspace()
		if e.branch != w.Branch {
			created = append(created, fmt.Sprintf("%s is checked out in %s instead of %s", e.checkedOut(), w.Path, w.Branch))
		}
		return created, err
	}
	return nil, &Problem{
		Kind:  ProblemNotOurs,
		Stops: true,
		Text:  fmt.Sprintf("%s exists but is no longer a worktree of %s", w.Path, ws.repo.Top),
		Hint:  fmt.Sprintf("move it away to recreate it from the branch %s", w.Branch),
	}
}

// ensureWorkspace creates the workspace's folder if no file in it is committed.
func (w Worktree) ensureWorkspace() ([]string, error) {
	if _, err := os.Stat(w.Dir()); !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := os.MkdirAll(w.Dir(), 0o755); err != nil {
		return nil, fmt.Errorf("make workspace: %w", err)
	}
	return []string{fmt.Sprintf("nothing in %s is committed, so it is empty in the worktree", w.Below)}, nil
}

// validate checks the input and completes it.
func (ws Worktrees) validate(ctx context.Context, in WorktreeInput) (Worktree, error) {
	w := Worktree{Branch: in.Branch, Below: strings.TrimSuffix(ws.repo.Prefix, "/")}
	if err := firstProblem(ctx, ws.repo, noCommits, operationInProgress); err != nil {
		return w, err
	}
	if err := ws.branchName(ctx, in.Branch); err != nil {
		return w, err
	}
	var err error
	if w.Path, err = ws.checkPath(in.Path); err != nil {
		return w, err
	}
	w.Base, err = ws.repo.headCommit(ctx)
	return w, err
}

func (ws Worktrees) branchName(ctx context.Context, name string) error {
	short, ours := strings.CutPrefix(name, ourBranches)
	out, err := ws.repo.run(ctx, "check-ref-format", "--branch", name)
	bad := git.Failed(err)
	if err != nil && !bad {
		return fmt.Errorf("check branch name: %w", err)
	}
	if bad || !ours || strings.TrimSuffix(out, "\n") != name {
		return &Problem{Kind: ProblemBadBranch, Stops: true, Text: fmt.Sprintf("%q is not a valid branch name", short),
			Hint: "letters, digits, dots, dashes and slashes are fine"}
	}
	other, err := ws.clashingBranch(ctx, name)
	if err == nil && other != "" {
		return &Problem{
			Kind:  ProblemBadBranch,
			Stops: true,
			Text:  fmt.Sprintf("the branch %s exists, so git cannot create a branch named %s", other, name),
			Hint:  fmt.Sprintf("choose another name, or rename it: git branch -m %s some-other-name", other),
		}
	}
	return err
}

// clashingBranch returns a branch whose name is a parent or child path of name. Git cannot store
// both.
func (ws Worktrees) clashingBranch(ctx context.Context, name string) (string, error) {
	for i, c := range name {
		if c != '/' {
			continue
		}
		if above, err := ws.repo.resolve(ctx, "refs/heads/"+name[:i]); above != "" || err != nil {
			return name[:i], err
		}
	}
	out, err := ws.repo.run(ctx, "for-each-ref", "--count=1", "--format=%(refname:lstrip=2)", "refs/heads/"+name+"/")
	return strings.TrimSpace(out), wrapError("look for branches", err)
}

// checkPath returns the path without links, if a worktree can be created there.
func (ws Worktrees) checkPath(path string) (string, error) {
	path, err := resolvePath(path)
	if err != nil {
		return "", fmt.Errorf("place worktree: %w", err)
	}
	for _, folder := range []string{ws.repo.Top, ws.repo.CommonDir()} {
		info, err := os.Stat(folder)
		if err != nil {
			return "", fmt.Errorf("place worktree: %w", err)
		}
		if scan.Below(info, path) {
			return "", &Problem{
				Kind:  ProblemBadPath,
				Stops: true,
				Text:  fmt.Sprintf("the worktree folder %s is inside the repository", path),
				Hint:  "choose a folder outside it",
			}
		}
	}
	return path, nil
}

// resolvePath returns an absolute path without links. The last parts of the path may be missing.
func resolvePath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for above, rest := path, ""; ; above, rest = filepath.Dir(above), filepath.Join(filepath.Base(above), rest) {
		real, err := filepath.EvalSymlinks(above)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) || above == filepath.Dir(above) {
			return "", err
		}
	}
}

// newWorktreeWarnings describes what a new worktree lacks.
func (ws Worktrees) newWorktreeWarnings(ctx context.Context) ([]string, error) {
	var said []string
	for _, look := range []problemFinder{detachedHead, missingFromWorktree, emptySubmodules} {
		p, err := look(ctx, ws.repo)
		if err != nil {
			return nil, err
		}
		if p != nil {
			said = append(said, p.Error())
		}
	}
	return said, nil
}

// checkout runs `git worktree add`. If it fails, nothing remains.
func (ws Worktrees) checkout(ctx context.Context, w Worktree, args ...string) error {
	if err := os.MkdirAll(filepath.Dir(w.Path), 0o700); err != nil {
		return err
	}
	tip, err := ws.tip(ctx, w.Branch)
	if err != nil {
		return err
	}
	patient := ws.repo.clone()
	patient.Git.Timeout = max(checkoutTimeout, ws.repo.Git.CallTimeout())
	// Git would check out the files with the settings that hold in the new worktree. Which programs they start is
	// known only once it exists.
	add := []string{"worktree", "add", "--quiet", "--no-checkout", "--lock"}
	if _, err = patient.run(ctx, append(add, args...)...); err == nil {
		err = checkOutFiles(ctx, patient, w.Path)
	}
	if err == nil {
		return nil
	}
	if git.Failed(err) { // everything that git could object to was looked at before
		err = fmt.Errorf("%w: %w", ralph.ErrIO, err)
	}
	ctx = context.WithoutCancel(ctx)
	if left := ws.removeHalf(ctx, w.Path); left != nil {
		err = fmt.Errorf("%w; and %w", err, left)
	}
	if tip == "" {
		_, _ = ws.repo.run(ctx, "update-ref", "-d", "refs/heads/"+w.Branch)
	}
	return err
}

// checkOutFiles writes the files of a new worktree, as `git worktree add` does, and unlocks it.
func checkOutFiles(ctx context.Context, r *Repo, path string) error {
	there, found, err := Find(ctx, r.Git, path)
	if err != nil || !found {
		return cmp.Or(err, fmt.Errorf("%w: %s is no worktree", ralph.ErrIO, path))
	}
	there.configured = r.configured.elsewhere()
	lock := filepath.Join(there.GitDir, "locked")
	if err := os.WriteFile(lock, []byte(halfMade), 0o600); err != nil {
		return err
	}
	if _, err := there.run(ctx, "reset", "--hard", "--no-recurse-submodules", "--quiet"); err != nil {
		return err
	}
	return os.Remove(lock)
}

// removeHalf removes what `git worktree add` left of a worktree that it did not complete. Nothing
// existed there before.
func (ws Worktrees) removeHalf(ctx context.Context, path string) error {
	// --force is given twice because git locks a half-made worktree.
	remove := []string{"worktree", "remove", "--force", "--force", path}
	if _, err := ws.repo.run(ctx, remove...); err == nil {
		return nil
	}
	// Git does not touch a folder that lacks its .git, but forgets one that is gone.
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("remove worktree: %w", err)
	}
	_, _ = ws.repo.run(ctx, remove...) // perhaps git does not know it
	return nil
}

// WorktreeMaker creates the worktree that a [loop.Config] requests with UseWorktree. It implements
// [ralph.Worktrees].
type WorktreeMaker struct {
	Repo   *Repo
	Folder string // the parent of worktrees, outside the repository
}

var _ ralph.Worktrees = WorktreeMaker{}

// Add creates a worktree on a new branch, ralph/….
func (m WorktreeMaker) Add(ctx context.Context, branch string) (ralph.Worktree, ralph.Tree, error) {
	name := strings.ReplaceAll(strings.TrimPrefix(branch, ourBranches), "/", "-")
	made, _, err := m.Repo.Worktrees().Add(ctx, WorktreeInput{Path: filepath.Join(m.Folder, name), Branch: branch})
	if err != nil {
		return ralph.Worktree{}, nil, err
	}
	known := ralph.Worktree{Path: made.Dir(), Branch: made.Branch, Base: made.Base}
	tree, err := m.tree(ctx, known)
	return known, tree, err
}

// Open ensures that the worktree exists and returns its tree.
func (m WorktreeMaker) Open(ctx context.Context, w ralph.Worktree) (ralph.Tree, error) {
	if _, _, err := m.Repo.Worktrees().Reopen(ctx, m.known(w)); err != nil {
		return nil, err
	}
	return m.tree(ctx, w)
}

// Remove removes the worktree and its branch if its work is merged.
func (m WorktreeMaker) Remove(ctx context.Context, w ralph.Worktree) error {
	return m.Repo.Worktrees().Remove(ctx, m.known(w), RemoveMerged)
}

// known returns the worktree whose workspace is w.Path.
func (m WorktreeMaker) known(w ralph.Worktree) Worktree {
	path := w.Path
	if below := strings.TrimSuffix(m.Repo.Prefix, "/"); below != "" {
		path = strings.TrimSuffix(path, string(filepath.Separator)+filepath.FromSlash(below))
	}
	return Worktree{Path: path, Branch: w.Branch, Base: w.Base}
}

func (m WorktreeMaker) tree(ctx context.Context, w ralph.Worktree) (ralph.Tree, error) {
	repo, _, err := Find(ctx, m.Repo.Git, w.Path)
	return repo, err
}

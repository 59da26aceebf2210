package gitrepo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/text"
)

// ProblemKind identifies a kind of problem.
type ProblemKind string

// The kinds of problems with a repository.
const (
	ProblemNoCommits       ProblemKind = "no_commits"
	ProblemDetached        ProblemKind = "detached"
	ProblemNoIdentity      ProblemKind = "no_identity"
	ProblemIndexLocked     ProblemKind = "index_locked" // or a ref that a commit changes
	ProblemUnderWay        ProblemKind = "under_way"    // a merge, a rebase or a similar operation
	ProblemConflicts       ProblemKind = "conflicts"
	ProblemSubmodules      ProblemKind = "submodules"
	ProblemDirty           ProblemKind = "dirty"
	ProblemBadBranch       ProblemKind = "bad_branch"   // its name is invalid
	ProblemBranchTaken     ProblemKind = "branch_taken" // it holds work, or is checked out
	ProblemBranchMissing   ProblemKind = "branch_missing"
	ProblemBadPath         ProblemKind = "bad_path"         // a worktree cannot be there
	ProblemNotOurs         ProblemKind = "not_ours"         // not a worktree of this repository
	ProblemUnmerged        ProblemKind = "unmerged"         // the work exists nowhere else
	ProblemWorktreeChanged ProblemKind = "worktree_changed" // it has uncommitted changes
	ProblemNotRestorable   ProblemKind = "not_restorable"
	ProblemStrayed         ProblemKind = "strayed"    // a worktree's commits are not on its branch
	ProblemNotAgreed       ProblemKind = "not_agreed" // the user has not agreed to programs that git starts
)

// Problem is something to know about a repository before a command continues. As an error it is a
// refusal that the user can resolve.
type Problem struct {
	Kind  ProblemKind
	Text  string // a sentence without its period
	Hint  string // what to do about it; may be ""
	Stops bool   // the command cannot continue; other problems are warnings
}

func (p *Problem) Error() string {
	if p.Hint == "" {
		return p.Text
	}
	return p.Text + "; " + p.Hint
}

// Needs says what a run will do with the repository.
type Needs struct {
	Commit       bool // commit the agent's changes
	Worktree     bool // work in a new worktree
	IncludeDirty bool // also commit changes from before the run
}

// problemFinder looks for one problem of a repository. It returns nil if there is none.
type problemFinder func(ctx context.Context, r *Repo) (*Problem, error)

// firstProblem returns the first problem found, as a refusal.
func firstProblem(ctx context.Context, r *Repo, looks ...problemFinder) error {
	for _, look := range looks {
		p, err := look(ctx, r)
		if err != nil {
			return err
		}
		if p != nil {
			p.Stops = true
			return p
		}
	}
	return nil
}

// Ready checks the repository before an agent starts, so that a run does not fail at its first
// commit. A problem that Stops is a reason not to start; the others are warnings. An error means
// that git could not be run.
//
// A detached HEAD, a shallow clone and a sparse checkout do not stop a run.
func (r *Repo) Ready(ctx context.Context, n Needs) ([]Problem, error) {
	r = r.clone()
	looks := []problemFinder{noCommits, detachedHead, operationInProgress, locked, unresolvedConflicts,
		unknownIdentity, unagreedPrograms}
	if n.Worktree {
		looks = append(looks, missingFromWorktree, emptySubmodules)
	} else {
		looks = append(looks, uncommittedChanges)
	}
	var problems []Problem
	for _, look := range looks {
		p, err := look(ctx, r)
		if err != nil {
			return nil, err
		}
		if p != nil && n.concerns(p.Kind) {
			p.Stops = n.stoppedBy(p.Kind)
			problems = append(problems, *p)
		}
	}
	return problems, nil
}

// concerns reports whether a problem matters to this run.
func (n Needs) concerns(kind ProblemKind) bool {
	onlyStops := []ProblemKind{ProblemNotAgreed, ProblemNoCommits, ProblemNoIdentity, ProblemIndexLocked, ProblemConflicts}
	return !slices.Contains(onlyStops, kind) || n.stoppedBy(kind)
}

func (n Needs) stoppedBy(kind ProblemKind) bool {
	inPlace := n.Commit && !n.Worktree
	switch kind {
	case ProblemNoCommits:
		return n.Worktree
	case ProblemNoIdentity:
		return n.Commit
	case ProblemUnderWay, ProblemNotAgreed:
		return n.Commit || n.Worktree
	case ProblemIndexLocked, ProblemConflicts:
		return inPlace
	case ProblemDirty:
		return inPlace && !n.IncludeDirty
	}
	return false
}

func noCommits(ctx context.Context, r *Repo) (*Problem, error) {
	head, err := r.headCommit(ctx)
	if head != "" || err != nil {
		return nil, err
	}
	return &Problem{Kind: ProblemNoCommits, Text: "the repository has no commits yet, and a worktree needs one",
		Hint: `make the first commit (git add -A && git commit -m "first commit"), or run without --worktree`}, nil
}

func detachedHead(ctx context.Context, r *Repo) (*Problem, error) {
	head, err := r.headCommit(ctx)
	if head == "" || err != nil {
		return nil, err
	}
	branch, err := r.branch(ctx)
	if branch != "" || err != nil {
		return nil, err
	}
	return &Problem{Kind: ProblemDetached, Text: fmt.Sprintf("HEAD is detached at %.10s", head)}, nil
}

// branch returns the checked-out branch, or "" if HEAD is detached.
func (r *Repo) branch(ctx context.Context) (string, error) {
	name, err := r.lookup(ctx, "read HEAD", "symbolic-ref", "--quiet", "HEAD")
	return strings.TrimPrefix(name, "refs/heads/"), err
}

// operations are the git operations that may be in progress, by the file that indicates them.
var operations = []struct{ file, name, command string }{
	{"MERGE_HEAD", "a merge", "merge"},
	{"rebase-merge", "a rebase", "rebase"},
	{"rebase-apply", "a rebase or git am", "rebase"},
	{"CHERRY_PICK_HEAD", "a cherry-pick", "cherry-pick"},
	{"REVERT_HEAD", "a revert", "revert"},
	{"sequencer", "a cherry-pick or revert", "cherry-pick"},
}

func operationInProgress(_ context.Context, r *Repo) (*Problem, error) {
	for _, op := range operations {
		if _, err := os.Lstat(filepath.Join(r.GitDir, op.file)); err == nil {
			return &Problem{Kind: ProblemUnderWay, Text: op.name + " is in progress in " + r.Top,
				Hint: fmt.Sprintf("finish it, or abort it with git %s --abort", op.command)}, nil
		}
	}
	return nil, nil
}

func unresolvedConflicts(ctx context.Context, r *Repo) (*Problem, error) {
	out, err := r.run(ctx, "diff", "--cached", "--name-only", "--diff-filter=U", "--no-relative", "-z")
	conflicts := slices.Compact(git.SplitNames(out))
	if len(conflicts) == 0 || err != nil {
		return nil, wrapError("look for conflicts", err)
	}
	return &Problem{
		Kind: ProblemConflicts,
		Text: "there are unresolved conflicts in " + scan.List(conflicts),
		Hint: "resolve them and git add the files",
	}, nil
}

// Unlocked checks, before a run continues, that no git process holds a lock that a commit needs. One
// that was killed with the run leaves such locks. A refusal is of type *Problem.
func (r *Repo) Unlocked(ctx context.Context) error { return firstProblem(ctx, r.clone(), locked) }

// locked waits a little, because an editor that reads the repository also locks it.
func locked(ctx context.Context, r *Repo) (*Problem, error) {
	branch, err := r.branch(ctx)
	if err != nil {
		return nil, err
	}
	locks := []string{filepath.Join(r.GitDir, "index.lock"), filepath.Join(r.GitDir, "HEAD.lock")}
	if branch != "" {
		locks = append(locks, filepath.Join(r.CommonDir(), "refs", "heads", filepath.FromSlash(branch)+".lock"))
	}
	for _, lock := range locks {
		patience := defaultLockPatience
		if info, err := os.Lstat(lock); err == nil && time.Since(info.ModTime()) > time.Minute { // probably stale
			patience = 0
		}
		holder, err := waitForLock(ctx, lock, patience)
		if err != nil {
			return nil, err
		}
		if holder != "" {
			return &Problem{
				Kind: ProblemIndexLocked,
				Text: holder,
				Hint: "if no git process is running, the lock is stale: remove that file",
			}, nil
		}
	}
	return nil, nil
}

// unknownIdentity asks git whether it has an author and a committer for commits.
func unknownIdentity(ctx context.Context, r *Repo) (*Problem, error) {
	for _, who := range []string{"GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"} {
		asked, err := r.asUser(
			ctx,
			git.UserCall{Dir: r.Top, Env: r.checkout().location(), Args: []string{"var", who}, Timeout: r.Git.CallTimeout()},
		)
		if err != nil {
			return nil, fmt.Errorf("look for identity: %w", err)
		}
		if asked.State == process.Exited && asked.Code != 0 {
			return &Problem{Kind: ProblemNoIdentity, Text: "git has no name and email for commits",
				Hint: `set them: git config --global user.name "Your Name" && git config --global user.email you@example.com`}, nil
		}
	}
	return nil, nil
}

// uncommittedChanges reports how many files differ from the checked-out commit.
func uncommittedChanges(ctx context.Context, r *Repo) (*Problem, error) {
	st, err := r.status(ctx)
	if err != nil || len(st.paths) == 0 {
		return nil, err
	}
	return &Problem{
		Kind: ProblemDirty,
		Text: st.String(),
		Hint: "commit or stash them first, let the run commit them with --include-dirty, or use a separate worktree with " +
			"--worktree",
	}, nil
}

func (st status) String() string {
	changed := text.Mapped(st.paths, func(p path) string { return p.name })
	return text.Count(len(changed), "uncommitted change") + ": " + scan.List(changed)
}

// missingFromWorktree reports uncommitted changes, which a new worktree would lack.
func missingFromWorktree(ctx context.Context, r *Repo) (*Problem, error) {
	st, err := r.Whole().status(ctx)
	if err != nil || len(st.paths) == 0 {
		return nil, err
	}
	return &Problem{Kind: ProblemDirty, Text: "the worktree starts at the last commit, without " + st.String()}, nil
}

// emptySubmodules reports the folders that the checked-out commit declares as submodules.
func emptySubmodules(ctx context.Context, r *Repo) (*Problem, error) {
	out, err := r.run(ctx, "config", "-z", "--blob", "HEAD:.gitmodules", "--get-regexp", `^submodule\..*\.path$`)
	if git.Failed(err) {
		return nil, nil // no .gitmodules, or no submodule in it
	}
	var folders []string
	for _, setting := range git.SplitNames(out) {
		if _, folder, ok := strings.Cut(setting, "\n"); ok {
			folders = append(folders, folder)
		}
	}
	if len(folders) == 0 || err != nil {
		return nil, wrapError("look for submodules", err)
	}
	return &Problem{
		Kind: ProblemSubmodules,
		Text: "submodule folders are empty in a new worktree: " + scan.List(folders),
		Hint: "if you need them, run git submodule update --init there",
	}, nil
}

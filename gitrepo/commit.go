package gitrepo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/textfile"
)

// DefaultCommitTimeout limits one commit, including its hooks and its signature.
const DefaultCommitTimeout = 2 * time.Minute

// CommitOptions are the time limits of a Committer.
type CommitOptions struct {
	// Timeout limits one commit; default: DefaultCommitTimeout.
	Timeout time.Duration
	// LockPatience is how long to wait while another git process holds the index; default: 10 s.
	LockPatience time.Duration
}

// Committer commits the agent's changes as the user would: with the user's hooks, identity and
// signing. It implements [ralph.Committer].
//
// A commit cannot ask the user anything and cannot hang: if it exceeds its time limit, it is killed
// with all processes that it started. A commit that is not possible is reported in the result, not
// as an error, and leaves the index unchanged. An error that is [ralph.ErrIO] means that the
// repository's files cannot be written.
//
// Hooks that were added or changed after the Committer was created are not run, and the result says
// so. They would be the agent's, and would run outside its sandbox. Hooks among the files of the
// project (core.hooksPath) are run as they are, like checks.
type Committer struct {
	repo    *Repo
	options CommitOptions
	before  programs
	branch  string // the branch that commits are expected on; "" if HEAD is detached
}

var _ ralph.Committer = (*Committer)(nil)

// Committer returns a Committer for the workspace. Create it before an agent starts.
func (r *Repo) Committer(ctx context.Context, o CommitOptions) (*Committer, error) {
	o.Timeout, o.LockPatience = cmp.Or(o.Timeout, DefaultCommitTimeout), cmp.Or(o.LockPatience, defaultLockPatience)
	// A hook may take minutes, and others must be able to read the tree meanwhile.
	c := &Committer{repo: r.clone(), options: o}
	var err error
	if c.before, err = c.programs(ctx); err == nil {
		c.branch, err = c.repo.branch(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("prepare commits: %w", err)
	}
	return c, nil
}

// Commit commits every change in the workspace, including untracked files, but not ignored files, the
// harness's own, or the rest of a larger repository. Without a change it makes no commit. A commit
// whose post-commit hook hangs still counts as made.
func (c *Committer) Commit(ctx context.Context, message string) (ralph.CommitResult, error) {
	r := c.repo
	r.mu.Lock()
	defer r.mu.Unlock()
	if why, err := c.commitBlocker(ctx); why != "" || err != nil {
		return failedCommit(why, ""), err
	}
	index := saveIndex(r.GitDir)
	result, err := c.stageAndCommit(ctx, message)
	if result.Commit == "" {
		if left := index.restore(ctx); left != nil && result.Failed {
			result.Output += "\n" + left.Error()
		}
	}
	return result, err
}

// commitBlocker returns the reason why no commit is possible now, or "".
func (c *Committer) commitBlocker(ctx context.Context) (string, error) {
	r := c.repo
	if same, err := r.sameRepository(ctx); !same || err != nil {
		return fmt.Sprintf("the git folder of %s is no longer the one from the start (%s)", r.Top, r.GitDir), err
	}
	err := firstProblem(ctx, r, operationInProgress, unresolvedConflicts)
	if p, found := errors.AsType[*Problem](err); found {
		return p.Error(), nil
	}
	return "", err
}

// sameRepository reports whether git still finds this repository when it starts from the workspace.
// Commits rely on that discovery, so that hooks run in their usual environment.
func (r *Repo) sameRepository(ctx context.Context) (bool, error) {
	out, err := r.Git.Run(ctx, git.Call{Dir: r.Dir, Args: []string{"rev-parse", "--absolute-git-dir", "--show-toplevel"}})
	if git.Failed(err) {
		return false, nil
	}
	gitDir, top := splitPaths(strings.TrimSuffix(out, "\n"), r.Dir)
	return gitDir == r.GitDir && top == r.Top, err
}

func (c *Committer) stageAndCommit(ctx context.Context, message string) (ralph.CommitResult, error) {
	what, err := c.commitPaths(ctx)
	if err != nil {
		return ralph.CommitResult{}, err
	}
	if files, err := unfiltered(ctx, c.repo, "--modified", "--others", "--exclude-standard"); files != nil || err != nil {
		return failedCommit(notAgreed(files...).Error(), ""), err
	}
	if refused, err := c.stage(ctx, what); refused.Failed || err != nil {
		return refused, err
	}
	staged, err := c.hasStaged(ctx, what)
	if !staged || err != nil {
		return ralph.CommitResult{}, err
	}
	before, err := c.staging(ctx, what)
	if err != nil {
		return ralph.CommitResult{}, err
	}
	result, err := c.commit(ctx, message, what)
	if result.Commit != "" && err == nil {
		changed, unknown := c.changedSince(ctx, before, what)
		result.Changed = changed || unknown != nil
	}
	return result, err
}

// commitPaths returns the pathspecs of a commit: the workspace without the harness's own files. An
// ignored progress file must not be named, because git add would complain about it.
func (c *Committer) commitPaths(ctx context.Context) ([]string, error) {
	paths := []string{"."}
	if c.repo.OwnOutput != nil && len(c.repo.OwnOutput()) > 0 {
		all, err := c.repo.allChanges(ctx)
		if err != nil {
			return nil, err
		}
		isOwn := c.repo.OwnFiles()
		for _, p := range all.paths {
			if isOwn(p.name) && p.name != c.repo.Prefix+scan.ProgressFile {
				paths = append(paths, ":(top,exclude,literal)"+p.name)
			}
		}
	}
	own := []string{scan.ProgressFile}
	goal, err := textfile.ReadInside(c.repo.Dir, ralph.GoalFile)
	if err == nil && strings.HasSuffix(goal, ralph.GoalMark) {
		own = append(own, ralph.GoalFile)
	}
	ignored, err := c.repo.run(ctx, append([]string{"check-ignore", "--"}, own...)...)
	if err != nil && !git.Failed(err) {
		return nil, wrapError("look for ignored files", err)
	}
	for _, name := range own {
		if !slices.Contains(strings.Split(ignored, "\n"), name) {
			paths = append(paths, ":(exclude)"+name)
		}
	}
	return paths, nil
}

// stage adds all changes to the index. It waits while another git process holds the lock.
func (c *Committer) stage(ctx context.Context, what []string) (ralph.CommitResult, error) {
	r := c.repo
	lock := filepath.Join(r.GitDir, "index.lock")
	deadline := time.Now().Add(c.options.LockPatience)
	for {
		holder, err := waitForLock(ctx, lock, time.Until(deadline))
		if err != nil {
			return ralph.CommitResult{}, err
		}
		if holder != "" {
			return failedCommit(holder+"; if no git process is running, remove that file", ""), nil
		}
		// No hooks run here, but filters do, and those may hang.
		added, err := r.asUser(ctx, git.UserCall{
			Dir:     r.Dir,
			Env:     r.checkout().location(),
			Timeout: c.options.Timeout,
			Args: append(
				[]string{"-c", noHooks, "-c", "advice.addEmbeddedRepo=false", "add", "--all", "--"},
				what...),
		})
		switch {
		case err != nil:
			return ralph.CommitResult{}, err
		case added.Worked():
			return ralph.CommitResult{}, nil
		case added.State == process.TimedOut:
			return failedCommit(
				fmt.Sprintf("git add did not finish within %v (is a filter waiting for input?)", c.options.Timeout),
				added.Output,
			), nil
		case errors.Is(added.Failure("add"), ralph.ErrIO):
			return ralph.CommitResult{}, added.Failure("add")
		case !strings.Contains(added.Output, "index.lock") || time.Now().After(deadline):
			return failedCommit(fmt.Sprintf("git add failed with exit %d", added.Code), added.Output), nil
		}
	}
}

// hasStaged reports whether a commit would contain anything.
func (c *Committer) hasStaged(ctx context.Context, what []string) (bool, error) {
	_, err := c.repo.run(ctx, append([]string{"diff", "--cached", "--quiet", "--no-ext-diff", "--"}, what...)...)
	same, err := succeeded("look for staged changes", err)
	return !same && err == nil, err
}

func (c *Committer) commit(ctx context.Context, message string, what []string) (ralph.CommitResult, error) {
	r := c.repo
	now, err := c.programs(ctx)
	if err != nil {
		return ralph.CommitResult{}, err
	}
	strange, gone := now.changedHooks(c.before), now.removedHooks(c.before)
	if why := c.refusal(now, append(slices.Clone(strange), gone...)); why != "" {
		return failedCommit(why, ""), nil
	}
	args := []string{"-c", "commit.verbose=false", "-c", "commit.status=false"}
	note := ""
	if len(strange) > 0 {
		args = append(args, "-c", noHooks)
		note = "no hooks ran because some were added or changed after the start: " + strings.Join(strange, ", ")
	}
	if len(gone) > 0 {
		note = strings.TrimSpace(note + "\nhooks removed since the start: " + strings.Join(gone, ", "))
	}
	args = append(args, "commit", "--quiet", "--cleanup=whitespace", "--file=-")
	if r.Prefix != "" { // keep changes staged that are elsewhere in the repository
		args = append(append(args, "--only", "--"), what...)
	}
	was, err := r.headCommit(ctx)
	if err != nil {
		return ralph.CommitResult{}, err
	}
	made, err := c.withMessage(ctx, message, args)
	if err != nil { // the commit may exist anyway, and then the index belongs to it
		is, _ := r.headCommit(context.WithoutCancel(ctx))
		if is == was {
			is = ""
		}
		return ralph.CommitResult{Commit: is}, err
	}
	is, err := r.headCommit(ctx)
	switch {
	case err != nil:
		return ralph.CommitResult{}, err
	case is == was:
		return c.explainFailure(ctx, made, note)
	case !made.Worked():
		note = strings.TrimSpace(note + "\nthe commit was made, but a later step failed\n" + made.Output)
	}
	if branch, err := r.branch(ctx); err == nil && branch != c.branch {
		note = strings.TrimSpace(
			note + fmt.Sprintf("\n%s is now checked out instead of %s", branchOr(branch), branchOr(c.branch)),
		)
	}
	subject, err := c.subject(ctx, is)
	return ralph.CommitResult{Commit: is, Subject: subject, Output: note}, err
}

// refusal returns why the programs that a commit would run now forbid it, or "".
func (c *Committer) refusal(now programs, changed []string) string {
	if programs := c.repo.configured.refusedSigning(); programs != nil && slices.Equal(now.signing, c.before.signing) {
		return notAgreed("commits are signed by " + scan.List(programs)).Error()
	}
	if !slices.Equal(now.signing, c.before.signing) {
		return "the commit signing program changed since the start: " + scan.List(now.signing)
	}
	if gates := c.before.refusingHooks(); len(gates) > 0 && len(changed) > 0 {
		return fmt.Sprintf(
			"the repository's hooks changed since the start (%s), so %s cannot run as before; restore the hooks",
			strings.Join(changed, ", "),
			strings.Join(gates, " and "),
		)
	}
	return ""
}

func branchOr(name string) string { return cmp.Or(name, "no branch") }

// withMessage runs git with the message on stdin. Git finds the repository by itself: with GIT_DIR
// set, a hook that works on another repository would work on this one instead.
func (c *Committer) withMessage(ctx context.Context, message string, args []string) (git.Attempt, error) {
	file, err := os.CreateTemp("", "ralph-message-")
	if err != nil {
		return git.Attempt{}, fmt.Errorf("write commit message: %w: %w", ralph.ErrIO, err)
	}
	defer func() { file.Close(); os.Remove(file.Name()) }()
	if _, err := file.WriteString(message); err != nil {
		return git.Attempt{}, fmt.Errorf("write commit message: %w: %w", ralph.ErrIO, err)
	}
	r := c.repo
	deadline := time.Now().Add(c.options.LockPatience)
	for {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return git.Attempt{}, fmt.Errorf("write commit message: %w: %w", ralph.ErrIO, err)
		}
		made, err := r.asUser(
			ctx,
			git.UserCall{Dir: r.Dir, Args: args, Stdin: file, Timeout: c.options.Timeout},
		)
		// Exit 128 comes from git itself, before any hook.
		locked := made.Code == 128 && strings.Contains(made.Output, "index.lock")
		if err != nil || !locked || time.Now().After(deadline) {
			return made, err
		}
		if _, err := waitForLock(ctx, filepath.Join(r.GitDir, "index.lock"), time.Until(deadline)); err != nil {
			return git.Attempt{}, err
		}
	}
}

// refusedByHook is git's exit code if a hook refuses a commit. Git itself dies with 128.
const refusedByHook = 1

// explainFailure returns the reason why an attempt made no commit.
func (c *Committer) explainFailure(ctx context.Context, made git.Attempt, note string) (ralph.CommitResult, error) {
	err := made.Failure("commit")
	// Git does not notice that it cannot write the message, and finds it empty.
	unwritten := strings.Contains(made.Output, "Aborting commit due to empty commit message.") &&
		len(c.before.refusingHooks()) == 0
	if unwritten || made.Code != refusedByHook && errors.Is(err, ralph.ErrIO) {
		return ralph.CommitResult{}, fmt.Errorf("%w: %w", ralph.ErrIO, err)
	}
	why := fmt.Sprintf("git commit failed with exit %d", made.Code)
	switch {
	case made.State == process.TimedOut:
		why = fmt.Sprintf(
			"the commit did not finish within %v (is a hook or a signature waiting for input?)",
			c.options.Timeout,
		)
	case made.Worked():
		why = "git commit reported success but made no commit"
	case made.Code == refusedByHook:
		why = "git commit was refused, probably by a hook (exit 1)"
	default:
		unknown, err := unknownIdentity(ctx, c.repo)
		if err != nil {
			return ralph.CommitResult{}, err
		}
		if unknown != nil {
			why = unknown.Error()
		}
	}
	return failedCommit(strings.TrimSpace(why+"\n"+note), made.Output), nil
}

func failedCommit(why, output string) ralph.CommitResult {
	return ralph.CommitResult{Failed: true, Output: strings.TrimSpace(why + "\n" + output)}
}

// headCommit returns the checked-out commit, or "" before the first commit.
func (r *Repo) headCommit(ctx context.Context) (string, error) { return r.resolve(ctx, "HEAD") }

// resolve returns the commit that a name refers to, or "" if there is none.
func (r *Repo) resolve(ctx context.Context, name string) (string, error) {
	return r.lookup(ctx, "look for "+name, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
}

func (c *Committer) subject(ctx context.Context, commit string) (string, error) {
	out, err := c.repo.run(ctx, "rev-list", "--max-count=1", "--format=%s", commit)
	_, subject, _ := strings.Cut(strings.TrimSuffix(out, "\n"), "\n")
	return subject, wrapError("read commit", err)
}

func (c *Committer) staging(ctx context.Context, what []string) (staging, error) {
	out, err := c.repo.run(ctx, "write-tree")
	if err != nil {
		return staging{}, fmt.Errorf("look at what is staged: %w", err)
	}
	rest, err := c.unstaged(ctx, what)
	return staging{strings.TrimSpace(out), rest}, err
}

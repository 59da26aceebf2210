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
)

// DefaultCommitTimeout bounds one commit with its hooks and its signature.
const DefaultCommitTimeout = 2 * time.Minute

// CommitOptions say how patient a Committer is.
type CommitOptions struct {
	// Timeout bounds one commit; 0 is DefaultCommitTimeout.
	Timeout time.Duration
	// LockPatience is how long another git may hold the index; 0 is 10 s.
	LockPatience time.Duration
}

// Committer commits what an agent did, as the user would: with the user's hooks,
// identity and signing. It implements [ralph.Committer].
//
// Nothing can ask the user anything, and nothing can hang: a commit that does not end in
// time is killed with all that it started. What prevents a commit is a value, and leaves
// the index as it was.
//
// Hooks that came or changed after the Committer was made are not run, which the result
// says: they would be the agent's, run outside of its sandbox. Hooks among the files of
// the project (core.hooksPath) are run as they stand, as checks are.
type Committer struct {
	repo    *Repo
	options CommitOptions
	before  programs
	branch  string // that commits are expected on; "" is none
}

var _ ralph.Committer = (*Committer)(nil)

// Committer makes one for the workspace. It is to be made before an agent starts.
func (r *Repo) Committer(ctx context.Context, o CommitOptions) (*Committer, error) {
	o.Timeout, o.LockPatience = cmp.Or(o.Timeout, DefaultCommitTimeout), cmp.Or(o.LockPatience, defaultLockPatience)
	c := &Committer{repo: r.apart(), options: o} // a hook may take minutes, in which others want to look at the tree
	var err error
	if c.before, err = c.programs(ctx); err == nil {
		c.branch, err = c.repo.branch(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("prepare commits: %w", err)
	}
	return c, nil
}

// Commit commits every change of the workspace, untracked files included, ignored ones
// and .ralph/progress.md not; of the rest of a larger repository nothing. Without a
// change there is no commit. One that was made although a hook after it hangs is one.
func (c *Committer) Commit(ctx context.Context, message string) (ralph.CommitResult, error) {
	r := c.repo
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.refreshFilters(ctx); err != nil {
		return ralph.CommitResult{}, err
	}
	if why, err := c.hindrance(ctx); why != "" || err != nil {
		return failedCommit(why, ""), err
	}
	index := keepIndex(r.GitDir)
	result, err := c.stageAndCommit(ctx, message)
	if result.Commit == "" {
		if left := index.putBack(ctx); left != nil && result.Failed {
			result.Output += "\n" + left.Error()
		}
	}
	return result, err
}

// hindrance is why there cannot be a commit now, in a sentence.
func (c *Committer) hindrance(ctx context.Context) (string, error) {
	r := c.repo
	if same, err := r.stillThere(ctx); !same || err != nil {
		return fmt.Sprintf("the git folder of %s is not the one that it was at the start (%s)", r.Top, r.GitDir), err
	}
	err := refuse(ctx, r, underWay, unresolved)
	if p, found := errors.AsType[*Problem](err); found {
		return p.Error(), nil
	}
	return "", err
}

// stillThere reports whether git finds the repository of the workspace by itself, as it
// must for hooks to be run as they are used to.
func (r *Repo) stillThere(ctx context.Context) (bool, error) {
	out, err := r.Git.Run(ctx, git.Call{Dir: r.Dir, Args: []string{"rev-parse", "--absolute-git-dir", "--show-toplevel"}})
	if git.Failed(err) {
		return false, nil
	}
	gitDir, top := splitPaths(strings.TrimSuffix(out, "\n"), r.Dir)
	return gitDir == r.GitDir && top == r.Top, err
}

func (c *Committer) stageAndCommit(ctx context.Context, message string) (ralph.CommitResult, error) {
	what, err := c.committed(ctx)
	if err != nil {
		return ralph.CommitResult{}, err
	}
	if refused, err := c.stage(ctx, what); refused.Failed || err != nil {
		return refused, err
	}
	staged, err := c.staged(ctx, what)
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

// committed is what commits are about, for git: the workspace without the view in it. A
// view that is ignored must not be named, git add would complain about it.
func (c *Committer) committed(ctx context.Context) ([]string, error) {
	_, err := c.repo.run(ctx, "check-ignore", "-q", "--", scan.ProgressFile)
	if git.Failed(err) {
		return []string{".", ":(exclude)" + scan.ProgressFile}, nil
	}
	return []string{"."}, wrapped("look for ignored files", err)
}

// stage adds all changes to the index. Another git that holds it is waited for.
func (c *Committer) stage(ctx context.Context, what []string) (ralph.CommitResult, error) {
	r := c.repo
	lock := filepath.Join(r.GitDir, "index.lock")
	deadline := time.Now().Add(c.options.LockPatience)
	for {
		holder, err := unlocked(ctx, lock, time.Until(deadline))
		if err != nil {
			return ralph.CommitResult{}, err
		}
		if holder != "" {
			return failedCommit(holder+"; if no git is at work there, remove that file", ""), nil
		}
		// No hook is part of it, but filters are, which may hang.
		added, err := r.Git.AsUser(ctx, git.UserCall{
			Dir:     r.Dir,
			Env:     r.environment(),
			Timeout: c.options.Timeout,
			Args: append(
				[]string{"-c", "core.hooksPath=" + os.DevNull, "-c", "advice.addEmbeddedRepo=false", "add", "--all", "--"},
				what...),
		})
		switch {
		case err != nil:
			return ralph.CommitResult{}, err
		case added.Worked():
			return ralph.CommitResult{}, nil
		case added.State == process.TimedOut:
			return failedCommit(
				fmt.Sprintf("git add did not end within %v (a filter that waits for somebody?)", c.options.Timeout),
				added.Output,
			), nil
		case !strings.Contains(added.Output, "index.lock") || time.Now().After(deadline):
			return failedCommit(fmt.Sprintf("git add failed with exit %d", added.Code), added.Output), nil
		}
	}
}

// staged reports whether a commit would hold anything.
func (c *Committer) staged(ctx context.Context, what []string) (bool, error) {
	_, err := c.repo.run(ctx, append([]string{"diff", "--cached", "--quiet", "--no-ext-diff", "--"}, what...)...)
	same, err := yes("look for staged changes", err)
	return !same && err == nil, err
}

func (c *Committer) commit(ctx context.Context, message string, what []string) (ralph.CommitResult, error) {
	r := c.repo
	now, err := c.programs(ctx)
	if err != nil {
		return ralph.CommitResult{}, err
	}
	strange, gone := now.strange(c.before), now.gone(c.before)
	if why := c.refuses(now, append(slices.Clone(strange), gone...)); why != "" {
		return failedCommit(why, ""), nil
	}
	args := []string{"-c", "commit.verbose=false", "-c", "commit.status=false"}
	note := ""
	if len(strange) > 0 {
		args = append(args, "-c", "core.hooksPath="+os.DevNull)
		note = "no hook was run, since some came or changed after the start: " + strings.Join(strange, ", ")
	}
	if len(gone) > 0 {
		note = strings.TrimSpace(note + "\nhooks that were there at the start are gone: " + strings.Join(gone, ", "))
	}
	args = append(args, "commit", "--quiet", "--cleanup=whitespace", "--file=-")
	if r.Prefix != "" { // what is staged elsewhere in the repository stays staged
		args = append(append(args, "--only", "--"), what...)
	}
	was, err := r.headCommit(ctx)
	if err != nil {
		return ralph.CommitResult{}, err
	}
	made, err := c.withMessage(ctx, message, args)
	if err != nil { // it may have been made all the same, and the index belongs to it then
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
		return c.explain(ctx, made, note)
	case !made.Worked():
		note = strings.TrimSpace(note + "\nthe commit was made, but what came after it did not end well\n" + made.Output)
	}
	if branch, err := r.branch(ctx); err == nil && branch != c.branch {
		note = strings.TrimSpace(
			note + fmt.Sprintf("\n%s is checked out now, and no longer %s", branchOr(branch), branchOr(c.branch)),
		)
	}
	subject, err := c.subject(ctx, is)
	return ralph.CommitResult{Commit: is, Subject: subject, Output: note}, err
}

// refuses is why there is no commit with the programs that it would run now.
func (c *Committer) refuses(now programs, changed []string) string {
	if !slices.Equal(now.signing, c.before.signing) {
		return "the program that signs commits was set to another one since the start: " + scan.List(now.signing)
	}
	if gates := c.before.gates(); len(gates) > 0 && len(changed) > 0 {
		return fmt.Sprintf(
			"the repository's hooks were changed since the start (%s), so %s cannot be run as the user had it; put them back",
			strings.Join(changed, ", "),
			strings.Join(gates, " and "),
		)
	}
	return ""
}

func branchOr(name string) string { return cmp.Or(name, "no branch") }

// withMessage runs git with the message as its input. It finds the repository by itself:
// with GIT_DIR set, a hook that works on another repository would work on this one.
func (c *Committer) withMessage(ctx context.Context, message string, args []string) (git.Attempt, error) {
	file, err := os.CreateTemp("", "ralph-message-")
	if err != nil {
		return git.Attempt{}, fmt.Errorf("write commit message: %w", err)
	}
	defer func() { file.Close(); os.Remove(file.Name()) }()
	if _, err := file.WriteString(message); err != nil {
		return git.Attempt{}, fmt.Errorf("write commit message: %w", err)
	}
	r := c.repo
	deadline := time.Now().Add(c.options.LockPatience)
	for {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return git.Attempt{}, fmt.Errorf("write commit message: %w", err)
		}
		made, err := r.Git.AsUser(
			ctx,
			git.UserCall{Dir: r.Dir, Env: r.filters.off(r.Git.Env), Args: args, Stdin: file, Timeout: c.options.Timeout},
		)
		// A hook that fails gives exit 1: this is git itself, before any hook.
		locked := made.Code == 128 && strings.Contains(made.Output, "index.lock")
		if err != nil || !locked || time.Now().After(deadline) {
			return made, err
		}
		if _, err := unlocked(ctx, filepath.Join(r.GitDir, "index.lock"), time.Until(deadline)); err != nil {
			return git.Attempt{}, err
		}
	}
}

// explain says why no commit came of an attempt.
func (c *Committer) explain(ctx context.Context, made git.Attempt, note string) (ralph.CommitResult, error) {
	why := fmt.Sprintf("git commit failed with exit %d", made.Code)
	switch {
	case made.State == process.TimedOut:
		why = fmt.Sprintf(
			"the commit did not end within %v (a hook or a signature that waits for somebody?)",
			c.options.Timeout,
		)
	case made.Worked():
		why = "git commit said that all is well, but there is no new commit"
	case made.Code == 1:
		why = "git commit was refused, as by a hook (exit 1)"
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

// headCommit is the commit that is checked out, "" before the first.
func (r *Repo) headCommit(ctx context.Context) (string, error) { return r.resolve(ctx, "HEAD") }

// resolve is the commit that a name stands for, "" if there is none.
func (r *Repo) resolve(ctx context.Context, name string) (string, error) {
	return r.lookup(ctx, "look for "+name, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
}

func (c *Committer) subject(ctx context.Context, commit string) (string, error) {
	out, err := c.repo.run(ctx, "rev-list", "--max-count=1", "--format=%s", commit)
	_, subject, _ := strings.Cut(strings.TrimSuffix(out, "\n"), "\n")
	return subject, wrapped("read commit", err)
}

func (c *Committer) staging(ctx context.Context, what []string) (staging, error) {
	out, err := c.repo.run(ctx, "write-tree")
	if err != nil {
		return staging{}, fmt.Errorf("look at what is staged: %w", err)
	}
	rest, err := c.unstaged(ctx, what)
	return staging{strings.TrimSpace(out), rest}, err
}

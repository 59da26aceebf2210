package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"os"
	slashpath "path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
)

// mergeTimeout limits the last step of a merge, which writes files and runs the user's post-merge
// hook.
const mergeTimeout = 10 * time.Minute

// MergeEnd is the outcome of a merge.
type MergeEnd string

// The outcomes of a merge.
const (
	MergeFastForward MergeEnd = "fast_forward" // the branch contained all of our commits
	MergeCommitted   MergeEnd = "merged"       // with a merge commit
	MergeAlready     MergeEnd = "already"      // there was nothing to merge
	MergeConflict    MergeEnd = "conflict"     // both sides changed Files; nothing was changed
	MergeInTheWay    MergeEnd = "in_the_way"   // uncommitted Files would be overwritten; nothing was changed
	MergeFailed      MergeEnd = "failed"       // for the reason in Output; nothing was changed
)

// Merged reports whether the checked-out branch contains the work.
func (e MergeEnd) Merged() bool {
	return e == MergeFastForward || e == MergeCommitted || e == MergeAlready
}

// MergeResult is the result of a merge.
type MergeResult struct {
	End    MergeEnd
	Branch string   // the branch to merge
	Into   string   // the checked-out branch
	Commit string   // the current commit of Into; "" if nothing was merged
	Files  []string // with MergeConflict and MergeInTheWay
	Output string   // with MergeFailed: the reason; otherwise: output of a failed hook after the merge
}

// Merge merges a branch into the one that is checked out in the workspace. It first tries the merge
// beside the working tree and then applies it in one step. So a conflict or a failed signature
// changes nothing, and never leaves a merge in progress. Merge never resolves conflicts. It keeps
// the user's uncommitted changes, and refuses if the merge affects the same files.
//
// The merge commit has the user's identity and signature. A refusal that concerns the repository,
// not the two branches, is a *Problem.
func (r *Repo) Merge(ctx context.Context, branch string) (MergeResult, error) {
	r = r.clone()
	m := merge{repo: r, result: MergeResult{Branch: branch}}
	err := m.prepare(ctx)
	target := ""
	if err == nil && m.result.End == "" {
		target, err = m.target(ctx)
	}
	if err == nil && m.result.End == "" {
		err = m.moveTo(ctx, target)
	}
	return m.result, err
}

// merge is the state of one merge.
type merge struct {
	repo         *Repo
	ours, theirs string // commits
	result       MergeResult
}

// prepare checks whether a merge is possible and needed.
func (m *merge) prepare(ctx context.Context) error {
	r := m.repo
	err := firstProblem(ctx, r, operationInProgress, unresolvedConflicts, locked)
	if err != nil {
		return err
	}
	if m.result.Into, err = r.branch(ctx); err != nil {
		return err
	}
	if m.ours, err = r.headCommit(ctx); err != nil {
		return err
	}
	if m.theirs, err = r.resolve(ctx, "refs/heads/"+m.result.Branch); err != nil {
		return err
	}
	switch {
	case m.theirs == "":
		return &Problem{Kind: ProblemBranchMissing, Stops: true, Text: "there is no branch " + m.result.Branch}
	case m.result.Into == "" || m.ours == "":
		return &Problem{
			Kind:  ProblemDetached,
			Stops: true,
			Text:  "no branch is checked out in " + r.Top,
			Hint:  "git switch to the branch to merge into",
		}
	}
	already, err := r.contains(ctx, m.ours, m.theirs)
	if already {
		m.result.End, m.result.Commit = MergeAlready, m.ours
	}
	return err
}

// contains reports whether ancestor is part of the commit's history.
func (r *Repo) contains(ctx context.Context, commit, ancestor string) (bool, error) {
	_, err := r.run(ctx, "merge-base", "--is-ancestor", ancestor, commit)
	return succeeded("compare commits", err)
}

// target returns the commit to move to: theirs, or a commit that merges both sides.
func (m *merge) target(ctx context.Context) (string, error) {
	ahead, err := m.repo.contains(ctx, m.theirs, m.ours)
	if ahead || err != nil {
		return m.theirs, err
	}
	tree, conflicts, err := m.mergeTrees(ctx)
	if err != nil {
		return "", err
	}
	if len(conflicts) > 0 {
		m.result.End, m.result.Files = MergeConflict, conflicts
		return "", nil
	}
	return m.commit(ctx, tree)
}

// commit creates the merge commit, which no ref points to yet.
func (m *merge) commit(ctx context.Context, tree string) (string, error) {
	r := m.repo
	signs, err := m.signs(ctx)
	if err != nil {
		return "", err
	}
	if programs := r.configured.refusedSigning(); programs != nil {
		return "", notAgreed("commits are signed by " + scan.List(programs))
	}
	message := fmt.Sprintf("Merge branch '%s'", m.result.Branch)
	args := []string{"commit-tree", "-p", m.ours, "-p", m.theirs, "-m", message}
	if signs {
		args = append(args, "-S")
	}
	made, err := r.asUser(
		ctx,
		git.UserCall{Dir: r.Top, Env: r.checkout().location(), Args: append(args, tree), Timeout: DefaultCommitTimeout},
	)
	if err != nil {
		return "", err
	}
	if failed := made.Failure("commit-tree"); failed != nil {
		if err := firstProblem(ctx, r, unknownIdentity); err != nil {
			return "", err
		}
		m.result.End, m.result.Output = MergeFailed, failed.Error()
		return "", nil
	}
	return strings.TrimSpace(made.Stdout), nil
}

// signs reports whether the user signs commits. commit-tree ignores that setting.
func (m *merge) signs(ctx context.Context) (bool, error) {
	text, err := m.repo.lookup(ctx, "read commit.gpgSign", "config", "--type=bool", "--get", "commit.gpgSign")
	return text == "true", err
}

// moveTo moves the branch and the working tree to the target, or neither.
func (m *merge) moveTo(ctx context.Context, target string) error {
	r := m.repo
	var err error
	if m.result.Files, err = m.blockingFiles(ctx, target); err != nil {
		return err
	}
	if len(m.result.Files) > 0 {
		m.result.End = MergeInTheWay
		return nil
	}
	if files, err := unfiltered(ctx, r); files != nil || err != nil {
		return errors.Join(err, notAgreed(files...))
	}
	if same, err := r.sameRepository(ctx); !same || err != nil {
		return errors.Join(
			err,
			&Problem{
				Kind:  ProblemNotOurs,
				Stops: true,
				Text:  fmt.Sprintf("%s is no longer the same repository", r.Top),
			},
		)
	}
	verify := "--no-verify-signatures" // branch.*.mergeOptions could ask for the opposite
	if r.configured.checks {
		verify = "--verify-signatures"
		if programs := r.configured.unagreedSigners(); programs != nil {
			return notAgreed("signatures are verified by " + scan.List(programs))
		}
	}
	// Git finds the repository by itself, for the user's post-merge hook.
	taken, err := r.asUser(ctx, git.UserCall{
		Dir:     r.Top,
		Env:     []string{"GIT_REFLOG_ACTION=merge " + m.result.Branch},
		Timeout: mergeTimeout,
		Args: []string{
			"-c", "merge.autoStash=false",
			"merge", "--quiet", "--ff-only", verify, "--no-overwrite-ignore", "--no-edit", target,
		},
	})
	if err != nil {
		return err
	}
	now, err := r.headCommit(ctx)
	if err != nil {
		return err
	}
	home, err := r.contains(ctx, now, target) // a hook may have added a commit
	if err != nil {
		return err
	}
	switch failed := taken.Failure("merge"); {
	case !home && failed == nil:
		m.result.End = MergeFailed
		m.result.Output = "git merge reported success, but " + m.result.Into + " does not contain the work"
		return nil
	case !home:
		m.result.End, m.result.Output = MergeFailed, failed.Error()
		return nil
	case failed != nil:
		m.result.Output = "merged, but a later step failed\n" + taken.Output
	}
	m.result.End, m.result.Commit = MergeFastForward, now
	if target != m.theirs {
		m.result.End = MergeCommitted
	}
	return nil
}

// blockingFiles lists the files that differ between our commit and the target and do not match our
// commit: modified, untracked or ignored ones. If the user has files in a folder where the merge
// must write a file, git detects that itself.
func (m *merge) blockingFiles(ctx context.Context, target string) ([]string, error) {
	st, err := m.repo.Whole().status(ctx)
	if err != nil {
		return nil, err
	}
	dirty := map[string]bool{}
	for _, p := range st.paths {
		dirty[p.name] = true
	}
	out, err := m.repo.run(ctx, "diff-tree", "-r", "-z", "--no-renames", "--name-status", m.ours, target)
	if err != nil {
		return nil, fmt.Errorf("compare commits: %w", err)
	}
	fields := git.SplitNames(out)
	removed := map[string]bool{}
	for i := 0; i+1 < len(fields); i += 2 {
		removed[fields[i+1]] = fields[i] == "D"
	}
	var files []string
	for i := 0; i+1 < len(fields); i += 2 {
		status, name := fields[i], fields[i+1]
		if status == "A" {
			name = m.obstacle(name, removed)
		} else if !dirty[name] {
			name = ""
		}
		if name != "" && !slices.Contains(files, name) {
			files = append(files, name)
		}
	}
	return files, nil
}

// obstacle returns the path that prevents writing a new file: a file at the same path, or at the
// path of a parent folder, unless it is removed at the same time. It returns "" if there is none.
func (m *merge) obstacle(name string, removed map[string]bool) string {
	for at := name; at != "."; at = slashpath.Dir(at) {
		info, err := os.Lstat(filepath.Join(m.repo.Top, filepath.FromSlash(at)))
		if err == nil && !info.IsDir() && !removed[at] {
			return at
		}
	}
	return ""
}

// mergeTrees returns the tree of both sides merged, or the files in conflict. It changes neither
// the working tree nor the index.
func (m *merge) mergeTrees(ctx context.Context) (tree string, conflicts []string, err error) {
	run := func(ctx context.Context, c git.Call) (string, error) {
		c.Dir = m.repo.Top
		return m.repo.call(ctx, c)
	}
	tree, conflicts, err = git.MergeCommits(ctx, run, m.ours, m.theirs)
	if !errors.Is(err, git.ErrOldGit) {
		return tree, conflicts, err
	}
	base, err := run(ctx, git.Call{Args: []string{"merge-base", m.ours, m.theirs}})
	if err != nil {
		return "", nil, fmt.Errorf("try merge: %w", err)
	}
	return git.MergeSimply(ctx, run, [3]string{strings.TrimSpace(base), m.ours, m.theirs})
}

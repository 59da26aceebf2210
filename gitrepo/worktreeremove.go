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

	"github.com/ralphloop/ralph/gitrepo/internal/scan"
	"github.com/ralphloop/ralph/internal/atomicfile"
	"github.com/ralphloop/ralph/internal/text"
)

// Removal selects what may be removed.
type Removal string

const (
	// RemoveMerged removes only work that also exists elsewhere.
	RemoveMerged Removal = "merged"
	// RemoveAnyway also removes work that exists nowhere else.
	RemoveAnyway Removal = "anyway"
)

// Remove removes one of the harness's worktrees and its branch; either may already be gone. With
// RemoveMerged, it refuses with a *Problem if there are unmerged commits or uncommitted changes, or
// if the changes cannot be determined. It always refuses if the user locked the worktree. The
// caller must know whether a run still uses it.
func (ws Worktrees) Remove(ctx context.Context, w Worktree, how Removal) error {
	e, err := ws.findEntry(ctx, w)
	if err != nil {
		return err
	}
	e.branch = cmp.Or(e.branch, w.Branch) // an agent may have left its branch, so check that too
	tip, err := ws.tip(ctx, e.branch)
	if err != nil {
		return err
	}
	if tip == "" {
		e.branch = ""
	}
	if e.path == "" && e.branch == "" {
		return nil
	}
	state, err := ws.state(ctx, e)
	if err != nil {
		return err
	}
	if p := state.refusal(how); p != nil {
		return p
	}
	if err := ws.removeFolder(ctx, e); err != nil {
		return err
	}
	return ws.removeBranch(ctx, e.branch, tip)
}

// findEntry finds a worktree in git's list. Without a path, w is only a branch.
func (ws Worktrees) findEntry(ctx context.Context, w Worktree) (worktreeEntry, error) {
	entries, err := ws.entries(ctx)
	if err != nil {
		return worktreeEntry{}, err
	}
	path := ""
	if w.Path != "" {
		if path, err = resolvePath(w.Path); err != nil {
			return worktreeEntry{}, fmt.Errorf("remove worktree: %w", err)
		}
	}
	for _, e := range entries {
		switch {
		case e.path == path && !e.main:
			return e, nil
		case e.path == path, e.branch == w.Branch && w.Branch != "":
			return worktreeEntry{}, &Problem{
				Kind:  ProblemNotOurs,
				Stops: true,
				Text:  fmt.Sprintf("%s is checked out in %s, which is not the worktree to remove", e.checkedOut(), e.path),
			}
		}
	}
	if path == "" {
		return worktreeEntry{}, nil
	}
	if _, err := os.Lstat(path); err == nil {
		return worktreeEntry{}, &Problem{
			Kind:  ProblemNotOurs,
			Stops: true,
			Text:  fmt.Sprintf("%s is not a worktree of %s", path, ws.repo.Top),
			Hint:  "if you no longer need it, delete it yourself",
		}
	}
	return worktreeEntry{}, nil
}

// refusal returns why a worktree must not be removed, or nil.
func (s WorktreeState) refusal(how Removal) *Problem {
	name := cmp.Or(s.Branch, s.Path)
	switch {
	case s.Locked:
		return &Problem{
			Kind:  ProblemWorktreeChanged,
			Stops: true,
			Text:  s.Path + " is locked",
			Hint:  "if you no longer need it: git worktree unlock " + s.Path,
		}
	case how == RemoveAnyway:
		return nil
	case !s.Merged:
		return &Problem{
			Kind:  ProblemUnmerged,
			Stops: true,
			Text:  fmt.Sprintf("%s has %s not on any other branch", name, text.Count(s.Ahead, "commit")),
			Hint:  unmergedHint(s),
		}
	case s.Trouble != "":
		return &Problem{Kind: ProblemWorktreeChanged, Stops: true, Text: s.Trouble, Hint: "remove it with --force"}
	case s.Dirty > 0:
		return &Problem{
			Kind:  ProblemWorktreeChanged,
			Stops: true,
			Text:  fmt.Sprintf("%s has %s", s.Path, text.Count(s.Dirty, "uncommitted change")),
			Hint:  "commit them, or remove it with --force",
		}
	}
	return nil
}

// unmergedHint names the two ways to deal with unmerged work.
func unmergedHint(s WorktreeState) string {
	if s.Branch == "" {
		return fmt.Sprintf(
			"keep it with git -C %s switch -c NAME, or discard it with git worktree remove --force %s",
			s.Path,
			s.Path,
		)
	}
	drop := "git branch -D " + s.Branch
	if s.Path != "" {
		drop = "git worktree remove --force " + s.Path + " && " + drop
	}
	return fmt.Sprintf("merge it with git merge %s, or discard it with %s", s.Branch, drop)
}

// removeFolder removes a worktree's folder and its entry in git's list. It renames the folder first: git
// deletes the files one by one, and the rest after a kill would look like changed work. --force is
// needed because of the progress file and submodules; the callers have checked what it could destroy.
func (ws Worktrees) removeFolder(ctx context.Context, e worktreeEntry) error {
	if e.path == "" {
		return nil
	}
	aside := filepath.Join(filepath.Dir(e.path), atomicfile.TempName())
	renamed := os.Rename(e.path, aside)
	if renamed != nil && !errors.Is(renamed, fs.ErrNotExist) {
		return fmt.Errorf("remove worktree: %w", renamed)
	}
	if _, err := ws.repo.run(ctx, "worktree", "remove", "--force", e.path); err != nil {
		if renamed == nil {
			err = errors.Join(err, os.Rename(aside, e.path))
		}
		return fmt.Errorf("remove worktree: %w", err)
	}
	if err := os.RemoveAll(aside); err != nil {
		return fmt.Errorf("remove worktree: files are left in %s: %w", aside, err)
	}
	return nil
}

// removeBranch removes one of the harness's branches if it still points to tip.
func (ws Worktrees) removeBranch(ctx context.Context, name, tip string) error {
	if name == "" || !strings.HasPrefix(name, ourBranches) {
		return nil
	}
	_, err := ws.repo.run(ctx, "update-ref", "-d", "refs/heads/"+name, tip)
	return wrapError("remove branch", err)
}

// removeAbandoned removes worktrees beside w that git did not complete, because it was killed. Git
// itself may not be able to list them, and then lists no worktree at all. Their branches have no work.
func (ws Worktrees) removeAbandoned(ctx context.Context, w Worktree, idle func(string) bool) error {
	if idle == nil {
		return nil
	}
	records, err := filepath.Glob(filepath.Join(ws.repo.CommonDir(), "worktrees", "*"))
	if err != nil {
		return fmt.Errorf("list worktrees: %w", err)
	}
	for _, record := range records {
		lock, _ := scan.ReadSmall(filepath.Join(record, "locked"))
		link, _ := scan.ReadSmall(filepath.Join(record, "gitdir")) // may be cut
		path := filepath.Join(filepath.Dir(w.Path), filepath.Base(record))
		half := slices.Contains([]string{halfMade, "added with --lock"}, strings.TrimSpace(string(lock)))
		ours := len(link) > 0 && strings.HasPrefix(filepath.ToSlash(path)+"/.git\n", string(link))
		if !half || !ours || !idle(path) {
			continue
		}
		for _, left := range []string{path, record} {
			if err := os.RemoveAll(left); err != nil {
				return fmt.Errorf("remove half-made worktree: %w", err)
			}
		}
		if err := ws.removeMergedBranch(ctx, ourBranches+filepath.Base(path)); err != nil {
			return err
		}
	}
	return nil
}

// removeMergedBranch removes one of the harness's branches if it has no work.
func (ws Worktrees) removeMergedBranch(ctx context.Context, name string) error {
	tip, err := ws.tip(ctx, name)
	if err != nil || tip == "" {
		return err
	}
	if ahead, err := ws.ahead(ctx, tip); ahead > 0 || err != nil {
		return err
	}
	return ws.removeBranch(ctx, name, tip)
}

// removeEarlier removes an earlier, merged worktree of the branch. It returns a warning about that.
func (ws Worktrees) removeEarlier(ctx context.Context, w Worktree, idle func(string) bool) (string, error) {
	entries, err := ws.entries(ctx)
	if err != nil {
		return "", err
	}
	tip, err := ws.tip(ctx, w.Branch)
	if err != nil {
		return "", err
	}
	held := worktreeEntry{branch: w.Branch}
	if i := slices.IndexFunc(entries, func(e worktreeEntry) bool { return e.branch == w.Branch }); i >= 0 {
		held = entries[i]
	}
	if tip != "" {
		if err := ws.removeIfMerged(ctx, held, idle); err != nil {
			return "", err
		}
		if entries, err = ws.entries(ctx); err != nil {
			return "", err
		}
	}
	err = ws.pruneMissing(ctx, entries, func(e worktreeEntry) bool { return e.path == w.Path })
	if err != nil {
		return "", err
	}
	if left, err := os.ReadDir(w.Path); err == nil && len(left) > 0 || err != nil && !os.IsNotExist(err) {
		return "", &Problem{
			Kind:  ProblemBadPath,
			Stops: true,
			Text:  fmt.Sprintf("the worktree folder %s already exists", w.Path),
			Hint:  "choose another folder",
		}
	}
	if tip == "" {
		return "", nil
	}
	return fmt.Sprintf("the branch %s was already merged and starts over", w.Branch), nil
}

// removeIfMerged removes an earlier worktree of a branch if that loses nothing.
func (ws Worktrees) removeIfMerged(ctx context.Context, e worktreeEntry, idle func(string) bool) error {
	if e.main {
		return &Problem{
			Kind:  ProblemBranchTaken,
			Stops: true,
			Text:  fmt.Sprintf("%s is checked out in %s", e.branch, e.path),
			Hint:  "choose another name, or switch to another branch there",
		}
	}
	state, err := ws.state(ctx, e)
	if err != nil {
		return err
	}
	if p := state.refusal(RemoveMerged); p != nil {
		p.Kind = ProblemBranchTaken
		return p
	}
	if e.path == "" {
		return nil
	}
	if !state.Missing && (idle == nil || !idle(e.path)) {
		return &Problem{
			Kind:  ProblemBranchTaken,
			Stops: true,
			Text:  fmt.Sprintf("%s is checked out in %s", e.branch, e.path),
			Hint:  "choose another name, or remove it with ralph clean if its run has ended",
		}
	}
	return ws.removeFolder(ctx, e)
}

// pruneMissing removes worktrees whose folder is gone from git's list. `git worktree prune` would
// also remove those of the user on a disk that is not mounted.
func (ws Worktrees) pruneMissing(ctx context.Context, entries []worktreeEntry, which func(worktreeEntry) bool) error {
	for _, e := range entries {
		if e.main || !e.gone() || !which(e) {
			continue
		}
		if err := ws.removeFolder(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

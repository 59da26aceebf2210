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

	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
)

// WorktreeState is the state of one of the harness's worktrees, or of a branch without a worktree:
// then Path is "".
type WorktreeState struct {
	Worktree        // without its Base, which is not recorded
	Merged   bool   // its commits are also in a local or remote branch of the user's
	Ahead    int    // number of commits that are not merged
	Dirty    int    // files with uncommitted changes
	Missing  bool   // the folder is gone
	Locked   bool   // the user locked it with git worktree lock
	Trouble  string // why its changes cannot be determined; "" if they can
}

// Removable reports whether removing it loses nothing.
func (s WorktreeState) Removable() bool {
	return s.Merged && s.Dirty == 0 && s.Trouble == "" && !s.Locked
}

// List lists the harness's worktrees of this repository, which are below the folder under or on a
// branch ralph/…, and the harness's branches without a worktree. It never includes the main working
// tree or its checked-out branch.
func (ws Worktrees) List(ctx context.Context, under string) ([]WorktreeState, error) {
	entries, err := ws.entries(ctx)
	if err != nil {
		return nil, err
	}
	if under != "" {
		if under, err = resolvePath(under); err != nil {
			return nil, fmt.Errorf("list worktrees: %w", err)
		}
	}
	out, err := ws.repo.run(ctx, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/"+ourBranches)
	if err != nil {
		return nil, fmt.Errorf("list branches: %w", err)
	}
	branches := strings.Fields(out)
	entries = slices.DeleteFunc(entries, func(e worktreeEntry) bool {
		branches = slices.DeleteFunc(branches, func(name string) bool { return name == e.branch })
		return e.main || !strings.HasPrefix(e.branch, ourBranches) && !e.liesBelow(under)
	})
	for _, name := range branches {
		entries = append(entries, worktreeEntry{branch: name})
	}
	var states []WorktreeState
	for _, e := range entries {
		state, err := ws.state(ctx, e)
		if err != nil {
			return nil, err
		}
		states = append(states, state)
	}
	return states, nil
}

// state inspects a worktree, or a branch if the entry has no path.
func (ws Worktrees) state(ctx context.Context, e worktreeEntry) (WorktreeState, error) {
	s := WorktreeState{
		Worktree: Worktree{Path: e.path, Branch: e.branch, Below: strings.TrimSuffix(ws.repo.Prefix, "/")},
		Locked:   e.locked,
		Missing:  e.gone(),
	}
	tip, err := ws.tip(ctx, e.branch)
	if err != nil {
		return s, err
	}
	tips := slices.DeleteFunc([]string{e.head, tip}, func(commit string) bool { return commit == "" })
	if len(tips) > 0 {
		if s.Ahead, err = ws.ahead(ctx, tips...); err != nil {
			return s, err
		}
	}
	s.Merged = s.Ahead == 0
	if !s.Missing {
		s.Dirty, s.Trouble, err = ws.changesIn(ctx, e.path)
	}
	return s, err
}

// tip returns the last commit of a branch, or "" if there is none.
func (ws Worktrees) tip(ctx context.Context, branch string) (string, error) {
	if branch == "" {
		return "", nil
	}
	return ws.repo.resolve(ctx, "refs/heads/"+branch)
}

// ahead counts the commits that are only in the harness's branches.
func (ws Worktrees) ahead(ctx context.Context, tips ...string) (int, error) {
	args := append([]string{"rev-list", "--count"}, tips...)
	args = append(args, "--not", "--exclude="+ourBranches+"*", "--branches", "--exclude=*/"+ourBranches+"*", "--remotes")
	out, err := ws.repo.run(ctx, args...)
	n := 0
	if err == nil {
		n, err = strconv.Atoi(strings.TrimSpace(out))
	}
	return n, wrapError("count commits", err)
}

// Uncommitted counts the changes in the worktree of a branch that a merge of the branch would leave out. If there is
// no such worktree, or an agent broke it, there are none.
func (ws Worktrees) Uncommitted(ctx context.Context, branch string) (int, error) {
	entries, err := ws.entries(ctx)
	for _, e := range entries {
		if e.branch == branch && !e.main && !e.gone() {
			changed, _, err := ws.changesIn(ctx, e.path)
			return changed, err
		}
	}
	return 0, err
}

// changesIn counts the uncommitted changes in a worktree, without the harness's progress file. If
// an agent broke the worktree, it returns a description, not an error.
func (ws Worktrees) changesIn(ctx context.Context, folder string) (int, string, error) {
	there, ok, err := Find(ctx, ws.repo.Git, folder)
	if ctx.Err() != nil {
		return 0, "", fmt.Errorf("look at worktree: %w", context.Cause(ctx))
	}
	if err != nil {
		return 0, err.Error(), nil
	}
	if !ok || there.Top != folder || !sameFolder(there.CommonDir(), ws.repo.CommonDir()) {
		return 0, fmt.Sprintf("%s is no longer connected to %s", folder, ws.repo.Top), nil
	}
	there.configured = ws.repo.configured.elsewhere() // do not trust filters that an agent added meanwhile
	st, err := there.status(ctx)
	if git.Failed(err) {
		return 0, err.Error(), nil
	}
	changed := slices.DeleteFunc(st.paths, func(p path) bool { return p.name == ws.repo.Prefix+scan.ProgressFile })
	if modules, _ := os.ReadDir(filepath.Join(there.GitDir, "modules")); len(modules) > 0 && len(changed) == 0 {
		return 0, fmt.Sprintf("the submodules in %s have their own repositories, which would be removed with it", folder), err
	}
	return len(changed), "", err
}

func sameFolder(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// worktreeEntry is one worktree in git's list.
type worktreeEntry struct {
	path   string
	head   string // "" before the first commit of a branch
	branch string // "" if HEAD is detached
	main   bool
	locked bool
}

func (e worktreeEntry) gone() bool {
	_, err := os.Lstat(e.path)
	return errors.Is(err, os.ErrNotExist)
}

func (e worktreeEntry) liesBelow(folder string) bool {
	relative, err := filepath.Rel(folder, e.path)
	return folder != "" && err == nil && relative != "." && filepath.IsLocal(relative)
}

func (e worktreeEntry) checkedOut() string { return branchOr(e.branch) }

// entries lists all worktrees of the repository, the main one first.
func (ws Worktrees) entries(ctx context.Context) ([]worktreeEntry, error) {
	out, err := ws.repo.run(ctx, "worktree", "list", "--porcelain", "-z")
	if git.ExitCode(err) == 129 { // git before 2.36
		out, err = ws.repo.run(ctx, "worktree", "list", "--porcelain")
		out = strings.ReplaceAll(out, "\n", "\x00")
	}
	return parseEntries(out), wrapError("list worktrees", err)
}

// parseEntries parses `git worktree list --porcelain -z`: lines of "key value", with an empty line
// after each worktree.
func parseEntries(out string) []worktreeEntry {
	var list []worktreeEntry
	for line := range strings.SplitSeq(out, "\x00") {
		key, value, _ := strings.Cut(line, " ")
		if key == "worktree" {
			list = append(list, worktreeEntry{path: filepath.FromSlash(value), main: len(list) == 0})
			continue
		}
		if len(list) == 0 {
			continue
		}
		e := &list[len(list)-1]
		switch key {
		case "HEAD":
			if strings.Trim(value, "0") != "" {
				e.head = value
			}
		case "branch":
			e.branch = strings.TrimPrefix(value, "refs/heads/")
		case "locked":
			e.locked = true
		}
	}
	return list
}

// Strayed checks whether the last commit in a worktree is on its branch or already merged. An agent
// may have switched to another branch. Then a merge of the worktree's branch would find nothing and
// report success.
func (ws Worktrees) Strayed(ctx context.Context, w Worktree) (*Problem, error) {
	path, err := resolvePath(w.Path)
	if err != nil {
		return nil, fmt.Errorf("look at worktree: %w", err)
	}
	entries, err := ws.entries(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.path != path || e.main || e.branch == w.Branch || e.head == "" {
			continue
		}
		for _, home := range []string{"refs/heads/" + w.Branch, "HEAD"} {
			tip, err := ws.repo.resolve(ctx, home)
			if err != nil {
				return nil, err
			}
			if tip == "" {
				continue
			}
			if there, err := ws.repo.contains(ctx, tip, e.head); there || err != nil {
				return nil, err
			}
		}
		return &Problem{
			Kind:  ProblemStrayed,
			Stops: true,
			Text: fmt.Sprintf(
				"%s is checked out in %s instead of %s, with commits that the branch does not have",
				e.checkedOut(),
				e.path,
				w.Branch,
			),
			Hint: fmt.Sprintf("git merge %.10s merges them", e.head),
		}, nil
	}
	return nil, nil
}

package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// errOldGit says that git cannot merge without a working tree, as it can since 2.38.
var errOldGit = errors.New("git is older than 2.38")

// gitRun runs git on one repository, with what the call adds to its environment.
type gitRun func(ctx context.Context, c call) error

// joined is the tree of both sides merged, or the files in conflict. Neither the working
// tree nor the index is touched.
func (r *Repo) joined(ctx context.Context, ours, theirs string) (tree string, conflicts []string, err error) {
	run := func(ctx context.Context, c call) error {
		c.dir, c.env = r.Top, append(r.environment(), c.env...)
		return r.git.run(ctx, c)
	}
	tree, conflicts, err = mergeCommits(ctx, run, ours, theirs)
	if !errors.Is(err, errOldGit) {
		return tree, conflicts, err
	}
	var base bytes.Buffer
	if err := run(ctx, call{out: &base, args: []string{"merge-base", ours, theirs}}); err != nil {
		return "", nil, fmt.Errorf("try merge: %w", err)
	}
	return mergeSimply(ctx, run, [3]string{strings.TrimSpace(base.String()), ours, theirs})
}

// mergeCommits merges two commits, or names the files in conflict.
func mergeCommits(ctx context.Context, run gitRun, ours, theirs string) (tree string, conflicts []string, err error) {
	out := limited{limit: statusLimit}
	err = run(ctx, call{out: &out, args: []string{"merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs}})
	failed, ok := errors.AsType[*failure](err)
	switch {
	case err == nil:
		return strings.Trim(out.text.String(), "\x00\n"), nil, nil
	case ok && failed.code == 1:
		fields := splitNames(out.text.String())
		return "", fields[min(1, len(fields)):], nil
	case ok && failed.code == 129:
		return "", nil, errOldGit
	}
	return "", nil, fmt.Errorf("try merge: %w", err)
}

// mergeSimply merges whole files only, of base, ours and theirs: each that both sides
// changed differently counts as a conflict, since telling would take a working tree.
func mergeSimply(ctx context.Context, run gitRun, sides [3]string) (tree string, conflicts []string, err error) {
	folder, err := os.MkdirTemp("", "ralph-merge-")
	if err != nil {
		return "", nil, fmt.Errorf("try merge: %w", err)
	}
	defer os.RemoveAll(folder)
	git := func(out io.Writer, args ...string) error {
		return wrapped("try merge", run(ctx, call{env: []string{"GIT_INDEX_FILE=" + filepath.Join(folder, "index")}, args: args, out: out}))
	}
	if err := git(io.Discard, "read-tree", "-i", "-m", "--aggressive", sides[0], sides[1], sides[2]); err != nil {
		return "", nil, err
	}
	unmerged := limited{limit: statusLimit}
	if err := git(&unmerged, "ls-files", "--unmerged", "-z"); err != nil {
		return "", nil, err
	}
	for _, line := range splitNames(unmerged.text.String()) {
		_, name, _ := strings.Cut(line, "\t")
		conflicts = append(conflicts, name)
	}
	if len(conflicts) > 0 {
		return "", slices.Compact(conflicts), nil
	}
	var out bytes.Buffer
	err = git(&out, "write-tree")
	return strings.TrimSpace(out.String()), nil, err
}

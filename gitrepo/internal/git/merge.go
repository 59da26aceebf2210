package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrOldGit means that git cannot merge without a working tree, which needs version 2.38.
var ErrOldGit = errors.New("git is older than 2.38")

// Runner runs git on one repository, with the environment of the call added.
type Runner func(ctx context.Context, c Call) (string, error)

// MergeCommits merges two commits, or returns the files in conflict.
func MergeCommits(ctx context.Context, run Runner, ours, theirs string) (tree string, conflicts []string, err error) {
	text, err := run(
		ctx,
		Call{Args: []string{"merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs}},
	)
	switch {
	case err == nil:
		return strings.Trim(text, "\x00\n"), nil, nil
	case ExitCode(err) == 1:
		fields := SplitNames(text)
		return "", fields[min(1, len(fields)):], nil
	case ExitCode(err) == 129:
		return "", nil, ErrOldGit
	}
	return "", nil, fmt.Errorf("try merge: %w", err)
}

// MergeSimply merges only whole files, of base, ours and theirs. Each file that both sides changed
// differently counts as a conflict, because merging its content would need a working tree.
func MergeSimply(ctx context.Context, run Runner, sides [3]string) (tree string, conflicts []string, err error) {
	folder, err := os.MkdirTemp("", "ralph-merge-")
	if err != nil {
		return "", nil, fmt.Errorf("try merge: %w", err)
	}
	defer os.RemoveAll(folder)
	git := func(args ...string) (string, error) {
		return run(ctx, Call{Env: []string{"GIT_INDEX_FILE=" + filepath.Join(folder, "index")}, Args: args})
	}
	_, err = git("read-tree", "-i", "-m", "--aggressive", sides[0], sides[1], sides[2])
	var unmerged string
	if err == nil {
		unmerged, err = git("ls-files", "--unmerged", "-z")
	}
	for _, line := range SplitNames(unmerged) {
		_, name, _ := strings.Cut(line, "\t")
		conflicts = append(conflicts, name)
	}
	if err == nil && len(conflicts) == 0 {
		tree, err = git("write-tree")
	}
	if err != nil {
		return "", nil, fmt.Errorf("try merge: %w", err)
	}
	return strings.TrimSpace(tree), slices.Compact(conflicts), nil
}

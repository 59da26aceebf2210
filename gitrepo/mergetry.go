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

// joined is the tree of both sides merged, or the files in conflict. Neither the working
// tree nor the index is touched.
func (r *Repo) joined(ctx context.Context, ours, theirs string) (tree string, conflicts []string, err error) {
	out := limited{limit: statusLimit}
	err = r.run(ctx, call{out: &out, args: []string{"merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs}})
	failed, ok := errors.AsType[*failure](err)
	switch {
	case err == nil:
		return strings.Trim(out.text.String(), "\x00\n"), nil, nil
	case ok && failed.code == 1:
		fields := splitNames(out.text.String())
		return "", fields[min(1, len(fields)):], nil
	case ok && failed.code == 129: // git before 2.38
		return r.joinedSimply(ctx, ours, theirs)
	}
	return "", nil, fmt.Errorf("try merge: %w", err)
}

// joinedSimply merges whole files only: each that both sides changed differently counts
// as a conflict, since telling would take a working tree.
func (r *Repo) joinedSimply(ctx context.Context, ours, theirs string) (tree string, conflicts []string, err error) {
	var out bytes.Buffer
	if err := r.run(ctx, call{out: &out, args: []string{"merge-base", ours, theirs}}); err != nil {
		return "", nil, fmt.Errorf("try merge: %w", err)
	}
	folder, err := os.MkdirTemp("", "ralph-merge-")
	if err != nil {
		return "", nil, fmt.Errorf("try merge: %w", err)
	}
	defer os.RemoveAll(folder)
	run := func(out io.Writer, args ...string) error {
		env := append(r.environment(), "GIT_INDEX_FILE="+filepath.Join(folder, "index"))
		return wrapped("try merge", r.git.run(ctx, call{dir: r.Top, env: env, args: args, out: out}))
	}
	base := strings.TrimSpace(out.String())
	if err := run(io.Discard, "read-tree", "-i", "-m", "--aggressive", base, ours, theirs); err != nil {
		return "", nil, err
	}
	unmerged := limited{limit: statusLimit}
	if err := run(&unmerged, "ls-files", "--unmerged", "-z"); err != nil {
		return "", nil, err
	}
	for _, line := range splitNames(unmerged.text.String()) {
		_, name, _ := strings.Cut(line, "\t")
		conflicts = append(conflicts, name)
	}
	if len(conflicts) > 0 {
		return "", slices.Compact(conflicts), nil
	}
	out.Reset()
	err = run(&out, "write-tree")
	return strings.TrimSpace(out.String()), nil, err
}

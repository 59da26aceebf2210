package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// staging is what a commit is to bring, and what lies in the workspace beside it.
type staging struct {
	tree string
	rest []string
}

func (r *Repo) staging(ctx context.Context, what []string) (staging, error) {
	out := limited{limit: 1 << 10}
	if err := r.run(ctx, call{out: &out, args: []string{"write-tree"}}); err != nil {
		return staging{}, fmt.Errorf("look at what is staged: %w", err)
	}
	rest, err := r.unstaged(ctx, what)
	return staging{strings.TrimSpace(out.text.String()), rest}, err
}

// unstaged lists what is other than in the index.
func (r *Repo) unstaged(ctx context.Context, what []string) ([]string, error) {
	out := limited{limit: statusLimit}
	args := append([]string{"ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard", "--"}, what...)
	if err := r.run(ctx, call{out: &out, args: args}); err != nil {
		return nil, fmt.Errorf("look at what is not staged: %w", err)
	}
	return splitNames(out.text.String()), nil
}

// changedSince reports whether a hook has changed the files, those that were committed or
// those that lie there.
func (r *Repo) changedSince(ctx context.Context, before staging, what []string) (bool, error) {
	err := r.run(ctx, call{args: append([]string{"diff", "--quiet", "--no-ext-diff", before.tree, "HEAD", "--"}, what...)})
	if failed, ok := errors.AsType[*failure](err); ok && failed.code == 1 {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("compare commit: %w", err)
	}
	rest, err := r.unstaged(ctx, what)
	return !slices.Equal(rest, before.rest), err
}

package gitrepo

import (
	"context"
	"fmt"
)

// Strayed looks whether what was last committed in a worktree is on its branch, or home
// already. An agent may have switched to another branch; a merge of the worktree's own
// would then find nothing, and say that all is well.
func (r *Repo) Strayed(ctx context.Context, w Worktree) (*Problem, error) {
	r = r.apart()
	path, err := resolved(w.Path)
	if err != nil {
		return nil, fmt.Errorf("look at worktree: %w", err)
	}
	entries, err := r.entries(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.path != path || e.main || e.branch == w.Branch || e.head == "" {
			continue
		}
		for _, home := range []string{"refs/heads/" + w.Branch, "HEAD"} {
			tip, err := r.resolve(ctx, home)
			if err != nil {
				return nil, err
			}
			if tip == "" {
				continue
			}
			if there, err := r.contains(ctx, tip, e.head); there || err != nil {
				return nil, err
			}
		}
		return &Problem{Kind: ProblemStrayed, Stops: true,
			Text: fmt.Sprintf("not %s but %s is checked out in %s, with commits that are not on it", w.Branch, e.checkedOut(), e.path),
			Hint: fmt.Sprintf("git merge %.10s brings them home", e.head)}, nil
	}
	return nil, nil
}

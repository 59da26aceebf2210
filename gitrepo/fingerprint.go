package gitrepo

import (
	"context"
	"fmt"
	"os"

	"github.com/ralphloop/ralph"
)

// Fingerprint says what the workspace looks like now, with one git call, and a second
// one when unfinished lines are asked for: at the base, where they are counted from
// HEAD, and for a claim, where they are counted from in.BaseHead. A claim without a
// BaseHead is one in a repository that had no commit when the run began; there every
// line is new. If BaseHead is no longer to be had because the agent rewrote history, it
// is counted from HEAD.
func (r *Repo) Fingerprint(ctx context.Context, in ralph.TreeInput) (ralph.TreeState, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.filters.refresh(ctx, r); err != nil {
		return ralph.TreeState{}, err
	}
	st, err := r.status(ctx)
	if err != nil {
		return ralph.TreeState{}, err
	}
	top, err := os.OpenRoot(r.Top)
	if err != nil {
		return ralph.TreeState{}, fmt.Errorf("open working tree: %w", err)
	}
	defer top.Close()

	state := ralph.TreeState{Known: true, Head: st.head, Dirty: len(st.paths)}
	state.Hash = r.digests.sum(top, expand(r.Top, st.paths))
	if in.Claimed || in.BaseHead == "" {
		state.Unfinished, err = r.unfinished(ctx, top, r.bases(in, st), st.paths)
	}
	return state, err
}

// bases are the trees to compare with, the best first.
func (r *Repo) bases(in ralph.TreeInput, st status) []string {
	switch {
	case in.BaseHead != "" && st.head != "":
		return []string{in.BaseHead, st.head}
	case in.BaseHead != "":
		return []string{in.BaseHead, r.empty}
	case in.Claimed || st.head == "":
		return []string{r.empty}
	}
	return []string{st.head}
}

// expand names the files of entries that git gives as a folder only.
func expand(top string, paths []path) []string {
	names := make([]string, 0, len(paths))
	for _, p := range paths {
		names = append(names, p.name)
		if p.folder {
			names = append(names, walk(top, p.name)...)
		}
	}
	return names
}

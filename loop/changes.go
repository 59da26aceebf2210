package loop

import (
	"context"
	"errors"
	"fmt"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// whatChanged describes what the run changed, as far as it can be told from earlier changes of the
// user.
func (w *workspace) whatChanged(ctx context.Context) string {
	base, now := w.state.History.Base, w.state.History.Tree
	if h := w.state.History; h.Judging && h.Now.Tree.Known { // stopped in the middle of judging
		now = h.Now.Tree
	}
	if tree, ok := w.store.(ralph.Snapshots); ok && base.Snapshot != "" && now.Snapshot != "" {
		if changed, err := tree.Between(ctx, base.Snapshot, now.Snapshot); err == nil {
			return changed
		}
	}
	tree, ok := w.store.(ralph.Changer)
	switch {
	case !ok:
		return ""
	case base.Known && now.Known && now.Same(base):
		return "no files changed"
	}
	changed, err := tree.Changed(ctx, base.Head)
	if err != nil {
		return ""
	}
	if base.Dirty > 0 {
		changed += fmt.Sprintf(" (including %s changed before the run)", text.Count(base.Dirty, "file"))
	}
	return changed
}

// diff returns what changed since the run began.
func (w *workspace) diff(ctx context.Context) (patch string, cut bool) {
	tree, ok := w.store.(ralph.Snapshots)
	base, now := w.state.History.Base.Snapshot, w.state.History.Tree.Snapshot
	if !ok || base == "" || now == "" || base == now || w.state.History.Started == 0 { // no agent has worked yet
		return "", false
	}
	patch, cut, err := tree.Diff(ctx, base, now, maxDiffBytes)
	if err != nil && ctx.Err() == nil {
		w.warn("diff_unknown", "the prompt does not show what changed so far: %v", err)
	}
	return patch, cut
}

func (w *workspace) changedFiles(ctx context.Context, from, to string) ([]string, error) {
	copies, ok := w.store.(ralph.Snapshots)
	if !ok {
		return nil, errors.New("snapshots cannot be compared here")
	}
	changes, err := copies.Changes(ctx, from, to)
	var names []string
	for _, c := range changes {
		names = append(names, c.Name)
	}
	return names, err
}

// countChanges counts the files that the current iteration changed, or returns nil if that is
// unknown.
func (w *workspace) countChanges(ctx context.Context, own func(name string) bool) *ralph.FileCount {
	before, now := w.state.History.Tree, w.state.History.Now.Tree
	copies, ok := w.store.(ralph.Snapshots)
	if !ok || before.Snapshot == "" || now.Snapshot == "" {
		return nil
	}
	changes, err := copies.Changes(ctx, before.Snapshot, now.Snapshot)
	if err != nil {
		return nil
	}
	count := ralph.FileCount{Omitted: len(before.Omitted)+len(now.Omitted) > 0}
	kinds := map[ralph.ChangeKind]int{}
	for _, c := range changes {
		if own(c.Name) {
			count.Own++
			continue
		}
		count.Changed++
		kinds[c.Kind]++
	}
	count.Moved = min(kinds[ralph.FileAdded], kinds[ralph.FileDeleted])
	// The harness restored the list before the snapshot.
	if seen := w.state.History.Now; count.Own == 0 && len(seen.Listed)+len(seen.ListDamage) > 0 {
		count.Own = 1
	}
	return &count
}

func changeNames(changes []ralph.FileChange) (names, lines []string) {
	for _, c := range changes {
		names, lines = append(names, c.Name), append(lines, fmt.Sprint(c))
	}
	return names, lines
}

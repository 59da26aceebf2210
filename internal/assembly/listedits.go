package assembly

import (
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/plan"
)

// ListEdits says how a task list differs from the copy that a run kept, and whether the run kept one.
func ListEdits(w workspace.Workspace, file, keep string) (all []string, isKept bool) {
	book, err := plan.OpenTracker(w.Dir, file, keep, "")
	if err != nil || len(book.List()) == 0 {
		return nil, false
	}
	edits, err := book.Inspect()
	if err != nil {
		return []string{err.Error()}, true
	}
	for _, id := range edits.Claims {
		all = append(all, id+" is marked done")
	}
	return append(all, edits.ListDamage...), true
}

package fold

import (
	"cmp"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

func (s *State) snapshot(iteration int, tree ralph.TreeState) {
	h := &s.History
	switch {
	case iteration == 0 && tree.Again: // files changed while the checks ran, so no result is about the base
		h.Baseline, s.Last.Failed = nil, nil
	case iteration == 0:
		h.Base, h.Tree = tree, tree
		if h.Inherits = tree.Base != "" && tree.Base != tree.Snapshot; h.Inherits {
			h.Base.Snapshot, h.Base.Hash = tree.Base, tree.Base
		}
		h.First = h.Base
	case tree.AfterChecks:
		if h.Now.Stale = !tree.Same(h.Now.Tree) || len(tree.Moved) > 0; h.Now.Stale {
			h.Now.Moved = tree.Moved
			s.invalidateReviews(h.Now.Tree.ID())
		}
	case tree.Again:
		h.Now.ClearEvidence()
		h.Now.Tree = tree
		adoptBase(h, tree) // if the user changed the goal meanwhile
		s.Unowned = append(slices.Clip(s.Unowned), tree.Moved...)
	case h.Judging:
		h.Now.Tree = tree
		adoptBase(h, tree) // if the user took over changes
		// A commit changes the ID of a tree, but not its files.
		if h.Now.Accepted && h.Now.Proven != tree.ID() && !h.Now.Committed {
			h.Now.ClearEvidence()
		}
	default: // between iterations: the user's changes join what the next iteration is compared with
		h.Tree, h.TreeOf, s.Checking = tree, h.Started, false
		adoptBase(h, tree)
		s.Unowned = append(slices.Clip(s.Unowned), tree.Moved...)
		s.finishMove(tree)
	}
}

// adoptBase makes the user's own changes part of what claims are compared with.
func adoptBase(h *judge.History, tree ralph.TreeState) {
	h.Base.Snapshot = cmp.Or(tree.Base, h.Base.Snapshot)
	h.LastProvenTree = cmp.Or(tree.LastProvenTree, h.LastProvenTree)
	if tree.TestsByUser {
		h.AdoptTests(h.LastProvenTree)
	}
}

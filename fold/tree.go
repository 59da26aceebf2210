package fold

import (
	"cmp"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

func (s *State) snapshot(iteration int, tree ralph.TreeState) {
	h := &s.History
	if isKnown := iteration == 0 || h.Origin != nil; isKnown && s.Started.Origin != nil && tree.Origin != "" {
		h.Origin = originAt(s.Started.Origin, tree.Origin)
		if iteration == 0 && tree.Origin == tree.Snapshot { // the run begins with that tree
			h.Origin = nil
		}
	}
	switch {
	case iteration == 0 && tree.Again: // files changed while the checks ran, so no result is about the base
		h.Baseline, s.Last.Failed = nil, nil
	case iteration == 0:
		h.Base, h.Tree, h.First = tree, tree, tree
		if tree.Base != "" { // an earlier run refused some of the files, so checks do not see this tree
			h.Base.Snapshot, h.First = tree.Base, ralph.TreeState{}
		}
	case tree.AfterChecks:
		if h.Now.Stale = !tree.Same(h.Now.Tree) || len(tree.Moved) > 0; h.Now.Stale {
			h.Now.Moved = tree.Moved
			s.invalidateReviews(h.Now.Tree.ID())
		}
	case tree.Again:
		h.Now.ClearEvidence()
		h.Now.Tree = tree
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

// originAt returns the tree before earlier runs that did not complete, as a snapshot has it now.
func originAt(from *ralph.Origin, snapshot string) *judge.Origin {
	return &judge.Origin{Run: from.Run, Snapshot: snapshot, Checked: from.Base, Checks: from.Checks}
}

// adoptBase makes the user's own changes part of what claims are compared with.
func adoptBase(h *judge.History, tree ralph.TreeState) {
	h.Base.Snapshot = cmp.Or(tree.Base, h.Base.Snapshot)
	h.LastProvenTree = cmp.Or(tree.LastProvenTree, h.LastProvenTree)
	if tree.TestsByUser {
		h.AdoptTests(h.LastProvenTree)
	}
}

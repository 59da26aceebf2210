package term

import (
	"fmt"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
)

// canUndo reports whether the workspace has changes and there is a snapshot from before them.
func canUndo(s *fold.State) bool {
	base := s.History.Base
	inWorkspace := s.Started.Worktree == nil && !s.Started.Demo
	hasSnapshot := base.Snapshot != "" && base.Head != ""
	return inWorkspace && hasSnapshot && len(s.Iterations) > 0 && leftChanges(s)
}

func leftChanges(s *fold.State) bool { return s.Stopped.Changed != "no files changed" }

// worktree shows where the work is, and how to see and merge it. It offers only what this run has: git shows
// commits, and ralph merge takes nothing else.
func (b *screen) worktree(s *fold.State) {
	w := s.Started.Worktree
	if w == nil {
		return
	}
	b.row("Worktree", Clean(w.Path))
	b.row("Branch", Clean(w.Branch))
	tree := treeAtEnd(s)
	committed := tree.Head != "" && tree.Head != w.Base
	switch {
	case committed && tree.Dirty == 0:
		b.row("To see it", fmt.Sprintf("git diff %.10s...%s", w.Base, Clean(w.Branch)))
	case leftChanges(s) && s.History.Base.Snapshot != "" && len(s.Iterations) > 0:
		b.row("To see it", "ralph diff "+s.Run)
	}
	merge := "ralph merge " + s.Run
	if s.Stopped.Status != ralph.StatusCompleted {
		merge += " --force (it is not proven)"
	}
	switch {
	case committed:
		b.row("To merge it", merge)
	case leftChanges(s):
		b.row("To merge it", "commit the work in the worktree, then: "+merge)
	}
}

// treeAtEnd returns the last tree that the run saw.
func treeAtEnd(s *fold.State) ralph.TreeState {
	if h := s.History; h.Judging && h.Now.Tree.Known { // stopped in the middle of judging
		return h.Now.Tree
	}
	return s.History.Tree
}

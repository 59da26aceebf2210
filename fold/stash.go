package fold

import (
	"slices"

	"github.com/ralphloop/ralph"
)

// StashedWork is the work on an abandoned task that was removed from the tree and kept.
type StashedWork struct {
	Task           string
	Iteration      int // the iteration that left it
	Base, Work     string
	RestoreFailure string // why it was not restored when its task was selected again
	Conflicts      bool   // it conflicts with later changes, so another try would fail too
}

// UnprovenWork is the work on an abandoned task that is still in the tree, until the next iteration begins.
type UnprovenWork struct {
	Task      string
	Iteration int // the iteration that left it
	Work      string
}

// TreeMove is a change of the tree by the harness that is recorded but may not be finished yet.
type TreeMove struct {
	Task     string
	From, To string
	Restores bool // the move restores stashed work; otherwise it stashes work
}

// stashWork records that work leaves the tree. It drops the feedback of checks and evaluators, which does
// not apply to the remaining tree. Tampering is compared again after the move.
func (s *State) stashWork(data ralph.WorkStashed) {
	s.dropStash(data.Task)
	s.Stashed = append(s.Stashed, StashedWork{
		Task: data.Task, Iteration: data.Iteration, Base: data.Base, Work: data.Work,
	})
	s.Move, s.Unproven = &TreeMove{Task: data.Task, From: data.Work, To: data.Base}, nil
	s.History.Moved = true
	s.OpenWork = s.OtherOpenWork(data.Task)
	s.Last.Failed, s.Last.Rejections, s.Last.GreenNoClaim = nil, nil, false
}

// restoreWork records that stashed work returns to the tree, could not be restored, or never left.
func (s *State) restoreWork(data ralph.WorkRestored) {
	s.Move = nil
	switch kept, _ := s.StashOf(data.Task); {
	case data.Stayed:
		s.dropStash(data.Task)
		s.addOpenWork(data.Task)
		s.Unproven = &UnprovenWork{Task: data.Task, Iteration: kept.Iteration, Work: kept.Work}
	case data.Why != "":
		kept.RestoreFailure, kept.Conflicts = data.Why, len(data.Conflicts) > 0
		s.dropStash(data.Task)
		s.Stashed = append(s.Stashed, kept)
	default:
		s.Move = &TreeMove{Task: data.Task, From: data.From, To: data.To, Restores: true}
		s.History.Moved = true
	}
}

// finishMove records that a move is finished and left this tree.
func (s *State) finishMove(tree ralph.TreeState) {
	if m := s.Move; m != nil && m.Restores {
		kept, _ := s.StashOf(m.Task)
		s.dropStash(m.Task)
		s.Unproven = &UnprovenWork{Task: m.Task, Iteration: kept.Iteration, Work: tree.Snapshot}
	}
	s.Move = nil
}

// noteGivenUp records the task, abandoned or waiting for an answer, whose unproven work is in the tree.
// It drops the stashed work of tasks that are proven.
func (s *State) noteGivenUp(v ralph.TaskVerdict) {
	for _, id := range v.Done {
		s.dropStash(id)
	}
	if v.GivenUp != "" || v.Question != "" {
		now := s.History.Now
		s.Unproven = &UnprovenWork{Task: v.Current, Iteration: now.Number, Work: now.Tree.Snapshot}
	}
}

// retryRestores lets a new process retry restores that failed for reasons other than conflicts.
func (s *State) retryRestores() {
	s.Stashed = slices.Clone(s.Stashed)
	for i := range s.Stashed {
		if !s.Stashed[i].Conflicts {
			s.Stashed[i].RestoreFailure = ""
		}
	}
}

// addOpenWork records that a task is being worked on. The tree may hold work on it until a task is proven
// or the work is stashed.
func (s *State) addOpenWork(task string) {
	if task != "" && !slices.Contains(s.OpenWork, task) {
		s.OpenWork = append(slices.Clone(s.OpenWork), task)
	}
}

// OtherOpenWork lists the other tasks whose unproven work may be in the tree.
func (s *State) OtherOpenWork(task string) []string {
	return slices.DeleteFunc(slices.Clone(s.OpenWork), func(id string) bool { return id == task })
}

// StashOf returns the stashed work on a task; ok is false if there is none.
func (s *State) StashOf(task string) (StashedWork, bool) {
	i := slices.IndexFunc(s.Stashed, func(w StashedWork) bool { return w.Task == task })
	if i < 0 {
		return StashedWork{Task: task}, false
	}
	return s.Stashed[i], true
}

func (s *State) dropStash(task string) {
	s.Stashed = slices.DeleteFunc(slices.Clone(s.Stashed), func(w StashedWork) bool { return w.Task == task })
}

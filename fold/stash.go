package fold

import (
	"slices"

	"github.com/ralphloop/ralph"
)

// StashedWork is the work on a task that was given up: not in the tree, but kept.
type StashedWork struct {
	Task           string
	Iteration      int // that left it
	Base, Work     string
	RestoreFailure string // why it was not brought back when the task was worked again
	Conflicts      bool   // with what others did since; nothing else would come of another try
}

// UnprovenWork is the work on a task that was given up, as long as it is in the tree and no iteration began since.
type UnprovenWork struct {
	Task      string
	Iteration int // that left it
	Work      string
}

// TreeMove is a change of the tree by the harness that was recorded and may not be done yet.
type TreeMove struct {
	Task     string
	From, To string
	Restores bool // work comes back
}

// stashWork takes note that work leaves the tree. What checks and evaluators found out about it says nothing of what is left; what was tampered with is
// looked at anew when it is gone.
func (s *State) stashWork(data ralph.WorkStashed) {
	s.dropStash(data.Task)
	s.Stashed = append(s.Stashed, StashedWork{Task: data.Task, Iteration: data.Iteration, Base: data.Base, Work: data.Work})
	s.Move, s.Unproven = &TreeMove{Task: data.Task, From: data.Work, To: data.Base}, nil
	s.History.Moved = true
	s.dropOpenWork(data.Task)
	s.Last.Failed, s.Last.Rejections, s.Last.GreenNoClaim = nil, nil, false
}

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

// finishMove takes note that a move is done: this is the tree that it left.
func (s *State) finishMove(tree ralph.TreeState) {
	if m := s.Move; m != nil && m.Restores {
		kept, _ := s.StashOf(m.Task)
		s.dropStash(m.Task)
		s.Unproven = &UnprovenWork{Task: m.Task, Iteration: kept.Iteration, Work: tree.Snapshot}
	}
	s.Move = nil
}

// noteGivenUp takes note whose work lies in the tree without being proven, and forgets what is kept of tasks that are.
func (s *State) noteGivenUp(v ralph.TaskVerdict) {
	for _, id := range v.Done {
		s.dropStash(id)
	}
	if v.GivenUp != "" {
		now := s.History.Now
		s.Unproven = &UnprovenWork{Task: v.GivenUp, Iteration: now.Number, Work: now.Tree.Snapshot}
	}
}

// retryRestores has a new process try what trouble of its time prevented.
func (s *State) retryRestores() {
	s.Stashed = slices.Clone(s.Stashed)
	for i := range s.Stashed {
		if !s.Stashed[i].Conflicts {
			s.Stashed[i].RestoreFailure = ""
		}
	}
}

// addOpenWork takes note that a task is worked on: until it is proven or its work is taken out, the tree may hold work on it.
func (s *State) addOpenWork(task string) {
	if task != "" && !slices.Contains(s.OpenWork, task) {
		s.OpenWork = append(slices.Clone(s.OpenWork), task)
	}
}

func (s *State) dropOpenWork(task string) { s.OpenWork = s.OtherOpenWork(task) }

// OtherOpenWork are the other tasks of which the tree may hold work that is not proven.
func (s *State) OtherOpenWork(task string) []string {
	return slices.DeleteFunc(slices.Clone(s.OpenWork), func(id string) bool { return id == task })
}

// StashOf is the work on a task that was taken out of the tree; false if there is none.
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

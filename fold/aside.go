package fold

import (
	"slices"

	"github.com/ralphloop/ralph"
)

// AsideWork is the work on a task that was given up: not in the tree, but kept.
type AsideWork struct {
	Task       string
	Iteration  int // that left it
	Base, Work string
	NotBack    string // why it was not brought back when the task was worked again
	Conflicts  bool   // with what others did since; nothing else would come of another try
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
	Back     bool // work comes back
}

// setAside takes note that work leaves the tree. What checks and evaluators found out about it says nothing of what is left; what was tampered with is
// looked at anew when it is gone.
func (s *State) setAside(data ralph.WorkSetAside) {
	s.dropAside(data.Task)
	s.Aside = append(s.Aside, AsideWork{Task: data.Task, Iteration: data.Iteration, Base: data.Base, Work: data.Work})
	s.Move, s.Unproven = &TreeMove{Task: data.Task, From: data.Work, To: data.Base}, nil
	s.History.Moved = true
	s.settled(data.Task)
	s.Last.Failed, s.Last.Rejections, s.Last.GreenNoClaim = nil, nil, false
}

func (s *State) broughtBack(data ralph.WorkBroughtBack) {
	s.Move = nil
	switch kept, _ := s.Stashed(data.Task); {
	case data.Stayed:
		s.dropAside(data.Task)
		s.unsettled(data.Task)
		s.Unproven = &UnprovenWork{Task: data.Task, Iteration: kept.Iteration, Work: kept.Work}
	case data.Why != "":
		kept.NotBack, kept.Conflicts = data.Why, len(data.Conflicts) > 0
		s.dropAside(data.Task)
		s.Aside = append(s.Aside, kept)
	default:
		s.Move = &TreeMove{Task: data.Task, From: data.From, To: data.To, Back: true}
		s.History.Moved = true
	}
}

// moved takes note that a move is done: this is the tree that it left.
func (s *State) moved(tree ralph.TreeState) {
	if m := s.Move; m != nil && m.Back {
		kept, _ := s.Stashed(m.Task)
		s.dropAside(m.Task)
		s.Unproven = &UnprovenWork{Task: m.Task, Iteration: kept.Iteration, Work: tree.Snapshot}
	}
	s.Move = nil
}

// giveUp takes note whose work lies in the tree without being proven, and forgets what is kept of tasks that are.
func (s *State) giveUp(v ralph.TaskVerdict) {
	for _, id := range v.Done {
		s.dropAside(id)
	}
	if v.GivenUp != "" {
		now := s.History.Now
		s.Unproven = &UnprovenWork{Task: v.GivenUp, Iteration: now.Number, Work: now.Tree.Snapshot}
	}
}

// tryBackAgain has a new process try what trouble of its time prevented.
func (s *State) tryBackAgain() {
	s.Aside = slices.Clone(s.Aside)
	for i := range s.Aside {
		if !s.Aside[i].Conflicts {
			s.Aside[i].NotBack = ""
		}
	}
}

// unsettled takes note that a task is worked on: until it is proven or its work is taken out, the tree may hold work on it.
func (s *State) unsettled(task string) {
	if task != "" && !slices.Contains(s.Unsettled, task) {
		s.Unsettled = append(slices.Clone(s.Unsettled), task)
	}
}

func (s *State) settled(task string) { s.Unsettled = s.OtherUnsettled(task) }

// OtherUnsettled are the other tasks of which the tree may hold work that is not proven.
func (s *State) OtherUnsettled(task string) []string {
	return slices.DeleteFunc(slices.Clone(s.Unsettled), func(id string) bool { return id == task })
}

// Stashed is the work on a task that was taken out of the tree; false if there is none.
func (s *State) Stashed(task string) (AsideWork, bool) {
	i := slices.IndexFunc(s.Aside, func(w AsideWork) bool { return w.Task == task })
	if i < 0 {
		return AsideWork{Task: task}, false
	}
	return s.Aside[i], true
}

func (s *State) dropAside(task string) {
	s.Aside = slices.DeleteFunc(slices.Clone(s.Aside), func(w AsideWork) bool { return w.Task == task })
}

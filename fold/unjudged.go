package fold

import "github.com/ralphloop/ralph"

// Unjudged reports whether the run's last agent was never judged: the run was killed, or its agent was.
func Unjudged(s *State) bool {
	h := s.History
	if h.Started == 0 {
		return false
	}
	return s.Phase != PhaseNone || h.TreeOf != h.Started || !ralph.CountsAsIteration(h.Now.Agent.End)
}

// Unproven reports whether agents worked in a run that did not complete. What they did to tests was not judged with
// a claim that passed.
func Unproven(s *State) bool { return s.History.Started > 0 && s.LiveStatus() != ralph.StatusCompleted }

// TreeLeft returns the tree that the run's last agent left, and whether it was recorded. If the run died
// since, checks may have changed it.
func TreeLeft(s *State) (ralph.TreeState, bool) {
	h := s.History
	switch s.Phase {
	case PhaseBegun:
		return ralph.TreeState{}, false
	case PhaseExited:
		return h.Now.Tree, h.Now.Tree.Known
	}
	return h.Tree, h.TreeOf == h.Started
}

package fold

import (
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

// submitCase takes a case into the state: everything is judged as if the agent had ended here and claimed.
func (s *State) submitCase(c ralph.CaseSubmitted) {
	now := &s.History.Now
	now.Cases = append(slices.Clip(now.Cases), ralph.CaseRecord{CaseSubmitted: c})
	now.Agent.End, now.Agent.Said = ralph.EndOK, c.AsReport()
	now.ClearEvidence()
	now.Tree = ralph.TreeState{} // it is looked at now, or not known
}

// answerCase ends a round. What was proven in it is proven of that tree alone.
func (s *State) answerCase(a ralph.CaseAnswered) {
	now := &s.History.Now
	if last := len(now.Cases) - 1; last >= 0 {
		now.Cases = slices.Clone(now.Cases) // those that a history was copied with are not changed
		now.Cases[last].Answer = &a
	}
	if now.Accepted = a.Accepted; a.Accepted {
		now.Proven = now.Tree.ID()
		return
	}
	now.Agent.End, now.Agent.Said = "", promise.Report{}
}

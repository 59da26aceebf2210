package fold

import (
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

// submitCase adds a case. The loop judges it as if the agent had ended here with a claim.
func (s *State) submitCase(c ralph.CaseSubmitted) {
	now := &s.History.Now
	now.Cases = append(slices.Clip(now.Cases), ralph.CaseRecord{CaseSubmitted: c})
	now.Agent.End, now.Agent.Said = ralph.EndOK, c.AsReport()
	now.Agent.Evidence = c.Evidence
	if s.Policy.KeepAnswer {
		now.Agent.Answer = promise.Answer(c.Summary)
	}
	now.ClearEvidence()
	now.Tree = ralph.TreeState{} // unknown until the next snapshot
}

// answerCase ends a round. What it proved is proven only for that tree.
func (s *State) answerCase(a ralph.CaseAnswered) {
	now := &s.History.Now
	if last := len(now.Cases) - 1; last >= 0 {
		now.Cases = slices.Clone(now.Cases) // copies of the history share the old slice
		now.Cases[last].Answer = &a
	}
	if now.Accepted = a.Accepted; a.Accepted {
		now.Proven = now.Tree.ID()
		return
	}
	now.Agent.End, now.Agent.Said = "", promise.Report{}
}

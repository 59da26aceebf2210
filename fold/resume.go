package fold

import (
	"slices"

	"github.com/ralphloop/ralph"
)

func (s *State) resume(data ralph.RunResumed) {
	cut := s.agentAtWork()
	s.Policy, s.Agent, s.Model, s.PID = data.Policy, data.Agent, data.Model, data.PID
	s.History.Rules = data.Policy.Rules
	if data.Settings != nil {
		s.Started.Settings = data.Settings
	}
	s.Stopped = nil
	if data.Origin != nil {
		s.Started.Origin = data.Origin
		s.History.Origin = originAt(data.Origin, data.Origin.Base)
	}
	if data.Accepting { // no agent starts, and the last judgement stays valid
		return
	}
	if s.History.Started == 0 { // no agent ran in what was chosen before
		s.Sandbox = ""
	}
	s.Sandbox = withSandbox(s.Sandbox, data.Sandbox)
	if !data.InSession {
		s.retryRestores()
		s.History.Restart()
	}
	cases := s.History.Now.Cases
	unanswered := len(cases) == 0 || cases[len(cases)-1].Answer == nil
	if (data.Judged > 0 || data.Interrupted > 0) && unanswered {
		s.invalidateReviews(s.History.Now.Tree.ID()) // it was cut before the files were checked again
	}
	if s.History.Now.Reviewing { // the cost of that evaluation is unknown
		s.notePartialSpending(ralph.Spending{}.MarkPartial())
		s.History.Now.Reviewing = false
	}
	if s.History.Started == 0 { // the baseline runs again, and a check that was broken may be gone
		s.History.Baseline, s.Last.Failed = nil, nil
	}
	if data.Judged > 0 { // the judgement was cut, so its evidence is gathered again
		s.History.Agent = placeOf(cut, data.Policy.Agents)
		now := &s.History.Now
		now.ClearEvidence()
		now.Tree, now.Tampered, now.Unseen = ralph.TreeState{}, nil, nil
		now.Environment, now.Dependencies = nil, nil
	}
	if data.Interrupted > 0 {
		s.History.Now.ClearEvidence() // the evidence of a round may not apply to the tree that was left
		s.History.Now.Tree = ralph.TreeState{}
		known := s.History.Now.Agent
		s.History.Now.Agent = ralph.AgentOutcome{ // the agent may have spent more after its last report
			Agent: cut, End: ralph.EndInterrupted, Error: "interrupted", Duration: s.Elapsed - s.Begun,
			Cost: known.Cost, CostEstimated: known.CostEstimated, CostPartial: known.CostPartial || known.Cost != nil,
			Tokens: known.Tokens, TokensPartial: known.TokensPartial || known.Tokens != nil,
		}
		s.notePartialSpending(s.History.Now.Agent.Spending())
		s.Phase = PhaseExited
		s.judge(ralph.VerdictReached{
			At:      ralph.Moment{Elapsed: s.Elapsed},
			Verdict: ralph.Verdict{Action: ralph.GoOn, Breaker: s.History.Breaker},
		})
	}
}

// agentAtWork returns the name of the agent of the current iteration.
func (s *State) agentAtWork() string {
	if i := s.History.Agent; i < len(s.Policy.Agents) {
		return s.Policy.Agents[i]
	}
	return s.Agent
}

// placeOf returns the index of an agent, or len(agents) if the run no longer has it.
func placeOf(name string, agents []string) int {
	if i := slices.Index(agents, name); i >= 0 {
		return i
	}
	return len(agents)
}

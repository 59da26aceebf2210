package fold

import (
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// FeedbackOn returns what the next prompt says about the current iteration and this verdict.
func (s *State) FeedbackOn(v ralph.Verdict) ralph.Feedback {
	now := s.History.Now
	said := now.Agent.Said
	f := ralph.Feedback{
		Number:        now.Number,
		Refusals:      v.Refusals(),
		Mismatches:    s.Last.Mismatches,
		StatusProblem: said.StatusProblem,
		Mentions:      said.Mentions,
		TaskRefusals:  v.Tasks.Refused,
		Proven:        v.Tasks.Done,
		ListProblems:  now.ListDamage,
		Tampered:      now.Tampered,
		Unseen:        now.Unseen,
		Rejections:    LatestRejections(s.History.Now.Evaluations),
		Evidence:      judge.EvidenceOf(now),
	}
	if !ralph.CountsAsIteration(now.Agent.End) { // nothing new is known, so the old feedback still applies
		f = s.Last
		f.Number = now.Number
		return f
	}
	switch now.Agent.End {
	case ralph.EndOK:
	case ralph.EndCut:
		f.Cut = now.Agent.Error
	default:
		f.Error = now.Agent.Error
	}
	f.Failed = failedOf(now.Checks)
	asked := said.Blocked != nil || said.Decide != nil
	claims := len(v.Tasks.Done) + len(v.Tasks.Refused) + len(v.Tasks.Unconfirmed)
	f.GreenNoClaim = judge.AllPassed(now.Checks) && !v.Claimed && !asked && claims == 0
	if said.Status != nil {
		f.Recommendation = said.Status.Recommendation
		if !said.Complete && s.Policy.Status != ralph.StatusOff {
			f.WhyNoClaim = said.Status.WhyNoClaim()
		}
	} else {
		f.Recommendation = s.Last.Recommendation
	}
	if s.Policy.Status == ralph.StatusRequired && said.Status == nil && f.StatusProblem == "" {
		f.StatusProblem = "the block is missing"
	}
	return f
}

// agentVisible returns the checks that an agent may see. Hidden checks that failed become one anonymous result, and so
// do those that cannot run if none failed.
func agentVisible(checks []ralph.CheckResult) []ralph.CheckResult {
	all := VisibleChecks(checks)
	hidden := slices.DeleteFunc(slices.Clone(checks), func(c ralph.CheckResult) bool { return !c.Hidden || c.Passed })
	if len(hidden) > 0 {
		broken := !slices.ContainsFunc(hidden, ralph.CheckResult.Failed)
		all = append(all, ralph.CheckResult{Name: judge.HiddenCheckName, Hidden: true, Broken: broken, ExitCode: 1})
	}
	return all
}

// failedOf returns the failed checks that the next prompt may name.
func failedOf(checks []ralph.CheckResult) []ralph.CheckResult {
	return slices.DeleteFunc(agentVisible(checks), func(c ralph.CheckResult) bool { return c.Passed })
}

// VisibleChecks returns the checks that are not hidden.
func VisibleChecks(checks []ralph.CheckResult) []ralph.CheckResult {
	return slices.DeleteFunc(slices.Clone(checks), func(c ralph.CheckResult) bool { return c.Hidden })
}

package fold

import (
	"maps"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// ledgerKept is how many evaluations of one task the ledger keeps for the next one.
const ledgerKept = 5

// noteTampering records what an agent did to the task list or to protected files.
func (s *State) noteTampering(data ralph.FilesTampered) {
	if data.What != ralph.TamperedFiles {
		s.noteListDamage(data.Details)
		return
	}
	s.Tampered = data.Files
	s.History.Now.Tampered, s.History.Now.Unseen = data.Details, data.Unseen
	s.History.Now.Environment, s.History.Now.Dependencies = data.Environment, data.Dependencies
	if !s.History.Judging { // there is a verdict already, so this is feedback for the next agent
		s.Last.Tampered, s.Last.Unseen = data.Details, data.Unseen
	}
}

// addProof attaches a proof to the result of its check.
func (s *State) addProof(p ralph.Proof) {
	checks := slices.Clone(s.History.Now.Checks)
	for i := range checks {
		if checks[i].Name == p.Name && checks[i].Task == p.Task {
			checks[i].Proof = &p
		}
	}
	s.History.Now.Checks = checks
}

// addEvaluation adds an evaluation to the observation and, if it has a new verdict, to the ledger.
func (s *State) addEvaluation(e ralph.Evaluation) {
	now := &s.History.Now
	now.Reviewing = false
	if e.End == ralph.EndInterrupted {
		now.Cut = append(slices.Clip(now.Cut), e)
	} else {
		now.Evaluations = append(slices.Clip(now.Evaluations), e)
	}
	if e.Cached {
		return
	}
	s.notePartialSpending(e.Spending())
	s.Reviews += e.Tries
	if e.End != ralph.EndOK || e.Tries == 0 { // no evaluator looked at the work
		return
	}
	s.Ledger = slices.Clone(s.Ledger) // evaluators and prompts share the old slice
	i := slices.IndexFunc(s.Ledger, func(l ralph.TaskLedger) bool { return l.Task == e.Task })
	if i < 0 {
		s.Ledger = append(s.Ledger, ralph.TaskLedger{Task: e.Task, Counts: map[ralph.Rejection]int{}})
		i = len(s.Ledger) - 1
	}
	entry := &s.Ledger[i]
	entry.Last = text.LastOf(append(slices.Clip(entry.Last), e), ledgerKept)
	if !e.Accepted {
		entry.Counts = maps.Clone(entry.Counts)
		entry.Counts[e.Category]++
		s.History.CountRejection(e.Task)
	}
}

// LedgerOf returns the ledger of a task.
func (s *State) LedgerOf(task string) ralph.TaskLedger {
	for _, l := range s.Ledger {
		if l.Task == task {
			return l
		}
	}
	return ralph.TaskLedger{Task: task}
}

// CachedReview returns the newest evaluation of a task if neither the tree nor the terms have changed
// since, so that the evaluator need not be asked again. A rejection is reused until the run is resumed.
// An evaluation without a verdict is never reused.
func (s *State) CachedReview(task, terms string) (ralph.Evaluation, bool) {
	last := s.LedgerOf(task).Last
	tree := s.History.Now.Tree.ID()
	if len(last) == 0 || tree == "" {
		return ralph.Evaluation{}, false
	}
	e := last[len(last)-1]
	if e.Tree != tree || e.Terms != terms || e.NoVerdict() || !e.Accepted && s.History.RejectionsOf(task) == 0 {
		return ralph.Evaluation{}, false
	}
	e.Cached, e.Tries, e.Duration = true, 0, 0
	// It was paid for the first time.
	e.Cost, e.CostEstimated, e.CostPartial, e.Tokens, e.TokensPartial = nil, false, false, nil, false
	return e, true
}

// invalidateReviews keeps evaluations of a tree from being reused, because the evaluators may have read
// other files. Their rejections still count.
func (s *State) invalidateReviews(tree string) {
	s.Ledger = slices.Clone(s.Ledger)
	for i := range s.Ledger {
		last := slices.Clone(s.Ledger[i].Last)
		for j := range last {
			if last[j].Tree == tree {
				last[j].Tree = ""
			}
		}
		s.Ledger[i].Last = last
	}
}

// LatestRejections returns the evaluations that are rejections and the newest verdict on their task.
func LatestRejections(all []ralph.Evaluation) []ralph.Evaluation {
	var rejected []ralph.Evaluation
	for i, e := range all {
		later := slices.ContainsFunc(all[i+1:], func(l ralph.Evaluation) bool {
			return l.Task == e.Task && l.End == ralph.EndOK
		})
		if e.End == ralph.EndOK && !e.Accepted && !later {
			rejected = append(rejected, e)
		}
	}
	return rejected
}

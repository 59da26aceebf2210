package fold

import (
	"maps"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// ledgerKept is how many verdicts on one task the next evaluation gets to know.
const ledgerKept = 5

// noteTampering takes note of what an agent did to files that are not its own.
func (s *State) noteTampering(data ralph.FilesTampered) {
	if data.What != ralph.TamperedFiles {
		s.noteListDamage(data.Details)
		return
	}
	s.Tampered = data.Files
	s.History.Now.Tampered, s.History.Now.Unseen = data.Details, data.Unseen
	if !s.History.Judging { // the verdict is given: this is for the next agent
		s.Last.Tampered, s.Last.Unseen = data.Details, data.Unseen
	}
}

// addProof puts a proof beside the result of its check.
func (s *State) addProof(p ralph.Proof) {
	checks := slices.Clone(s.History.Now.Checks)
	for i := range checks {
		if checks[i].Name == p.Name && checks[i].Task == p.Task {
			checks[i].Proof = &p
		}
	}
	s.History.Now.Checks = checks
}

// addEvaluation takes a verdict of an evaluator into the observation and, if it is one, into the ledger.
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
	if e.End != ralph.EndOK || e.Tries == 0 { // nobody looked at the work
		return
	}
	s.Ledger = slices.Clone(s.Ledger) // evaluators and prompts hold the one before
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

// LedgerOf is what evaluators said of a task so far.
func (s *State) LedgerOf(task string) ralph.TaskLedger {
	for _, l := range s.Ledger {
		if l.Task == task {
			return l
		}
	}
	return ralph.TaskLedger{Task: task}
}

// CachedReview is the verdict that holds without asking again: the newest, if neither the tree nor what was asked for has changed since. A rejection stands
// until somebody resumes the run, and an answer that could not be understood does not stand at all.
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
	e.Cost, e.CostEstimated, e.CostPartial, e.Tokens, e.TokensPartial = nil, false, false, nil, false // paid for once
	return e, true
}

// invalidateReviews keeps what evaluators said of a tree from standing: they may have read other files. A rejection counts all the same.
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

// rejectionsNow are what the evaluators of this iteration want mended.
func (s *State) rejectionsNow() []ralph.Evaluation {
	return LatestRejections(s.History.Now.Evaluations)
}

// LatestRejections are the rejections among verdicts, the newest of each task.
func LatestRejections(all []ralph.Evaluation) []ralph.Evaluation {
	var rejected []ralph.Evaluation
	for i, e := range all {
		later := slices.ContainsFunc(all[i+1:], func(l ralph.Evaluation) bool { return l.Task == e.Task && l.End == ralph.EndOK })
		if e.End == ralph.EndOK && !e.Accepted && !later {
			rejected = append(rejected, e)
		}
	}
	return rejected
}

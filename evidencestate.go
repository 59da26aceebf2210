package ralph

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ralphloop/ralph/internal/text"
)

// ledgerKept is how many verdicts on one task the next evaluation gets to know.
const ledgerKept = 5

// TaskRejections counts how often an evaluator rejected what is not done yet. Task "" is the goal itself.
type TaskRejections struct {
	Task  string
	Count int
}

// TaskLedger is what evaluators said of one task: the newest verdicts, and how often each category came up.
type TaskLedger struct {
	Task   string
	Last   []Evaluation
	Counts map[Rejection]int
}

// tampered takes note of what an agent did to files that are not its own.
func (s *State) tampered(data FilesTampered) {
	if data.What != TamperedFiles {
		s.injured(data.Details)
		return
	}
	s.Tampered = data.Files
	s.History.Now.Tampered, s.History.Now.Unseen = data.Details, data.Unseen
	if !s.History.Judging { // the verdict is given: this is for the next agent
		s.Last.Tampered, s.Last.Unseen = data.Details, data.Unseen
	}
}

// proven puts a proof beside the result of its check.
func (s *State) proven(p Proof) {
	checks := slices.Clone(s.History.Now.Checks)
	for i := range checks {
		if checks[i].Name == p.Name && checks[i].Task == p.Task {
			checks[i].Proof = &p
		}
	}
	s.History.Now.Checks = checks
}

// evaluated takes a verdict of an evaluator into the observation and, if it is one, into the ledger.
func (s *State) evaluated(e Evaluation) {
	now := &s.History.Now
	now.Reviewing = false
	if e.End == EndInterrupted {
		now.Cut = append(slices.Clip(now.Cut), e)
	} else {
		now.Evaluations = append(slices.Clip(now.Evaluations), e)
	}
	if e.Standing {
		return
	}
	s.account(e.spending())
	s.Reviews += e.Tries
	if e.End != EndOK || e.Tries == 0 { // nobody looked at the work
		return
	}
	s.Ledger = slices.Clone(s.Ledger) // evaluators and prompts hold the one before
	i := slices.IndexFunc(s.Ledger, func(l TaskLedger) bool { return l.Task == e.Task })
	if i < 0 {
		s.Ledger = append(s.Ledger, TaskLedger{Task: e.Task, Counts: map[Rejection]int{}})
		i = len(s.Ledger) - 1
	}
	entry := &s.Ledger[i]
	entry.Last = text.LastOf(append(slices.Clip(entry.Last), e), ledgerKept)
	if !e.Accepted {
		entry.Counts = maps.Clone(entry.Counts)
		entry.Counts[e.Category]++
		s.History.reject(e.Task)
	}
}

// ledgerOf is what evaluators said of a task so far.
func (s *State) ledgerOf(task string) TaskLedger {
	for _, l := range s.Ledger {
		if l.Task == task {
			return l
		}
	}
	return TaskLedger{Task: task}
}

// standing is the verdict that holds without asking again: the newest, if neither the tree nor what was asked for has changed since. A rejection stands
// until somebody resumes the run, and an answer that could not be understood does not stand at all.
func (s *State) standing(task, terms string) (Evaluation, bool) {
	last := s.ledgerOf(task).Last
	tree := s.History.Now.Tree.ID()
	if len(last) == 0 || tree == "" {
		return Evaluation{}, false
	}
	e := last[len(last)-1]
	if e.Tree != tree || e.Terms != terms || e.NoVerdict() || !e.Accepted && s.History.rejected(task) == 0 {
		return Evaluation{}, false
	}
	e.Standing, e.Tries, e.Duration = true, 0, 0
	e.Cost, e.CostEstimated, e.CostPartial, e.Tokens, e.TokensPartial = nil, false, false, nil, false // paid for once
	return e, true
}

// doubt keeps what evaluators said of a tree from standing: they may have read other files. A rejection counts all the same.
func (s *State) doubt(tree string) {
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
func (s *State) rejectionsNow() []Evaluation {
	return rejectedIn(s.History.Now.Evaluations)
}

// rejectedIn are the rejections among verdicts, the newest of each task.
func rejectedIn(all []Evaluation) []Evaluation {
	var rejected []Evaluation
	for i, e := range all {
		later := slices.ContainsFunc(all[i+1:], func(l Evaluation) bool { return l.Task == e.Task && l.End == EndOK })
		if e.End == EndOK && !e.Accepted && !later {
			rejected = append(rejected, e)
		}
	}
	return rejected
}

// reject counts a rejection. Counts that a history was copied with are not changed.
func (h *History) reject(task string) {
	h.Rejections = slices.Clone(h.Rejections)
	for i := range h.Rejections {
		if h.Rejections[i].Task == task {
			h.Rejections[i].Count++
			return
		}
	}
	h.Rejections = append(h.Rejections, TaskRejections{task, 1})
}

// rejected is how often what is not done yet was rejected.
func (h History) rejected(task string) int {
	for _, r := range h.Rejections {
		if r.Task == task {
			return r.Count
		}
	}
	return 0
}

// seeFlakes remembers on which tree a check was green, and which ones were red and green on the same.
func (h *History) seeFlakes(c CheckResult) {
	key := checkKey(c)
	if c.Flaked && !slices.Contains(h.flaked, key) {
		h.flaked = append(slices.Clip(h.flaked), key)
	}
	if !c.Passed || c.Tree == "" || h.greenOn[key] == c.Tree {
		return
	}
	next := make(map[string]string, len(h.greenOn)+1)
	for k, v := range h.greenOn {
		next[k] = v
	}
	next[key] = c.Tree
	h.greenOn = next
}

// wasGreen reports whether a check was green on that very tree.
func (h History) wasGreen(c CheckResult) bool {
	return c.Tree != "" && h.greenOn[checkKey(c)] == c.Tree
}

// hasFlaked reports whether a check was red and green on one tree in this run.
func (h History) hasFlaked(c CheckResult) bool { return slices.Contains(h.flaked, checkKey(c)) }

// replaceCheck keeps one result a check: the newest. That it flaked on this tree is not forgotten.
func replaceCheck(checks []CheckResult, result CheckResult) []CheckResult {
	for i, c := range checks {
		if c.Name == result.Name && c.Task == result.Task {
			if c.Flaked && c.Tree == result.Tree {
				result.Flaked, result.Attempts = true, c.Attempts+max(result.Attempts, 1)
			}
			checks = slices.Clone(checks)
			checks[i] = result
			return checks
		}
	}
	return append(checks, result)
}

// attribute compares a result with its baseline; "" where there is none.
func attribute(baseline []CheckResult, now CheckResult) Attribution {
	for _, before := range baseline {
		if before.Name != now.Name || before.Task != now.Task {
			continue
		}
		switch {
		case before.Passed && now.Passed:
			return CheckClean
		case before.Passed:
			return CheckRegressed
		case now.Passed:
			return CheckFixed
		}
		return CheckWasBroken
	}
	return ""
}

// redAtBase reports whether a check was seen red before any agent worked.
func (h History) redAtBase(name, task string) bool {
	return slices.ContainsFunc(h.Baseline, func(b CheckResult) bool { return b.Name == name && b.Task == task && !b.Passed })
}

// wayOf is how a check has to be run, as its baseline showed.
func (h History) wayOf(name, task string) Way {
	for _, before := range h.Baseline {
		if before.Name == name && before.Task == task {
			return before.Weaker
		}
	}
	return WayUsual
}

// needsWeaker reports whether a check needed more than a view gives before any agent worked.
func (h History) needsWeaker() bool {
	return slices.ContainsFunc(h.Baseline, func(c CheckResult) bool { return c.Weaker != WayUsual })
}

func changeNames(changes []FileChange) (names, lines []string) {
	for _, c := range changes {
		names, lines = append(names, c.Name), append(lines, fmt.Sprint(c))
	}
	return names, lines
}

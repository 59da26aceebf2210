package ralph

import (
	"hash"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// phraseWindow is how many iterations the status gate looks at: this one and the four before.
const phraseWindow = 5

// declineWindow is how many iterations the breaker compares for declining output.
const declineWindow = 3

// Observation is everything that was seen of one iteration.
type Observation struct {
	Number int
	Task   string   // that was worked on, "" without a list
	Listed []string // tasks that the agent marked done in the list
	// Injuries is what had to be put back in the list.
	Injuries []string
	Agent    AgentOutcome
	Tree     TreeState
	Stale    bool // the tree changed while checks ran
	Checks   []CheckResult

	Tampered    []string      // protected files that were changed or deleted
	Unseen      []string      // added files that checks did not see
	Weighed     *TestsWeighed // how the tests of the base fared, if tests were changed
	Evaluations []Evaluation
	Cut         []Evaluation // by a signal: nobody's word, but they cost
	Reviewing   bool         // an evaluator was asked, and has not answered yet

	Cases  []CaseRecord // that were submitted
	Proven string       // the tree of the last of them

	Accepted  bool // its case, and nothing was changed since
	Committed bool // since then
}

// Moment is what the clock and the world outside contribute to a verdict. It is recorded with it.
type Moment struct {
	Elapsed Span   `json:"elapsed"`          // spent by the run so far
	Signal  Signal `json:"signal,omitempty"` // somebody wants the run to end
	Killed  bool   `json:"killed,omitempty"` // and did not wait for the iteration's end
	// Blocked is why a hook keeps the next iteration from starting.
	Blocked string `json:"blocked,omitempty"`
}

// History is what Decide may know of a run: totals, streaks and the observation under judgement. Its size does not grow with the run.
type History struct {
	Started int // iterations
	Counted int // of them, against the cap
	Moment  Moment
	Cost    float64 // where known
	Tokens  Tokens

	Baseline []CheckResult
	Base     TreeState
	Settled  string // the copy of the tree in which a task was last proven

	Tasks []TaskState // of the list that is worked, if one is
	Task  string      // selected for the next iteration, or the one under way

	Agent int         // at work, by its place in Policy.Agents
	Rests []AgentRest // of agents that have not worked since

	Judging  bool // Now holds an iteration that is to be judged
	Now      Observation
	Progress bool // Now changed something

	AgentFailures    int // in a row, of the agent at work
	ProviderFailures int
	BrokenChecks     int
	LimitHits        int
	LimitWaited      Span

	NoProgress int
	SameError  int
	Denials    int
	Outputs    []int64 // bytes that the last counted iterations wrote
	Phrases    []int   // completion phrases of the last iterations
	Breaker    Breaker

	Rejections []TaskRejections // by the evaluator, of what is not done yet

	failures []failures // of agents that are not at work
	tree     TreeState
	treeOf   int // the iteration that left tree
	checks   checkMarks
	moved    bool              // the harness changed the tree since the checks were run
	greenOn  map[string]string // the tree on which a check was last green
	flaked   []string          // checks that were red and green on one tree, by their keys
	fault    uint64
}

// Judge folds the open observation into the streaks: the history that Decide is asked about. It does not change h.
func (h History) Judge(at Moment) History {
	h.Moment = at
	if !h.Judging {
		return h
	}
	h.Outputs, h.Phrases = slices.Clone(h.Outputs), slices.Clone(h.Phrases)
	now := h.Now
	h.spend(now.Agent.spending())
	for _, e := range slices.Concat(now.Evaluations, now.Cut) {
		h.spend(e.spending())
	}
	h.seeProgress()
	h.countFailures()
	if counts(now.Agent.End) {
		h.Counted++
		h.countStalls()
	}
	h.Phrases = text.LastOf(append(h.Phrases, now.Agent.Said.Phrases), phraseWindow)
	return h
}

// counts reports whether an iteration that ended so is one of the N. Limits, failing models and interrupts are nobody's work.
func counts(end EndClass) bool {
	switch end {
	case EndOK, EndFailed, EndBroken, EndKilled, EndEmpty, EndTimeout, EndIdle, EndOutOfTime:
		return true
	}
	return false
}

// seeProgress compares tree and checks with the iteration before. Where the tree is not known, nothing can be said against progress.
func (h *History) seeProgress() {
	h.Progress = !h.Now.Tree.Known || !h.tree.Known || !h.Now.Tree.same(h.tree)
	if h.Now.Tree.Known {
		h.tree, h.treeOf = h.Now.Tree, h.Now.Number
	}
	for _, c := range h.Now.Checks {
		if before, known := h.checks[checkKey(c)]; known && before != c.Passed && !h.moved {
			h.Progress = true
		}
	}
	h.moved = h.moved && len(h.Now.Checks) == 0
	h.checks = h.checks.with(h.Now.Checks)
}

// seeTasks takes what was proven for progress, also if it lay there already.
func (h *History) seeTasks(v TaskVerdict) {
	if len(v.Done) > 0 {
		h.Progress, h.NoProgress, h.Denials = true, 0, 0
		if h.Now.Agent.End == EndEmpty { // it ticked a task in silence
			h.AgentFailures = 0
		}
	}
}

func (h *History) countFailures() {
	switch end := h.Now.Agent.End; {
	case end == EndLimit:
		h.LimitHits++
		return
	case end == EndProvider:
		h.ProviderFailures++
		if len(h.Rests) == 0 { // while others rest, a failing model is no end of the wait for them
			h.LimitHits, h.LimitWaited = 0, 0
		}
		return
	case end == EndFailed, end == EndBroken, end == EndKilled, end == EndTimeout, end == EndIdle, end == EndEmpty && !(h.Progress && h.Now.Tree.Known): // a silent edit is no empty turn
		h.AgentFailures++
	default:
		h.AgentFailures = 0
	}
	h.ProviderFailures, h.LimitHits, h.LimitWaited = 0, 0, 0
	if slices.ContainsFunc(h.Now.Checks, func(c CheckResult) bool { return c.Broken }) {
		h.BrokenChecks++
	} else if len(h.Now.Checks) > 0 {
		h.BrokenChecks = 0
	}
}

func (h *History) countStalls() {
	h.NoProgress = streak(h.NoProgress, !h.Progress)
	h.Denials = streak(h.Denials, len(h.Now.Agent.Denials) > 0 && !h.Progress)
	fault := faultPrint(h.Now)
	if fault != h.fault {
		h.SameError = 0
	}
	h.SameError = streak(h.SameError, fault != 0)
	h.fault = fault
	h.Outputs = text.LastOf(append(h.Outputs, h.Now.Agent.OutputBytes), declineWindow)
}

// addCost adds up so that ten times a dime is a dollar.
func addCost(sum, more float64) float64 { return math.Round((sum+more)*1e6) / 1e6 }

func streak(n int, goesOn bool) int {
	if goesOn {
		return n + 1
	}
	return 0
}

// settle takes a verdict's consequences into the history and closes the iteration.
func (h *History) settle(v Verdict) {
	h.Judging = false
	h.seeTasks(v.Tasks)
	if v.WaitFor == WaitLimit {
		h.LimitWaited += v.Wait
	}
	if h.Breaker.State != BreakerClosed && v.Breaker.State == BreakerClosed {
		h.forgetStalls()
	}
	h.Breaker = v.Breaker
	h.Tasks = applyTasks(v.Tasks, h.Tasks, v.Counted)
	h.Rejections = slices.DeleteFunc(slices.Clone(h.Rejections), func(r TaskRejections) bool {
		return r.Task == v.Tasks.GivenUp && r.Task != "" || slices.Contains(v.Tasks.Done, r.Task)
	})
	switch {
	case v.Rest != nil:
		*h = h.resting(*v.Rest)
		if v.Rest.Because != EndLimit { // when it wakes, it counts from zero
			h.AgentFailures, h.ProviderFailures = 0, 0
		}
		if v.Counted { // it worked, and failed: that says nothing of the next one
			h.forgetStalls()
		}
	case v.Counted && len(h.Rests) > 0:
		*h = h.waking(h.Agent)
	}
}

func (h *History) forgetStalls() { h.NoProgress, h.SameError, h.Denials, h.Outputs = 0, 0, 0, nil }

// startAnew forgets the streaks, as resume does: failures count from zero and the breaker is half-open.
func (h *History) startAnew() {
	h.AgentFailures, h.ProviderFailures, h.BrokenChecks, h.LimitHits, h.LimitWaited = 0, 0, 0, 0, 0
	h.forgetStalls()
	h.Agent, h.Rests, h.failures, h.Rejections = 0, nil, nil, nil
	h.Tasks = slices.Clone(h.Tasks)
	for i := range h.Tasks {
		t := &h.Tasks[i]
		t.Tries, t.Rounds = 0, 0
		if t.Status == TaskFailed {
			t.Status = TaskPending
		}
	}
	if h.Breaker.State != BreakerClosed {
		h.Breaker = Breaker{State: BreakerHalfOpen, Reason: h.Breaker.Reason}
	}
}

// checkMarks is how each check last ended: the part of check results that progress is measured by. Output is left out, since it holds times and random
// names; so is which checks were run, since a claim is measured by more of them.
type checkMarks map[string]bool

func checkKey(c CheckResult) string { return c.Task + "\x00" + c.Name }

// with gives the marks after these results. Marks that a history was copied with are not changed.
func (m checkMarks) with(checks []CheckResult) checkMarks {
	same := true
	for _, c := range checks {
		before, known := m[checkKey(c)]
		same = same && known && before == c.Passed
	}
	if same {
		return m
	}
	next := make(checkMarks, len(m)+len(checks))
	maps.Copy(next, m)
	for _, c := range checks {
		next[checkKey(c)] = c.Passed
	}
	return next
}

// faultPrint reduces what went wrong in an iteration to a number that is equal when the fault is; 0 is no fault.
func faultPrint(o Observation) uint64 {
	fault := fingerprint{hash: fnv.New64a()}
	if o.Agent.End.Failed() {
		fault.add(string(o.Agent.End))
		fault.add(o.Agent.Error)
	}
	for _, c := range o.Checks {
		if !c.Passed {
			fault.add(c.Name)
			fault.add(c.Output)
		}
	}
	return fault.sum()
}

// fingerprint hashes words and leaves out what differs from one run of a command to the next: figures, scratch paths
// and blanks.
type fingerprint struct {
	hash hash.Hash64
	any  bool
}

func (f *fingerprint) add(text string) {
	for word := range strings.FieldsSeq(text) {
		f.any = true
		if strings.HasPrefix(word, "/tmp/") || strings.HasPrefix(word, "/var/folders/") {
			word = "/tmp"
		}
		letters := make([]byte, 0, len(word)+1)
		for _, b := range []byte(word) {
			if b < '0' || b > '9' {
				letters = append(letters, b)
			}
		}
		f.hash.Write(append(letters, ' '))
	}
}

func (f *fingerprint) sum() uint64 {
	if !f.any {
		return 0
	}
	return max(f.hash.Sum64(), 1)
}

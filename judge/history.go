package judge

import (
	"hash"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// checksFor are the checks by which a task is measured, "" being the goal: not those that are red for another claim.
func (h History) ChecksFor(id string) []ralph.CheckResult {
	return slices.DeleteFunc(slices.Clone(h.Now.Checks), func(c ralph.CheckResult) bool {
		t, _ := FindTask(h.Tasks, c.Task)
		return !c.Passed && c.Task != "" && c.Task != id && t.Status != ralph.TaskDone
	})
}

// TaskRejections counts how often an evaluator rejected what is not done yet. Task "" is the goal itself.
type TaskRejections struct {
	Task  string
	Count int
}

// reject counts a rejection. Counts that a history was copied with are not changed.
func (h *History) CountRejection(task string) {
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
func (h History) RejectionsOf(task string) int {
	for _, r := range h.Rejections {
		if r.Task == task {
			return r.Count
		}
	}
	return 0
}

// seeFlakes remembers on which tree a check was green, and which ones were red and green on the same.
func (h *History) NoteFlakes(c ralph.CheckResult) {
	key := CheckKey(c)
	if c.Flaked && !slices.Contains(h.Flaked, key) {
		h.Flaked = append(slices.Clip(h.Flaked), key)
	}
	if !c.Passed || c.Tree == "" || h.GreenOn[key] == c.Tree {
		return
	}
	next := make(map[string]string, len(h.GreenOn)+1)
	for k, v := range h.GreenOn {
		next[k] = v
	}
	next[key] = c.Tree
	h.GreenOn = next
}

// wasGreen reports whether a check was green on that very tree.
func (h History) PassedBefore(c ralph.CheckResult) bool {
	return c.Tree != "" && h.GreenOn[CheckKey(c)] == c.Tree
}

// hasFlaked reports whether a check was red and green on one tree in this run.
func (h History) HasFlaked(c ralph.CheckResult) bool { return slices.Contains(h.Flaked, CheckKey(c)) }

// replaceCheck keeps one result a check: the newest. That it flaked on this tree is not forgotten.
func ReplaceCheck(checks []ralph.CheckResult, result ralph.CheckResult) []ralph.CheckResult {
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
func Attribute(baseline []ralph.CheckResult, now ralph.CheckResult) ralph.Attribution {
	for _, before := range baseline {
		if before.Name != now.Name || before.Task != now.Task {
			continue
		}
		switch {
		case before.Passed && now.Passed:
			return ralph.CheckClean
		case before.Passed:
			return ralph.CheckRegressed
		case now.Passed:
			return ralph.CheckFixed
		}
		return ralph.CheckWasBroken
	}
	return ""
}

// redAtBase reports whether a check was seen red before any agent worked.
func (h History) FailedAtBase(name, task string) bool {
	return slices.ContainsFunc(h.Baseline, func(b ralph.CheckResult) bool { return b.Name == name && b.Task == task && !b.Passed })
}

// wayOf is how a check has to be run, as its baseline showed.
func (h History) WayOf(name, task string) ralph.Way {
	for _, before := range h.Baseline {
		if before.Name == name && before.Task == task {
			return before.Weaker
		}
	}
	return ralph.WayUsual
}

// needsWeaker reports whether a check needed more than a view gives before any agent worked.
func (h History) NeedsWeaker() bool {
	return slices.ContainsFunc(h.Baseline, func(c ralph.CheckResult) bool { return c.Weaker != ralph.WayUsual })
}

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
	Agent    ralph.AgentOutcome
	Tree     ralph.TreeState
	Stale    bool // the tree changed while checks ran
	Checks   []ralph.CheckResult

	Tampered    []string            // protected files that were changed or deleted
	Unseen      []string            // added files that checks did not see
	Weighed     *ralph.TestsWeighed // how the tests of the base fared, if tests were changed
	Evaluations []ralph.Evaluation
	Cut         []ralph.Evaluation // by a signal: nobody's word, but they cost
	Reviewing   bool               // an evaluator was asked, and has not answered yet

	Cases  []ralph.CaseRecord // that were submitted
	Proven string             // the tree of the last of them

	Accepted  bool // its case, and nothing was changed since
	Committed bool // since then
}

// History is what Decide may know of a run: totals, streaks and the observation under judgement. Its size does not grow with the run.
type History struct {
	Started int // iterations
	Counted int // of them, against the cap
	Moment  ralph.Moment
	Cost    float64 // where known
	Tokens  ralph.Tokens

	Baseline []ralph.CheckResult
	Base     ralph.TreeState
	Settled  string // the copy of the tree in which a task was last proven

	Tasks []ralph.TaskState // of the list that is worked, if one is
	Task  string            // selected for the next iteration, or the one under way

	Agent int               // at work, by its place in Policy.Agents
	Rests []ralph.AgentRest // of agents that have not worked since

	Judging  bool // Now holds an iteration that is to be judged
	Now      Observation
	Progress bool // Now changed something

	AgentFailures    int // in a row, of the agent at work
	ProviderFailures int
	BrokenChecks     int
	LimitHits        int
	LimitWaited      ralph.Span

	NoProgress int
	SameError  int
	Denials    int
	Outputs    []int64 // bytes that the last counted iterations wrote
	Phrases    []int   // completion phrases of the last iterations
	Breaker    ralph.Breaker

	Rejections []TaskRejections // by the evaluator, of what is not done yet

	Failures []FailureCount // of agents that are not at work
	Tree     ralph.TreeState
	TreeOf   int // the iteration that left tree
	Checks   CheckMarks
	Moved    bool              // the harness changed the tree since the checks were run
	GreenOn  map[string]string // the tree on which a check was last green
	Flaked   []string          // checks that were red and green on one tree, by their keys
	Fault    uint64
}

// Judge folds the open observation into the streaks: the history that Decide is asked about. It does not change h.
func (h History) Judge(at ralph.Moment) History {
	h.Moment = at
	if !h.Judging {
		return h
	}
	h.Outputs, h.Phrases = slices.Clone(h.Outputs), slices.Clone(h.Phrases)
	now := h.Now
	h.Spend(now.Agent.Spending())
	for _, e := range slices.Concat(now.Evaluations, now.Cut) {
		h.Spend(e.Spending())
	}
	h.seeProgress()
	h.countFailures()
	if ralph.CountsAsIteration(now.Agent.End) {
		h.Counted++
		h.countStalls()
	}
	h.Phrases = text.LastOf(append(h.Phrases, now.Agent.Said.Phrases), phraseWindow)
	return h
}

// seeProgress compares tree and checks with the iteration before. Where the tree is not known, nothing can be said against progress.
func (h *History) seeProgress() {
	h.Progress = !h.Now.Tree.Known || !h.Tree.Known || !h.Now.Tree.Same(h.Tree)
	if h.Now.Tree.Known {
		h.Tree, h.TreeOf = h.Now.Tree, h.Now.Number
	}
	for _, c := range h.Now.Checks {
		if before, known := h.Checks[CheckKey(c)]; known && before != c.Passed && !h.Moved {
			h.Progress = true
		}
	}
	h.Moved = h.Moved && len(h.Now.Checks) == 0
	h.Checks = h.Checks.With(h.Now.Checks)
}

// seeTasks takes what was proven for progress, also if it lay there already.
func (h *History) NoteTasks(v ralph.TaskVerdict) {
	if len(v.Done) > 0 {
		h.Progress, h.NoProgress, h.Denials = true, 0, 0
		if h.Now.Agent.End == ralph.EndEmpty { // it ticked a task in silence
			h.AgentFailures = 0
		}
	}
}

func (h *History) countFailures() {
	switch end := h.Now.Agent.End; {
	case end == ralph.EndLimit:
		h.LimitHits++
		return
	case end == ralph.EndProvider:
		h.ProviderFailures++
		if len(h.Rests) == 0 { // while others rest, a failing model is no end of the wait for them
			h.LimitHits, h.LimitWaited = 0, 0
		}
		return
	case end == ralph.EndFailed, end == ralph.EndBroken, end == ralph.EndKilled, end == ralph.EndTimeout, end == ralph.EndIdle, end == ralph.EndEmpty && !(h.Progress && h.Now.Tree.Known): // a silent edit is no empty turn
		h.AgentFailures++
	default:
		h.AgentFailures = 0
	}
	h.ProviderFailures, h.LimitHits, h.LimitWaited = 0, 0, 0
	if slices.ContainsFunc(h.Now.Checks, func(c ralph.CheckResult) bool { return c.Broken }) {
		h.BrokenChecks++
	} else if len(h.Now.Checks) > 0 {
		h.BrokenChecks = 0
	}
}

func (h *History) countStalls() {
	h.NoProgress = streak(h.NoProgress, !h.Progress)
	h.Denials = streak(h.Denials, len(h.Now.Agent.Denials) > 0 && !h.Progress)
	fault := FaultPrint(h.Now)
	if fault != h.Fault {
		h.SameError = 0
	}
	h.SameError = streak(h.SameError, fault != 0)
	h.Fault = fault
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
func (h *History) Settle(v ralph.Verdict) {
	h.Judging = false
	h.NoteTasks(v.Tasks)
	if v.WaitFor == ralph.WaitLimit {
		h.LimitWaited += v.Wait
	}
	if h.Breaker.State != ralph.BreakerClosed && v.Breaker.State == ralph.BreakerClosed {
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
		if v.Rest.Because != ralph.EndLimit { // when it wakes, it counts from zero
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
func (h *History) Restart() {
	h.AgentFailures, h.ProviderFailures, h.BrokenChecks, h.LimitHits, h.LimitWaited = 0, 0, 0, 0, 0
	h.forgetStalls()
	h.Agent, h.Rests, h.Failures, h.Rejections = 0, nil, nil, nil
	h.Tasks = slices.Clone(h.Tasks)
	for i := range h.Tasks {
		t := &h.Tasks[i]
		t.Tries, t.Rounds = 0, 0
		if t.Status == ralph.TaskFailed {
			t.Status = ralph.TaskPending
		}
	}
	if h.Breaker.State != ralph.BreakerClosed {
		h.Breaker = ralph.Breaker{State: ralph.BreakerHalfOpen, Reason: h.Breaker.Reason}
	}
}

// checkMarks is how each check last ended: the part of check results that progress is measured by. Output is left out, since it holds times and random
// names; so is which checks were run, since a claim is measured by more of them.
type CheckMarks map[string]bool

func CheckKey(c ralph.CheckResult) string { return c.Task + "\x00" + c.Name }

// with gives the marks after these results. Marks that a history was copied with are not changed.
func (m CheckMarks) With(checks []ralph.CheckResult) CheckMarks {
	same := true
	for _, c := range checks {
		before, known := m[CheckKey(c)]
		same = same && known && before == c.Passed
	}
	if same {
		return m
	}
	next := make(CheckMarks, len(m)+len(checks))
	maps.Copy(next, m)
	for _, c := range checks {
		next[CheckKey(c)] = c.Passed
	}
	return next
}

// faultPrint reduces what went wrong in an iteration to a number that is equal when the fault is; 0 is no fault.
func FaultPrint(o Observation) uint64 {
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

// claimsOf lists what the agent claimed, by tag, by block or in the task list.
func ClaimsOf(o Observation) []string {
	said := o.Agent.Said
	claims := []string{}
	switch {
	case said.CompleteTag != "":
		claims = append(claims, said.CompleteTag)
	case said.Complete:
		claims = append(claims, "COMPLETE")
	}
	if said.Blocked != nil {
		claims = append(claims, "BLOCKED")
	}
	if said.Decide != nil {
		claims = append(claims, "DECIDE")
	}
	for _, task := range slices.Concat(said.TasksDone, o.Listed) {
		if claim := task + ":DONE"; !slices.Contains(claims, claim) {
			claims = append(claims, claim)
		}
	}
	return claims
}

// AllPassed reports whether checks ran and all of them passed.
func AllPassed(checks []ralph.CheckResult) bool {
	for _, c := range checks {
		if !c.Passed {
			return false
		}
	}
	return len(checks) > 0
}

// forget drops the evidence of an earlier tree. What evaluators said is kept: it was paid for, and the newest word counts.
func (o *Observation) ClearEvidence() {
	o.Checks, o.Weighed, o.Stale, o.Proven, o.Accepted = nil, nil, false, "", false
}

// lastCase is the newest case as an evaluator reads it, "" if there is none.
func (o Observation) LastCase() string {
	if len(o.Cases) == 0 {
		return ""
	}
	return o.Cases[len(o.Cases)-1].String()
}

// spend counts what is known against the caps: that is better than nothing.
func (h *History) Spend(s ralph.Spending) {
	if s.Cost != nil {
		h.Cost = addCost(h.Cost, *s.Cost)
	}
	if s.Tokens != nil {
		h.Tokens = h.Tokens.Plus(*s.Tokens)
	}
}

// checkedInPlace reports whether baselines of this run were taken in the workspace itself.
func (h History) CheckedInPlace() bool {
	return slices.ContainsFunc(h.Baseline, func(c ralph.CheckResult) bool { return c.Isolation == ralph.IsolationInPlace })
}

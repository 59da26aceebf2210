package judge

import (
	"hash"
	"hash/fnv"
	"math"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// History is what Decide may know of a run: totals, streaks and the observation under judgement. Its size does not grow
// with the run.
type History struct {
	Started int          `json:"started,omitempty"` // iterations
	Counted int          `json:"counted,omitempty"` // of them, against the cap
	Moment  ralph.Moment `json:"moment,omitzero"`
	Cost    float64      `json:"cost,omitempty"` // where known
	Tokens  ralph.Tokens `json:"tokens,omitzero"`

	Baseline []ralph.CheckResult `json:"baseline,omitempty"`
	Base     ralph.TreeState     `json:"base,omitzero"`
	Settled  string              `json:"settled,omitempty"` // the copy of the tree in which a task was last proven
	Seen

	Tasks      []ralph.TaskState `json:"tasks,omitempty"`      // of the list that is worked, if one is
	Task       string            `json:"task,omitempty"`       // selected for the next iteration, or the one under way
	Rejections []TaskRejections  `json:"rejections,omitempty"` // by the evaluator, of what is not done yet

	Agent    int               `json:"agent,omitempty"`    // at work, by its place in Policy.Agents
	Rests    []ralph.AgentRest `json:"rests,omitempty"`    // of agents that have not worked since
	Failures []FailureCount    `json:"failures,omitempty"` // of agents that are not at work

	Judging  bool        `json:"judging,omitempty"` // Now holds an iteration that is to be judged
	Now      Observation `json:"now,omitzero"`
	Progress bool        `json:"progress,omitempty"` // Now changed something

	Streaks
	Breaker ralph.Breaker `json:"breaker,omitzero"`
}

// Streaks counts what happened again and again, up to now.
type Streaks struct {
	AgentFailures    int        `json:"agent_failures,omitempty"` // in a row, of the agent at work
	ProviderFailures int        `json:"provider_failures,omitempty"`
	BrokenChecks     int        `json:"broken_checks,omitempty"`
	LimitHits        int        `json:"limit_hits,omitempty"`
	LimitWaited      ralph.Span `json:"limit_waited,omitempty"`

	NoProgress int     `json:"no_progress,omitempty"`
	SameError  int     `json:"same_error,omitempty"`
	Fault      uint64  `json:"fault,omitempty"` // the print of the last one, 0 if nothing went wrong
	Denials    int     `json:"denials,omitempty"`
	Outputs    []int64 `json:"outputs,omitempty"` // bytes that the last counted iterations wrote
	Phrases    []int   `json:"phrases,omitempty"` // completion phrases of the last iterations
}

// Seen is the tree and the checks as they were last seen: what progress is measured by.
type Seen struct {
	Tree    ralph.TreeState   `json:"tree,omitzero"`
	TreeOf  int               `json:"tree_of,omitempty"` // the iteration that left Tree
	Checks  CheckMarks        `json:"checks,omitempty"`
	Moved   bool              `json:"moved,omitempty"`    // the harness changed the tree since the checks were run
	GreenOn map[string]string `json:"green_on,omitempty"` // the tree on which a check last passed, by the check's key
	Flaked  []string          `json:"flaked,omitempty"`   // checks that passed and failed on one tree, by their keys
}

// Observation is everything that was seen of one iteration.
type Observation struct {
	Number int      `json:"number,omitempty"`
	Task   string   `json:"task,omitempty"`   // that was worked on, "" without a list
	Listed []string `json:"listed,omitempty"` // tasks that the agent marked done in the list
	// Injuries is what had to be put back in the list.
	Injuries []string            `json:"injuries,omitempty"`
	Agent    ralph.AgentOutcome  `json:"agent,omitzero"`
	Tree     ralph.TreeState     `json:"tree,omitzero"`
	Stale    bool                `json:"stale,omitempty"` // the tree changed while checks ran
	Checks   []ralph.CheckResult `json:"checks,omitempty"`

	Tampered    []string            `json:"tampered,omitempty"` // protected files that were changed or deleted
	Unseen      []string            `json:"unseen,omitempty"`   // added files that checks did not see
	Weighed     *ralph.TestsWeighed `json:"weighed,omitempty"`  // how the tests of the base fared, if tests were changed
	Evaluations []ralph.Evaluation  `json:"evaluations,omitempty"`
	Cut         []ralph.Evaluation  `json:"cut,omitempty"`       // by a signal: nobody's word, but they cost
	Reviewing   bool                `json:"reviewing,omitempty"` // an evaluator was asked, and has not answered yet

	Cases  []ralph.CaseRecord `json:"cases,omitempty"`  // that were submitted
	Proven string             `json:"proven,omitempty"` // the tree of the last of them

	Accepted  bool `json:"accepted,omitempty"`  // its case, and nothing was changed since
	Committed bool `json:"committed,omitempty"` // since then
}

// TaskRejections counts how often an evaluator rejected what is not done yet. Task "" is the goal itself.
type TaskRejections struct {
	Task  string `json:"task,omitempty"`
	Count int    `json:"count,omitempty"`
}

// phraseWindow is how many iterations the status gate looks at: this one and the four before.
const phraseWindow = 5

// declineWindow is how many iterations the breaker compares for declining output.
const declineWindow = 3

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

// NoteTasks takes what was proven for progress, also if it lay there already.
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

// Settle takes a verdict's consequences into the history and closes the iteration.
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

// Restart forgets the streaks, as resume does: failures count from zero and the breaker is half-open.
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

// Spend counts what is known against the caps: that is better than nothing.
func (h *History) Spend(s ralph.Spending) {
	if s.Cost != nil {
		h.Cost = addCost(h.Cost, *s.Cost)
	}
	if s.Tokens != nil {
		h.Tokens = h.Tokens.Plus(*s.Tokens)
	}
}

// CountRejection counts a rejection. Counts that a history was copied with are not changed.
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

// RejectionsOf is how often what is not done yet was rejected.
func (h History) RejectionsOf(task string) int {
	for _, r := range h.Rejections {
		if r.Task == task {
			return r.Count
		}
	}
	return 0
}

// FaultPrint reduces what went wrong in an iteration to a number that is equal when the fault is; 0 is no fault.
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

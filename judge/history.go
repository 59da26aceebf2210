package judge

import (
	"math"
	"slices"

	"github.com/ralphloop/ralph"
)

// History is what Decide may know of a run: totals, streaks and the observation under judgement. Its size does not grow
// with the run.
type History struct {
	Started int          `json:"started,omitempty"` // iterations
	Counted int          `json:"counted,omitempty"` // of them, against the cap
	Moment  ralph.Moment `json:"moment,omitzero"`
	Cost    float64      `json:"cost,omitempty"` // where known
	Tokens  ralph.Tokens `json:"tokens,omitzero"`

	Baseline       []ralph.CheckResult `json:"baseline,omitempty"`
	Base           ralph.TreeState     `json:"base,omitzero"`
	LastProvenTree string              `json:"settled,omitempty"` // the copy of the tree in which a task was last proven
	LastSeen

	Tasks      []ralph.TaskState `json:"tasks,omitempty"`      // of the list that is worked, if one is
	Task       string            `json:"task,omitempty"`       // selected for the next iteration, or the one under way
	Rejections []TaskRejections  `json:"rejections,omitempty"` // by the evaluator, of what is not done yet

	Agent     int                   `json:"agent,omitempty"`    // at work, by its place in Policy.Agents
	Cooldowns []ralph.AgentCooldown `json:"rests,omitempty"`    // of agents that have not worked since
	Failures  []FailureCount        `json:"failures,omitempty"` // of agents that are not at work

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

// LastSeen is the tree and the checks as they were last seen: what progress is measured by.
type LastSeen struct {
	Tree    ralph.TreeState   `json:"tree,omitzero"`
	TreeOf  int               `json:"tree_of,omitempty"` // the iteration that left Tree
	Checks  CheckMarks        `json:"checks,omitempty"`
	Moved   bool              `json:"moved,omitempty"`    // the harness changed the tree since the checks were run
	GreenOn map[string]string `json:"green_on,omitempty"` // the tree on which a check last passed, by the check's key
	Flaked  []string          `json:"flaked,omitempty"`   // checks that passed and failed on one tree, by their keys
}

// FailureCount are those of one agent, in a row.
type FailureCount struct {
	Own   int `json:"own,omitempty"`
	Model int `json:"model,omitempty"`
}

// Observation is everything that was seen of one iteration.
type Observation struct {
	Number int      `json:"number,omitempty"`
	Task   string   `json:"task,omitempty"`   // that was worked on, "" without a list
	Listed []string `json:"listed,omitempty"` // tasks that the agent marked done in the list
	// ListDamage is what had to be put back in the list.
	ListDamage []string            `json:"injuries,omitempty"`
	Agent      ralph.AgentOutcome  `json:"agent,omitzero"`
	Tree       ralph.TreeState     `json:"tree,omitzero"`
	Stale      bool                `json:"stale,omitempty"` // the tree changed while checks ran
	Checks     []ralph.CheckResult `json:"checks,omitempty"`

	Tampered    []string            `json:"tampered,omitempty"` // protected files that were changed or deleted
	Unseen      []string            `json:"unseen,omitempty"`   // added files that checks did not see
	BaseTests   *ralph.BaseTestsRun `json:"weighed,omitempty"`  // how the tests of the base fared, if tests were changed
	Evaluations []ralph.Evaluation  `json:"evaluations,omitempty"`
	Cut         []ralph.Evaluation  `json:"cut,omitempty"`       // by a signal: nobody's word, but they cost
	Reviewing   bool                `json:"reviewing,omitempty"` // an evaluator was asked, and has not answered yet

	Cases  []ralph.CaseRecord `json:"cases,omitempty"`  // that were submitted
	Proven string             `json:"proven,omitempty"` // the tree of the last of them

	Accepted  bool `json:"accepted,omitempty"`  // its case, and nothing was changed since
	Committed bool `json:"committed,omitempty"` // since then
}

// ClearEvidence drops the evidence of an earlier tree. What evaluators said is kept: it was paid for, and the newest word counts.
func (o *Observation) ClearEvidence() {
	o.Checks, o.BaseTests, o.Stale, o.Proven, o.Accepted = nil, nil, false, "", false
}

// LastCase is the newest case as an evaluator reads it, "" if there is none.
func (o Observation) LastCase() string {
	if len(o.Cases) == 0 {
		return ""
	}
	return o.Cases[len(o.Cases)-1].String()
}

// TaskRejections counts how often an evaluator rejected what is not done yet. Task "" is the goal itself.
type TaskRejections struct {
	Task  string `json:"task,omitempty"`
	Count int    `json:"count,omitempty"`
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

// Spend counts what is known against the caps: that is better than nothing.
func (h *History) Spend(s ralph.Spending) {
	if s.Cost != nil {
		h.Cost = addCost(h.Cost, *s.Cost)
	}
	if s.Tokens != nil {
		h.Tokens = h.Tokens.Plus(*s.Tokens)
	}
}

// addCost adds up so that ten times a dime is a dollar.
func addCost(sum, more float64) float64 { return math.Round((sum+more)*1e6) / 1e6 }

package judge

import (
	"math"
	"slices"

	"github.com/ralphloop/ralph"
)

// History is everything that Decide knows about a run: totals, streaks and the current observation. Its
// size does not grow with the run.
type History struct {
	Started int          `json:"started,omitempty"` // iterations
	Counted int          `json:"counted,omitempty"` // iterations that count against the limit
	Moment  ralph.Moment `json:"moment,omitzero"`
	Cost    float64      `json:"cost,omitempty"` // as far as it is known
	Tokens  ralph.Tokens `json:"tokens,omitzero"`

	Baseline       []ralph.CheckResult `json:"baseline,omitempty"`
	First          ralph.TreeState     `json:"first,omitzero"` // the tree that the run's baseline ran on
	Base           ralph.TreeState     `json:"base,omitzero"`
	LastProvenTree string              `json:"settled,omitempty"` // its snapshot
	LastSeen

	Tasks      []ralph.TaskState `json:"tasks,omitempty"`      // the task list, if the run has one
	Task       string            `json:"task,omitempty"`       // the task of the current or next iteration
	Rejections []TaskRejections  `json:"rejections,omitempty"` // of tasks that are not done yet

	AgentTurns

	Judging  bool        `json:"judging,omitempty"` // Now holds an iteration without a verdict
	Now      Observation `json:"now,omitzero"`
	Progress bool        `json:"progress,omitempty"` // Now changed something

	Streaks
	ShownLog
	Breaker ralph.Breaker `json:"breaker,omitzero"`
}

// AgentTurns tells which agent works and what is known about the others.
type AgentTurns struct {
	Agent     int                   `json:"agent,omitempty"`    // the current agent's index in Policy.Agents
	Cooldowns []ralph.AgentCooldown `json:"rests,omitempty"`    // of agents that have not worked since
	Failures  []FailureCount        `json:"failures,omitempty"` // of all agents but the current one
	Refused   []RefusedWork         `json:"refused,omitempty"`  // of work that is not done yet
}

// RefusedWork counts the refused claims for a task, or for the goal.
type RefusedWork struct {
	Task      string `json:"task,omitempty"`
	Times     int    `json:"times,omitempty"`
	Escalated bool   `json:"escalated,omitempty"` // a stronger agent works on it
}

// Streaks counts what happened in consecutive iterations up to now.
type Streaks struct {
	AgentFailures    int        `json:"agent_failures,omitempty"` // in a row, of the agent at work
	ProviderFailures int        `json:"provider_failures,omitempty"`
	OutageFrom       ralph.Span `json:"outage_from,omitempty"` // when the model first failed, and has not worked since
	BrokenChecks     int        `json:"broken_checks,omitempty"`
	LimitHits        int        `json:"limit_hits,omitempty"`
	LimitWaited      ralph.Span `json:"limit_waited,omitempty"`

	NoProgress int     `json:"no_progress,omitempty"`
	SameError  int     `json:"same_error,omitempty"`
	Fault      uint64  `json:"fault,omitempty"` // the print of the last one, 0 if nothing went wrong
	Denials    int     `json:"denials,omitempty"`
	Outputs    []int64 `json:"outputs,omitempty"` // bytes that the last counted iterations wrote
	Phrases    []int   `json:"phrases,omitempty"` // completion phrases of the last iterations

	// Better reports, between Judge and ApplyVerdict, whether Now has better evidence than the iterations before: a
	// check passes again, fewer tests fail than ever, the failure is a different one, or a task is done. Where nothing
	// fails, changed files are better, too.
	Better bool `json:"better,omitempty"`
}

// LastSeen holds the last known tree and check results. Progress is measured against them.
type LastSeen struct {
	Tree    ralph.TreeState   `json:"tree,omitzero"`
	TreeOf  int               `json:"tree_of,omitempty"` // the iteration that left Tree
	Checks  CheckMarks        `json:"checks,omitempty"`
	Fewest  map[string]int    `json:"fewest,omitempty"`   // failing tests that a check ever had, by the check's key
	Moved   bool              `json:"moved,omitempty"`    // the harness changed the tree since the checks ran
	Rules   int               `json:"rules,omitempty"`    // of the policy: how a check that cannot run counts
	GreenOn map[string]string `json:"green_on,omitempty"` // the tree on which a check last passed, by the check's key
	Flaked  []string          `json:"flaked,omitempty"`   // checks that passed and failed on one tree, by their keys
}

// FailureCount counts the consecutive failures of one agent and of its model.
type FailureCount struct {
	Own   int `json:"own,omitempty"`
	Model int `json:"model,omitempty"`
}

// Observation is everything known about one iteration.
type Observation struct {
	Number int      `json:"number,omitempty"`
	Task   string   `json:"task,omitempty"`   // the iteration's task; "" without a list
	Listed []string `json:"listed,omitempty"` // tasks that the agent marked done in the list
	// ListDamage lists the damage to the task list that the harness repaired.
	ListDamage []string           `json:"injuries,omitempty"`
	Agent      ralph.AgentOutcome `json:"agent,omitzero"`
	Tree       ralph.TreeState    `json:"tree,omitzero"`
	Freshness
	Checks []ralph.CheckResult `json:"checks,omitempty"`

	Plan        *ralph.PlanRead     `json:"plan,omitempty"`     // the agent's plan; nil if it was not read
	Tampered    []string            `json:"tampered,omitempty"` // protected files that were changed or deleted
	Unseen      []string            `json:"unseen,omitempty"`   // added files that checks did not see
	BaseTests   *ralph.BaseTestsRun `json:"weighed,omitempty"`  // set if tests changed
	Work        *ralph.WorkSeen     `json:"work,omitempty"`     // set if a claim must be shown
	Undone      []ralph.UndoneTask  `json:"undone,omitempty"`   // tasks that were done
	Evaluations []ralph.Evaluation  `json:"evaluations,omitempty"`
	Cut         []ralph.Evaluation  `json:"cut,omitempty"`       // cut by a signal: no verdict, but they cost money
	Reviewing   bool                `json:"reviewing,omitempty"` // an evaluator was asked and has not answered yet

	OutsideTree
	CaseLog
	Committed bool `json:"committed,omitempty"` // the harness committed in this iteration
}

// Freshness tells whether the tree changed while checks ran.
type Freshness struct {
	Stale bool     `json:"stale,omitempty"`
	Moved []string `json:"moved,omitempty"` // the files that changed
}

// OutsideTree is what changed outside of the tree and matters to checks.
type OutsideTree struct {
	Environment  []string `json:"environment,omitempty"`  // what decides what checks do
	Dependencies []string `json:"dependencies,omitempty"` // folders that changed with their lock file
}

// CaseLog holds the cases that an agent submitted in one iteration.
type CaseLog struct {
	Cases    []ralph.CaseRecord `json:"cases,omitempty"`
	Proven   string             `json:"proven,omitempty"`   // the tree of the accepted case
	Accepted bool               `json:"accepted,omitempty"` // the last case was accepted
}

// ClearEvidence drops the evidence for an earlier tree. It keeps the evaluations: they were paid for,
// and the newest one counts.
func (o *Observation) ClearEvidence() {
	o.Checks, o.BaseTests, o.Work, o.Undone, o.Freshness = nil, nil, nil, nil, Freshness{}
	o.Proven, o.Accepted = "", false
}

// LastCase returns the newest case as text for an evaluator, or "".
func (o Observation) LastCase() string {
	switch {
	case len(o.Cases) > 0:
		return o.Cases[len(o.Cases)-1].String()
	case o.Agent.Case != nil:
		return o.Agent.Case.String()
	}
	return ""
}

// TaskRejections counts how often an evaluator rejected a task that is not done yet. Task "" is the goal.
type TaskRejections struct {
	Task  string `json:"task,omitempty"`
	Count int    `json:"count,omitempty"`
}

// CountRejection counts a rejection. It does not change counts that other histories share.
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

// RejectionsOf returns how often a task that is not done yet was rejected.
func (h History) RejectionsOf(task string) int {
	for _, r := range h.Rejections {
		if r.Task == task {
			return r.Count
		}
	}
	return 0
}

// Spend adds known spending to the totals. A partial total is better than none.
func (h *History) Spend(s ralph.Spending) {
	if s.Cost != nil {
		h.Cost = addCost(h.Cost, *s.Cost)
	}
	if s.Tokens != nil {
		h.Tokens = h.Tokens.Plus(*s.Tokens)
	}
}

// addCost rounds to millionths of a dollar, so that ten dimes add up to exactly one dollar.
func addCost(sum, more float64) float64 { return math.Round((sum+more)*1e6) / 1e6 }

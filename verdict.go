package ralph

// Verdict is the decision of the loop: continue, wait, or stop for one reason.
type Verdict struct {
	Row        int            `json:"row"` // in the verdict table
	Action     Action         `json:"action"`
	Reason     StopReason     `json:"stop_reason,omitempty"`
	Signal     Signal         `json:"signal,omitempty"`
	Detail     string         `json:"detail,omitempty"` // one sentence
	Hint       string         `json:"hint,omitempty"`
	Claimed    bool           `json:"claimed,omitempty"`
	Gates      []Gate         `json:"gates,omitempty"`
	Counted    bool           `json:"counted"`
	Progress   bool           `json:"progress"`
	Wait       Span           `json:"wait,omitempty"`
	WaitFor    WaitReason     `json:"wait_for,omitempty"`
	Breaker    Breaker        `json:"breaker"`
	Tasks      TaskVerdict    `json:"tasks,omitzero"`
	VerifiedBy []string       `json:"verified_by,omitempty"`
	Shown      []Showing      `json:"shown,omitempty"`     // why the claims that pass count as shown
	Cooldown   *AgentCooldown `json:"rest,omitempty"`      // set if another agent takes over from this one
	Escalates  bool           `json:"escalates,omitempty"` // a stronger agent takes over the task, or the goal
}

// Refusals lists why gates refused the claim.
func (v Verdict) Refusals() []Refusal {
	if !v.Claimed && !v.Tasks.AllDone {
		return nil
	}
	return RefusalsOf(v.Gates)
}

// breakerRow is the row of the breaker in the verdict table.
const breakerRow = 8

// BlockedByBreaker reports whether the run ended as blocked because it made no progress. Nobody named a blocker then.
func (v Verdict) BlockedByBreaker() bool { return v.Reason == Blocked && v.Row == breakerRow }

// Question returns what the run asks a person, or nil.
func (v Verdict) Question() *string {
	if v.BlockedByBreaker() {
		return nil
	}
	if v.Reason == Blocked || v.Reason == NeedsDecision || v.Reason == Unconfirmed || v.WaitFor == WaitAnswer {
		return &v.Detail
	}
	return nil
}

// Action is what the loop does after a verdict.
type Action string

// The actions.
const (
	GoOn Action = "go_on"
	Wait Action = "wait"
	Stop Action = "stop"
)

// WaitReason is what a run waits for.
type WaitReason string

// The reasons to wait.
const (
	WaitLimit    WaitReason = "limit"
	WaitBackoff  WaitReason = "backoff"
	WaitCooldown WaitReason = "cooldown"
	WaitCalls    WaitReason = "calls_per_hour"
	WaitDelay    WaitReason = "iteration_delay"
	WaitPause    WaitReason = "pause"
	WaitAnswer   WaitReason = "answer"
)

// Moment holds the inputs of a verdict that come from the clock and from outside the run. It is
// recorded with the verdict.
type Moment struct {
	Elapsed Span   `json:"elapsed"`          // the run's elapsed time
	Signal  Signal `json:"signal,omitempty"` // a request to end the run
	Killed  bool   `json:"killed,omitempty"` // the request did not wait for the end of the iteration
	// Blocked is why a hook keeps the next iteration from starting.
	Blocked string `json:"blocked,omitempty"`
}

// Gate is the result of one condition between a claim and exit 0.
type Gate struct {
	Name    string    `json:"gate"`
	State   GateState `json:"state"`
	Refusal string    `json:"refusal,omitempty"`
	Detail  string    `json:"detail,omitempty"`
}

// GateState is whether a gate lets a claim pass.
type GateState string

// The states of a gate.
const (
	GateOpen   GateState = "open"   // it passes the claim
	GateWarned GateState = "warned" // it passes the claim with a warning
	GateShut   GateState = "shut"   // it refuses the claim
	GateNoted  GateState = "noted"  // it does not apply, because this run has no evidence for it
)

// Refusal is the reason of a gate that refuses, for the next prompt and the result.
type Refusal struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// The stable codes of refusals.
const (
	RefusedAgentFailed   = "agent_failed"
	RefusedContradiction = "contradiction"
	RefusedTasksOpen     = "tasks_open"
	RefusedCheckFailed   = "check_failed"
	RefusedCheckBroken   = "check_broken"
	RefusedCheckInert    = "check_inert"
	RefusedTestsMissing  = "tests_missing"
	RefusedEnvironment   = "environment_changed"
	RefusedTampered      = "tampered"
	RefusedTestsChanged  = "tests_changed"
	RefusedTestAware     = "test_aware"
	RefusedDependencies  = "dependencies_changed"
	RefusedStale         = "stale_evidence"
	RefusedMissing       = "missing_evidence"
	RefusedFailed        = "failed_evidence"
	RefusedUnfinished    = "unfinished"
	RefusedUncommitted   = "uncommitted"
	RefusedEvaluator     = "evaluator_rejected"
	RefusedStatusGate    = "status_gate"
	RefusedNoEvidence    = "no_evidence"
	RefusedNotShown      = "not_shown"
	RefusedNoChange      = "nothing_changed"
)

// RefusalsOf returns the refusals of the gates that are shut.
func RefusalsOf(gates []Gate) []Refusal {
	var refusals []Refusal
	for _, g := range gates {
		if g.State == GateShut {
			refusals = append(refusals, Refusal{g.Refusal, g.Detail})
		}
	}
	return refusals
}

// Breaker is the state of the breaker of one run.
type Breaker struct {
	State  BreakerState `json:"state"`
	Reason string       `json:"reason,omitempty"`
	Waits  int          `json:"waits,omitempty"` // cooldowns since it was last closed
}

// BreakerState is the state of the breaker.
type BreakerState string

// The states of the breaker. It is closed while the run makes progress. At a threshold it asks for a
// diagnosis. It opens if the diagnosis does not help. After a cooldown or a resume it is half-open and
// allows one iteration as a probe.
const (
	BreakerClosed   BreakerState = "closed"
	BreakerDiagnose BreakerState = "diagnose"
	BreakerOpen     BreakerState = "open"
	BreakerHalfOpen BreakerState = "half_open"
)

// AgentCooldown is a period in which one agent of a run does not work.
type AgentCooldown struct {
	Agent   int      `json:"agent"`           // its index in Policy.Agents
	Because EndClass `json:"because"`         // how the agent ended
	Until   Span     `json:"until,omitempty"` // in the run's elapsed time; 0 means for the rest of the run
	Times   int      `json:"times,omitempty"` // consecutive usage limits
}

// Over reports whether the cooldown has ended at this time of the run.
func (r AgentCooldown) Over(at Span) bool { return r.Until > 0 && r.Until <= at }

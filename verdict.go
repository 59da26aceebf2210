package ralph

// Verdict is what the loop decides: go on, wait, or stop with one reason.
type Verdict struct {
	Row        int            `json:"row"` // of the verdict table
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
	Cooldown   *AgentCooldown `json:"rest,omitempty"` // another agent of the run takes over from this one
}

// Refusals are the gates that were shut for a claim.
func (v Verdict) Refusals() []Refusal {
	if !v.Claimed && !v.Tasks.AllDone {
		return nil
	}
	return RefusalsOf(v.Gates)
}

// Question is what the run asks a person, nil if nothing.
func (v Verdict) Question() *string {
	if v.Reason == Blocked || v.Reason == NeedsDecision || v.WaitFor == WaitAnswer {
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

// WaitReason says what is waited for.
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

// Moment is what the clock and the world outside contribute to a verdict. It is recorded with it.
type Moment struct {
	Elapsed Span   `json:"elapsed"`          // spent by the run so far
	Signal  Signal `json:"signal,omitempty"` // somebody wants the run to end
	Killed  bool   `json:"killed,omitempty"` // and did not wait for the iteration's end
	// Blocked is why a hook keeps the next iteration from starting.
	Blocked string `json:"blocked,omitempty"`
}

// Gate is one condition between a claim and exit 0, as it stood when it was asked.
type Gate struct {
	Name    string    `json:"gate"`
	State   GateState `json:"state"`
	Refusal string    `json:"refusal,omitempty"`
	Detail  string    `json:"detail,omitempty"`
}

// GateState says whether a gate let a claim through.
type GateState string

// A gate is open, open with a warning, shut, or was not asked because its evidence does not exist in this run.
const (
	GateOpen   GateState = "open"
	GateWarned GateState = "warned"
	GateShut   GateState = "shut"
	GateNoted  GateState = "noted"
)

// Refusal is a shut gate as the next prompt and the result name it.
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
	RefusedTampered      = "tampered"
	RefusedTestsChanged  = "tests_changed"
	RefusedTestAware     = "test_aware"
	RefusedStale         = "stale_evidence"
	RefusedUnfinished    = "unfinished"
	RefusedEvaluator     = "evaluator_rejected"
	RefusedStatusGate    = "status_gate"
	RefusedNoEvidence    = "no_evidence"
)

// RefusalsOf lists the gates that are shut.
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
	Waits  int          `json:"waits,omitempty"` // cool-downs since it last was closed
}

// BreakerState is where the breaker stands.
type BreakerState string

// The breaker is closed while work goes well, asks for a diagnosis at a threshold, opens when that brought nothing, and lets one probe
// through (half-open) after a cool-down or a resume.
const (
	BreakerClosed   BreakerState = "closed"
	BreakerDiagnose BreakerState = "diagnose"
	BreakerOpen     BreakerState = "open"
	BreakerHalfOpen BreakerState = "half_open"
)

// AgentCooldown says that one agent of a run does not work for now.
type AgentCooldown struct {
	Agent   int      `json:"agent"`           // its place in Policy.Agents
	Because EndClass `json:"because"`         // how it ended
	Until   Span     `json:"until,omitempty"` // in the run's time; 0 is for good
	Times   int      `json:"times,omitempty"` // limits in a row
}

// Over reports whether the rest has ended at this time of the run.
func (r AgentCooldown) Over(at Span) bool { return r.Until > 0 && r.Until <= at }

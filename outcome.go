package ralph

import "fmt"

// StopReason is a stable word for why a run ended.
type StopReason string

// The stop reasons, in the order of their exit codes.
const (
	TasksDone         StopReason = "tasks_done"
	VerifierPassed    StopReason = "verifier_passed"
	AllChecksPassed   StopReason = "all_checks_passed"
	EvaluatorAccepted StopReason = "evaluator_accepted"
	Unverified        StopReason = "unverified"
	MaxIterations     StopReason = "max_iterations"
	Blocked           StopReason = "blocked"
	NeedsDecision     StopReason = "decide"
	SandboxError      StopReason = "sandbox_error"
	AuthError         StopReason = "auth_error"
	ProgramMissing    StopReason = "program_missing"
	Unconfirmed       StopReason = "unconfirmed"
	Timeout           StopReason = "timeout"
	MaxCost           StopReason = "max_cost"
	MaxTokens         StopReason = "max_tokens"
	BudgetExhausted   StopReason = "budget_exhausted" // either of them, in results of profile checks
	CircuitOpen       StopReason = "circuit_open"
	RateLimited       StopReason = "rate_limited"
	IterCap           StopReason = "iter_cap"
	EvaluatorCap      StopReason = "evaluator_cap"
	NoCase            StopReason = "no_case"
	EmptyResponses    StopReason = "empty_responses"
	TaskTries         StopReason = "task_tries"
	AgentFailed       StopReason = "agent_failed"
	ProviderFailed    StopReason = "provider_failed"
	CheckBroken       StopReason = "check_broken"
	Tampered          StopReason = "tampered"
	Internal          StopReason = "internal"
	IOFailed          StopReason = "io_error"
	Interrupted       StopReason = "interrupted"
)

// Status is the state of a run, for people and scripts.
type Status string

// The states of a run. Active, Paused and Waiting are states of a run that has not ended.
const (
	StatusCompleted     Status = "completed"
	StatusExhausted     Status = "budget_exhausted"
	StatusBlocked       Status = "blocked"
	StatusNeedsDecision Status = "needs_decision"
	StatusUnconfirmed   Status = "unconfirmed"
	StatusFailed        Status = "failed"
	StatusInterrupted   Status = "interrupted"
	StatusActive        Status = "active"
	StatusPaused        Status = "paused"
	StatusWaiting       Status = "waiting"
)

// Exit codes that belong to no stop reason.
const (
	ExitUsage  = 64
	ExitLocked = 75
)

// OutcomeKind is one row of the exit-code table.
type OutcomeKind struct {
	Code    int
	Name    string
	Status  Status
	Reasons []StopReason
}

// Outcomes returns the exit-code table, the only place that maps a stop reason to an exit code.
func Outcomes() []OutcomeKind {
	return []OutcomeKind{
		{0, "COMPLETE", StatusCompleted, []StopReason{
			TasksDone, VerifierPassed, AllChecksPassed, EvaluatorAccepted, Unverified,
		}},
		{1, "MAX_ITERATIONS", StatusExhausted, []StopReason{MaxIterations}},
		{2, "BLOCKED", StatusBlocked, []StopReason{Blocked}},
		{3, "DECIDE", StatusNeedsDecision, []StopReason{NeedsDecision}},
		{4, "SANDBOX_ERROR", StatusFailed, []StopReason{SandboxError}},
		{5, "AUTH_ERROR", StatusFailed, []StopReason{AuthError}},
		{6, "PROGRAM_MISSING", StatusFailed, []StopReason{ProgramMissing}},
		{7, "UNCONFIRMED", StatusUnconfirmed, []StopReason{Unconfirmed}},
		{10, "MAX_TIME", StatusExhausted, []StopReason{Timeout}},
		{11, "BUDGET", StatusExhausted, []StopReason{MaxCost, MaxTokens, BudgetExhausted}},
		{12, "STALLED", StatusFailed, []StopReason{CircuitOpen}},
		{13, "LIMITED", StatusFailed, []StopReason{RateLimited}},
		{14, "TASK_FAILED", StatusFailed, []StopReason{IterCap, EvaluatorCap, NoCase, EmptyResponses, TaskTries}},
		{15, "AGENT_FAILED", StatusFailed, []StopReason{AgentFailed, ProviderFailed}},
		{16, "CHECK_BROKEN", StatusFailed, []StopReason{CheckBroken}},
		{17, "TAMPERED", StatusFailed, []StopReason{Tampered}},
		{ExitUsage, "USAGE", "", nil},
		{70, "INTERNAL", StatusFailed, []StopReason{Internal}},
		{74, "IO_ERROR", StatusFailed, []StopReason{IOFailed}},
		{ExitLocked, "LOCKED", "", nil},
		{129, "INTERRUPTED", StatusInterrupted, []StopReason{Interrupted}},
		{130, "INTERRUPTED", StatusInterrupted, []StopReason{Interrupted}},
		{143, "INTERRUPTED", StatusInterrupted, []StopReason{Interrupted}},
	}
}

// ExitCode returns the exit code for reason. The signal matters only for Interrupted.
func ExitCode(reason StopReason, signal Signal) int {
	if reason == Interrupted {
		switch signal {
		case SignalHangup:
			return 129
		case SignalTerminate:
			return 143
		}
		return 130
	}
	return outcomeOf(reason).Code
}

// StatusOf returns the final state of a run that stopped for reason.
func StatusOf(reason StopReason) Status { return outcomeOf(reason).Status }

// NameOf returns the name of reason's exit code, such as MAX_ITERATIONS.
func NameOf(reason StopReason) string { return outcomeOf(reason).Name }

func outcomeOf(reason StopReason) OutcomeKind {
	for _, kind := range Outcomes() {
		for _, r := range kind.Reasons {
			if r == reason {
				return kind
			}
		}
	}
	panic(fmt.Sprintf("ralph: stop reason %q has no exit code", reason))
}

// Signal is a request from outside the run to end it.
type Signal string

// The signals that end a run. SignalStop is an order, not a signal of the operating system; it counts
// as an interrupt.
const (
	SignalStop      Signal = "STOP"
	SignalHangup    Signal = "HUP"
	SignalInterrupt Signal = "INT"
	SignalTerminate Signal = "TERM"
)

// Killed is the cause for canceling the context of Run. The loop kills the agent, saves the state, and
// ends the run as Interrupted by Signal.
type Killed struct{ Signal Signal }

// Error implements error.
func (k Killed) Error() string { return "killed by " + string(k.Signal) }

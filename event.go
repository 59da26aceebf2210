package ralph

import (
	"time"
)

// EventVersion is the version of the event format that this package writes.
const EventVersion = 1

// EventType is the type of an event.
type EventType string

// The event types. Some names are reserved for features that do not exist yet.
const (
	EvRunStarted       EventType = "run_started"
	EvRunResumed       EventType = "run_resumed"
	EvRunStopped       EventType = "run_stopped"
	EvSessionBound     EventType = "session_bound"
	EvIterationStarted EventType = "iteration_started"
	EvPromptBuilt      EventType = "prompt_built"
	EvAgentStarted     EventType = "agent_started"
	EvAgentOutput      EventType = "agent_output"
	EvAgentExited      EventType = "agent_exited"
	EvTreeQuiet        EventType = "tree_quiet"
	EvTreeSnapshot     EventType = "tree_snapshot"
	EvSignal           EventType = "signal"
	EvStatusBlock      EventType = "status_block"
	EvClaimRefused     EventType = "claim_refused"
	EvCheckStarted     EventType = "check_started"
	EvCheckFinished    EventType = "check_finished"
	EvCheckProof       EventType = "check_proof"
	EvTestsChanged     EventType = "tests_changed"
	EvWorkSeen         EventType = "work_seen"
	EvWorkUndone       EventType = "work_undone"
	EvTestsWritten     EventType = "tests_written"
	EvAccepted         EventType = "accepted"
	EvTurn             EventType = "turn"
	EvCase             EventType = "case"
	EvCaseAnswered     EventType = "case_answered"
	EvTaskSelected     EventType = "task_selected"
	EvTaskDone         EventType = "task_done"
	EvTaskUnconfirmed  EventType = "task_unconfirmed"
	EvTaskFailed       EventType = "task_failed"
	EvTaskReopened     EventType = "task_reopened"
	EvWorkStashed      EventType = "work_set_aside"
	EvWorkRestored     EventType = "work_brought_back"
	EvEvaluation       EventType = "evaluation"
	EvVerdict          EventType = "verdict"
	EvBreaker          EventType = "breaker"
	EvLimitWait        EventType = "limit_wait"
	EvSteering         EventType = "steering"
	EvAnswer           EventType = "answer"
	EvLimits           EventType = "limits_raised"
	EvNotice           EventType = "notice"
	EvTruncated        EventType = "truncated"
	EvTampered         EventType = "tampered"
	EvLearning         EventType = "learning"
	EvPlanRead         EventType = "plan_read"
	EvCommit           EventType = "commit"
	EvWarning          EventType = "warning"
)

// Event is one line of a run's log. Data holds a value of one of this package's payload types.
type Event struct {
	Version   int       `json:"v"`
	Seq       int64     `json:"seq"`
	Time      time.Time `json:"ts"`
	Run       string    `json:"run"`
	Iteration int       `json:"iteration"`
	Type      EventType `json:"type"`
	Data      any       `json:"data"`
}

package judge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/promise"
)

// GoalStatus is the status of a goal in a live session.
type GoalStatus string

// The statuses of a goal. All but GoalActive are final.
const (
	GoalActive    GoalStatus = "active"
	GoalCompleted GoalStatus = "completed"
	GoalBlocked   GoalStatus = "blocked"
	GoalExhausted GoalStatus = "budget_exhausted"
)

// GoalReason says why a goal ended or continues.
type GoalReason string

// The reasons. The first four end a goal, the others continue it.
const (
	GoalVerified      GoalReason = "verifier_passed"
	GoalPromised      GoalReason = "completion_promise_received" // no evidence is required
	GoalIsBlocked     GoalReason = "blocked"
	GoalMaxIterations GoalReason = "max_iterations"

	GoalUnclaimed     GoalReason = "no_claim"
	GoalContradiction GoalReason = GoalReason(ralph.RefusedContradiction)
	GoalMissing       GoalReason = GoalReason(EvidenceMissing)
	GoalFailed        GoalReason = GoalReason(EvidenceFailed)
	GoalStale         GoalReason = GoalReason(EvidenceStale)
)

// sameBlockers is how many answers in a row with the same failure make a goal blocked.
const sameBlockers = 3

// GoalAnswer is an answer of the agent without tool calls, and what is known about the goal at that moment.
type GoalAnswer struct {
	Said       promise.Report
	Evidence   Weighing
	Unverified bool // a claim needs no evidence
	Blocker    GoalBlocker
	Iteration  int // continuations so far
	Limit      int // continuations that are allowed
}

// GoalVerdict is the verdict on an answer.
type GoalVerdict struct {
	Status GoalStatus
	Reason GoalReason
	Detail string // one sentence for people and the agent
}

// DecideGoal returns the verdict on an answer. A claim that evidence proves completes a goal even in its
// last iteration.
func DecideGoal(a GoalAnswer) GoalVerdict {
	refusal := a.refusal()
	switch {
	case refusal.Reason == "" && a.Evidence.Word == EvidencePassed:
		return GoalVerdict{GoalCompleted, GoalVerified, a.Evidence.Detail}
	case refusal.Reason == "":
		return GoalVerdict{GoalCompleted, GoalPromised, "the agent claims completion, and no evidence is required"}
	case a.Said.Blocked != nil:
		return GoalVerdict{GoalBlocked, GoalIsBlocked, cmp.Or(*a.Said.Blocked, "the agent reports no reason")}
	case a.Said.Decide != nil:
		return GoalVerdict{GoalBlocked, GoalIsBlocked, "the agent asks: " + cmp.Or(*a.Said.Decide, "(no question)")}
	case a.Blocker.Times >= sameBlockers:
		detail := fmt.Sprintf("the same failure after %s in a row: %s",
			text.Count(a.Blocker.Times, "answer"), a.Evidence.Detail)
		return GoalVerdict{GoalBlocked, GoalIsBlocked, detail}
	case a.Iteration >= a.Limit:
		return GoalVerdict{GoalExhausted, GoalMaxIterations, refusal.Detail}
	}
	return refusal
}

// refusal returns why an answer does not complete the goal. Its Reason is "" if it does.
func (a GoalAnswer) refusal() GoalVerdict {
	refused := GoalVerdict{Status: GoalActive}
	field := contradictingField(a.Said.Status)
	switch asks := a.Said.Blocked != nil || a.Said.Decide != nil; {
	case !a.Said.Complete && len(a.Said.Mentions) > 0:
		refused.Reason = GoalUnclaimed
		refused.Detail = fmt.Sprintf("the answer only mentions %s; to report it, write the tag on a line of its own",
			a.Said.Mentions[0])
	case !a.Said.Complete:
		refused.Reason, refused.Detail = GoalUnclaimed, "the answer does not claim that the work is done"
	case field != "":
		refused.Reason, refused.Detail = GoalContradiction, "the answer claims completion, but reports "+field
	case a.Unverified && asks && a.Evidence.Word != EvidencePassed:
		refused.Reason, refused.Detail = GoalContradiction, "the answer claims completion, but also asks for a person"
	case !a.Unverified && a.Evidence.Word != EvidencePassed:
		refused.Reason, refused.Detail = GoalReason(a.Evidence.Word), a.Evidence.Detail
	}
	return refused
}

// GoalBlocker counts the answers in a row that met the same failure.
type GoalBlocker struct {
	Fault uint64 `json:"fault,string"` // see FaultPrint
	Times int    `json:"times"`
}

// After returns the blocker after an answer. seen lists the verifiers that ran since the answer before. The
// failure counts again if the failed verifier ran again, or if the agent claims completion and changed nothing.
func (b GoalBlocker) After(said promise.Report, w Weighing, seen []string) GoalBlocker {
	if w.Word != EvidenceFailed {
		return GoalBlocker{}
	}
	fault := FaultPrint(Observation{Checks: []ralph.CheckResult{{Name: w.Last.Verifier, Output: w.Last.Output}}})
	if fault != b.Fault {
		b = GoalBlocker{Fault: fault}
	}
	if said.Complete && !w.Last.Stale || slices.Contains(seen, w.Last.Verifier) {
		b.Times++
	}
	return b
}

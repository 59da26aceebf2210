package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// MayComplete reports whether the iteration needs all the evidence: the agent claimed something, or
// no task is open.
func MayComplete(p ralph.Policy, h History) bool {
	nothingLeft := len(h.Tasks) > 0 && len(OpenTasks(h.Tasks)) == 0
	return claimsCompletion(p, h) || len(ClaimedTasks(p, h)) > 0 || nothingLeft
}

// ChecksClaim reports whether passing checks count as a claim, even if the agent claimed nothing.
func ChecksClaim(p ralph.Policy, h History) bool {
	return p.Claim == ralph.ClaimOptional && len(h.Tasks) == 0 && AllPassed(h.Now.Checks)
}

// CouldStillPass reports whether a claim of this iteration can still be accepted. In a task list, a
// failed check of one task does not affect the claims for others.
func CouldStillPass(p ralph.Policy, h History) bool {
	if h.Now.Agent.End.Failed() || hasVerifierTools(p) && weighTools(p, h.Now).Word != EvidencePassed {
		return false
	}
	nothingFailed := len(h.Now.Checks) == 0 || AllPassed(h.Now.Checks)
	return nothingFailed || WouldEnd(p, h) || len(judgeTasks(withoutEvaluator(p), h).Done) > 0
}

// WouldEnd reports whether the run completes if nothing else refuses the claim. Then every task is
// done, including regressed ones that pass again, and no check that counts fails.
func WouldEnd(p ralph.Policy, h History) bool {
	tasks := judgeTasks(withoutEvaluator(p), h)
	whole := len(h.Tasks) == 0 || tasks.AllDone
	h.Tasks = applyTasks(tasks, h.Tasks, false)
	return whole && askChecks(p, h).State != ralph.GateShut
}

// ProvenInCase reports whether the accepted case was about the same tree that the agent left.
func ProvenInCase(h History) bool { return h.Now.Accepted && h.Now.Proven == h.Now.Tree.ID() }

// ToEvaluate lists the tasks whose claims only the evaluator can still refuse. "" is the goal,
// either of a run without a list or of one whose list is done although nothing was checked.
func ToEvaluate(p ralph.Policy, h History) []string {
	alone := withoutEvaluator(p)
	h = h.Judge(ralph.Moment{})
	tasks := judgeTasks(alone, h)
	switch {
	case len(tasks.Done) > 0:
		return tasks.Done
	case len(h.Tasks) > 0 && (!tasks.AllDone || len(h.Now.Checks) > 0), len(ralph.RefusalsOf(askGates(alone, h))) > 0:
		return nil
	}
	return []string{""}
}

// withoutEvaluator returns the policy without its evaluator. AllowUnverified keeps the missing
// verdict from refusing the claim. The evaluator may still show the work.
func withoutEvaluator(p ralph.Policy) ralph.Policy {
	if p.Evaluator != "" && showsWork(p) {
		p.Shown = shownByEvaluator
	}
	p.Evaluator, p.AllowUnverified = "", true
	return p
}

// Patience counts the failed attempts to ask one evaluator and the time spent waiting for it.
type Patience struct {
	Limits, Failures int
	Waited           ralph.Span // for usage limits
}

// AskAgain decides whether to ask an evaluator again after a failed attempt, and how long to wait
// first. It returns the counts including this attempt.
func AskAgain(p ralph.Policy, h History, e ralph.Evaluation, tried Patience) (ralph.Waiting, Patience, bool) {
	switch e.End {
	case ralph.EndLimit:
		tried.Limits++
		wait := limitWait(e.RetryAfter, tried.Limits)
		tried.Waited += wait
		tooLong := p.MaxWait > 0 && tried.Waited > p.MaxWait || p.MaxTime > 0 && h.Moment.Elapsed+wait >= p.MaxTime
		if p.OnLimit == ralph.LimitStop || tooLong {
			return ralph.Waiting{}, tried, false
		}
		detail := "the evaluator reached its usage limit: " + e.Error
		return ralph.Waiting{For: ralph.WaitLimit, Wait: wait, Detail: detail}, tried, true
	case ralph.EndAuth, ralph.EndMissing, ralph.EndSandbox, ralph.EndOutOfTime, ralph.EndInterrupted, ralph.EndOverBudget:
		return ralph.Waiting{}, tried, false
	}
	tried.Failures++
	if p.MaxFailures > 0 && tried.Failures >= p.MaxFailures {
		return ralph.Waiting{}, tried, false
	}
	return ralph.Waiting{
		For:    ralph.WaitBackoff,
		Wait:   backoff(tried.Failures, h.Now.Number),
		Detail: "the evaluator failed: " + e.Error,
	}, tried, true
}

// OverBudget returns which limit of the run was reached inside an iteration, or "". It ignores
// limits that only the end of an iteration can reach.
func OverBudget(p ralph.Policy, h History) string {
	if reached := limitsRule(withoutIterationLimits(p), h, ralph.Verdict{}); reached != nil {
		return reached.Detail
	}
	return ""
}

// MayTakeTurn decides whether an agent that reports its turns may take another one.
func MayTakeTurn(p ralph.Policy, h History) ralph.TurnOrder {
	limit := limitsRule(withoutIterationLimits(p), h, ralph.Verdict{})
	return ralph.TurnOrder{Stop: limit != nil, Late: limit != nil && limit.Reason == ralph.Timeout}
}

// CaseDecision is the decision on a case that was submitted while the agent works.
type CaseDecision struct {
	Verdict  ralph.Verdict
	Accepted bool
	Over     bool // the agent must stop, accepted or not
}

// DecideCase judges a case by the same rules as the end of an iteration.
func DecideCase(p ralph.Policy, h History) CaseDecision {
	v := Decide(withoutIterationLimits(p), h)
	task := h.Now.Task
	accepted := Completed(v) || task != "" && slices.Contains(v.Tasks.Done, task)
	// Row 4: files were tampered with, or the evaluator cannot be asked. Row 6: it rejected too often.
	// Row 9: the budget.
	ended := v.Action == ralph.Stop && (v.Row == 4 || v.Row == 6 || v.Row == 9)
	return CaseDecision{Verdict: v, Accepted: accepted, Over: accepted || ended || v.Tasks.GivenUp != ""}
}

// Foresee returns what already refuses a claim, as far as that is known while the agent works: failing
// checks, protected files, unfinished lines and, without a list, what the agent itself says.
func Foresee(p ralph.Policy, h History) []ralph.Refusal {
	asks := []func(ralph.Policy, History) ralph.Gate{askChecks, askFiles, askUnfinished}
	if len(h.Tasks) == 0 {
		asks = append(asks, askContradiction, askStatus)
	}
	return ralph.RefusalsOf(text.Mapped(asks, func(ask func(ralph.Policy, History) ralph.Gate) ralph.Gate {
		return ask(p, h)
	}))
}

// withoutIterationLimits returns the policy without the limits that only the end of an iteration
// can reach.
func withoutIterationLimits(p ralph.Policy) ralph.Policy {
	p.MaxIterations, p.TaskTries = 0, 0
	return p
}

// CallRate returns how long the next call must wait so that no hour has more than the allowed
// calls. It also returns the number of calls in the last hour.
func CallRate(allowed int, calls []time.Time, now time.Time) (wait ralph.Span, recent int) {
	hourAgo := now.Add(-time.Hour)
	counted := slices.DeleteFunc(slices.Clone(calls), func(t time.Time) bool { return !t.After(hourAgo) })
	if allowed > 0 && len(counted) >= allowed {
		wait = ralph.Span(counted[len(counted)-allowed].Sub(hourAgo))
	}
	return wait, len(counted)
}

// Forecast estimates what the open tasks will cost if each takes one average iteration. The
// estimate is a lower bound. Forecast returns "" if nothing is known.
func Forecast(h History) string {
	open := len(OpenTasks(h.Tasks))
	if open == 0 || h.Counted == 0 || h.Tokens.Total() == 0 && h.Cost == 0 {
		return ""
	}
	var parts []string
	if n := h.Tokens.Total(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens", n/int64(h.Counted)*int64(open)))
	}
	if h.Cost > 0 {
		parts = append(parts, fmt.Sprintf("$%.2f", h.Cost/float64(h.Counted)*float64(open)))
	}
	each := h.Moment.Elapsed / ralph.Span(h.Counted)
	return fmt.Sprintf("at this pace the %s will take at least %s and %s",
		text.Count(open, "open task"), (each * ralph.Span(open)).Short(), strings.Join(parts, ", "))
}

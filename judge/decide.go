package judge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// rule is one row of the verdict table. It returns nil if it does not apply.
type rule func(p ralph.Policy, h History, v ralph.Verdict) *ralph.Verdict

// Decide returns the verdict on the iteration in h or, between iterations, whether another may
// start. It is a pure function: the same policy and history give the same verdict, live, on resume,
// in explain and in replay. The first rule that applies gives the verdict.
func Decide(p ralph.Policy, h History) ralph.Verdict {
	v := ralph.Verdict{Row: 10, Action: ralph.GoOn, Breaker: h.Breaker}
	if v.Breaker.State == "" {
		v.Breaker.State = ralph.BreakerClosed
	}
	rules := []rule{
		acceptedRule, interruptRule, baselineRule, nothingLeftRule, unconfirmedTasksRule, limitsRule, answerRule, stuckRule,
		hookRule,
	}
	if h.Judging {
		v.Counted, v.Claimed = ralph.CountsAsIteration(h.Now.Agent.End), claimsCompletion(p, h)
		v.Tasks = judgeTasks(p, h)
		h.NoteTasks(v.Tasks)
		v.Progress = h.Progress
		if v.Claimed || v.Tasks.AllDone || p.Claim == ralph.ClaimOptional {
			asked := h
			asked.Tasks = applyTasks(v.Tasks, h.Tasks, v.Counted)
			v.Gates = askGates(p, asked)
		}
		rules = []rule{
			environmentRule, usageLimitRule, providerRule, tamperRule, completeRule, evaluatorRule,
			unconfirmedRule, unconfirmedTasksRule, blockedRule, decideRule, taskRule, agentFailedRule, checkBrokenRule,
			breakerRule, limitsRule, reserveRule,
		}
		if h.Moment.Signal != "" { // row 0 comes first; only a proven claim takes precedence
			rules = []rule{killRule, completeRule, interruptRule}
		}
		v.Breaker = moveBreaker(h.Breaker, p, h)
	}
	for _, apply := range rules {
		if verdict := apply(p, h, v); verdict != nil {
			return escalate(p, h, *verdict)
		}
	}
	return escalate(p, h, v)
}

// killRule is row 0: the run was killed.
func killRule(p ralph.Policy, h History, v ralph.Verdict) *ralph.Verdict {
	if !h.Moment.Killed {
		return nil
	}
	return interruptRule(p, h, v)
}

// interruptRule is row 0: the run was asked to end. A proven claim takes precedence.
func interruptRule(_ ralph.Policy, h History, v ralph.Verdict) *ralph.Verdict {
	if h.Moment.Signal == "" {
		return nil
	}
	v.Signal = h.Moment.Signal
	if v.Signal == ralph.SignalStop {
		return stopAt(v, 0, ralph.Interrupted, "ended by ralph stop")
	}
	return stopAt(v, 0, ralph.Interrupted, "interrupted by %s", h.Moment.Signal)
}

// baselineRule stops before iteration 1 if a check cannot run: it could never prove anything.
func baselineRule(p ralph.Policy, h History, v ralph.Verdict) *ralph.Verdict {
	for _, c := range h.Baseline {
		if h.Started > 0 {
			break
		}
		if c.Broken {
			return stopAt(v, 7, ralph.CheckBroken, "the check %q cannot run: %s", c.Name, whyBroken(c))
		}
		if c.TimedOut && p.Rules == 0 { // logs of earlier versions keep their words
			return stopAt(v, 7, ralph.CheckBroken,
				"the check %q timed out before any agent started; raise --check-timeout", c.Name)
		}
		if c.TimedOut {
			return stopAt(v, 7, ralph.CheckBroken, "the check %q was stopped by its time limit before any agent started "+
				"(a first build takes longer); raise --check-timeout", c.Name)
		}
	}
	return nil
}

// whyBroken returns the output of a check that cannot run. The output of a hidden check is not
// recorded.
func whyBroken(c ralph.CheckResult) string {
	if c.Hidden {
		return "its output is in the run's folder"
	}
	return text.FirstLine(c.Output)
}

// environmentRule is row 1: the sandbox, the agent program or its login failed, or its model does not exist.
func environmentRule(p ralph.Policy, h History, v ralph.Verdict) *ralph.Verdict {
	reasons := map[ralph.EndClass]ralph.StopReason{
		ralph.EndSandbox: ralph.SandboxError,
		ralph.EndMissing: ralph.ProgramMissing,
		ralph.EndAuth:    ralph.AuthError,
		ralph.EndModel:   ralph.AgentFailed,
	}
	reason, ok := reasons[h.Now.Agent.End]
	if !ok {
		return nil
	}
	v.Hint = h.Now.Agent.Hint
	if reason != ralph.SandboxError { // another agent would run in the same sandbox
		if next := h.handOver(p, v, 1, ralph.AgentCooldown{Agent: h.Agent, Because: h.Now.Agent.End}); next != nil {
			return next
		}
	}
	return stopAt(v, 1, reason, "%s", h.Now.Agent.Error)
}

// usageLimitRule is row 2: a usage limit. Another agent takes over at once.
func usageLimitRule(p ralph.Policy, h History, v ralph.Verdict) *ralph.Verdict {
	if h.Now.Agent.End != ralph.EndLimit {
		return nil
	}
	cooldown := h.limitCooldown(p)
	if next := h.handOver(p, v, 2, cooldown); next != nil {
		return next
	}
	return h.waitForReset(p, v, 2, cooldown.Until-h.Moment.Elapsed)
}

const (
	providerHint = "continue with ralph resume when the model answers again; " +
		"agent.max_failures allows more failures in a row"
	outageHint = "continue with ralph resume when the model answers again; agent.outage allows a longer outage"
)

// providerRule is row 3: the model behind the agent failed. Another agent takes over after a few failures; without one
// the run waits until the outage has lasted too long.
func providerRule(p ralph.Policy, h History, v ralph.Verdict) *ralph.Verdict {
	if h.Now.Agent.End != ralph.EndProvider {
		return nil
	}
	lasted := h.Moment.Elapsed - h.OutageFrom
	often := h.ProviderFailures >= p.MaxFailures && p.MaxFailures > 0
	over := p.Outage > 0 && lasted >= p.Outage
	if often || over {
		cooldown := ralph.AgentCooldown{Agent: h.Agent, Because: ralph.EndProvider, Until: h.Moment.Elapsed + outageCooldown}
		if next := h.handOver(p, v, 3, cooldown); next != nil {
			return next
		}
	}
	switch {
	case over:
		v.Hint = outageHint
		return stopAt(v, 3, ralph.ProviderFailed,
			"the model has not answered for %s: %s", lasted.Short(), h.Now.Agent.Error)
	case p.Outage > 0:
		wait := min(outageWait(h.ProviderFailures, h.Started), p.Outage-lasted)
		return waitAt(v, 3, ralph.WaitBackoff, wait, h.Now.Agent.Error)
	case often:
		v.Hint = providerHint
		return stopAt(v, 3, ralph.ProviderFailed,
			"the model failed %d times in a row: %s", h.ProviderFailures, h.Now.Agent.Error)
	}
	return waitAt(v, 3, ralph.WaitBackoff, backoff(h.ProviderFailures, h.Started), h.Now.Agent.Error)
}

// tamperRule is row 4, before completion: a protected file changed, and the policy stops at once.
func tamperRule(p ralph.Policy, h History, v ralph.Verdict) *ralph.Verdict {
	if p.Tamper != ralph.TamperStop || len(h.Now.Tampered) == 0 {
		return nil
	}
	return stopAt(v, 4, ralph.Tampered, "protected files were changed: %s", text.List(h.Now.Tampered))
}

// evaluatorRule is row 4: the claim only lacks the verdict of an evaluator that cannot be asked,
// even after retries. If the budget is the cause, the run ends because of that limit.
func evaluatorRule(p ralph.Policy, h History, v ralph.Verdict) *ralph.Verdict {
	reasons := map[ralph.EndClass]ralph.StopReason{
		ralph.EndSandbox:  ralph.SandboxError,
		ralph.EndMissing:  ralph.ProgramMissing,
		ralph.EndAuth:     ralph.AuthError,
		ralph.EndModel:    ralph.AgentFailed,
		ralph.EndLimit:    ralph.RateLimited,
		ralph.EndProvider: ralph.ProviderFailed,
		ralph.EndFailed:   ralph.AgentFailed,
		ralph.EndBroken:   ralph.AgentFailed,
		ralph.EndKilled:   ralph.AgentFailed,
		ralph.EndEmpty:    ralph.AgentFailed,
		ralph.EndTimeout:  ralph.AgentFailed,
		ralph.EndIdle:     ralph.AgentFailed,
	}
	for _, e := range h.Now.Evaluations {
		latest, _ := h.Now.evaluationOf(e.Task)
		if h.Now.Stale { // the files changed, so its verdict no longer matters
			break
		}
		if reached := limitsRule(p, h, v); reached != nil && latest.End == ralph.EndOverBudget {
			return reached
		}
		if reason, ok := reasons[latest.End]; ok {
			v.Hint = latest.Hint
			return stopAt(v, 4, reason, "the evaluator %s cannot be asked: %s", latest.Agent, latest.Error)
		}
	}
	return nil
}

// completeRule is row 4: a completion claim, and every gate passes.
func completeRule(p ralph.Policy, h History, v ralph.Verdict) *ralph.Verdict {
	mayClaimItself := p.Claim == ralph.ClaimOptional && AllPassed(h.Now.Checks)
	if !v.Claimed && !v.Tasks.AllDone && !mayClaimItself || len(ralph.RefusalsOf(v.Gates)) > 0 {
		return nil
	}
	if len(h.Tasks) > 0 {
		v.VerifiedBy, v.Hint = ProvenBy(p, h), hintNoProduct(h, v.Tasks.Shown)
		return stopAt(v, 4, ralph.TasksDone, "%s", describeDoneList(h, v.Tasks))
	}
	by, missing, detail := judgeShown(p, h, "", &allotment{})
	if missing != "" { // the policy only warns
		by = ralph.Showing{By: ralph.ShownByNothing, Why: detail}
	}
	if by.By != "" {
		v.Shown = []ralph.Showing{by}
	}
	v.Hint = hintNoProduct(h, v.Shown)
	if by := h.Now.acceptedBy(); by != "" && len(h.Now.Checks) == 0 {
		v.VerifiedBy = ProvenBy(p, h)
		return stopAt(v, 4, ralph.EvaluatorAccepted,
			"the agent claims completion, and %s accepts it; nothing else was checked", by)
	}
	if provenByTools(p, h) {
		v.VerifiedBy = ProvenBy(p, h)
		return stopAt(v, 4, ralph.VerifierPassed,
			"the agent claims completion, and %s, as its stream reports; Ralph ran no check", weighTools(p, h.Now).Detail)
	}
	if len(h.Now.Checks) == 0 {
		return stopAt(v, 4, ralph.Unverified, "%s", "the agent says it is done, but nothing was checked")
	}
	v.VerifiedBy = ProvenBy(p, h)
	return stopAt(v, 4, ralph.AllChecksPassed, "%s", "the agent claims completion, and every check passes")
}

// describeDoneList says how far a finished list is proven.
func describeDoneList(h History, v ralph.TaskVerdict) string {
	if ids := unshownTasks(h, v); len(ids) > 0 && len(h.Now.Checks) > 0 {
		return "every task of the list is done, but nothing shows the work on " + text.List(ids)
	}
	return "every task of the list is proven done" + proofCaveat(h)
}

// hintNoProduct warns of work that is shown although no product code changed. It returns "" if some changed.
func hintNoProduct(h History, shown []ralph.Showing) string {
	work := h.Now.Work
	byEvidence := func(by ralph.Showing) bool {
		return by.By == ralph.ShownByRunCheck || by.By == ralph.ShownByTaskCheck || by.By == ralph.ShownByTests ||
			by.By == ralph.ShownByEvaluator
	}
	switch {
	case work == nil || !work.NoProduct || !slices.ContainsFunc(shown, byEvidence):
		return ""
	case work.Unchanged && answerShows(h, shown):
		return ""
	case work.Unchanged && h.LastProvenTree == "":
		return "no file changed in this run, and yet the work counts as shown; make sure that it is done"
	}
	return "no product code changed in this run, only tests; look at them with ralph diff"
}

// answerShows reports whether the answer shows the work: the check fails on the same files without it.
func answerShows(h History, shown []ralph.Showing) bool {
	failsToday := func(run ralph.ProofRun) bool { return run.Column == ralph.ColumnToday && run.Exit != 0 }
	return h.Now.Agent.Answer != "" && slices.ContainsFunc(shown, func(by ralph.Showing) bool {
		c, ok := findCheck(h.Now.Checks, by.Check, by.Task)
		return ok && c.Proof != nil && slices.ContainsFunc(c.Proof.Table, failsToday)
	})
}

// proofCaveat returns how a finished list falls short of proof, or "" if a check ran.
func proofCaveat(h History) string {
	by := h.Now.acceptedBy()
	switch {
	case len(h.Now.Checks) > 0:
		return ""
	case by != "":
		return fmt.Sprintf(": %s accepts it, and nothing else was checked", by)
	}
	return ", but only the agent says so: nothing was checked"
}

// blockedRule is row 5: the agent is blocked and needs a person.
func blockedRule(p ralph.Policy, h History, v ralph.Verdict) *ralph.Verdict {
	said := h.Now.Agent.Said
	if said.Blocked == nil {
		return nil
	}
	status := said.Status
	onlyInBlock := status != nil && status.State == "BLOCKED" && *said.Blocked == status.Recommendation
	if p.Status == ralph.StatusOff && onlyInBlock {
		return nil
	}
	return stopAt(v, 5, ralph.Blocked, "%s", *said.Blocked)
}

// hookRule is row 5, between iterations: a hook blocks the next iteration.
func hookRule(_ ralph.Policy, h History, v ralph.Verdict) *ralph.Verdict {
	if h.Moment.Blocked == "" {
		return nil
	}
	return stopAt(v, 5, ralph.Blocked, "%s", h.Moment.Blocked)
}

// agentFailedRule is row 7: the agent itself failed too often in a row.
func agentFailedRule(p ralph.Policy, h History, v ralph.Verdict) *ralph.Verdict {
	if p.MaxFailures == 0 || h.AgentFailures < p.MaxFailures {
		return nil
	}
	anew := v
	anew.Breaker = ralph.Breaker{State: ralph.BreakerClosed} // a failing agent does not mean a stalled run
	if next := h.handOver(p, anew, 7, ralph.AgentCooldown{Agent: h.Agent, Because: h.Now.Agent.End}); next != nil {
		return next
	}
	v.Hint = h.Now.Agent.Hint
	return stopAt(v, 7, ralph.AgentFailed,
		"the agent failed %d times in a row: %s", h.AgentFailures, h.Now.Agent.Error)
}

// checkBrokenRule is row 7: a check could not run in too many iterations in a row.
func checkBrokenRule(p ralph.Policy, h History, v ralph.Verdict) *ralph.Verdict {
	if p.MaxBroken == 0 || h.BrokenChecks < p.MaxBroken {
		return nil
	}
	for _, c := range h.Now.Checks {
		if c.Broken {
			return stopAt(v, 7, ralph.CheckBroken, "the check %q could not run in %d iterations in a row: %s",
				c.Name, h.BrokenChecks, whyBroken(c))
		}
	}
	return nil
}

// breakerRule is row 8: the breaker is open.
func breakerRule(p ralph.Policy, h History, v ralph.Verdict) *ralph.Verdict {
	if v.Breaker.State != ralph.BreakerOpen {
		return nil
	}
	if v.Tasks.Question != "" { // another task is a reason to try once more
		v.Breaker.State = ralph.BreakerHalfOpen
		return cmp.Or(limitsRule(p, h, v), &v)
	}
	switch {
	case p.Breaker.Cooldown > 0:
	case p.Breaker.Blocks:
		return stopAt(v, 8, ralph.Blocked, "%s", describeBlocker(p, h, v))
	default:
		return stopAt(v, 8, ralph.CircuitOpen, "%s", v.Breaker.Reason)
	}
	if limit := limitsRule(p, h, v); limit != nil {
		return limit
	}
	wait := doubleWait(p.Breaker.Cooldown, v.Breaker.Waits, maxCooldown)
	v.Breaker = ralph.Breaker{State: ralph.BreakerHalfOpen, Reason: v.Breaker.Reason, Waits: v.Breaker.Waits + 1}
	return waitAt(v, 8, ralph.WaitCooldown, wait, v.Breaker.Reason)
}

// describeBlocker says why the breaker tripped, and what stood in the way last.
func describeBlocker(p ralph.Policy, h History, v ralph.Verdict) string {
	gates := []ralph.Gate{askEndedWell(p, h), askChecks(p, h)}
	for _, refusal := range append(ralph.RefusalsOf(gates), v.Refusals()...) {
		return v.Breaker.Reason + ": " + refusal.Detail
	}
	return v.Breaker.Reason
}

// Completed reports whether the verdict ends the run as completed.
func Completed(v ralph.Verdict) bool {
	return v.Action == ralph.Stop && ralph.StatusOf(v.Reason) == ralph.StatusCompleted
}

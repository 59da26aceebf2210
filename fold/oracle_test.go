package fold

import (
	"slices"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// oracle derives the verdict of sections 5 and 6 of the contract from the plain list of everything
// that was observed in a run. It shares no code with Decide: it has no fold and keeps no counters
// from one iteration to the next, but counts everything again from the list.
type oracle struct {
	policy      ralph.Policy
	base        ralph.TreeState
	baseline    []ralph.CheckResult
	list        []ralph.TaskState // when the run began
	iterations  []iteration
	listChanges []listChange // what each iteration did to the list
	cooldowns   []cooldown   // what each iteration did to its agent
	accepted    []acceptance
}

// iteration is an observation, when it was judged, and whether another process resumed the run
// right before it.
type iteration struct {
	judge.Observation
	at         ralph.Moment
	agentIndex int // index of its agent in the policy
	resumed    bool
	answered   []string            // tasks whose questions were answered right before
	selected   []ralph.CheckResult // own checks of the task that was first selected right before
}

// answer is the oracle's verdict on the last iteration.
type answer struct {
	Row      int
	Action   ralph.Action
	Reason   ralph.StopReason
	Signal   ralph.Signal
	Wait     ralph.WaitReason
	Length   ralph.Span // of a wait for a usage limit
	Rests    bool       // another agent takes over
	Claimed  bool
	Refusals []string
	Counted  bool
	Progress bool
	Breaker  ralph.BreakerState
}

func (o oracle) now() iteration { return o.iterations[len(o.iterations)-1] }

// upTo returns the oracle as it was after iteration i.
func (o oracle) upTo(i int) oracle {
	o.iterations = o.iterations[:i+1]
	return o
}

// sinceResume returns the iterations of the current process.
func (o oracle) sinceResume() []iteration {
	for i := len(o.iterations) - 1; i > 0; i-- {
		if o.iterations[i].resumed {
			return o.iterations[i:]
		}
	}
	return o.iterations
}

func oneOf[T comparable](x T, of ...T) bool { return slices.Contains(of, x) }

// counts reports whether an iteration counts against max_iterations and the breaker. Waits for
// something outside and kills do not.
func (p iteration) counts() bool {
	return !oneOf(p.Agent.End, uncounted...)
}

var uncounted = []ralph.EndClass{
	ralph.EndLimit, ralph.EndProvider, ralph.EndInterrupted, ralph.EndAuth, ralph.EndMissing, ralph.EndSandbox,
	ralph.EndModel,
}

// streak counts the last iterations of the current process that match. It passes over those to
// skip.
func (o oracle) streak(skip, match func(i int) bool) int {
	count := 0
	for i := len(o.iterations) - 1; i >= len(o.iterations)-len(o.sinceResume()); i-- {
		switch {
		case skip(i):
		case match(i):
			count++
		default:
			return count
		}
	}
	return count
}

// ownFailures counts failures in a row of the current agent: a non-zero exit, an error result, a
// timeout, or an empty turn, which neither said anything nor is known to have done anything.
func (o oracle) ownFailures() int {
	return o.ownStreak(
		func(i int) bool { return oneOf(o.iterations[i].Agent.End, ralph.EndLimit, ralph.EndProvider) },
		func(i int) bool {
			end := o.iterations[i].Agent.End
			return oneOf(end, ralph.EndFailed, ralph.EndBroken, ralph.EndKilled, ralph.EndTimeout, ralph.EndIdle) ||
				oneOf(end, ralph.EndEmpty, ralph.EndCut) && !(o.iterations[i].Tree.Known && o.progress(i)) &&
					len(o.listChanges[i].done)+len(o.listChanges[i].left) == 0
		})
}

func (o oracle) providerFailures() int {
	return o.ownStreak(
		func(i int) bool { return o.iterations[i].Agent.End == ralph.EndLimit },
		func(i int) bool { return o.iterations[i].Agent.End == ralph.EndProvider })
}

// outage returns for how long no model has worked: since the first of the last failures, whoever worked.
func (o oracle) outage() ralph.Span {
	since := o.now().at.Elapsed
	for i := len(o.iterations) - 1; i >= len(o.iterations)-len(o.sinceResume()); i-- {
		switch o.iterations[i].Agent.End {
		case ralph.EndProvider:
			since = max(o.iterations[i].at.Elapsed, 1)
		case ralph.EndLimit:
		default:
			return o.now().at.Elapsed - since
		}
	}
	return o.now().at.Elapsed - since
}

func (o oracle) brokenChecks() int {
	return o.streak(
		func(i int) bool { return len(o.iterations[i].Checks) == 0 },
		func(i int) bool { return hasBrokenCheck(o.iterations[i]) })
}

func (o oracle) answer() answer {
	p, now := o.policy, o.now()
	refusals := o.refusals()
	claimed := o.claimed()
	allDone := len(o.list) > 0 && len(o.unfinished(o.taskStates())) == 0
	breaker := o.currentBreaker()
	a := answer{
		Claimed: claimed, Counted: now.counts(), Progress: o.progress(len(o.iterations) - 1), Breaker: breaker.state,
	}
	if claimed || allDone {
		a.Refusals = refusals
	}
	proven := (claimed || allDone || p.Claim == ralph.ClaimOptional && passesChecks(now)) && len(refusals) == 0
	soft := now.at.Signal != "" && !now.at.Killed

	stop := func(row int, reason ralph.StopReason) answer {
		a.Row, a.Action, a.Reason = row, ralph.Stop, reason
		if reason == ralph.Interrupted {
			a.Signal = now.at.Signal
		}
		return a
	}
	wait := func(row int, why ralph.WaitReason) answer {
		a.Row, a.Action, a.Wait = row, ralph.Wait, why
		return a
	}

	if now.at.Killed {
		return stop(0, ralph.Interrupted)
	}
	if soft && proven {
		return stop(4, o.completeReason())
	}
	if soft {
		return stop(0, ralph.Interrupted)
	}
	cooling := o.cooldowns[len(o.iterations)-1].active
	unusable := map[ralph.EndClass]ralph.StopReason{
		ralph.EndSandbox: ralph.SandboxError, ralph.EndMissing: ralph.ProgramMissing, ralph.EndAuth: ralph.AuthError,
		ralph.EndModel: ralph.AgentFailed,
	}
	for end, reason := range unusable {
		switch {
		case now.Agent.End == end && cooling:
			return o.handOver(a, 1, reason)
		case now.Agent.End == end:
			return stop(1, reason)
		}
	}
	if now.Agent.End == ralph.EndLimit {
		if cooling {
			return o.handOver(a, 2, ralph.RateLimited)
		}
		if p.OnLimit == ralph.LimitStop {
			return stop(2, ralph.RateLimited)
		}
		if p.MaxWait > 0 && o.limitWaited(len(o.iterations)) > p.MaxWait {
			return stop(2, ralph.RateLimited)
		}
		if p.MaxTime > 0 && now.at.Elapsed+o.limitWait(len(o.iterations)-1) >= p.MaxTime {
			return stop(9, ralph.Timeout)
		}
		a.Length = o.limitWait(len(o.iterations) - 1)
		return wait(2, ralph.WaitLimit)
	}
	if now.Agent.End == ralph.EndProvider {
		if cooling {
			handed := o.handOver(a, 3, ralph.ProviderFailed)
			if handed.Reason != ralph.ProviderFailed || p.Outage == 0 || o.outage() >= p.Outage {
				return handed
			}
			o.cooldowns[len(o.iterations)-1] = cooldown{} // nobody can take over, so it goes on
		}
		often := p.Outage == 0 && p.MaxFailures > 0 && o.providerFailures() >= p.MaxFailures
		if often || p.Outage > 0 && o.outage() >= p.Outage {
			return stop(3, ralph.ProviderFailed)
		}
		return wait(3, ralph.WaitBackoff)
	}
	if p.Tamper == ralph.TamperStop && len(now.Tampered) > 0 {
		return stop(4, ralph.Tampered)
	}
	if proven {
		return stop(4, o.completeReason())
	}
	switch reason := o.evaluatorStop(); reason {
	case "":
	case ralph.Timeout, ralph.MaxCost, ralph.MaxTokens, ralph.MaxIterations:
		return stop(9, reason)
	default:
		return stop(4, reason)
	}
	if o.goalIsLeftToPerson() || o.listIsLeftToPerson(o.taskStates()) {
		return stop(5, ralph.Unconfirmed)
	}
	if o.blocked() {
		return stop(5, ralph.Blocked)
	}
	if now.Agent.Said.Decide != nil && p.OnDecide == ralph.DecideWait && !o.othersGoOn() {
		if breaker.state == ralph.BreakerOpen {
			a.Breaker = ralph.BreakerHalfOpen
		}
		return wait(5, ralph.WaitAnswer)
	}
	if now.Agent.Said.Decide != nil && p.OnDecide == ralph.DecideStop {
		return stop(5, ralph.NeedsDecision)
	}
	change := o.listChanges[len(o.iterations)-1]
	if p.MaxRejections > 0 && change.rejections[""] >= p.MaxRejections {
		return stop(6, ralph.EvaluatorCap)
	}
	if now.Agent.TaskEnd != "" && len(o.list) == 0 {
		return stop(6, now.Agent.TaskEnd)
	}
	if change.givenUp != "" && !change.retried && p.OnTaskFailure != ralph.TaskSkip {
		return stop(6, change.because)
	}
	if cooling {
		return o.handOver(a, 7, ralph.AgentFailed)
	}
	if p.MaxFailures > 0 && o.ownFailures() >= p.MaxFailures {
		return stop(7, ralph.AgentFailed)
	}
	if p.MaxBroken > 0 && hasBrokenCheck(now) && o.brokenChecks() >= p.MaxBroken {
		return stop(7, ralph.CheckBroken)
	}
	if breaker.state == ralph.BreakerOpen && change.asks {
		breaker.state, a.Breaker = ralph.BreakerHalfOpen, ralph.BreakerHalfOpen
	}
	if breaker.state == ralph.BreakerOpen && p.Breaker.Cooldown == 0 {
		return stop(8, ralph.CircuitOpen)
	}
	if limit := o.limitHit(now.at.Elapsed); limit != "" {
		return stop(9, limit)
	}
	if breaker.state == ralph.BreakerOpen {
		a.Breaker = ralph.BreakerHalfOpen
		return wait(8, ralph.WaitCooldown)
	}
	a.Row, a.Action = 10, ralph.GoOn
	return a
}

type account struct {
	cost       float64
	tokens     int64
	iterations int
}

func (o oracle) spent() account {
	var sum account
	for _, q := range o.iterations {
		if q.Agent.Cost != nil {
			sum.cost += *q.Agent.Cost
		}
		if t := q.Agent.Tokens; t != nil {
			sum.tokens += t.Input + t.Output + t.CacheRead + t.CacheWrite
		}
		for _, e := range q.Evaluations {
			if e.Cost != nil {
				sum.cost += *e.Cost
			}
			if e.Tokens != nil {
				sum.tokens += e.Tokens.Input
			}
		}
		if q.counts() {
			sum.iterations++
		}
	}
	return sum
}

// claimed reports whether the agent claimed completion with a tag, or with a status block if the
// policy reads them.
func (o oracle) claimed() bool { return o.claimedOn(o.now()) }

func (o oracle) claimedOn(q iteration) bool {
	said := q.Agent.Said
	byBlock := said.Status != nil && said.Status.State == "COMPLETE" && said.Status.ExitSignal &&
		said.Status.Tests == "PASSING"
	if said.Untestable != nil && len(o.list) == 0 {
		return true
	}
	return said.CompleteTag != "" || byBlock && o.policy.Status != ralph.StatusOff
}

// blocked reports whether the agent is blocked, by a tag, or by a status block if the policy reads
// them.
func (o oracle) blocked() bool {
	said := o.now().Agent.Said
	byBlock := said.Blocked != nil && said.Status != nil && said.Status.State == "BLOCKED" &&
		*said.Blocked == said.Status.Recommendation
	return said.Blocked != nil && (!byBlock || o.policy.Status != ralph.StatusOff)
}

func passesChecks(q iteration) bool { return allPassed(q.Checks) }

func allPassed(checks []ralph.CheckResult) bool {
	for _, c := range checks {
		if !c.Passed {
			return false
		}
	}
	return len(checks) > 0
}

func hasBrokenCheck(q iteration) bool {
	return slices.ContainsFunc(q.Checks, func(c ralph.CheckResult) bool { return c.Broken })
}

// refusals returns the codes of the gate table, in its order.
func (o oracle) refusals() []string {
	p, now := o.policy, o.now()
	said, block := now.Agent.Said, now.Agent.Said.Status
	var codes []string
	if !oneOf(now.Agent.End, ralph.EndOK, ralph.EndEmpty, ralph.EndCut) {
		codes = append(codes, "agent_failed")
	}
	contradicts := block != nil &&
		(!block.ExitSignal || block.State == "BLOCKED" || block.State == "IN_PROGRESS" || block.Tests == "FAILING")
	byBlock := p.Status != ralph.StatusOff && contradicts && (o.claimed() || p.Claim == ralph.ClaimOptional)
	if byBlock || len(now.Checks) == 0 && (said.Blocked != nil || said.Decide != nil) {
		codes = append(codes, "contradiction")
	}
	planned := now.Plan != nil && (now.Plan.Problem != "" || len(now.Plan.Open) > 0)
	if len(o.unfinished(o.taskStates())) > 0 || planned {
		codes = append(codes, "tasks_open")
	}
	counting := slices.DeleteFunc(slices.Clone(now.Checks), o.isIgnored)
	failed := func(c ralph.CheckResult) bool { // in earlier versions, so did a hidden one that cannot run
		return !c.Passed && (!c.Broken || c.Hidden && p.Rules == 0)
	}
	if slices.ContainsFunc(counting, failed) {
		codes = append(codes, "check_failed")
	} else if slices.ContainsFunc(counting, func(c ralph.CheckResult) bool { return c.Broken }) {
		codes = append(codes, "check_broken")
	}
	codes = append(codes, o.proofRefusals(counting)...)
	inBase := func(line string) bool { return slices.Contains(o.base.Unfinished, line) }
	added := slices.DeleteFunc(slices.Clone(now.Tree.Unfinished), inBase)
	if p.Unfinished == ralph.UnfinishedRefuse && now.Tree.Known && o.base.Known && len(added) > 0 {
		codes = append(codes, "unfinished")
	}
	verdict, place := o.evaluatorRefusal(), len(codes)
	phrases := 0
	for _, q := range o.iterations[max(0, len(o.iterations)-5):] {
		phrases += q.Agent.Said.Phrases
	}
	if p.Status == ralph.StatusRequired && (block == nil || !block.ExitSignal || phrases < p.StatusMin) {
		codes = append(codes, "status_gate")
	}
	notAsked := p.Evaluator != "" && len(o.list) == 0 && now.Work != nil && now.Work.Unchanged && p.Rules > 0
	if len(counting) == 0 && !p.AllowUnverified && !o.evaluatorAccepted() && !notAsked {
		codes = append(codes, "no_evidence")
	}
	others := len(codes) > 0 || verdict != "" && verdict != "evaluator_rejected"
	if code := o.goalNotShown(); code != "" && (now.Work != nil || !others) { // Ralph looks for it last
		codes = append(codes, code)
	}
	if verdict == "evaluator_rejected" && len(codes) > 0 { // the evaluator is asked last
		return codes
	}
	if verdict != "" {
		codes = slices.Insert(codes, place, verdict)
	}
	return codes
}

func (o oracle) completeReason() ralph.StopReason {
	switch {
	case len(o.list) > 0:
		return ralph.TasksDone
	case len(o.now().Checks) > 0:
		return ralph.AllChecksPassed
	case o.evaluatorAccepted() && len(o.accepted) == 0:
		return ralph.EvaluatorAccepted
	}
	return ralph.Unverified
}

// limitWait returns how long the usage limit of iteration i makes the run wait: until the reset
// plus a margin. If the reset is unknown, it is a minute, doubled each time up to half an hour.
func (o oracle) limitWait(i int) ralph.Span {
	if known := o.iterations[i].Agent.RetryAfter; known > 0 {
		return known + ralph.Span(15*time.Second)
	}
	wait := ralph.Span(time.Minute)
	if len(o.policy.Agents) < 2 {
		for j := i - 1; j >= 0 && o.iterations[j].Agent.End == ralph.EndLimit && !o.iterations[j+1].resumed; j-- {
			wait = min(2*wait, ralph.Span(30*time.Minute))
		}
		return wait
	}
	for _, j := range o.upTo(i).iterationsOf(o.iterations[i].agentIndex)[1:] { // others may have worked in between
		switch {
		case o.cooldowns[j].byLimit:
			wait = min(2*wait, ralph.Span(30*time.Minute))
		case o.cooldowns[j].active || o.iterations[j].counts():
			return wait
		}
	}
	return wait
}

// limitWaited returns the sum of the waits for the usage limits in a row before iteration i.
func (o oracle) limitWaited(i int) ralph.Span {
	var sum ralph.Span
	for j := i - 1; j >= 0 && o.iterations[j].Agent.End == ralph.EndLimit; j-- {
		sum += o.limitWait(j)
		if o.iterations[j].resumed {
			break
		}
	}
	return sum
}

// limitHit returns the first limit that is used up: time, then cost or tokens, then iterations.
func (o oracle) limitHit(elapsed ralph.Span) ralph.StopReason {
	p, spent := o.policy, o.spent()
	switch {
	case p.MaxTime > 0 && elapsed >= p.MaxTime:
		return ralph.Timeout
	case p.MaxCost > 0 && spent.cost >= p.MaxCost:
		return ralph.MaxCost
	case p.MaxTokens > 0 && spent.tokens >= p.MaxTokens:
		return ralph.MaxTokens
	case p.MaxIterations > 0 && spent.iterations >= p.MaxIterations:
		return ralph.MaxIterations
	}
	return ""
}

// mayStart returns why the next iteration may not start, or "". It looks at an interrupt, a check
// that cannot run at the baseline, a list that was done already, the limits, a list without a
// workable task, and a hook that blocks.
func (o oracle) mayStart(next iteration) ralph.StopReason {
	now := o.taskStates()
	if next.resumed {
		now = resetForResume(now)
	}
	open := o.unfinished(now)
	begins := len(o.iterations) == 0
	switch {
	case !next.resumed && o.personSettledAll(open):
		return o.completeReason()
	case next.at.Signal != "":
		return ralph.Interrupted
	case begins && slices.ContainsFunc(o.baseline, func(c ralph.CheckResult) bool { return c.Broken || c.TimedOut }):
		return ralph.CheckBroken
	case begins && len(o.list) > 0 && len(open) == 0 && allPassed(o.baseline):
		return ralph.TasksDone
	}
	if !begins && o.listIsLeftToPerson(now) {
		return ralph.Unconfirmed
	}
	if limit := o.limitHit(next.at.Elapsed); limit != "" {
		return limit
	}
	gaveUp := slices.ContainsFunc(o.list, func(t ralph.TaskState) bool { return now[t.ID].Status == ralph.TaskFailed })
	waits := slices.ContainsFunc(o.list, func(t ralph.TaskState) bool { return o.ready(t, now) && now[t.ID].Waits })
	switch {
	case o.nextTask(now) == "" && waits:
		return ""
	case len(open) > 0 && gaveUp && o.nextTask(now) == "":
		return ralph.TaskTries
	}
	if next.at.Blocked != "" {
		return ralph.Blocked
	}
	return ""
}

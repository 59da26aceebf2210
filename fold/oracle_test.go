package fold

import (
	"slices"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// The oracle says what the contract's sections 5 and 6 make of a run, from the bare list of everything that was seen. It shares no code with
// Decide: no folds, no streak counters kept from one iteration to the next. Whatever it wants to know it counts anew, from the list.

// notebook is a run as somebody would have it who wrote down everything and concluded nothing.
type notebook struct {
	policy   ralph.Policy
	base     ralph.TreeState
	baseline []ralph.CheckResult
	list     []ralph.TaskState // as it was when the run began
	pages    []page
	days     []day // walk, for as many pages
	beds     []bed // of the pages' agents
}

// page is one iteration, when it was judged, and whether another process had taken the run up right before it.
type page struct {
	judge.Observation
	at      ralph.Moment
	who     int // its agent, by its place in the policy
	resumed bool
}

// answer is what the oracle says of the last page.
type answer struct {
	Row      int
	Action   ralph.Action
	Reason   ralph.StopReason
	Signal   ralph.Signal
	Wait     ralph.WaitReason
	Length   ralph.Span // of a wait for a usage limit
	Rests    bool       // another agent goes on
	Claimed  bool
	Refusals []string
	Counted  bool
	Progress bool
	Breaker  ralph.BreakerState
}

func (n notebook) now() page { return n.pages[len(n.pages)-1] }

// upTo is the notebook as it was after page i.
func (n notebook) upTo(i int) notebook {
	n.pages = n.pages[:i+1]
	return n
}

// sinceResume are the pages that this process wrote.
func (n notebook) sinceResume() []page {
	for i := len(n.pages) - 1; i > 0; i-- {
		if n.pages[i].resumed {
			return n.pages[i:]
		}
	}
	return n.pages
}

func oneOf[T comparable](x T, of ...T) bool { return slices.Contains(of, x) }

// against reports whether a page counts against the cap and the breaker: waits for the world outside and kills do not.
func (p page) against() bool {
	return !oneOf(
		p.Agent.End,
		ralph.EndLimit,
		ralph.EndProvider,
		ralph.EndInterrupted,
		ralph.EndAuth,
		ralph.EndMissing,
		ralph.EndSandbox,
	)
}

// inARow counts the pages at the end of this process's share that say yes; those that are silent are passed over.
func (n notebook) inARow(silent, yes func(i int) bool) int {
	count := 0
	for i := len(n.pages) - 1; i >= len(n.pages)-len(n.sinceResume()); i-- {
		switch {
		case silent(i):
		case yes(i):
			count++
		default:
			return count
		}
	}
	return count
}

// ownFailures: non-zero exit, error result, time-out, and the empty turn, which neither said nor is known to have done anything.
func (n notebook) ownFailures() int {
	return n.itsOwn(
		func(i int) bool { return oneOf(n.pages[i].Agent.End, ralph.EndLimit, ralph.EndProvider) },
		func(i int) bool {
			end := n.pages[i].Agent.End
			return oneOf(end, ralph.EndFailed, ralph.EndBroken, ralph.EndKilled, ralph.EndTimeout, ralph.EndIdle) ||
				end == ralph.EndEmpty && !(n.pages[i].Tree.Known && n.progress(i)) && len(n.days[i].done) == 0
		})
}

func (n notebook) providerFailures() int {
	return n.itsOwn(
		func(i int) bool { return n.pages[i].Agent.End == ralph.EndLimit },
		func(i int) bool { return n.pages[i].Agent.End == ralph.EndProvider })
}

func (n notebook) brokenChecks() int {
	return n.inARow(
		func(i int) bool { return len(n.pages[i].Checks) == 0 },
		func(i int) bool { return brokenPage(n.pages[i]) })
}

func (n notebook) answer() answer {
	p, now := n.policy, n.now()
	refusals := n.refusals()
	claimed := n.claimed()
	allDone := len(n.list) > 0 && len(n.unfinished(n.standings())) == 0
	breaker := n.fuse()
	a := answer{Claimed: claimed, Counted: now.against(), Progress: n.progress(len(n.pages) - 1), Breaker: breaker.state}
	if claimed || allDone {
		a.Refusals = refusals
	}
	proven := (claimed || allDone || p.Claim == ralph.ClaimOptional && greenPage(now)) && len(refusals) == 0
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
		return stop(4, n.completeReason())
	}
	if soft {
		return stop(0, ralph.Interrupted)
	}
	hands := n.beds[len(n.pages)-1].laid
	for end, reason := range map[ralph.EndClass]ralph.StopReason{ralph.EndSandbox: ralph.SandboxError, ralph.EndMissing: ralph.ProgramMissing, ralph.EndAuth: ralph.AuthError} {
		switch {
		case now.Agent.End == end && hands:
			return n.handOver(a, 1, reason)
		case now.Agent.End == end:
			return stop(1, reason)
		}
	}
	if now.Agent.End == ralph.EndLimit {
		if hands {
			return n.handOver(a, 2, ralph.RateLimited)
		}
		if p.OnLimit == ralph.LimitStop {
			return stop(2, ralph.RateLimited)
		}
		if p.MaxWait > 0 && n.limitWaited(len(n.pages)) > p.MaxWait {
			return stop(2, ralph.RateLimited)
		}
		if p.MaxTime > 0 && now.at.Elapsed+n.limitWait(len(n.pages)-1) >= p.MaxTime {
			return stop(9, ralph.Timeout)
		}
		a.Length = n.limitWait(len(n.pages) - 1)
		return wait(2, ralph.WaitLimit)
	}
	if now.Agent.End == ralph.EndProvider {
		if hands {
			return n.handOver(a, 3, ralph.ProviderFailed)
		}
		if p.MaxFailures > 0 && n.providerFailures() >= p.MaxFailures {
			return stop(3, ralph.ProviderFailed)
		}
		return wait(3, ralph.WaitBackoff)
	}
	if p.Tamper == ralph.TamperStop && len(now.Tampered) > 0 {
		return stop(4, ralph.Tampered)
	}
	if proven {
		return stop(4, n.completeReason())
	}
	if unasked := n.unasked(); oneOf(unasked, ralph.Timeout, ralph.MaxCost, ralph.MaxTokens, ralph.MaxIterations) {
		return stop(9, unasked)
	} else if unasked != "" {
		return stop(4, unasked)
	}
	if n.blocked() {
		return stop(5, ralph.Blocked)
	}
	if now.Agent.Said.Decide != nil && p.OnDecide == ralph.DecideWait {
		if breaker.state == ralph.BreakerOpen {
			a.Breaker = ralph.BreakerHalfOpen
		}
		return wait(5, ralph.WaitAnswer)
	}
	if now.Agent.Said.Decide != nil {
		return stop(5, ralph.NeedsDecision)
	}
	today := n.days[len(n.pages)-1]
	if p.MaxRejections > 0 && today.anger[""] >= p.MaxRejections {
		return stop(6, ralph.EvaluatorCap)
	}
	if now.Agent.TaskEnd != "" && len(n.list) == 0 {
		return stop(6, now.Agent.TaskEnd)
	}
	if today.givenUp != "" && !today.retried && p.OnTaskFailure != ralph.TaskSkip {
		return stop(6, today.because)
	}
	if hands {
		return n.handOver(a, 7, ralph.AgentFailed)
	}
	if p.MaxFailures > 0 && n.ownFailures() >= p.MaxFailures {
		return stop(7, ralph.AgentFailed)
	}
	if p.MaxBroken > 0 && brokenPage(now) && n.brokenChecks() >= p.MaxBroken {
		return stop(7, ralph.CheckBroken)
	}
	if breaker.state == ralph.BreakerOpen && p.Breaker.Cooldown == 0 {
		return stop(8, ralph.CircuitOpen)
	}
	if limit := n.limitHit(now.at.Elapsed); limit != "" {
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

func (n notebook) spent() account {
	var sum account
	for _, q := range n.pages {
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
		if q.against() {
			sum.iterations++
		}
	}
	return sum
}

// claimed: by tag, or by a block where blocks are worth something.
func (n notebook) claimed() bool { return n.claimedOn(n.now()) }

func (n notebook) claimedOn(q page) bool {
	said := q.Agent.Said
	byBlock := said.Status != nil && said.Status.State == "COMPLETE" && said.Status.ExitSignal &&
		said.Status.Tests == "PASSING"
	return said.CompleteTag != "" || byBlock && n.policy.Status != ralph.StatusOff
}

// blocked: by tag, or by a block where blocks are worth something.
func (n notebook) blocked() bool {
	said := n.now().Agent.Said
	byBlock := said.Blocked != nil && said.Status != nil && said.Status.State == "BLOCKED" &&
		*said.Blocked == said.Status.Recommendation
	return said.Blocked != nil && (!byBlock || n.policy.Status != ralph.StatusOff)
}

func greenPage(q page) bool { return allGreen(q.Checks) }

func allGreen(checks []ralph.CheckResult) bool {
	for _, c := range checks {
		if !c.Passed {
			return false
		}
	}
	return len(checks) > 0
}

func brokenPage(q page) bool {
	return slices.ContainsFunc(q.Checks, func(c ralph.CheckResult) bool { return c.Broken })
}

// refusals are the codes of the gate table, in its order.
func (n notebook) refusals() []string {
	p, now := n.policy, n.now()
	said, block := now.Agent.Said, now.Agent.Said.Status
	var codes []string
	if !oneOf(now.Agent.End, ralph.EndOK, ralph.EndEmpty) {
		codes = append(codes, "agent_failed")
	}
	against := block != nil &&
		(!block.ExitSignal || block.State == "BLOCKED" || block.State == "IN_PROGRESS" || block.Tests == "FAILING")
	byBlock := p.Status != ralph.StatusOff && against && (n.claimed() || p.Claim == ralph.ClaimOptional)
	if byBlock || len(now.Checks) == 0 && (said.Blocked != nil || said.Decide != nil) {
		codes = append(codes, "contradiction")
	}
	if len(n.unfinished(n.standings())) > 0 {
		codes = append(codes, "tasks_open")
	}
	counting := slices.DeleteFunc(slices.Clone(now.Checks), n.harmless)
	if slices.ContainsFunc(counting, func(c ralph.CheckResult) bool { return !c.Passed && !c.Broken }) {
		codes = append(codes, "check_failed")
	} else if slices.ContainsFunc(counting, func(c ralph.CheckResult) bool { return c.Broken }) {
		codes = append(codes, "check_broken")
	}
	codes = append(codes, n.doubts(counting)...)
	added := slices.DeleteFunc(
		slices.Clone(now.Tree.Unfinished),
		func(line string) bool { return slices.Contains(n.base.Unfinished, line) },
	)
	if p.Unfinished == ralph.UnfinishedRefuse && now.Tree.Known && n.base.Known && len(added) > 0 {
		codes = append(codes, "unfinished")
	}
	verdict, place := n.evaluated(), len(codes)
	phrases := 0
	for _, q := range n.pages[max(0, len(n.pages)-5):] {
		phrases += q.Agent.Said.Phrases
	}
	if p.Status == ralph.StatusRequired && (block == nil || !block.ExitSignal || phrases < p.StatusMin) {
		codes = append(codes, "status_gate")
	}
	if len(counting) == 0 && !p.AllowUnverified && !n.accepted() {
		codes = append(codes, "no_evidence")
	}
	if verdict == "evaluator_rejected" && len(codes) > 0 { // it is asked last
		return codes
	}
	if verdict != "" {
		codes = slices.Insert(codes, place, verdict)
	}
	return codes
}

func (n notebook) completeReason() ralph.StopReason {
	switch {
	case len(n.list) > 0:
		return ralph.TasksDone
	case len(n.now().Checks) > 0:
		return ralph.AllChecksPassed
	case n.accepted():
		return ralph.EvaluatorAccepted
	}
	return ralph.Unverified
}

// limitWait is how long the usage limit of page i makes the run wait: to the reset and a little more, or, where that is unknown, a minute that
// doubles to half an hour.
func (n notebook) limitWait(i int) ralph.Span {
	if known := n.pages[i].Agent.RetryAfter; known > 0 {
		return known + ralph.Span(15*time.Second)
	}
	wait := ralph.Span(time.Minute)
	for j := i - 1; len(n.policy.Agents) < 2 && j >= 0 && n.pages[j].Agent.End == ralph.EndLimit && !n.pages[j+1].resumed; j-- {
		wait = min(2*wait, ralph.Span(30*time.Minute))
	}
	if len(n.policy.Agents) < 2 {
		return wait
	}
	for _, j := range n.upTo(i).pagesOf(n.pages[i].who)[1:] { // others may have worked in between
		switch {
		case n.beds[j].limit:
			wait = min(2*wait, ralph.Span(30*time.Minute))
		case n.beds[j].laid || n.pages[j].against():
			return wait
		}
	}
	return wait
}

// limitWaited is what the usage limits in a row before page i make together.
func (n notebook) limitWaited(i int) ralph.Span {
	var sum ralph.Span
	for j := i - 1; j >= 0 && n.pages[j].Agent.End == ralph.EndLimit; j-- {
		sum += n.limitWait(j)
		if n.pages[j].resumed {
			break
		}
	}
	return sum
}

// limitHit is the first limit that is used up: time; money or tokens; the cap.
func (n notebook) limitHit(elapsed ralph.Span) ralph.StopReason {
	p, spent := n.policy, n.spent()
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

// mayStart is what is asked between iterations: an interrupt, a check that cannot run at the baseline, a list that was done already, the limits,
// a list of which nothing can be worked on, and a hook that blocks.
func (n notebook) mayStart(next page) ralph.StopReason {
	now := n.standings()
	if next.resumed {
		now = anew(now)
	}
	open := n.unfinished(now)
	begins := len(n.pages) == 0
	switch {
	case next.at.Signal != "":
		return ralph.Interrupted
	case begins && slices.ContainsFunc(n.baseline, func(c ralph.CheckResult) bool { return c.Broken || c.TimedOut }):
		return ralph.CheckBroken
	case begins && len(n.list) > 0 && len(open) == 0 && allGreen(n.baseline):
		return ralph.TasksDone
	}
	if limit := n.limitHit(next.at.Elapsed); limit != "" {
		return limit
	}
	gaveUp := slices.ContainsFunc(n.list, func(t ralph.TaskState) bool { return now[t.ID].Status == ralph.TaskFailed })
	if len(open) > 0 && gaveUp && n.choice(now) == "" {
		return ralph.TaskTries
	}
	if next.at.Blocked != "" {
		return ralph.Blocked
	}
	return ""
}

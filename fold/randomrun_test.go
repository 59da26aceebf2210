package fold

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
	"github.com/ralphloop/ralph/promise"
)

// dice generates random runs. Values come from small sets, so that streaks, repeats and thresholds
// are frequent.
type dice struct {
	*rand.Rand
	calm bool // little goes wrong, so that most claims depend on whether the work is shown
}

func newDice(seed uint64) dice {
	d := dice{Rand: rand.New(rand.NewPCG(seed, 1))}
	d.calm = d.oneIn(2)
	return d
}

// oneIn returns true with probability 1/n.
func (d dice) oneIn(n int) bool { return d.IntN(n) == 0 }

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

func (d dice) policy() ralph.Policy {
	p := ralph.DefaultPolicy()
	p.MaxIterations = pick(d, 0, 2, 5, 9)
	p.MaxTime = pick(d, 0, 0, ralph.Span(time.Hour), ralph.Span(3*time.Hour))
	p.MaxCost = pick(d, 0, 0, 0.25, 0.75)
	p.MaxTokens = pick[int64](d, 0, 0, 150, 300)
	p.Claim = pick(d, ralph.ClaimRequired, ralph.ClaimRequired, ralph.ClaimOptional)
	p.Status = pick(d, ralph.StatusOff, ralph.StatusAdvisory, ralph.StatusAdvisory, ralph.StatusRequired)
	p.StatusMin = d.IntN(4)
	p.Unfinished = pick(d, ralph.UnfinishedOff, ralph.UnfinishedWarn, ralph.UnfinishedRefuse)
	p.AllowUnverified = d.oneIn(2)
	p.MaxFailures = d.IntN(4)
	p.Outage = pick(d, 0, ralph.Span(10*time.Minute), ralph.Span(time.Hour))
	p.MaxBroken = d.IntN(4)
	p.ChecksWhen = pick(d, ralph.ChecksAlways, ralph.ChecksAlways, ralph.ChecksOnClaim)
	p.Breaker = ralph.BreakerPolicy{
		NoProgress: d.IntN(4), SameError: d.IntN(4), PermissionDenials: d.IntN(3), OutputDecline: pick(d, 0, 50, 70),
		Diagnose: d.oneIn(2), Cooldown: pick(d, 0, 0, ralph.Span(30*time.Minute)),
	}
	if d.oneIn(4) {
		p.Rules = 0
	}
	p.TaskTries = pick(d, 0, 0, 1, 2, 3)
	p.OnTaskFailure, p.TaskRetries = pick(d, ralph.TaskHalt, ralph.TaskSkip, ralph.TaskRetry), 1+d.IntN(2)
	p.OnDecide = pick(d, ralph.DecideStop, ralph.DecideWait)
	p.OnLimit = pick(d, ralph.LimitWait, ralph.LimitWait, ralph.LimitWait, ralph.LimitStop)
	p.MaxWait = pick(d, 0, ralph.Span(10*time.Minute), ralph.Span(6*time.Hour))
	p.Agents = d.agents()
	p.Tamper = pick(d, ralph.TamperRefuse, ralph.TamperRefuse, ralph.TamperStop)
	p.TestChange = pick(d, ralph.TestsWarn, ralph.TestsEvaluate, ralph.TestsRefuse)
	p.Shown = pick(d, "", ralph.ShownOff, ralph.ShownWarn, ralph.ShownAsk, ralph.ShownAsk, ralph.ShownRefuse)
	if p.Shown != "" && d.oneIn(2) { // logs without the one do not have the other
		p.TestChange = ralph.TestsAsk
	}
	p.Proof = pick(d, "", ralph.ProofShown, ralph.ProofShown, ralph.ProofShown, ralph.ProofUnbroken)
	p.Canary, p.Protects = d.oneIn(2), pick(d, nil, []string{"*_test.go"})
	if d.oneIn(3) {
		p.Evaluator, p.MaxRejections = "judge", d.IntN(4)
	}
	if d.calm {
		p.MaxIterations, p.MaxTime, p.MaxCost, p.MaxTokens, p.TaskTries = 9, 0, 0, 0, pick(d, 0, 2)
		p.Status, p.Unfinished = ralph.StatusOff, ralph.UnfinishedWarn
		p.Breaker = ralph.BreakerPolicy{}
		if p.Shown != "" && d.oneIn(2) {
			p.Shown, p.Proof, p.Evaluator = ralph.ShownAsk, ralph.ProofShown, ""
		}
	}
	return p
}

// ending returns how an agent ended, weighted so that most runs have several iterations.
func (d dice) ending() ralph.EndClass {
	if d.calm && !d.oneIn(8) {
		return ralph.EndOK
	}
	if d.oneIn(40) {
		return pick(d, ralph.EndAuth, ralph.EndMissing, ralph.EndSandbox, ralph.EndModel, ralph.EndInterrupted)
	}
	return pick(d,
		ralph.EndOK, ralph.EndOK, ralph.EndOK, ralph.EndOK, ralph.EndOK, ralph.EndOK,
		ralph.EndFailed, pick(d, ralph.EndBroken, ralph.EndKilled), ralph.EndEmpty,
		ralph.EndTimeout, ralph.EndIdle, ralph.EndCut, ralph.EndLimit, ralph.EndProvider,
	)
}

func (d dice) outcome(end ralph.EndClass) ralph.AgentOutcome {
	o := ralph.AgentOutcome{
		Agent:       "fake",
		End:         end,
		OutputBytes: pick[int64](d, 0, 100, 1000),
		Duration:    ralph.Span(d.IntN(9000)) * ralph.Span(time.Millisecond),
	}
	if end == ralph.EndOK && d.oneIn(25) {
		o.TaskEnd = pick(d, ralph.IterCap, ralph.NoCase, ralph.EmptyResponses)
	}
	if end != ralph.EndOK {
		o.Error = pick(d, "it broke", "Unauthorized: 429")
	}
	if end == ralph.EndLimit {
		o.RetryAfter = pick(d, 0, 0, ralph.Span(4*time.Minute), ralph.Span(2*time.Hour))
	}
	if d.oneIn(3) {
		o.Cost = new(pick(d, 0, 0.25, 0.5))
		o.Tokens = &ralph.Tokens{Input: d.Int64N(200), Output: d.Int64N(90), CacheRead: d.Int64N(9)}
	}
	if d.oneIn(5) {
		o.Denials = []string{"Bash(rm)"}
	}
	o.Said = d.report(end)
	return o
}

func (d dice) report(end ralph.EndClass) promise.Report {
	if end == ralph.EndEmpty {
		return promise.Report{}
	}
	said := promise.Report{Text: true, Phrases: d.IntN(3)}
	if d.oneIn(4) || d.calm && d.oneIn(2) {
		said.Complete, said.CompleteTag = true, pick(d, "COMPLETE", "DONE")
	}
	if d.oneIn(12) {
		said.Untestable = new(pick(d, "", "only a person can see it"))
	}
	if d.calm && !d.oneIn(8) {
		return said
	}
	if d.oneIn(25) {
		said.Blocked = new(pick(d, "", "no key"))
	}
	if d.oneIn(25) {
		said.Decide = new("a or b?")
	}
	if d.oneIn(3) {
		d.addStatusBlock(&said)
	}
	return said
}

// addStatusBlock adds a status block and what the parser derives from it.
func (d dice) addStatusBlock(said *promise.Report) {
	states := []string{"COMPLETE", "COMPLETE", "COMPLETE", "COMPLETE", "IN_PROGRESS", "IN_PROGRESS", "BLOCKED"}
	s := promise.Status{
		State:          pick(d, states...),
		Tests:          pick(d, "PASSING", "PASSING", "FAILING", "NOT_RUN"),
		FilesModified:  d.IntN(2),
		WorkType:       "TESTING",
		ExitSignal:     !d.oneIn(3),
		Recommendation: "go on",
	}
	said.Status = &s
	said.Complete = said.Complete || s.Claims()
	if s.State == "BLOCKED" && said.Blocked == nil {
		said.Blocked = new(s.Recommendation)
	}
}

func (d dice) tree() ralph.TreeState {
	if d.oneIn(12) {
		return ralph.TreeState{}
	}
	t := ralph.TreeState{Known: true, Head: pick(d, "c1", "c1", "c1", "c2"), Hash: pick(d, "h1", "h1", "h1", "h2")}
	if d.oneIn(3) {
		t.Unfinished = []string{pick(d, "a.go: TODO", "b.go: FIXME")}
	}
	return t
}

func (d dice) checks(names []string) []ralph.CheckResult {
	var results []ralph.CheckResult
	for _, name := range names {
		c := ralph.CheckResult{
			Name:      name,
			Hidden:    name == hiddenName,
			Passed:    !d.oneIn(3) || d.calm && !d.oneIn(3),
			Duration:  ralph.Span(d.IntN(5000)) * ralph.Span(time.Millisecond),
			Isolation: pick(d, ralph.IsolationOverlay, ralph.IsolationCopy, ralph.IsolationInPlace),
		}
		switch {
		case c.Passed:
		case d.oneIn(4):
			c.Broken, c.ExitCode, c.Output = true, 127, "not found"
		default:
			c.ExitCode, c.TimedOut, c.Output = 1, d.oneIn(8), pick(d, "got a, want b", "panic: nil")
			c.FailingTests = d.IntN(4)
		}
		results = append(results, c)
	}
	return results
}

// baseline returns the results of checks at the baseline. Rarely, one cannot run, which ends the
// run at once.
func (d dice) baseline(names []string) []ralph.CheckResult {
	results := d.checks(names)
	if d.oneIn(25) {
		return results
	}
	for i := range results {
		results[i].Broken, results[i].TimedOut = false, false
	}
	return results
}

const hiddenName = "hidden check 1"

func (d dice) checkNames() []string {
	var names []string
	for i := range d.IntN(3) {
		names = append(names, fmt.Sprintf("check %c", 'A'+i))
	}
	if d.oneIn(5) {
		names = append(names, hiddenName)
	}
	return names
}

// cut says at which point a process died and another one resumed the run.
type cut int

const (
	uncut cut = iota
	cutBeforeExit
	cutAfterExit
	cutBetween
)

// script is a random run. A verdict may end the run before its last step.
type script struct {
	policy   ralph.Policy
	names    []string
	base     ralph.TreeState
	baseline []ralph.CheckResult
	list     []ralph.TaskState
	selected []ralph.CheckResult // own checks of tasks when these are first selected
	steps    []step
}

type step struct {
	iteration
	own    []ralph.CheckResult // results of the tasks' own checks, if they run
	pause  ralph.Span          // before the iteration begins
	cut    cut
	moved  bool          // files changed while checks ran, so they ran once more
	raised ralph.Policy  // in force after a cut
	hook   *ralph.Moment // how long the hook took and how it ended; nil without a hook
	after  ending        // what happens if it ends the run
}

func (d dice) script() script {
	s := script{policy: d.policy(), names: d.checkNames(), base: d.tree()}
	if !d.oneIn(40) {
		s.base.Snapshot = "base"
	}
	if d.oneIn(2) {
		s.list = d.tasks()
	}
	if s.policy.Baseline = !d.oneIn(4); s.policy.Baseline {
		s.baseline = d.baseline(s.names)
		s.selected = d.ownChecks(s.list)
		for i := range s.selected {
			s.selected[i].Tree = pick(d, s.base.ID(), "c1+later")
		}
	}
	p, elapsed, ending := s.policy, ralph.Span(0), d.ending
	if !d.calm && d.oneIn(4) { // a run in which most iterations fail
		ending = func() ralph.EndClass {
			return pick(d, ralph.EndLimit, ralph.EndLimit, ralph.EndProvider, ralph.EndProvider, ralph.EndFailed, d.ending())
		}
	}
	for number := range 3 + d.IntN(11) {
		elapsed += ralph.Span(d.IntN(40*60*1000)) * ralph.Span(time.Millisecond)
		st := step{
			iteration: iteration{
				Observation: judge.Observation{Number: number + 1, Agent: d.outcome(ending()), Tree: d.tree()},
				at:          d.moment(elapsed),
			},
		}
		if d.oneIn(3) {
			st.pause = ralph.Span(d.IntN(20*60*1000)) * ralph.Span(time.Millisecond)
		}
		if d.oneIn(4) {
			st.hook = new(d.moment(ralph.Span(d.IntN(20)) * ralph.Span(time.Second)))
			if d.oneIn(10) {
				st.hook.Blocked = "the freeze is on"
			}
		}
		if d.oneIn(10) {
			p = d.raise(p)
			st.cut, st.raised = pick(d, cutBeforeExit, cutAfterExit, cutBetween), p
		}
		if p.MaxTime > 0 && elapsed >= p.MaxTime && st.Agent.End == ralph.EndTimeout {
			st.Agent.End = ralph.EndOutOfTime
		}
		d.addTasks(&st, s.list)
		st.after = d.afterEnd(p)
		said := st.Agent.Said
		claimed := said.CompleteTag != "" || said.Complete && p.Status != ralph.StatusOff || len(s.list) > 0
		if st.counts() && (claimed || p.ChecksWhen == ralph.ChecksAlways) {
			st.Checks = d.checks(s.names)
		}
		d.addEvidence(&st, p, s.list)
		if !d.calm {
			d.addProofs(st.Checks)
			d.addProofs(st.own)
		}
		s.steps = append(s.steps, st)
	}
	return s
}

func (d dice) moment(elapsed ralph.Span) ralph.Moment {
	at := ralph.Moment{Elapsed: elapsed}
	if d.oneIn(25) {
		at.Signal, at.Killed = pick(d, ralph.SignalInterrupt, ralph.SignalTerminate, ralph.SignalHangup), d.oneIn(3)
	}
	return at
}

func (d dice) raise(p ralph.Policy) ralph.Policy {
	if p.MaxIterations > 0 && d.oneIn(2) {
		p.MaxIterations += 3
	}
	if p.MaxTime > 0 && d.oneIn(2) {
		p.MaxTime += ralph.Span(2 * time.Hour)
	}
	if p.MaxCost > 0 && d.oneIn(2) {
		p.MaxCost++
	}
	p.Agents = d.otherAgents(p.Agents)
	return p
}

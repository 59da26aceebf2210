package ralph

import (
	"fmt"
	"slices"
	"time"

	"github.com/ralphloop/ralph/internal/text"
)

// State is everything that is known of a run. It changes in one way only: Apply. The live loop, resume, explain and every view are folds of
// the same events.
type State struct {
	Run        string
	Seq        int64 // of the last event
	StartedAt  time.Time
	UpdatedAt  time.Time
	Started    RunStarted
	Policy     Policy // in force now; a resume may have raised limits
	Agent      string
	Model      string
	PID        int
	History    History
	Elapsed    Span // spent by the run, as far as events tell
	Begun      Span // Elapsed when the newest iteration began
	Iterations []IterationResult
	Stopped    *RunStopped // nil while the run goes on
	Waiting    *Waiting    // nil unless it waits right now
	Phase      Phase       // of the open iteration
	Verdict    Verdict     // the last one
	Calls      []time.Time // of agents, the newest CallsPerHour of them

	Steering  []SteeringSeen     // items in force, each with the letter that brought it
	Answers   []AnswerGiven      // the newest of them
	Learnings []LearningProposed // the first of them
	Letters   []string           // the newest that were taken
	Asked     *string            // of a person, by the last iteration that counted, and not answered; nil if nothing is

	Last     Feedback // what the next prompt should say about the iteration before
	Warnings []Notice

	Tampered []string     // protected files that the last agent changed
	Ledger   []TaskLedger // what evaluators said of what is not done yet
	Reviews  int          // how often evaluators were asked

	Aside     []AsideWork   // on tasks that were given up
	Unproven  *UnprovenWork // that is in the tree; nil if none is
	Unsettled []string      // tasks that were worked on since one was last proven, and whose work was not set aside
	Move      *TreeMove     // to be done; nil if none is
	Checking  bool          // checks were begun between iterations, and the tree was not looked at since

	CostEstimated bool // at least one iteration reckoned its cost
	CostPartial   bool // what some iteration or evaluation cost is not known, or not all of it
	TokensPartial bool // the same of its tokens
}

// Phase is how far the open iteration has come.
type Phase string

// The phases of an iteration that has no verdict yet.
const (
	PhaseNone   Phase = ""
	PhaseBegun  Phase = "begun"  // the agent may be at work
	PhaseExited Phase = "exited" // the agent is gone; the rest is the harness's
)

// Feedback is what the iteration before has to say to the next one.
type Feedback struct {
	Number         int
	Error          string
	Failed         []CheckResult
	Refusals       []Refusal
	GreenNoClaim   bool
	Recommendation string
	StatusProblem  string
	Mismatches     []string
	Mentions       []string
	TaskRefusals   []TaskRefusal
	Proven         []string // tasks
	ListProblems   []string // what had to be put back in the task list
	Tampered       []string // protected files that are not as they were
	Unseen         []string // added files that checks do not see
	Rejections     []Evaluation
}

// Apply takes one event into the state. Events must come in order and without a gap.
func (s *State) Apply(e Event) error {
	if e.Version > EventVersion {
		return fmt.Errorf("event %d has version %d; this program reads up to version %d: use a newer ralph", e.Seq, e.Version, EventVersion)
	}
	if e.Seq != s.Seq+1 {
		return fmt.Errorf("event %d follows event %d", e.Seq, s.Seq)
	}
	s.Seq, s.UpdatedAt = e.Seq, e.Time
	switch e.Type {
	case EvLimitWait, EvNotice, EvBreaker, EvAgentOutput: // these come while a wait goes on
	default:
		s.Waiting = nil
	}
	switch data := e.Data.(type) {
	case RunStarted:
		s.start(e, data)
	case RunResumed:
		s.resume(data)
	case RunStopped:
		s.Stopped, s.Elapsed = &data, max(s.Elapsed, data.Elapsed)
	case IterationStarted:
		s.begin(e, data)
	case AgentOutput:
		s.Elapsed = max(s.Elapsed, data.Elapsed)
		s.History.Now.Reviewing = s.History.Now.Reviewing || data.Review
		s.spent(Spending{Tokens: data.Tokens, Cost: data.Cost, Estimated: data.Estimated})
	case AgentOutcome:
		s.exited(data)
	case TreeState:
		s.snapshot(e.Iteration, data)
	case CheckStarted:
		s.Checking = !s.History.Judging && e.Iteration > 0
	case CheckResult:
		s.check(e.Iteration, data)
	case CommitResult:
		s.History.Now.Committed = true
		if data.Changed { // evidence is of other files
			s.History.Now.forget()
		}
	case StatusBlockSeen:
		s.Last.Mismatches = data.Mismatches
	case VerdictReached:
		s.judge(data)
	case Waiting:
		s.Waiting = &data
		s.Elapsed = max(s.Elapsed, data.Elapsed)
	case Notice:
		if e.Type == EvWarning && len(s.Warnings) < maxWarnings {
			s.Warnings = append(s.Warnings, data)
		}
	default:
		s.remember(data)
	}
	return nil
}

// maxWarnings keeps a run that warns in every iteration from growing.
const maxWarnings = 50

func (s *State) start(e Event, data RunStarted) {
	s.Run, s.StartedAt, s.Started = e.Run, e.Time, data
	s.Policy, s.Agent, s.Model, s.PID = data.Policy, data.Agent, data.Model, data.PID
	s.History.Breaker.State = BreakerClosed
}

func (s *State) begin(e Event, data IterationStarted) {
	s.History.Started = e.Iteration
	s.Unproven, s.Move, s.Checking = nil, nil, false
	s.unsettled(s.History.Task)
	s.History.takeTurn(data.Agent)
	s.History.Judging = true
	s.History.Now = Observation{Number: e.Iteration, Task: s.History.Task}
	s.Phase, s.Elapsed = PhaseBegun, max(s.Elapsed, data.Elapsed)
	s.Begun = s.Elapsed
	if s.Policy.CallsPerHour > 0 {
		s.Calls = text.LastOf(append(s.Calls, e.Time), s.Policy.CallsPerHour)
	}
}

func (s *State) exited(data AgentOutcome) {
	s.History.Now.Agent = data
	if !s.History.Now.Accepted {
		s.History.Now.forget() // of a round that was refused
	}
	s.History.Now.Tree = TreeState{} // that of a round need not be the one that was left
	s.Tampered = nil
	s.account(data.spending())
	s.Phase = PhaseExited
	for _, text := range data.Said.Learnings {
		s.remember(learned(text))
	}
	if counts(data.End) {
		s.Last.Mismatches = nil // those of the iteration before: this one may have no block at all
	}
}

func (s *State) resume(data RunResumed) {
	cut := s.agentAtWork()
	s.Policy, s.Agent, s.Model, s.PID = data.Policy, data.Agent, data.Model, data.PID
	if data.Settings != nil {
		s.Started.Settings = data.Settings
	}
	s.Stopped = nil
	s.tryBackAgain()
	s.History.startAnew()
	if cases := s.History.Now.Cases; (data.Judged > 0 || data.Interrupted > 0) && (len(cases) == 0 || cases[len(cases)-1].Answer == nil) {
		s.doubt(s.History.Now.Tree.ID()) // it was cut before anybody looked at the files again
	}
	if s.History.Now.Reviewing { // what that took is known to nobody
		s.account(Spending{}.worked())
		s.History.Now.Reviewing = false
	}
	if s.History.Started == 0 { // the baseline is taken anew, and a check that was broken then may be gone
		s.History.Baseline, s.Last.Failed = nil, nil
	}
	if data.Judged > 0 { // evidence of a cut judgement is gathered anew
		s.History.Agent = placeOf(cut, data.Policy.Agents)
		now := &s.History.Now
		now.forget()
		now.Tree, now.Tampered, now.Unseen = TreeState{}, nil, nil
	}
	if data.Interrupted > 0 {
		s.History.Now.forget() // what a round found out is not known of the tree that was left
		s.History.Now.Tree = TreeState{}
		known := s.History.Now.Agent
		s.History.Now.Agent = AgentOutcome{ // what it spent is known up to some moment before
			Agent: cut, End: EndInterrupted, Error: "interrupted", Duration: s.Elapsed - s.Begun,
			Cost: known.Cost, CostEstimated: known.CostEstimated, CostPartial: known.CostPartial || known.Cost != nil,
			Tokens: known.Tokens, TokensPartial: known.TokensPartial || known.Tokens != nil,
		}
		s.account(s.History.Now.Agent.spending())
		s.Phase = PhaseExited
		s.judge(VerdictReached{At: Moment{Elapsed: s.Elapsed}, Verdict: Verdict{Action: GoOn, Breaker: s.History.Breaker}})
	}
}

// agentAtWork is the name of the agent of the iteration under way.
func (s *State) agentAtWork() string {
	if i := s.History.Agent; i < len(s.Policy.Agents) {
		return s.Policy.Agents[i]
	}
	return s.Agent
}

// placeOf is where an agent stands among those of a run; behind the last one, if it is none of them any more.
func placeOf(name string, agents []string) int {
	if i := slices.Index(agents, name); i >= 0 {
		return i
	}
	return len(agents)
}

func (s *State) snapshot(iteration int, tree TreeState) {
	h := &s.History
	switch {
	case iteration == 0:
		h.Base, h.tree = tree, tree
	case tree.After:
		if h.Now.Stale = !tree.same(h.Now.Tree); h.Now.Stale {
			s.doubt(h.Now.Tree.ID())
		}
	case h.Judging:
		h.Now.Tree = tree
		if h.Now.Accepted && h.Now.Proven != tree.ID() && !h.Now.Committed { // a commit names the same files otherwise
			h.Now.forget()
		}
	default: // between iterations: what the user changed joins what the next one is measured by
		h.tree, h.treeOf, s.Checking = tree, h.Started, false
		if tree.Base != "" {
			h.Base.Snapshot = tree.Base
		}
		if tree.Settled != "" {
			h.Settled = tree.Settled
		}
		s.moved(tree)
	}
}

func (s *State) check(iteration int, result CheckResult) {
	s.History.seeFlakes(result)
	if iteration == 0 || !s.History.Judging { // a task's own checks have their baseline when it is selected
		same := func(c CheckResult) bool { return c.Name == result.Name && c.Task == result.Task }
		s.History.Baseline = append(slices.DeleteFunc(slices.Clone(s.History.Baseline), same), result)
		s.History.checks = s.History.checks.with([]CheckResult{result})
		if iteration == 0 {
			s.Last.Failed = failedOf(visible(s.History.Baseline)) // the first agent is told what is red already
		}
		return
	}
	result.Attribution = attribute(s.History.Baseline, result)
	s.History.Now.Checks = replaceCheck(s.History.Now.Checks, result)
}

// judge closes the open iteration, or takes note of a verdict between iterations.
func (s *State) judge(data VerdictReached) {
	s.Elapsed, s.Verdict = max(s.Elapsed, data.At.Elapsed), data.Verdict
	wasJudging := s.History.Judging
	s.History = s.History.Judge(data.At)
	s.History.settle(data.Verdict)
	if len(data.Verdict.Tasks.Done) > 0 {
		s.History.Settled, s.Unsettled = s.History.Now.Tree.Snapshot, nil
	}
	s.Phase = PhaseNone
	if !wasJudging {
		return
	}
	if data.Verdict.Counted {
		s.Asked = data.Verdict.asks()
	}
	s.giveUp(data.Verdict.Tasks)
	s.Iterations = append(s.Iterations, iterationResult(s.History.Now, data.Verdict))
	s.Last = s.feedback(data.Verdict)
}

func (s *State) feedback(v Verdict) Feedback {
	now := s.History.Now
	said := now.Agent.Said
	f := Feedback{
		Number: now.Number, Refusals: v.Refusals(), Mismatches: s.Last.Mismatches, StatusProblem: said.StatusProblem, Mentions: said.Mentions,
		TaskRefusals: v.Tasks.Refused, Proven: v.Tasks.Done, ListProblems: now.Injuries, Tampered: now.Tampered, Unseen: now.Unseen,
		Rejections: s.rejectionsNow(),
	}
	if !counts(now.Agent.End) { // nothing new was learnt: what was said before still holds
		f = s.Last
		f.Number = now.Number
		return f
	}
	if now.Agent.End != EndOK {
		f.Error = now.Agent.Error
	}
	f.Failed = failedOf(now.Checks)
	f.GreenNoClaim = AllPassed(now.Checks) && !v.Claimed && len(v.Tasks.Done)+len(v.Tasks.Refused) == 0
	if said.Status != nil {
		f.Recommendation = said.Status.Recommendation
	} else {
		f.Recommendation = s.Last.Recommendation
	}
	if s.Policy.Status == StatusRequired && said.Status == nil && f.StatusProblem == "" {
		f.StatusProblem = "the block is missing"
	}
	return f
}

// disclosed are checks as an agent may know them: of hidden ones no more than that one failed.
func disclosed(checks []CheckResult) []CheckResult {
	all := visible(checks)
	if slices.ContainsFunc(checks, func(c CheckResult) bool { return c.Hidden && !c.Passed }) {
		all = append(all, CheckResult{Name: hiddenFailed, Hidden: true, ExitCode: 1})
	}
	return all
}

// failedOf are the red checks as the next prompt may name them.
func failedOf(checks []CheckResult) []CheckResult {
	return slices.DeleteFunc(disclosed(checks), func(c CheckResult) bool { return c.Passed })
}

func visible(checks []CheckResult) []CheckResult {
	return slices.DeleteFunc(slices.Clone(checks), func(c CheckResult) bool { return c.Hidden })
}

// Result is the run so far as the result object tells it. An iteration whose agent is gone is told even if it was not judged.
func (s *State) Result() Result {
	history, iterations := s.History, s.Iterations
	if s.Phase == PhaseExited {
		history = history.Judge(Moment{Elapsed: s.Elapsed})
		iterations = append(slices.Clip(iterations), iterationResult(history.Now, Verdict{Counted: counts(history.Now.Agent.End)}))
	}
	r := Result{
		RunID: s.Run, Status: s.LiveStatus(), TotalIterations: len(iterations), TotalDuration: s.Elapsed,
		VerifiedBy: []string{}, Iterations: iterations, Demo: s.Started.Demo,
		CostEstimated: s.CostEstimated, CostPartial: s.CostPartial, TokensPartial: s.TokensPartial,
	}
	if r.Iterations == nil {
		r.Iterations = []IterationResult{}
	}
	if s.Phase == PhaseBegun && s.Stopped == nil { // more than that, by now
		history.spend(s.History.Now.Agent.spending())
	}
	sumUp(&r, history)
	r.Tasks = countTasks(history.Tasks)
	if worktree := s.Started.Worktree; worktree != nil {
		r.WorktreePath, r.Branch = worktree.Path, worktree.Branch
	}
	if stopped := s.Stopped; stopped != nil {
		r.StopReason, r.ExitCode, r.Summary = stopped.Reason, stopped.ExitCode, stopped.Detail
		r.Success, r.Hint = stopped.ExitCode == 0, stopped.Hint
		r.Verified = slices.ContainsFunc(stopped.VerifiedBy, func(by string) bool { return by != VerifiedEvaluator }) // a check is what verifies
		r.VerifiedBy = append(r.VerifiedBy, stopped.VerifiedBy...)
		switch stopped.Reason {
		case Blocked:
			r.Reason = stopped.Detail
		case NeedsDecision:
			r.Question = stopped.Detail
		}
	}
	return r
}

// sumUp adds costs and tokens: a sum of nothing known is unknown, not zero.
func sumUp(r *Result, h History) {
	for _, it := range r.Iterations {
		if it.Cost != nil {
			r.TotalCost = &h.Cost
		}
	}
	if h.Cost > 0 { // an evaluator may have told what no agent did
		r.TotalCost = &h.Cost
	}
	if r.CostPartial && h.Cost == 0 {
		r.TotalCost = nil // that one agent cost nothing says nothing about another
	}
	r.CostEstimated, r.CostPartial = r.CostEstimated && r.TotalCost != nil, r.CostPartial && r.TotalCost != nil
	if h.Tokens != (Tokens{}) {
		r.TotalTokens = &h.Tokens
	}
	r.TokensPartial = r.TokensPartial && r.TotalTokens != nil
}

// LiveStatus is the status word of the run right now.
func (s *State) LiveStatus() Status {
	switch {
	case s.Stopped != nil:
		return s.Stopped.Status
	case s.Waiting != nil && s.Waiting.For == WaitPause:
		return StatusPaused
	case s.Waiting != nil:
		return StatusWaiting
	}
	return StatusActive
}

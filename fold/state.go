package fold

import (
	"fmt"
	"slices"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/judge"
)

// State is everything that is known of a run. It changes in one way only: Apply. The live loop, resume, explain and
// every view are folds of the same events.
type State struct {
	Identity
	Seq       int64 // of the last event
	UpdatedAt time.Time

	History    judge.History
	Iterations []ralph.IterationResult
	Verdict    ralph.Verdict  // the last one
	Last       ralph.Feedback // what the next prompt should say about the iteration before
	Phase      Phase          // of the open iteration
	Checking   bool           // checks were begun between iterations, and the tree was not looked at since
	Tampered   []string       // protected files that the last agent changed

	Elapsed ralph.Span        // spent by the run, as far as events tell
	Begun   ralph.Span        // Elapsed when the newest iteration began
	Calls   []time.Time       // of agents, the newest CallsPerHour of them
	Waiting *ralph.Waiting    // nil unless it waits right now
	Stopped *ralph.RunStopped // nil while the run goes on

	Memory
	Stash
	ReviewLog
	TotalsAccuracy
	Warnings []ralph.Notice
}

// Identity says which run it is and what it runs with. A resume may have changed all but its name and start.
type Identity struct {
	Run       string
	StartedAt time.Time
	Started   ralph.RunStarted
	Policy    ralph.Policy // in force now
	Agent     string
	Model     string
	PID       int
}

// Memory is what people and agents wrote for later iterations.
type Memory struct {
	Steering  []ralph.SteeringSeen     // items in force, each with the letter that brought it
	Answers   []ralph.AnswerGiven      // the newest of them
	Learnings []ralph.LearningProposed // the first of them
	Messages  []string                 // the newest that were taken
	Asked     *string                  // of a person, by the last iteration that counted, and not answered; nil if nothing is
}

// Stash is the work on tasks that were given up, and the changes of the tree that it takes.
type Stash struct {
	Stashed  []StashedWork // not in the tree, but kept
	Unproven *UnprovenWork // that is in the tree; nil if none is
	OpenWork []string      // tasks that were worked on since one was last proven, and whose work was not set aside
	Move     *TreeMove     // to be done; nil if none is
}

// ReviewLog is what evaluators said.
type ReviewLog struct {
	Ledger  []ralph.TaskLedger // of what is not done yet
	Reviews int                // how often evaluators were asked
}

// TotalsAccuracy says what the sums of the run are worth.
type TotalsAccuracy struct {
	CostEstimated bool // at least one iteration estimated its cost
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

// Apply takes one event into the state. Events must come in order and without a gap.
func (s *State) Apply(e ralph.Event) error {
	if e.Version > ralph.EventVersion {
		return fmt.Errorf("event %d has version %d; this program reads up to version %d: use a newer ralph", e.Seq, e.Version, ralph.EventVersion)
	}
	if e.Seq != s.Seq+1 {
		return fmt.Errorf("event %d follows event %d", e.Seq, s.Seq)
	}
	s.Seq, s.UpdatedAt = e.Seq, e.Time
	switch e.Type {
	case ralph.EvLimitWait, ralph.EvNotice, ralph.EvBreaker, ralph.EvAgentOutput: // these come while a wait goes on
	default:
		s.Waiting = nil
	}
	switch data := e.Data.(type) {
	case ralph.RunStarted:
		s.start(e, data)
	case ralph.RunResumed:
		s.resume(data)
	case ralph.RunStopped:
		s.Stopped, s.Elapsed = &data, max(s.Elapsed, data.Elapsed)
	case ralph.IterationStarted:
		s.begin(e, data)
	case ralph.AgentOutput:
		s.Elapsed = max(s.Elapsed, data.Elapsed)
		s.History.Now.Reviewing = s.History.Now.Reviewing || data.Review
		s.noteSpending(ralph.Spending{Tokens: data.Tokens, Cost: data.Cost, Estimated: data.Estimated})
	case ralph.AgentOutcome:
		s.endAgent(data)
	case ralph.TreeState:
		s.snapshot(e.Iteration, data)
	case ralph.CheckStarted:
		s.Checking = !s.History.Judging && e.Iteration > 0
	case ralph.CheckResult:
		s.check(e.Iteration, data)
	case ralph.CommitResult:
		s.History.Now.Committed = true
		if data.Changed { // evidence is of other files
			s.History.Now.ClearEvidence()
		}
	case ralph.StatusBlockSeen:
		s.Last.Mismatches = data.Mismatches
	case ralph.VerdictReached:
		s.judge(data)
	case ralph.Waiting:
		s.Waiting = &data
		s.Elapsed = max(s.Elapsed, data.Elapsed)
	case ralph.Notice:
		if e.Type == ralph.EvWarning && len(s.Warnings) < maxWarnings {
			s.Warnings = append(slices.Clip(s.Warnings), data)
		}
	default:
		s.remember(data)
	}
	return nil
}

// Ignores reports whether Apply does not look at the data of such events, so that a reader of logs need not decode it.
// What is ignored is named, rather than what is read: an event that is new here is slow and not forgotten.
func (s *State) Ignores(kind ralph.EventType) bool {
	switch kind {
	case ralph.EvPromptBuilt, ralph.EvAgentStarted, ralph.EvTreeQuiet, ralph.EvClaimRefused, ralph.EvBreaker, ralph.EvNotice, ralph.EvTruncated:
		return true
	}
	return false
}

// maxWarnings keeps a run that warns in every iteration from growing.
const maxWarnings = 50

func (s *State) start(e ralph.Event, data ralph.RunStarted) {
	s.Run, s.StartedAt, s.Started = e.Run, e.Time, data
	s.Policy, s.Agent, s.Model, s.PID = data.Policy, data.Agent, data.Model, data.PID
	s.History.Breaker.State = ralph.BreakerClosed
}

func (s *State) begin(e ralph.Event, data ralph.IterationStarted) {
	s.History.Started = e.Iteration
	s.Unproven, s.Move, s.Checking = nil, nil, false
	s.addOpenWork(s.History.Task)
	s.History.TakeTurn(data.Agent)
	s.History.Judging = true
	s.History.Now = judge.Observation{Number: e.Iteration, Task: s.History.Task}
	s.Phase, s.Elapsed = PhaseBegun, max(s.Elapsed, data.Elapsed)
	s.Begun = s.Elapsed
	if s.Policy.CallsPerHour > 0 {
		s.Calls = text.LastOf(append(slices.Clip(s.Calls), e.Time), s.Policy.CallsPerHour)
	}
}

func (s *State) endAgent(data ralph.AgentOutcome) {
	s.History.Now.Agent = data
	if !s.History.Now.Accepted {
		s.History.Now.ClearEvidence() // of a round that was refused
	}
	s.History.Now.Tree = ralph.TreeState{} // that of a round need not be the one that was left
	s.Tampered = nil
	s.notePartialSpending(data.Spending())
	s.Phase = PhaseExited
	for _, text := range data.Said.Learnings {
		s.remember(NewLearning(text))
	}
	if ralph.CountsAsIteration(data.End) {
		s.Last.Mismatches = nil // those of the iteration before: this one may have no block at all
	}
}

func (s *State) resume(data ralph.RunResumed) {
	cut := s.agentAtWork()
	s.Policy, s.Agent, s.Model, s.PID = data.Policy, data.Agent, data.Model, data.PID
	if data.Settings != nil {
		s.Started.Settings = data.Settings
	}
	s.Stopped = nil
	s.retryRestores()
	s.History.Restart()
	if cases := s.History.Now.Cases; (data.Judged > 0 || data.Interrupted > 0) && (len(cases) == 0 || cases[len(cases)-1].Answer == nil) {
		s.invalidateReviews(s.History.Now.Tree.ID()) // it was cut before anybody looked at the files again
	}
	if s.History.Now.Reviewing { // what that took is known to nobody
		s.notePartialSpending(ralph.Spending{}.MarkPartial())
		s.History.Now.Reviewing = false
	}
	if s.History.Started == 0 { // the baseline is taken anew, and a check that was broken then may be gone
		s.History.Baseline, s.Last.Failed = nil, nil
	}
	if data.Judged > 0 { // evidence of a cut judgement is gathered anew
		s.History.Agent = placeOf(cut, data.Policy.Agents)
		now := &s.History.Now
		now.ClearEvidence()
		now.Tree, now.Tampered, now.Unseen = ralph.TreeState{}, nil, nil
	}
	if data.Interrupted > 0 {
		s.History.Now.ClearEvidence() // what a round found out is not known of the tree that was left
		s.History.Now.Tree = ralph.TreeState{}
		known := s.History.Now.Agent
		s.History.Now.Agent = ralph.AgentOutcome{ // what it spent is known up to some moment before
			Agent: cut, End: ralph.EndInterrupted, Error: "interrupted", Duration: s.Elapsed - s.Begun,
			Cost: known.Cost, CostEstimated: known.CostEstimated, CostPartial: known.CostPartial || known.Cost != nil,
			Tokens: known.Tokens, TokensPartial: known.TokensPartial || known.Tokens != nil,
		}
		s.notePartialSpending(s.History.Now.Agent.Spending())
		s.Phase = PhaseExited
		s.judge(ralph.VerdictReached{At: ralph.Moment{Elapsed: s.Elapsed}, Verdict: ralph.Verdict{Action: ralph.GoOn, Breaker: s.History.Breaker}})
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

func (s *State) snapshot(iteration int, tree ralph.TreeState) {
	h := &s.History
	switch {
	case iteration == 0:
		h.Base, h.Tree = tree, tree
	case tree.AfterChecks:
		if h.Now.Stale = !tree.Same(h.Now.Tree); h.Now.Stale {
			s.invalidateReviews(h.Now.Tree.ID())
		}
	case h.Judging:
		h.Now.Tree = tree
		if h.Now.Accepted && h.Now.Proven != tree.ID() && !h.Now.Committed { // a commit names the same files otherwise
			h.Now.ClearEvidence()
		}
	default: // between iterations: what the user changed joins what the next one is measured by
		h.Tree, h.TreeOf, s.Checking = tree, h.Started, false
		if tree.Base != "" {
			h.Base.Snapshot = tree.Base
		}
		if tree.LastProvenTree != "" {
			h.LastProvenTree = tree.LastProvenTree
		}
		s.finishMove(tree)
	}
}

func (s *State) check(iteration int, result ralph.CheckResult) {
	s.History.NoteFlakes(result)
	if iteration == 0 || !s.History.Judging { // a task's own checks have their baseline when it is selected
		same := func(c ralph.CheckResult) bool { return c.Name == result.Name && c.Task == result.Task }
		s.History.Baseline = append(slices.DeleteFunc(slices.Clone(s.History.Baseline), same), result)
		s.History.Checks = s.History.Checks.With([]ralph.CheckResult{result})
		if iteration == 0 {
			s.Last.Failed = failedOf(VisibleChecks(s.History.Baseline)) // the first agent is told what is red already
		}
		return
	}
	result.Attribution = judge.Attribute(s.History.Baseline, result)
	s.History.Now.Checks = judge.ReplaceCheck(s.History.Now.Checks, result)
}

// judge closes the open iteration, or takes note of a verdict between iterations.
func (s *State) judge(data ralph.VerdictReached) {
	s.Elapsed, s.Verdict = max(s.Elapsed, data.At.Elapsed), data.Verdict
	wasJudging := s.History.Judging
	s.History = s.History.Judge(data.At)
	s.History.ApplyVerdict(data.Verdict)
	if len(data.Verdict.Tasks.Done) > 0 {
		s.History.LastProvenTree, s.OpenWork = s.History.Now.Tree.Snapshot, nil
	}
	s.Phase = PhaseNone
	if !wasJudging {
		return
	}
	if data.Verdict.Counted {
		s.Asked = data.Verdict.Question()
	}
	s.noteGivenUp(data.Verdict.Tasks)
	if n := len(s.Iterations); n == cap(s.Iterations) {
		s.Iterations = slices.Grow(s.Iterations, n+1) // twice the room: append alone would copy a long list more often
	}
	s.Iterations = append(s.Iterations, iterationResult(s.History.Now, data.Verdict))
	s.Last = s.FeedbackOn(data.Verdict)
}

// FeedbackOn is what the next prompt says about the iteration under this verdict.
func (s *State) FeedbackOn(v ralph.Verdict) ralph.Feedback {
	now := s.History.Now
	said := now.Agent.Said
	f := ralph.Feedback{
		Number: now.Number, Refusals: v.Refusals(), Mismatches: s.Last.Mismatches, StatusProblem: said.StatusProblem, Mentions: said.Mentions,
		TaskRefusals: v.Tasks.Refused, Proven: v.Tasks.Done, ListProblems: now.ListDamage, Tampered: now.Tampered, Unseen: now.Unseen,
		Rejections: s.rejectionsNow(),
	}
	if !ralph.CountsAsIteration(now.Agent.End) { // nothing new was learnt: what was said before still holds
		f = s.Last
		f.Number = now.Number
		return f
	}
	if now.Agent.End != ralph.EndOK {
		f.Error = now.Agent.Error
	}
	f.Failed = failedOf(now.Checks)
	f.GreenNoClaim = judge.AllPassed(now.Checks) && !v.Claimed && len(v.Tasks.Done)+len(v.Tasks.Refused) == 0
	if said.Status != nil {
		f.Recommendation = said.Status.Recommendation
	} else {
		f.Recommendation = s.Last.Recommendation
	}
	if s.Policy.Status == ralph.StatusRequired && said.Status == nil && f.StatusProblem == "" {
		f.StatusProblem = "the block is missing"
	}
	return f
}

// agentVisible are checks as an agent may know them: of hidden ones no more than that one failed.
func agentVisible(checks []ralph.CheckResult) []ralph.CheckResult {
	all := VisibleChecks(checks)
	if slices.ContainsFunc(checks, func(c ralph.CheckResult) bool { return c.Hidden && !c.Passed }) {
		all = append(all, ralph.CheckResult{Name: judge.HiddenCheckName, Hidden: true, ExitCode: 1})
	}
	return all
}

// failedOf are the red checks as the next prompt may name them.
func failedOf(checks []ralph.CheckResult) []ralph.CheckResult {
	return slices.DeleteFunc(agentVisible(checks), func(c ralph.CheckResult) bool { return c.Passed })
}

// VisibleChecks leaves hidden checks out.
func VisibleChecks(checks []ralph.CheckResult) []ralph.CheckResult {
	return slices.DeleteFunc(slices.Clone(checks), func(c ralph.CheckResult) bool { return c.Hidden })
}

// Result is the run so far as the result object tells it. An iteration whose agent is gone is told even if it was not judged.
func (s *State) Result() ralph.Result {
	history, iterations := s.History, s.Iterations
	if s.Phase == PhaseExited {
		history = history.Judge(ralph.Moment{Elapsed: s.Elapsed})
		iterations = append(slices.Clip(iterations), iterationResult(history.Now, ralph.Verdict{Counted: ralph.CountsAsIteration(history.Now.Agent.End)}))
	}
	r := ralph.Result{
		RunID: s.Run, Status: s.LiveStatus(), TotalIterations: len(iterations), TotalDuration: s.Elapsed,
		VerifiedBy: []string{}, Iterations: iterations, Demo: s.Started.Demo,
		CostEstimated: s.CostEstimated, CostPartial: s.CostPartial, TokensPartial: s.TokensPartial,
	}
	if r.Iterations == nil {
		r.Iterations = []ralph.IterationResult{}
	}
	if s.Phase == PhaseBegun && s.Stopped == nil { // more than that, by now
		history.Spend(s.History.Now.Agent.Spending())
	}
	sumUp(&r, history)
	r.Tasks = countTasks(history.Tasks)
	if worktree := s.Started.Worktree; worktree != nil {
		r.WorktreePath, r.Branch = worktree.Path, worktree.Branch
	}
	if stopped := s.Stopped; stopped != nil {
		r.StopReason, r.ExitCode, r.Summary = stopped.Reason, stopped.ExitCode, stopped.Detail
		r.Success, r.Hint = stopped.ExitCode == 0, stopped.Hint
		r.Verified = slices.ContainsFunc(stopped.VerifiedBy, func(by string) bool { return by != ralph.VerifiedEvaluator }) // a check is what verifies
		r.VerifiedBy = append(r.VerifiedBy, stopped.VerifiedBy...)
		switch stopped.Reason {
		case ralph.Blocked:
			r.Reason = stopped.Detail
		case ralph.NeedsDecision:
			r.Question = stopped.Detail
		}
	}
	return r
}

// sumUp adds costs and tokens: a sum of nothing known is unknown, not zero.
func sumUp(r *ralph.Result, h judge.History) {
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
	if h.Tokens != (ralph.Tokens{}) {
		r.TotalTokens = &h.Tokens
	}
	r.TokensPartial = r.TokensPartial && r.TotalTokens != nil
}

// LiveStatus is the status word of the run right now.
func (s *State) LiveStatus() ralph.Status {
	switch {
	case s.Stopped != nil:
		return s.Stopped.Status
	case s.Waiting != nil && s.Waiting.For == ralph.WaitPause:
		return ralph.StatusPaused
	case s.Waiting != nil:
		return ralph.StatusWaiting
	}
	return ralph.StatusActive
}

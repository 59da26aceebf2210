package fold

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/judge"
)

// State is everything that is known about a run. Only Apply changes it. The live loop, resume, explain
// and every view fold the same events.
type State struct {
	Identity
	Seq       int64 // of the last event
	UpdatedAt time.Time

	History    judge.History
	Iterations []ralph.IterationResult
	Verdict    ralph.Verdict  // the last one
	Last       ralph.Feedback // what the next prompt says about the previous iteration
	Phase      Phase          // of the open iteration
	Checking   bool           // checks started between iterations, and there was no snapshot since
	Distrusted

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

// Identity holds the run's ID and what it runs with. A resume may change everything except the ID and
// the start.
type Identity struct {
	Run       string
	StartedAt time.Time
	Started   ralph.RunStarted
	Policy    ralph.Policy // in force now
	Agent     string
	Model     string
	Sandbox   string // what agents ran in; all of them, if it differed after a resume: "none, bwrap"
	PID       int
	Tests     *ralph.TestsWritten // tests written before any work, in use; nil if there are none
	Session   *ralph.SessionBound // the live session that works for the run; nil if none is known
}

// Memory holds what people and agents wrote for later iterations.
type Memory struct {
	Steering  []ralph.SteeringSeen     // current items, each with the ID of the message that brought it
	Answers   []ralph.AnswerGiven      // the newest ones
	Learnings []ralph.LearningProposed // the first ones
	Messages  []string                 // IDs of the newest delivered messages
	Asked     *string                  // the open question of the last iteration that counted; nil if none
	// Untestable says for the goal ("") or a task why no test can show it, in the agent's words.
	Untestable map[string]string
	GoalFiles  []string // of goals and prompt files that were too long for a prompt
}

// Stash holds the work on abandoned tasks, and the change of the tree that is pending because of it.
type Stash struct {
	Stashed  []StashedWork
	Unproven *UnprovenWork // nil if the tree holds none
	Unowned  []string      // files that changed while checks or hooks ran since a task was last proven: perhaps the user's
	OpenWork []string      // tasks worked on since one was last proven, except those whose work was stashed
	Move     *TreeMove     // the pending move; nil if none
}

// ReviewLog holds the verdicts of evaluators.
type ReviewLog struct {
	Ledger  []ralph.TaskLedger // of what is not done yet
	Reviews int                // how often evaluators were asked
}

// Distrusted holds the files whose changes the run refuses.
type Distrusted struct {
	Tampered []string // protected files that the last agent changed
	Weakened []string // tests, and code that detects tests, that the last claim with changed tests was refused for
}

// TotalsAccuracy tells whether the run's totals are exact.
type TotalsAccuracy struct {
	CostEstimated bool // at least one iteration estimated its cost
	CostPartial   bool // the cost of an iteration or evaluation is unknown or incomplete
	TokensPartial bool // the same for tokens
}

// Phase is the phase of the open iteration.
type Phase string

// The phases of an iteration that has no verdict yet.
const (
	PhaseNone   Phase = ""
	PhaseBegun  Phase = "begun"  // the agent may be at work
	PhaseExited Phase = "exited" // the agent is gone; the harness judges its work
)

// Apply applies one event to the state. Events must come in order and without gaps.
func (s *State) Apply(e ralph.Event) error {
	if e.Version > ralph.EventVersion {
		return fmt.Errorf("event %d has version %d; this program reads up to version %d: use a newer ralph",
			e.Seq, e.Version, ralph.EventVersion)
	}
	if e.Seq != s.Seq+1 {
		return fmt.Errorf("event %d follows event %d", e.Seq, s.Seq)
	}
	s.Seq, s.UpdatedAt = e.Seq, e.Time
	switch e.Type {
	case ralph.EvLimitWait, ralph.EvNotice, ralph.EvBreaker, ralph.EvAgentOutput: // these do not end a wait
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
		if data.Changed { // the evidence is about other files
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

// Ignores reports whether Apply ignores the data of such events, so that a log reader need not decode
// it. The list names the ignored types: a new type that is missing here is slow, but not lost.
func (s *State) Ignores(kind ralph.EventType) bool {
	switch kind {
	case ralph.EvPromptBuilt, ralph.EvAgentStarted, ralph.EvTreeQuiet, ralph.EvClaimRefused,
		ralph.EvBreaker, ralph.EvNotice, ralph.EvTruncated:
		return true
	}
	return false
}

// maxWarnings bounds the state of a run that warns in every iteration.
const maxWarnings = 50

func (s *State) start(e ralph.Event, data ralph.RunStarted) {
	s.Run, s.StartedAt, s.Started = e.Run, e.Time, data
	s.Policy, s.Agent, s.Model, s.PID = data.Policy, data.Agent, data.Model, data.PID
	s.Sandbox = data.Sandbox
	s.History.Breaker.State, s.History.Rules = ralph.BreakerClosed, data.Policy.Rules
	if data.Origin != nil { // without snapshots, nothing else will be known
		s.History.Origin = originAt(data.Origin, data.Origin.Base)
	}
}

func (s *State) begin(e ralph.Event, data ralph.IterationStarted) {
	s.History.Started = e.Iteration
	s.Unproven, s.Move, s.Checking = nil, nil, false
	s.addOpenWork(s.History.Task)
	s.History.TakeTurn(data.Agent)
	s.History.Judging, s.History.Accepted = true, nil
	s.History.Now = judge.Observation{Number: e.Iteration, Task: s.History.Task}
	for _, name := range data.GoalFiles {
		if !slices.Contains(s.GoalFiles, name) {
			s.GoalFiles = append(slices.Clip(s.GoalFiles), name)
		}
	}
	s.Phase, s.Elapsed = PhaseBegun, max(s.Elapsed, data.Elapsed)
	s.Begun = s.Elapsed
	if s.Policy.CallsPerHour > 0 {
		s.Calls = text.LastOf(append(slices.Clip(s.Calls), e.Time), s.Policy.CallsPerHour)
	}
}

func (s *State) endAgent(data ralph.AgentOutcome) {
	s.History.Now.Agent = data
	if !s.History.Now.Accepted {
		s.History.Now.ClearEvidence() // it comes from a round that was refused
	}
	s.History.Now.Tree = ralph.TreeState{} // the agent may have changed files after the last round
	s.Tampered = nil
	s.notePartialSpending(data.Spending())
	s.Phase = PhaseExited
	s.noteUntestable(s.History.Now.Task, data.Said.Untestable)
	for _, text := range data.Said.Learnings {
		s.remember(NewLearning(text))
	}
	if ralph.CountsAsIteration(data.End) {
		s.Last.Mismatches = nil // they are of the previous iteration, and this one may have no status block
	}
}

// withSandbox adds a sandbox to a list of them.
func withSandbox(known, name string) string {
	if known == "" || name == "" || slices.Contains(strings.Split(known, ", "), name) {
		return cmp.Or(known, name)
	}
	return known + ", " + name
}

func (s *State) resume(data ralph.RunResumed) {
	cut := s.agentAtWork()
	s.Policy, s.Agent, s.Model, s.PID = data.Policy, data.Agent, data.Model, data.PID
	s.History.Rules = data.Policy.Rules
	if data.Settings != nil {
		s.Started.Settings = data.Settings
	}
	s.Stopped = nil
	if data.Origin != nil {
		s.Started.Origin = data.Origin
		s.History.Origin = originAt(data.Origin, data.Origin.Base)
	}
	if data.Accepting { // no agent starts, and the last judgement stays valid
		return
	}
	if s.History.Started == 0 { // no agent ran in what was chosen before
		s.Sandbox = ""
	}
	s.Sandbox = withSandbox(s.Sandbox, data.Sandbox)
	if !data.InSession {
		s.retryRestores()
		s.History.Restart()
	}
	cases := s.History.Now.Cases
	unanswered := len(cases) == 0 || cases[len(cases)-1].Answer == nil
	if (data.Judged > 0 || data.Interrupted > 0) && unanswered {
		s.invalidateReviews(s.History.Now.Tree.ID()) // it was cut before the files were checked again
	}
	if s.History.Now.Reviewing { // the cost of that evaluation is unknown
		s.notePartialSpending(ralph.Spending{}.MarkPartial())
		s.History.Now.Reviewing = false
	}
	if s.History.Started == 0 { // the baseline runs again, and a check that was broken may be gone
		s.History.Baseline, s.Last.Failed = nil, nil
	}
	if data.Judged > 0 { // the judgement was cut, so its evidence is gathered again
		s.History.Agent = placeOf(cut, data.Policy.Agents)
		now := &s.History.Now
		now.ClearEvidence()
		now.Tree, now.Tampered, now.Unseen = ralph.TreeState{}, nil, nil
		now.Environment, now.Dependencies = nil, nil
	}
	if data.Interrupted > 0 {
		s.History.Now.ClearEvidence() // the evidence of a round may not apply to the tree that was left
		s.History.Now.Tree = ralph.TreeState{}
		known := s.History.Now.Agent
		s.History.Now.Agent = ralph.AgentOutcome{ // the agent may have spent more after its last report
			Agent: cut, End: ralph.EndInterrupted, Error: "interrupted", Duration: s.Elapsed - s.Begun,
			Cost: known.Cost, CostEstimated: known.CostEstimated, CostPartial: known.CostPartial || known.Cost != nil,
			Tokens: known.Tokens, TokensPartial: known.TokensPartial || known.Tokens != nil,
		}
		s.notePartialSpending(s.History.Now.Agent.Spending())
		s.Phase = PhaseExited
		s.judge(ralph.VerdictReached{
			At:      ralph.Moment{Elapsed: s.Elapsed},
			Verdict: ralph.Verdict{Action: ralph.GoOn, Breaker: s.History.Breaker},
		})
	}
}

// agentAtWork returns the name of the agent of the current iteration.
func (s *State) agentAtWork() string {
	if i := s.History.Agent; i < len(s.Policy.Agents) {
		return s.Policy.Agents[i]
	}
	return s.Agent
}

// placeOf returns the index of an agent, or len(agents) if the run no longer has it.
func placeOf(name string, agents []string) int {
	if i := slices.Index(agents, name); i >= 0 {
		return i
	}
	return len(agents)
}

func (s *State) snapshot(iteration int, tree ralph.TreeState) {
	h := &s.History
	if isKnown := iteration == 0 || h.Origin != nil; isKnown && s.Started.Origin != nil && tree.Origin != "" {
		h.Origin = originAt(s.Started.Origin, tree.Origin)
		if iteration == 0 && tree.Origin == tree.Snapshot { // the run begins with that tree
			h.Origin = nil
		}
	}
	switch {
	case iteration == 0 && tree.Again: // files changed while the checks ran, so no result is about the base
		h.Baseline, s.Last.Failed = nil, nil
	case iteration == 0:
		h.Base, h.Tree, h.First = tree, tree, tree
		if tree.Base != "" { // an earlier run refused some of the files, so checks do not see this tree
			h.Base.Snapshot, h.First = tree.Base, ralph.TreeState{}
		}
	case tree.AfterChecks:
		if h.Now.Stale = !tree.Same(h.Now.Tree) || len(tree.Moved) > 0; h.Now.Stale {
			h.Now.Moved = tree.Moved
			s.invalidateReviews(h.Now.Tree.ID())
		}
	case tree.Again:
		h.Now.ClearEvidence()
		h.Now.Tree = tree
		s.Unowned = append(slices.Clip(s.Unowned), tree.Moved...)
	case h.Judging:
		h.Now.Tree = tree
		adoptBase(h, tree) // if the user took over changes
		// A commit changes the ID of a tree, but not its files.
		if h.Now.Accepted && h.Now.Proven != tree.ID() && !h.Now.Committed {
			h.Now.ClearEvidence()
		}
	default: // between iterations: the user's changes join what the next iteration is compared with
		h.Tree, h.TreeOf, s.Checking = tree, h.Started, false
		adoptBase(h, tree)
		s.Unowned = append(slices.Clip(s.Unowned), tree.Moved...)
		s.finishMove(tree)
	}
}

// originAt returns the tree before earlier runs that did not complete, as a snapshot has it now.
func originAt(from *ralph.Origin, snapshot string) *judge.Origin {
	return &judge.Origin{Run: from.Run, Snapshot: snapshot, Checked: from.Base, Checks: from.Checks}
}

// adoptBase makes the user's own changes part of what claims are compared with.
func adoptBase(h *judge.History, tree ralph.TreeState) {
	h.Base.Snapshot = cmp.Or(tree.Base, h.Base.Snapshot)
	h.LastProvenTree = cmp.Or(tree.LastProvenTree, h.LastProvenTree)
	if tree.TestsByUser {
		h.AdoptTests(h.LastProvenTree)
	}
}

func (s *State) check(iteration int, result ralph.CheckResult) {
	s.History.NoteFlakes(result)
	if iteration == 0 || !s.History.Judging { // a task's own checks get their baseline when it is selected
		same := func(c ralph.CheckResult) bool { return c.Name == result.Name && c.Task == result.Task }
		s.History.Baseline = append(slices.DeleteFunc(slices.Clone(s.History.Baseline), same), result)
		s.History.NoteChecks([]ralph.CheckResult{result})
		s.History.NoteFailing([]ralph.CheckResult{result})
		if iteration == 0 {
			s.Last.Failed = failedOf(VisibleChecks(s.History.Baseline)) // the first prompt names the failing checks
		}
		return
	}
	result.Attribution = judge.Attribute(s.History.Baseline, result)
	s.History.Now.Checks = judge.ReplaceCheck(s.History.Now.Checks, result)
}

// judge closes the open iteration, or records a verdict between iterations.
func (s *State) judge(data ralph.VerdictReached) {
	s.Elapsed, s.Verdict = max(s.Elapsed, data.At.Elapsed), data.Verdict
	wasJudging := s.History.Judging
	s.History = s.History.Judge(data.At)
	s.History.ApplyVerdict(data.Verdict)
	if len(data.Verdict.Tasks.Done) > 0 {
		s.History.LastProvenTree, s.OpenWork, s.Unowned = s.History.Now.Tree.Snapshot, nil, nil
	}
	s.Phase = PhaseNone
	// After a person accepted only some tasks, a verdict between iterations asks about the others.
	if wasJudging && data.Verdict.Counted || !wasJudging && data.Verdict.Reason == ralph.Unconfirmed {
		s.Asked = data.Verdict.Question()
		if data.Verdict.Tasks.Question != "" && data.Verdict.WaitFor == ralph.WaitAnswer { // its task has it
			s.Asked = nil
		}
	}
	if !wasJudging {
		return
	}
	s.noteGivenUp(data.Verdict.Tasks)
	s.noteWeakened(s.History.Now.BaseTests, data.Verdict)
	if n := len(s.Iterations); n == cap(s.Iterations) {
		s.Iterations = slices.Grow(s.Iterations, n+1) // doubles the capacity; append would copy a long list more often
	}
	s.Iterations = append(s.Iterations, iterationResult(s.History.Now, data.Verdict))
	s.Last = s.FeedbackOn(data.Verdict)
}

// reasonFor returns a stop reason under the name that the profile's users know.
func reasonFor(profile string, reason ralph.StopReason) ralph.StopReason {
	switch {
	case profile == "checks" && (reason == ralph.MaxCost || reason == ralph.MaxTokens):
		return ralph.BudgetExhausted
	case profile == "goal" && reason == ralph.AllChecksPassed:
		return ralph.VerifierPassed
	}
	return reason
}

// Result returns the result of the run so far. It includes an iteration whose agent is gone even if the
// iteration has no verdict yet.
func (s *State) Result() ralph.Result {
	history, iterations := s.History, s.Iterations
	if s.Phase == PhaseExited {
		history = history.Judge(ralph.Moment{Elapsed: s.Elapsed})
		unjudged := ralph.Verdict{Counted: ralph.CountsAsIteration(history.Now.Agent.End)}
		iterations = append(slices.Clip(iterations), iterationResult(history.Now, unjudged))
	}
	r := ralph.Result{
		RunID: s.Run, Status: s.LiveStatus(), TotalIterations: len(iterations), TotalDuration: s.Elapsed,
		VerifiedBy: []string{}, Iterations: iterations, Demo: s.Started.Demo, GoalFiles: s.GoalFiles,
		CostEstimated: s.CostEstimated, CostPartial: s.CostPartial, TokensPartial: s.TokensPartial,
		Answer: s.History.Now.Agent.Answer, Sandbox: s.Sandbox,
	}
	if r.Iterations == nil {
		r.Iterations = []ralph.IterationResult{}
	}
	if s.Phase == PhaseBegun && s.Stopped == nil { // the agent is still spending
		history.Spend(s.History.Now.Agent.Spending())
	}
	sumUp(&r, history)
	r.Tasks = countTasks(history.Tasks)
	if worktree := s.Started.Worktree; worktree != nil {
		r.WorktreePath, r.Branch = worktree.Path, worktree.Branch
	}
	if stopped := s.Stopped; stopped != nil {
		r.StopReason, r.ExitCode, r.Summary = reasonFor(s.Started.Profile, stopped.Reason), stopped.ExitCode, stopped.Detail
		r.Success, r.Hint = stopped.ExitCode == 0, stopped.Hint
		r.Proof = stopped.Proof
		r.Verified = isVerified(*stopped)
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

// isVerified reports whether a check that Ralph ran, or a person, vouches for the work. Runs of versions
// that did not ask whether work is shown have no word for their proof.
func isVerified(stopped ralph.RunStopped) bool {
	switch stopped.Proof {
	case ralph.ProvenAccepted:
		return true
	case "", ralph.ProvenShown, ralph.ProvenWorkspace:
		return slices.ContainsFunc(stopped.VerifiedBy, func(by string) bool { return by != ralph.VerifiedEvaluator })
	}
	return false
}

// sumUp sets the total cost and tokens. If nothing is known, a total is nil, not zero.
func sumUp(r *ralph.Result, h judge.History) {
	for _, it := range r.Iterations {
		if it.Cost != nil {
			r.TotalCost = &h.Cost
		}
	}
	if h.Cost > 0 { // an evaluator may report its cost even if no agent does
		r.TotalCost = &h.Cost
	}
	if r.CostPartial && h.Cost == 0 {
		r.TotalCost = nil // a known cost of zero says nothing about the agents whose cost is unknown
	}
	r.CostEstimated, r.CostPartial = r.CostEstimated && r.TotalCost != nil, r.CostPartial && r.TotalCost != nil
	if h.Tokens != (ralph.Tokens{}) {
		r.TotalTokens = &h.Tokens
	}
	r.TokensPartial = r.TokensPartial && r.TotalTokens != nil
}

// LiveStatus returns the current status of the run.
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

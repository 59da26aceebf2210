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

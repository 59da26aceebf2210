package ralph

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/ralphloop/ralph/promise"
)

// RunStarted opens a log. It holds everything needed to resume, replay or report the run.
type RunStarted struct {
	Ralph      string          `json:"ralph"` // the program's version
	Workspace  string          `json:"workspace"`
	Goal       string          `json:"goal,omitempty"`
	SpecFile   string          `json:"spec_file,omitempty"`
	PromptFile string          `json:"prompt_file,omitempty"`
	TaskFile   string          `json:"task_file,omitempty"`
	Worktree   *Worktree       `json:"worktree,omitempty"`
	Profile    string          `json:"profile"`
	Agent      string          `json:"agent"`
	Model      string          `json:"model,omitempty"`
	Checks     []string        `json:"checks"`
	Policy     Policy          `json:"policy"`
	Demo       bool            `json:"demo,omitempty"`
	Settings   json.RawMessage `json:"settings,omitempty"` // the resolved configuration; opaque to the loop
	PID        int             `json:"pid"`
	Marker     string          `json:"marker"`
	Refused    *RefusedEarlier `json:"refused,omitempty"`
	Origin     *Origin         `json:"origin,omitempty"`
	InSession  bool            `json:"in_session,omitempty"` // a live session of another program is the agent
	Sandbox    string          `json:"sandbox,omitempty"`    // what agents run in: bwrap, none, …; "" if unknown
}

// SessionBound names the live session that works for a run. Of its process, the identity tells it from a later one
// with the same ID.
type SessionBound struct {
	Agent    string `json:"agent"` // claude, codex, or session if it is unknown
	Session  string `json:"session"`
	PID      int    `json:"pid,omitempty"`
	Identity string `json:"identity,omitempty"`
}

// StopClaim is the claim of a live session that wants to end: there, stopping is a claim.
const StopClaim = "STOP"

// RefusedEarlier names files that an earlier run in the same workspace refused as tampered, or changed in an
// iteration that was never judged. This run's base has them as they were at the base of that run.
type RefusedEarlier struct {
	Run      string   `json:"run"`
	Base     string   `json:"base"` // the snapshot
	Files    []string `json:"files"`
	Lists    []string `json:"lists,omitempty"`    // task lists among the files: the base keeps them as they are
	Added    []string `json:"added,omitempty"`    // tests among the files that the run added
	List     string   `json:"list,omitempty"`     // instead of Lists in older logs
	Unjudged bool     `json:"unjudged,omitempty"` // the run ended before its last iteration was judged
	Unproven bool     `json:"unproven,omitempty"` // the run did not refuse all of them, but did not prove its work
	Dead     bool     `json:"dead,omitempty"`     // it died or its agent worked on, so earlier commits may be the agent's
}

// Origin is the tree before the first of several runs in a row, in the same workspace, that did not complete. What
// their agents left is not the user's, so work counts as shown only if it is also shown against this tree.
type Origin struct {
	Run  string `json:"run"`  // the last of these runs; "" if there is none
	Base string `json:"base"` // the snapshot; "" if there is none
	// Commit is set if the agent of a live session set the goal: what is not committed may be its work. It is the commit
	// at that time.
	Commit string `json:"commit,omitempty"`
	// Left is the snapshot of what the last agent left; "" if that is unknown. What differs from it now is the user's.
	Left string `json:"left,omitempty"`
	// Head is the commit that the last agent left, and Ended is when its run ended. They are set with Left.
	Head  string    `json:"head,omitempty"`
	Ended time.Time `json:"ended,omitzero"`
	// Committed names files that the user has committed since, as they are.
	Committed []string `json:"committed,omitempty"`
	// Checks has the results of checks on Base, as far as they are known.
	Checks []CheckResult `json:"checks,omitempty"`
}

// LimitsRaised records by how much a person raised the limits of a run at work.
type LimitsRaised struct {
	Iterations int     `json:"iterations,omitempty"`
	Time       Span    `json:"time,omitempty"`
	Cost       float64 `json:"cost,omitempty"`
	Tokens     int64   `json:"tokens,omitempty"`
	Message    string  `json:"message,omitempty"`
}

// Raise returns a policy with the new limits. A limit that the run does not have stays without one.
func (l LimitsRaised) Raise(p Policy) Policy {
	if p.MaxIterations > 0 {
		p.MaxIterations += max(l.Iterations, 0)
	}
	if p.MaxTime > 0 {
		p.MaxTime += max(l.Time, 0)
	}
	if p.MaxCost > 0 {
		p.MaxCost += max(l.Cost, 0)
	}
	if p.MaxTokens > 0 {
		p.MaxTokens += max(l.Tokens, 0)
	}
	return p
}

// RunResumed records that another process resumed the run, with the limits that apply from now on.
type RunResumed struct {
	Ralph       string          `json:"ralph"`
	Agent       string          `json:"agent"`
	Model       string          `json:"model,omitempty"`
	Policy      Policy          `json:"policy"`
	Settings    json.RawMessage `json:"settings,omitempty"`
	Sandbox     string          `json:"sandbox,omitempty"`
	PID         int             `json:"pid"`
	Marker      string          `json:"marker"`
	Interrupted int             `json:"interrupted,omitempty"` // the iteration that was cut before its agent exited
	Judged      int             `json:"judged,omitempty"`      // the iteration that was cut later and is judged now
	TornBytes   int64           `json:"torn_bytes,omitempty"`  // length of an incomplete last line that was dropped
	// Origin replaces that of RunStarted: another run worked here before an agent of this one did.
	Origin *Origin `json:"origin,omitempty"`
	// Accepting reports that a person accepts the claim, and that no agent will start.
	Accepting bool `json:"accepting,omitempty"`
	// InSession reports that the agent is a live session and was not interrupted: nothing is counted anew.
	InSession bool `json:"in_session,omitempty"`
}

// RunStopped closes a log until the run is resumed.
type RunStopped struct {
	Reason     StopReason `json:"stop_reason"`
	Signal     Signal     `json:"signal,omitempty"`
	ExitCode   int        `json:"exit_code"`
	Status     Status     `json:"status"`
	Detail     string     `json:"detail"` // why, in one sentence
	Hint       string     `json:"hint,omitempty"`
	VerifiedBy []string   `json:"verified_by,omitempty"`
	Proof      ProofWord  `json:"proof,omitempty"`
	Changed    string     `json:"changed,omitempty"` // one line on what the run changed
	Elapsed    Span       `json:"elapsed"`
	Rows       string     `json:"rows,omitempty"` // digest of the results that the next run may use
}

// IterationStarted is phase one of an iteration. It is durable before the agent starts.
type IterationStarted struct {
	Ordinal  int  `json:"ordinal"` // i of N, not counting iterations that do not count
	Of       int  `json:"of"`      // the limit, 0 for none
	Diagnose bool `json:"diagnose,omitempty"`
	Probe    bool `json:"probe,omitempty"` // the breaker is half-open
	Agent    int  `json:"agent,omitempty"` // the agent's index in Policy.Agents
	Elapsed  Span `json:"elapsed"`         // the run's elapsed time when the iteration began
	// GoalFiles are the files with a goal or a prompt file that is too long for a prompt.
	GoalFiles []string `json:"goal_files,omitempty"`
}

// PromptBuilt lists the parts of a prompt.
type PromptBuilt struct {
	Bytes int          `json:"bytes"`
	Hash  string       `json:"hash"`
	Parts []PromptPart `json:"parts"`
}

// AgentStarted names the agent that starts to work.
type AgentStarted struct {
	Agent   string `json:"agent"`
	Model   string `json:"model,omitempty"`
	Timeout Span   `json:"timeout,omitempty"`
}

// AgentOutput is a summary that the loop records from time to time while an agent works. It bounds how
// much of the spending a crash can lose.
type AgentOutput struct {
	Elapsed Span   `json:"elapsed"` // of the run
	Tool    string `json:"tool,omitempty"`
	Events  int    `json:"events"` // activities seen so far
	// Review reports that an evaluator is being asked, which also costs money.
	Review bool `json:"review,omitempty"`

	Cost      *float64 `json:"cost,omitempty"` // the iteration's cost so far, if known
	Tokens    *Tokens  `json:"tokens,omitempty"`
	Estimated bool     `json:"cost_estimated,omitempty"`
}

// TreeQuiet records that no process of the agent is alive.
type TreeQuiet struct {
	Killed int      `json:"killed"`
	Names  []string `json:"names,omitempty"`
}

// SignalSeen is one statement of the agent about its work.
type SignalSeen struct {
	Kind string `json:"kind"` // a tag's type, such as COMPLETE or T-3:DONE, or "mention"
	Text string `json:"text,omitempty"`
	From string `json:"from,omitempty"` // FromList, or "" if the agent said it
}

// FromList is the From of a signal that the agent marked in the task list and did not say.
const FromList = "list"

// TaskSelected names the task of the next iteration. Task is "" if no task is open.
type TaskSelected struct {
	Task  string      `json:"task"`
	Title string      `json:"title,omitempty"`
	Try   int         `json:"try,omitempty"`
	List  []TaskState `json:"list,omitempty"` // the whole list, if it differs from the last recorded one
}

// TaskMoved records that a task was proven, failed or reopened.
type TaskMoved struct {
	Task   string `json:"task"`
	Title  string `json:"title,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// WorkStashed records that the changes of an abandoned task leave the tree, so that the next task is
// judged by its own work. It is recorded before the tree changes. Base and Work are snapshots of the
// tree after and before the stash.
type WorkStashed struct {
	Task      string `json:"task"`
	Iteration int    `json:"iteration"` // the iteration that left the work
	Base      string `json:"base"`
	Work      string `json:"work"`
}

// WorkRestored records that stashed work returns to the tree because its task was selected again. It,
// too, is recorded before the tree changes. From and To are snapshots of the tree before and after. If
// Why is set, the work was not restored and stays in the stash.
type WorkRestored struct {
	Task      string   `json:"task"`
	Iteration int      `json:"iteration"` // the iteration that left the work
	From      string   `json:"from,omitempty"`
	To        string   `json:"to,omitempty"`
	Why       string   `json:"why,omitempty"`
	Conflicts []string `json:"conflicts,omitempty"` // files that changed both in the work and in the tree since
	Stayed    bool     `json:"stayed,omitempty"`    // stashing failed, so the work never left the tree
}

// FilesTampered records changes to files that are not the agent's to change. The harness restores the
// task list. Checks see protected files as they were.
type FilesTampered struct {
	What     string   `json:"what"` // TamperedList, TamperedFiles
	File     string   `json:"file,omitempty"`
	Details  []string `json:"details"`
	Restored bool     `json:"restored"`
	Files    []string `json:"files,omitempty"`  // protected files that were changed or deleted
	Unseen   []string `json:"unseen,omitempty"` // added files that checks do not see
	// Environment and Dependencies are those of Tampering.
	Environment  []string `json:"environment,omitempty"`
	Dependencies []string `json:"dependencies,omitempty"`
}

// The values of FilesTampered.What.
const (
	TamperedList  = "task_list"
	TamperedFiles = "protected"
)

// SteeringSeen records that a steering item went into a prompt or was removed.
type SteeringSeen struct {
	State   string `json:"state"` // delivered, earlier, removed
	File    string `json:"file"`
	Text    string `json:"text"`
	Message string `json:"letter,omitempty"` // that brought it, if ralph steer did
}

// The states of an item of steering.
const (
	SteeringDelivered = "delivered"
	SteeringEarlier   = "earlier" // it was there before a question was asked, or a hook wrote it, so it answers nothing
	SteeringRemoved   = "removed"
)

// AnswerGiven is a person's answer to an agent's question from this run or an earlier one.
type AnswerGiven struct {
	Question string `json:"question"`
	Task     string `json:"task,omitempty"` // the task that waited for it
	Answer   string `json:"answer"`
	Message  string `json:"letter,omitempty"`
}

// LearningProposed is something that an agent thinks later runs should know. Only a person can accept it.
type LearningProposed struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// PlanRead is the agent's plan at the time of a claim. It is not the list that the run works through.
type PlanRead struct {
	File    string   `json:"file"`
	Open    []string `json:"open,omitempty"`    // titles of its open items
	Missing bool     `json:"missing,omitempty"` // there is no such file
	Problem string   `json:"problem,omitempty"` // why it cannot be read
}

// StatusBlockSeen is the status block of an iteration, or what was wrong with it.
type StatusBlockSeen struct {
	Block      *promise.Status `json:"block,omitempty"`
	Problem    string          `json:"problem,omitempty"`
	Mismatches []string        `json:"mismatches,omitempty"` // where it contradicts what the harness saw
	Files      *FileCount      `json:"files,omitempty"`      // that the iteration changed; nil if unknown
}

// FileCount is how many files an iteration changed.
type FileCount struct {
	Changed int  `json:"changed"`           // added, changed or deleted, without files of the harness and the task list
	Moved   int  `json:"moved,omitempty"`   // pairs of an added and a deleted file, each of which may be one renamed file
	Own     int  `json:"own,omitempty"`     // files of the harness and the task list
	Omitted bool `json:"omitted,omitempty"` // the snapshots leave files out, so more may have changed
}

// Agrees reports whether a count of modified files can be right. A renamed file may be counted as one
// or as two, and a change to the task list may be counted or not.
func (c FileCount) Agrees(said int) bool {
	return said >= c.Changed-c.Moved && (c.Omitted || said <= c.Changed+c.Own)
}

// String says how many files changed.
func (c FileCount) String() string {
	switch c.Changed {
	case 0:
		return "no file changed"
	case 1:
		return "1 file changed"
	}
	return fmt.Sprintf("%d files changed", c.Changed)
}

// ClaimRefused lists why gates refused a claim.
type ClaimRefused struct {
	Refusals []Refusal     `json:"refusals"`
	Tasks    []TaskRefusal `json:"tasks,omitempty"`
}

// CheckStarted names a check that begins.
type CheckStarted struct {
	Name string `json:"name"`
	Task string `json:"task,omitempty"`
	// Column is set if the check runs again to prove a claim.
	Column ProofColumn `json:"column,omitempty"`
}

// VerdictReached is phase two of an iteration: the verdict and the moment of the decision.
type VerdictReached struct {
	At      Moment  `json:"at"`
	Verdict Verdict `json:"verdict"`
}

// BreakerMoved records that the breaker changed its state.
type BreakerMoved struct {
	From   BreakerState `json:"from"`
	To     BreakerState `json:"to"`
	Reason string       `json:"reason"`
}

// Waiting records that the run waits, why, and for how long.
type Waiting struct {
	For     WaitReason `json:"for"`
	Wait    Span       `json:"wait"`
	Elapsed Span       `json:"elapsed"` // the run's elapsed time when the wait began
	Detail  string     `json:"detail"`
}

// Notice is a sentence for the user. It is the payload of both EvNotice and EvWarning.
type Notice struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// OutputTruncated records that output was longer than its limit.
type OutputTruncated struct {
	What  string `json:"what"`
	Bytes int64  `json:"bytes"` // written by the process, including what was dropped
}

// decoders holds the payload decoder of each event type.
var decoders = map[EventType]func([]byte) (any, error){
	EvRunStarted:       decode[RunStarted](),
	EvRunResumed:       decode[RunResumed](),
	EvRunStopped:       decode[RunStopped](),
	EvSessionBound:     decode[SessionBound](),
	EvIterationStarted: decode[IterationStarted](),
	EvPromptBuilt:      decode[PromptBuilt](),
	EvAgentStarted:     decode[AgentStarted](),
	EvAgentOutput:      decode[AgentOutput](),
	EvAgentExited:      decode[AgentOutcome](),
	EvTreeQuiet:        decode[TreeQuiet](),
	EvTreeSnapshot:     decode[TreeState](),
	EvSignal:           decode[SignalSeen](),
	EvStatusBlock:      decode[StatusBlockSeen](),
	EvClaimRefused:     decode[ClaimRefused](),
	EvCheckStarted:     decode[CheckStarted](),
	EvCheckFinished:    decode[CheckResult](),
	EvCheckProof:       decode[Proof](),
	EvTestsChanged:     decode[BaseTestsRun](),
	EvWorkSeen:         decode[WorkSeen](),
	EvWorkUndone:       decode[WorkUndone](),
	EvTestsWritten:     decode[TestsWritten](),
	EvAccepted:         decode[WorkAccepted](),
	EvEvaluation:       decode[Evaluation](),
	EvTurn:             decode[Turn](),
	EvCase:             decode[CaseSubmitted](),
	EvCaseAnswered:     decode[CaseAnswered](),
	EvTaskSelected:     decode[TaskSelected](),
	EvTaskDone:         decode[TaskMoved](),
	EvTaskUnconfirmed:  decode[TaskMoved](),
	EvTaskFailed:       decode[TaskMoved](),
	EvTaskReopened:     decode[TaskMoved](),
	EvWorkStashed:      decode[WorkStashed](),
	EvWorkRestored:     decode[WorkRestored](),
	EvTampered:         decode[FilesTampered](),
	EvSteering:         decode[SteeringSeen](),
	EvAnswer:           decode[AnswerGiven](),
	EvLimits:           decode[LimitsRaised](),
	EvLearning:         decode[LearningProposed](),
	EvPlanRead:         decode[PlanRead](),
	EvCommit:           decode[CommitResult](),
	EvVerdict:          decode[VerdictReached](),
	EvBreaker:          decode[BreakerMoved](),
	EvLimitWait:        decode[Waiting](),
	EvNotice:           decode[Notice](),
	EvWarning:          decode[Notice](),
	EvTruncated:        decode[OutputTruncated](),
}

// DecodePayload decodes the data of a logged event into its payload type. It returns a json.RawMessage
// for event types that this version does not know.
func DecodePayload(kind EventType, data []byte) (any, error) {
	if decode, known := decoders[kind]; known {
		return decode(data)
	}
	return json.RawMessage(data), nil
}

// decode returns the decoder of a payload type. Logs are long, so it reuses the memory that it decodes
// into; callers get a copy.
func decode[T any]() func([]byte) (any, error) {
	buffers := sync.Pool{New: func() any { return new(T) }}
	return func(data []byte) (any, error) {
		buffer := buffers.Get().(*T)
		*buffer = *new(T)
		if err := json.Unmarshal(data, buffer); err != nil {
			return nil, fmt.Errorf("decode event data: %w", err)
		}
		payload := *buffer
		buffers.Put(buffer)
		return payload, nil
	}
}

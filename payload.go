package ralph

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/ralphloop/ralph/promise"
)

// RunStarted opens a log: everything that is needed to go on, to judge again, or to tell the story.
type RunStarted struct {
	Ralph      string          `json:"ralph"` // version of the program
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
}

// RunResumed says that another process took the run up again, with the limits that hold from now on.
type RunResumed struct {
	Ralph       string          `json:"ralph"`
	Agent       string          `json:"agent"`
	Model       string          `json:"model,omitempty"`
	Policy      Policy          `json:"policy"`
	Settings    json.RawMessage `json:"settings,omitempty"`
	PID         int             `json:"pid"`
	Marker      string          `json:"marker"`
	Interrupted int             `json:"interrupted,omitempty"` // the iteration that was cut before its agent exited
	Judged      int             `json:"judged,omitempty"`      // the iteration that was cut after, and is judged now
	TornBytes   int64           `json:"torn_bytes,omitempty"`  // of a last line that was not written whole, dropped
}

// RunStopped closes a log, until it is resumed.
type RunStopped struct {
	Reason     StopReason `json:"stop_reason"`
	Signal     Signal     `json:"signal,omitempty"`
	ExitCode   int        `json:"exit_code"`
	Status     Status     `json:"status"`
	Detail     string     `json:"detail"` // why, in one sentence
	Hint       string     `json:"hint,omitempty"`
	VerifiedBy []string   `json:"verified_by,omitempty"`
	Changed    string     `json:"changed,omitempty"` // what the run changed, in one line
	Elapsed    Span       `json:"elapsed"`
}

// IterationStarted is phase one of an iteration; it is durable before the agent starts.
type IterationStarted struct {
	Ordinal  int  `json:"ordinal"` // i of N: iterations that did not count are left out
	Of       int  `json:"of"`      // the cap, 0 for none
	Diagnose bool `json:"diagnose,omitempty"`
	Probe    bool `json:"probe,omitempty"` // the breaker is half-open
	Agent    int  `json:"agent,omitempty"` // who works, by its place in Policy.Agents
	Elapsed  Span `json:"elapsed"`         // of the run, when it began
}

// PromptBuilt lists the parts of a prompt.
type PromptBuilt struct {
	Bytes int          `json:"bytes"`
	Hash  string       `json:"hash"`
	Parts []PromptPart `json:"parts"`
}

// AgentStarted says who works now.
type AgentStarted struct {
	Agent   string `json:"agent"`
	Model   string `json:"model,omitempty"`
	Timeout Span   `json:"timeout,omitempty"`
}

// AgentOutput is a summary that is written now and then while an agent works, so that a crash loses little of what was spent.
type AgentOutput struct {
	Elapsed Span   `json:"elapsed"` // of the run
	Tool    string `json:"tool,omitempty"`
	Events  int    `json:"events"` // activities seen so far
	// Review says that an evaluator is being asked, which costs as well.
	Review bool `json:"review,omitempty"`

	Cost      *float64 `json:"cost,omitempty"` // of the iteration so far, where known
	Tokens    *Tokens  `json:"tokens,omitempty"`
	Estimated bool     `json:"cost_estimated,omitempty"`
}

// TreeQuiet says that no process of the agent is alive.
type TreeQuiet struct {
	Killed int      `json:"killed"`
	Names  []string `json:"names,omitempty"`
}

// SignalSeen is one thing the agent said about its work.
type SignalSeen struct {
	Kind string `json:"kind"` // a tag's type, such as COMPLETE or T-3:DONE, or "mention"
	Text string `json:"text,omitempty"`
	From string `json:"from,omitempty"` // "list": it was not said, but marked in the task list
}

// FromList is the From of a signal that was not said, but marked in the task list.
const FromList = "list"

// TaskSelected says what the next iteration works on. Task is "" if nothing is open.
type TaskSelected struct {
	Task  string      `json:"task"`
	Title string      `json:"title,omitempty"`
	Try   int         `json:"try,omitempty"`
	List  []TaskState `json:"list,omitempty"` // the whole list, when it is not as the log last told it
}

// TaskMoved says that a task was proven, failed, or is open again.
type TaskMoved struct {
	Task   string `json:"task"`
	Title  string `json:"title,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// WorkStashed says that the work on a task that was given up is taken out of the tree, so that the next task is judged by its own work. It is
// recorded before that is done. Base and Work are copies: what the tree is to be, and what it was.
type WorkStashed struct {
	Task      string `json:"task"`
	Iteration int    `json:"iteration"` // that left the work
	Base      string `json:"base"`
	Work      string `json:"work"`
}

// WorkRestored says that work that was set aside comes back into the tree, since its task is worked again; that too is recorded first. From and To
// are copies of the tree before and after. With Why it does not come back, but is kept.
type WorkRestored struct {
	Task      string   `json:"task"`
	Iteration int      `json:"iteration"` // that left the work
	From      string   `json:"from,omitempty"`
	To        string   `json:"to,omitempty"`
	Why       string   `json:"why,omitempty"`
	Conflicts []string `json:"conflicts,omitempty"` // files that the work changed, and somebody else since
	Stayed    bool     `json:"stayed,omitempty"`    // it could not be set aside in the first place
}

// FilesTampered says what was done to files that are not the agent's: to the task list, which was put back, or to protected files, which checks see
// as they were.
type FilesTampered struct {
	What     string   `json:"what"` // TamperedList, TamperedFiles
	File     string   `json:"file,omitempty"`
	Details  []string `json:"details"`
	Restored bool     `json:"restored"`
	Files    []string `json:"files,omitempty"`  // protected ones that were changed or deleted
	Unseen   []string `json:"unseen,omitempty"` // added ones that checks do not see
}

// What can be tampered with.
const (
	TamperedList  = "task_list"
	TamperedFiles = "protected"
)

// SteeringSeen says that an item of steering went into a prompt, or was struck off.
type SteeringSeen struct {
	State   string `json:"state"` // delivered, removed
	File    string `json:"file"`
	Text    string `json:"text"`
	Message string `json:"letter,omitempty"` // that brought it, if ralph steer did
}

// The states of an item of steering.
const (
	SteeringDelivered = "delivered"
	SteeringRemoved   = "removed"
)

// AnswerGiven is a person's answer to what an agent asked, in this run or an earlier one.
type AnswerGiven struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
	Message  string `json:"letter,omitempty"`
}

// LearningProposed is something that an agent thinks later runs should know. Nothing promotes itself.
type LearningProposed struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// StatusBlockSeen is the status block of an iteration, or what was wrong with it.
type StatusBlockSeen struct {
	Block      *promise.Status `json:"block,omitempty"`
	Problem    string          `json:"problem,omitempty"`
	Mismatches []string        `json:"mismatches,omitempty"` // what it says against what was seen
}

// ClaimRefused lists the gates that were shut.
type ClaimRefused struct {
	Refusals []Refusal     `json:"refusals"`
	Tasks    []TaskRefusal `json:"tasks,omitempty"`
}

// CheckStarted names a check that begins.
type CheckStarted struct {
	Name string `json:"name"`
	Task string `json:"task,omitempty"`
}

// VerdictReached is phase two of an iteration: what was decided, and the moment it was decided in.
type VerdictReached struct {
	At      Moment  `json:"at"`
	Verdict Verdict `json:"verdict"`
}

// BreakerMoved says that the breaker changed its state.
type BreakerMoved struct {
	From   BreakerState `json:"from"`
	To     BreakerState `json:"to"`
	Reason string       `json:"reason"`
}

// Waiting says that the run waits, why, and for how long.
type Waiting struct {
	For     WaitReason `json:"for"`
	Wait    Span       `json:"wait"`
	Elapsed Span       `json:"elapsed"` // of the run, when the wait began
	Detail  string     `json:"detail"`
}

// Notice is a sentence for the user: a Notice informs, a warning warns.
type Notice struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// OutputTruncated says that output was longer than its cap.
type OutputTruncated struct {
	What  string `json:"what"`
	Bytes int64  `json:"bytes"` // written by the process, kept or not
}

// decoders say which type the data of an event has.
var decoders = map[EventType]func([]byte) (any, error){
	EvRunStarted:       decode[RunStarted](),
	EvRunResumed:       decode[RunResumed](),
	EvRunStopped:       decode[RunStopped](),
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
	EvEvaluation:       decode[Evaluation](),
	EvTurn:             decode[Turn](),
	EvCase:             decode[CaseSubmitted](),
	EvCaseAnswered:     decode[CaseAnswered](),
	EvTaskSelected:     decode[TaskSelected](),
	EvTaskDone:         decode[TaskMoved](),
	EvTaskFailed:       decode[TaskMoved](),
	EvTaskReopened:     decode[TaskMoved](),
	EvWorkStashed:      decode[WorkStashed](),
	EvWorkRestored:     decode[WorkRestored](),
	EvTampered:         decode[FilesTampered](),
	EvSteering:         decode[SteeringSeen](),
	EvAnswer:           decode[AnswerGiven](),
	EvLearning:         decode[LearningProposed](),
	EvCommit:           decode[CommitResult](),
	EvVerdict:          decode[VerdictReached](),
	EvBreaker:          decode[BreakerMoved](),
	EvLimitWait:        decode[Waiting](),
	EvNotice:           decode[Notice](),
	EvWarning:          decode[Notice](),
	EvTruncated:        decode[OutputTruncated](),
}

// DecodePayload turns the data of a logged event into its payload type. Types that this version does not know come back as json.RawMessage.
func DecodePayload(kind EventType, data []byte) (any, error) {
	if decode, known := decoders[kind]; known {
		return decode(data)
	}
	return json.RawMessage(data), nil
}

// decode returns the decoder of a payload type. Logs are long, and a payload is copied when it leaves, so the memory it is read into serves again.
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

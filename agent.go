package ralph

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ralphloop/ralph/promise"
)

// Agent runs one fresh agent to its end.
//
// Run blocks until the agent and every process that it started are gone. How the agent ended is a value, never an error; an error means that
// the harness itself is in trouble (ErrIO). A cancelled ctx means: kill it now and say what is known.
type Agent interface {
	Run(ctx context.Context, in AgentInput) (AgentOutcome, error)
}

// AgentInput is what one iteration gives to its agent.
type AgentInput struct {
	Iteration   int
	Prompt      string
	Dir         string // the workspace
	Folder      string // where to leave prompt.md and agent.jsonl; "" keeps nothing
	Model       string
	Marker      string // of the run; goes into the environment of every process
	Timeout     time.Duration
	IdleTimeout time.Duration
	Words       promise.Options // which words count; Prompt is left for the adapter to set
	Live        func(Activity)  // never nil; may be called from another goroutine until Run returns

	// For a Submitter, which calls them from one goroutine at a time and waits for the answer. Nobody of it works meanwhile.
	Task   string // to work on, "" for the goal
	Turn   func(ctx context.Context, t Turn) TurnOrder
	Submit func(ctx context.Context, c Case) CaseAnswer
}

// Activity is something small that happened inside an iteration, for live views only. It is not recorded.
type Activity struct {
	Kind   string // "tool", "text", "thought", "plan", "retry", "spent"
	Name   string
	Detail string
	Cost   *float64 // with "spent": of the iteration so far, where known
	Tokens *Tokens
	// Estimated says that Cost was reckoned from tokens and a price table.
	Estimated bool
}

// EndClass says how an agent's iteration ended.
type EndClass string

// The ways an agent's iteration can end.
const (
	EndOK          EndClass = "ok"
	EndFailed      EndClass = "failed"      // non-zero exit or an error result of its own
	EndBroken      EndClass = "broken"      // nothing of what it printed was understood
	EndKilled      EndClass = "killed"      // it died by a signal that was not the harness's
	EndEmpty       EndClass = "empty"       // it ended well and said nothing
	EndTimeout     EndClass = "timeout"     // killed at the iteration's time-out
	EndIdle        EndClass = "idle"        // killed because it went silent
	EndOutOfTime   EndClass = "out_of_time" // killed because the run's time was used up
	EndInterrupted EndClass = "interrupted" // killed because the run was
	EndOverBudget  EndClass = "over_budget" // of an evaluation: not made, or not to its end, because the run's budget is used up
	EndAuth        EndClass = "auth"        // not logged in
	EndMissing     EndClass = "missing"     // the program is not there or not executable
	EndSandbox     EndClass = "sandbox"     // the sandbox did not start
	EndLimit       EndClass = "limit"       // a usage limit
	EndProvider    EndClass = "provider"    // a cut stream, a connection error, an overloaded or failing model
)

// Failed reports whether the end shuts the first gate: non-zero exit, error result, killed, timed out.
func (e EndClass) Failed() bool { return e != EndOK && e != EndEmpty }

// CountsAsIteration reports whether an iteration that ended so is one of the N. Limits, failing models and interrupts are nobody's work.
func CountsAsIteration(end EndClass) bool {
	switch end {
	case EndOK, EndFailed, EndBroken, EndKilled, EndEmpty, EndTimeout, EndIdle, EndOutOfTime:
		return true
	}
	return false
}

// AgentOutcome is what was seen of one agent: how it ended, what it said, what it cost. Unknown figures are nil, never zero.
type AgentOutcome struct {
	Agent         string         `json:"agent"`
	End           EndClass       `json:"end"`
	Error         string         `json:"error,omitempty"` // one sentence, when End is not ok
	Hint          string         `json:"hint,omitempty"`  // what the user can do about it, such as the login command
	ExitCode      int            `json:"exit_code"`
	Duration      Span           `json:"duration"`
	Steps         *int           `json:"steps,omitempty"`
	Cost          *float64       `json:"cost,omitempty"`
	CostEstimated bool           `json:"cost_estimated,omitempty"`
	CostPartial   bool           `json:"cost_partial,omitempty"` // more was spent than Cost says
	Tokens        *Tokens        `json:"tokens,omitempty"`
	TokensPartial bool           `json:"tokens_partial,omitempty"` // more than Tokens says
	Tools         map[string]int `json:"tools,omitempty"`          // calls by tool name
	Denials       []string       `json:"denials,omitempty"`
	Allow         []string       `json:"allow,omitempty"` // what would allow what was denied, as a user writes it
	Model         string         `json:"model,omitempty"` // that worked, as far as is known
	Session       string         `json:"session,omitempty"`
	RetryAfter    Span           `json:"retry_after,omitempty"` // with EndLimit: until the reset, where known
	OutputBytes   int64          `json:"output_bytes"`
	Truncated     bool           `json:"truncated,omitempty"`
	Survivors     int            `json:"survivors,omitempty"` // processes that outlived the agent and were killed
	SurvivorNames []string       `json:"survivor_names,omitempty"`
	Said          promise.Report `json:"said"`
	TaskEnd       StopReason     `json:"task_end,omitempty"`    // of a Submitter: why it gave the task up
	AnswersCut    bool           `json:"answers_cut,omitempty"` // with NoCase: its last answers were not quiet, but cut at the model's length limit
	// Hooks are those about single calls that warned, as far as no Turn told of them. They are recorded as events of their own.
	Hooks []HookRun `json:"-"`
	// Answer is the agent's last message, or the end of a long one. It is kept only of an agent that may only read, and never recorded.
	Answer string `json:"-"`
}

// HintSettings is the hint of an agent whose very first request was refused as it is: with the same settings it would be refused again.
const HintSettings = "change the setting that is refused, such as the model's name or the address where it is asked"

// ErrorClass is the end of an agent in the one word that decides what can be done about it.
type ErrorClass string

// The classes.
const (
	ClassOK         ErrorClass = "ok"
	ClassAuth       ErrorClass = "auth"       // log in
	ClassLimit      ErrorClass = "limit"      // wait for the reset
	ClassOverloaded ErrorClass = "overloaded" // try again: a failing model, a cut stream, no connection
	ClassPermission ErrorClass = "permission" // allow what was denied
	ClassBroken     ErrorClass = "broken"     // the agent itself failed; its error says why
	ClassKilled     ErrorClass = "killed"     // it did not end by itself
)

// Class sums up how the agent ended. A denial that it lived with is none.
func (o AgentOutcome) Class() ErrorClass {
	switch o.End {
	case EndOK:
		return ClassOK
	case EndAuth:
		return ClassAuth
	case EndLimit:
		return ClassLimit
	case EndProvider:
		return ClassOverloaded
	case EndKilled, EndTimeout, EndIdle, EndOutOfTime, EndInterrupted:
		return ClassKilled
	}
	if len(o.Denials) > 0 {
		return ClassPermission
	}
	return ClassBroken
}

// AgentFunc makes an agent of a function: it gets the prompt and returns what the agent says. An error is a failed iteration.
func AgentFunc(run func(ctx context.Context, prompt string) (string, error)) Agent {
	return agentFunc(run)
}

type agentFunc func(ctx context.Context, prompt string) (string, error)

func (f agentFunc) Run(ctx context.Context, in AgentInput) (AgentOutcome, error) {
	if in.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, in.Timeout)
		defer cancel()
	}
	begun := time.Now()
	text, err := f(ctx, in.Prompt)
	outcome := AgentOutcome{
		End: EndOK, Duration: Span(time.Since(begun)), OutputBytes: int64(len(text)), Said: promise.Parse(text, in.Words),
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		outcome.End, outcome.Error = EndTimeout, fmt.Sprintf("timed out after %s", Span(in.Timeout).Short())
	case err != nil:
		outcome.End, outcome.Error = EndFailed, err.Error()
	case !outcome.Said.Text:
		outcome.End, outcome.Error = EndEmpty, "the agent said nothing"
	}
	return outcome, nil
}

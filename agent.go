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
// Run blocks until the agent and every process that it started are gone. How the agent ended is a
// value, never an error. An error means that the harness itself failed (ErrIO). If ctx is canceled,
// Run kills the agent and returns what is known so far.
type Agent interface {
	Run(ctx context.Context, in AgentInput) (AgentOutcome, error)
}

// AgentInput is what one iteration gives to its agent.
type AgentInput struct {
	Iteration   int
	Prompt      string
	Dir         string // the workspace
	Folder      string // for prompt.md and agent.jsonl; "" keeps neither
	Model       string
	Marker      string // identifies the run's processes; set in the environment of each
	Timeout     time.Duration
	IdleTimeout time.Duration
	Budget      Budget
	Words       promise.Options // the words that count as claims; the adapter sets Prompt
	KeepAnswer  bool            // fill AgentOutcome.Answer
	Verifiers   Verifiers       // the calls that AgentOutcome.Evidence has
	Live        func(Activity)  // never nil; may be called from another goroutine until Run returns

	// ToolEnv are the variables by which the agent's tools reach the loop; nil if it has none.
	ToolEnv []string

	// Task, Turn and Submit are for a Submitter. It calls Turn and Submit from one goroutine at a time,
	// and all of its work pauses until the call returns.
	Task   string // the task to work on; "" for the goal
	Turn   func(ctx context.Context, t Turn) TurnOrder
	Submit func(ctx context.Context, c Case) CaseAnswer
}

// Activity is a small event inside an iteration. It is for live views and is not recorded.
type Activity struct {
	Kind   string // "tool", "text", "thought", "plan", "retry", "spent"
	Name   string
	Detail string
	Cost   *float64 // with "spent": the iteration's cost so far, if known
	Tokens *Tokens
	// Estimated reports that Cost was estimated from tokens and a price table.
	Estimated bool
}

// EndClass says how an agent's iteration ended.
type EndClass string

// The ways an agent's iteration can end.
const (
	EndOK          EndClass = "ok"
	EndFailed      EndClass = "failed"      // non-zero exit, or the agent reported an error
	EndBroken      EndClass = "broken"      // none of its output could be parsed
	EndKilled      EndClass = "killed"      // killed by a signal that the harness did not send
	EndEmpty       EndClass = "empty"       // ended normally without saying anything
	EndTimeout     EndClass = "timeout"     // killed at the iteration's timeout
	EndIdle        EndClass = "idle"        // killed because it went silent
	EndCut         EndClass = "cut"         // a limit on this iteration, or on what the run may spend, ended it
	EndOutOfTime   EndClass = "out_of_time" // killed because the run's time ran out
	EndInterrupted EndClass = "interrupted" // killed because the run was interrupted
	EndOverBudget  EndClass = "over_budget" // evaluations only: skipped or cut because the run's budget ran out
	EndAuth        EndClass = "auth"        // not logged in
	EndMissing     EndClass = "missing"     // the program does not exist or is not executable
	EndSandbox     EndClass = "sandbox"     // the sandbox did not start
	EndModel       EndClass = "model"       // the model's server does not know the model
	EndLimit       EndClass = "limit"       // a usage limit
	EndProvider    EndClass = "provider"    // a cut stream, a connection error, an overloaded or failing model
)

// Failed reports whether this end makes the first gate refuse a claim. It is true for every end
// except EndOK, EndEmpty and EndCut.
func (e EndClass) Failed() bool { return e != EndOK && e != EndEmpty && e != EndCut }

// CountsAsIteration reports whether an iteration that ended this way counts against MaxIterations.
// Usage limits, failing models and interrupts do not count, because they are not the agent's doing.
func CountsAsIteration(end EndClass) bool {
	switch end {
	case EndOK, EndFailed, EndBroken, EndKilled, EndEmpty, EndTimeout, EndIdle, EndCut, EndOutOfTime:
		return true
	}
	return false
}

// AgentOutcome describes one agent's iteration: how it ended, what it said, what it cost. Unknown
// figures are nil, never zero.
type AgentOutcome struct {
	Agent         string         `json:"agent"`
	End           EndClass       `json:"end"`
	Error         string         `json:"error,omitempty"` // one sentence, if End is not ok
	Hint          string         `json:"hint,omitempty"`  // what the user can do about it, such as the login command
	ExitCode      int            `json:"exit_code"`
	Duration      Span           `json:"duration"`
	Steps         *int           `json:"steps,omitempty"`
	Cost          *float64       `json:"cost,omitempty"`
	CostEstimated bool           `json:"cost_estimated,omitempty"`
	CostPartial   bool           `json:"cost_partial,omitempty"` // more was spent than Cost says
	Tokens        *Tokens        `json:"tokens,omitempty"`
	TokensPartial bool           `json:"tokens_partial,omitempty"` // more were used than Tokens says
	Tools         map[string]int `json:"tools,omitempty"`          // calls by tool name
	Denials       []string       `json:"denials,omitempty"`
	Allow         []string       `json:"allow,omitempty"` // what would allow the denied calls, as a user writes it
	Model         string         `json:"model,omitempty"` // the model that answered, if known
	Session       string         `json:"session,omitempty"`
	RetryAfter    Span           `json:"retry_after,omitempty"` // with EndLimit: time until the reset, if known
	Windows       []UsageWindow  `json:"windows,omitempty"`     // of the subscription, as last reported
	OutputBytes   int64          `json:"output_bytes"`
	Truncated     bool           `json:"truncated,omitempty"`
	Survivors     int            `json:"survivors,omitempty"` // processes that outlived the agent and were killed
	SurvivorNames []string       `json:"survivor_names,omitempty"`
	Said          promise.Report `json:"said"`
	Case          *CaseSubmitted `json:"case,omitempty"`     // the last case of an agent that is no Submitter
	TaskEnd       StopReason     `json:"task_end,omitempty"` // why a Submitter gave up the task
	// AnswersCut reports, with NoCase, that the model's last answers were cut at its length limit. The
	// agent was not silent.
	AnswersCut bool `json:"answers_cut,omitempty"`
	// CaseProblem says what was wrong with the last case that was malformed and therefore not judged.
	CaseProblem string `json:"case_problem,omitempty"`
	// Hooks lists the hooks on single calls that warned and that no Turn reported. They are recorded
	// as separate events.
	Hooks []HookRun `json:"-"`
	// Answer is the agent's last message, or the end of a long one. It is kept only for a read-only agent, and
	// if AgentInput asks for it. The loop records it as promise.Answer returns it.
	Answer string `json:"answer,omitempty"`
	// Evidence has the newest call of each of the input's Verifiers.
	Evidence []ToolEvidence `json:"evidence,omitempty"`
}

// HintSettings is the hint for an agent whose first request was refused outright. The same settings
// would be refused again.
const HintSettings = "change the refused setting, such as the model's name or the base URL"

// ErrorClass sums up how an agent ended in one word that tells the user what to do about it.
type ErrorClass string

// The classes.
const (
	ClassOK         ErrorClass = "ok"
	ClassAuth       ErrorClass = "auth"       // log in
	ClassLimit      ErrorClass = "limit"      // wait for the reset
	ClassOverloaded ErrorClass = "overloaded" // try again: a failing model, a cut stream, no connection
	ClassPermission ErrorClass = "permission" // allow what was denied
	ClassBroken     ErrorClass = "broken"     // the agent itself failed; its error says why
	ClassKilled     ErrorClass = "killed"     // something killed it
	ClassCut        ErrorClass = "cut"        // it reached a limit on its iteration; raise that, or let the next continue
)

// Class returns the class of the agent's end. Denials count only if the agent failed: an agent that
// worked around them ended OK.
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
	case EndCut:
		return ClassCut
	}
	if len(o.Denials) > 0 {
		return ClassPermission
	}
	return ClassBroken
}

// AgentFunc turns a function into an Agent. The function gets the prompt and returns the agent's
// answer. If it returns an error, the iteration failed.
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
		End:         EndOK,
		Duration:    Span(time.Since(begun)),
		OutputBytes: int64(len(text)),
		Said:        promise.Parse(text, in.Words),
	}
	if in.KeepAnswer {
		outcome.Answer = text
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

package ralph

import (
	"time"
)

// Policy is every rule that Decide follows and every limit that the loop keeps. It is recorded when a run starts, so that the run's
// decisions can be repeated from its log. A zero limit means no limit.
type Policy struct {
	MaxIterations int     `json:"max_iterations"`
	MaxTime       Span    `json:"max_time"`
	MaxCost       float64 `json:"max_cost"`
	MaxTokens     int64   `json:"max_tokens"`

	Claim           ClaimRule  `json:"claim"`
	Status          StatusRule `json:"status"`
	StatusMin       int        `json:"status_min"`
	Tamper          TamperRule `json:"tamper"`
	Unfinished      WordRule   `json:"unfinished"`
	TestChange      TestRule   `json:"test_change,omitempty"`
	AllowUnverified bool       `json:"allow_unverified"`

	MaxFailures int       `json:"max_failures"` // of the agent, in a row
	MaxBroken   int       `json:"max_broken"`   // iterations in a row with a check that cannot run
	ChecksWhen  CheckTime `json:"checks_when"`
	Baseline    bool      `json:"baseline"`

	Retries  int      `json:"retries,omitempty"` // of a red check that was green on the same tree
	Canary   bool     `json:"canary,omitempty"`  // green checks are proven able to fail before exit 0
	Protects []string `json:"protects,omitempty"`

	Evaluator     string `json:"evaluator,omitempty"`      // who gives the second opinion; "" for nobody
	MaxRejections int    `json:"max_rejections,omitempty"` // of one task, 0 for no limit

	Breaker BreakerPolicy `json:"breaker"`

	TaskTries     int      `json:"task_tries,omitempty"` // iterations that one task may take
	OnTaskFailure TaskRule `json:"on_task_failure,omitempty"`
	TaskRetries   int      `json:"task_retries,omitempty"` // with TaskRetry: further rounds of TaskTries

	OnDecide     DecideRule `json:"on_decide,omitempty"`
	OnLimit      LimitRule  `json:"on_limit"`
	MaxWait      Span       `json:"max_wait"`
	CallsPerHour int        `json:"calls_per_hour"`

	IterationDelay   Span `json:"iteration_delay"`
	IterationTimeout Span `json:"iteration_timeout"`
	IdleTimeout      Span `json:"idle_timeout"`
	CheckTimeout     Span `json:"check_timeout"`

	// Agents names those of a run that has more than one, in the order in which they are to work.
	Agents []string `json:"agents,omitempty"`

	CompletionTags []string `json:"completion_tags"`
	StatusPhrases  []string `json:"status_phrases,omitempty"` // empty: the built-in phrases
}

// BreakerPolicy holds the thresholds of the breaker, in iterations in a row. Zero switches a row off.
type BreakerPolicy struct {
	NoProgress        int  `json:"no_progress"`
	SameError         int  `json:"same_error"`
	PermissionDenials int  `json:"permission_denials"`
	OutputDecline     int  `json:"output_decline"` // per cent over three iterations, together with no progress
	Diagnose          bool `json:"diagnose"`
	Cooldown          Span `json:"cooldown"`
}

// ClaimRule says whether green checks complete a run without a claim.
type ClaimRule string

// StatusRule says what the status block is worth.
type StatusRule string

// TamperRule says what a change to a protected file does.
type TamperRule string

// WordRule says what a line that looks unfinished does.
type WordRule string

// TestRule says what it does that tests of the base fail where changed ones pass. Empty is to warn.
type TestRule string

// CheckTime says when checks are run.
type CheckTime string

// LimitRule says what a usage limit does.
type LimitRule string

// DecideRule says what a question of the agent's does. Empty is to stop.
type DecideRule string

// TaskRule says what happens when a task has used up its tries. Empty is to halt.
type TaskRule string

// CommitRule says when the harness commits.
type CommitRule string

// The values of the rules.
const (
	ClaimRequired ClaimRule = "required"
	ClaimOptional ClaimRule = "optional"

	StatusOff      StatusRule = "off"
	StatusAdvisory StatusRule = "advisory"
	StatusRequired StatusRule = "required"

	TamperRefuse TamperRule = "refuse"
	TamperStop   TamperRule = "stop"

	UnfinishedOff    WordRule = "off"
	UnfinishedWarn   WordRule = "warn"
	UnfinishedRefuse WordRule = "refuse"

	TestsWarn     TestRule = "warn"
	TestsEvaluate TestRule = "evaluate"
	TestsRefuse   TestRule = "refuse"

	ChecksAlways  CheckTime = "always"
	ChecksOnClaim CheckTime = "claim"

	LimitWait LimitRule = "wait"
	LimitStop LimitRule = "stop"

	DecideStop DecideRule = "stop"
	DecideWait DecideRule = "wait"

	TaskHalt  TaskRule = "halt"
	TaskSkip  TaskRule = "skip"
	TaskRetry TaskRule = "retry"

	CommitOff       CommitRule = "off"
	CommitTask      CommitRule = "task"
	CommitIteration CommitRule = "iteration"
)

// DefaultPolicy is the policy of the profile "default".
func DefaultPolicy() Policy {
	return Policy{
		MaxIterations:    10,
		Claim:            ClaimRequired,
		Status:           StatusAdvisory,
		StatusMin:        2,
		Tamper:           TamperRefuse,
		Unfinished:       UnfinishedWarn,
		MaxFailures:      3,
		MaxBroken:        2,
		ChecksWhen:       ChecksAlways,
		Baseline:         true,
		TestChange:       TestsWarn,
		Retries:          2,
		Canary:           true,
		Breaker:          BreakerPolicy{NoProgress: 3, SameError: 5, PermissionDenials: 2, OutputDecline: 70, Diagnose: true},
		OnTaskFailure:    TaskHalt,
		OnDecide:         DecideStop,
		OnLimit:          LimitWait,
		MaxWait:          Span(6 * time.Hour),
		IterationTimeout: Span(2 * time.Hour),
		IdleTimeout:      Span(30 * time.Minute),
		CheckTimeout:     Span(120 * time.Second),
		CompletionTags:   []string{"COMPLETE", "DONE"},
	}
}

package ralph

import (
	"time"
)

// Policy holds every rule of judge.Decide and every limit of the loop. It is recorded when a run
// starts, so that its decisions can be replayed from the log. A limit of zero means no limit.
type Policy struct {
	MaxIterations int     `json:"max_iterations"`
	MaxTime       Span    `json:"max_time"`
	MaxCost       float64 `json:"max_cost"`
	MaxTokens     int64   `json:"max_tokens"`

	Claim      ClaimRule  `json:"claim"`
	Status     StatusRule `json:"status"`
	StatusMin  int        `json:"status_min"`
	Tamper     TamperRule `json:"tamper"`
	Unfinished WordRule   `json:"unfinished"`
	// Committed says what happens to a claim with uncommitted changes. Default: CommittedOff.
	Committed CommittedRule `json:"committed,omitempty"`
	// VerifierTools names tools without a command. A claim needs a passing call of one of them by the agent.
	VerifierTools   []string  `json:"verifier_tools,omitempty"`
	TestChange      TestRule  `json:"test_change,omitempty"`
	Shown           ShownRule `json:"shown,omitempty"` // logs of earlier versions have none: ShownOff
	Proof           ProofRule `json:"proof,omitempty"`
	AllowUnverified bool      `json:"allow_unverified"`

	MaxFailures int       `json:"max_failures"`     // of the agent, in a row
	Outage      Span      `json:"outage,omitempty"` // how long the model may fail; 0 counts its failures instead
	MaxBroken   int       `json:"max_broken"`       // iterations in a row with a check that cannot run
	ChecksWhen  CheckTime `json:"checks_when"`
	Baseline    bool      `json:"baseline"`

	Retries  int      `json:"retries,omitempty"`  // of a failing check that passed on the same tree
	Canary   bool     `json:"canary,omitempty"`   // before exit 0, prove that passing checks can fail
	Parallel int      `json:"parallel,omitempty"` // how many checks are proven side by side; 0 means 1
	Protects []string `json:"protects,omitempty"`

	Evaluator     string `json:"evaluator,omitempty"`      // the agent that gives the second opinion; "" for none
	MaxRejections int    `json:"max_rejections,omitempty"` // of one task, 0 for no limit

	Breaker BreakerPolicy `json:"breaker"`

	// Rules is the version of the rules that judge the run, so that logs of older versions, which have 0, replay as they
	// were judged. Since 1, only better evidence closes a tripped breaker, and a check that cannot run did not fail.
	Rules int `json:"rules,omitempty"`

	TaskTries     int      `json:"task_tries,omitempty"` // iterations that one task may take
	OnTaskFailure TaskRule `json:"on_task_failure,omitempty"`
	TaskRetries   int      `json:"task_retries,omitempty"` // with TaskRetry: further rounds of TaskTries

	OnDecide     DecideRule `json:"on_decide,omitempty"`
	OnLimit      LimitRule  `json:"on_limit"`
	MaxWait      Span       `json:"max_wait"`
	CallsPerHour int        `json:"calls_per_hour"`

	IterationDelay   Span    `json:"iteration_delay"`
	IterationTimeout Span    `json:"iteration_timeout"`
	IterationCost    float64 `json:"iteration_cost,omitempty"`  // in US dollars; 0 for no limit
	IterationTurns   int     `json:"iteration_turns,omitempty"` // of the model; 0 for no limit
	IdleTimeout      Span    `json:"idle_timeout"`
	CheckTimeout     Span    `json:"check_timeout"`

	// Agents names the agents of a run that has more than one, in order of preference.
	Agents []string `json:"agents,omitempty"`
	// Escalation names the agent that takes over work that others failed at; nil for none.
	Escalation *Escalation `json:"escalation,omitempty"`
	Reserves   []Reserve   `json:"reserves,omitempty"` // of the agents' subscriptions

	// KeepAnswer keeps the agent's last message: it is in the result, and checks find it in a file.
	KeepAnswer bool `json:"keep_answer,omitempty"`

	CompletionTags []string `json:"completion_tags"`
	StatusPhrases  []string `json:"status_phrases,omitempty"` // empty: the default phrases
}

// Escalation hands a task, or the goal, to a stronger agent, which keeps it until it is done.
type Escalation struct {
	Agent int `json:"agent"` // index in Policy.Agents; this one works on nothing else
	After int `json:"after"` // refused claims; a tripped breaker is always a reason
}

// BreakerPolicy holds the thresholds of the breaker, in consecutive iterations. Zero disables a threshold.
type BreakerPolicy struct {
	NoProgress        int  `json:"no_progress"`
	SameError         int  `json:"same_error"`
	PermissionDenials int  `json:"permission_denials"`
	OutputDecline     int  `json:"output_decline"` // percent over three iterations, if there was no progress either
	Diagnose          bool `json:"diagnose"`
	Cooldown          Span `json:"cooldown"`
	// Blocks ends the run as blocked when the breaker trips: a person is needed.
	Blocks bool `json:"blocks,omitempty"`
}

// ClaimRule sets whether a run needs a claim, or completes as soon as its checks pass.
type ClaimRule string

// StatusRule sets whether the status block is ignored, advisory or required.
type StatusRule string

// TamperRule sets what happens if an agent changes a protected file.
type TamperRule string

// WordRule sets what happens if an added line looks unfinished.
type WordRule string

// CommittedRule sets what happens if an agent claims completion with changes that are not committed.
type CommittedRule string

// TestRule sets what happens if changed tests pass where the base's tests fail. Default: TestsWarn.
type TestRule string

// ShownRule sets what happens to a claim if nothing shows that the work was done. Default: ShownOff.
type ShownRule string

// ProofRule sets what a claim must prove. Default: ProofShown.
type ProofRule string

// CheckTime sets when checks run.
type CheckTime string

// LimitRule sets what happens at a usage limit.
type LimitRule string

// DecideRule sets what happens if the agent asks a question. Default: DecideStop.
type DecideRule string

// TaskRule sets what happens if a task has used up its tries. Default: TaskHalt.
type TaskRule string

// CommitRule sets when the harness commits.
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

	CommittedOff     CommittedRule = "off"
	CommittedWarn    CommittedRule = "warn"
	CommittedRequire CommittedRule = "require"

	TestsWarn     TestRule = "warn"
	TestsAsk      TestRule = "ask"
	TestsEvaluate TestRule = "evaluate"
	TestsRefuse   TestRule = "refuse"

	ShownOff    ShownRule = "off"
	ShownWarn   ShownRule = "warn"
	ShownAsk    ShownRule = "ask"
	ShownRefuse ShownRule = "refuse"

	ProofShown    ProofRule = "shown"
	ProofUnbroken ProofRule = "unbroken" // checks that pass before and after are enough
	// ProofQuick is ProofShown with fewer runs: the environment is not compared, and no literals are changed.
	ProofQuick ProofRule = "quick"

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

// CurrentRules is the newest version of the rules.
const CurrentRules = 2

// DefaultPolicy returns the policy of the profile "default".
func DefaultPolicy() Policy {
	return Policy{
		MaxIterations: 10,
		Rules:         CurrentRules,
		Claim:         ClaimRequired,
		Status:        StatusAdvisory,
		StatusMin:     2,
		Tamper:        TamperRefuse,
		Unfinished:    UnfinishedWarn,
		MaxFailures:   3,
		Outage:        Span(time.Hour),
		MaxBroken:     2,
		ChecksWhen:    ChecksAlways,
		Baseline:      true,
		TestChange:    TestsAsk,
		Shown:         ShownAsk,
		Proof:         ProofShown,
		Retries:       2,
		Parallel:      1,
		Canary:        true,
		Breaker: BreakerPolicy{
			NoProgress:        3,
			SameError:         5,
			PermissionDenials: 2,
			OutputDecline:     70,
			Diagnose:          true,
		},
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

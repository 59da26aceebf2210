package config

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph"
)

// Settings is the resolved configuration of one run. It is recorded in the run's log, and `ralph
// resume` reads it back, so that a resumed run follows the rules that it began with. A zero limit
// means no limit.
type Settings struct {
	MaxIterations    int        `json:"max_iterations"`
	MaxTime          ralph.Span `json:"max_time"`
	MaxCost          float64    `json:"max_cost"`
	MaxTokens        int64      `json:"max_tokens"`
	IterationTimeout ralph.Span `json:"iteration_timeout"`
	IterationCost    float64    `json:"iteration_cost"`
	IterationTurns   int        `json:"iteration_turns"`
	IdleTimeout      ralph.Span `json:"idle_timeout"`
	IterationDelay   ralph.Span `json:"iteration_delay"`
	CompletionTag    []string   `json:"completion_tag"`
	Profile          string     `json:"profile"`
	Spec             string     `json:"spec,omitempty"`
	AllowUnverified  bool       `json:"allow_unverified"`
	AllowUnmetered   bool       `json:"allow_unmetered"`
	Prices           []string   `json:"prices,omitempty"` // as ParsePrice reads them
	ExitMap          string     `json:"exit_map"`
	OnDecide         string     `json:"on_decide"`
	OnLimit          string     `json:"on_limit"`
	MaxWait          ralph.Span `json:"max_wait"`
	KeepAwake        string     `json:"keep_awake"`         // "" in the record of an older run
	Worktree         string     `json:"worktree,omitempty"` // a name, or "true" for the run's id
	Commit           string     `json:"commit,omitempty"`
	CommitMessage    string     `json:"commit_message,omitempty"`
	IncludeDirty     bool       `json:"include_dirty,omitempty"`
	Yolo             bool       `json:"yolo"`
	Protect          []string   `json:"protect,omitempty"`
	Trust            bool       `json:"-" key:"trust"` // consent is for one command line, not for the run

	Agent     AgentSettings     `json:"agent"`
	Checks    CheckSettings     `json:"checks"`
	Gate      GateSettings      `json:"gate"`
	Tests     TestSettings      `json:"tests,omitzero"`
	Tasks     TaskSettings      `json:"tasks"`
	Breaker   BreakerSettings   `json:"breaker"`
	Limits    LimitSettings     `json:"limits"`
	Notify    NotifySettings    `json:"notify"`
	Secrets   SecretSettings    `json:"secrets,omitzero"`
	Hooks     HookSettings      `json:"hooks,omitzero"`
	Prompt    PromptSettings    `json:"prompt"`
	Sandbox   SandboxSettings   `json:"sandbox"`
	Evaluator EvaluatorSettings `json:"evaluator,omitzero"`
	Worker    WorkerSettings    `json:"worker,omitzero"`
	Planner   RoleSettings      `json:"planner,omitzero"`
}

// RoleSettings says which model plays a role. An empty field defaults to the worker's, and the
// worker's defaults to the environment.
type RoleSettings struct {
	Provider  string `json:"provider,omitempty"`
	Model     string `json:"model,omitempty"`
	BaseURL   string `json:"base_url,omitempty"`    // for scripted, the file
	APIKeyEnv string `json:"api_key_env,omitempty"` // the name of a variable
}

// WorkerSettings configures the built-in worker.
type WorkerSettings struct {
	RoleSettings
	MaxTurnsPerTask int        `json:"max_turns_per_task,omitempty"`
	CommandTimeout  ralph.Span `json:"command_timeout,omitempty"` // the longest that the model may choose
	Strict          bool       `json:"strict,omitempty"`
}

// AgentSettings says which agent does the work and how it is started.
type AgentSettings struct {
	// Name is one of AgentCLIs, or "" for the first CLI found. It is "command" or "acp" if and only if
	// Command is set.
	Name            string     `json:"name"`
	Command         string     `json:"command,omitempty"` // a shell command that is the agent
	Model           string     `json:"model,omitempty"`
	Args            []string   `json:"args,omitempty"` // added to the agent CLI's own command line
	Env             []string   `json:"env,omitempty"`  // variables that the agent gets, NAME or PREFIX_*
	InheritSettings bool       `json:"inherit_settings"`
	Permissions     string     `json:"permissions"`
	MCP             string     `json:"mcp"` // "" in the record of an older run
	MaxFailures     int        `json:"max_failures"`
	Outage          ralph.Span `json:"outage"`
	Fallback        []string   `json:"fallback,omitempty"` // NAME or NAME:MODEL
	Escalate        string     `json:"escalate,omitempty"` // NAME or NAME:MODEL
	EscalateAfter   int        `json:"escalate_after,omitempty"`
	Reserve         string     `json:"reserve,omitempty"` // WINDOW=PERCENT,…
}

// CheckSettings says which commands prove the work, and when they run.
type CheckSettings struct {
	Commands  []string   `json:"commands,omitempty"`
	Timeout   ralph.Span `json:"timeout"`
	When      string     `json:"when"`
	Baseline  bool       `json:"baseline"`
	MaxBroken int        `json:"max_broken"`
	TaskTests string     `json:"task_tests,omitempty"` // a pattern with {id} in it
	Isolation string     `json:"isolation,omitempty"`
	Network   string     `json:"network,omitempty"`
	Hidden    []string   `json:"hidden,omitempty"`
	HiddenDir string     `json:"hidden_dir,omitempty"`
	Retries   int        `json:"retries,omitempty"`
	Canary    string     `json:"canary,omitempty"` // auto, off, or a command
	Parallel  int        `json:"parallel,omitempty"`
	Setup     string     `json:"setup,omitempty"` // a command
	Reuse     string     `json:"reuse,omitempty"` // on, off; "" means on
}

// EvaluatorSettings says which agent or model reviews claims.
type EvaluatorSettings struct {
	Agent   string `json:"agent,omitempty"`   // NAME, NAME:MODEL, or a model
	Command string `json:"command,omitempty"` // a shell command instead
	RoleSettings
	MaxCallsPerTask int `json:"max_calls_per_task,omitempty"`
}

// Enabled reports whether the run has an evaluator.
func (e EvaluatorSettings) Enabled() bool { return e.Agent != "" || e.Command != "" }

// testChange returns the rule for changed tests: the configured one, or a default that depends on
// the evaluator, on protected tests, and on whether a person is asked.
func (s Settings) testChange() ralph.TestRule {
	switch {
	case s.Gate.TestChange != "":
		return ralph.TestRule(s.Gate.TestChange)
	case s.Evaluator.Enabled():
		return ralph.TestsEvaluate
	case s.Gate.Shown == string(ralph.ShownRefuse):
		return ralph.TestsRefuse
	case s.Gate.Shown == string(ralph.ShownAsk):
		return ralph.TestsAsk
	}
	return ralph.TestsWarn // as in the profiles whose documents ask nobody
}

// TestSettings says who writes acceptance tests before any work.
type TestSettings struct {
	By      string `json:"by,omitempty"`      // NAME or NAME:MODEL
	Command string `json:"command,omitempty"` // a shell command instead
	Hidden  bool   `json:"hidden,omitempty"`
}

// Enabled reports whether the run begins with tests.
func (t TestSettings) Enabled() bool { return t.By != "" || t.Command != "" }

// TaskSettings says which list the run works through and what to do with a task that fails.
type TaskSettings struct {
	File      string `json:"file,omitempty"`
	MaxTries  int    `json:"max_tries,omitempty"`
	OnFailure string `json:"on_failure,omitempty"` // halt, skip or retry:N
	Plan      string `json:"plan,omitempty"`
}

// failureRule parses OnFailure, whose form was checked when it was read.
func (t TaskSettings) failureRule() (ralph.TaskRule, int) {
	if n, ok := strings.CutPrefix(t.OnFailure, "retry:"); ok {
		times, _ := strconv.Atoi(n)
		return ralph.TaskRetry, times
	}
	return ralph.TaskRule(t.OnFailure), 0
}

// CommitRule returns when Ralph commits. The default is after every iteration in a worktree, and
// never outside of one.
func (s Settings) CommitRule() ralph.CommitRule {
	if s.Commit == "" && s.Worktree != "" {
		return ralph.CommitIteration
	}
	return ralph.CommitRule(cmp.Or(s.Commit, string(ralph.CommitOff)))
}

// Committer returns who commits, for the prompt: "harness", "agent", or "" for neither.
func (s Settings) Committer() string {
	switch {
	case s.CommitRule() != ralph.CommitOff:
		return "harness"
	case s.Profile == "promise":
		return "agent"
	}
	return ""
}

// committedRule returns the rule for uncommitted changes. What Ralph itself commits, it commits only
// after the claim is proven.
func (s Settings) committedRule() ralph.CommittedRule {
	if s.CommitRule() != ralph.CommitOff || s.Gate.Committed == string(ralph.CommittedOff) {
		return ""
	}
	return ralph.CommittedRule(s.Gate.Committed)
}

// GateSettings says what a claim has to pass before exit 0.
type GateSettings struct {
	Claim         string   `json:"claim"`
	Status        string   `json:"status"`
	StatusMin     int      `json:"status_min"`
	StatusPhrases []string `json:"status_phrases,omitempty"` // empty: the built-in ones
	Unfinished    string   `json:"unfinished"`
	Committed     string   `json:"committed,omitempty"`
	Tamper        string   `json:"tamper,omitempty"`
	TestChange    string   `json:"test_change,omitempty"`
	Shown         string   `json:"shown,omitempty"` // runs of earlier versions have none: off
	Proof         string   `json:"proof,omitempty"`
	VerifierTools []string `json:"verifier_tools,omitempty"`
}

// BreakerSettings says when to stop a run that makes no progress.
type BreakerSettings struct {
	NoProgress        int        `json:"no_progress"`
	SameError         int        `json:"same_error"`
	PermissionDenials int        `json:"permission_denials"`
	OutputDecline     int        `json:"output_decline"`
	Diagnose          bool       `json:"diagnose"`
	Cooldown          ralph.Span `json:"cooldown"`
}

// LimitSettings holds limits that make a run wait instead of stop.
type LimitSettings struct {
	CallsPerHour int `json:"calls_per_hour"`
}

// NotifySettings has the command that runs when a person is needed.
type NotifySettings struct {
	Command string `json:"command,omitempty"`
}

// HookSettings are the commands that run at certain points of a run.
type HookSettings struct {
	PreTool       []string   `json:"pre_tool,omitempty"`
	PostEdit      []string   `json:"post_edit,omitempty"`
	PreIteration  []string   `json:"pre_iteration,omitempty"`
	PostIteration []string   `json:"post_iteration,omitempty"`
	OnStop        []string   `json:"on_stop,omitempty"`
	Timeout       ralph.Span `json:"timeout,omitempty"`
}

// Commands returns the commands of all hooks.
func (h HookSettings) Commands() []string {
	return slices.Concat(h.PreTool, h.PostEdit, h.PreIteration, h.PostIteration, h.OnStop)
}

// Lines returns the commands of all hooks, each with the name of its hook in front.
func (h HookSettings) Lines() []string {
	var lines []string
	add := func(hook string, commands []string) {
		for _, command := range commands {
			lines = append(lines, hook+": "+command)
		}
	}
	add("pre_tool", h.PreTool)
	add("post_edit", h.PostEdit)
	add("pre_iteration", h.PreIteration)
	add("post_iteration", h.PostIteration)
	add("on_stop", h.OnStop)
	return lines
}

// PromptSettings names the prompt file.
type PromptSettings struct {
	File string `json:"file,omitempty"`
}

// SandboxSettings says how the agent is sandboxed.
type SandboxSettings struct {
	Mode    string   `json:"mode"`
	Network string   `json:"network,omitempty"`
	Checks  string   `json:"checks,omitempty"`
	Read    []string `json:"read,omitempty"`
	Write   []string `json:"write,omitempty"`
	Image   string   `json:"image,omitempty"`

	Memory    string `json:"memory,omitempty"`
	Processes int    `json:"processes,omitempty"`
	FileSize  string `json:"file_size,omitempty"`
}

// keepsAnswer reports whether the agent's last message matters: for the profile, or for a check.
func (s Settings) keepsAnswer() bool {
	return s.Profile == profileGoal || slices.ContainsFunc(slices.Concat(s.Checks.Commands, s.Checks.Hidden),
		func(command string) bool { return strings.Contains(command, answerVariable) })
}

// answerVariable names the file with the agent's answer, for checks.
const answerVariable = "RALPH_ANSWER_FILE"

// Policy returns the part of the settings that the loop itself follows.
func (s Settings) Policy() ralph.Policy {
	onFailure, retries := s.Tasks.failureRule()
	return ralph.Policy{
		MaxIterations: s.MaxIterations,
		MaxTime:       s.MaxTime,
		MaxCost:       s.MaxCost,
		MaxTokens:     s.MaxTokens,

		Claim:           ralph.ClaimRule(s.Gate.Claim),
		Status:          ralph.StatusRule(s.Gate.Status),
		StatusMin:       s.Gate.StatusMin,
		Tamper:          cmp.Or(ralph.TamperRule(s.Gate.Tamper), ralph.TamperRefuse),
		TestChange:      s.testChange(),
		Shown:           ralph.ShownRule(s.Gate.Shown),
		Proof:           ralph.ProofRule(s.Gate.Proof),
		Unfinished:      ralph.WordRule(s.Gate.Unfinished),
		VerifierTools:   s.Gate.VerifierTools,
		Committed:       s.committedRule(),
		AllowUnverified: s.AllowUnverified,

		MaxFailures:   s.Agent.MaxFailures,
		Outage:        s.Agent.Outage,
		Escalation:    s.Agent.escalation(),
		Reserves:      s.Agent.reserves(),
		MaxBroken:     s.Checks.MaxBroken,
		ChecksWhen:    ralph.CheckTime(s.Checks.When),
		Baseline:      s.Checks.Baseline,
		Retries:       s.Checks.Retries,
		Canary:        s.Checks.Canary != "off",
		Parallel:      s.Checks.Parallel,
		MaxRejections: s.Evaluator.MaxCallsPerTask,

		Rules: ralph.CurrentRules,
		Breaker: ralph.BreakerPolicy{
			NoProgress: s.Breaker.NoProgress, SameError: s.Breaker.SameError,
			PermissionDenials: s.Breaker.PermissionDenials, OutputDecline: s.Breaker.OutputDecline,
			Diagnose: s.Breaker.Diagnose, Cooldown: s.Breaker.Cooldown, Blocks: s.Profile == profileGoal,
		},

		TaskTries:     s.Tasks.MaxTries,
		OnTaskFailure: onFailure,
		TaskRetries:   retries,
		OnDecide:      ralph.DecideRule(s.OnDecide),

		OnLimit:      ralph.LimitRule(s.OnLimit),
		MaxWait:      s.MaxWait,
		CallsPerHour: s.Limits.CallsPerHour,

		IterationDelay:   s.IterationDelay,
		IterationTimeout: s.IterationTimeout,
		IterationCost:    s.IterationCost,
		IterationTurns:   s.IterationTurns,
		IdleTimeout:      s.IdleTimeout,
		CheckTimeout:     s.Checks.Timeout,

		KeepAnswer:     s.keepsAnswer(),
		CompletionTags: s.CompletionTag,
		StatusPhrases:  s.Gate.StatusPhrases,
	}
}

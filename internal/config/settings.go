package config

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph"
)

// Settings is the resolved configuration of one run. It is recorded in the run's log and read back by `ralph resume`, so that a run goes on under
// the rules that it began with. A zero limit means no limit.
type Settings struct {
	MaxIterations    int        `json:"max_iterations"`
	MaxTime          ralph.Span `json:"max_time"`
	MaxCost          float64    `json:"max_cost"`
	MaxTokens        int64      `json:"max_tokens"`
	IterationTimeout ralph.Span `json:"iteration_timeout"`
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
	Worktree         string     `json:"worktree,omitempty"` // a name, or "true" for that of the run
	Commit           string     `json:"commit,omitempty"`
	CommitMessage    string     `json:"commit_message,omitempty"`
	IncludeDirty     bool       `json:"include_dirty,omitempty"`
	Yolo             bool       `json:"yolo"`
	Protect          []string   `json:"protect,omitempty"`
	Trust            bool       `json:"-" key:"trust"` // consent is given to a command line, not to a run

	Agent     AgentSettings     `json:"agent"`
	Checks    CheckSettings     `json:"checks"`
	Gate      GateSettings      `json:"gate"`
	Tasks     TaskSettings      `json:"tasks"`
	Breaker   BreakerSettings   `json:"breaker"`
	Limits    LimitSettings     `json:"limits"`
	Notify    NotifySettings    `json:"notify"`
	Hooks     HookSettings      `json:"hooks,omitzero"`
	Prompt    PromptSettings    `json:"prompt"`
	Sandbox   SandboxSettings   `json:"sandbox"`
	Evaluator EvaluatorSettings `json:"evaluator,omitzero"`
	Worker    WorkerSettings    `json:"worker,omitzero"`
	Planner   RoleSettings      `json:"planner,omitzero"`
}

// RoleSettings says which model plays a part. What is empty is as the worker's, and the worker's as the environment has it.
type RoleSettings struct {
	Provider  string `json:"provider,omitempty"`
	Model     string `json:"model,omitempty"`
	BaseURL   string `json:"base_url,omitempty"`    // for scripted, the file
	APIKeyEnv string `json:"api_key_env,omitempty"` // the name of a variable
}

// WorkerSettings says how the built-in worker works.
type WorkerSettings struct {
	RoleSettings
	MaxTurnsPerTask int `json:"max_turns_per_task,omitempty"`
}

// AgentSettings says which agent does the work and how it is started.
type AgentSettings struct {
	Name            string   `json:"name"`              // one of AgentCLIs; "command" or "acp", if and only if Command is set; or "": the first CLI found
	Command         string   `json:"command,omitempty"` // a shell command that is the agent
	Model           string   `json:"model,omitempty"`
	Args            []string `json:"args,omitempty"` // added to the agent CLI's own command line
	Env             []string `json:"env,omitempty"`  // names of variables that pass to the agent, NAME or PREFIX_*
	InheritSettings bool     `json:"inherit_settings"`
	Permissions     string   `json:"permissions"`
	MaxFailures     int      `json:"max_failures"`
	Fallback        []string `json:"fallback,omitempty"` // NAME or NAME:MODEL
}

// CheckSettings says which commands prove the work, and when they are run.
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
}

// EvaluatorSettings says who gives a second opinion.
type EvaluatorSettings struct {
	Agent   string `json:"agent,omitempty"`   // NAME, NAME:MODEL, or a model
	Command string `json:"command,omitempty"` // a shell command in its place
	RoleSettings
	MaxCallsPerTask int `json:"max_calls_per_task,omitempty"`
}

// Wanted reports whether there is to be an evaluator.
func (e EvaluatorSettings) Wanted() bool { return e.Agent != "" || e.Command != "" }

// testChange is the rule for changed tests: as it was said, else by whether somebody can be asked.
func (s Settings) testChange() ralph.TestRule {
	switch {
	case s.Gate.TestChange != "":
		return ralph.TestRule(s.Gate.TestChange)
	case s.Evaluator.Wanted():
		return ralph.TestsEvaluate
	case slices.Contains(s.Protect, "tests"): // what the preset cannot protect as a file, such as tests inside of Rust sources
		return ralph.TestsRefuse
	}
	return ralph.TestsWarn
}

// TaskSettings says which list is worked and what becomes of a task that does not get done.
type TaskSettings struct {
	File      string `json:"file,omitempty"`
	MaxTries  int    `json:"max_tries,omitempty"`
	OnFailure string `json:"on_failure,omitempty"` // halt, skip or retry:N
}

// failure takes the rule apart; its form was checked when it was read.
func (t TaskSettings) failure() (ralph.TaskRule, int) {
	if n, ok := strings.CutPrefix(t.OnFailure, "retry:"); ok {
		times, _ := strconv.Atoi(n)
		return ralph.TaskRetry, times
	}
	return ralph.TaskRule(t.OnFailure), 0
}

// Commits is when the harness commits: as it was said, else after every iteration in a worktree, and not in place.
func (s Settings) Commits() ralph.CommitRule {
	if s.Commit == "" && s.Worktree != "" {
		return ralph.CommitIteration
	}
	return ralph.CommitRule(cmp.Or(s.Commit, string(ralph.CommitOff)))
}

// WhoCommits is what the agent is told about commits.
func (s Settings) WhoCommits() string {
	switch {
	case s.Commits() != ralph.CommitOff:
		return "harness"
	case s.Profile == "promise":
		return "agent"
	}
	return ""
}

// GateSettings says what stands between a claim and exit 0.
type GateSettings struct {
	Claim         string   `json:"claim"`
	Status        string   `json:"status"`
	StatusMin     int      `json:"status_min"`
	StatusPhrases []string `json:"status_phrases,omitempty"` // empty: the built-in ones
	Unfinished    string   `json:"unfinished"`
	Tamper        string   `json:"tamper,omitempty"`
	TestChange    string   `json:"test_change,omitempty"`
}

// BreakerSettings says when a run that gets nowhere is stopped.
type BreakerSettings struct {
	NoProgress        int        `json:"no_progress"`
	SameError         int        `json:"same_error"`
	PermissionDenials int        `json:"permission_denials"`
	OutputDecline     int        `json:"output_decline"`
	Diagnose          bool       `json:"diagnose"`
	Cooldown          ralph.Span `json:"cooldown"`
}

// LimitSettings holds limits that are kept by waiting, not by stopping.
type LimitSettings struct {
	CallsPerHour int `json:"calls_per_hour"`
}

// NotifySettings says who is told when a person is needed.
type NotifySettings struct {
	Command string `json:"command,omitempty"`
}

// HookSettings are the commands that are asked at certain moments of a run.
type HookSettings struct {
	PreTool       []string   `json:"pre_tool,omitempty"`
	PostEdit      []string   `json:"post_edit,omitempty"`
	PreIteration  []string   `json:"pre_iteration,omitempty"`
	PostIteration []string   `json:"post_iteration,omitempty"`
	OnStop        []string   `json:"on_stop,omitempty"`
	Timeout       ralph.Span `json:"timeout,omitempty"`
}

// All are the commands of every hook.
func (h HookSettings) All() []string {
	return slices.Concat(h.PreTool, h.PostEdit, h.PreIteration, h.PostIteration, h.OnStop)
}

// Lines are the commands of every hook, each behind the name of its hook.
func (h HookSettings) Lines() []string {
	var lines []string
	for _, hook := range []struct {
		name     string
		commands []string
	}{{"pre_tool", h.PreTool}, {"post_edit", h.PostEdit}, {"pre_iteration", h.PreIteration}, {"post_iteration", h.PostIteration}, {"on_stop", h.OnStop}} {
		for _, command := range hook.commands {
			lines = append(lines, hook.name+": "+command)
		}
	}
	return lines
}

// PromptSettings says what the agent is told.
type PromptSettings struct {
	File string `json:"file,omitempty"`
}

// SandboxSettings says what keeps the agent in.
type SandboxSettings struct {
	Mode string `json:"mode"`
}

// Policy is the part of the settings that the loop itself follows.
func (s Settings) Policy() ralph.Policy {
	onFailure, retries := s.Tasks.failure()
	return ralph.Policy{
		MaxIterations: s.MaxIterations,
		MaxTime:       s.MaxTime,
		MaxCost:       s.MaxCost,
		MaxTokens:     s.MaxTokens,

		Claim:     ralph.ClaimRule(s.Gate.Claim),
		Status:    ralph.StatusRule(s.Gate.Status),
		StatusMin: s.Gate.StatusMin,
		Tamper: ralph.TamperRule(
			cmp.Or(s.Gate.Tamper, string(ralph.TamperRefuse)),
		),
		TestChange:      s.testChange(),
		Unfinished:      ralph.WordRule(s.Gate.Unfinished),
		AllowUnverified: s.AllowUnverified,

		MaxFailures:   s.Agent.MaxFailures,
		MaxBroken:     s.Checks.MaxBroken,
		ChecksWhen:    ralph.CheckTime(s.Checks.When),
		Baseline:      s.Checks.Baseline,
		Retries:       s.Checks.Retries,
		Canary:        s.Checks.Canary != "off",
		MaxRejections: s.Evaluator.MaxCallsPerTask,

		Breaker: ralph.BreakerPolicy{
			NoProgress: s.Breaker.NoProgress, SameError: s.Breaker.SameError,
			PermissionDenials: s.Breaker.PermissionDenials, OutputDecline: s.Breaker.OutputDecline,
			Diagnose: s.Breaker.Diagnose, Cooldown: s.Breaker.Cooldown,
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
		IdleTimeout:      s.IdleTimeout,
		CheckTimeout:     s.Checks.Timeout,

		CompletionTags: s.CompletionTag,
		StatusPhrases:  s.Gate.StatusPhrases,
	}
}

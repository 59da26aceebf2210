package ralph

import (
	"context"
	"errors"
	"time"

	"github.com/ralphloop/ralph/promise"
)

// CommitCheck is what a commit that fails is called among the checks.
const CommitCheck = "git commit"

// CommitFacts is what a commit message can tell.
type CommitFacts struct {
	Run       string
	Iteration int
	Goal      string
	Task      string   // the one that was worked on
	Title     string   // of it
	Done      []string // tasks that this commit proves
	Complete  bool     // the run is complete with it
	Checks    []CheckResult
}

// ErrIO marks an error of the harness's own storage: state that cannot be written. It ends a run with IO_ERROR.
var ErrIO = errors.New("state cannot be written")

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

	// For a CaseMaker, which calls them from one goroutine at a time and waits for the answer. Nobody of it works meanwhile.
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

// HintSettings is the hint of an agent whose very first request was refused as it is: with the same settings it would be refused again.
const HintSettings = "change the setting that is refused, such as the model's name or the address where it is asked"

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
	TaskEnd       StopReason     `json:"task_end,omitempty"`    // of a CaseMaker: why it gave the task up
	AnswersCut    bool           `json:"answers_cut,omitempty"` // with NoCase: its last answers were not quiet, but cut at the model's length limit
	// Hooks are those about single calls that warned, as far as no Turn told of them. They are recorded as events of their own.
	Hooks []HookRun `json:"-"`
	// Answer is the agent's last message, or the end of a long one. It is kept only of an agent that may only read, and never recorded.
	Answer string `json:"-"`
}

// Tokens counts what a model read and wrote.
type Tokens struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
}

// Total is what a token cap counts: everything.
func (t Tokens) Total() int64 { return t.Input + t.Output + t.CacheRead + t.CacheWrite }

func (t Tokens) Plus(u Tokens) Tokens {
	return Tokens{t.Input + u.Input, t.Output + u.Output, t.CacheRead + u.CacheRead, t.CacheWrite + u.CacheWrite}
}

// Checker runs one check on the workspace as it stands. It blocks until every process of the check is gone. A check that fails or cannot run is
// a value; an error means that the harness itself is in trouble.
type Checker interface {
	Check(ctx context.Context, in CheckInput) (CheckResult, error)
}

// CheckInput names one check.
type CheckInput struct {
	Name    string // the command, as the user wrote it
	Command string // what to run, where that is not the name
	Dir     string // the workspace
	Folder  string // where to leave the output; "" keeps none
	File    string // the output's file name in Folder
	Marker  string
	Timeout time.Duration
}

// CheckResult is what the harness saw of one check.
type CheckResult struct {
	Name      string `json:"name"`
	Passed    bool   `json:"passed"`
	Output    string `json:"output"` // the last 2,000 characters
	ExitCode  int    `json:"exit_code"`
	Duration  Span   `json:"duration"`
	Broken    bool   `json:"broken,omitempty"` // it cannot run, as opposed to: it fails
	TimedOut  bool   `json:"timed_out,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
	Survivors int    `json:"survivors,omitempty"`
	Task      string `json:"task,omitempty"` // whose own check it is; "" for the run's

	Command     string      `json:"command,omitempty"`       // what was run, where that is not the name
	Isolation   string      `json:"isolation,omitempty"`     // of the view it ran in: overlay, copy or inplace
	Weaker      Way         `json:"weaker,omitempty"`        // it needs more than the view gives, as the baseline showed
	Hidden      bool        `json:"hidden,omitempty"`        // the agent learns of it only whether it passed
	Attempts    int         `json:"attempts,omitempty"`      // where it was run more than once
	Flaked      bool        `json:"flaked,omitempty"`        // red and green on one and the same tree
	OutputHash  string      `json:"output_sha256,omitempty"` // of all that it wrote
	Tree        string      `json:"tree,omitempty"`          // that it ran on
	Attribution Attribution `json:"attribution,omitempty"`   // what the baseline makes of it; not recorded, but reckoned
	Proof       *Proof      `json:"proof,omitempty"`         // not recorded here, but as an event of its own
}

// Attribution compares a check with its baseline.
type Attribution string

// A check was and is green, turned red, was red before, or turned green.
const (
	CheckClean     Attribution = "clean"
	CheckRegressed Attribution = "regressed"
	CheckWasBroken Attribution = "baseline-broken"
	CheckFixed     Attribution = "fixed"
)

// Tree hashes the workspace's files. With an error comes a state that is not Known, which may name a snapshot all the same.
type Tree interface {
	Fingerprint(ctx context.Context, in TreeInput) (TreeState, error)
}

// TreeState is the fingerprint of the workspace at one moment.
type TreeState struct {
	Known bool   `json:"known"`
	Head  string `json:"head,omitempty"` // commit, where there is git
	Hash  string `json:"hash,omitempty"` // of everything that differs from Head
	Dirty int    `json:"dirty"`          // files that differ from Head

	// Snapshot names the kept copy of this tree, "" where none was kept; Left says in a sentence each what it does not hold.
	Snapshot string   `json:"snapshot,omitempty"`
	Left     []string `json:"left,omitempty"`

	// Base names the copy of the base from now on, after the user changed something while no agent was at work, and Settled that of the tree in which
	// a task was last proven, with the same in it.
	Base    string `json:"base,omitempty"`
	Settled string `json:"settled,omitempty"`
	// After says that this is the tree after the checks of the iteration ran.
	After bool `json:"after,omitempty"`

	// Unfinished lists lines that differ from the run's first commit and look unfinished, as "file: text". It is filled at the base and when a
	// claim is to be judged.
	Unfinished []string `json:"unfinished,omitempty"`
}

// Changer is an optional power of a Tree: what changed since a commit, in one line.
type Changer interface {
	Changed(ctx context.Context, baseHead string) (string, error)
}

// Comparer is an optional power of a Tree that keeps copies: what changed between two of them, in one line.
type Comparer interface {
	Between(ctx context.Context, from, to string) (string, error)
}

// TreeInput asks for a fingerprint.
type TreeInput struct {
	BaseHead  string // the commit that the run began at, "" at the base itself
	Claimed   bool   // a claim will be judged: look for unfinished lines too
	Run       string // whose tree it is, for one that keeps copies
	Iteration int
}

// Differ is an optional power of a Tree that keeps copies: what changed between two of them, as a patch. It lists the changed files first and
// gives up at about limit bytes; cut says that it did.
type Differ interface {
	Diff(ctx context.Context, from, to string, limit int) (patch string, cut bool, err error)
}

// Switcher is an optional power of a Tree that keeps copies: to take work out of the workspace, and to bring it back. Names are of files below the
// workspace, with slashes.
type Switcher interface {
	// Switch makes the workspace, which is what the copy From is, what the copy To is. It touches the files that differ between the two, and of them
	// none that git ignores. If a file is neither as in From nor as in To, somebody has changed it: then nothing is touched, and Others names it.
	// A switch that was cut is finished by the same one again.
	Switch(ctx context.Context, in SwitchInput) (Switched, error)
	// Merge keeps a copy of Ours with everything that became of Base on the way to Theirs, and names it. If both sides changed the same, there is none,
	// and conflicts names the files.
	Merge(ctx context.Context, in MergeInput) (id string, conflicts []string, err error)
}

// SwitchInput names the copies of a switch.
type SwitchInput struct {
	From, To string
	Own      func(name string) bool // the harness's files, which stay as they are
}

// Switched is what became of a switch.
type Switched struct {
	Others []string // somebody's, for which nothing was touched
	Begun  bool     // with Others: an earlier switch that was cut has touched something
	Copy   string   // of the workspace, as far as the switch made it what it is; "" with Others or an error
	Stayed []string // files that could not be written, for what is in their place
}

// MergeInput names the copies of a merge.
type MergeInput struct {
	Base, Ours, Theirs string
	Own                func(name string) bool // the harness's files, which are as in Ours
}

// Committer commits the whole tree, untracked files included. A commit that a hook, a signature or a time-out prevents is a value; an error
// means that the harness is in trouble.
type Committer interface {
	Commit(ctx context.Context, message string) (CommitResult, error)
}

// CommitResult is what became of a commit.
type CommitResult struct {
	Commit  string `json:"commit,omitempty"` // its id; "" when there was nothing to commit, or it failed
	Subject string `json:"subject,omitempty"`
	Failed  bool   `json:"failed,omitempty"`
	Changed bool   `json:"changed,omitempty"` // a hook changed files, so that they are not those that were checked
	Output  string `json:"output,omitempty"`  // of git and its hooks, when it failed
}

func (t TreeState) Same(u TreeState) bool { return t.Head == u.Head && t.Hash == u.Hash }

// ID names the tree, "" if it is not known. Equal trees on one commit have equal names.
func (t TreeState) ID() string {
	if !t.Known {
		return ""
	}
	return t.Head + "+" + t.Hash
}

// Prompter builds the prompt of one iteration.
type Prompter interface {
	Prompt(ctx context.Context, in PromptInput) (Prompt, error)
}

// Prompt is a built prompt and the parts that it was made of.
type Prompt struct {
	Text  string
	Parts []PromptPart
}

// PromptPart is one part of a prompt as the prompt_built event tells it.
type PromptPart struct {
	Name      string `json:"part"`
	Bytes     int    `json:"bytes"`
	Truncated bool   `json:"truncated,omitempty"`
	Hash      string `json:"hash"`
}

// Recorder keeps the events of a run.
//
// Append must keep the order; Sync returns when everything appended is on stable storage. An error of either is fatal for the run (ErrIO).
type Recorder interface {
	Append(e Event) error
	Sync() error
}

// Chained is an optional power of a Recorder: a hash over everything that was appended so far.
type Chained interface {
	Chain() string
}

// Folders is an optional power of a Recorder: a place for what an iteration leaves behind. Iteration 0 is the baseline.
type Folders interface {
	Folder(iteration int) (string, error)
}

// ResultKeeper is an optional power of a Recorder: to keep the result of the run beside its events.
type ResultKeeper interface {
	WriteResult(r Result) error
}

// Mailbox is the narrow door through which other processes reach a run. Poll does not block.
type Mailbox interface {
	Poll() (Orders, error)
}

// Post is an optional power of a Mailbox: what people wrote to the run under way, or to the next one. Letters gives them oldest first and leaves
// them where they are; Took takes one away, after it was recorded.
type Post interface {
	Letters() ([]Letter, error)
	Took(id string) error
}

// LetterKind says what a letter is.
type LetterKind string

// The kinds of letters.
const (
	LetterSteer  LetterKind = "steer"
	LetterAnswer LetterKind = "answer"
)

// Letter is something that a person tells the agent.
type Letter struct {
	ID       string     `json:"id"`
	Kind     LetterKind `json:"kind"`
	Text     string     `json:"text"`
	Question string     `json:"question,omitempty"` // with an answer: what was asked
	Run      string     `json:"run,omitempty"`      // with an answer: which run asked
}

// Orders is what lies in the mailbox.
type Orders struct {
	Stop  bool // finish this iteration, judge it, then end
	Pause bool // start no iteration until it is taken away
}

// ProgressFile is the view that is kept of a run in its workspace.
const ProgressFile = ".ralph/progress.md"

// Worktrees makes worktrees of a repository; see package gitrepo. Add gives the worktree and what sees its files; Open does so for one that was made
// before. Remove refuses to remove work that is not merged.
type Worktrees interface {
	Add(ctx context.Context, branch string) (Worktree, Tree, error)
	Open(ctx context.Context, w Worktree) (Tree, error)
	Remove(ctx context.Context, w Worktree) error
}

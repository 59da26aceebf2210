package loop

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
)

// Loop runs one agent again and again until its work is proven, a person is needed, or a limit is reached.
type Loop struct {
	run     *journal
	tree    *workspace
	wait    *waiter
	list    *taskList
	suite   *suite
	checks  *checkRunner
	goals   *goal
	reviews *reviewer
	stash   *stash
	inbox   *inbox
	hooks   *hookCaller
	agents  *agentRunner

	prompter  ralph.Prompter
	commits   commits
	worktrees ralph.Worktrees

	ran      atomic.Bool
	resuming bool
	torn     int64
	notices  []ralph.Notice
}

// newLoop makes the parts of a loop. A part knows those made before it, never the other way round.
func newLoop(cfg Config) *Loop {
	run := &journal{
		cfg:       cfg,
		policy:    policyOf(cfg),
		state:     &fold.State{},
		live:      func(ralph.Activity) {},
		warned:    map[string]bool{},
		abandoned: make(chan struct{}),
	}
	tree := &workspace{journal: run}
	wait := &waiter{journal: run, tree: tree}
	list := &taskList{journal: run}
	suite := &suite{journal: run, list: list}
	goals := &goal{journal: run, tree: tree}
	hooks := &hookCaller{journal: run, tree: tree}
	return &Loop{
		run: run, tree: tree, wait: wait, list: list, suite: suite, goals: goals, hooks: hooks, prompter: StandardPrompt{},
		checks:  &checkRunner{journal: run, tree: tree, list: list, suite: suite},
		reviews: &reviewer{journal: run, tree: tree, wait: wait, list: list, goals: goals},
		stash:   &stash{journal: run, tree: tree, list: list, leftNoChanges: map[string]bool{}},
		inbox:   &inbox{journal: run, tree: tree, wait: wait},
		agents:  &agentRunner{journal: run, list: list, hooks: hooks},
	}
}

// Option adds a part to a loop.
type Option func(*Loop)

// WithChecker says who runs the checks.
func WithChecker(c ralph.Checker) Option { return func(l *Loop) { l.checks.checker = c } }

// WithExaminer has checks run where the agent cannot reach them, and green ones proven.
func WithExaminer(e ralph.Examiner) Option { return func(l *Loop) { l.tree.examiner = e } }

// WithEvaluator has claims that nothing else refuses looked at by somebody else. name is how the log calls it.
func WithEvaluator(name string, e ralph.Evaluator) Option {
	return func(l *Loop) { l.reviews.evaluator, l.reviews.name = e, name }
}

// WithTree says who hashes the workspace. Without one, progress is not known and the breaker does not count it.
func WithTree(t ralph.Tree) Option { return func(l *Loop) { l.tree.store = t } }

// WithPrompter replaces the standard prompt.
func WithPrompter(p ralph.Prompter) Option { return func(l *Loop) { l.prompter = p } }

// WithRecorder says where events are kept. Without one they go to observers only.
func WithRecorder(r ralph.Recorder) Option { return func(l *Loop) { l.run.recorder = r } }

// WithInbox lets other processes stop and pause the run.
func WithInbox(m ralph.Inbox) Option { return func(l *Loop) { l.run.inbox = m } }

// WithObserver has every event told, in order, on the loop's own goroutine.
func WithObserver(see func(ralph.Event)) Option {
	return func(l *Loop) { l.run.observers = append(l.run.observers, see) }
}

// WithActivity has small live news told, possibly from another goroutine. They are not recorded.
func WithActivity(see func(ralph.Activity)) Option { return func(l *Loop) { l.run.live = see } }

// WithPolicy replaces every rule and limit that Config and the defaults give.
func WithPolicy(p ralph.Policy) Option { return func(l *Loop) { l.run.policy = p } }

// WithRun names the run and what is recorded of its making.
func WithRun(id string, about ralph.RunStarted) Option {
	return func(l *Loop) {
		about.Worktree = cmp.Or(about.Worktree, l.run.about.Worktree) // of WithWorktree, whichever comes first
		l.run.id, l.run.about = id, about
	}
}

// WithState has the loop keep its state where the caller can see it. A state that was folded from a log is gone on with.
func WithState(state *fold.State) Option {
	return func(l *Loop) { l.run.state, l.resuming = state, state.Seq > 0 }
}

// WithTornTail says how long the last line was that a crash left half written and that was dropped.
func WithTornTail(bytes int64) Option { return func(l *Loop) { l.torn = bytes } }

// WithNotice has a sentence recorded when the run starts.
func WithNotice(n ralph.Notice) Option { return func(l *Loop) { l.notices = append(l.notices, n) } }

// WithTasks has the loop work through a task list, one task an iteration.
func WithTasks(t ralph.Tasks) Option { return func(l *Loop) { l.list.tasks = t } }

// WithCommits has the work committed. message writes the commit's message.
func WithCommits(c ralph.Committer, when ralph.CommitRule, message func(ralph.CommitFacts) string) Option {
	return func(l *Loop) { l.commits = commits{c, when, message} }
}

// WithWorktrees says who makes a worktree when Config asks for one.
func WithWorktrees(w ralph.Worktrees) Option { return func(l *Loop) { l.worktrees = w } }

// WithWorktree says that Dir is a worktree of the repository, and which.
func WithWorktree(w ralph.Worktree) Option { return func(l *Loop) { l.run.about.Worktree = &w } }

// WithQuestion passes on what an earlier run asked and nobody answered.
func WithQuestion(question string) Option { return func(l *Loop) { l.inbox.asked = question } }

// WithHooks has somebody asked at the edges of every iteration and at the end of the run. Of several, those that were given first are asked first.
func WithHooks(h ralph.Hooks) Option {
	return func(l *Loop) { l.hooks.hooks = append(l.hooks.hooks, h) }
}

// New makes a loop ready to run. It refuses what could never work.
func New(cfg Config, options ...Option) (*Loop, error) {
	l := newLoop(cfg)
	for _, option := range options {
		option(l)
	}
	if _, ok := l.run.inbox.(ralph.MessageInbox); !ok && l.run.policy.OnDecide == ralph.DecideWait { // nobody could answer
		l.run.policy.OnDecide = ralph.DecideStop
	}
	if l.reviews.evaluator != nil { // whatever the order of the options: an evaluator that is asked is heeded
		l.run.policy.Evaluator = l.reviews.name
	}
	l.gatherAgents()
	switch {
	case l.resuming:
		l.run.id = l.run.state.Run
	case l.run.id == "":
		l.run.id = ralph.NewRunID(time.Now())
	}
	return l, l.validate()
}

// gatherAgents lists who may work, and names them in the policy if they are more than one.
func (l *Loop) gatherAgents() {
	l.agents.agents = append([]Fallback{{l.run.cfg.AgentName, l.run.cfg.Model, l.run.cfg.Agent}}, l.run.cfg.Fallbacks...)
	l.run.policy.Agents = nil
	for _, a := range l.agents.agents[1:] {
		if l.run.policy.Agents == nil {
			l.run.policy.Agents = []string{l.run.cfg.AgentName}
		}
		l.run.policy.Agents = append(l.run.policy.Agents, a.Name)
	}
}

func (l *Loop) validate() error {
	cfg, p := l.run.cfg, l.run.policy
	switch {
	case slices.ContainsFunc(l.agents.agents, func(a Fallback) bool { return a.Agent == nil }):
		return errors.New("make loop: no agent")
	case strings.TrimSpace(cfg.Task) == "" && cfg.SpecFile == "" && cfg.PromptFile == "" && l.list.tasks == nil:
		return errors.New("make loop: no goal: set Task, SpecFile or PromptFile, or use WithTasks")
	case l.checks.checker == nil && l.tree.examiner == nil &&
		(len(cfg.Checks)+len(cfg.Hidden) > 0 || l.list.haveOwnChecks()):
		return errors.New("make loop: checks are named, but nobody runs them: use WithChecker")
	case len(cfg.Checks)+len(cfg.Hidden) == 0 && !l.list.haveOwnChecks() && !p.AllowUnverified &&
		l.reviews.evaluator == nil:
		return errors.New("make loop: nothing could prove completion: name a check, or set AllowUnverified")
	case cfg.UseWorktree && l.worktrees == nil:
		return errors.New("make loop: UseWorktree is set, but nobody makes worktrees: use WithWorktrees")
	case cfg.MaxIterations < Unlimited || p.MaxIterations < 0 || p.MaxTime < 0 || p.MaxCost < 0 || p.MaxTokens < 0:
		return errors.New("make loop: a limit is negative")
	}
	for _, tag := range p.CompletionTags {
		if strings.TrimSpace(tag) == "" {
			return errors.New("make loop: empty completion tag")
		}
	}
	return nil
}

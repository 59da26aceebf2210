package loop

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/promise"
)

// Loop runs one agent again and again until its work is proven, a person is needed, or a limit is
// reached.
type Loop struct {
	run     *journal
	tree    *workspace
	wait    *waiter
	list    *taskList
	checks  *checkRunner
	goals   *goal
	reviews *reviewer
	stash   *stash
	inbox   *inbox
	hooks   *hookCaller
	agents  *agentRunner
	accepts *acceptance
	tests   *testsFirst

	prompter  ralph.Prompter
	commits   commits
	worktrees ralph.Worktrees

	opening
}

// opening is how a loop opens its run.
type opening struct {
	step     *SessionStep // nil if the loop runs its agents itself
	ran      atomic.Bool
	resuming bool
	torn     int64
	notices  []ralph.Notice
}

// newLoop makes the parts of a loop. A part knows only the parts made before it.
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
	tree.isOwn = func(name string) bool { return list.ownFile()(name) }
	suite := &suite{journal: run, list: list}
	goals := &goal{journal: run, tree: tree}
	inbox := &inbox{journal: run, tree: tree, wait: wait}
	hooks := &hookCaller{journal: run, tree: tree, list: list, inbox: inbox}
	checks := &checkRunner{journal: run, tree: tree, list: list, suite: suite}
	return &Loop{
		run: run, tree: tree, wait: wait, list: list, goals: goals, hooks: hooks, checks: checks,
		prompter: StandardPrompt{},
		reviews:  &reviewer{journal: run, tree: tree, wait: wait, list: list, goals: goals},
		stash:    &stash{journal: run, tree: tree, list: list, leftNoChanges: map[string]bool{}},
		inbox:    inbox,
		agents:   &agentRunner{journal: run, list: list, hooks: hooks, goals: goals, checks: checks},
		accepts:  &acceptance{journal: run, tree: tree, list: list, checks: checks},
		tests:    &testsFirst{journal: run, tree: tree, list: list, goals: goals, suite: suite},
	}
}

// Option adds a part to a loop.
type Option func(*Loop)

// WithAcceptance makes a resumed loop record a person's yes to claimed work instead of starting agents. With
// nil, it only finishes what a process left that died after it recorded a yes that completes the run.
func WithAcceptance(yes *ralph.WorkAccepted) Option { return func(l *Loop) { l.accepts.yes = yes } }

// WithRefusedFiles makes a new run use the base of an earlier run for files that the earlier run refused.
func WithRefusedFiles(refused *ralph.RefusedEarlier) Option {
	return func(l *Loop) { l.run.about.Refused = refused }
}

// WithOrigin makes a new run show its work also against the tree before earlier runs that did not complete.
func WithOrigin(origin *ralph.Origin) Option {
	return func(l *Loop) { l.run.about.Origin = origin }
}

// WithRunBetween tells a resumed loop that another run worked in the workspace since and did not complete. What its
// agent left is not the user's.
func WithRunBetween(origin *ralph.Origin) Option {
	return func(l *Loop) { l.tree.between = origin }
}

// WithChecker sets what runs the checks.
func WithChecker(c ralph.Checker) Option { return func(l *Loop) { l.checks.checker = c } }

// WithExaminer runs checks where the agent cannot reach them and tests whether passing checks can
// fail.
func WithExaminer(e ralph.Examiner) Option { return func(l *Loop) { l.tree.examiner = e } }

// WithEvaluator lets an evaluator review claims that nothing else refuses. name identifies it in
// the log.
func WithEvaluator(name string, e ralph.Evaluator) Option {
	return func(l *Loop) { l.reviews.evaluator, l.reviews.name = e, name }
}

// WithTestAuthor lets an author write acceptance tests before the first iteration. name identifies it in the log.
func WithTestAuthor(name string, author ralph.TestAuthor) Option {
	return func(l *Loop) { l.tests.name, l.tests.author = name, author }
}

// WithTestAgreement asks the user whether to use the tests of an author.
func WithTestAgreement(agree func(context.Context, ralph.TestsWritten) bool) Option {
	return func(l *Loop) { l.tests.agree = agree }
}

// WithPlan refuses completion while a plan in the workspace has open items. The plan belongs to the
// agent; it is not the list that the run works through. read returns the titles of its open items.
func WithPlan(file string, read func(dir, file string) ([]string, error)) Option {
	return func(l *Loop) { l.list.plan = agentPlan{file, read} }
}

// WithTools lets agents signal with tool calls while they work.
func WithTools(s ralph.ToolServer) Option { return func(l *Loop) { l.agents.tools = s } }

// WithTree sets what hashes the workspace. Without it, progress is unknown and the breaker does not
// count it.
func WithTree(t ralph.Tree) Option { return func(l *Loop) { l.tree.store = t } }

// WithPrompter replaces the standard prompt.
func WithPrompter(p ralph.Prompter) Option { return func(l *Loop) { l.prompter = p } }

// WithRecorder sets where events are stored. Without it, only observers see them.
func WithRecorder(r ralph.Recorder) Option { return func(l *Loop) { l.run.recorder = r } }

// WithInbox lets other processes stop and pause the run.
func WithInbox(m ralph.Inbox) Option { return func(l *Loop) { l.run.inbox = m } }

// WithObserver passes every event to see, in order, on the loop's own goroutine.
func WithObserver(see func(ralph.Event)) Option {
	return func(l *Loop) { l.run.observers = append(l.run.observers, see) }
}

// WithActivity passes live activity to see, possibly from another goroutine. It is not recorded.
func WithActivity(see func(ralph.Activity)) Option { return func(l *Loop) { l.run.live = see } }

// WithPolicy replaces all rules and limits from Config and the defaults.
func WithPolicy(p ralph.Policy) Option { return func(l *Loop) { l.run.policy = p } }

// WithRun sets the run's ID and the facts recorded at its start.
func WithRun(id string, about ralph.RunStarted) Option {
	return func(l *Loop) {
		// set by WithWorktree, WithRefusedFiles and WithOrigin, whichever option comes first
		about.Worktree = cmp.Or(about.Worktree, l.run.about.Worktree)
		about.Refused = cmp.Or(about.Refused, l.run.about.Refused)
		about.Origin = cmp.Or(about.Origin, l.run.about.Origin)
		l.run.id, l.run.about = id, about
	}
}

// WithState makes the loop keep its state where the caller can see it. The loop resumes a state
// that was folded from a log.
func WithState(state *fold.State) Option {
	return func(l *Loop) { l.run.state, l.resuming = state, state.Seq > 0 }
}

// WithTornTail sets the size of the half-written last line that was dropped after a crash.
func WithTornTail(bytes int64) Option { return func(l *Loop) { l.torn = bytes } }

// WithNotice records a notice when the run starts.
func WithNotice(n ralph.Notice) Option { return func(l *Loop) { l.notices = append(l.notices, n) } }

// WithTasks makes the loop work through a task list, one task per iteration.
func WithTasks(t ralph.Tasks) Option { return func(l *Loop) { l.list.tasks = t } }

// WithCommits commits the work. message writes the commit message.
func WithCommits(c ralph.Committer, when ralph.CommitRule, message func(ralph.CommitFacts) string) Option {
	return func(l *Loop) { l.commits = commits{c, when, message} }
}

// WithWorktrees sets what makes a worktree when Config asks for one.
func WithWorktrees(w ralph.Worktrees) Option { return func(l *Loop) { l.worktrees = w } }

// WithWorktree states that Dir is this worktree of the repository.
func WithWorktree(w ralph.Worktree) Option { return func(l *Loop) { l.run.about.Worktree = &w } }

// WithQuestion passes on an unanswered question of an earlier run, and what the user had written by
// then. Anything that the user writes into a steering file later settles it.
func WithQuestion(question string, known []ralph.SteeringSeen) Option {
	return func(l *Loop) { l.inbox.asked, l.inbox.knownWhenAsked = question, known }
}

// WithHooks adds hooks, which run before and after every iteration and at the end of the run. Hooks
// are asked in the order in which they were added.
func WithHooks(h ralph.Hooks) Option {
	return func(l *Loop) { l.hooks.hooks = append(l.hooks.hooks, h) }
}

// New makes a loop that is ready to run. It refuses configurations that could never work.
func New(cfg Config, options ...Option) (*Loop, error) {
	l := newLoop(cfg)
	for _, option := range options {
		option(l)
	}
	// Without a message inbox, no answer could arrive.
	if _, ok := l.run.inbox.(ralph.MessageInbox); !ok && l.run.policy.OnDecide == ralph.DecideWait {
		l.run.policy.OnDecide = ralph.DecideStop
	}
	// Regardless of the order of the options, a configured evaluator counts.
	if l.reviews.evaluator != nil {
		l.run.policy.Evaluator = l.reviews.name
	}
	// The log names the phrases that count, so that a refusal can.
	if p := &l.run.policy; !l.resuming && p.Status == ralph.StatusRequired && len(p.StatusPhrases) == 0 {
		p.StatusPhrases = promise.DefaultPhrases()
	}
	l.step.adapt(&l.run.policy)
	l.gatherAgents()
	if l.resuming && l.accepts.yes == nil {
		l.accepts.yes = fold.UnfinishedYes(l.run.state)
	}
	switch {
	case l.resuming:
		l.run.id = l.run.state.Run
	case l.run.id == "":
		l.run.id = ralph.NewRunID(time.Now())
	}
	return l, l.validate()
}

// gatherAgents lists the agents that may work, and names them in the policy if there is more than
// one.
func (l *Loop) gatherAgents() {
	cfg, p := l.run.cfg, &l.run.policy
	l.agents.agents = append([]Fallback{{cfg.AgentName, cfg.Model, cfg.Agent}}, cfg.Fallbacks...)
	if cfg.Escalation == nil {
		p.Escalation = nil
	} else {
		after := 0
		if p.Escalation != nil {
			after = p.Escalation.After
		}
		p.Escalation = &ralph.Escalation{Agent: len(l.agents.agents), After: cmp.Or(after, defaultEscalation)}
		l.agents.agents = append(l.agents.agents, *cfg.Escalation)
	}
	p.Agents = nil
	for _, a := range l.agents.agents[1:] {
		if p.Agents == nil {
			p.Agents = []string{cfg.AgentName}
		}
		p.Agents = append(p.Agents, a.Name)
	}
}

// defaultEscalation is how many refused claims hand work to the escalation.
const defaultEscalation = 2

func (l *Loop) validate() error {
	cfg, p := l.run.cfg, l.run.policy
	starts := l.step == nil && l.accepts.yes == nil
	hasChecks := len(cfg.Checks)+len(cfg.Hidden) > 0 || l.list.haveOwnChecks()
	provable := hasChecks || p.AllowUnverified || len(p.VerifierTools) > 0 || l.reviews.evaluator != nil
	switch {
	case starts && slices.ContainsFunc(l.agents.agents, func(a Fallback) bool { return a.Agent == nil }):
		return errors.New("make loop: no agent")
	case strings.TrimSpace(cfg.Task) == "" && cfg.SpecFile == "" && cfg.PromptFile == "" && l.list.tasks == nil:
		return errors.New("make loop: no goal: set Task, SpecFile or PromptFile, or use WithTasks")
	case hasChecks && l.checks.checker == nil && l.tree.examiner == nil:
		return errors.New("make loop: checks are configured, but nothing runs them: use WithChecker")
	case !provable:
		return errors.New("make loop: nothing can prove completion: add a check, or set AllowUnverified")
	case cfg.UseWorktree && l.worktrees == nil:
		return errors.New("make loop: UseWorktree is set, but nothing makes worktrees: use WithWorktrees")
	case cfg.MaxIterations < Unlimited || p.MaxIterations < 0 || p.MaxTime < 0 || p.MaxCost < 0 || p.MaxTokens < 0:
		return errors.New("make loop: a limit is negative")
	}
	if slices.ContainsFunc(p.CompletionTags, func(tag string) bool { return strings.TrimSpace(tag) == "" }) {
		return errors.New("make loop: empty completion tag")
	}
	return l.accepts.validate()
}

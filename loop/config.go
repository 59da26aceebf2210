package loop

import (
	"time"

	"github.com/ralphloop/ralph"
)

// Config describes one run.
type Config struct {
	Task     string // the goal, as text
	SpecFile string // or as a file; read again before every iteration
	// PromptFile is the user's own prompt. It is sent whole, before our parts, and read again before
	// every iteration. It can replace the goal.
	PromptFile string

	Agent     ralph.Agent
	AgentName string // the agent's name in the log
	Model     string
	Fallbacks []Fallback // agents that take over at a usage limit or after consecutive failures
	// Escalation is a stronger agent that takes over after as many refused claims as the policy says, or
	// when the breaker trips; nil for none.
	Escalation *Fallback
	Checks     []string // all must pass; the Checker defines what a name means
	Hidden     []string // hidden checks of claims; the agent learns only that one failed
	Dir        string   // the workspace; default: the current folder

	CompletionTag   string        // default: COMPLETE or DONE
	MaxIterations   int           // default: 10; Unlimited for no limit
	MaxTime         time.Duration // 0 means no limit, also for the next two
	MaxCost         float64       // in USD
	MaxTokens       int64
	AllowUnverified bool // let a run without checks complete
	UseWorktree     bool // work in a worktree on a branch of its own; needs WithWorktrees
	// Agreed reports whether the user agreed to a task's own check. A check that was added to the list
	// during the run cannot run without consent. nil agrees to all.
	Agreed     func(check string) bool
	WhoCommits string // who commits, for the prompt: "agent", "harness", or "" for neither
	// Mask replaces the secrets in a text. The loop applies it to prompts, events and answers to tool calls; Agent and
	// Checker mask what they store. nil masks nothing.
	Mask func(text string) string
}

// Unlimited is the MaxIterations of a run without a limit. It must be set explicitly, because 0 is
// the default.
const Unlimited = -1

// Fallback is an agent that takes over when the agents before it cannot work.
type Fallback struct {
	Name  string // name in the log; must be unique in a run
	Model string
	Agent ralph.Agent
}

func policyOf(cfg Config) ralph.Policy {
	p := ralph.DefaultPolicy()
	p.MaxTime, p.MaxCost, p.MaxTokens = ralph.Span(cfg.MaxTime), cfg.MaxCost, cfg.MaxTokens
	p.AllowUnverified = cfg.AllowUnverified
	if cfg.CompletionTag != "" {
		p.CompletionTags = []string{cfg.CompletionTag}
	}
	switch {
	case cfg.MaxIterations > 0:
		p.MaxIterations = cfg.MaxIterations
	case cfg.MaxIterations == Unlimited:
		p.MaxIterations = 0
	}
	return p
}

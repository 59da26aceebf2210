package loop

import (
	"time"

	"github.com/ralphloop/ralph"
)

// Config describes one run.
type Config struct {
	Task     string // the goal, as text
	SpecFile string // or as a file; read anew before every iteration
	// PromptFile is the user's own prompt, sent whole before our parts; read anew before every iteration. It can stand in for a goal.
	PromptFile string

	Agent     ralph.Agent
	AgentName string // how the agent is called in the log
	Model     string
	Fallbacks []Fallback // who goes on when the agent cannot: at a usage limit, or after failures in a row
	Checks    []string   // all must pass; what a name means is the Checker's matter
	Hidden    []string   // checks of claims that the agent learns nothing of but that one failed
	Dir       string     // the workspace; "" is the current folder

	CompletionTag   string        // "" is COMPLETE or DONE
	MaxIterations   int           // 0 is 10; Unlimited is no cap
	MaxTime         time.Duration // 0 is no limit, as in the next two
	MaxCost         float64       // in USD
	MaxTokens       int64
	AllowUnverified bool // let a run without checks complete
	UseWorktree     bool // work in a worktree on a branch of its own; needs WithWorktrees
	// Agreed says whether the user agreed to a task's own check. One that came with a change of the list under way cannot run. nil agrees to all.
	Agreed     func(check string) bool
	WhoCommits string // what the prompt says: "agent", "harness", or "" for nobody
}

// Unlimited is the MaxIterations of a run that has no cap. It must be spelled.
const Unlimited = -1

// Fallback is an agent that takes over when those before it cannot work.
type Fallback struct {
	Name  string // how it is called in the log; two agents of a run have different names
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

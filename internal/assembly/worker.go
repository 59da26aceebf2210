package assembly

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/worker"
)

// workerOf is the built-in agent: the worker, or a reviewer for an evaluator.
func (p *Plan) workerOf(c chosenAgent) ralph.Agent {
	client, err := c.by.client()
	if err != nil {
		return unfit{c.name, err}
	}
	options := worker.Options{
		Client: client, Model: c.by.model, Price: prices(p.Settings), KeyEnv: c.by.keyEnv, Env: c.options.Env, Enter: c.options.Enter, Run: p.run,
		MaxTurns: p.Settings.Worker.MaxTurnsPerTask,
	}
	if c.by.part == evaluatorPart {
		options.MaxTurns = 0
		return worker.NewReviewer(options)
	}
	options.Hooks = p.hookSet()
	return worker.New(options)
}

// unfit is an agent that could be reached when the run was prepared, and cannot be now.
type unfit struct {
	name string
	err  error
}

func (u unfit) Run(context.Context, ralph.AgentInput) (ralph.AgentOutcome, error) {
	return ralph.AgentOutcome{Agent: u.name, End: ralph.EndMissing, Error: u.err.Error()}, nil
}

// NoKey says that the key to a model is needed and not there.
type NoKey struct {
	Variable string
	Part     string // who needs it: worker or evaluator
}

func (n *NoKey) Error() string {
	return fmt.Sprintf("%s is not set, and without a key the %s cannot ask its model; set it, or name another variable with %s.api_key_env", n.Variable, n.Part, n.Part)
}

// MissingKey is a [*NoKey] if a run would end at its first model call because a key is not there; nil if not. Where another agent could take over, the
// first one may lack its key.
func (p *Plan) MissingKey() error {
	needed := []*chosenModel{}
	if len(p.agents) == 1 {
		needed = append(needed, p.agents[0].by)
	}
	if p.evaluator != nil {
		needed = append(needed, p.evaluator.by)
	}
	for _, by := range needed {
		if by != nil && by.lacksKey() {
			return &NoKey{Variable: by.keyEnv, Part: string(by.part)}
		}
	}
	return nil
}

// nameScripts makes the paths of scripts whole. A run that goes on in a worktree would look for them elsewhere.
func (p *Plan) nameScripts() {
	for _, role := range []*config.RoleSettings{&p.Settings.Worker.RoleSettings, &p.Settings.Evaluator.RoleSettings, &p.Settings.Planner} {
		if role.Provider == "scripted" && role.BaseURL != "" && !filepath.IsAbs(role.BaseURL) {
			role.BaseURL = filepath.Join(p.Workspace.Dir, role.BaseURL)
		}
	}
}

// WorkerSilence is how long the built-in worker's model may be silent; 0 if somebody else works.
func (p *Plan) WorkerSilence() ralph.Span {
	if p.agents[0].by == nil {
		return 0
	}
	return ralph.Span(p.agents[0].by.idle)
}

// BuiltIn says what a run with the built-in worker would ask, or what is missing for one. It asks nobody.
func BuiltIn(req Request) (text string, ready bool) {
	by, err := (&Plan{Request: req}).chooseModel(workerPart)
	switch {
	case err != nil:
		return err.Error(), false
	case by.lacksKey():
		return fmt.Sprintf("it would ask %s: set %s", by, by.keyEnv), false
	case by.keyEnv != "":
		return fmt.Sprintf("it would ask %s (%s is set)", by, by.keyEnv), true
	}
	return fmt.Sprintf("it would ask %s", by), true
}

// builtInWay is how one gets along without an agent CLI.
func (p *Plan) builtInWay() string {
	if text, ready := BuiltIn(p.Request); ready {
		return "take the built-in worker with --agent worker: " + text
	}
	return fmt.Sprintf("set %s or %s and take the built-in worker with --agent worker", usualKeys["anthropic"], usualKeys["openai"])
}

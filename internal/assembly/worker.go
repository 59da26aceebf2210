package assembly

import (
	"context"

	"github.com/ralphloop/ralph"
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

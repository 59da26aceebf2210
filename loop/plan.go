package loop

import (
	"errors"
	"io/fs"
	"path"

	"github.com/ralphloop/ralph"
)

// agentPlan is a plan in the workspace that belongs to the agent.
type agentPlan struct {
	file string                                   // "" without one
	read func(dir, file string) ([]string, error) // fs.ErrNotExist if there is no such file
}

// readPlan records the open items of the agent's plan, unless the run works through it as its list.
func (k *taskList) readPlan() {
	listed := k.tasks != nil && path.Clean(k.tasks.File()) == path.Clean(k.plan.file)
	if k.plan.file == "" || listed {
		return
	}
	seen := ralph.PlanRead{File: k.plan.file}
	open, err := k.plan.read(k.cfg.Dir, k.plan.file)
	seen.Open, seen.Missing = open, errors.Is(err, fs.ErrNotExist)
	if err != nil && !seen.Missing {
		seen.Problem = err.Error()
	}
	k.emit(ralph.EvPlanRead, seen)
}

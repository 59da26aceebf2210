package loop

import (
	"path"

	"github.com/ralphloop/ralph"
)

// agentPlan is a plan in the workspace that belongs to the agent.
type agentPlan struct {
	file string // "" without one
	read func(dir, file string) ([]string, error)
}

// readPlan records the open items of the agent's plan, unless the run works through it as its list.
func (l *Loop) readPlan() {
	listed := l.list.tasks != nil && path.Clean(l.list.tasks.File()) == path.Clean(l.plan.file)
	if l.plan.file == "" || listed {
		return
	}
	seen := ralph.PlanRead{File: l.plan.file}
	open, err := l.plan.read(l.run.cfg.Dir, l.plan.file)
	if seen.Open = open; err != nil {
		seen.Problem = err.Error()
	}
	l.run.emit(ralph.EvPlanRead, seen)
}

package assembly

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/models"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/verify"
)

// PlannerAgent is an agent that plans instead of a model, in its read-only mode.
type PlannerAgent struct {
	Name  string
	Model string // "" is the agent's own choice
	// Files is what the repository's files make the agent do by itself. It needs consent.
	Files []config.NamedCommand
	// Late says that the agent can exceed a limit on cost or tokens; "" if it cannot.
	Late string

	request Request
	chosen  chosenAgent
}

// FindPlanner returns the agent that plans: the one that the settings name, or the first CLI found
// on PATH. As for an evaluator, arguments and settings that could let a CLI do more than read are
// left out.
func FindPlanner(req Request) (*PlannerAgent, error) {
	if req.Settings.Agent.Command == "" {
		req.Settings.Agent.Args = nil
	}
	chosen, err := req.firstAgent(agent.Options{Permissions: agent.PermitReading})
	if missing, ok := errors.AsType[*Missing](err); ok {
		missing.Hint = fmt.Sprintf(
			"install one, or pass any command with --agent-cmd; or plan with a model: set %s, or planner.provider, "+
				"planner.model and, for a server of your own, planner.base_url", models.UsualKeys(),
		)
	}
	if err != nil {
		return nil, err
	}
	chosen = req.withEnvironment(chosen)
	if err := checkMeters(req.Settings, []chosenAgent{chosen}); err != nil {
		return nil, err
	}
	return &PlannerAgent{
		Name:    chosen.name,
		Model:   chosen.model,
		Files:   findAgentFiles(req.Workspace, chosen.options.Dialect.Name()),
		Late:    lateNotice(req.Settings, chosen),
		request: req,
		chosen:  chosen,
	}, nil
}

// Open returns the agent as a part of the run of that id. Where overlays work, the agent sees the
// workspace through a view, so that nothing it writes gets there. leave closes the view.
func (a *PlannerAgent) Open(ctx context.Context, run string) (planner ralph.Agent, leave func() error, err error) {
	folder, err := os.MkdirTemp("", "ralph-plan-")
	if err != nil {
		return nil, nil, fmt.Errorf("make planner folder: %w: %w", ralph.ErrIO, err)
	}
	dir := a.request.Workspace.Dir
	examiner := &verify.Examiner{Dir: dir, Folder: folder}
	var enter func(*process.Spec)
	enter, closeView, err := examiner.OpenForReview(ctx, ralph.ViewInput{Dir: dir, Marker: run})
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(folder))
	}
	chosen := a.chosen
	chosen.options.Enter = enter
	chosen.options.Env = append(chosen.options.Env, config.InsideRunVariable+"="+run)
	leave = func() error { return errors.Join(closeView(), os.RemoveAll(folder)) }
	return (&Plan{Request: a.request}).guard(chosen), leave, nil
}

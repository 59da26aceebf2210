package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/containment"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/runlog"
	"github.com/ralphloop/ralph/sandbox"
)

// elsewhere is what runs whose process is gone left in Docker or in microVMs.
type elsewhere struct {
	*app
	store *runlog.Store
}

// end ends what a run left. It returns the number of containers that it removed.
func (e elsewhere) end(ctx context.Context, run string) (containers int, err error) {
	state, err := stateOf(e.store, run)
	if err != nil {
		return 0, nil // another command says what is wrong with its log
	}
	var settings config.Settings
	if json.Unmarshal(state.Started.Settings, &settings) != nil {
		return 0, nil
	}
	env := e.streams.Env
	switch sandbox.Tier(settings.Sandbox.Mode) {
	case sandbox.Docker:
		containers, err = containment.RemoveContainers(ctx, run, state.Started.Workspace, env.Environ)
	case sandbox.Sbx:
		err = containment.EndInMicroVMs(ctx, run, env.StateDir, state.Started.Workspace, env.Environ)
	}
	if containers > 0 && !e.globals.quiet {
		count := term.Count(containers, "container")
		fmt.Fprintf(e.errLines(), "ralph: removed what run %s left in Docker (%s)\n", run, count)
	}
	return containers, err
}

// endLast does the same for the last run, if its process died.
func (e elsewhere) endLast(ctx context.Context) (run string, containers int, err error) {
	runs, err := e.store.Runs()
	if err != nil || len(runs) == 0 {
		return "", 0, nil
	}
	last := byActivity(runs)[0]
	if last.Reason != "" || last.Broken != "" || last.InSession {
		return "", 0, nil
	}
	containers, err = e.end(ctx, last.Run)
	return last.Run, containers, err
}

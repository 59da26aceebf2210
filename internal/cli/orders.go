package cli

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph/runlog"
)

func (a *app) stopCommand() *cobra.Command {
	return &cobra.Command{
		Use: "stop", Short: "End the run under way after its iteration", GroupID: "work", Args: noArguments, Annotations: outside,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.order(cmd.Context(), runlog.Stop, "stops after this iteration, which is judged first")
		},
	}
}

func (a *app) pauseCommand() *cobra.Command {
	return &cobra.Command{
		Use: "pause", Short: "Hold the run under way after its iteration", GroupID: "work", Args: noArguments, Annotations: outside,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.order(cmd.Context(), runlog.Pause, "starts no further iteration; ralph resume lets it go on")
		},
	}
}

// order puts an order into the mailbox of the run under way.
func (a *app) order(ctx context.Context, order runlog.Order, means string) error {
	workspace, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	owner, live := store.Holder()
	if !live {
		return usage("refused: no run is under way in %s", workspace.Dir)
	}
	err = store.Send(owner.Run, order)
	for tries := 0; errors.Is(err, fs.ErrNotExist) && tries < startTries; tries++ { // it has the lock and is about to open its log
		time.Sleep(startPause)
		err = store.Send(owner.Run, order)
	}
	if err != nil {
		return err
	}
	return a.tellPosted(string(order), "delivered", owner.Run, "run "+owner.Run+" "+means)
}

// A run that holds the workspace opens its log within a moment.
const (
	startTries = 50
	startPause = 20 * time.Millisecond
)

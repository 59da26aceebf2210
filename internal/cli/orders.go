package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph/runlog"
)

func (a *app) stopCommand() *cobra.Command {
	return &cobra.Command{
		Use: "stop", Short: "End the run under way after its iteration", GroupID: "work", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.order(cmd.Context(), runlog.Stop, "stops after this iteration, which is judged first")
		},
	}
}

func (a *app) pauseCommand() *cobra.Command {
	return &cobra.Command{
		Use: "pause", Short: "Hold the run under way after its iteration", GroupID: "work", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.order(cmd.Context(), runlog.Pause, "starts no further iteration; ralph resume lets it go on")
		},
	}
}

// order puts an order into the mailbox of the run under way.
func (a *app) order(ctx context.Context, order runlog.Order, means string) error {
	if err := a.outsideOnly(string(order)); err != nil {
		return err
	}
	workspace, err := a.workspace(ctx)
	if err != nil {
		return err
	}
	store, err := runlog.Open(a.streams.Env.StateDir, workspace.Dir)
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
	return a.tellDelivered(owner.Run, string(order), means)
}

// A run that holds the workspace opens its log within a moment.
const (
	startTries = 50
	startPause = 20 * time.Millisecond
)

func (a *app) tellDelivered(run, order, means string) error {
	if a.wantsJSON() {
		return a.printJSON(map[string]string{"run_id": run, "order": order, "state": "delivered"})
	}
	fmt.Fprintf(a.streams.Out, "delivered: run %s %s\n", run, means)
	return nil
}

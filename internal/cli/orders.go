package cli

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph/runlog"
)

// orderCommand gives an order to the current run: `ralph stop` and `ralph pause`.
type orderCommand struct {
	*app
	order runlog.Order
	means string // for the run, said when the order was delivered
}

func newStopCommand(a *app) *cobra.Command {
	c := orderCommand{a, runlog.Stop, "stops after this iteration, which is judged first"}
	return &cobra.Command{
		Use: "stop", Short: "End the run under way after its iteration", GroupID: "work", Args: noArguments, Annotations: outside,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
}

func newPauseCommand(a *app) *cobra.Command {
	c := orderCommand{a, runlog.Pause, "starts no further iteration; ralph resume lets it go on"}
	return &cobra.Command{
		Use: "pause", Short: "Hold the run under way after its iteration", GroupID: "work", Args: noArguments, Annotations: outside,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
}

// run puts the order into the mailbox of the run under way.
func (c orderCommand) run(ctx context.Context) error {
	workspace, store, err := c.open(ctx)
	if err != nil {
		return err
	}
	owner, live := store.Holder()
	if !live {
		return usage("refused: no run is under way in %s", workspace.Dir)
	}
	err = store.Send(owner.Run, c.order)
	for tries := 0; errors.Is(err, fs.ErrNotExist) && tries < startTries; tries++ { // it has the lock and is about to open its log
		time.Sleep(startPause)
		err = store.Send(owner.Run, c.order)
	}
	if err != nil {
		return err
	}
	return c.tellPosted(string(c.order), "delivered", owner.Run, "run "+owner.Run+" "+c.means)
}

// A run that holds the workspace opens its log within a moment.
const (
	startTries = 50
	startPause = 20 * time.Millisecond
)

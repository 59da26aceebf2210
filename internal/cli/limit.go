package cli

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/config"
)

// limitCommand is `ralph limit`: it raises the limits of the current run.
type limitCommand struct {
	*app
	more resumeChanges
}

func newLimitCommand(a *app) *cobra.Command {
	c := &limitCommand{app: a}
	cmd := &cobra.Command{
		Use: "limit", Short: "Raise the limits of the current run", GroupID: "work", Args: noArguments, Annotations: byPeople,
		Long: `Raise limits of the run that is running, without stopping it. It learns of them
before it judges the current iteration. For a run that has ended, use ralph
resume with the same flags.`,
		Example: `  ralph limit --add-iterations 10 --add-cost 5`,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	c.more.addLimitFlags(cmd.Flags())
	return cmd
}

// addLimitFlags adds the flags that raise limits.
func (more *resumeChanges) addLimitFlags(flags *pflag.FlagSet) {
	flags.StringVar(&more.iterations, "add-iterations", "", "raise the limit by `N` iterations")
	flags.StringVar(&more.time, "add-time", "", "raise the time limit by `D`")
	flags.StringVar(&more.cost, "add-cost", "", "raise the cost limit by `USD`")
	flags.StringVar(&more.tokens, "add-tokens", "", "raise the token limit by `N`")
}

func (c *limitCommand) run(ctx context.Context) error {
	if c.more == (resumeChanges{}) {
		return usage("say which limit: --add-iterations N, --add-time D, --add-cost USD or --add-tokens N")
	}
	workspace, store, err := c.open(ctx)
	if err != nil {
		return err
	}
	owner, live := store.Holder()
	if !live {
		return usage("refused: no run is running in %s; use ralph resume with the same flags", workspace.Dir)
	}
	state, err := stateOf(store, owner.Run)
	if err != nil {
		return err
	}
	before := config.Settings{
		MaxIterations: state.Policy.MaxIterations, MaxTime: state.Policy.MaxTime, MaxCost: state.Policy.MaxCost,
		MaxTokens: state.Policy.MaxTokens,
	}
	after := before
	if err := raiseLimits(&after, c.more); err != nil {
		return err
	}
	text, err := json.Marshal(ralph.LimitsRaised{
		Iterations: after.MaxIterations - before.MaxIterations, Time: after.MaxTime - before.MaxTime,
		Cost: after.MaxCost - before.MaxCost, Tokens: after.MaxTokens - before.MaxTokens,
	})
	if err != nil {
		return err
	}
	message := ralph.Message{Kind: ralph.MessageLimits, Text: string(text), Run: owner.Run}
	if err := sendMessage(store, message); err != nil {
		return err
	}
	return c.printSent("limit", "delivered", owner.Run, "run "+owner.Run+" has the new limits before its next verdict")
}

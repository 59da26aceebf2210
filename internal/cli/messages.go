package cli

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/runlog"
)

// messageCommand sends a message to a run: `ralph steer` and `ralph answer`.
type messageCommand struct{ *app }

func newSteerCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "steer TEXT", Short: "Give the current or next run an instruction", GroupID: "work", Annotations: outside,
		Long: `Give the agent an instruction. It goes first in the next iteration's prompt, of
the current or the next run, and stays in the project's STEERING.md until the
agent has followed it and removes it.`,
		Example: `  ralph steer "use the existing date parser, do not add a library"`,
		RunE:    func(cmd *cobra.Command, args []string) error { return messageCommand{a}.steer(cmd.Context(), args) },
	}
}

func newAnswerCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "answer TEXT", Short: "Answer the last run's question or blocker", GroupID: "work", Annotations: outside,
		Long: `Answer the last DECIDE or BLOCKED in this workspace. Question and answer go into
the next prompts. A waiting run (--on-decide wait) continues at once.`,
		Example: `  ralph answer "REST; keep the old routes working"`,
		RunE:    func(cmd *cobra.Command, args []string) error { return messageCommand{a}.answer(cmd.Context(), args) },
	}
}

func (c messageCommand) steer(ctx context.Context, args []string) error {
	text, err := messageText("steer", args)
	if err != nil {
		return err
	}
	_, store, err := c.open(ctx)
	if err != nil {
		return err
	}
	if err := sendMessage(store, ralph.Message{Kind: ralph.MessageSteer, Text: text}); err != nil {
		return err
	}
	if owner, live := store.Holder(); live {
		return c.printSent("steer", "delivered", owner.Run, "it goes first in the next prompt of run "+owner.Run)
	}
	return c.printSent("steer", "queued", "", "no run is running; it goes first in the next run's prompt")
}

func (c messageCommand) answer(ctx context.Context, args []string) error {
	text, err := messageText("answer", args)
	if err != nil {
		return err
	}
	_, store, err := c.open(ctx)
	if err != nil {
		return err
	}
	asked, err := lastQuestion(store)
	if err != nil {
		return err
	}
	if asked.run == "" {
		return usage("refused: the last run in this workspace has no open question or blocker")
	}
	replaced, err := withdraw(store, ralph.MessageAnswer, asked.run)
	if err != nil {
		return err
	}
	message := ralph.Message{Kind: ralph.MessageAnswer, Text: text, Question: asked.text, Run: asked.run}
	if err := sendMessage(store, message); err != nil {
		return err
	}
	question := term.Shorten(term.Clean(asked.text), 80)
	if replaced {
		question += "; it replaces your earlier answer"
	}
	if asked.live {
		means := "run " + asked.run + " continues with it; it asked: " + question
		return c.printSent("answer", "delivered", asked.run, means)
	}
	means := "run " + asked.run + " asked: " + question +
		"; the answer goes into the next prompt of ralph resume or ralph run"
	return c.printSent("answer", "queued", asked.run, means)
}

// withdraw removes messages of a kind to a run that are still in the inbox. It reports whether there were any.
func withdraw(store *runlog.Store, kind ralph.MessageKind, run string) (bool, error) {
	found := false
	messages, _ := store.Messages()
	for _, message := range messages {
		if message.Kind == kind && message.Run == run {
			if err := store.Ack(message.ID); err != nil {
				return found, err
			}
			found = true
		}
	}
	return found, nil
}

// rejected reports whether a person rejected the work of a run, and no agent has read it yet.
func rejected(store *runlog.Store, run string) bool {
	messages, _ := store.Messages()
	return slices.ContainsFunc(messages, func(message ralph.Message) bool {
		return message.Kind == ralph.MessageReject && message.Run == run
	})
}

// messageText returns the text of a message, which must be one argument.
func messageText(command string, args []string) (string, error) {
	switch {
	case len(args) == 0 || strings.TrimSpace(args[0]) == "":
		return "", usage(`ralph %s needs a text: ralph %s "…"`, command, command)
	case len(args) > 1:
		return "", usage("the text must be one argument; put it in quotes: ralph %s %q", command, strings.Join(args, " "))
	}
	return args[0], nil
}

func sendMessage(store *runlog.Store, message ralph.Message) error {
	_, err := store.SendMessage(message)
	if errors.Is(err, runlog.ErrInvalidMessage) {
		return usage("refused: %v", err)
	}
	return err
}

// question is what an agent asked.
type question struct {
	run  string
	text string
	live bool // the run is running and receives the answer

	steering []ralph.SteeringSeen // what the run knew of the steering files when it asked
}

// lastQuestion returns the question of the newest run, if it has no answer yet.
func lastQuestion(store *runlog.Store) (question, error) {
	runs, err := store.Runs()
	if err != nil || len(runs) == 0 || runs[0].Broken != "" {
		return question{}, err
	}
	state, err := stateOf(store, runs[0].Run)
	if err != nil {
		return question{}, err
	}
	if state.Asked == nil {
		return question{}, nil
	}
	return question{runs[0].Run, *state.Asked, runs[0].Live, state.Steering}, nil
}

// openQuestion returns the question of an earlier run that has no answer, so that the next run
// knows it.
func openQuestion(store *runlog.Store) question {
	asked, err := lastQuestion(store)
	if err != nil || asked.live {
		return question{}
	}
	messages, _ := store.Messages()
	for _, message := range messages {
		if message.Kind == ralph.MessageAnswer && message.Run == asked.run {
			return question{}
		}
	}
	return asked
}

// orderCommand gives an order to the current run: `ralph stop` and `ralph pause`.
type orderCommand struct {
	*app
	order runlog.Order
	means string // what the run does then, printed when the order was delivered
}

func newStopCommand(a *app) *cobra.Command {
	return orderCommand{a, runlog.Stop, "stops after this iteration"}.build("Stop the current run after this iteration")
}

func newPauseCommand(a *app) *cobra.Command {
	c := orderCommand{a, runlog.Pause, "pauses after this iteration; continue with ralph resume"}
	return c.build("Pause the current run after this iteration")
}

func (c orderCommand) build(short string) *cobra.Command {
	return &cobra.Command{
		Use: string(c.order), Short: short, GroupID: "work", Args: noArguments, Annotations: outside,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
}

// run puts the order into the inbox of the current run.
func (c orderCommand) run(ctx context.Context) error {
	workspace, store, err := c.open(ctx)
	if err != nil {
		return err
	}
	owner, live := store.Holder()
	if !live {
		return usage("refused: no run is running in %s", workspace.Dir)
	}
	err = store.Send(owner.Run, c.order)
	// A run that has the lock may not have opened its log yet.
	for tries := 0; errors.Is(err, fs.ErrNotExist) && tries < startTries; tries++ {
		time.Sleep(startPause)
		err = store.Send(owner.Run, c.order)
	}
	if err != nil {
		return err
	}
	return c.printSent(string(c.order), "delivered", owner.Run, "run "+owner.Run+" "+c.means)
}

// The time that a run has to open its log once it holds the lock.
const (
	startTries = 50
	startPause = 20 * time.Millisecond
)
